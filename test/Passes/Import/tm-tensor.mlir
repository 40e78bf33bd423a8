// RUN: shard-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(shard-import)' | FileCheck %s
// RUN: shard-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(shard-import)' | mlir-opt -o /dev/null
// A sort of which two elements are read, its indices an iota: a selection of two, without the iota.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<64x4xf32>
// CHECK-NOT:     tm_tensor
// CHECK:         %[[S:.*]]:4 = linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "reduction", "reduction"]
// CHECK-SAME:      ins(%[[X]] : tensor<64x4xf32>)
// CHECK-SAME:      tensor<64x2xf32>, tensor<64x2xi64>, tensor<64xf32>, tensor<64xi64>
// CHECK-NOT:     tensor.extract_slice
// CHECK:         return %[[S]]#0, %[[S]]#1
func.func @main(%x: tensor<64x4xf32>) -> (tensor<64x2xf32>, tensor<64x2xi64>) {
  %e = tensor.empty() : tensor<64x4xi64>
  %iota = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<64x4xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 1 : index
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<64x4xi64>
  %0:2 = "tm_tensor.sort"(%x, %iota) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %p = arith.cmpf oge, %a, %b : f32
    "tm_tensor.yield"(%p) : (i1) -> ()
  }) : (tensor<64x4xf32>, tensor<64x4xi64>) -> (tensor<64x4xf32>, tensor<64x4xi64>)
  %1 = tensor.extract_slice %0#0[0, 0] [64, 2] [1, 1] : tensor<64x4xf32> to tensor<64x2xf32>
  %2 = tensor.extract_slice %0#1[0, 0] [64, 2] [1, 1] : tensor<64x4xi64> to tensor<64x2xi64>
  return %1, %2 : tensor<64x2xf32>, tensor<64x2xi64>
}
