// Layouts of the user's that do not divide, or cut a dimension across the pieces that operations make of it, are
// fixed points like any other. What a rank has is right whatever lies in the padding.
// Rows 5 over 3 and columns 24 = 3 heads of 8 over 2; the result split in the middle of its heads.
// RUN: echo '{"version": 1, "args": {"0": {"role": "input", "sharding": [["dp"], []]}, "1": {"sharding": [[], ["tp"], []], "view": [16, 3, 8]}}, "results": {"0": {"sharding": [[], ["tp"]]}}}' > %t.heads.json
// RUN: shard-run %s --auto-shard=dp3,tp2 --annotations=%t.heads.json --check | FileCheck %s
// RUN: shard-opt %s --auto-shard=dp3,tp2 --annotations=%t.heads.json --stop-after=shard-propagate -o - | FileCheck %s --check-prefix=HEADS
// HEADS: spmd.extent = array<i64: 16, 3, 8>
// The same columns in blocks: four of six, where the reshape needs heads of eight.
// RUN: echo '{"version": 1, "args": {"0": {"role": "input", "sharding": [[], []]}, "1": {"sharding": [[], ["tp"]]}}, "results": {"0": {"sharding": [[], ["tp"]]}}}' > %t.blocks.json
// RUN: shard-run %s --auto-shard=tp4 --annotations=%t.blocks.json --check | FileCheck %s
// RUN: shard-opt %s --auto-shard=tp4 --annotations=%t.blocks.json --stop-after=shard-propagate -o - | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: %arg1: tensor<16x24xf32> {{{.*}}spmd.sharding = {{\[\[\], \["tp"\]\]}}
// BLOCKS: linalg.matmul {spmd.sharding = {{\[\[\[\], \["tp"\]\]\]}}}
// More ranks than rows: the last ones hold none. Blocks of five in 24, the last of them short.
// RUN: echo '{"version": 1, "args": {"0": {"role": "input", "sharding": [["dp"], []]}, "1": {"sharding": [[], ["tp"]]}}, "results": {"0": {"sharding": [["dp"], ["tp"]]}}}' > %t.short.json
// RUN: shard-run %s --auto-shard=dp8,tp5 --annotations=%t.short.json --check | FileCheck %s
// What is written is read back and gives the same bytes, views of results included.
// RUN: echo '{"version": 1, "results": {"0": {"sharding": [[], ["tp"], []], "view": [5, 3, 8]}}}' > %t.view.json
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.view.json --dump-annotations=%t.json --quiet -o %t.1.mlir
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.json --quiet -o %t.2.mlir
// RUN: cmp %t.1.mlir %t.2.mlir
// A view of a value whose split dimension is the major part: the same as the dimension split, and nothing of the
// annotation is left beside it.
// RUN: echo '{"version": 1, "values": {"*mlir:33:*": {"sharding": [[], ["tp"], []], "view": [5, 3, 8]}}}' > %t.major.json
// RUN: shard-run %s --auto-shard=tp3 --annotations=%t.major.json --check | FileCheck %s
// RUN: shard-opt %s --auto-shard=tp3 --annotations=%t.major.json --stop-after=shard-propagate -o - | FileCheck %s --check-prefix=MAJOR
// MAJOR: linalg.matmul {spmd.fixed, spmd.sharding = {{\[\[\[\], \["tp"\]\]\]}}} ins(
// CHECK: result 0 5x24xf32 against the unsharded program: {{equal|error .*e-0[78] }}
func.func @main(%x: tensor<5x16xf32>, %w: tensor<16x24xf32>) -> tensor<5x24xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x24xf32>) -> tensor<5x24xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<5x16xf32>, tensor<16x24xf32>) outs(%init : tensor<5x24xf32>) -> tensor<5x24xf32>
  %heads = tensor.expand_shape %0 [[0], [1, 2]] output_shape [5, 3, 8] : tensor<5x24xf32> into tensor<5x3x8xf32>
  %sum0 = tensor.empty() : tensor<5x3xf32>
  %sum1 = linalg.fill ins(%zero : f32) outs(%sum0 : tensor<5x3xf32>) -> tensor<5x3xf32>
  %sum = linalg.reduce {arith.addf} ins(%heads : tensor<5x3x8xf32>) outs(%sum1 : tensor<5x3xf32>) dimensions = [2]
  %out = tensor.empty() : tensor<5x3x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%heads, %sum : tensor<5x3x8xf32>, tensor<5x3xf32>) outs(%out : tensor<5x3x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<5x3x8xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<5x3x8xf32> into tensor<5x24xf32>
  return %3 : tensor<5x24xf32>
}
