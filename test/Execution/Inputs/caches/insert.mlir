func.func private @update(%new: tensor<3x1x4x6xf32>, %cache: tensor<3x16x4x6xf32>, %pos: tensor<1xi64>) -> tensor<3x16x4x6xf32> {
  %c0 = arith.constant 0 : index
  %p64 = tensor.extract %pos[%c0] : tensor<1xi64>
  %p = arith.index_cast %p64 : i64 to index
  %r = tensor.insert_slice %new into %cache[0, %p, 0, 0][3,1,4,6][1,1,1,1] : tensor<3x1x4x6xf32> into tensor<3x16x4x6xf32>
  return %r : tensor<3x16x4x6xf32>
}
