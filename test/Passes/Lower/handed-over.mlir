// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-lower-cpu{to=buffers mcpu=generic})' | FileCheck %s
// RUN: shard-run %s --auto-shard=dp2 --check --exact --quiet
// What a call reads for the last time before it writes what it hands out lies where that comes to lie. Two such
// arguments have bytes in common, which LLVM is told.

// The operand is read by the first op only, the result written by the last one.
// CHECK-LABEL: func.func private @late(
// CHECK-SAME:    passthrough = {{\[\[}}"shard-shared-arguments", "2,3"]]
func.func private @late(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %sums = tensor.empty() : tensor<8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%sums : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.reduce ins(%x : tensor<8x32xf32>) outs(%f : tensor<8xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  }
  %0 = linalg.broadcast ins(%s : tensor<8xf32>) outs(%e : tensor<8x32xf32>) dimensions = [1]
  return %0 : tensor<8x32xf32>
}

// The operand is read together with the first part of the result, and after it.
// CHECK-LABEL: func.func private @early(
// CHECK-NOT:     passthrough
// CHECK-SAME:    spmd.workspace
func.func private @early(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %0 = linalg.exp ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.sub ins(%0, %x : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @main(
// The second buffer lies where the first one was; the third and the fourth do not.
// CHECK: memref.alloc() {{.*}}spmd.bytes = 1024 : i64, spmd.class = "activations", spmd.offset = [[A:[0-9]+]] : i64}
// CHECK: memref.alloc() {{.*}}spmd.bytes = 1024 : i64, spmd.class = "activations", spmd.offset = [[A]] : i64}
// CHECK: call @late
func.func @main(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %0 = linalg.tanh ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = call @late(%0) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = call @early(%1) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = call @late(%2) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}
