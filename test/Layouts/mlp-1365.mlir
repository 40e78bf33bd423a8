// layout: an MLP of width 1365: silu(x A) B
// mesh: tp8
// least: 2*(n-1)/n * 256*512*4
// how: all-reduce of the result
// xla: 896
// odd: 1365 -> 1361
func.func @main(%x: tensor<256x512xf32> {spmd.sharding = [[], []]},
                %a: tensor<512x1365xf32> {spmd.sharding = [[], ["tp"]]},
                %b: tensor<1365x512xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<256x512xf32> {spmd.sharding = [[], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<256x1365xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<256x1365xf32>) -> tensor<256x1365xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %a : tensor<256x512xf32>, tensor<512x1365xf32>) outs(%2 : tensor<256x1365xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<256x1365xf32>
  %4 = arith.constant 1.000000e+00 : f32
  %5 = tensor.empty() : tensor<256x1365xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<256x1365xf32>) outs(%5 : tensor<256x1365xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %n = arith.negf %ain : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %4 : f32
    %r = arith.divf %ain, %d : f32
    linalg.yield %r : f32
  } -> tensor<256x1365xf32>
  %7 = arith.constant 0.000000e+00 : f32
  %8 = tensor.empty() : tensor<256x512xf32>
  %9 = linalg.fill ins(%7 : f32) outs(%8 : tensor<256x512xf32>) -> tensor<256x512xf32>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%6, %b : tensor<256x1365xf32>, tensor<1365x512xf32>) outs(%9 : tensor<256x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<256x512xf32>
  return %10 : tensor<256x512xf32>
}
