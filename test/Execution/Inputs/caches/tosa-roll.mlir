func.func private @update(%new: tensor<3x1x4x6xf32>, %cache: tensor<3x16x4x6xf32>, %pos: tensor<1xi64>) -> tensor<3x16x4x6xf32> {
  %c = tosa.concat %cache, %new {axis = 1 : i32} : (tensor<3x16x4x6xf32>, tensor<3x1x4x6xf32>) -> tensor<3x17x4x6xf32>
  %a = tosa.const_shape {values = dense<[0, 1, 0, 0]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %b = tosa.const_shape {values = dense<[3, 16, 4, 6]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %s = tosa.slice %c, %a, %b : (tensor<3x17x4x6xf32>, !tosa.shape<4>, !tosa.shape<4>) -> tensor<3x16x4x6xf32>
  return %s : tensor<3x16x4x6xf32>
}
