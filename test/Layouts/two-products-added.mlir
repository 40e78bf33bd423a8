// layout: x W + y V, both contractions split
// mesh: tp8
// least: 2*(n-1)/n * 256*512*4
// how: one all-reduce after the add
// xla: 1792
// odd: 1024 -> 1021
func.func @main(%x: tensor<256x1024xf32> {spmd.sharding = [[], ["tp"]]},
                %w: tensor<1024x512xf32> {spmd.sharding = [["tp"], []]},
                %y: tensor<256x1024xf32> {spmd.sharding = [[], ["tp"]]},
                %v: tensor<1024x512xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<256x512xf32> {spmd.sharding = [[], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<256x512xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<256x512xf32>) -> tensor<256x512xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<256x1024xf32>, tensor<1024x512xf32>) outs(%2 : tensor<256x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<256x512xf32>
  %4 = arith.constant 0.000000e+00 : f32
  %5 = tensor.empty() : tensor<256x512xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<256x512xf32>) -> tensor<256x512xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y, %v : tensor<256x1024xf32>, tensor<1024x512xf32>) outs(%6 : tensor<256x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<256x512xf32>
  %8 = tensor.empty() : tensor<256x512xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3, %7 : tensor<256x512xf32>, tensor<256x512xf32>) outs(%8 : tensor<256x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.addf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<256x512xf32>
  return %9 : tensor<256x512xf32>
}
