// Two feed-forwards, each behind a norm of its own. The masked one is zero, the other one is one, where the input is.
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#scalar = affine_map<(d0, d1) -> ()>
func.func @main(%x: tensor<6x8xf32> {spmd.role = "input"}, %mask: tensor<6xi1> {spmd.role = "input"},
                %a1: tensor<8x12xf32> {spmd.role = "weight"}, %a2: tensor<12x8xf32> {spmd.role = "weight"},
                %b1: tensor<8x12xf32> {spmd.role = "weight"}, %b2: tensor<12x8xf32> {spmd.role = "weight"}) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant dense<0.0> : tensor<f32>
  %e12 = tensor.empty() : tensor<6x12xf32>
  %f12 = linalg.fill ins(%zero : f32) outs(%e12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %e8 = tensor.empty() : tensor<6x8xf32>
  %f8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %0 = linalg.matmul ins(%x, %a1 : tensor<6x8xf32>, tensor<8x12xf32>) outs(%f12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %1 = linalg.tanh ins(%0 : tensor<6x12xf32>) outs(%e12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %2 = linalg.matmul ins(%1, %a2 : tensor<6x12xf32>, tensor<12x8xf32>) outs(%f8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = linalg.generic {indexing_maps = [#row, #map, #scalar, #map], iterator_types = ["parallel", "parallel"]} ins(%mask, %2, %none : tensor<6xi1>, tensor<6x8xf32>, tensor<f32>) outs(%e8 : tensor<6x8xf32>) {
  ^bb0(%m: i1, %v: f32, %z: f32, %o: f32):
    %r = arith.select %m, %z, %v : f32
    linalg.yield %r : f32
  } -> tensor<6x8xf32>
  %4 = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<6x8xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%v: f32, %o: f32):
    %p = arith.mulf %v, %v : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %5 = linalg.generic {indexing_maps = [#map, #row, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %4, %x : tensor<6x8xf32>, tensor<6xf32>, tensor<6x8xf32>) outs(%e8 : tensor<6x8xf32>) {
  ^bb0(%v: f32, %n: f32, %w: f32, %o: f32):
    %k = arith.addf %n, %one : f32
    %i = math.rsqrt %k : f32
    %p = arith.mulf %v, %i : f32
    %s = arith.addf %p, %w : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  %6 = linalg.matmul ins(%5, %b1 : tensor<6x8xf32>, tensor<8x12xf32>) outs(%f12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %7 = linalg.tanh ins(%6 : tensor<6x12xf32>) outs(%e12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %8 = linalg.matmul ins(%7, %b2 : tensor<6x12xf32>, tensor<12x8xf32>) outs(%f8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %9 = linalg.generic {indexing_maps = [#row, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%mask, %8 : tensor<6xi1>, tensor<6x8xf32>) outs(%e8 : tensor<6x8xf32>) {
  ^bb0(%m: i1, %v: f32, %o: f32):
    %r = arith.select %m, %one, %v : f32
    linalg.yield %r : f32
  } -> tensor<6x8xf32>
  %10 = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%9 : tensor<6x8xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%v: f32, %o: f32):
    %p = arith.mulf %v, %v : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %11 = linalg.generic {indexing_maps = [#map, #row, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%9, %10, %5 : tensor<6x8xf32>, tensor<6xf32>, tensor<6x8xf32>) outs(%e8 : tensor<6x8xf32>) {
  ^bb0(%v: f32, %n: f32, %w: f32, %o: f32):
    %k = arith.addf %n, %one : f32
    %i = math.rsqrt %k : f32
    %p = arith.mulf %v, %i : f32
    %s = arith.addf %p, %w : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  return %11 : tensor<6x8xf32>
}
