// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// tosa.matmul split on the contraction: upstream forgets the sum.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @tosa_contraction(%x: tensor<2x4x8xf32>, %y: tensor<2x8x6xf32>) -> tensor<2x4x6xf32> {
  %k0 = shard.sharding @mesh split_axes = [[], [], [1]] : !shard.sharding
  %k1 = shard.sharding @mesh split_axes = [[], [1]] : !shard.sharding
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %a = shard.shard %x to %k0 : tensor<2x4x8xf32>
  %b = shard.shard %y to %k1 : tensor<2x8x6xf32>
  %0 = tosa.matmul %a, %b, %z, %z : (tensor<2x4x8xf32>, tensor<2x8x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}
