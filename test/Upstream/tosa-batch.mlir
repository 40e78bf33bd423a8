// RUN: shard-run --auto-shard=dp2 --check --quiet %s
// tosa.matmul split on the batch: upstream leaves the result global.
shard.grid @mesh(shape = 2) {spmd.axes = ["dp"]}
func.func @tosa_batch(%x: tensor<2x4x8xf32>, %y: tensor<2x8x6xf32>) -> tensor<2x4x6xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %a = shard.shard %x to %rows : tensor<2x4x8xf32>
  %b = shard.shard %y to %rows : tensor<2x8x6xf32>
  %0 = tosa.matmul %a, %b, %z, %z : (tensor<2x4x8xf32>, tensor<2x8x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}
