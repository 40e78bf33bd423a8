// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | FileCheck %s

// Rows of a table split over devices, at ids: own rows, or zero; the assertion sees the global id.
shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
func.func @embedding(
    %table: tensor<32x6xf32> {spmd.sharding = [["tp"], []]},
    %ids: tensor<2x5xi64> {spmd.role = "input", spmd.sharding = [[], []]})
    -> (tensor<2x5x6xf32> {spmd.sharding = [[], [], []]}) {
  %e = tensor.empty() {spmd.sharding = [[[], [], []]]} : tensor<2x5x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<2x5xi64>) outs(%e : tensor<2x5x6xf32>)
      attrs = {spmd.sharding = [[[], [], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]} {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %d = linalg.index 2 : index
    %n = arith.constant 32 : i64
    %ok = arith.cmpi slt, %id, %n : i64
    cf.assert %ok, "id out of range"
    %v = tensor.extract %table[%i, %d] : tensor<32x6xf32>
    linalg.yield %v : f32
  } -> tensor<2x5x6xf32>
  return %0 : tensor<2x5x6xf32>
}
// CHECK-LABEL: func.func @embedding(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<8x6xf32>
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<2x5xi64>
// CHECK:         %[[I:.*]] = shard.process_multi_index on @mesh axes = [0] : index
// CHECK:         %[[ORIGIN:.*]] = arith.muli %[[I]], %c8
// CHECK:         linalg.generic
// CHECK:         ^bb0(%[[ID:.*]]: i64, %{{.*}}: f32):
// CHECK:           %[[GLOBAL:.*]] = arith.index_cast %[[ID]]
// CHECK:           %[[D:.*]] = linalg.index 2
// CHECK:           %[[OK:.*]] = arith.cmpi slt, %[[ID]], %c32
// CHECK:           cf.assert %[[OK]]
// CHECK:           %[[LOCAL:.*]] = arith.subi %[[GLOBAL]], %[[ORIGIN]] : index
// CHECK:           %[[MINE:.*]] = arith.cmpi ult, %[[LOCAL]], %{{.*}} : index
// CHECK:           %[[ROW:.*]] = arith.select %[[MINE]], %[[LOCAL]], %{{.*}} : index
// CHECK:           %[[V:.*]] = tensor.extract %[[T]][%[[ROW]], %[[D]]] : tensor<8x6xf32>
// CHECK:           %[[M:.*]] = arith.select %[[MINE]], %[[V]], %{{.*}} : f32
// CHECK:           linalg.yield %[[M]]
// CHECK:         shard.all_reduce {{.*}} : tensor<2x5x6xf32> -> tensor<2x5x6xf32>

// -----

// Loop indices are global in the body, and a captured tensor that a loop runs over is local.
shard.grid @mesh(shape = 2) {spmd.axes = ["sp"]}
func.func @positions(%t: tensor<8x6xf32> {spmd.sharding = [["sp"], []]})
    -> (tensor<8x6xf32> {spmd.sharding = [["sp"], []]}) {
  %e = tensor.empty() {spmd.sharding = [[["sp"], []]]} : tensor<8x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(s, d) -> (s, d)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<8x6xf32>) attrs = {spmd.sharding = [[["sp"], []]]} {
  ^bb0(%o: f32):
    %s = linalg.index 0 : index
    %d = linalg.index 1 : index
    %v = tensor.extract %t[%s, %d] : tensor<8x6xf32>
    %p = arith.index_cast %s : index to i64
    %f = arith.sitofp %p : i64 to f32
    %r = arith.addf %v, %f : f32
    linalg.yield %r : f32
  } -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// CHECK-LABEL: func.func @positions(
// CHECK:         %[[I:.*]] = shard.process_multi_index
// CHECK:         %[[ORIGIN:.*]] = arith.muli %[[I]], %c4
// CHECK:         linalg.generic
// CHECK:           %[[S:.*]] = linalg.index 0
// CHECK:           %[[G:.*]] = arith.addi %[[S]], %[[ORIGIN]]
// CHECK:           %[[D:.*]] = linalg.index 1
// CHECK:           %[[L:.*]] = arith.subi %[[G]], %{{.*}} : index
// CHECK:           tensor.extract %{{.*}}[%[[L]], %[[D]]] : tensor<4x6xf32>
// CHECK:           arith.index_cast %[[G]]

// -----

// The loop runs over batch times sequence and only the sequence is split: the index is taken apart.
shard.grid @mesh(shape = 2) {spmd.axes = ["sp"]}
func.func @merged() -> (tensor<2x8xi64> {spmd.sharding = [[], ["sp"]]}) {
  %e = tensor.empty() {spmd.sharding = [[[], ["sp"]]], spmd.view = [array<i64: 2, 8>]} : tensor<16xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<16xi64>) attrs = {spmd.sharding = [[[], ["sp"]]], spmd.view = [array<i64: 2, 8>]} {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %p = arith.index_cast %i : index to i64
    linalg.yield %p : i64
  } -> tensor<16xi64>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 8] {spmd.sharding = [[[], ["sp"]]]} : tensor<16xi64> into tensor<2x8xi64>
  return %1 : tensor<2x8xi64>
}
// CHECK-LABEL: func.func @merged(
// CHECK:         %[[I:.*]] = shard.process_multi_index
// CHECK:         %[[ORIGIN:.*]] = arith.muli %[[I]], %c4
// CHECK:         linalg.generic
// CHECK:           %[[L:.*]] = linalg.index 0
// CHECK:           %[[C4:.*]] = arith.constant 4 : index
// CHECK:           %[[S:.*]] = arith.remui %[[L]], %[[C4]]
// CHECK:           %[[B:.*]] = arith.divui %[[L]], %[[C4]]
// CHECK:           %[[GS:.*]] = arith.addi %[[S]], %[[ORIGIN]]
// CHECK:           %[[C8:.*]] = arith.constant 8 : index
// CHECK:           %[[GB:.*]] = arith.muli %[[B]], %[[C8]]
// CHECK:           %[[G:.*]] = arith.addi %[[GS]], %[[GB]]
// CHECK:           arith.index_cast %[[G]]
// CHECK:         tensor.expand_shape {{.*}} output_shape [2, 4] : tensor<8xi64> into tensor<2x4xi64>
