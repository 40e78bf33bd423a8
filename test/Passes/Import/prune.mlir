// RUN: shard-opt %s --split-input-file --pass-pipeline='builtin.module(shard-import)' | FileCheck %s

// The index of a row maximum that nobody uses goes, with what it was computed from.
// CHECK-LABEL: func.func @max(
// CHECK-NOT:     xi64
// CHECK:         %[[M:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8xf32>) attrs = {note}
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-NEXT:      %[[V:.*]] = arith.maximumf %[[IN]], %[[OUT]]
// CHECK-NEXT:      linalg.yield %[[V]] : f32
// CHECK-NEXT:    } -> tensor<8xf32>
// CHECK-NEXT:    return %[[M]]
func.func @max(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<8xf32>
  %i = tensor.empty() : tensor<8xi64>
  %f = linalg.fill ins(%ninf : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<8xi64>) -> tensor<8xi64>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x16xf32>) outs(%f, %g : tensor<8xf32>, tensor<8xi64>) attrs = {note} {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %1 = linalg.index 1 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.maximumf %in, %out : f32
    %4 = arith.cmpf ogt, %in, %out : f32
    %5 = arith.select %4, %2, %at : i64
    linalg.yield %3, %5 : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %0#0 : tensor<8xf32>
}

// -----

// The other way round the maximum stays: the index is chosen by it.
// CHECK-LABEL: func.func @argmax(
// CHECK:         linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xi64>)
func.func @argmax(%x: tensor<8x16xf32>) -> tensor<8xi64> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<8xf32>
  %i = tensor.empty() : tensor<8xi64>
  %f = linalg.fill ins(%ninf : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<8xi64>) -> tensor<8xi64>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x16xf32>) outs(%f, %g : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %1 = linalg.index 1 : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.maximumf %in, %out : f32
    %4 = arith.cmpf ogt, %in, %out : f32
    %5 = arith.select %4, %2, %at : i64
    linalg.yield %3, %5 : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %0#1 : tensor<8xi64>
}

// -----

// Dead ops and unread operands go, also in a loop's body and in a called function; a dead op with an
// assert stays, for it can fail.
// CHECK-LABEL: func.func @dead(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8xf32>{{.*}}, %[[I:[a-z0-9]+]]: tensor<8xi64>
// CHECK-NOT:     linalg.exp
// CHECK:         linalg.generic {{.*}} ins(%[[I]] :
// CHECK:           cf.assert
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<8xf32>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      arith.negf %[[IN]]
// CHECK-NEXT:      linalg.yield
// CHECK-NOT:     call @pure
func.func @dead(%x: tensor<8xf32>, %i: tensor<8xi64>, %unread: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.log ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %c = func.call @pure(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %zero = arith.constant 0 : i64
  %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<8xi64>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %4 = arith.cmpi sge, %in, %zero : i64
    cf.assert %4, "negative"
    linalg.yield %out : f32
  } -> tensor<8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %unread : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %4 = arith.addf %in2, %in2 : f32
    %5 = arith.negf %in : f32
    linalg.yield %5 : f32
  } -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @pure(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }

// -----

// An operand that gives a loop its extent stays, read or not.
// CHECK-LABEL: func.func @extent(
// CHECK:         ins(%{{.*}} : tensor<16xf32>)
func.func @extent(%x: tensor<16xf32>, %s: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<16xf32>) outs(%s : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %one : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
