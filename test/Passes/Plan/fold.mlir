// RUN: shard-opt %s --shard-propagate | FileCheck %s
// Ten equal calls in a row. The planner looks at a few of them and takes the others for equal, unless the state that one hands
// to the next differs from call to call, as here: each layer turns the matrix, so that rows and columns are split in turn.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// CHECK-LABEL: func.func private @turn(
// CHECK-SAME:    spmd.sharding = {{\[\[}}"tp"], []]
// CHECK-LABEL: func.func private @turn_1(
// CHECK-SAME:    spmd.sharding = {{\[\[}}], ["tp"]]
func.func private @turn(%h: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %empty = tensor.empty() : tensor<8x8xf32>
  %turned = linalg.transpose ins(%h : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) permutation = [1, 0]
  %out = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.add ins(%turned, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%out : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK:         call @turn(%{{.*}}spmd.sharding = {{\[\[\[}}], ["tp"]]]
// CHECK:         call @turn_1(%{{.*}}spmd.sharding = {{\[\[\[}}"tp"], []]]
// CHECK:         call @turn(%{{.*}}spmd.sharding = {{\[\[\[}}], ["tp"]]]
// CHECK:         call @turn_1(%{{.*}}spmd.sharding = {{\[\[\[}}"tp"], []]]
// CHECK:         call @turn(%{{.*}}spmd.sharding = {{\[\[\[}}], ["tp"]]]
// CHECK:         call @turn_1(%{{.*}}spmd.sharding = {{\[\[\[}}"tp"], []]]
// CHECK:         call @turn(%{{.*}}spmd.sharding = {{\[\[\[}}], ["tp"]]]
// CHECK:         call @turn_1(%{{.*}}spmd.sharding = {{\[\[\[}}"tp"], []]]
// CHECK:         call @turn(%{{.*}}spmd.sharding = {{\[\[\[}}], ["tp"]]]
// CHECK:         call @turn_1(%{{.*}}spmd.sharding = {{\[\[\[}}"tp"], []]]
func.func @main(%h: tensor<8x8xf32> {spmd.role = "input", spmd.sharding = [["tp"], []]},
                %w0: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]}, %w1: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]},
                %w2: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]}, %w3: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]},
                %w4: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]}, %w5: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]},
                %w6: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]}, %w7: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]},
                %w8: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]}, %w9: tensor<8x8xf32> {spmd.role = "weight", spmd.sharding = [[], []]}) -> tensor<8x8xf32> {
  %1 = call @turn(%h, %w0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = call @turn(%1, %w1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = call @turn(%2, %w2) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = call @turn(%3, %w3) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = call @turn(%4, %w4) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = call @turn(%5, %w5) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %7 = call @turn(%6, %w6) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %8 = call @turn(%7, %w7) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %9 = call @turn(%8, %w8) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %10 = call @turn(%9, %w9) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %10 : tensor<8x8xf32>
}
