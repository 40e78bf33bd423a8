// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// A sum whose result is wanted split: upstream moves the input instead.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @scattered_sum(%x: tensor<8x16xf32>, %y: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %k0 = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %k0 : tensor<8x16xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%a, %y : tensor<8x16xf32>, tensor<16x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = shard.shard %m to %rows : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
