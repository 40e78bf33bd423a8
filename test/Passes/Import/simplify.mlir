// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s

// Insertions that fill a tensor, in any order, are a concatenation.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<2x3xf32>{{.*}}, %[[B:[a-z0-9]+]]: tensor<2x5xf32>
// CHECK-NEXT:    %[[C:.*]] = tensor.concat dim(1) %[[A]], %[[B]], %[[A]] : (tensor<2x3xf32>, tensor<2x5xf32>, tensor<2x3xf32>) -> tensor<2x11xf32>
// CHECK-NEXT:    return %[[C]]
func.func @chain(%a: tensor<2x3xf32>, %b: tensor<2x5xf32>) -> tensor<2x11xf32> {
  %e = tensor.empty() : tensor<2x11xf32>
  %0 = tensor.insert_slice %b into %e[0, 3] [2, 5] [1, 1] : tensor<2x5xf32> into tensor<2x11xf32>
  %1 = tensor.insert_slice %a into %0[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x11xf32>
  %2 = tensor.insert_slice %a into %1[0, 8] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x11xf32>
  return %2 : tensor<2x11xf32>
}

// -----

// A gap shows what was below: no concatenation.
// CHECK-LABEL: func.func @gap(
// CHECK-COUNT-2: tensor.insert_slice
// CHECK-NOT:     tensor.concat
func.func @gap(%a: tensor<2x3xf32>, %below: tensor<2x11xf32>) -> tensor<2x11xf32> {
  %0 = tensor.insert_slice %a into %below[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x11xf32>
  %1 = tensor.insert_slice %a into %0[0, 8] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x11xf32>
  return %1 : tensor<2x11xf32>
}

// -----

// Nor where two overlap: the later one is on top.
// CHECK-LABEL: func.func @overlap(
// CHECK-COUNT-2: tensor.insert_slice
// CHECK-NOT:     tensor.concat
func.func @overlap(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %e = tensor.empty() : tensor<2x5xf32>
  %0 = tensor.insert_slice %a into %e[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x5xf32>
  %1 = tensor.insert_slice %b into %0[0, 2] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// -----

// Nor where a link is along another dimension.
// CHECK-LABEL: func.func @other_dim(
// CHECK-COUNT-2: tensor.insert_slice
// CHECK-NOT:     tensor.concat
func.func @other_dim(%a: tensor<2x3xf32>, %b: tensor<1x5xf32>) -> tensor<2x5xf32> {
  %e = tensor.empty() : tensor<2x5xf32>
  %0 = tensor.insert_slice %a into %e[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x5xf32>
  %1 = tensor.insert_slice %b into %0[1, 0] [1, 5] [1, 1] : tensor<1x5xf32> into tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// -----

// Slices and insertions of everything change nothing; a reversed or shorter one does.
// CHECK-LABEL: func.func @identities(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-NEXT:    %[[S:.*]] = tensor.extract_slice %[[X]][0, 0] [8, 8] [1, 2]
// CHECK-NEXT:    return %[[X]], %[[S]]
func.func @identities(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x8xf32>) {
  %0 = tensor.extract_slice %x[0, 0] [8, 16] [1, 1] : tensor<8x16xf32> to tensor<8x16xf32>
  %1 = tensor.insert_slice %0 into %y[0, 0] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x16xf32>
  %2 = tensor.cast %1 : tensor<8x16xf32> to tensor<8x16xf32>
  %3 = tensor.extract_slice %2[0, 0] [8, 8] [1, 2] : tensor<8x16xf32> to tensor<8x8xf32>
  return %2, %3 : tensor<8x16xf32>, tensor<8x8xf32>
}

// -----

// A reduction of one step that does not read what it accumulates is none.
// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func @unit_reduction(
// CHECK:         linalg.generic {indexing_maps = [#[[ROW]], #[[COLUMN]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
func.func @unit_reduction(%a: tensor<16xi64>, %b: tensor<8x1xi64>) -> tensor<8x16xi1> {
  %e = tensor.empty() : tensor<8x16xi1>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16xi64>, tensor<8x1xi64>) outs(%e : tensor<8x16xi1>) {
  ^bb0(%x: i64, %y: i64, %out: i1):
    %1 = arith.cmpi slt, %x, %y : i64
    linalg.yield %1 : i1
  } -> tensor<8x16xi1>
  return %0 : tensor<8x16xi1>
}

// -----

// One that does read it stays: it adds to what was there.
// CHECK-LABEL: func.func @real_reduction(
// CHECK:         iterator_types = ["parallel", "reduction"]
func.func @real_reduction(%a: tensor<8x1xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x1xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%x: f32, %out: f32):
    %1 = arith.addf %x, %out : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
