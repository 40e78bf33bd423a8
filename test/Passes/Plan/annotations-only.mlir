// A layout of the user's is enough to use an axis where the plan itself would split nothing. A square
// weight is no sequence (its dimensions meet in it as those of scores do), and is split by rows.
// RUN: shard-opt %s --auto-shard=tp2 | FileCheck %s --check-prefix=SQUARE
// SQUARE: %arg1: tensor<4x8xf32> {{.*}}spmd.sharding = {{\[}}["tp"], []]
// SQUARE: shard.all_reduce
// SQUARE-NOT: shard.all
// RUN: echo '{"version": 1, "args": {"1": {"sharding": [["tp"], []]}}}' > %t.rows.json
// RUN: shard-run %s --auto-shard=tp2 --annotations=%t.rows.json --integers --check | FileCheck %s
// RUN: echo '{"version": 1, "args": {"1": {"sharding": [[], ["tp"]]}}}' > %t.columns.json
// RUN: shard-run %s --auto-shard=tp2 --annotations=%t.columns.json --integers --check | FileCheck %s
// CHECK: ranks: 2
// CHECK: result 0 4x8xf32 against the unsharded program: equal
// RUN: echo '{"version": 1, "results": {"0": {"sharding": [["tp"], ["sp"]]}}}' > %t.result.json
// RUN: shard-run %s --auto-shard=tp3,sp2,dp5 --annotations=%t.result.json --integers --check | FileCheck %s --check-prefix=RESULT
// RESULT: ranks: 30
// RESULT: result 0 4x8xf32 against the unsharded program: equal
// RUN: not shard-opt %s --auto-shard=sp2 -o %t.no 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: sp2 does not fit: the model has no sequence; "dims" of --annotations names it;
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = arith.addf %0, %x : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
