// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// Two axes removed at once: upstream emits one step of it.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @removed(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %both = shard.sharding @mesh split_axes = [[0], [1]] : !shard.sharding
  %whole = shard.sharding @mesh split_axes = [[]] : !shard.sharding
  %a = shard.shard %x to %both : tensor<8x16xf32>
  %b = math.exp %a : tensor<8x16xf32>
  %c = shard.shard %b to %both : tensor<8x16xf32>
  %d = math.tanh %c : tensor<8x16xf32>
  %0 = shard.shard %d to %whole : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
