// Numbers read out of tensors are made again in each stage that uses them, and what uses them is in no
// earlier stage than what they come from: in an op, in a region, through arithmetic.
// RUN: shard-run %s --auto-shard=pp2 --check --exact | FileCheck %s
// RUN: shard-run %s --auto-shard=pp3,dp2 --check --exact | FileCheck %s
// CHECK-COUNT-6: against the unsharded program: equal
func.func @main(%x: tensor<4x6xf32>, %u: tensor<6xf32>, %v: tensor<6xf32>, %w: tensor<6xf32>)
    -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %i = arith.constant 1 : index
  %a = func.call @layer(%x, %u) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %early = tensor.extract %a[%i, %i] : tensor<4x6xf32>
  %b = func.call @layer(%a, %v) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %c = func.call @layer(%b, %w) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %late = tensor.extract %c[%i, %i] : tensor<4x6xf32>
  %sum = arith.addf %early, %late : f32
  %0 = tensor.insert %late into %a[%i, %i] : tensor<4x6xf32>
  %1 = tensor.splat %early : tensor<4x6xf32>
  %2 = arith.addf %1, %c : tensor<4x6xf32>
  %less = arith.cmpf olt, %early, %late : f32
  %3 = scf.if %less -> tensor<4x6xf32> {
    scf.yield %a : tensor<4x6xf32>
  } else {
    %n = arith.negf %b : tensor<4x6xf32>
    scf.yield %n : tensor<4x6xf32>
  }
  %e = tensor.empty() : tensor<4x6xf32>
  %4 = linalg.map { arith.negf } ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>)
  %5 = tensor.insert %sum into %4[%i, %i] : tensor<4x6xf32>
  // A splat of one is made in both stages.
  %6 = arith.subf %1, %a : tensor<4x6xf32>
  %7 = arith.mulf %1, %c : tensor<4x6xf32>
  return %0, %2, %3, %5, %6, %7 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
func.func private @layer(%x: tensor<4x6xf32>, %w: tensor<6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %b = linalg.broadcast ins(%w : tensor<6xf32>) outs(%e : tensor<4x6xf32>) dimensions = [0]
  %0 = arith.addf %x, %b : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
