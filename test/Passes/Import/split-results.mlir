// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import)' | FileCheck %s
// RUN: shard-run --auto-shard=tp1 --check --quiet %s

// Two combiners: an op each. One combiner, or a result that depends on the other: as it was.
// CHECK-LABEL: func.func @main(
// CHECK:         linalg.generic
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-NEXT:      arith.maximumf %[[OUT]], %[[IN]]
// CHECK:         linalg.generic
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-NEXT:      arith.addf %[[OUT]], %[[IN]]
// CHECK:         linalg.generic
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NOT:     linalg.generic
// CHECK:         return
#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0:2 = linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%m, %n : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %s: f32, %t: f32):
    %v = arith.addf %s, %in : f32
    %w = arith.maximumf %t, %in : f32
    linalg.yield %v, %w : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %1:2 = linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%m, %m : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %s: f32, %t: f32):
    %v = arith.addf %s, %in : f32
    %q = arith.mulf %in, %in : f32
    %w = arith.addf %t, %q : f32
    linalg.yield %v, %w : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
