// layout: a contraction split over two axes, the result split over one
// mesh: dp2,tp4
// least: (a-1)/a * 512*512*4 + 2*(b-1)/b * 512*512*4/a
// how: reduce-scatter over the first axis, all-reduce over the second
// xla: 1792
// odd: 1024 -> 1021
func.func @main(%x: tensor<512x1024xf32> {spmd.sharding = [[], ["dp", "tp"]]},
                %w: tensor<1024x512xf32> {spmd.sharding = [["dp", "tp"], []]}) -> (tensor<512x512xf32> {spmd.sharding = [["dp"], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<512x512xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<512x1024xf32>, tensor<1024x512xf32>) outs(%2 : tensor<512x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %3 : tensor<512x512xf32>
}
