// RUN: shard-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(shard-import)'

shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @conflict(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @mesh split_axes = [[], [1]] : !shard.sharding
  // expected-note @below {{the other annotation is here}}
  %0 = shard.shard %x to %rows : tensor<8x16xf32>
  // expected-error @below {{sharding [[], ["tp"]] conflicts with [["dp"], []] of the same value}}
  %1 = shard.shard %0 to %columns : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// An attribute and an annotation that disagree.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @attribute(%x: tensor<8x16xf32> {spmd.sharding = [["tp"], []]}) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  // expected-error @below {{sharding [["dp"], []] conflicts with [["tp"], []] of the same value}}
  %0 = shard.shard %x to %rows : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// expected-error @below {{grid '@mesh' does not name its axes; expected spmd.axes = [...] with 2 names out of pp, dp, ep, sp, tp}}
shard.grid @mesh(shape = 2x4)
func.func @unnamed(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @halo(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @below {{'shard.sharding' with halo_sizes is not supported}}
  %rows = shard.sharding @mesh split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @offsets(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @below {{'shard.sharding' with sharded_dims_offsets is not supported}}
  %rows = shard.sharding @mesh split_axes = [[0]] sharded_dims_offsets = [0, 3, 8] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @unknown(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %s : tensor<8x16xf32>
  %1 = shard.get_sharding %0 : tensor<8x16xf32> -> !shard.sharding // expected-error {{'shard.get_sharding' is not supported}}
  return %0 : tensor<8x16xf32>
}

// -----

// Two axes of one name, which no annotation could tell apart.
// expected-error @below {{grid '@mesh' has two axes named 'tp'}}
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp", "tp"]}
func.func @twice(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  return %x : tensor<8x16xf32>
}
