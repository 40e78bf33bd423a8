// Twelve steps are 4x3 on one side of a call or loop and 3x4 on the other: neither's pieces say the
// other's, so what passes is whole there, and split where the sides are apart.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: shard-run %s --auto-shard=tp3 --check --exact | FileCheck %s
// RUN: shard-run %s --auto-shard=tp1 --check --exact | FileCheck %s
// CHECK-COUNT-4: against the unsharded program: equal
// CHECK-NOT: result
func.func @main(%x: tensor<4x3xf32> {spmd.sharding = [["tp"], []]},
                %y: tensor<3x4xf32> {spmd.sharding = [["tp"], []]}, %c: tensor<1xf32>)
    -> (tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %p = tensor.collapse_shape %x [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  %q = tensor.collapse_shape %y [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  %first = tensor.extract %c[%c0] : tensor<1xf32>
  %less = arith.cmpf olt, %first, %zero : f32
  %if = scf.if %less -> tensor<12xf32> {
    %n = arith.negf %p : tensor<12xf32>
    scf.yield %n : tensor<12xf32>
  } else {
    %n = arith.negf %q : tensor<12xf32>
    scf.yield %n : tensor<12xf32>
  }
  %for = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %p) -> (tensor<12xf32>) {
    %e = tensor.expand_shape %a [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
    %n = arith.addf %e, %y : tensor<3x4xf32>
    %s = tensor.collapse_shape %n [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
    scf.yield %s : tensor<12xf32>
  }
  %w, %k = scf.while (%a = %q, %j = %c0) : (tensor<12xf32>, index) -> (tensor<12xf32>, index) {
    %again = arith.cmpi slt, %j, %c3 : index
    scf.condition(%again) %a, %j : tensor<12xf32>, index
  } do {
  ^bb0(%a: tensor<12xf32>, %j: index):
    %e = tensor.expand_shape %a [[0, 1]] output_shape [4, 3] : tensor<12xf32> into tensor<4x3xf32>
    %n = arith.addf %e, %x : tensor<4x3xf32>
    %s = tensor.collapse_shape %n [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
    %next = arith.addi %j, %c1 : index
    scf.yield %s, %next : tensor<12xf32>, index
  }
  %f = func.call @turn(%p, %y) : (tensor<12xf32>, tensor<3x4xf32>) -> tensor<12xf32>
  %g = tensor.expand_shape %f [[0, 1]] output_shape [4, 3] : tensor<12xf32> into tensor<4x3xf32>
  %h = arith.subf %x, %g : tensor<4x3xf32>
  %call = tensor.collapse_shape %h [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  return %if, %for, %w, %call : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>
}
func.func private @turn(%a: tensor<12xf32>, %y: tensor<3x4xf32>) -> tensor<12xf32> {
  %e = tensor.expand_shape %a [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  %n = arith.addf %e, %y : tensor<3x4xf32>
  %s = tensor.collapse_shape %n [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  return %s : tensor<12xf32>
}
