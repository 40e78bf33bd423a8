func.func private @update(%new: tensor<3x1x4x6xf32>, %cache: tensor<3x16x4x6xf32>, %pos: tensor<1xi64>) -> tensor<3x16x4x6xf32> {
  %s0 = tosa.const_shape {values = dense<[3, 16, 24]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s1 = tosa.const_shape {values = dense<[3, 1, 24]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s2 = tosa.const_shape {values = dense<[3, 16, 4, 6]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %s3 = tosa.const_shape {values = dense<[1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s4 = tosa.const_shape {values = dense<[3, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %c = tosa.reshape %cache, %s0 : (tensor<3x16x4x6xf32>, !tosa.shape<3>) -> tensor<3x16x24xf32>
  %n = tosa.reshape %new, %s1 : (tensor<3x1x4x6xf32>, !tosa.shape<3>) -> tensor<3x1x24xf32>
  %p = tosa.reshape %pos, %s3 : (tensor<1xi64>, !tosa.shape<2>) -> tensor<1x1xi64>
  %p32 = tosa.cast %p : (tensor<1x1xi64>) -> tensor<1x1xi32>
  %i = tosa.tile %p32, %s4 : (tensor<1x1xi32>, !tosa.shape<2>) -> tensor<3x1xi32>
  %s = tosa.scatter %c, %i, %n : (tensor<3x16x24xf32>, tensor<3x1xi32>, tensor<3x1x24xf32>) -> tensor<3x16x24xf32>
  %r = tosa.reshape %s, %s2 : (tensor<3x16x24xf32>, !tosa.shape<4>) -> tensor<3x16x4x6xf32>
  return %r : tensor<3x16x4x6xf32>
}
