// layout: rotary embedding by halves of a split head
// mesh: tp8
// least: 2*256*8*128/n*4
// how: one permute of the local shard
// xla: 1088
// odd: 64 -> 63, 128 -> 126
func.func @main(%x: tensor<2x256x8x128xf32> {spmd.sharding = [[], [], [], ["tp"]]},
                %cos: tensor<256x128xf32> {spmd.sharding = [[], []]},
                %sin: tensor<256x128xf32> {spmd.sharding = [[], []]}) -> (tensor<2x256x8x128xf32> {spmd.sharding = [[], [], [], ["tp"]]}) {
  %0 = tensor.extract_slice %x[0, 0, 0, 0] [2, 256, 8, 64] [1, 1, 1, 1] : tensor<2x256x8x128xf32> to tensor<2x256x8x64xf32>
  %1 = tensor.extract_slice %x[0, 0, 0, 64] [2, 256, 8, 64] [1, 1, 1, 1] : tensor<2x256x8x128xf32> to tensor<2x256x8x64xf32>
  %2 = tensor.empty() : tensor<2x256x8x64xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x256x8x64xf32>) outs(%2 : tensor<2x256x8x64xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.negf %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x256x8x64xf32>
  %4 = tensor.concat dim(3) %3, %0 : (tensor<2x256x8x64xf32>, tensor<2x256x8x64xf32>) -> tensor<2x256x8x128xf32>
  %5 = tensor.empty() : tensor<2x256x8x128xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %4, %cos, %sin : tensor<2x256x8x128xf32>, tensor<2x256x8x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>) outs(%5 : tensor<2x256x8x128xf32>) {
  ^bb0(%ain: f32, %bin: f32, %cin: f32, %din: f32, %out: f32):
    %p = arith.mulf %ain, %cin : f32
    %q = arith.mulf %bin, %din : f32
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x256x8x128xf32>
  return %6 : tensor<2x256x8x128xf32>
}
