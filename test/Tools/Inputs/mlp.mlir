// A block of two matrices, as after import.
func.func @main(%x: tensor<4x8xf32> {spmd.name = "x", spmd.role = "input"},
                %up: tensor<8x16xf32> {spmd.name = "up", spmd.role = "weight"},
                %down: tensor<16x8xf32> {spmd.name = "down", spmd.role = "weight"}) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x16xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %0 = linalg.matmul ins(%x, %up : tensor<4x8xf32>, tensor<8x16xf32>) outs(%f0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e1 = tensor.empty() : tensor<4x16xf32>
  %1 = linalg.exp ins(%0 : tensor<4x16xf32>) outs(%e1 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.matmul ins(%1, %down : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f2 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
