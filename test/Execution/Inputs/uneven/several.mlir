// Reductions with several results: one combiner, two combiners, and a value with its index.
// SPLIT: {"0":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]}}
#in = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<5x13xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xi64>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %first = arith.constant 0 : i64
  %e = tensor.empty() : tensor<5xf32>
  %ei = tensor.empty() : tensor<5xi64>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %l = linalg.fill ins(%lowest : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %n = linalg.fill ins(%first : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %0:2 = linalg.generic {indexing_maps = [#in, #rows, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x13xf32>) outs(%f, %f : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %s: f32, %q: f32):
    %t = arith.addf %s, %a : f32
    %m = arith.mulf %a, %a : f32
    %u = arith.addf %q, %m : f32
    linalg.yield %t, %u : f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>)
  %1:2 = linalg.generic {indexing_maps = [#in, #rows, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x13xf32>) outs(%f, %l : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %s: f32, %q: f32):
    %t = arith.addf %s, %a : f32
    %u = arith.maximumf %q, %a : f32
    linalg.yield %t, %u : f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>)
  %2:2 = linalg.generic {indexing_maps = [#in, #rows, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x13xf32>) outs(%l, %n : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%a: f32, %best: f32, %at: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %more = arith.cmpf ogt, %a, %best : f32
    %t = arith.select %more, %a, %best : f32
    %u = arith.select %more, %here, %at : i64
    linalg.yield %t, %u : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xi64>
}
