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
// -----
// Loops in loops, a branch on the step, and a value that both loops use from outside.
func.func @nested(%x: tensor<4x6xf32>, %w: tensor<6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (tensor<4x6xf32>) {
    %1 = scf.for %j = %i to %c3 step %c1 iter_args(%b = %a) -> (tensor<4x6xf32>) {
      %p = arith.cmpi eq, %i, %j : index
      %2 = scf.if %p -> (tensor<4x6xf32>) {
        %s = linalg.broadcast ins(%w : tensor<6xf32>) outs(%e : tensor<4x6xf32>) dimensions = [0]
        %t = arith.addf %b, %s : tensor<4x6xf32>
        scf.yield %t : tensor<4x6xf32>
      } else {
        %t = math.tanh %b : tensor<4x6xf32>
        scf.yield %t : tensor<4x6xf32>
      }
      scf.yield %2 : tensor<4x6xf32>
    }
    scf.yield %1 : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
// -----
// Carried values change places: they share a placement.
func.func @swap(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %0:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y, %s = %zero) -> (tensor<4x6xf32>, tensor<4x6xf32>, f32) {
    %v = tensor.extract %a[%i, %c1] : tensor<4x6xf32>
    %t = arith.addf %s, %v : f32
    %d = math.absf %b : tensor<4x6xf32>
    scf.yield %d, %a, %t : tensor<4x6xf32>, tensor<4x6xf32>, f32
  }
  %r = tensor.from_elements %0#2 : tensor<1xf32>
  return %0#0, %0#1, %r : tensor<4x6xf32>, tensor<4x6xf32>, tensor<1xf32>
}
// -----
// A running product of a matrix: the body transposes, so that rows come back as columns.
func.func @turned(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<6x6xf32>
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<6x6xf32>) {
    %t = linalg.transpose ins(%a : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) permutation = [1, 0]
    %b = arith.addf %t, %a : tensor<6x6xf32>
    %c = math.tanh %b : tensor<6x6xf32>
    %d = linalg.transpose ins(%c : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) permutation = [1, 0]
    scf.yield %d : tensor<6x6xf32>
  }
  return %0 : tensor<6x6xf32>
}
// -----
// No step at all, and a result that is an init.
func.func @none(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %c0 step %c1 iter_args(%a = %x) -> (tensor<4x6xf32>) {
    %b = math.exp %a : tensor<4x6xf32>
    scf.yield %b : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
// -----
// Steps counted by data; a cache written at the step.
func.func @steps(%x: tensor<8x6xf32>, %n: tensor<1xi64>, %row: tensor<1x6xf32>) -> tensor<8x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %m = arith.index_cast %v : i64 to index
  %end = arith.addi %m, %c2 : index
  %0 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %x) -> (tensor<8x6xf32>) {
    %b = tensor.insert_slice %row into %a[%i, 0] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<8x6xf32>
    scf.yield %b : tensor<8x6xf32>
  }
  return %0 : tensor<8x6xf32>
}
// -----
// The condition computes what it hands on, and the two come back in turned order.
func.func @while_two(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:3 = scf.while (%a = %x, %b = %y, %i = %c0) : (tensor<4x6xf32>, tensor<4x6xf32>, index) -> (tensor<4x6xf32>, tensor<4x6xf32>, index) {
    %go = arith.cmpi slt, %i, %c3 : index
    %s = arith.addf %a, %b : tensor<4x6xf32>
    %t = math.tanh %s : tensor<4x6xf32>
    scf.condition(%go) %t, %b, %i : tensor<4x6xf32>, tensor<4x6xf32>, index
  } do {
  ^bb0(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %i: index):
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %a, %j : tensor<4x6xf32>, tensor<4x6xf32>, index
  }
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4x6xf32>
}
// -----
// A call in a loop and outside of it.
func.func @calls(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = func.call @layer(%x, %w) : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %1 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %0) -> (tensor<4x6xf32>) {
    %b = func.call @layer(%a, %w) : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    scf.yield %b : tensor<4x6xf32>
  }
  return %1 : tensor<4x6xf32>
}
func.func private @layer(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = math.tanh %m : tensor<4x6xf32>
  return %t : tensor<4x6xf32>
}
