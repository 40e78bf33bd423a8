// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-lower-cpu{to=buffers mcpu=generic})' | FileCheck %s
// Where buffers lie: lifetimes op by op, in loops and branches too; sizes as they are.

// One of two branches runs: what each makes for itself has one place, and so has the result.
// CHECK-LABEL: func.func private @branches(
// CHECK-SAME:    spmd.workspace = 1280 : i64
// CHECK: scf.if
// CHECK: memref.alloc() {alignment = 64 : i64, spmd.bytes = 640 : i64, spmd.class = "temporaries", spmd.offset = [[A:[0-9]+]] : i64}
// CHECK: memref.alloc() {alignment = 64 : i64, spmd.bytes = 640 : i64, spmd.class = "temporaries", spmd.offset = [[R:[0-9]+]] : i64}
// CHECK: } else {
// CHECK: memref.alloc() {alignment = 64 : i64, spmd.bytes = 640 : i64, spmd.class = "temporaries", spmd.offset = [[A]] : i64}
// CHECK: memref.alloc() {alignment = 64 : i64, spmd.bytes = 640 : i64, spmd.class = "temporaries", spmd.offset = [[R]] : i64}
func.func private @branches(%x: tensor<8x20xf32>, %c: i1) -> tensor<8x20xf32> {
  %e = tensor.empty() : tensor<8x20xf32>
  %0 = scf.if %c -> tensor<8x20xf32> {
    %m = linalg.exp ins(%x : tensor<8x20xf32>) outs(%e : tensor<8x20xf32>) -> tensor<8x20xf32>
    scf.yield %m : tensor<8x20xf32>
  } else {
    %m = linalg.tanh ins(%x : tensor<8x20xf32>) outs(%e : tensor<8x20xf32>) -> tensor<8x20xf32>
    scf.yield %m : tensor<8x20xf32>
  }
  %s = linalg.add ins(%0, %x : tensor<8x20xf32>, tensor<8x20xf32>) outs(%e : tensor<8x20xf32>) -> tensor<8x20xf32>
  return %s : tensor<8x20xf32>
}

// A step's own buffers live in the step: both sums of rows have one place. Sizes are not rounded
// up: 1368 bytes from before the loop and 444 that it carries, in all of it, and twice 444.
// CHECK-LABEL: func.func private @loop(
// CHECK-SAME:    spmd.workspace = 2700 : i64
// CHECK: memref.alloc() {{.*}}spmd.bytes = 1368 : i64
// CHECK: memref.alloc() {{.*}}spmd.bytes = 444 : i64
// CHECK: scf.for
// CHECK: memref.alloc() {{.*}}spmd.bytes = 444 : i64, spmd.class = "temporaries", spmd.offset = [[S:[0-9]+]] : i64}
// CHECK: memref.alloc() {{.*}}spmd.bytes = 444 : i64
// CHECK: memref.alloc() {{.*}}spmd.bytes = 444 : i64, spmd.class = "temporaries", spmd.offset = [[S]] : i64}
func.func private @loop(%x: tensor<18x19xf32>, %y: tensor<111x18xf32>, %a: tensor<111xf32>, %n: index) -> tensor<111xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<18x19xf32>
  %r = tensor.empty() : tensor<111xf32>
  %k = linalg.exp ins(%x : tensor<18x19xf32>) outs(%e : tensor<18x19xf32>) -> tensor<18x19xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> tensor<111xf32> {
    %f = linalg.fill ins(%zero : f32) outs(%r : tensor<111xf32>) -> tensor<111xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%k, %y : tensor<18x19xf32>, tensor<111x18xf32>) outs(%f : tensor<111xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.maximumf %p, %q : f32
      %t = arith.addf %m, %o : f32
      linalg.yield %t : f32
    } -> tensor<111xf32>
    %h = linalg.add ins(%g, %s : tensor<111xf32>, tensor<111xf32>) outs(%r : tensor<111xf32>) -> tensor<111xf32>
    %j = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%k, %y : tensor<18x19xf32>, tensor<111x18xf32>) outs(%f : tensor<111xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.minimumf %p, %q : f32
      %t = arith.addf %m, %o : f32
      linalg.yield %t : f32
    } -> tensor<111xf32>
    %l = linalg.sub ins(%h, %j : tensor<111xf32>, tensor<111xf32>) outs(%r : tensor<111xf32>) -> tensor<111xf32>
    scf.yield %l : tensor<111xf32>
  }
  return %0 : tensor<111xf32>
}

func.func @main(%x: tensor<8x20xf32>, %u: tensor<18x19xf32>, %v: tensor<111x18xf32>, %a: tensor<111xf32>) -> (tensor<8x20xf32>, tensor<111xf32>) {
  %c = arith.constant true
  %n = arith.constant 3 : index
  %0 = func.call @branches(%x, %c) : (tensor<8x20xf32>, i1) -> tensor<8x20xf32>
  %1 = func.call @loop(%u, %v, %a, %n) : (tensor<18x19xf32>, tensor<111x18xf32>, tensor<111xf32>, index) -> tensor<111xf32>
  return %0, %1 : tensor<8x20xf32>, tensor<111xf32>
}
// Calls one after the other share: the larger, and both results.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    spmd.workspace = 3784 : i64
