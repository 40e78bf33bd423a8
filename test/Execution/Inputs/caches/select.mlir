func.func private @update(%new: tensor<3x1x4x6xf32>, %cache: tensor<3x16x4x6xf32>, %pos: tensor<1xi64>) -> tensor<3x16x4x6xf32> {
  %n = tensor.collapse_shape %new [[0,1],[2],[3]] : tensor<3x1x4x6xf32> into tensor<3x4x6xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b,t,h,d)->(b,h,d)>, affine_map<(b,t,h,d)->(0)>, affine_map<(b,t,h,d)->(b,t,h,d)>, affine_map<(b,t,h,d)->(b,t,h,d)>], iterator_types=["parallel","parallel","parallel","parallel"]} ins(%n, %pos, %cache : tensor<3x4x6xf32>, tensor<1xi64>, tensor<3x16x4x6xf32>) outs(%cache : tensor<3x16x4x6xf32>) {
  ^bb0(%a: f32, %p: i64, %old: f32, %c: f32):
    %t = linalg.index 1 : index
    %i = arith.index_cast %t : index to i64
    %here = arith.cmpi eq, %i, %p : i64
    %v = arith.select %here, %a, %old : f32
    linalg.yield %v : f32
  } -> tensor<3x16x4x6xf32>
  return %r : tensor<3x16x4x6xf32>
}
