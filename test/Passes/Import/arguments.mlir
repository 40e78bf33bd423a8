// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s

// Constants that are data become arguments behind the model's own, each once: resources by their key,
// others by number; a name that is taken is changed. Splats stay.
// CHECK-LABEL: func.func @constants(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4xf32> {spmd.arg = 0 : i64, spmd.name = "constant_1", spmd.role = "input"}
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4xf32> {spmd.arg = 1 : i64, spmd.name = "w", spmd.role = "weight", spmd.value = dense_resource<w> : tensor<4xf32>}
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<4xf32> {spmd.arg = 2 : i64, spmd.name = "constant_1_", spmd.role = "weight", spmd.value = dense<[1.000000e+00, 2.000000e+00, 4.000000e+00, 8.000000e+00]> : tensor<4xf32>}
// CHECK:         %[[S:.*]] = arith.constant dense<3.000000e+00> : tensor<4xf32>
// CHECK:         ins(%[[X]], %[[W]], %[[C]], %[[S]], %[[W]] :
func.func @constants(%x: tensor<2x4xf32> {spmd.name = "constant_1"}) -> tensor<2x4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %c = arith.constant dense<[1.0, 2.0, 4.0, 8.0]> : tensor<4xf32>
  %s = arith.constant dense<3.0> : tensor<4xf32>
  %w2 = arith.constant dense_resource<w> : tensor<4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %w, %c, %s, %w2 : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %f: f32, %g: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %1, %d : f32
    %3 = arith.addf %2, %f : f32
    %4 = arith.addf %3, %g : f32
    linalg.yield %4 : f32
  } -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
{-#
  dialect_resources: { builtin: { w: "0x040000000000803F000000400000404000008040" } }
#-}

// -----

// Resources without values are arguments without values, each one its own; through a call the one of
// the callee stays one.
// CHECK-LABEL: func.func @elided(
// CHECK-SAME:    tensor<4xf32> {spmd.arg = 1 : i64, spmd.elided, spmd.name = "constant_0", spmd.role = "weight"}
// CHECK-SAME:    tensor<4xf32> {spmd.arg = 2 : i64, spmd.elided, spmd.name = "constant_1", spmd.role = "weight"}
// CHECK-SAME:    tensor<4xf32> {spmd.arg = 3 : i64, spmd.elided, spmd.name = "gone", spmd.role = "weight"}
// CHECK-SAME:    -> tensor<2x4xf32>
// CHECK:         call @scale(%{{.*}}, %[[K:.*]]) : (tensor<2x4xf32>, tensor<4xf32>)
// CHECK:         call @scale(%{{.*}}, %[[K]]) : (tensor<2x4xf32>, tensor<4xf32>)
// CHECK:       func.func private @scale(%{{.*}}: tensor<2x4xf32> {spmd.note}, %{{.*}}: tensor<4xf32>)
func.func @elided(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = func.call @scale(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = func.call @scale(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %a = arith.constant dense_resource<__elided__> : tensor<4xf32>
  %b = arith.constant dense_resource<gone> : tensor<4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %a, %b : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %out: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.mulf %3, %r : f32
    linalg.yield %4 : f32
  } -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
func.func private @scale(%x: tensor<2x4xf32> {spmd.note}) -> tensor<2x4xf32> {
  %w = arith.constant dense_resource<__elided__> : tensor<4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<2x4xf32>, tensor<4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Roles. Integers that are compared, and floats along the batch, are inputs; integers that are scaled
// (a quantised weight) and floats that are not are weights; what the user says wins.
// CHECK-LABEL: func.func @roles(
// CHECK-SAME:    tensor<3x4xf32> {spmd.arg = 0 : i64, spmd.role = "input"}
// CHECK-SAME:    tensor<4x5xi8> {spmd.arg = 1 : i64, spmd.role = "weight"}
// CHECK-SAME:    tensor<5xf32> {spmd.arg = 2 : i64, spmd.role = "weight"}
// CHECK-SAME:    tensor<5xi1> {spmd.arg = 3 : i64, spmd.role = "input"}
// CHECK-SAME:    tensor<5xf32> {spmd.arg = 4 : i64, spmd.dims = ["hidden"], spmd.role = "state"}
func.func @roles(%x: tensor<3x4xf32>, %w: tensor<4x5xi8>, %bias: tensor<5xf32>, %mask: tensor<5xi1>, %s: tensor<5xf32> {spmd.role = "state", spmd.dims = ["hidden"]}) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<4x5xf32>
  %wf = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<4x5xi8>) outs(%ew : tensor<4x5xf32>) {
  ^bb0(%a: i8, %out: f32):
    %1 = arith.sitofp %a : i8 to f32
    linalg.yield %1 : f32
  } -> tensor<4x5xf32>
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %m = linalg.matmul ins(%x, %wf : tensor<3x4xf32>, tensor<4x5xf32>) outs(%f : tensor<3x5xf32>) -> tensor<3x5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%m, %bias, %mask, %s : tensor<3x5xf32>, tensor<5xf32>, tensor<5xi1>, tensor<5xf32>) outs(%e : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: i1, %d: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    %2 = arith.select %c, %1, %d : f32
    linalg.yield %2 : f32
  } -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
