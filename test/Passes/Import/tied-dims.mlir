// One --dim is enough for dimensions that the program makes equal: extents and bounds go to the others.
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=mask dims=0:0=..8})' | FileCheck %s --check-prefix=OPEN
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=mask dims=1:0=2..8,0:0=..6})' | FileCheck %s --check-prefix=BOTH
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=mask dims=1:0=5})' | FileCheck %s --check-prefix=FIXED
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=grown dims=1:0=..8})' | FileCheck %s --check-prefix=GROWN
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=result})' | FileCheck %s --check-prefix=RESULT
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=apart dims=0:0=..8})' 2>&1 | FileCheck %s --check-prefix=APART
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=mask dims=1:0=2..3,0:0=5})' 2>&1 | FileCheck %s --check-prefix=MEET
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=both dims=0:0=..8})' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: shard-run %s --function=grown --auto-shard=tp1 --dim=0:0=..4 --sizes=1:0=5,2,4,3 --check | FileCheck %s --check-prefix=SIZES
// SIZES: sizes: 0:0=4,1:0=5
// SIZES: sizes: 0:0=1,1:0=2
// SIZES: sizes: 0:0=3,1:0=4
// SIZES: sizes: 0:0=2,1:0=3

// OPEN: dims = [array<i64: 0, 0, 1, 8>, array<i64: 1, 0, 1, 8>]
// OPEN: func.func @mask(%{{.*}}: tensor<8x3xf32>{{.*}}: tensor<8xf32>
// BOTH: dims = [array<i64: 0, 0, 2, 6>, array<i64: 1, 0, 2, 6>]
// FIXED: func.func @mask(%{{.*}}: tensor<5x3xf32>{{.*}}: tensor<5xf32>
// MEET: tied-dims.mlir:[[#@LINE+5]]:8: error: the extents given do not fit together: {{.*}}to be 5, but found 3
func.func @mask(%x: tensor<?x3xf32>, %m: tensor<?xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<?x3xf32>, tensor<?xf32>) outs(%e : tensor<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// A mask of the cache and the new row: one more than the cache.
// GROWN: dims = [array<i64: 0, 0, 1, 7>, array<i64: 1, 0, 2, 8>]
func.func @grown(%cache: tensor<?x3xf32>, %m: tensor<?xf32>, %row: tensor<1x3xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %all = tensor.concat dim(0) %cache, %row : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
  %n = tensor.dim %all, %c0 : tensor<?x3xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%all, %m : tensor<?x3xf32>, tensor<?xf32>) outs(%e : tensor<?x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// Nothing brings these two together.
// APART: tied-dims.mlir:[[#@LINE+1]]:1: error: dimension 0 of argument 1 ('other') is dynamic; give its extent with --dim=1:0=N, or a bound with --dim=1:0=..MAX
func.func @apart(%x: tensor<?xf32>, %y: tensor<?xf32> {spmd.name = "other"}) -> (tensor<?xf32>, tensor<?xf32>) {
  return %x, %y : tensor<?xf32>, tensor<?xf32>
}

// A bound for one dimension says nothing of the other.
// OTHER: tied-dims.mlir:[[#@LINE+1]]:1: error: dimension 1 of argument 0 is dynamic; give its extent with --dim=0:1=N, or a bound with --dim=0:1=..MAX
func.func @both(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<?x?xf32>) outs(%z : tensor<?xf32>) dimensions = [0]
  return %y : tensor<?xf32>
}

// `?` on a result alone needs no --dim.
// RESULT-LABEL: func.func @result(
// RESULT-SAME: -> tensor<6xf32>
func.func @result(%x: tensor<6xf32>) -> tensor<?xf32> {
  %y = tensor.cast %x : tensor<6xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}
