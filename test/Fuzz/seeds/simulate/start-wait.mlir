module {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%x: tensor<64x512xf32>, %w: tensor<512x32xf32>) -> tensor<64x32xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
    %p = linalg.matmul ins(%x, %w : tensor<64x512xf32>, tensor<512x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
    %t = "spmd.all_reduce_start"(%p) {grid = @mesh, grid_axes = array<i16: 0>, spmd.site = 0 : i64} : (tensor<64x32xf32>) -> !spmd.token
    %q = linalg.matmul ins(%x, %w : tensor<64x512xf32>, tensor<512x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
    %r = "spmd.all_reduce_done"(%t, %p) : (!spmd.token, tensor<64x32xf32>) -> tensor<64x32xf32>
    return %r : tensor<64x32xf32>
  }
}
