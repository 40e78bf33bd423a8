// layout: a dimension split over (a, b), wanted over (b, a)
// mesh: dp2,tp4
// least: (n-2)/n * 256*256*4/n
// how: one permute; two devices have what they want
// xla: 32
// odd: 256 -> 255
func.func @main(%x: tensor<256x256xf32> {spmd.sharding = [["dp", "tp"], []]}) -> (tensor<256x256xf32> {spmd.sharding = [["tp", "dp"], []]}) {
  %0 = tensor.empty() : tensor<256x256xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<256x256xf32>) outs(%0 : tensor<256x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.sin %ain : f32
    linalg.yield %r : f32
  } -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}
