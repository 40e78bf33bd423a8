// RUN: shard-opt %s --split-input-file --verify-diagnostics --shard-spmdize --shard-check-comm=implicit=false
// A collective is asked for when it begins or ends where an annotation places something: the value, the
// op that wants it, the function's result. (shard-propagate notes annotations as spmd.fixed.)
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @result(%x: tensor<4x8xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<4x8xf32> {spmd.sharding = [[], []]}) {
  // expected-error @below {{no annotation asks for this communication: all-gather over tp takes math.exp at }}
  %0 = math.exp %x {spmd.sharding = [[[], ["tp"]]]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @asked_result(%x: tensor<4x8xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<4x8xf32> {spmd.fixed, spmd.sharding = [[], []]}) {
  %0 = math.exp %x {spmd.sharding = [[[], ["tp"]]]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @asked_op(%x: tensor<4x8xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<4x8xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = math.exp %x {spmd.sharding = [[[], ["tp"]]]} : tensor<4x8xf32>
  %1 = math.log %0 {spmd.fixed, spmd.sharding = [[["tp"], []]]} : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @unasked_op(%x: tensor<4x8xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<4x8xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = math.exp %x {spmd.sharding = [[[], ["tp"]]]} : tensor<4x8xf32>
  // expected-error @below {{no annotation asks for this communication: all-to-all over tp takes math.exp at }}
  %1 = math.log %0 {spmd.sharding = [[["tp"], []]]} : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
