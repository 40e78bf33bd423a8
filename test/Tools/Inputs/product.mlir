func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %ids: tensor<4xi64>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xi64>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>)
      outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %y, %ids : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xi64>
}
