// layout: x by rows, the weight by rows, the result by rows
// mesh: tp8
// least: (n-1)/n * 512*512*4
// how: gather of the weight
// xla: 896
// odd: 8192 -> 8191
func.func @main(%x: tensor<8192x512xf32> {spmd.sharding = [["tp"], []]},
                %w: tensor<512x512xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<8192x512xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<8192x512xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<8192x512xf32>) -> tensor<8192x512xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<8192x512xf32>, tensor<512x512xf32>) outs(%2 : tensor<8192x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<8192x512xf32>
  return %3 : tensor<8192x512xf32>
}
