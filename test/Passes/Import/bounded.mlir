// A dimension with a bound is stored at it; its extent is an argument, behind all others, and ops whose valid results padding
// would change are masked.
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=main dims=0:0=..8})' | FileCheck %s
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=divide dims=*:0=2..8})' | FileCheck %s --check-prefix=DIVIDE
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=coincide dims=0:0=..4})' | FileCheck %s --check-prefix=COINCIDE
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=main dims=0:0=8..8})' | FileCheck %s --check-prefix=FIXED
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=main dims=0:0=..8,0:0=6})' | FileCheck %s --check-prefix=LAST
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=reverse dims=0:0=..8})' 2>&1 | FileCheck %s --check-prefix=REVERSE
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=cut dims=0:0=..8})' 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=orders dims=0:0=..8,0:1=..4})' 2>&1 | FileCheck %s --check-prefix=ORDERS
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=main dims=0:0=8..2})' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=main dims=0:0=..})' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=main dims=*:1=..8})' 2>&1 | FileCheck %s --check-prefix=NONE
// CHECK: spmd.dynamic = {arguments = {{\[\[\[}}array<i64: 8, 0, 1>], [array<i64: 4, 4, 0>]{{\]\]}}, dims = [array<i64: 0, 0, 1, 8>], equal = [], extents = 1 : i64, results = {{\[\[\]\]}}}
// CHECK: func.func @main(%[[X:.*]]: tensor<8x4xf32> {spmd.arg = 0 : i64, spmd.role = {{.*}}}, %[[N:.*]]: tensor<i64> {spmd.arg = 1 : i64, spmd.role = "extent"}) -> tensor<4xf32>
// CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[N]] : tensor<8x4xf32>, tensor<i64>) outs
// CHECK: ^bb0(%[[A:.*]]: f32, %[[E:.*]]: i64, %{{.*}}: f32):
// CHECK: %[[EI:.*]] = arith.index_cast %[[E]] : i64 to index
// CHECK: %[[I:.*]] = linalg.index 0 : index
// CHECK: %[[V:.*]] = arith.cmpi ult, %[[I]], %[[EI]] : index
// CHECK: arith.select %[[V]], %[[A]], %{{.*}} : f32
// CHECK: linalg.reduce {{.*}}ins(%[[M]] : tensor<8x4xf32>)
// The mean divides by the extent.
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[N]] : tensor<4xf32>, tensor<i64>)
// CHECK: arith.sitofp
// CHECK: arith.divf
func.func @main(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0]
  %m = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.divf %a, %nf : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %m : tensor<4xf32>
}
// FIXED-NOT: spmd.dynamic
// FIXED: func.func @main(%{{.*}}: tensor<8x4xf32> {{{[^}]*}}}) -> tensor<4xf32>
// LAST-NOT: spmd.dynamic
// LAST: func.func @main(%{{.*}}: tensor<6x4xf32> {{{[^}]*}}}) -> tensor<4xf32>

// Two dimensions that must be equal are noted, to be checked with each run; whole numbers are divided by one in padding.
// DIVIDE: dims = [array<i64: 0, 0, 2, 8>, array<i64: 1, 0, 2, 8>], equal = [array<i64: 0, 1, -1>]
// DIVIDE: func.func @divide
// DIVIDE: %[[ONE:.*]] = arith.constant 1 : i64
// DIVIDE: arith.select %{{.*}}, %{{.*}}, %[[ONE]] : i64
// DIVIDE: arith.divsi
func.func @divide(%x: tensor<?xi64>, %y: tensor<?xi64>) -> tensor<?xi64> {
  %0 = arith.divsi %x, %y : tensor<?xi64>
  return %0 : tensor<?xi64>
}

// The bound is 4 and so is another size: which is which is read off the types, and nothing that is fixed is masked.
// COINCIDE: func.func @coincide
// COINCIDE-NOT: arith.select
// COINCIDE: return
func.func @coincide(%x: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x4xf32>, tensor<4x4xf32>) outs(%z : tensor<?x4xf32>) -> tensor<?x4xf32>
  %e1 = tensor.empty(%n) : tensor<?xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.reduce { arith.addf } ins(%y : tensor<?x4xf32>) outs(%z1 : tensor<?xf32>) dimensions = [1]
  return %s : tensor<?xf32>
}

// REVERSE: bounded.mlir:[[#@LINE+3]]:8: error: 'linalg.generic' of a dynamic dimension with a bound is not supported; expected a fixed extent, --dim=ARG:D=N
func.func @reverse(%x: tensor<?xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i * 2 + 1)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// CUT: bounded.mlir:[[#@LINE+5]]:8: error: the reshape cuts dimension 0 where no dynamic extent ends; expected a fixed extent, --dim=ARG:D=N
func.func @cut(%x: tensor<?xf32>) -> tensor<2x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %y = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<?xf32> into tensor<2x?xf32>
  return %y : tensor<2x?xf32>
}

// ORDERS: bounded.mlir:[[#@LINE+7]]:8: error: 'arith.addf' brings together two dynamic extents that cannot be compared; expected fixed extents, --dim=ARG:D=N
func.func @orders(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<1xf32>
  %a = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %t = call @turn(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
  %y = arith.addf %a, %t : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func private @turn(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%s, %b) : tensor<?x?xf32>
  %t = linalg.transpose ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) permutation = [1, 0]
  %a = tensor.collapse_shape %t [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  return %a : tensor<?xf32>
}

// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=inside dims=0:0=..8})' | FileCheck %s --check-prefix=INSIDE
// An extent that a body reads is an input of it.
// INSIDE-LABEL: func.func @inside(
// INSIDE: linalg.generic {{.*}} ins(%{{.*}} : tensor<i64>)
func.func @inside(%x: tensor<?xf32>) -> tensor<4xi64> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<4xi64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<4xi64>) {
  ^bb0(%o: i64):
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %0 = arith.index_cast %n : index to i64
    linalg.yield %0 : i64
  } -> tensor<4xi64>
  return %y : tensor<4xi64>
}
// EMPTY: error: --dim: '0:0=8..2' leaves no extent from 1 to 2147483647
// FORM: error: --dim: '0:0=..' is not of the form ARG:D=N, ARG:D=..MAX or ARG:D=MIN..MAX
// NONE: error: --dim: no argument has a dynamic dimension 1

// LOOSE: bounded.mlir:[[#@LINE+10]]:8: error: 'linalg.generic' of a dynamic dimension with a bound is not supported; expected a fixed extent, --dim=ARG:D=N
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=loose dims=0:0=..8,0:1=..4})' 2>&1 | FileCheck %s --check-prefix=LOOSE
// A product of extents has no order, so that its steps have no numbers.
func.func @loose(%x: tensor<?x?xf32>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?xf32>
  %n = arith.muli %s, %b : index
  %e = tensor.empty(%n) : tensor<?xindex>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<?xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<?xindex>
  return %y : tensor<?xindex>
}
