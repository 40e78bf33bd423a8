// RUN: shard-opt %s --shard-lower-cpu | FileCheck %s
// Nothing is allocated: a buffer is an offset in the caller's workspace, that of a callee lies in its
// caller's. The layer is one function, called three times.

// The tables of the program stay on the module. 4 x 8 floats twice, and the layer's own workspace.
// CHECK: module attributes {{.*}}spmd.program = {arguments = [{axes = array<i32>, axis_start = array<i32: 0, 0, 0>
// CHECK-SAME: index = 0 : i64, local = tensor<4x8xf32>
// CHECK-SAME: stages = [{arguments = array<i32: 0>, function = "main.run", groups = array<i32>, messages = [], results = array<i32: 0>, workspace = [[BYTES:[0-9]+]] : i64}]
// CHECK-NOT: malloc
// CHECK-NOT: llvm.alloca
// CHECK-LABEL: llvm.func @layer(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
func.func private @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = arith.constant dense<0.5> : tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.matmul ins(%0, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
// CHECK-LABEL: llvm.func @main(
// CHECK-COUNT-3: llvm.call @layer(
// CHECK-NOT: llvm.call @layer(
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = func.call @layer(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = func.call @layer(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = func.call @layer(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: llvm.func @main.run(
// CHECK: llvm.call @shardRtInvoke(
