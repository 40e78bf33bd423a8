// layout: from (y, -, x) to (-, (x, y), -), x=4, y=2
// mesh: dp4,tp2
// least: (n-1)/n * 16*256*256*4/n
// how: an exchange; each device has one part of what it wants
// xla: 3584
// odd: 256 -> 255
// doubled: dp4,tp4
func.func @main(%x: tensor<16x256x256xf32> {spmd.sharding = [["tp"], [], ["dp"]]}) -> (tensor<16x256x256xf32> {spmd.sharding = [[], ["dp", "tp"], []]}) {
  %0 = tensor.empty() : tensor<16x256x256xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<16x256x256xf32>) outs(%0 : tensor<16x256x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.sin %ain : f32
    linalg.yield %r : f32
  } -> tensor<16x256x256xf32>
  return %1 : tensor<16x256x256xf32>
}
