// scf.while whose two regions carry other values, in other places, and other numbers of them.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: shard-run %s --auto-shard=tp1 --check --exact | FileCheck %s
// CHECK-COUNT-4: against the unsharded program: equal
// CHECK-NOT: result
func.func @main(%x: tensor<4x6xf32> {spmd.sharding = [["tp"], []]},
                %y: tensor<4x6xf32>, %z: tensor<6xf32>)
    -> (tensor<4x6xf32> {spmd.sharding = [[], ["tp"]]}, tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // Split by rows where it is tested and by columns after.
  %w, %k = scf.while (%a = %x, %j = %c0) : (tensor<4x6xf32>, index) -> (tensor<4x6xf32>, index) {
    %again = arith.cmpi slt, %j, %c3 : index
    scf.condition(%again) %a, %j : tensor<4x6xf32>, index
  } do {
  ^bb0(%a: tensor<4x6xf32>, %j: index):
    %n = arith.addf %a, %x : tensor<4x6xf32>
    %next = arith.addi %j, %c1 : index
    scf.yield %n, %next : tensor<4x6xf32>, index
  }
  // Each step exchanges the two, once in either region.
  %p, %q = scf.while (%a = %x, %b = %y, %j = %c0) : (tensor<4x6xf32>, tensor<4x6xf32>, index) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %again = arith.cmpi slt, %j, %c1 : index
    scf.condition(%again) %b, %a : tensor<4x6xf32>, tensor<4x6xf32>
  } do {
  ^bb0(%b: tensor<4x6xf32>, %a: tensor<4x6xf32>):
    %n = arith.subf %a, %b : tensor<4x6xf32>
    scf.yield %b, %n, %c1 : tensor<4x6xf32>, tensor<4x6xf32>, index
  }
  // The result has another shape than what is carried.
  %r, %m = scf.while (%j = %c0, %a = %z) : (index, tensor<6xf32>) -> (tensor<6xf32>, index) {
    %again = arith.cmpi slt, %j, %c3 : index
    %d = arith.addf %a, %z : tensor<6xf32>
    scf.condition(%again) %d, %j : tensor<6xf32>, index
  } do {
  ^bb0(%d: tensor<6xf32>, %j: index):
    %next = arith.addi %j, %c1 : index
    scf.yield %next, %d : index, tensor<6xf32>
  }
  return %w, %p, %q, %r : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>
}
