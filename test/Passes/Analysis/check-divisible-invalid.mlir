// RUN: shard-opt %s --split-input-file --verify-diagnostics --shard-check-divisible='axis-size=4'
shard.grid @mesh(shape = 4)
func.func @uneven(%x: tensor<10x8xf32>) -> tensor<10x8xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  // expected-error @below {{dimension 0 is 10, not a multiple of axis size 4}}
  %0 = shard.shard %x to %rows : tensor<10x8xf32>
  return %0 : tensor<10x8xf32>
}

// -----

// A dynamic dimension is not known here, and passes.
shard.grid @mesh(shape = 4)
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
