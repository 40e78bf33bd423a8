// layout: causal softmax, the rows split
// mesh: tp8
// least: 0
// how: local
// xla: 0
// odd: 512 -> 509
func.func @main(%x: tensor<8x512x512xf32> {spmd.sharding = [[], ["tp"], []]}) -> (tensor<8x512x512xf32> {spmd.sharding = [[], ["tp"], []]}) {
  %0 = arith.constant 0xFF800000 : f32
  %1 = tensor.empty() : tensor<8x512x512xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<8x512x512xf32>) outs(%1 : tensor<8x512x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi uge, %i, %j : index
    %r = arith.select %c, %ain, %0 : f32
    linalg.yield %r : f32
  } -> tensor<8x512x512xf32>
  %3 = arith.constant 0xFF800000 : f32
  %4 = tensor.empty() : tensor<8x512xf32>
  %5 = linalg.fill ins(%3 : f32) outs(%4 : tensor<8x512xf32>) -> tensor<8x512xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%2 : tensor<8x512x512xf32>) outs(%5 : tensor<8x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<8x512xf32>
  %7 = tensor.empty() : tensor<8x512x512xf32>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %6 : tensor<8x512x512xf32>, tensor<8x512xf32>) outs(%7 : tensor<8x512x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %d = arith.subf %ain, %bin : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<8x512x512xf32>
  %9 = arith.constant 0.000000e+00 : f32
  %10 = tensor.empty() : tensor<8x512xf32>
  %11 = linalg.fill ins(%9 : f32) outs(%10 : tensor<8x512xf32>) -> tensor<8x512xf32>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%8 : tensor<8x512x512xf32>) outs(%11 : tensor<8x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<8x512xf32>
  %13 = tensor.empty() : tensor<8x512x512xf32>
  %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %12 : tensor<8x512x512xf32>, tensor<8x512xf32>) outs(%13 : tensor<8x512x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.divf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<8x512x512xf32>
  return %14 : tensor<8x512x512xf32>
}
