// RUN: shard-run --auto-shard=dp2,tp4 --check --quiet %s
// Two reduced results: upstream reduces both with the first combiner and enters the second init on every device.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @two_results(%x: tensor<8x16xf32>, %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %columns = shard.sharding @mesh split_axes = [[], [1]] : !shard.sharding
  %a = shard.shard %x to %columns : tensor<8x16xf32>
  %zero = arith.constant 1.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x16xf32>) outs(%s, %m : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%in: f32, %p: f32, %q: f32):
    %v = arith.addf %p, %in : f32
    %w = arith.maximumf %q, %in : f32
    linalg.yield %v, %w : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
