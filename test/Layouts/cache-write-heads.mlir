// layout: a row written at a run-time position of a cache, the heads split
// mesh: tp8
// least: 0
// how: local
// xla: 0
// odd: 8 -> 9
func.func @main(%cache: tensor<2x2048x8x64xf32> {spmd.sharding = [[], [], ["tp"], []]},
                %new: tensor<2x1x8x64xf32> {spmd.sharding = [[], [], ["tp"], []]},
                %position: tensor<i64> {spmd.sharding = []}) -> (tensor<2x2048x8x64xf32> {spmd.sharding = [[], [], ["tp"], []]}) {
  %p = tensor.extract %position[] : tensor<i64>
  %at = arith.index_cast %p : i64 to index
  %out = tensor.insert_slice %new into %cache[0, %at, 0, 0] [2, 1, 8, 64] [1, 1, 1, 1] : tensor<2x1x8x64xf32> into tensor<2x2048x8x64xf32>
  return %out : tensor<2x2048x8x64xf32>
}
