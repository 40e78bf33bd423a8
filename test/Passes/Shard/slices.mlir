// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | FileCheck %s

// A fused projection in its view: each rank holds its heads of q, of k and of v, and cuts them apart
// in local columns.
shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
func.func @fused(%qkv: tensor<5x288xf32> {spmd.sharding = [[], [], ["tp"], []], spmd.view = array<i64: 5, 3, 12, 8>})
    -> (tensor<5x12x8xf32> {spmd.sharding = [[], ["tp"], []]}) {
  %k = tensor.extract_slice %qkv[0, 96] [5, 96] [1, 1] {spmd.sharding = [[[], ["tp"]]]} : tensor<5x288xf32> to tensor<5x96xf32>
  %h = tensor.expand_shape %k [[0], [1, 2]] output_shape [5, 12, 8] {spmd.sharding = [[[], ["tp"], []]]} : tensor<5x96xf32> into tensor<5x12x8xf32>
  return %h : tensor<5x12x8xf32>
}
// CHECK-LABEL: func.func @fused(
// CHECK-SAME:    %[[QKV:[a-z0-9]+]]: tensor<5x72xf32> {{.*}} spmd.sharding = {{\[\[\], \[\], \["tp"\], \[\]\]}}, spmd.view = array<i64: 5, 3, 12, 8>}
// CHECK:         %[[K:.*]] = tensor.extract_slice %[[QKV]][0, 24] [5, 24] [1, 1] : tensor<5x72xf32> to tensor<5x24xf32>
// CHECK:         tensor.expand_shape %[[K]] {{.*}} output_shape [5, 3, 8]
// CHECK-NOT:     shard.all

// -----

// Rotary halves: the halves are whole, the heads beside them are split.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @halves(%x: tensor<4x6x8xf32> {spmd.sharding = [[], ["tp"], []]})
    -> (tensor<4x6x8xf32> {spmd.sharding = [[], ["tp"], []]}) {
  %a = tensor.extract_slice %x[0, 0, 0] [4, 6, 4] [1, 1, 1] {spmd.sharding = [[[], ["tp"], []]]} : tensor<4x6x8xf32> to tensor<4x6x4xf32>
  %b = tensor.extract_slice %x[0, 0, 4] [4, 6, 4] [1, 1, 1] {spmd.sharding = [[[], ["tp"], []]]} : tensor<4x6x8xf32> to tensor<4x6x4xf32>
  %r = tensor.concat dim(2) %b, %a {spmd.sharding = [[[], ["tp"], []]]} : (tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> tensor<4x6x8xf32>
  %i = tensor.insert_slice %a into %r[0, 0, 4] [4, 6, 4] [1, 1, 1] {spmd.sharding = [[[], ["tp"], []]]} : tensor<4x6x4xf32> into tensor<4x6x8xf32>
  return %i : tensor<4x6x8xf32>
}
// CHECK-LABEL: func.func @halves(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x3x8xf32>
// CHECK:         %[[A:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [4, 3, 4] [1, 1, 1] : tensor<4x3x8xf32> to tensor<4x3x4xf32>
// CHECK:         %[[B:.*]] = tensor.extract_slice %[[X]][0, 0, 4] [4, 3, 4] [1, 1, 1]
// CHECK:         %[[R:.*]] = tensor.concat dim(2) %[[B]], %[[A]] : (tensor<4x3x4xf32>, tensor<4x3x4xf32>) -> tensor<4x3x8xf32>
// CHECK:         tensor.insert_slice %[[A]] into %[[R]][0, 0, 4] [4, 3, 4] [1, 1, 1] : tensor<4x3x4xf32> into tensor<4x3x8xf32>

// -----

// Constants: a splat is made local; other values are cut by rank.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @constants() -> (tensor<4xf32> {spmd.sharding = [["tp"]]}, tensor<4xf32> {spmd.sharding = [["tp"]]}) {
  %s = arith.constant {spmd.sharding = [[["tp"]]]} dense<2.0> : tensor<4xf32>
  %v = arith.constant {spmd.sharding = [[["tp"]]]} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  return %s, %v : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @constants(
// CHECK:         %[[I:.*]] = shard.process_multi_index
// CHECK:         %[[V:.*]] = arith.constant dense<[1.{{.*}}]> : tensor<4xf32>
// CHECK:         %[[O:.*]] = arith.muli %[[I]], %c2
// CHECK:         %[[C:.*]] = tensor.extract_slice %[[V]][%[[O]]] [2] [1]
// CHECK:         %[[S:.*]] = arith.constant dense<2.{{.*}}> : tensor<2xf32>
// CHECK:         return %[[S]], %[[C]]
