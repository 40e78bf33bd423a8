// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s
// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import{function=main})' | FileCheck %s

// What the entry does not reach goes; what it calls is private and stays.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    tensor<8x16xf32> {spmd.arg = 0 : i64, spmd.role = "input"}
// CHECK:         call @layer
// CHECK:       func.func private @layer(
// CHECK-NOT:   @unused
// CHECK-NOT:   @printer
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = func.call @layer(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func private @layer(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %0 = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
// Ops that are refused do not matter where the entry does not go.
func.func private @unused(%x: memref<4xf32>) {
  %c = arith.constant 0 : index
  %0 = memref.load %x[%c] : memref<4xf32>
  vector.print %0 : f32
  return
}
func.func private @printer(tensor<*xf32>)
