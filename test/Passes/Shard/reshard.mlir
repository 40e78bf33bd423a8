// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | FileCheck %s

// The sequence is split in the middle of batch times sequence: the gather sees the two apart.
shard.grid @mesh(shape = 2) {spmd.axes = ["sp"]}
func.func @gather_inside(%x: tensor<2x8x6xf32> {spmd.role = "input", spmd.sharding = [[], ["sp"], []]})
    -> (tensor<16x6xf32> {spmd.sharding = [[], []]}) {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] {spmd.sharding = [[[], ["sp"], []]], spmd.view = [array<i64: 2, 8, 6>]} : tensor<2x8x6xf32> into tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}
// CHECK-LABEL: func.func @gather_inside(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4x6xf32>
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<2x4x6xf32> into tensor<8x6xf32>
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[C]] {{\[\[}}0, 1], [2]] output_shape [2, 4, 6]
// CHECK:         %[[G:.*]] = shard.all_gather %[[E]] on @mesh grid_axes = [0] gather_axis = 1 {{.*}}spmd.site = 0 : i64} : tensor<2x4x6xf32> -> tensor<2x8x6xf32>
// CHECK:         %[[R:.*]] = tensor.collapse_shape %[[G]] {{\[\[}}0, 1], [2]] : tensor<2x8x6xf32> into tensor<16x6xf32>
// CHECK:         return %[[R]]

// -----

// From one dimension to the other: an all-to-all; two axes of one dimension: one gather.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @moves(%x: tensor<8x16xf32> {spmd.sharding = [["tp"], []]},
                 %y: tensor<8x16xf32> {spmd.sharding = [["dp", "tp"], []]},
                 %z: tensor<8x16xf32> {spmd.sharding = [[], []]})
    -> (tensor<8x16xf32> {spmd.sharding = [[], ["tp"]]}, tensor<8x16xf32> {spmd.sharding = [[], []]},
        tensor<8x16xf32> {spmd.sharding = [["dp"], ["tp"]]}) {
  return %x, %y, %z : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
// CHECK-LABEL: func.func @moves(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x16xf32>
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: tensor<1x16xf32>
// CHECK-SAME:    %[[Z:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-DAG:     %[[DP:.*]] = shard.process_multi_index on @mesh axes = [0]
// CHECK-DAG:     %[[TP:.*]] = shard.process_multi_index on @mesh axes = [1]
// CHECK:         %[[A:.*]] = shard.all_to_all %[[X]] on @mesh grid_axes = [1] split_axis = 1 concat_axis = 0 {{.*}} : tensor<2x16xf32> -> tensor<8x4xf32>
// CHECK:         %[[G:.*]] = shard.all_gather %[[Y]] on @mesh grid_axes = [0, 1] gather_axis = 0 {{.*}} : tensor<1x16xf32> -> tensor<8x16xf32>
// CHECK:         %[[O:.*]] = arith.muli %[[DP]], %c4
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[Z]][%[[O]], 0] [4, 16] [1, 1]
// CHECK:         %[[P:.*]] = arith.muli %[[TP]], %c4
// CHECK:         %[[T:.*]] = tensor.extract_slice %[[S]][0, %[[P]]] [4, 4] [1, 1]
// CHECK:         return %[[A]], %[[G]], %[[T]]

// -----

// Key and value heads over the major sub-axis, the heads that share them over the minor one. Only
// the minor one has to be gathered for the heads of one group.
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp.0", "tp.1"]}
func.func @sub_axes(%q: tensor<3x32xf32> {spmd.sharding = [[], ["tp"]]})
    -> (tensor<3x2x4x4xf32> {spmd.sharding = [[], ["tp.0"], [], []]}) {
  %0 = tensor.expand_shape %q [[0], [1, 2, 3]] output_shape [3, 2, 4, 4] {spmd.sharding = [[[], ["tp.0"], ["tp.1"], []]]} : tensor<3x32xf32> into tensor<3x2x4x4xf32>
  return %0 : tensor<3x2x4x4xf32>
}
// CHECK:       spmd.sites = [{axes = ["tp.1"]
// CHECK-LABEL: func.func @sub_axes(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<3x8xf32> {{.*}} spmd.sharding = {{\[\[\], \["tp"\]\]}}}
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[Q]] {{.*}} output_shape [3, 1, 2, 4] : tensor<3x8xf32> into tensor<3x1x2x4xf32>
// CHECK:         shard.all_gather %[[E]] on @mesh grid_axes = [1] gather_axis = 2 {{.*}} : tensor<3x1x2x4xf32> -> tensor<3x1x4x4xf32>

// -----

// A value wanted in the same placement twice moves once.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @once(%x: tensor<4x8xf32> {spmd.sharding = [["tp"], []]})
    -> (tensor<4x8xf32> {spmd.sharding = [[], []]}, tensor<4x8xf32> {spmd.sharding = [[], []]}) {
  %0 = math.exp %x {spmd.sharding = [[["tp"], []]]} : tensor<4x8xf32>
  %1 = math.sin %0 {spmd.sharding = [[[], []]]} : tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: func.func @once(
// CHECK:         %[[E:.*]] = math.exp %{{.*}} : tensor<2x8xf32>
// CHECK:         %[[G:.*]] = shard.all_gather %[[E]]
// CHECK-NOT:     shard.all_gather
// CHECK:         %[[S:.*]] = math.sin %[[G]] : tensor<4x8xf32>
// CHECK:         return %[[G]], %[[S]]

// -----

// Axes that are not in the mesh's order take one gather each, minor first.
shard.grid @mesh(shape = 2x4) {spmd.axes = ["dp", "tp"]}
func.func @other_order(%x: tensor<8x3xf32> {spmd.sharding = [["tp", "dp"], []]})
    -> (tensor<8x3xf32> {spmd.sharding = [[], []]}) {
  return %x : tensor<8x3xf32>
}
// CHECK-LABEL: func.func @other_order(
// CHECK:         %[[A:.*]] = shard.all_gather %{{.*}} on @mesh grid_axes = [0] gather_axis = 0 {{.*}} : tensor<1x3xf32> -> tensor<2x3xf32>
// CHECK:         shard.all_gather %[[A]] on @mesh grid_axes = [1] gather_axis = 0 {{.*}} : tensor<2x3xf32> -> tensor<8x3xf32>
