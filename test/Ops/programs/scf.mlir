// A tensor carried by a loop, with what the body captures.
func.func @for(%x: tensor<4x6xf32>, %w: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4x6xf32>) {
    %b = arith.addf %a, %w : tensor<4x6xf32>
    %c = math.tanh %b : tensor<4x6xf32>
    scf.yield %c : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
// -----
// A contraction in the body, and a step number in what it computes.
func.func @for_matmul(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %s = tensor.splat %zero : tensor<4xf32>
  %0:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %t = %s) -> (tensor<4x6xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4x6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
    %m = linalg.matmul ins(%a, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
    %u = linalg.reduce ins(%m : tensor<4x6xf32>) outs(%t : tensor<4xf32>) dimensions = [1]
      (%in: f32, %acc: f32) {
        %n = arith.index_cast %i : index to i64
        %r = arith.sitofp %n : i64 to f32
        %p = arith.mulf %in, %r : f32
        %q = arith.addf %p, %acc : f32
        linalg.yield %q : f32
      }
    scf.yield %m, %u : tensor<4x6xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4xf32>
}
// -----
func.func @if(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = tensor.extract %x[%c0, %c0] : tensor<4x6xf32>
  %p = arith.cmpf ogt, %v, %zero : f32
  %0 = scf.if %p -> (tensor<4x6xf32>) {
    %a = arith.addf %x, %y : tensor<4x6xf32>
    scf.yield %a : tensor<4x6xf32>
  } else {
    %b = arith.mulf %x, %y : tensor<4x6xf32>
    scf.yield %b : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
// -----
func.func @while(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0:2 = scf.while (%a = %x, %i = %c0) : (tensor<4x6xf32>, index) -> (tensor<4x6xf32>, index) {
    %go = arith.cmpi slt, %i, %c4 : index
    scf.condition(%go) %a, %i : tensor<4x6xf32>, index
  } do {
  ^bb0(%a: tensor<4x6xf32>, %i: index):
    %b = arith.addf %a, %y : tensor<4x6xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %j : tensor<4x6xf32>, index
  }
  return %0#0 : tensor<4x6xf32>
}
// -----
func.func @switch(%x: tensor<4x6xf32>, %n: tensor<1xi64>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %p = arith.index_cast %v : i64 to index
  %0 = scf.index_switch %p -> tensor<4x6xf32>
  case 0 {
    %a = arith.addf %x, %x : tensor<4x6xf32>
    scf.yield %a : tensor<4x6xf32>
  }
  default {
    %b = arith.mulf %x, %x : tensor<4x6xf32>
    scf.yield %b : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
// -----
func.func @execute_region(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = scf.execute_region -> tensor<4x6xf32> {
    %a = math.exp %x : tensor<4x6xf32>
    scf.yield %a : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
