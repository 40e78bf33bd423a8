// layout: softmax over a dimension of 130, split over 8
// mesh: tp8
// least: 2 * 2*(n-1)/n * 512*4 + (n-1)/n * 512*130*4
// how: all-reduce of the maximum and of the sum, then the gather asked by the output
// xla: 245
// odd: 130 -> 127
func.func @main(%x: tensor<512x130xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<512x130xf32> {spmd.sharding = [[], []]}) {
  %0 = arith.constant 0xFF800000 : f32
  %1 = tensor.empty() : tensor<512xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<512xf32>) -> tensor<512xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x130xf32>) outs(%2 : tensor<512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  %4 = tensor.empty() : tensor<512x130xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %3 : tensor<512x130xf32>, tensor<512xf32>) outs(%4 : tensor<512x130xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %d = arith.subf %ain, %bin : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<512x130xf32>
  %6 = arith.constant 0.000000e+00 : f32
  %7 = tensor.empty() : tensor<512xf32>
  %8 = linalg.fill ins(%6 : f32) outs(%7 : tensor<512xf32>) -> tensor<512xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%5 : tensor<512x130xf32>) outs(%8 : tensor<512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  %10 = tensor.empty() : tensor<512x130xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %9 : tensor<512x130xf32>, tensor<512xf32>) outs(%10 : tensor<512x130xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.divf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<512x130xf32>
  return %11 : tensor<512x130xf32>
}
