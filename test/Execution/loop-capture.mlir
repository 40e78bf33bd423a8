// What a loop starts from is read in its body and after it as well: steps must not write over it.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: shard-run %s --auto-shard=tp1 --check --exact | FileCheck %s
// CHECK-COUNT-3: against the unsharded program: equal
// CHECK-NOT: result
func.func @main(%x: tensor<8x4xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %low = arith.constant -64.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %s = linalg.fill ins(%low : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.reduce { arith.maximumf } ins(%x : tensor<8x4xf32>) outs(%s : tensor<8xf32>) dimensions = [1]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %l = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %r) -> (tensor<8xf32>) {
    %n = arith.addf %a, %r : tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %w, %k = scf.while (%a = %r, %j = %c0) : (tensor<8xf32>, index) -> (tensor<8xf32>, index) {
    %again = arith.cmpi slt, %j, %c2 : index
    scf.condition(%again) %a, %j : tensor<8xf32>, index
  } do {
  ^bb0(%a: tensor<8xf32>, %j: index):
    %n = arith.addf %a, %r : tensor<8xf32>
    %next = arith.addi %j, %c1 : index
    scf.yield %n, %next : tensor<8xf32>, index
  }
  %f = func.call @twice(%r) : (tensor<8xf32>) -> tensor<8xf32>
  return %l, %w, %f : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
