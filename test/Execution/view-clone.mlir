// The function is called with %p split on the pieces that only %q's reshape makes. Once it has a clone
// for each, nothing but the view itself cuts %p.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// CHECK-COUNT-2: against the unsharded program: equal
func.func @main(%x: tensor<3x8xf32>,
                %p: tensor<8xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 4, 2>},
                %q: tensor<8xf32> {spmd.sharding = [["tp"], []], spmd.view = array<i64: 4, 2>}) -> (tensor<3x8xf32>, tensor<4x2xf32>) {
  %0 = func.call @f(%x, %p) : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %1 = func.call @f(%0, %q) : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %2 = tensor.expand_shape %q [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  return %1, %2 : tensor<3x8xf32>, tensor<4x2xf32>
}
func.func private @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %b = linalg.broadcast ins(%w : tensor<8xf32>) outs(%e : tensor<3x8xf32>) dimensions = [0]
  %0 = arith.addf %x, %b : tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
