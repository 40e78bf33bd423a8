// layout: bf16 product with a weight that is cast from f32, by rows
// mesh: tp4
// least: 2*(n-1)/n * 64*1024*2
// how: all-reduce of the bf16 result
// xla: 384
// odd: 1024 -> 1023
func.func @main(%x: tensor<64x1024xbf16> {spmd.sharding = [[], []]},
                %w: tensor<1024x1024xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<64x1024xbf16> {spmd.sharding = [[], []]}) {
  %0 = tensor.empty() : tensor<1024x1024xbf16>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<1024x1024xf32>) outs(%0 : tensor<1024x1024xbf16>) {
  ^bb0(%ain: f32, %out: bf16):
    %r = arith.truncf %ain : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<1024x1024xbf16>
  %2 = arith.constant 0.000000e+00 : f32
  %3 = tensor.empty() : tensor<64x1024xf32>
  %4 = linalg.fill ins(%2 : f32) outs(%3 : tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %1 : tensor<64x1024xbf16>, tensor<1024x1024xbf16>) outs(%4 : tensor<64x1024xf32>) {
  ^bb0(%ain: bf16, %bin: bf16, %out: f32):
    %p0 = arith.extf %ain : bf16 to f32
    %w0 = arith.extf %bin : bf16 to f32
    %p = arith.mulf %p0, %w0 : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x1024xf32>
  %6 = tensor.empty() : tensor<64x1024xbf16>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<64x1024xf32>) outs(%6 : tensor<64x1024xbf16>) {
  ^bb0(%ain: f32, %out: bf16):
    %r = arith.truncf %ain : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<64x1024xbf16>
  return %7 : tensor<64x1024xbf16>
}
