module attributes {spmd.sites = [], spmd.results = "whole"} {
  shard.grid @mesh(shape = 1) {spmd.axes = ["tp"]}
  // 1000 x (an addition, an exponential, a division), 100,000 elements combined, and products of 1, 8
  // and 64 rows.
  func.func @main(%x: tensor<1000xf32>, %y: tensor<100x1000xf32>, %w: tensor<64x64xf32>, %a: tensor<1x64xf32>, %b: tensor<8x64xf32>, %c: tensor<64x64xf32>) -> (tensor<1000xf32>, tensor<100xf32>, tensor<1x64xf32>, tensor<8x64xf32>, tensor<64x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<1000xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<1000xf32>) outs(%e : tensor<1000xf32>) {
    ^bb0(%in: f32, %out: f32):
      %p = math.exp %in : f32
      %q = arith.addf %p, %one : f32
      %r = arith.divf %one, %q : f32
      linalg.yield %r : f32
    } -> tensor<1000xf32>
    %f = tensor.empty() : tensor<100xf32>
    %g = linalg.fill ins(%zero : f32) outs(%f : tensor<100xf32>) -> tensor<100xf32>
    %1 = linalg.reduce ins(%y : tensor<100x1000xf32>) outs(%g : tensor<100xf32>) dimensions = [1]
      (%in: f32, %out: f32) { %s = arith.addf %in, %out : f32  linalg.yield %s : f32 }
    %h1 = tensor.empty() : tensor<1x64xf32>
    %i1 = linalg.fill ins(%zero : f32) outs(%h1 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %2 = linalg.matmul ins(%a, %w : tensor<1x64xf32>, tensor<64x64xf32>) outs(%i1 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %h8 = tensor.empty() : tensor<8x64xf32>
    %i8 = linalg.fill ins(%zero : f32) outs(%h8 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = linalg.matmul ins(%b, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%i8 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %h64 = tensor.empty() : tensor<64x64xf32>
    %i64 = linalg.fill ins(%zero : f32) outs(%h64 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %4 = linalg.matmul ins(%c, %w : tensor<64x64xf32>, tensor<64x64xf32>) outs(%i64 : tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0, %1, %2, %3, %4 : tensor<1000xf32>, tensor<100xf32>, tensor<1x64xf32>, tensor<8x64xf32>, tensor<64x64xf32>
  }
}
