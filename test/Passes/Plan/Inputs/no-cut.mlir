// Neither dimension of the weight has more than one element.
func.func @main(%x: tensor<4x1xf32>, %w: tensor<1x1xf32>) -> tensor<4x1xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x1xf32>, tensor<1x1xf32>) outs(%init : tensor<4x1xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}
