// layout: two split dimensions merged into one that is split over both axes
// mesh: dp2,tp4
// least: 0
// how: no data moves
// xla: 0
// odd: 1024 -> 1023, 2048 -> 2046
// least-odd: 1023*4 * (n/2)/n
// how-odd: half of the devices hold one row of a neighbour
func.func @main(%x: tensor<2x1024x1024xf32> {spmd.sharding = [["dp"], ["tp"], []]}) -> (tensor<2048x1024xf32> {spmd.sharding = [["dp", "tp"], []]}) {
  %0 = tensor.empty() : tensor<2x1024x1024xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x1024x1024xf32>) outs(%0 : tensor<2x1024x1024xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.sin %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x1024x1024xf32>
  %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<2x1024x1024xf32> into tensor<2048x1024xf32>
  return %2 : tensor<2048x1024xf32>
}
