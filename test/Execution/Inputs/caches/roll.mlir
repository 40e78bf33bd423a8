func.func private @update(%new: tensor<3x1x4x6xf32>, %cache: tensor<3x16x4x6xf32>, %pos: tensor<1xi64>) -> tensor<3x16x4x6xf32> {
  %s = tensor.extract_slice %cache[0,1,0,0][3,15,4,6][1,1,1,1] : tensor<3x16x4x6xf32> to tensor<3x15x4x6xf32>
  %r = tensor.concat dim(1) %s, %new : (tensor<3x15x4x6xf32>, tensor<3x1x4x6xf32>) -> tensor<3x16x4x6xf32>
  return %r : tensor<3x16x4x6xf32>
}
