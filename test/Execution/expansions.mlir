// Ops that import spells out, each against the same written by hand in loops and slices: a program of one
// kind is the reference of the other, on one rank and on the same values.
// RUN: split-file %s %t
// RUN: shard-run --auto-shard=tp1 %t/gather.mlir --check=%t/gather-loops.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/scatter.mlir --check=%t/scatter-loops.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/generate.mlir --check=%t/generate-loops.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/reshape.mlir --check=%t/reshape-loops.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/clamp.mlir --check=%t/clamp-loops.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/switch.mlir --check=%t/switch-ifs.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/random.mlir --check=%t/random-loops.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/loop.mlir --check=%t/loop-unrolled.mlir --rtol=0 --quiet
// RUN: shard-run --auto-shard=tp1 %t/while.mlir --check=%t/loop-unrolled.mlir --rtol=0 --quiet
// A difference would show.
// RUN: not shard-run --auto-shard=tp1 %t/gather.mlir --check=%t/gather-wrong.mlir --rtol=0 --quiet 2>&1 | FileCheck %s
// CHECK: mismatch:

//--- gather.mlir
func.func @main(%table: tensor<4x3x5xf32>, %at: tensor<6x2xi64>) -> tensor<6x3xf32> {
  %0 = tensor.gather %table[%at] gather_dims([0, 2]) : (tensor<4x3x5xf32>, tensor<6x2xi64>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}
//--- gather-loops.mlir
func.func @main(%table: tensor<4x3x5xf32>, %at: tensor<6x2xi64>) -> tensor<6x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %e = tensor.empty() : tensor<6x3xf32>
  %0 = scf.for %i = %c0 to %c6 step %c1 iter_args(%r = %e) -> (tensor<6x3xf32>) {
    %a = tensor.extract %at[%i, %c0] : tensor<6x2xi64>
    %b = tensor.extract %at[%i, %c1] : tensor<6x2xi64>
    %p = arith.index_cast %a : i64 to index
    %q = arith.index_cast %b : i64 to index
    %s = tensor.extract_slice %table[%p, 0, %q] [1, 3, 1] [1, 1, 1] : tensor<4x3x5xf32> to tensor<1x3xf32>
    %n = tensor.insert_slice %s into %r[%i, 0] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<6x3xf32>
    scf.yield %n : tensor<6x3xf32>
  }
  return %0 : tensor<6x3xf32>
}
//--- gather-wrong.mlir
func.func @main(%table: tensor<4x3x5xf32>, %at: tensor<6x2xi64>) -> tensor<6x3xf32> {
  %s = tensor.extract_slice %table[1, 0, 1] [1, 3, 1] [1, 1, 1] : tensor<4x3x5xf32> to tensor<3xf32>
  %e = tensor.empty() : tensor<6x3xf32>
  %0 = linalg.broadcast ins(%s : tensor<3xf32>) outs(%e : tensor<6x3xf32>) dimensions = [0]
  return %0 : tensor<6x3xf32>
}
//--- scatter.mlir
func.func @main(%update: tensor<4x6xf32>, %into: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<4x1xindex>
  %at = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x1xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    %three = arith.constant 3 : index
    %eight = arith.constant 8 : index
    %p = arith.muli %i, %three : index
    %q = arith.remui %p, %eight : index
    linalg.yield %q : index
  } -> tensor<4x1xindex>
  %0 = tensor.scatter %update into %into[%at] scatter_dims([0]) unique : (tensor<4x6xf32>, tensor<8x6xf32>, tensor<4x1xindex>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
//--- scatter-loops.mlir
func.func @main(%update: tensor<4x6xf32>, %into: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %three = arith.constant 3 : index
  %eight = arith.constant 8 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%r = %into) -> (tensor<8x6xf32>) {
    %p = arith.muli %i, %three : index
    %q = arith.remui %p, %eight : index
    %s = tensor.extract_slice %update[%i, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<1x6xf32>
    %n = tensor.insert_slice %s into %r[%q, 0] [1, 6] [1, 1] : tensor<1x6xf32> into tensor<8x6xf32>
    scf.yield %n : tensor<8x6xf32>
  }
  return %0 : tensor<8x6xf32>
}
//--- generate.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %x[%j, %i] : tensor<4x6xf32>
    tensor.yield %v : f32
  } : tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
//--- generate-loops.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %e = tensor.empty() : tensor<6x4xf32>
  %0 = linalg.transpose ins(%x : tensor<4x6xf32>) outs(%e : tensor<6x4xf32>) permutation = [1, 0]
  return %0 : tensor<6x4xf32>
}
//--- reshape.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %shape = arith.constant dense<[3, 8]> : tensor<2xindex>
  %0 = tensor.reshape %x(%shape) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
//--- reshape-loops.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %eight = arith.constant 8 : index
    %six = arith.constant 6 : index
    %r = arith.muli %i, %eight : index
    %k = arith.addi %r, %j : index
    %p = arith.divui %k, %six : index
    %q = arith.remui %k, %six : index
    %v = tensor.extract %x[%p, %q] : tensor<4x6xf32>
    linalg.yield %v : f32
  } -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
//--- clamp.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xi32> {
  %low = arith.constant dense<-0.5> : tensor<4x6xf32>
  %high = arith.constant dense<0.75> : tensor<4x6xf32>
  %a = math.clampf %x to [%low, %high] : tensor<4x6xf32>
  %0 = tensor.bitcast %a : tensor<4x6xf32> to tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
//--- clamp-loops.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xi32> {
  %e = tensor.empty() : tensor<4x6xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xi32>) {
  ^bb0(%in: f32, %o: i32):
    %low = arith.constant -0.5 : f32
    %high = arith.constant 0.75 : f32
    %p = arith.cmpf olt, %in, %low : f32
    %q = arith.cmpf ogt, %in, %high : f32
    %a = arith.select %p, %low, %in : f32
    %b = arith.select %q, %high, %a : f32
    %v = arith.bitcast %b : f32 to i32
    linalg.yield %v : i32
  } -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
//--- switch.mlir
func.func @main(%x: tensor<4x6xf32>, %n: tensor<1xi64>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %b = arith.index_cast %v : i64 to index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4x6xf32>) {
    %k = arith.addi %i, %b : index
    %1 = scf.index_switch %k -> tensor<4x6xf32>
    case 1 {
      %c = math.exp %a : tensor<4x6xf32>
      scf.yield %c : tensor<4x6xf32>
    }
    case 3 {
      %c = math.tanh %a : tensor<4x6xf32>
      scf.yield %c : tensor<4x6xf32>
    }
    default {
      %c = arith.negf %a : tensor<4x6xf32>
      scf.yield %c : tensor<4x6xf32>
    }
    scf.yield %1 : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
//--- switch-ifs.mlir
func.func @main(%x: tensor<4x6xf32>, %n: tensor<1xi64>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %b = arith.index_cast %v : i64 to index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4x6xf32>) {
    %k = arith.addi %i, %b : index
    %p = arith.cmpi eq, %k, %c1 : index
    %q = arith.cmpi eq, %k, %c3 : index
    %c = math.exp %a : tensor<4x6xf32>
    %d = math.tanh %a : tensor<4x6xf32>
    %f = arith.negf %a : tensor<4x6xf32>
    %g = arith.select %q, %d, %f : tensor<4x6xf32>
    %h = arith.select %p, %c, %g : tensor<4x6xf32>
    scf.yield %h : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
//--- random.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %low = arith.constant -1.0 : f64
  %high = arith.constant 1.0 : f64
  %seed = arith.constant 7 : i32
  %e = tensor.empty() : tensor<4x6xf32>
  %r = linalg.fill_rng_2d ins(%low, %high, %seed : f64, f64, i32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = arith.addf %x, %r : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
//--- random-loops.mlir
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %a = arith.constant 1103515245 : i32
    %c = arith.constant 12345 : i32
    %seed = arith.constant 7 : i32
    %0 = arith.addi %i32, %seed : i32
    %1 = arith.muli %0, %a : i32
    %2 = arith.addi %1, %c : i32
    %3 = arith.addi %j32, %2 : i32
    %4 = arith.muli %3, %a : i32
    %5 = arith.addi %4, %c : i32
    %6 = arith.sitofp %5 : i32 to f64
    %half = arith.constant 2147483647.0 : f64
    %scale = arith.constant 2.3283063999999999E-10 : f64
    %low = arith.constant -1.0 : f64
    %two = arith.constant 2.0 : f64
    %7 = arith.mulf %two, %scale : f64
    %8 = arith.addf %6, %half : f64
    %9 = arith.mulf %8, %7 : f64
    %10 = arith.addf %9, %low : f64
    %11 = arith.truncf %10 : f64 to f32
    %12 = arith.addf %in, %11 : f32
    linalg.yield %12 : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
//--- loop.mlir
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %c = arith.addf %a, %b : tensor<4x6xf32>
    %d = math.tanh %c : tensor<4x6xf32>
    scf.yield %b, %d : tensor<4x6xf32>, tensor<4x6xf32>
  }
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4x6xf32>
}
//--- while.mlir
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:3 = scf.while (%a = %x, %b = %y, %i = %c0) : (tensor<4x6xf32>, tensor<4x6xf32>, index) -> (tensor<4x6xf32>, tensor<4x6xf32>, index) {
    %go = arith.cmpi slt, %i, %c3 : index
    scf.condition(%go) %a, %b, %i : tensor<4x6xf32>, tensor<4x6xf32>, index
  } do {
  ^bb0(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %i: index):
    %c = arith.addf %a, %b : tensor<4x6xf32>
    %d = math.tanh %c : tensor<4x6xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %d, %j : tensor<4x6xf32>, tensor<4x6xf32>, index
  }
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4x6xf32>
}
//--- loop-unrolled.mlir
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %a1 = arith.addf %x, %y : tensor<4x6xf32>
  %b1 = math.tanh %a1 : tensor<4x6xf32>
  %a2 = arith.addf %y, %b1 : tensor<4x6xf32>
  %b2 = math.tanh %a2 : tensor<4x6xf32>
  %a3 = arith.addf %b1, %b2 : tensor<4x6xf32>
  %b3 = math.tanh %a3 : tensor<4x6xf32>
  return %b2, %b3 : tensor<4x6xf32>, tensor<4x6xf32>
}
