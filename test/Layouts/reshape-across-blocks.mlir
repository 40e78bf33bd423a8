// layout: a dimension of 30720 split over 4, reshaped to 6x5120
// mesh: tp4
// least: (n-1)/n * 3*30720*4
// how: one gather, asked by the output
// xla: 270
// odd: 5120 -> 5119, 30720 -> 30714
func.func @main(%x: tensor<3x30720xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<3x6x5120xf32> {spmd.sharding = [[], [], []]}) {
  %0 = tensor.empty() : tensor<3x30720xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x30720xf32>) outs(%0 : tensor<3x30720xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.sin %ain : f32
    linalg.yield %r : f32
  } -> tensor<3x30720xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [3, 6, 5120] : tensor<3x30720xf32> into tensor<3x6x5120xf32>
  return %2 : tensor<3x6x5120xf32>
}
