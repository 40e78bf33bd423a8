// RUN: shard-run --auto-shard=dp2 --check --quiet %s
// An argument without annotation that two ops use: upstream crashes.
shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @two_users(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<8x16xf32>
  %b = arith.mulf %a, %y : tensor<8x16xf32>
  %0 = arith.addf %b, %y : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
