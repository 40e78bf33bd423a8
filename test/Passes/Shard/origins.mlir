// RUN: shard-opt %s --shard-spmdize | FileCheck %s
// RUN: shard-opt %s --shard-spmdize | mlir-opt --canonicalize --cse | FileCheck %s
// RUN: shard-opt %s --shard-spmdize=origins=false | FileCheck %s --check-prefix=OFF

// Every op that makes a value of the unsharded program says which, and how it lies: the partial
// product, its sum, and what is made of the sum. A rank holds half of %h and all of %y. Ops without
// operand data have no number: a layout makes them as often as it likes.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(
    %x: tensor<6x8xf32> {spmd.role = "input", spmd.sharding = [[], []]},
    %u: tensor<8x4xf32> {spmd.role = "weight", spmd.sharding = [[], ["tp"]]},
    %v: tensor<4x10xf32> {spmd.role = "weight", spmd.sharding = [["tp"], []]})
    -> (tensor<6x10xf32> {spmd.sharding = [[], []]}, tensor<6x10xi32> {spmd.sharding = [["tp"], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[[], ["tp"]]]} : tensor<6x4xf32>
  %f = linalg.fill {spmd.sharding = [[[], ["tp"]]]} ins(%zero : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %h = linalg.matmul {spmd.sharding = [[[], ["tp"]]]} ins(%x, %u : tensor<6x8xf32>, tensor<8x4xf32>) outs(%f : tensor<6x4xf32>) -> tensor<6x4xf32>
  %ye = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<6x10xf32>
  %yf = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%ye : tensor<6x10xf32>) -> tensor<6x10xf32>
  %y = linalg.matmul {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]} ins(%h, %v : tensor<6x4xf32>, tensor<4x10xf32>) outs(%yf : tensor<6x10xf32>) -> tensor<6x10xf32>
  %s, %i = call @pair(%y) {spmd.sharding = [[[], []], [["tp"], []]]} : (tensor<6x10xf32>) -> (tensor<6x10xf32>, tensor<6x10xi32>)
  return %s, %i : tensor<6x10xf32>, tensor<6x10xi32>
}
func.func private @pair(%a: tensor<6x10xf32> {spmd.sharding = [[], []]})
    -> (tensor<6x10xf32> {spmd.sharding = [[], []]}, tensor<6x10xi32> {spmd.sharding = [["tp"], []]}) {
  %e = math.exp %a {spmd.sharding = [[[], []]]} : tensor<6x10xf32>
  %i = arith.fptosi %a {spmd.sharding = [[["tp"], []]]} : tensor<6x10xf32> to tensor<6x10xi32>
  return %e, %i : tensor<6x10xf32>, tensor<6x10xi32>
}
// CHECK-LABEL: func.func @main(
// CHECK:         linalg.fill {spmd.origin = "linalg.fill at {{.*}}origins.mlir:16:8 (@main)", spmd.sharding = {{\[\[\[\], \["tp"\]\]\]}}}
// CHECK:         linalg.matmul {spmd.origin = "linalg.matmul at {{.*}}origins.mlir:17:8 (@main:0)", spmd.sharding = {{\[\[\[\], \["tp"\]\]\]}}}
// CHECK:         %[[P:.*]] = linalg.matmul {spmd.origin = "linalg.matmul at {{.*}}origins.mlir:20:8 (@main:1)", spmd.partial = {{\[\[}}{axes = ["tp"], kind = "sum"}]], spmd.sharding = {{\[\[\[\], \[\]\]\]}}}
// CHECK:         %[[Y:.*]] = shard.all_reduce %[[P]] on @mesh {{.*}}{spmd.origin = "linalg.matmul at {{.*}}origins.mlir:20:8 (@main:1)", spmd.site = 0 : i64}
// CHECK:         call @pair(%[[Y]]) {spmd.origin = ["func.call at {{.*}}origins.mlir:21:12 (@main:2:0)", "func.call at {{.*}}origins.mlir:21:12 (@main:2:1)"], spmd.sharding = {{\[\[\], \[\["tp"\], \[\]\]\]}}}
// CHECK-LABEL: func.func private @pair(
// CHECK-DAG:     math.exp %{{.*}} {spmd.origin = "math.exp at {{.*}}origins.mlir:26:8 (@pair:0)"}
// CHECK-DAG:     arith.fptosi %{{.*}} {spmd.origin = "arith.fptosi at {{.*}}origins.mlir:27:8 (@pair:1)", spmd.sharding = {{\[\[\["tp"\], \[\]\]\]}}}

// Collectives always say what they move.
// OFF:     linalg.matmul ins
// OFF:     shard.all_reduce {{.*}}spmd.origin
