// RUN: shard-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(shard-spmdize,shard-check-comm{forbid=all-gather:tp,all-to-all max-bytes=130})'
// What is forbidden on an axis is allowed on another; bytes are a rank's, mean over ranks, of a step.
shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
func.func @gather(%x: tensor<4x8xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<4x8xf32> {spmd.sharding = [[], []]}) {
  // expected-error @below {{'all-gather:tp' is forbidden: all-gather over tp takes math.exp at }}
  %0 = math.exp %x {spmd.sharding = [[[], ["tp"]]]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
func.func @other_axis(%x: tensor<4x8xf32> {spmd.sharding = [["dp"], []]}) -> (tensor<4x8xf32> {spmd.sharding = [[], []]}) {
  %0 = math.exp %x {spmd.sharding = [[["dp"], []]]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
func.func @move(%x: tensor<4x8xf32> {spmd.sharding = [["dp"], []]}) -> (tensor<4x8xf32> {spmd.sharding = [[], ["dp"]]}) {
  // expected-error @below {{'all-to-all' is forbidden: all-to-all over dp takes math.exp at }}
  %0 = math.exp %x {spmd.sharding = [[["dp"], []]]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
func.func @most(%x: tensor<4x8xf32> {spmd.sharding = [["dp"], []]}, %y: tensor<8x16xf32> {spmd.sharding = [["dp"], []]})
    -> (tensor<4x8xf32> {spmd.sharding = [[], []]}, tensor<8x16xf32> {spmd.sharding = [[], []]}) {
  %0 = math.exp %x {spmd.sharding = [[["dp"], []]]} : tensor<4x8xf32>
  // expected-error @below {{320 bytes are sent in a step, mean over ranks; at most 130 are allowed; 256 of them here: all-gather over dp takes math.log at }}
  %1 = math.log %y {spmd.sharding = [[["dp"], []]]} : tensor<8x16xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<8x16xf32>
}
