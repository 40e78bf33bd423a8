// RUN: shard-run --auto-shard=dp2 --check --quiet %s
// Nine rows over two devices: upstream drops one.
shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @uneven(%x: tensor<9x16xf32>) -> tensor<9x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<9x16xf32>
  %0 = math.exp %a : tensor<9x16xf32>
  return %0 : tensor<9x16xf32>
}
