// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s

// A mask read at [b, 0-based position], as torch writes advanced indexing: iotas, expanded, with
// negative positions wrapped. All of it is the identity.
// CHECK: #[[MAP:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
// CHECK-LABEL: func.func @advanced_index(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<2x7xi1>
// CHECK-NOT:     tensor.extract
// CHECK:         linalg.generic {indexing_maps = [#[[MAP]], #{{.*}}], {{.*}}} ins(%[[T]] : tensor<2x7xi1>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: i1, %{{.*}}: i1):
// CHECK-NEXT:      linalg.yield %[[IN]] : i1
func.func @advanced_index(%t: tensor<2x7xi1>) -> tensor<2x1x1x7xi1> {
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c7 = arith.constant 7 : i64
  %e2 = tensor.empty() : tensor<2xi64>
  %e7 = tensor.empty() : tensor<7xi64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e2 : tensor<2xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<2xi64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e7 : tensor<7xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<7xi64>
  %b4 = tensor.expand_shape %b [[0, 1, 2, 3]] output_shape [2, 1, 1, 1] : tensor<2xi64> into tensor<2x1x1x1xi64>
  %s4 = tensor.expand_shape %s [[0, 1, 2, 3]] output_shape [1, 1, 1, 7] : tensor<7xi64> into tensor<1x1x1x7xi64>
  %e = tensor.empty() : tensor<2x1x1x7xi1>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%b4, %s4 : tensor<2x1x1x1xi64>, tensor<1x1x1x7xi64>) outs(%e : tensor<2x1x1x7xi1>) {
  ^bb0(%x: i64, %y: i64, %out: i1):
    %1 = arith.cmpi slt, %x, %c0 : i64
    %2 = arith.addi %x, %c2 : i64
    %3 = arith.select %1, %2, %x : i64
    %4 = arith.index_cast %3 : i64 to index
    %5 = arith.cmpi slt, %y, %c0 : i64
    %6 = arith.addi %y, %c7 : i64
    %7 = arith.select %5, %6, %y : i64
    %8 = arith.index_cast %7 : i64 to index
    %9 = tensor.extract %t[%4, %8] : tensor<2x7xi1>
    linalg.yield %9 : i1
  } -> tensor<2x1x1x7xi1>
  return %0 : tensor<2x1x1x7xi1>
}

// -----

// A table of positions that is longer than the sequence is cut; the bounds hold, so the asserts go.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<40x16xf32>
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[T]][3, 0] [33, 16] [1, 1] : tensor<40x16xf32> to tensor<33x16xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[S]] : tensor<33x16xf32>) outs(%{{.*}} : tensor<1x33x16xf32>)
// CHECK-NOT:     cf.assert
// CHECK-NOT:     tensor.extract %
func.func @positions(%t: tensor<40x16xf32>) -> tensor<1x33x16xf32> {
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %e = tensor.empty() : tensor<1x33x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<1x33x16xf32>) {
  ^bb0(%out: f32):
    %1 = linalg.index 1 : index
    %2 = arith.addi %1, %c3 : index
    %3 = linalg.index 2 : index
    %4 = arith.cmpi slt, %2, %c40 : index
    cf.assert %4, "index must be smaller than dim size"
    %5 = tensor.extract %t[%2, %3] : tensor<40x16xf32>
    linalg.yield %5 : f32
  } -> tensor<1x33x16xf32>
  return %0 : tensor<1x33x16xf32>
}

// -----

// Linear positions, as TOSA writes them: (b, s) pairs times (7, 1), summed. Split and merged again they
// are the row number.
// CHECK: #[[MAP:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @linear(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<14xf32>
// CHECK-NOT:     tensor.extract
// CHECK:         linalg.generic {indexing_maps = [#[[MAP]], #[[MAP]]], iterator_types = ["parallel"]} ins(%[[T]] : tensor<14xf32>)
// CHECK-NOT:     dense<
func.func @linear(%t: tensor<14xf32>) -> tensor<14xf32> {
  %c0 = arith.constant 0 : i32
  %strides = arith.constant dense<[[7, 1]]> : tensor<1x2xi32>
  %e = tensor.empty() : tensor<2x7x1xi32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<2x7x1xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    linalg.yield %j : i32
  } -> tensor<2x7x1xi32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<2x7x1xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    linalg.yield %j : i32
  } -> tensor<2x7x1xi32>
  %pairs = tensor.concat dim(2) %b, %s : (tensor<2x7x1xi32>, tensor<2x7x1xi32>) -> tensor<2x7x2xi32>
  %rows = tensor.collapse_shape %pairs [[0, 1], [2]] : tensor<2x7x2xi32> into tensor<14x2xi32>
  %e2 = tensor.empty() : tensor<14x2xi32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%rows, %strides : tensor<14x2xi32>, tensor<1x2xi32>) outs(%e2 : tensor<14x2xi32>) {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %1 = arith.muli %x, %y : i32
    linalg.yield %1 : i32
  } -> tensor<14x2xi32>
  %e3 = tensor.empty() : tensor<14xi32>
  %zero = linalg.fill ins(%c0 : i32) outs(%e3 : tensor<14xi32>) -> tensor<14xi32>
  %linear = linalg.reduce { arith.addi } ins(%scaled : tensor<14x2xi32>) outs(%zero : tensor<14xi32>) dimensions = [1]
  %e4 = tensor.empty() : tensor<14xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%linear : tensor<14xi32>) outs(%e4 : tensor<14xf32>) {
  ^bb0(%x: i32, %out: f32):
    %1 = arith.index_cast %x : i32 to index
    %2 = tensor.extract %t[%1] : tensor<14xf32>
    linalg.yield %2 : f32
  } -> tensor<14xf32>
  return %0 : tensor<14xf32>
}

// -----

// Token ids index one dimension: it stays so, with its assert; the other position is the loop's.
// CHECK-LABEL: func.func @embedding(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: tensor<100x16xf32> {spmd.arg = 0 : i64, spmd.role = "weight"}, %[[I:[a-z0-9]+]]: tensor<2x7xi64> {spmd.arg = 1 : i64, spmd.role = "input"}
// CHECK:         ins(%[[I]] : tensor<2x7xi64>)
// CHECK:           cf.assert
// CHECK:           %[[D:.*]] = linalg.index 2 : index
// CHECK:           tensor.extract %[[T]][%{{.*}}, %[[D]]]
func.func @embedding(%t: tensor<100x16xf32>, %i: tensor<2x7xi64>) -> tensor<2x7x16xf32> {
  %c0 = arith.constant 0 : i64
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<2x7x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%i : tensor<2x7xi64>) outs(%e : tensor<2x7x16xf32>) {
  ^bb0(%x: i64, %out: f32):
    %1 = arith.index_cast %x : i64 to index
    %2 = arith.cmpi sge, %x, %c0 : i64
    cf.assert %2, "negative"
    %3 = linalg.index 2 : index
    %4 = arith.muli %3, %one : index
    %5 = tensor.extract %t[%1, %4] : tensor<100x16xf32>
    linalg.yield %5 : f32
  } -> tensor<2x7x16xf32>
  return %0 : tensor<2x7x16xf32>
}

// -----

// Not an operand: positions that run backwards, that depend on two loops, or that leave the table.
// CHECK-LABEL: func.func @stays(
// CHECK-COUNT-3: tensor.extract %
func.func @stays(%t: tensor<14xf32>) -> (tensor<14xf32>, tensor<2x7xf32>, tensor<15xf32>) {
  %c13 = arith.constant 13 : index
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : tensor<14xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<14xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = arith.subi %c13, %i : index
    %v = tensor.extract %t[%j] : tensor<14xf32>
    linalg.yield %v : f32
  } -> tensor<14xf32>
  %e2 = tensor.empty() : tensor<2x7xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e2 : tensor<2x7xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %c7 : index
    %l = arith.addi %k, %j : index
    %v = tensor.extract %t[%l] : tensor<14xf32>
    linalg.yield %v : f32
  } -> tensor<2x7xf32>
  %e3 = tensor.empty() : tensor<15xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e3 : tensor<15xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %t[%i] : tensor<14xf32>
    linalg.yield %v : f32
  } -> tensor<15xf32>
  return %0, %1, %2 : tensor<14xf32>, tensor<2x7xf32>, tensor<15xf32>
}

// -----

// Constants that count are loops; others are data (and here, an argument).
// CHECK-LABEL: func.func @counting(
// CHECK-SAME:    spmd.name = "constant_0", spmd.role = "weight", spmd.value = dense<[3, 1, 2]> : tensor<3xi32>
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3xi64>)
// CHECK:           %[[I:.*]] = linalg.index 0
// CHECK:           %[[A:.*]] = arith.muli %[[I]], %
// CHECK:           %[[J:.*]] = linalg.index 1
// CHECK:           %[[B:.*]] = arith.addi %[[A]], %[[J]]
// CHECK:           %[[C:.*]] = arith.addi %[[B]], %
// CHECK:           arith.index_cast %[[C]] : index to i64
// CHECK-NOT:     dense<
func.func @counting() -> (tensor<2x3xi64>, tensor<3xi32>) {
  %0 = arith.constant dense<[[5, 6, 7], [15, 16, 17]]> : tensor<2x3xi64>
  %1 = arith.constant dense<[3, 1, 2]> : tensor<3xi32>
  return %0, %1 : tensor<2x3xi64>, tensor<3xi32>
}

// -----

// Nor one that only some steps read, or whose position is what the loop has accumulated.
// CHECK-LABEL: func.func @some_steps(
// CHECK:         scf.if
// CHECK:           tensor.extract %
// CHECK:         "reduction"
// CHECK:           tensor.extract %
func.func @some_steps(%t: tensor<8xf32>, %x: tensor<12xf32>, %y: tensor<4xi64>, %next: tensor<4xi64>) -> (tensor<12xf32>, tensor<i64>) {
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %zero = arith.constant dense<0> : tensor<i64>
  %e = tensor.empty() : tensor<12xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<12xf32>) outs(%e : tensor<12xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %c = arith.cmpi slt, %i, %c4 : index
    %r = scf.if %c -> f32 {
      %v = tensor.extract %t[%i] : tensor<8xf32>
      scf.yield %v : f32
    } else {
      scf.yield %a : f32
    }
    linalg.yield %r : f32
  } -> tensor<12xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%y : tensor<4xi64>) outs(%zero : tensor<i64>) {
  ^bb0(%a: i64, %out: i64):
    %i = arith.index_cast %out : i64 to index
    %v = tensor.extract %next[%i] : tensor<4xi64>
    linalg.yield %v : i64
  } -> tensor<i64>
  return %0, %1 : tensor<12xf32>, tensor<i64>
}
