// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s

// CHECK: #[[ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK:         %[[LOW:.*]] = linalg.fill ins(%[[NINF:.*]] : f32) outs(%{{.*}} : tensor<2x4xf32>)
// CHECK:         %[[MAX:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ROWS]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[X]] : tensor<2x3x4xf32>) outs(%[[LOW]] :
// CHECK:           arith.maximumf
// CHECK:         %[[EXP:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ROWS]], #[[ALL]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X]], %[[MAX]] :
// CHECK:           arith.subf
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[EXP]] : tensor<2x3x4xf32>)
// CHECK:           arith.addf
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} ins(%[[EXP]], %[[SUM]] :
// CHECK:           arith.divf
// CHECK:         return %[[Q]]
func.func @softmax(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %e = tensor.empty() : tensor<2x3x4xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// What elementwise fusion leaves of index arithmetic: here the identity, in a roundabout way.
// CHECK-LABEL: func.func @apply(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<12xf32>
// CHECK-NOT:     affine.apply
// CHECK-NOT:     tensor.extract
// CHECK:         linalg.generic {{.*}} ins(%[[T]] : tensor<12xf32>)
func.func @apply(%t: tensor<12xf32>) -> tensor<12xf32> {
  %e = tensor.empty() : tensor<12xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<12xf32>) {
  ^bb0(%out: f32):
    %1 = linalg.index 0 : index
    %2 = affine.apply affine_map<(d0)[s0] -> ((d0 floordiv 4) * 4 + s0 mod 4)>(%1)[%1]
    %3 = affine.apply affine_map<(d0) -> (d0 + (d0 ceildiv 100) * 0)>(%2)
    %4 = tensor.extract %t[%3] : tensor<12xf32>
    linalg.yield %4 : f32
  } -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
