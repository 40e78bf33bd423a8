// Two transposes that are ops of their own: what they read, or who reads them, is more than one.
func.func @main(%x: tensor<256x512xf32>, %w: tensor<512x256xf32>) -> (tensor<256x512xf32>, tensor<512x256xf32>) {
  %e0 = tensor.empty() : tensor<512x256xf32>
  %t = linalg.transpose ins(%x : tensor<256x512xf32>) outs(%e0 : tensor<512x256xf32>) permutation = [1, 0]
  %a = linalg.add ins(%t, %w : tensor<512x256xf32>, tensor<512x256xf32>) outs(%e0 : tensor<512x256xf32>) -> tensor<512x256xf32>
  %b = linalg.mul ins(%t, %a : tensor<512x256xf32>, tensor<512x256xf32>) outs(%e0 : tensor<512x256xf32>) -> tensor<512x256xf32>
  %e1 = tensor.empty() : tensor<256x512xf32>
  %r = linalg.transpose ins(%b : tensor<512x256xf32>) outs(%e1 : tensor<256x512xf32>) permutation = [1, 0]
  return %r, %b : tensor<256x512xf32>, tensor<512x256xf32>
}
