// Two transposes that products read through: they take no time.
func.func @main(%x: tensor<256x512xf32>, %w: tensor<256x128xf32>, %v: tensor<64x128xf32>) -> tensor<512x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<512x256xf32>
  %t = linalg.transpose ins(%x : tensor<256x512xf32>) outs(%e0 : tensor<512x256xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<512x128xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<512x128xf32>) -> tensor<512x128xf32>
  %y = linalg.matmul ins(%t, %w : tensor<512x256xf32>, tensor<256x128xf32>) outs(%z1 : tensor<512x128xf32>) -> tensor<512x128xf32>
  %e2 = tensor.empty() : tensor<128x64xf32>
  %vt = linalg.transpose ins(%v : tensor<64x128xf32>) outs(%e2 : tensor<128x64xf32>) permutation = [1, 0]
  %e3 = tensor.empty() : tensor<512x64xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<512x64xf32>) -> tensor<512x64xf32>
  %r = linalg.matmul ins(%y, %vt : tensor<512x128xf32>, tensor<128x64xf32>) outs(%z3 : tensor<512x64xf32>) -> tensor<512x64xf32>
  return %r : tensor<512x64xf32>
}
