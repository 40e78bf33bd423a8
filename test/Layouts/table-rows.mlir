// layout: look-up in a table of 32000 rows, split by rows; the result whole
// mesh: tp8
// least: 2*(n-1)/n * 2*256*512*4
// how: all-reduce of the rows
// xla: 1792
// odd: 256 -> 255
func.func @main(%ids: tensor<2x256xi64> {spmd.sharding = [[], []]},
                %table: tensor<32000x512xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<2x256x512xf32> {spmd.sharding = [[], [], []]}) {
  %0 = tensor.empty() : tensor<2x256x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : tensor<2x256xi64>) outs(%0 : tensor<2x256x512xf32>) {
  ^bb0(%ain: i64, %out: f32):
    %k = arith.index_cast %ain : i64 to index
    %d = linalg.index 2 : index
    %r = tensor.extract %table[%k, %d] : tensor<32000x512xf32>
    linalg.yield %r : f32
  } -> tensor<2x256x512xf32>
  return %1 : tensor<2x256x512xf32>
}
