// Shardings that name an axis that the mesh has not, or more dimensions than the tensor, aborted the compiler in
// llvm-project issues 128802 and 128803. Each is one error at the value; beside it the nearest that is right.
// RUN: split-file %s %t
// RUN: not shard-opt %t/axis.mlir --auto-shard=tp4 -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not shard-opt %t/dims.mlir --auto-shard=tp4 -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=DIMS
// RUN: not shard-opt %t/twice.mlir --auto-shard=tp4 -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not shard-opt %t/grid.mlir --auto-shard=tp4 -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: test ! -e %t/out.mlir
// RUN: shard-run %t/right.mlir --auto-shard=tp4 --check
// AXIS: axis.mlir:1:1: error: mesh '@mesh' has no axis 'x'; its axes are 'tp'
// AXIS-NOT: error:
// DIMS: dims.mlir:1:1: error: 'spmd.sharding' has 2 entries for 1 dimensions
// DIMS-NOT: error:
// TWICE: twice.mlir:1:1: error: a sharding names axis 'tp' twice
// TWICE-NOT: error:
// GRID: grid.mlir:{{[0-9]+:[0-9]+}}: error:
// GRID-NOT: error:

//--- axis.mlir
func.func @main(%x: tensor<4xi32> {spmd.sharding = [["x"]]}) -> tensor<4xi32> {
  %0 = arith.addi %x, %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}
//--- dims.mlir
func.func @main(%x: tensor<4xi32> {spmd.sharding = [[], ["tp"]]}) -> tensor<4xi32> {
  %0 = arith.addi %x, %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}
//--- twice.mlir
func.func @main(%x: tensor<4x4xi32> {spmd.sharding = [["tp"], ["tp"]]}) -> tensor<4x4xi32> {
  %0 = arith.addi %x, %x : tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}
//--- grid.mlir
shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %s = shard.sharding @mesh split_axes = [[1]] : !shard.sharding
  %y = shard.shard %x to %s : tensor<4xi32>
  %0 = arith.addi %y, %y : tensor<4xi32>
  return %0 : tensor<4xi32>
}
//--- right.mlir
func.func @main(%x: tensor<4xi32> {spmd.sharding = [["tp"]]}) -> tensor<4xi32> {
  %0 = arith.addi %x, %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}
