// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// tosa.add with an extent of one: upstream makes it zero.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @tosa_add(%x: tensor<8x16xf32>, %y: tensor<1x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %rows : tensor<8x16xf32>
  %0 = tosa.add %a, %y : (tensor<8x16xf32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
