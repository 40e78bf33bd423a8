// One op of a sharded program is spoilt; --bisect names the first op whose value differs, as it lies on
// the ranks: a sum inside the first of two layers, an op of the function itself, and a difference that
// is small beside the largest value of its tensor.
// RUN: shard-opt %s --auto-shard=tp2,pp2 --quiet -o %t.mlir
// RUN: shard-run %t.mlir --check=%s --bisect | FileCheck %s --check-prefix=RIGHT
// RIGHT: result 0 6x10xf32 against the unsharded program:
// RIGHT-NOT: bisect

// RUN: sed '/private @layer/,$ { /shard.all_reduce/ s/grid_axes = \[1\]/grid_axes = [1] reduction = max/ }' %t.mlir > %t.layer.mlir
// RUN: not shard-run %t.layer.mlir --check=%s --bisect --quiet 2>&1 | FileCheck %s --check-prefix=LAYER
// LAYER: mismatch: result 0
// LAYER: mismatch: first in linalg.matmul at {{.*}}shard-run-bisect.mlir:62:8 (@layer:2) as shard.all_reduce leaves it, inside func.call at {{.*}}:36:9 (@main:0): {{.*}} at [0, 0] on rank 0, sharding whole; largest error 0.965 (bar 1e-05)

// RUN: shard-opt %s --auto-shard=tp2 --quiet -o %t.flat.mlir
// RUN: sed '/func.func @main/,/return/ s/arith.mulf/arith.subf/' %t.flat.mlir > %t.main.mlir
// RUN: not shard-run %t.main.mlir --check=%s --bisect 2>&1 | FileCheck %s --check-prefix=MAIN
// MAIN-DAG: mismatch: first in linalg.generic at {{.*}}:42:8 (@main:3): 0 for {{.*}} at [0, 0] on rank 0, sharding {{\[\[\], \["tp"\]\]}}; largest error 1 (bar 1e-05)
// MAIN-DAG: bisect: 6 values compared in 1 pair of runs

// RUN: sed '/private @layer/,$ s/2.500000e-01/2.500001e-01/' %t.flat.mlir > %t.small.mlir
// RUN: not shard-run %t.small.mlir --check=%s --bisect --rtol=1e-8 --quiet 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: mismatch: first in linalg.generic at {{.*}}:55:8 (@layer:1), inside func.call at {{.*}} (@main:0): {{.*}}, sharding {{\[\[\], \["tp"\]\]}}; largest error

// What is returned is not what was made: no op differs, the result does.
// RUN: sed '/func.func @main/,/return/ s/return \(%[a-z0-9_]*\)/%neg = arith.negf \1 : tensor<6x10xf32>\n return %neg/' %t.flat.mlir > %t.result.mlir
// RUN: not shard-run %t.result.mlir --check=%s --bisect --quiet 2>&1 | FileCheck %s --check-prefix=RESULT
// RESULT: mismatch: first in result 0, linalg.generic at {{.*}}:42:8 (@main:3) as arith.negf leaves it: {{.*}} at [0, 0] on rank 0, sharding whole; largest error 2 (bar 1e-05)

// RUN: not shard-run %s --bisect 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: shard-run: error: --bisect compares with the unsharded program: add --check
// RUN: shard-opt %t.layer.mlir --emit=shared -o %t.so
// RUN: not shard-run %t.so --check=%s --bisect --quiet 2>&1 | FileCheck %s --check-prefix=LOWERED
// LOWERED: shard-run: error: --bisect takes a model with --auto-shard, or a sharded program as shard-opt prints it; '{{.*}}.so' is lowered already
#same = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<6x8xf32>, %u0: tensor<8x4xf32>, %v0: tensor<4x8xf32>, %u1: tensor<8x4xf32>, %v1: tensor<4x8xf32>, %w: tensor<8x10xf32>) -> tensor<6x10xf32> {
  %h0 = call @layer(%x, %u0, %v0) : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %h1 = call @layer(%h0, %u1, %v1) : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x10xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
  %p = linalg.matmul ins(%h1, %w : tensor<6x8xf32>, tensor<8x10xf32>) outs(%f : tensor<6x10xf32>) -> tensor<6x10xf32>
  %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<6x10xf32>
  return %y : tensor<6x10xf32>
}
func.func private @layer(%x: tensor<6x8xf32>, %u: tensor<8x4xf32>, %v: tensor<4x8xf32>) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %quarter = arith.constant 0.25 : f32
  %he = tensor.empty() : tensor<6x4xf32>
  %hf = linalg.fill ins(%zero : f32) outs(%he : tensor<6x4xf32>) -> tensor<6x4xf32>
  %h = linalg.matmul ins(%x, %u : tensor<6x8xf32>, tensor<8x4xf32>) outs(%hf : tensor<6x4xf32>) -> tensor<6x4xf32>
  %t = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<6x4xf32>) outs(%he : tensor<6x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %quarter : f32
    linalg.yield %s : f32
  } -> tensor<6x4xf32>
  %ye = tensor.empty() : tensor<6x8xf32>
  %yf = linalg.fill ins(%zero : f32) outs(%ye : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.matmul ins(%t, %v : tensor<6x4xf32>, tensor<4x8xf32>) outs(%yf : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
