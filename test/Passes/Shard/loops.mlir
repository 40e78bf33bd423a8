// RUN: split-file %s %t
// RUN: echo '{"version": 1, "args": {"0": {"sharding": [["tp"], []]}, "1": {"sharding": [[], []]}}}' > %t/rows.json
// RUN: shard-opt --auto-shard=tp2 --annotations=%t/rows.json %t/for.mlir --quiet | FileCheck %s --check-prefix=FOR
// RUN: shard-run --auto-shard=tp2 --annotations=%t/rows.json %t/for.mlir --check --quiet
// RUN: shard-opt --auto-shard=tp2 --annotations=%t/rows.json %t/while.mlir --quiet | FileCheck %s --check-prefix=WHILE
// RUN: shard-run --auto-shard=tp2 --annotations=%t/rows.json %t/while.mlir --check --quiet
// RUN: shard-opt --auto-shard=tp2 --annotations=%t/rows.json %t/if.mlir --quiet | FileCheck %s --check-prefix=IF
// RUN: shard-run --auto-shard=tp2 --annotations=%t/rows.json %t/if.mlir --check --quiet
// RUN: echo '{"version": 1, "args": {"0": {"sharding": [[], ["tp"]]}, "1": {"sharding": [["tp"], []]}}}' > %t/sum.json
// RUN: shard-opt --auto-shard=tp2 --annotations=%t/sum.json %t/sum.mlir --report=%t/report.json --quiet -o %t/sum.out
// RUN: FileCheck %s --check-prefix=SUM < %t/sum.out
// RUN: FileCheck %s --check-prefix=REPORT < %t/report.json
// RUN: shard-run --auto-shard=tp2 --annotations=%t/sum.json %t/sum.mlir --check | FileCheck %s --check-prefix=RAN

//--- for.mlir
// What a loop carries is split as it came in, and nothing moves in it; what the body uses from outside
// is cut once, before.
// FOR-LABEL: func.func private @main_for0(
// FOR-SAME:    index, %{{.*}}: tensor<4x16xf32>, %{{.*}}: tensor<4x16xf32>) -> tensor<4x16xf32>
// FOR-NOT:     shard.all
// FOR:         return
// FOR-LABEL: func.func @main(
// FOR:         %[[W:.*]] = tensor.extract_slice
// FOR:         scf.for {{.*}} -> (tensor<4x16xf32>)
// FOR-NEXT:      func.call @main_for0({{.*}}, %[[W]])
func.func @main(%x: tensor<8x16xf32>, %w: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> (tensor<8x16xf32>) {
    %b = arith.addf %a, %w : tensor<8x16xf32>
    %c = math.tanh %b : tensor<8x16xf32>
    scf.yield %c : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}

//--- while.mlir
// The condition reads the sum of all, the same on every rank.
// WHILE-LABEL: func.func private @main_before0(
// WHILE:         shard.all_reduce
// WHILE:         return %{{.*}}, %{{.*}} : i1, tensor<4x16xf32>
// WHILE-LABEL: func.func private @main_after0(
// WHILE-NOT:     shard.all
// WHILE-LABEL: func.func @main(
// WHILE:         scf.while ({{.*}}) : (tensor<4x16xf32>) -> tensor<4x16xf32>
func.func @main(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %large = arith.constant 20.0 : f32
  %half = arith.constant 0.5 : f32
  %0 = scf.while (%a = %x) : (tensor<8x16xf32>) -> tensor<8x16xf32> {
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%a : tensor<8x16xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %s: f32):
      %m = arith.mulf %in, %in : f32
      %n = arith.addf %s, %m : f32
      linalg.yield %n : f32
    } -> tensor<f32>
    %v = tensor.extract %r[] : tensor<f32>
    %go = arith.cmpf ogt, %v, %large : f32
    scf.condition(%go) %a : tensor<8x16xf32>
  } do {
  ^bb0(%a: tensor<8x16xf32>):
    %h = tensor.splat %half : tensor<8x16xf32>
    %b = arith.mulf %a, %h : tensor<8x16xf32>
    scf.yield %b : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}

//--- if.mlir
// IF-LABEL: func.func @main(
// IF:         scf.if %{{.*}} -> (tensor<4x16xf32>)
func.func @main(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %n: tensor<1xi64>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %zero = arith.constant 0 : i64
  %p = arith.cmpi eq, %v, %zero : i64
  %0 = scf.if %p -> (tensor<8x16xf32>) {
    %a = arith.addf %x, %y : tensor<8x16xf32>
    scf.yield %a : tensor<8x16xf32>
  } else {
    scf.yield %x : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}

//--- sum.mlir
// A product in the body: its sum is scattered to where the next step wants it, at every step, and the
// report counts each.
// SUM-LABEL: func.func private @main_for0(
// SUM:         linalg.matmul {{.*}} tensor<4x8xf32>, tensor<8x16xf32>
// SUM:         shard.reduce_scatter
// REPORT: "count": 3
// REPORT: "times": 3
// RAN: sent by a rank, mean, an iteration: all-gather 128 B, reduce-scatter 384 B
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> tensor<4x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<4x16xf32>) {
    %e = tensor.empty() : tensor<4x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
    %m = linalg.matmul ins(%a, %w : tensor<4x16xf32>, tensor<16x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
    scf.yield %m : tensor<4x16xf32>
  }
  return %0 : tensor<4x16xf32>
}
