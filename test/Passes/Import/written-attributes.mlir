// RUN: shard-opt --auto-shard=tp2 %s --quiet | FileCheck %s
// RUN: shard-run --auto-shard=tp2 %s --check --quiet
// What the passes write on ops is no part of a model: a number of a site, of a channel, an origin.
// CHECK-LABEL: func.func @main(
// CHECK: linalg.matmul {spmd.origin = "linalg.matmul at {{.*}}:[[# @LINE + 6]]:8 (@main:0)"
// CHECK-NOT: spmd.site = 4
// CHECK: shard.all_gather {{.*}}spmd.site = 0 : i64
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %0 = linalg.matmul {spmd.site = 4 : i64, spmd.channel = 3 : i64, spmd.origin = 3 : i64, spmd.cut = 3 : i64} ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zero : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
