// Parts of the tensor axis that a grid in the model names are kept: annotations may name them, and the plan cuts no more.
// RUN: shard-run %s --auto-shard=tp4 --check | FileCheck %s
// RUN: sed 's/shape = 2x2/shape = 3x2/' %s > %t.mlir
// RUN: shard-run %t.mlir --auto-shard=tp6 --check | FileCheck %s --check-prefix=SIX
// RUN: sed 's/shape = 2x2) {spmd.axes = \[/shape = 2x2x2) {spmd.axes = ["dp", /' %s > %t.dp.mlir
// RUN: shard-run %t.dp.mlir --auto-shard=dp2,tp4 --check | FileCheck %s --check-prefix=BATCH
// RUN: not shard-opt %s --auto-shard=tp8 -o %t.no 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed '/^shard.grid/d' %s > %t.none.mlir
// RUN: not shard-opt %t.none.mlir --auto-shard=tp4 -o %t.no 2>&1 | FileCheck %s --check-prefix=NONE
// CHECK: ranks: 4 (tp.0 2 x tp.1 2)
// CHECK: result 0 6x16xf32 against the unsharded program:
// CHECK: all-reduce 192 B, all-gather 336 B
// SIX: ranks: 6 (tp.0 3 x tp.1 2)
// SIX: result 0 6x16xf32 against the unsharded program:
// BATCH: ranks: 8 (dp 2 x tp.0 2 x tp.1 2)
// BATCH: result 0 6x16xf32 against the unsharded program:
// OTHER: mlir:[[# @LINE + 16]]:1: error: grid '@mesh' cuts tp in parts of 4 ranks together, not tp8
// OTHER-NOT: error:
// NONE: error: mesh '@mesh' has no axis 'tp.0'; its axes are 'tp'
// The numbers say which part is major, as the grid's order does.
// RUN: sed 's/\["tp.0", "tp.1"\]}$/["tp.1", "tp.0"]}/' %s > %t.order.mlir
// RUN: not shard-opt %t.order.mlir --auto-shard=tp4 -o %t.no 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: grid '@mesh' has axis 'tp.1'; expected 'tp.0', parts in order
// Other axes have the size that the option says, or one would be ignored.
// RUN: not shard-opt %t.dp.mlir --auto-shard=dp3,tp4 -o %t.no 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not shard-opt %t.dp.mlir --auto-shard=tp4 -o %t.no 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not shard-opt %t.dp.mlir --auto-shard=dp2 -o %t.no 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: shard-opt %t.dp.mlir --auto-shard=dp1 -o %t.one.mlir && not ls %t.no
// SIZE: mlir:[[# @LINE + 4]]:1: error: grid '@mesh' has 2 ranks along 'dp', --auto-shard gives it 3
// SIZE-NOT: error:
// ABSENT: error: grid '@mesh' has 2 ranks along 'dp', --auto-shard gives it 1
// PARTS: error: grid '@mesh' cuts tp in parts of 4 ranks together, not tp1
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp.0", "tp.1"]}
func.func @main(%x: tensor<6x16xf32> {spmd.role = "input"},
                %w1: tensor<16x24xf32> {spmd.role = "weight", spmd.sharding = [[], ["tp.0", "tp.1"]]},
                %w2: tensor<24x16xf32> {spmd.role = "weight", spmd.sharding = [["tp.0"], ["tp.1"]]}) -> tensor<6x16xf32> {
  %z = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<6x24xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<6x24xf32>) -> tensor<6x24xf32>
  %u = linalg.matmul ins(%x,
                %w1 : tensor<6x16xf32>, tensor<16x24xf32>) outs(%f1 : tensor<6x24xf32>) -> tensor<6x24xf32>
  %e2 = tensor.empty() : tensor<6x16xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<6x16xf32>) -> tensor<6x16xf32>
  %y = linalg.matmul ins(%u,
                %w2 : tensor<6x24xf32>, tensor<24x16xf32>) outs(%f2 : tensor<6x16xf32>) -> tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}
