// layout: mean cross entropy, the vocabulary split by columns
// mesh: tp8
// least: 2*(n-1)/n * (2 * 2*256*4 + 4)
// how: all-reduce of the maximum, then of the sum; that of the gold logits after their mean
// xla: 10.5
// odd: 32000 -> 32003
func.func @main(%x: tensor<2x256x512xf32> {spmd.sharding = [[], [], []]},
                %w: tensor<512x32000xf32> {spmd.sharding = [[], ["tp"]]},
                %labels: tensor<2x256xi64> {spmd.sharding = [[], []]}) -> (tensor<f32> {spmd.sharding = []}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<2x256x32000xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<2x256x32000xf32>) -> tensor<2x256x32000xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x256x512xf32>, tensor<512x32000xf32>) outs(%2 : tensor<2x256x32000xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x32000xf32>
  %4 = arith.constant 0xFF800000 : f32
  %5 = tensor.empty() : tensor<2x256xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<2x256xf32>) -> tensor<2x256xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%3 : tensor<2x256x32000xf32>) outs(%6 : tensor<2x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x256xf32>
  %8 = tensor.empty() : tensor<2x256x32000xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3, %7 : tensor<2x256x32000xf32>, tensor<2x256xf32>) outs(%8 : tensor<2x256x32000xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.subf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<2x256x32000xf32>
  %10 = tensor.empty() : tensor<2x256x32000xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9 : tensor<2x256x32000xf32>) outs(%10 : tensor<2x256x32000xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.exp %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x256x32000xf32>
  %12 = arith.constant 0.000000e+00 : f32
  %13 = tensor.empty() : tensor<2x256xf32>
  %14 = linalg.fill ins(%12 : f32) outs(%13 : tensor<2x256xf32>) -> tensor<2x256xf32>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%11 : tensor<2x256x32000xf32>) outs(%14 : tensor<2x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x256xf32>
  %16 = tensor.empty() : tensor<2x256xf32>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<2x256xf32>) outs(%16 : tensor<2x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.log %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x256xf32>
  %18 = tensor.empty() : tensor<2x256xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%labels : tensor<2x256xi64>) outs(%18 : tensor<2x256xf32>) {
  ^bb0(%ain: i64, %out: f32):
    %k = arith.index_cast %ain : i64 to index
    %b = linalg.index 0 : index
    %t = linalg.index 1 : index
    %r = tensor.extract %9[%b, %t, %k] : tensor<2x256x32000xf32>
    linalg.yield %r : f32
  } -> tensor<2x256xf32>
  %20 = tensor.empty() : tensor<2x256xf32>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17, %19 : tensor<2x256xf32>, tensor<2x256xf32>) outs(%20 : tensor<2x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.subf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<2x256xf32>
  %22 = arith.constant 0.000000e+00 : f32
  %23 = tensor.empty() : tensor<f32>
  %24 = linalg.fill ins(%22 : f32) outs(%23 : tensor<f32>) -> tensor<f32>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%21 : tensor<2x256xf32>) outs(%24 : tensor<f32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %26 = arith.constant 5.120000e+02 : f32
  %27 = tensor.empty() : tensor<f32>
  %28 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%25 : tensor<f32>) outs(%27 : tensor<f32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.divf %ain, %26 : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %28 : tensor<f32>
}
