// Upstream's propagation and partition as an oracle, on ops where they are right: the same annotated
// program through both gives the same local shapes and the same collective.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(func.func(sharding-propagation,shard-partition))' | FileCheck %s
// RUN: shard-opt --auto-shard=tp2 %s --quiet | FileCheck %s
// CHECK-LABEL: func.func @mlp(
// CHECK:         linalg.matmul {{.*}}ins({{.*}} : tensor<8x16xf32>, tensor<16x16xf32>)
// CHECK-NOT:     shard.all
// CHECK:         linalg.tanh {{.*}}ins({{.*}} : tensor<8x16xf32>)
// CHECK-NOT:     shard.all
// CHECK:         %[[Y:[a-z0-9]+]] = linalg.matmul {{.*}}ins({{.*}} : tensor<8x16xf32>, tensor<16x16xf32>)
// CHECK-NEXT:    %[[SUM:[a-z0-9_]+]] = shard.all_reduce %[[Y]] on @mesh grid_axes = [0]{{.*}} : tensor<8x16xf32> -> tensor<8x16xf32>
// CHECK-NEXT:    return %[[SUM]]
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @mlp(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %v: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %ws = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %w1 = shard.shard %w to %ws : tensor<16x32xf32>
  %vs = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
  %v1 = shard.shard %v to %vs : tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<8x16xf32>, tensor<16x32xf32>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x32xf32>
  %t = linalg.tanh ins(%h : tensor<8x32xf32>) outs(%e2 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e3 = tensor.empty() : tensor<8x16xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%t, %v1 : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f3 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
