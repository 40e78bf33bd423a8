// What a call makes is read again by another call, behind an op that starts from it: that op has a copy. The
// original says the same without calls, so the two lay out their buffers differently.
// RUN: shard-run %s --auto-shard=tp1 --check=%S/Inputs/read-again.mlir | FileCheck %s
// CHECK-COUNT-6: against the unsharded program: equal
func.func private @twice(%x: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %0 = arith.addf %x, %x : tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}
func.func private @raise(%x: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %one = arith.constant dense<1.0> : tensor<2x2xf64>
  %0 = arith.addf %x, %one : tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}
func.func @main(%x: tensor<2x2xf64>, %m: tensor<2x2x2xf64>, %v: tensor<2x2xf64>, %row: tensor<1x2xf64>)
    -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // A product is added to it.
  %0 = func.call @twice(%x) : (tensor<2x2xf64>) -> tensor<2x2xf64>
  %1 = linalg.batch_vecmat ins(%v, %m : tensor<2x2xf64>, tensor<2x2x2xf64>) outs(%0 : tensor<2x2xf64>) -> tensor<2x2xf64>
  %2 = func.call @raise(%0) : (tensor<2x2xf64>) -> tensor<2x2xf64>
  // A row is inserted into it, through two reshapes that cancel.
  %3 = func.call @twice(%x) : (tensor<2x2xf64>) -> tensor<2x2xf64>
  %4 = tensor.insert_slice %row into %3[1, 0] [1, 2] [1, 1] : tensor<1x2xf64> into tensor<2x2xf64>
  %flat = tensor.collapse_shape %3 [[0, 1]] : tensor<2x2xf64> into tensor<4xf64>
  %square = tensor.expand_shape %flat [[0, 1]] output_shape [2, 2] : tensor<4xf64> into tensor<2x2xf64>
  %5 = func.call @raise(%square) : (tensor<2x2xf64>) -> tensor<2x2xf64>
  // A loop reads it.
  %6 = func.call @twice(%x) : (tensor<2x2xf64>) -> tensor<2x2xf64>
  %7 = linalg.batch_vecmat ins(%v, %m : tensor<2x2xf64>, tensor<2x2x2xf64>) outs(%6 : tensor<2x2xf64>) -> tensor<2x2xf64>
  %8 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (tensor<2x2xf64>) {
    %9 = func.call @raise(%6) : (tensor<2x2xf64>) -> tensor<2x2xf64>
    %10 = arith.addf %a, %9 : tensor<2x2xf64>
    scf.yield %10 : tensor<2x2xf64>
  }
  return %1, %2, %4, %5, %7, %8 : tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>
}
