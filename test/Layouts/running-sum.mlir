// layout: running sum along a split dimension of 8192
// mesh: tp8
// least: (n-1) * 64*4
// how: gather of the shard totals
// xla: 1792
// odd: 8192 -> 8191
func.func @main(%x: tensor<64x8192xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<64x8192xf32> {spmd.sharding = [[], ["tp"]]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<64x8192xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<64x8192xf32>) -> tensor<64x8192xf32>
  %3 = tensor.empty() : tensor<64xf32>
  %4 = linalg.fill ins(%0 : f32) outs(%3 : tensor<64xf32>) -> tensor<64xf32>
  %sum:2 = "tm_tensor.scan"(%x, %2, %4) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<64x8192xf32>, tensor<64x8192xf32>, tensor<64xf32>) -> (tensor<64x8192xf32>, tensor<64xf32>)
  return %sum#0 : tensor<64x8192xf32>
}
