// layout: a split contraction, the result split on the sequence
// mesh: tp8
// least: (n-1)/n * 2*256*512*4
// how: reduce-scatter
// xla: 1792
// odd: 256 -> 255
func.func @main(%x: tensor<2x256x1024xf32> {spmd.sharding = [[], [], ["tp"]]},
                %w: tensor<1024x512xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<2x256x512xf32> {spmd.sharding = [[], ["tp"], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<2x256x512xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<2x256x512xf32>) -> tensor<2x256x512xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x256x1024xf32>, tensor<1024x512xf32>) outs(%2 : tensor<2x256x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x512xf32>
  return %3 : tensor<2x256x512xf32>
}
