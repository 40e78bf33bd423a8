// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import)' | FileCheck %s

// Annotations become attributes of what they annotate, with the axes by name; the values flow through.
// CHECK: shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x16xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.sharding = {{\[}}["dp"], []]}
// CHECK-NOT:     shard.
// CHECK:         %[[Y:.*]] = linalg.exp {spmd.sharding = {{\[\[}}[], ["dp", "tp"]]]} ins(%[[X]]
// CHECK-NEXT:    %[[Z:.*]] = linalg.exp ins(%[[Y]]
// CHECK-NEXT:    return %[[Z]]
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @mesh split_axes = [[], [0, 1]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<8x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %1 = linalg.exp ins(%0 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = shard.shard %1 to %columns : tensor<8x16xf32>
  %3 = shard.shard %2 to %columns annotate_for_users : tensor<8x16xf32>
  %4 = linalg.exp ins(%3 : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}
