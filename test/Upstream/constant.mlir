// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// A constant of many values: upstream fails without a word.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @constant(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<4x4xf32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]> : tensor<4x4xf32>
  %0 = arith.addf %a, %c : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
