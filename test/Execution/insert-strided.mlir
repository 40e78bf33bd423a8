// Each rank writes what lies in its rows, every second column; a step is not lost.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: shard-run %s --auto-shard=tp4 --check --exact | FileCheck %s
// CHECK: result 0 8x8xf32 against the unsharded program: equal
func.func @main(%into: tensor<8x8xf32> {spmd.sharding = [["tp"], []]}, %part: tensor<3x4xf32>)
    -> (tensor<8x8xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = tensor.insert_slice %part into %into[3, 0] [3, 4] [1, 2] : tensor<3x4xf32> into tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
