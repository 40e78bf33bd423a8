// The full sum of a matrix that is split 2 x 2: iree issue 21503 had one grouping of devices for what needs two. The
// neighbour: the sum of the rows alone, over one of the axes.
// RUN: split-file %s %t
// RUN: shard-run %t/all.mlir --auto-shard=dp2,tp2 --check | FileCheck %s
// RUN: shard-run %t/rows.mlir --auto-shard=dp2,tp2 --check | FileCheck %s --check-prefix=ROWS
// CHECK: result 0 f32 against the unsharded program
// CHECK: sent by a rank, mean, an iteration: all-reduce {{[0-9]+}} B
// ROWS: result 0 512xf32 against the unsharded program
// ROWS: sent by a rank, mean, an iteration: all-reduce 1.0 KiB

//--- all.mlir
func.func @main(%x: tensor<512x512xf32> {spmd.sharding = [["dp"], ["tp"]]}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<512x512xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  return %0 : tensor<f32>
}
//--- rows.mlir
func.func @main(%x: tensor<512x512xf32> {spmd.sharding = [["dp"], ["tp"]]}) -> (tensor<512xf32> {spmd.sharding = [["dp"]]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %0 = linalg.reduce {arith.addf} ins(%x : tensor<512x512xf32>) outs(%z : tensor<512xf32>) dimensions = [1]
  return %0 : tensor<512xf32>
}
