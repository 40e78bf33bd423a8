// Results that come from one value have buffers of their own: what is inserted for one must not show in
// the other. Split results are cut out of others first, so that the two programs that are compared place
// them differently.
// RUN: shard-run %s --auto-shard=dp2 --check --exact | FileCheck %s
// CHECK-COUNT-7: against the unsharded program: equal
func.func @main(%x: tensor<8xi32>, %a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<1xf32>)
    -> (tensor<8xf32> {spmd.sharding = [["dp"]]}, tensor<8xf32>,
        tensor<2x4xf32> {spmd.sharding = [["dp"], []]}, tensor<8xf32>,
        tensor<32xf32> {spmd.sharding = [["dp"]]}, tensor<32xf32>, tensor<8xf32>) {
  // One is inserted into the other.
  %0 = arith.sitofp %x : tensor<8xi32> to tensor<8xf32>
  %1 = tensor.insert_slice %a into %0[1] [2] [2] : tensor<2xf32> into tensor<8xf32>
  // Both are inserted into a third one, which is no result; one is reshaped.
  %2 = arith.negf %0 : tensor<8xf32>
  %3 = tensor.insert_slice %b into %2[3] [2] [1] : tensor<2xf32> into tensor<8xf32>
  %4 = tensor.expand_shape %3 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %5 = tensor.insert_slice %a into %2[4] [2] [1] : tensor<2xf32> into tensor<8xf32>
  // A constant is filled first.
  %6 = arith.constant dense<2.0> : tensor<32xf32>
  %7 = tensor.insert_slice %a into %6[17] [2] [2] : tensor<2xf32> into tensor<32xf32>
  %8 = tensor.insert_slice %b into %6[18] [2] [1] : tensor<2xf32> into tensor<32xf32>
  // Through a branch.
  %i0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %first = tensor.extract %c[%i0] : tensor<1xf32>
  %less = arith.cmpf olt, %first, %zero : f32
  %9 = scf.if %less -> tensor<8xf32> {
    scf.yield %0 : tensor<8xf32>
  } else {
    %n = arith.addf %0, %2 : tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  return %1, %0, %4, %5, %7, %8, %9 : tensor<8xf32>, tensor<8xf32>, tensor<2x4xf32>, tensor<8xf32>, tensor<32xf32>, tensor<32xf32>, tensor<8xf32>
}
