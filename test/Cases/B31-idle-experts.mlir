// Three tokens, all routed to expert 0 of four, experts and tokens split over four ranks: one rank has no token, three
// have experts without any. In sgl-kernel-npu issue 69 and PaddleFormers issue 3010 such a rank skipped its exchange and
// the others waited. The neighbour: all routed to the last expert.
// RUN: shard-run %s --auto-shard=ep4 --check | FileCheck %s
// RUN: sed 's/dense<0>/dense<3>/' %s > %t.mlir && shard-run %t.mlir --auto-shard=ep4 --check | FileCheck %s
// CHECK: ranks: 4 (ep 4)
// CHECK: result 0 3x8xf32 against the unsharded program
func.func @main(%x: tensor<3x8xf32> {spmd.sharding = [["ep"], []]}, %w: tensor<4x8x8xf32> {spmd.sharding = [["ep"], [], []], spmd.role = "weight"}) -> (tensor<3x8xf32> {spmd.sharding = [["ep"], []]}) {
  %chosen = arith.constant dense<0> : tensor<3xi64>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.empty() : tensor<3x4xf32>
  %hot = linalg.generic {indexing_maps = [affine_map<(t, e) -> (t)>, affine_map<(t, e) -> (t, e)>], iterator_types = ["parallel", "parallel"]} ins(%chosen : tensor<3xi64>) outs(%n : tensor<3x4xf32>) {
  ^bb0(%c: i64, %o: f32):
    %i = linalg.index 1 : index
    %k = arith.index_cast %i : index to i64
    %here = arith.cmpi eq, %c, %k : i64
    %v = arith.select %here, %one, %zero : f32
    linalg.yield %v : f32
  } -> tensor<3x4xf32>
  %e0 = tensor.empty() : tensor<4x3x8xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x3x8xf32>) -> tensor<4x3x8xf32>
  %sent = linalg.generic {indexing_maps = [affine_map<(e, t, d) -> (t, e)>, affine_map<(e, t, d) -> (t, d)>, affine_map<(e, t, d) -> (e, t, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%hot, %x : tensor<3x4xf32>, tensor<3x8xf32>) outs(%e0 : tensor<4x3x8xf32>) {
  ^bb0(%h: f32, %v: f32, %o: f32):
    %p = arith.mulf %h, %v : f32
    linalg.yield %p : f32
  } -> tensor<4x3x8xf32>
  %done = linalg.batch_matmul ins(%sent, %w : tensor<4x3x8xf32>, tensor<4x8x8xf32>) outs(%z0 : tensor<4x3x8xf32>) -> tensor<4x3x8xf32>
  %e1 = tensor.empty() : tensor<3x8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x8xf32>) -> tensor<3x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(t, d, e) -> (t, e)>, affine_map<(t, d, e) -> (e, t, d)>, affine_map<(t, d, e) -> (t, d)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%hot, %done : tensor<3x4xf32>, tensor<4x3x8xf32>) outs(%z1 : tensor<3x8xf32>) {
  ^bb0(%h: f32, %v: f32, %sum: f32):
    %p = arith.mulf %h, %v : f32
    %s = arith.addf %p, %sum : f32
    linalg.yield %s : f32
  } -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
