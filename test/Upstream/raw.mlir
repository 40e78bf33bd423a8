// RUN: shard-run --auto-shard=dp2 --check --quiet %s
// An annotated argument that is used as it is too: upstream crashes.
shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @raw(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<8x16xf32>
  %b = math.exp %a : tensor<8x16xf32>
  %0 = arith.addf %b, %x : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
