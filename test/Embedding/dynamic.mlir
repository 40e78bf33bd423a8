// An object of a program with open dimensions says what they are, takes their extents with each run, and refuses
// those that it was not compiled for or that do not fit together.
// RUN: rm -rf %t && mkdir -p %t
// RUN: for degrees in dp2 dp4; do \
// RUN:   shard-opt %s --auto-shard=$degrees --dim=*:0=..6 --emit=object --quiet -o %t/p.o && \
// RUN:   %cc -std=c11 %sanitize-flags -I%shard-source/include %S/Inputs/run-dynamic.c %t/p.o -L%shard-lib -lShardRuntime -lm -lpthread -Wl,-rpath,%shard-lib -o %t/run && \
// RUN:   %t/run > %t/$degrees.txt || exit 1; FileCheck %s < %t/$degrees.txt || exit 1; done
// CHECK:      dims[0]: dimension 0 of argument 0, 1 to 6
// CHECK-NEXT: dims[1]: dimension 0 of argument 1, 1 to 6
// CHECK-NEXT: equal: 0 1 -1
// CHECK-NEXT: digit of dimension 0: 6 stored, 0 + 1 dims[0] + 0 dims[1] valid
// CHECK-NEXT: digit of dimension 1: 4 stored, 4 + 0 dims[0] + 0 dims[1] valid
// CHECK-NEXT: 1 rows: stored for up to 2, workspace [[#SMALL:]] bytes
// CHECK-NEXT: 2 rows: stored for up to 2, workspace [[#SMALL]] bytes
// CHECK-NEXT: 3 rows: stored for up to 3, workspace [[#MIDDLE:]] bytes
// CHECK-NEXT: 4 rows: stored for up to 6, workspace [[#LARGE:]] bytes
// CHECK-NEXT: 5 rows: stored for up to 6, workspace [[#LARGE]] bytes
// CHECK-NEXT: 6 rows: stored for up to 6, workspace [[#LARGE]] bytes
// CHECK-NEXT: the bounds: workspace [[#LARGE]] bytes
// CHECK-NEXT: status 0
// CHECK-NEXT: status 0
// CHECK-NEXT: status 0
// CHECK-NEXT: status {{[0-9]+}}: dimension 0 of argument 0 is 7; expected 1 to 6
// CHECK-NEXT: status {{[0-9]+}}: dimension 0 of argument 0 is 0; expected 1 to 6
// CHECK-NEXT: status {{[0-9]+}}: dimension 0 of argument 0 is 3, dimension 0 of argument 1 is 4; expected extents that fit together
// CHECK-NEXT: status {{[0-9]+}}: no extents are given
func.func @main(%x: tensor<?x4xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}, %y: tensor<?x4xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = arith.addf %x, %y : tensor<?x4xf32>
  %s = linalg.reduce { arith.addf } ins(%z : tensor<?x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0]
  return %s : tensor<4xf32>
}
