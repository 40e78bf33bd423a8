// A sum that goes through an op that no sum passes, to a result that is split: it is scattered before that op, half the
// bytes of reducing it. Where somebody else wants it whole it is reduced once, and the split part is cut from that.
// RUN: split-file %s %t
// RUN: shard-run %t/alone.mlir --auto-shard=tp4 --check | FileCheck %s --check-prefix=ALONE
// RUN: shard-run %t/shared.mlir --auto-shard=tp4 --check | FileCheck %s --check-prefix=SHARED
// ALONE: sent by a rank, mean, an iteration: reduce-scatter 1.5 KiB
// SHARED: sent by a rank, mean, an iteration: all-reduce 3.0 KiB

//--- alone.mlir
func.func @main(%x: tensor<16x64xf32> {spmd.sharding = [[], ["tp"]]}, %w: tensor<64x32xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<16x32xf32> {spmd.sharding = [["tp"], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
  %1 = math.absf %0 : tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}
//--- shared.mlir
func.func @main(%x: tensor<16x64xf32> {spmd.sharding = [[], ["tp"]]}, %w: tensor<64x32xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<16x32xf32> {spmd.sharding = [["tp"], []]}, tensor<16x32xf32> {spmd.sharding = [[], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%z : tensor<16x32xf32>) -> tensor<16x32xf32>
  %1 = math.absf %0 : tensor<16x32xf32>
  return %1, %0 : tensor<16x32xf32>, tensor<16x32xf32>
}
