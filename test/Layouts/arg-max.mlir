// layout: arg-max over a split dimension of 32000
// mesh: tp8
// least: (n-1) * 512 * (4+4)
// how: gather of (value, index) pairs
// xla: 28
// odd: 32000 -> 32003
func.func @main(%x: tensor<512x32000xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<512xi32> {spmd.sharding = [[]]}) {
  %0 = arith.constant 0xFF800000 : f32
  %1 = arith.constant 0 : i32
  %2 = tensor.empty() : tensor<512xf32>
  %3 = linalg.fill ins(%0 : f32) outs(%2 : tensor<512xf32>) -> tensor<512xf32>
  %4 = tensor.empty() : tensor<512xi32>
  %5 = linalg.fill ins(%1 : i32) outs(%4 : tensor<512xi32>) -> tensor<512xi32>
  %6:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x32000xf32>) outs(%3, %5 : tensor<512xf32>, tensor<512xi32>) {
  ^bb0(%ain: f32, %out0: f32, %out1: i32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %g = arith.cmpf ogt, %ain, %out0 : f32
    %v = arith.select %g, %ain, %out0 : f32
    %w = arith.select %g, %k, %out1 : i32
    linalg.yield %v, %w : f32, i32
  } -> (tensor<512xf32>, tensor<512xi32>)
  return %6#1 : tensor<512xi32>
}
