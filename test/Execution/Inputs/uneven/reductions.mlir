// Every combiner over either dimension, and over both.
// SPLIT: {"0":{"sharding":[["tp"],[]]},"1":{"sharding":[["tp"],[]]},"2":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]},"1":{"sharding":[[],["tp"]]},"2":{"sharding":[[],["tp"]]}}
#in = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>
#none = affine_map<(i, j) -> ()>
func.func @main(%f32: tensor<5x13xf32>, %i64: tensor<5x13xi64>, %i32: tensor<5x13xi32>) -> (tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xi64>, tensor<13xi64>, tensor<i64>, tensor<5xi32>, tensor<13xi32>, tensor<i32>, tensor<5xi32>, tensor<13xi32>, tensor<i32>, tensor<5xi32>, tensor<13xi32>, tensor<i32>, tensor<5xi32>, tensor<13xi32>, tensor<i32>) {
  %sum_init = arith.constant 0.0 : f32
  %sum_rows_e = tensor.empty() : tensor<5xf32>
  %sum_rows_f = linalg.fill ins(%sum_init : f32) outs(%sum_rows_e : tensor<5xf32>) -> tensor<5xf32>
  %sum_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%sum_rows_f : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %sum_columns_e = tensor.empty() : tensor<13xf32>
  %sum_columns_f = linalg.fill ins(%sum_init : f32) outs(%sum_columns_e : tensor<13xf32>) -> tensor<13xf32>
  %sum_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%f32 : tensor<5x13xf32>) outs(%sum_columns_f : tensor<13xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<13xf32>
  %sum_none_e = tensor.empty() : tensor<f32>
  %sum_none_f = linalg.fill ins(%sum_init : f32) outs(%sum_none_e : tensor<f32>) -> tensor<f32>
  %sum_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%sum_none_f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %max_init = arith.constant 0xFF800000 : f32
  %max_rows_e = tensor.empty() : tensor<5xf32>
  %max_rows_f = linalg.fill ins(%max_init : f32) outs(%max_rows_e : tensor<5xf32>) -> tensor<5xf32>
  %max_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%max_rows_f : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %max_columns_e = tensor.empty() : tensor<13xf32>
  %max_columns_f = linalg.fill ins(%max_init : f32) outs(%max_columns_e : tensor<13xf32>) -> tensor<13xf32>
  %max_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%f32 : tensor<5x13xf32>) outs(%max_columns_f : tensor<13xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<13xf32>
  %max_none_e = tensor.empty() : tensor<f32>
  %max_none_f = linalg.fill ins(%max_init : f32) outs(%max_none_e : tensor<f32>) -> tensor<f32>
  %max_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%max_none_f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %min_init = arith.constant 0x7F800000 : f32
  %min_rows_e = tensor.empty() : tensor<5xf32>
  %min_rows_f = linalg.fill ins(%min_init : f32) outs(%min_rows_e : tensor<5xf32>) -> tensor<5xf32>
  %min_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%min_rows_f : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.minimumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %min_columns_e = tensor.empty() : tensor<13xf32>
  %min_columns_f = linalg.fill ins(%min_init : f32) outs(%min_columns_e : tensor<13xf32>) -> tensor<13xf32>
  %min_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%f32 : tensor<5x13xf32>) outs(%min_columns_f : tensor<13xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.minimumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<13xf32>
  %min_none_e = tensor.empty() : tensor<f32>
  %min_none_f = linalg.fill ins(%min_init : f32) outs(%min_none_e : tensor<f32>) -> tensor<f32>
  %min_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%min_none_f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.minimumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %product_init = arith.constant 1.0 : f32
  %product_rows_e = tensor.empty() : tensor<5xf32>
  %product_rows_f = linalg.fill ins(%product_init : f32) outs(%product_rows_e : tensor<5xf32>) -> tensor<5xf32>
  %product_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%product_rows_f : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  %product_columns_e = tensor.empty() : tensor<13xf32>
  %product_columns_f = linalg.fill ins(%product_init : f32) outs(%product_columns_e : tensor<13xf32>) -> tensor<13xf32>
  %product_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%f32 : tensor<5x13xf32>) outs(%product_columns_f : tensor<13xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<13xf32>
  %product_none_e = tensor.empty() : tensor<f32>
  %product_none_f = linalg.fill ins(%product_init : f32) outs(%product_none_e : tensor<f32>) -> tensor<f32>
  %product_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%f32 : tensor<5x13xf32>) outs(%product_none_f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %isum_init = arith.constant 0 : i64
  %isum_rows_e = tensor.empty() : tensor<5xi64>
  %isum_rows_f = linalg.fill ins(%isum_init : i64) outs(%isum_rows_e : tensor<5xi64>) -> tensor<5xi64>
  %isum_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%i64 : tensor<5x13xi64>) outs(%isum_rows_f : tensor<5xi64>) {
  ^bb0(%a: i64, %b: i64):
    %s = arith.addi %a, %b : i64
    linalg.yield %s : i64
  } -> tensor<5xi64>
  %isum_columns_e = tensor.empty() : tensor<13xi64>
  %isum_columns_f = linalg.fill ins(%isum_init : i64) outs(%isum_columns_e : tensor<13xi64>) -> tensor<13xi64>
  %isum_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%i64 : tensor<5x13xi64>) outs(%isum_columns_f : tensor<13xi64>) {
  ^bb0(%a: i64, %b: i64):
    %s = arith.addi %a, %b : i64
    linalg.yield %s : i64
  } -> tensor<13xi64>
  %isum_none_e = tensor.empty() : tensor<i64>
  %isum_none_f = linalg.fill ins(%isum_init : i64) outs(%isum_none_e : tensor<i64>) -> tensor<i64>
  %isum_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%i64 : tensor<5x13xi64>) outs(%isum_none_f : tensor<i64>) {
  ^bb0(%a: i64, %b: i64):
    %s = arith.addi %a, %b : i64
    linalg.yield %s : i64
  } -> tensor<i64>
  %imax_init = arith.constant -2147483648 : i32
  %imax_rows_e = tensor.empty() : tensor<5xi32>
  %imax_rows_f = linalg.fill ins(%imax_init : i32) outs(%imax_rows_e : tensor<5xi32>) -> tensor<5xi32>
  %imax_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%imax_rows_f : tensor<5xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.maxsi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %imax_columns_e = tensor.empty() : tensor<13xi32>
  %imax_columns_f = linalg.fill ins(%imax_init : i32) outs(%imax_columns_e : tensor<13xi32>) -> tensor<13xi32>
  %imax_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%i32 : tensor<5x13xi32>) outs(%imax_columns_f : tensor<13xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.maxsi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<13xi32>
  %imax_none_e = tensor.empty() : tensor<i32>
  %imax_none_f = linalg.fill ins(%imax_init : i32) outs(%imax_none_e : tensor<i32>) -> tensor<i32>
  %imax_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%imax_none_f : tensor<i32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.maxsi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %imin_init = arith.constant 2147483647 : i32
  %imin_rows_e = tensor.empty() : tensor<5xi32>
  %imin_rows_f = linalg.fill ins(%imin_init : i32) outs(%imin_rows_e : tensor<5xi32>) -> tensor<5xi32>
  %imin_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%imin_rows_f : tensor<5xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.minsi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %imin_columns_e = tensor.empty() : tensor<13xi32>
  %imin_columns_f = linalg.fill ins(%imin_init : i32) outs(%imin_columns_e : tensor<13xi32>) -> tensor<13xi32>
  %imin_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%i32 : tensor<5x13xi32>) outs(%imin_columns_f : tensor<13xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.minsi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<13xi32>
  %imin_none_e = tensor.empty() : tensor<i32>
  %imin_none_f = linalg.fill ins(%imin_init : i32) outs(%imin_none_e : tensor<i32>) -> tensor<i32>
  %imin_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%imin_none_f : tensor<i32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.minsi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %and_init = arith.constant -1 : i32
  %and_rows_e = tensor.empty() : tensor<5xi32>
  %and_rows_f = linalg.fill ins(%and_init : i32) outs(%and_rows_e : tensor<5xi32>) -> tensor<5xi32>
  %and_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%and_rows_f : tensor<5xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.andi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %and_columns_e = tensor.empty() : tensor<13xi32>
  %and_columns_f = linalg.fill ins(%and_init : i32) outs(%and_columns_e : tensor<13xi32>) -> tensor<13xi32>
  %and_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%i32 : tensor<5x13xi32>) outs(%and_columns_f : tensor<13xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.andi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<13xi32>
  %and_none_e = tensor.empty() : tensor<i32>
  %and_none_f = linalg.fill ins(%and_init : i32) outs(%and_none_e : tensor<i32>) -> tensor<i32>
  %and_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%and_none_f : tensor<i32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.andi %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %or_init = arith.constant 0 : i32
  %or_rows_e = tensor.empty() : tensor<5xi32>
  %or_rows_f = linalg.fill ins(%or_init : i32) outs(%or_rows_e : tensor<5xi32>) -> tensor<5xi32>
  %or_rows = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%or_rows_f : tensor<5xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.ori %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %or_columns_e = tensor.empty() : tensor<13xi32>
  %or_columns_f = linalg.fill ins(%or_init : i32) outs(%or_columns_e : tensor<13xi32>) -> tensor<13xi32>
  %or_columns = linalg.generic {indexing_maps = [#in, #columns], iterator_types = ["reduction", "parallel"]} ins(%i32 : tensor<5x13xi32>) outs(%or_columns_f : tensor<13xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.ori %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<13xi32>
  %or_none_e = tensor.empty() : tensor<i32>
  %or_none_f = linalg.fill ins(%or_init : i32) outs(%or_none_e : tensor<i32>) -> tensor<i32>
  %or_none = linalg.generic {indexing_maps = [#in, #none], iterator_types = ["reduction", "reduction"]} ins(%i32 : tensor<5x13xi32>) outs(%or_none_f : tensor<i32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.ori %a, %b : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  return %sum_rows, %sum_columns, %sum_none, %max_rows, %max_columns, %max_none, %min_rows, %min_columns, %min_none, %product_rows, %product_columns, %product_none, %isum_rows, %isum_columns, %isum_none, %imax_rows, %imax_columns, %imax_none, %imin_rows, %imin_columns, %imin_none, %and_rows, %and_columns, %and_none, %or_rows, %or_columns, %or_none : tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xf32>, tensor<13xf32>, tensor<f32>, tensor<5xi64>, tensor<13xi64>, tensor<i64>, tensor<5xi32>, tensor<13xi32>, tensor<i32>, tensor<5xi32>, tensor<13xi32>, tensor<i32>, tensor<5xi32>, tensor<13xi32>, tensor<i32>, tensor<5xi32>, tensor<13xi32>, tensor<i32>
}
