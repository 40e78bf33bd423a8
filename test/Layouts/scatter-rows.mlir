// layout: rows of a whole tensor added into a table that is split by rows
// mesh: tp8
// least: 0
// how: each device adds its own rows
// xla: 0
// odd: 32000 -> 32003
func.func @main(%ids: tensor<2x256xi64> {spmd.sharding = [[], []]},
                %g: tensor<2x256x512xf32> {spmd.sharding = [[], [], []]}) -> (tensor<32000x512xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<32000x512xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<32000x512xf32>) -> tensor<32000x512xf32>
  %3 = tensor.collapse_shape %ids [[0, 1]] : tensor<2x256xi64> into tensor<512xi64>
  %4 = tensor.collapse_shape %g [[0, 1], [2]] : tensor<2x256x512xf32> into tensor<512x512xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %sum = scf.for %i = %c0 to %c512 step %c1 iter_args(%acc = %2) -> (tensor<32000x512xf32>) {
    %id = tensor.extract %3[%i] : tensor<512xi64>
    %row = arith.index_cast %id : i64 to index
    %old = tensor.extract_slice %acc[%row, 0] [1, 512] [1, 1] : tensor<32000x512xf32> to tensor<1x512xf32>
    %new = tensor.extract_slice %4[%i, 0] [1, 512] [1, 1] : tensor<512x512xf32> to tensor<1x512xf32>
    %both = arith.addf %old, %new : tensor<1x512xf32>
    %next = tensor.insert_slice %both into %acc[%row, 0] [1, 512] [1, 1] : tensor<1x512xf32> into tensor<32000x512xf32>
    scf.yield %next : tensor<32000x512xf32>
  }
  return %sum : tensor<32000x512xf32>
}
