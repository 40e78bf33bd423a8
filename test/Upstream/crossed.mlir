// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// From rows and columns to columns and rows: upstream emits one step of it.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @crossed(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %both = shard.sharding @mesh split_axes = [[0], [1]] : !shard.sharding
  %crossed = shard.sharding @mesh split_axes = [[1], [0]] : !shard.sharding
  %a = shard.shard %x to %both : tensor<8x16xf32>
  %b = math.exp %a : tensor<8x16xf32>
  %c = shard.shard %b to %crossed : tensor<8x16xf32>
  %d = shard.shard %c to %crossed annotate_for_users : tensor<8x16xf32>
  %0 = math.tanh %d : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
