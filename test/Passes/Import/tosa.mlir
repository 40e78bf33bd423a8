// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s
// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// Concatenation stays one op.
// CHECK-LABEL: func.func @concat(
// CHECK:         tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
// CHECK-NOT:     insert_slice
// CHECK-NOT:     tosa
// LOC: tensor.concat {{.*}} loc([[LOC:#loc[0-9]*]])
// LOC: [[LOC]] = loc("{{.*}}tosa.mlir":[[#@LINE+2]]:8)
func.func @concat(%a: tensor<2x3xf32>, %b: tensor<2x5xf32>) -> tensor<2x8xf32> {
  %0 = tosa.concat %a, %b {axis = 1 : i32} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

// Repeating a dimension of one is a broadcast: as many loops as dimensions.
// CHECK-LABEL: func.func @tile(
// CHECK:         linalg.generic {indexing_maps = [#[[FROM:.*]], #[[TO:.*]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%{{.*}} : tensor<2x1x8xf32>) outs(%{{.*}} : tensor<2x4x8xf32>)
// CHECK-NOT:     collapse_shape
func.func @tile(%a: tensor<2x1x8xf32>) -> tensor<2x4x8xf32> {
  %s = tosa.const_shape {values = dense<[1, 4, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %0 = tosa.tile %a, %s : (tensor<2x1x8xf32>, !tosa.shape<3>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// -----

// Upstream has no lowering: each element takes the input whose index names it.
// CHECK-LABEL: func.func @scatter(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK:         arith.cmpi eq
func.func @scatter(%v: tensor<2x8x4xf32>, %i: tensor<2x3xi32>, %x: tensor<2x3x4xf32>) -> tensor<2x8x4xf32> {
  %0 = tosa.scatter %v, %i, %x : (tensor<2x8x4xf32>, tensor<2x3xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}

// -----

// Any other tile is upstream's.
// CHECK-LABEL: func.func @tile_more(
// CHECK:         linalg.generic
// CHECK:         tensor.collapse_shape
func.func @tile_more(%a: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %s = tosa.const_shape {values = dense<[2, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.tile %a, %s : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// Identities go; mixed with linalg; a matmul is a linalg op.
// CHECK-LABEL: func.func @mixed(
// CHECK-NOT:     tosa
// CHECK:         linalg.batch_matmul
// CHECK-NEXT:    linalg.exp
// CHECK-NEXT:    return
func.func @mixed(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %s = tosa.const_shape {values = dense<[2, 3, 4]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %i = tosa.identity %a : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r = tosa.reshape %i, %s : (tensor<2x3x4xf32>, !tosa.shape<3>) -> tensor<2x3x4xf32>
  %0 = tosa.matmul %r, %b, %z, %z : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  %e = tensor.empty() : tensor<2x3x5xf32>
  %1 = linalg.exp ins(%0 : tensor<2x3x5xf32>) outs(%e : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}
