// The weight begins with a dimension of one, as the result does: it may as well be an input.
func.func @main(%x: tensor<1x8x16xf32>, %w: tensor<1x16x24xf32>) -> tensor<1x8x24xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x24xf32>) -> tensor<1x8x24xf32>
  %0 = linalg.batch_matmul ins(%x, %w : tensor<1x8x16xf32>, tensor<1x16x24xf32>) outs(%init : tensor<1x8x24xf32>) -> tensor<1x8x24xf32>
  return %0 : tensor<1x8x24xf32>
}
