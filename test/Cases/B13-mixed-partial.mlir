// A partial sum over two axes, wanted split over one and whole over the other: openxla/xla issue 40034 lost one of the
// two reductions, and replicas drifted apart (shard-run compares them bit for bit). The neighbour: the other axis splits
// the other dimension.
// RUN: split-file %s %t
// RUN: shard-run %t/rows.mlir --auto-shard=dp2,tp2 --check | FileCheck %s
// RUN: shard-run %t/columns.mlir --auto-shard=dp2,tp2 --check | FileCheck %s
// CHECK: result 0 64x64xf32 against the unsharded program
// CHECK: sent by a rank, mean, an iteration: all-reduce 8.0 KiB, reduce-scatter 8.0 KiB

//--- rows.mlir
func.func @main(%x: tensor<64x128xf32> {spmd.sharding = [[], ["dp", "tp"]]}, %w: tensor<128x64xf32> {spmd.sharding = [["dp", "tp"], []]}) -> (tensor<64x64xf32> {spmd.sharding = [["dp"], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
//--- columns.mlir
func.func @main(%x: tensor<64x128xf32> {spmd.sharding = [[], ["dp", "tp"]]}, %w: tensor<128x64xf32> {spmd.sharding = [["dp", "tp"], []]}) -> (tensor<64x64xf32> {spmd.sharding = [[], ["tp"]]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x64xf32>) outs(%z : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
