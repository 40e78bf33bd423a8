// layout: the 50 largest of a split dimension of 32000
// mesh: tp8
// least: (n-1) * 16*50 * (4+4)
// how: gather of the local 50 (value, index) pairs
// xla: 1750
// odd: 32000 -> 32003
func.func @main(%x: tensor<16x32000xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<16x50xf32> {spmd.sharding = [[], []]}, tensor<16x50xi64> {spmd.sharding = [[], []]}) {
  %0 = tensor.empty() : tensor<16x50xf32>
  %1 = tensor.empty() : tensor<16x50xi64>
  %top:2 = "tm_tensor.topk"(%x, %0, %1) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %g = arith.cmpf ogt, %a, %b : f32
    "tm_tensor.yield"(%g) : (i1) -> ()
  }) : (tensor<16x32000xf32>, tensor<16x50xf32>, tensor<16x50xi64>) -> (tensor<16x50xf32>, tensor<16x50xi64>)
  return %top#0, %top#1 : tensor<16x50xf32>, tensor<16x50xi64>
}
