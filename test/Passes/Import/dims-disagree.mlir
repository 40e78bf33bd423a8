// RUN: split-file %s %t
// Extents that meet in an op and disagree are one error there, bound or fixed; equal ones are taken.
// RUN: shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=4,1:0=4})' %t/add.mlir -o %t/add.out
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=3,1:0=4})' %t/add.mlir 2>&1 | FileCheck %s --check-prefix=ADD --implicit-check-not=note:
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=..3,1:0=4..5})' %t/add.mlir 2>&1 | FileCheck %s --check-prefix=ADD --implicit-check-not=note:
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=..3,1:0=4})' %t/add.mlir 2>&1 | FileCheck %s --check-prefix=ADD --implicit-check-not=note:
// ADD: add.mlir:2:8: error: the extents given do not fit together: 'arith.addf' op requires the same type
// ADD-NOT: error:
// RUN: shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=4,1:0=4})' %t/concat.mlir -o %t/concat.out
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=3,1:0=4})' %t/concat.mlir 2>&1 | FileCheck %s --check-prefix=CONCAT --implicit-check-not=note:
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=..3,1:0=4..5})' %t/concat.mlir 2>&1 | FileCheck %s --check-prefix=CONCAT --implicit-check-not=note:
// CONCAT: concat.mlir:2:8: error: the extents given do not fit together: 'tensor.concat' op static concatenation size mismatch
// RUN: shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=5})' %t/matmul.mlir -o %t/matmul.out
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=6})' %t/matmul.mlir 2>&1 | FileCheck %s --check-prefix=MATMUL --implicit-check-not=note:
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=..6})' %t/matmul.mlir 2>&1 | FileCheck %s --check-prefix=MATMUL --implicit-check-not=note:
// MATMUL: matmul.mlir:3:8: error: the extents given do not fit together: 'linalg.matmul' op inferred
// RUN: shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=6})' %t/slice.mlir -o %t/slice.out
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=5})' %t/slice.mlir 2>&1 | FileCheck %s --check-prefix=SLICE --implicit-check-not=note:
// SLICE: slice.mlir:2:8: error: the extents given do not fit together: slice along dimension 0 runs out-of-bounds
// RUN: shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=4,1:0=4})' %t/tosa.mlir -o %t/tosa.out
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=3,1:0=4})' %t/tosa.mlir 2>&1 | FileCheck %s --check-prefix=TOSA --implicit-check-not=note:
// RUN: not shard-opt --pass-pipeline='builtin.module(shard-import{dims=0:0=..3,1:0=4..5})' %t/tosa.mlir 2>&1 | FileCheck %s --check-prefix=TOSA --implicit-check-not=note:
// TOSA: tosa.mlir:2:8: error: the extents given do not fit together:
// TOSA-NOT: error:

//--- add.mlir
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = arith.addf %x, %y : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
//--- concat.mlir
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x16xf32> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
//--- matmul.mlir
func.func @main(%x: tensor<?x8xf32>, %w: tensor<3x5xf32>) -> tensor<3x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<3x8xf32>
  %0 = linalg.matmul ins(%w, %x : tensor<3x5xf32>, tensor<?x8xf32>) outs(%zero : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
//--- slice.mlir
func.func @main(%x: tensor<?x8xf32>) -> tensor<4x8xf32> {
  %0 = tensor.extract_slice %x[2, 0] [4, 8] [1, 1] : tensor<?x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
//--- tosa.mlir
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x16xf32> {
  %0 = tosa.concat %x, %y {axis = 1 : i32} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
