// Two layers of an MLP, rows over dp, hidden over tp: partial sums, a bias that enters once, results
// whole and split.
#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<8x6xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}, %w1: tensor<6x16xf32>, %b1: tensor<16xf32>,
                %w2: tensor<16x6xf32>, %b2: tensor<6xf32>, %v1: tensor<6x16xf32>, %v2: tensor<16x6xf32>)
    -> (tensor<8x6xf32>, tensor<8x6xf32> {spmd.sharding = [["dp"], ["tp"]]}) {
  %0 = func.call @layer(%x, %w1, %b1, %w2, %b2) : (tensor<8x6xf32>, tensor<6x16xf32>, tensor<16xf32>, tensor<16x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %1 = func.call @layer(%0, %v1, %b1, %v2, %b2) : (tensor<8x6xf32>, tensor<6x16xf32>, tensor<16xf32>, tensor<16x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %2 = arith.subf %0, %1 : tensor<8x6xf32>
  return %1, %2 : tensor<8x6xf32>, tensor<8x6xf32>
}
func.func private @layer(%x: tensor<8x6xf32>, %w1: tensor<6x16xf32>, %b1: tensor<16xf32>, %w2: tensor<16x6xf32>, %b2: tensor<6xf32>) -> tensor<8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4.0 : f32
  %e1 = tensor.empty() : tensor<8x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<8x6xf32>, tensor<6x16xf32>) outs(%z1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#same, #row, #same], iterator_types = ["parallel", "parallel"]} ins(%h, %b1 : tensor<8x16xf32>, tensor<16xf32>) outs(%e1 : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %p = arith.maximumf %s, %zero : f32
    %q = arith.minimumf %p, %four : f32
    linalg.yield %q : f32
  } -> tensor<8x16xf32>
  %e2 = tensor.empty() : tensor<8x6xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %m = linalg.matmul ins(%r, %w2 : tensor<8x16xf32>, tensor<16x6xf32>) outs(%z2 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#same, #row, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%m, %b2, %x : tensor<8x6xf32>, tensor<6xf32>, tensor<8x6xf32>) outs(%e2 : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.addf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
