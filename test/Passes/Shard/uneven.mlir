// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | FileCheck %s

// 30 rows over 4: 8 stored, of which the last rank fills 6. Both operands of the product have zeros there; the
// product itself stays one that the lowering knows.
shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
func.func @product(%x: tensor<5x30xf32> {spmd.sharding = [[], ["tp"]]}, %w: tensor<30x7xf32> {spmd.sharding = [["tp"], []]})
    -> (tensor<5x7xf32> {spmd.sharding = [[], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<5x7xf32>
  %f = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = linalg.matmul {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]}
      ins(%x, %w : tensor<5x30xf32>, tensor<30x7xf32>) outs(%f : tensor<5x7xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
// CHECK-LABEL: func.func @product(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<5x8xf32> {spmd.arg = 0 : i64, spmd.extent = array<i64: 5, 30>, spmd.global = tensor<5x30xf32>
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x7xf32> {spmd.arg = 1 : i64, spmd.extent = array<i64: 30, 7>
// CHECK:         %[[I:.*]] = shard.process_multi_index on @mesh axes = [0] : index
// CHECK:         %[[ORIGIN:.*]] = arith.muli %[[I]], %c8
// CHECK:         %[[BEGIN:.*]] = arith.minui %[[ORIGIN]], %[[C30:.*]] : index
// CHECK:         %[[LEFT:.*]] = arith.subi %[[C30]], %[[BEGIN]] : index
// CHECK:         %[[VALID:.*]] = arith.minui %[[LEFT]], %{{.*}} : index
// CHECK:         %[[MASKED:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<5x8xf32>)
// CHECK:           %[[K:.*]] = linalg.index 1 : index
// CHECK:           %[[IN:.*]] = arith.cmpi ult, %[[K]], %[[VALID]] : index
// CHECK:           arith.select %[[IN]], %{{.*}}, %{{.*}} : f32
// CHECK:         %[[WEIGHT:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<8x7xf32>)
// CHECK:         %[[SUM:.*]] = linalg.matmul ins(%[[MASKED]], %[[WEIGHT]] : tensor<5x8xf32>, tensor<8x7xf32>)
// CHECK:         shard.all_reduce %[[SUM]]

// -----

// Another combiner: a step in padding leaves the accumulator as it was. The elementwise op before needs no mask,
// and its result says how much of it there is.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @largest(%x: tensor<13xf32> {spmd.sharding = [["tp"]]}) -> (tensor<f32> {spmd.sharding = []}) {
  %lowest = arith.constant 0xFF800000 : f32
  %0 = math.sin %x {spmd.sharding = [[["tp"]]]} : tensor<13xf32>
  %e = tensor.empty() {spmd.sharding = [[]]} : tensor<f32>
  %f = linalg.fill {spmd.sharding = [[]]} ins(%lowest : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<13xf32>) outs(%f : tensor<f32>) attrs = {spmd.sharding = [[]], spmd.partial = [[{axes = ["tp"], kind = "max"}]]} {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}
// CHECK-LABEL: func.func @largest(
// CHECK:         %[[SIN:.*]] = math.sin %{{.*}} {spmd.extent = [array<i64: 13>]} : tensor<7xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[SIN]] : tensor<7xf32>)
// CHECK-NEXT:      ^bb0(%{{.*}}: f32, %[[SOFAR:.*]]: f32):
// CHECK-NEXT:      %[[M:.*]] = arith.maximumf
// CHECK-NEXT:      %[[K:.*]] = linalg.index 0 : index
// CHECK-NEXT:      %[[IN:.*]] = arith.cmpi ult, %[[K]], %{{.*}} : index
// CHECK-NEXT:      %[[KEPT:.*]] = arith.select %[[IN]], %[[M]], %[[SOFAR]] : f32
// CHECK-NEXT:      linalg.yield %[[KEPT]] : f32

// -----

// Even: nothing is masked.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @even(%x: tensor<14xi32> {spmd.sharding = [["tp"]]}, %y: tensor<14xi32> {spmd.sharding = [["tp"]]}) -> (tensor<14xi32> {spmd.sharding = [["tp"]]}) {
  %0 = arith.divsi %x, %y {spmd.sharding = [[["tp"]]]} : tensor<14xi32>
  return %0 : tensor<14xi32>
}
// CHECK-LABEL: func.func @even(
// CHECK-NEXT:    arith.divsi %{{.*}}, %{{.*}} : tensor<7xi32>
// CHECK-NEXT:    return

// -----

// Uneven: the padding divides by one.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @uneven(%x: tensor<13xi32> {spmd.sharding = [["tp"]]}, %y: tensor<13xi32> {spmd.sharding = [["tp"]]}) -> (tensor<13xi32> {spmd.sharding = [["tp"]]}) {
  %0 = arith.divsi %x, %y {spmd.sharding = [[["tp"]]]} : tensor<13xi32>
  return %0 : tensor<13xi32>
}
// CHECK-LABEL: func.func @uneven(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<7xi32>
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: tensor<7xi32>
// CHECK:         %[[ONE:.*]] = arith.constant 1 : i32
// CHECK:         %[[BY:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<7xi32>)
// CHECK:           arith.select %{{.*}}, %{{.*}}, %[[ONE]] : i32
// CHECK:         arith.divsi %[[X]], %[[BY]] {spmd.extent = [array<i64: 13>]} : tensor<7xi32>
