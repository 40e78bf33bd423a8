// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// A maximum that ignores NaN: upstream emits a reduction without a lowering.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @maxnumf(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %columns = shard.sharding @mesh split_axes = [[], [1]] : !shard.sharding
  %a = shard.shard %x to %columns : tensor<8x16xf32>
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.reduce { arith.maxnumf } ins(%a : tensor<8x16xf32>) outs(%f : tensor<8xf32>) dimensions = [1]
  return %0 : tensor<8xf32>
}
