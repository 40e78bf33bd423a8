// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// linalg.index in a body: upstream leaves it local.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @index(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %both = shard.sharding @mesh split_axes = [[0], [1]] : !shard.sharding
  %a = shard.shard %x to %both : tensor<8x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %l = arith.index_cast %k : index to i64
    %f = arith.sitofp %l : i64 to f32
    %g = arith.addf %in, %f : f32
    linalg.yield %g : f32
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
