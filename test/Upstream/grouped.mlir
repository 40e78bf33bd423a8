// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// A map that is no projection (grouped heads): an error of upstream.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @grouped(%q: tensor<8x16xf32>, %k: tensor<2x16xf32>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %a = shard.shard %q to %rows : tensor<8x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 floordiv 4, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a, %k : tensor<8x16xf32>, tensor<2x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %v = arith.mulf %x, %y : f32
    linalg.yield %v : f32
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
