// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | FileCheck %s

// Columns, then rows: the second product is a partial sum, and its result is wanted whole.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @columns_rows(
    %x: tensor<4x16xf32> {spmd.role = "input", spmd.sharding = [[], []]},
    %w1: tensor<16x8xf32> {spmd.role = "weight", spmd.name = "up", spmd.sharding = [[], ["tp"]]},
    %w2: tensor<8x32xf32> {spmd.role = "weight", spmd.name = "down", spmd.sharding = [["tp"], []]},
    %b: tensor<8xf32> {spmd.role = "weight", spmd.name = "bias", spmd.sharding = [["tp"]]})
    -> (tensor<4x32xf32> {spmd.sharding = [[], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[[], ["tp"]]]} : tensor<4x8xf32>
  %f = linalg.fill {spmd.sharding = [[[], ["tp"]]]} ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul {spmd.sharding = [[[], ["tp"]]]} ins(%x, %w1 : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) attrs = {spmd.sharding = [[[], ["tp"]]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %e2 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<4x32xf32>
  %f2 = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%e2 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = linalg.matmul {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]}
      ins(%1, %w2 : tensor<4x8xf32>, tensor<8x32xf32>) outs(%f2 : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}
// CHECK:       module attributes {spmd.sites = [{axes = ["tp"], bytes = 5.120000e+02 : f64,
// CHECK-SAME:    calls = [{op = "linalg.matmul at {{.*}}", stage = 0 : i64}],
// CHECK-SAME:    cause = "partial sum of linalg.matmul wanted whole by the function's result",
// CHECK-SAME:    kind = "all-reduce"
// CHECK-SAME:    site = 0 : i64, to = "whole", type = tensor<4x32xf32>, value = "linalg.matmul at {{[^"]*}}"}]}
// CHECK-LABEL: func.func @columns_rows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x16xf32> {spmd.arg = 0 : i64, spmd.global = tensor<4x16xf32>, spmd.role = "input", spmd.sharding = {{\[\[\], \[\]\]}}}
// CHECK-SAME:    %[[W1:[a-z0-9]+]]: tensor<16x4xf32> {spmd.arg = 1 : i64, spmd.global = tensor<16x8xf32>, spmd.name = "up", spmd.role = "weight", spmd.sharding = {{\[\[\], \["tp"\]\]}}}
// CHECK-SAME:    %[[W2:[a-z0-9]+]]: tensor<4x32xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME:    -> (tensor<4x32xf32> {spmd.global = tensor<4x32xf32>, spmd.result = 0 : i64, spmd.sharding = {{\[\[\], \[\]\]}}})
// CHECK:         %[[UP:.*]] = linalg.matmul ins(%[[X]], %[[W1]] : tensor<4x16xf32>, tensor<16x4xf32>)
// CHECK:         %[[ACT:.*]] = linalg.generic {{.*}} ins(%[[UP]], %[[B]] : tensor<4x4xf32>, tensor<4xf32>)
// CHECK:         %[[DOWN:.*]] = linalg.matmul ins(%[[ACT]], %[[W2]] : tensor<4x4xf32>, tensor<4x32xf32>)
// CHECK-NEXT:    %[[R:.*]] = shard.all_reduce %[[DOWN]] on @mesh grid_axes = [0] {{.*}}spmd.site = 0 : i64} : tensor<4x32xf32> -> tensor<4x32xf32>
// CHECK-NEXT:    return %[[R]]

// -----

// A partial sum stays partial through an addition; the whole operand enters on coordinate 0 only.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @bias_enters_once(
    %x: tensor<4x16xf32> {spmd.sharding = [[], ["tp"]]},
    %w: tensor<16x8xf32> {spmd.sharding = [["tp"], []]},
    %b: tensor<4x8xf32> {spmd.sharding = [[], []]})
    -> (tensor<4x8xf32> {spmd.sharding = [["tp"], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<4x8xf32>
  %f = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]}
      ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.add {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]}
      ins(%0, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @bias_enters_once(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK:         %[[I:.*]] = shard.process_multi_index on @mesh axes = [0] : index
// CHECK:         %[[P:.*]] = linalg.matmul ins(%[[X]], %[[W]]
// CHECK:         %[[FIRST:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK:         %[[ONCE:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<4x8xf32>)
// CHECK:           arith.select %[[FIRST]], %in, %{{.*}} : f32
// CHECK:         %[[S:.*]] = linalg.add ins(%[[P]], %[[ONCE]] :
// CHECK:         %[[R:.*]] = shard.reduce_scatter %[[S]] on @mesh grid_axes = [0] scatter_axis = 0 {{.*}}spmd.site = 0 : i64} : tensor<4x8xf32> -> tensor<2x8xf32>
// CHECK:         return %[[R]]

// -----

// The destination of a split reduction is no zero: it enters once. A maximum may enter everywhere.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @destinations(
    %x: tensor<4x16xf32> {spmd.sharding = [[], ["tp"]]},
    %w: tensor<16x8xf32> {spmd.sharding = [["tp"], []]},
    %c: tensor<4x8xf32> {spmd.sharding = [[], []]},
    %m: tensor<4xf32> {spmd.sharding = [[]]})
    -> (tensor<4x8xf32> {spmd.sharding = [[], []]}, tensor<4xf32> {spmd.sharding = [[]]}) {
  %0 = linalg.matmul {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]}
      ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.reduce {arith.maximumf} ins(%x : tensor<4x16xf32>) outs(%m : tensor<4xf32>) dimensions = [1] {spmd.sharding = [[[]]], spmd.partial = [[{axes = ["tp"], kind = "max"}]]}
  return %0, %1 : tensor<4x8xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @destinations(
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<4x8xf32> {spmd.arg = 2
// CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<4xf32> {spmd.arg = 3
// CHECK:         %[[ONCE:.*]] = linalg.generic {{.*}} ins(%[[C]] :
// CHECK:         %[[P:.*]] = linalg.matmul {{.*}} outs(%[[ONCE]] : tensor<4x8xf32>)
// CHECK:         %[[SUM:.*]] = shard.all_reduce %[[P]] {{.*}} : tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK:         %[[Q:.*]] = linalg.reduce {{.*}} outs(%[[M]] : tensor<4xf32>)
// CHECK:         %[[MAX:.*]] = shard.all_reduce %[[Q]] on @mesh grid_axes = [0] reduction = max
// CHECK:         return %[[SUM]], %[[MAX]]
