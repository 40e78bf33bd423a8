// A batch that is left open.
func.func @main(%x: tensor<?x16xf32>, %w: tensor<16x24xf32>) -> tensor<?x24xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %e = tensor.empty(%n) : tensor<?x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x24xf32>) -> tensor<?x24xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x16xf32>, tensor<16x24xf32>) outs(%f : tensor<?x24xf32>) -> tensor<?x24xf32>
  %1 = linalg.exp ins(%0 : tensor<?x24xf32>) outs(%e : tensor<?x24xf32>) -> tensor<?x24xf32>
  return %1 : tensor<?x24xf32>
}
