// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// A table captured by a body: upstream crashes.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @embedding(%ids: tensor<8xi64>, %table: tensor<12x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %t = shard.shard %table to %rows : tensor<12x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %d = linalg.index 1 : index
    %v = tensor.extract %t[%i, %d] : tensor<12x16xf32>
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
