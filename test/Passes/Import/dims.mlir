// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import)' 2>&1 | FileCheck %s --check-prefix=UNSET
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=8,weight:0=16})' | FileCheck %s
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=8})' | FileCheck %s
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:2=8})' 2>&1 | FileCheck %s --check-prefix=NO-DIM
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=x:0=8})' 2>&1 | FileCheck %s --check-prefix=NO-ARG
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=})' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=0})' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:1=4})' 2>&1 | FileCheck %s --check-prefix=STATIC
// UNSET: dims.mlir:[[#@LINE+11]]:1: error: dimension 0 of argument 0 is dynamic; give its extent with --dim=0:0=N, or a bound with --dim=0:0=..MAX
// NO-DIM: error: --dim: argument 0 has no dimension 2
// NO-ARG: error: --dim: the entry has no argument 'x'; expected a number below {{[0-9]+}}, '*', or a name, which --args gives
// FORM: error: --dim: '0:0=' is not of the form ARG:D=N, ARG:D=..MAX or ARG:D=MIN..MAX
// ZERO: error: --dim: '0:0=0' sets an extent of 0; at least 1 expected
// STATIC: error: --dim: dimension 1 of argument 0 is 16 and cannot be set to 4
// The extent reaches what is computed from it, results included.
// CHECK: func.func @main(%{{.*}}: tensor<8x16xf32> {{.*}}, %{{.*}}: tensor<16xf32> {{.*}}) -> tensor<8x16xf32>
// CHECK-NOT: tensor.dim
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x16xf32>, tensor<16xf32>) outs(%{{.*}} : tensor<8x16xf32>)
// CHECK-NOT: ?
func.func @main(%x: tensor<?x16xf32>, %w: tensor<?xf32> {spmd.name = "weight"}) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x16xf32>
  %e = tensor.empty(%d) : tensor<?x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<?x16xf32>, tensor<?xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
