// Sums over both axes at once, numbers that bf16 cannot hold, and a square transpose.
func.func @main(%x: tensor<8x8xf32> {spmd.role = "input", spmd.dims = ["batch", ""], spmd.sharding = [[], ["dp", "tp"]]}, %w: tensor<8x8xf32> {spmd.sharding = [["dp", "tp"], []]}, %y: tensor<8x8xf32> {spmd.sharding = [["tp"], ["dp"]]})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -4096.0 : f32
  %big = arith.constant 1025.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = linalg.fill ins(%big : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %xs = arith.mulf %x, %b : tensor<8x8xf32>
  %m = linalg.matmul ins(%xs, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = arith.mulf %y, %b : tensor<8x8xf32>
  %t = linalg.transpose ins(%s : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %l1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.reduce { arith.addf } ins(%s : tensor<8x8xf32>) outs(%z1 : tensor<8xf32>) dimensions = [0]
  %max = linalg.reduce { arith.maximumf } ins(%m : tensor<8x8xf32>) outs(%l1 : tensor<8xf32>) dimensions = [1]
  return %m, %t, %sum, %max : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>
}
