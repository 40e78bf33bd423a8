// RUN: shard-opt %s --shard-outline-layers --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Three layers of matmul and tanh with a scale that all share: one function, called three times. The
// hidden state and the weight lead, the shared scale trails; fill and empty are inside. What is
// before and after the layers stays.
// CHECK-LABEL: func.func @stack(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME:    %[[W0:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-SAME:    %[[W1:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-SAME:    %[[W2:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<8xf32>
// CHECK:         %[[SCALE:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<8xf32>)
// CHECK:         %[[BEGIN:.+]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>)
// CHECK-NOT:     linalg.matmul
// CHECK:         %[[C0:.+]] = call @layer(%[[BEGIN]], %[[W0]], %[[SCALE]]) {spmd.instance = 0 : i64, spmd.layer = 0 : i64}
// CHECK-SAME:      loc("layer 0"(
// CHECK:         %[[C1:.+]] = call @layer(%[[C0]], %[[W1]], %[[SCALE]]) {spmd.instance = 1 : i64, spmd.layer = 1 : i64}
// CHECK-SAME:      loc("layer 1"(
// CHECK:         %[[C2:.+]] = call @layer(%[[C1]], %[[W2]], %[[SCALE]]) {spmd.instance = 2 : i64, spmd.layer = 2 : i64}
// CHECK-SAME:      loc("layer 2"(
// CHECK:         %[[END:.+]] = linalg.generic {{.*}} ins(%[[C2]] : tensor<4x8xf32>)
// CHECK:         return %[[END]]
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME:    %[[H:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<8xf32>
// CHECK:         %[[ZERO:.+]] = arith.constant 0.0
// CHECK:         %[[EMPTY:.+]] = tensor.empty()
// CHECK:         %[[INIT:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[EMPTY]] : tensor<4x8xf32>)
// CHECK:         %[[M:.+]] = linalg.matmul ins(%[[H]], %[[W]] : {{.*}}) outs(%[[INIT]]
// CHECK:         %[[R:.+]] = linalg.generic {{.*}} ins(%[[M]], %[[T]] : tensor<4x8xf32>, tensor<8xf32>)
// CHECK:         return %[[R]] : tensor<4x8xf32>
// CHECK-NOT:   func.func
#row = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#line = affine_map<(d0) -> (d0)>
func.func @stack(%x: tensor<4x8xf32>, %w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %line = tensor.empty() : tensor<8xf32>
  %scale = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%s : tensor<8xf32>) outs(%line : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %begin = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.sqrt %a : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %m0 = linalg.matmul ins(%begin, %w0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]} ins(%m0, %scale : tensor<4x8xf32>, tensor<8xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = math.tanh %a : f32
    %2 = arith.mulf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %m1 = linalg.matmul ins(%h0, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]} ins(%m1, %scale : tensor<4x8xf32>, tensor<8xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = math.tanh %a : f32
    %2 = arith.mulf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %m2 = linalg.matmul ins(%h1, %w2 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]} ins(%m2, %scale : tensor<4x8xf32>, tensor<8xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = math.tanh %a : f32
    %2 = arith.mulf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %end = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%h2 : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.sqrt %a : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %end : tensor<4x8xf32>
}
