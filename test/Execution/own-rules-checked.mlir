// RUN: split-file %s %t
// shard-run --rules --check runs each op that has a body in two parts along each dimension that its
// rule lets be split, whatever the layout is: here it splits none of them.
// RUN: shard-run --auto-shard=tp2 --rules=%t/right.txt %t/model.mlir --check | FileCheck %s
// CHECK: rule of my.worth: 'row' holds
// CHECK-NEXT: rule of my.worth: 'sum column' holds
// CHECK-NEXT: rule of my.worth: 'pad 0' holds
// CHECK-NEXT: rule of my.spread: 'batch' holds
// CHECK-NEXT: rule of my.spread: 'heads' holds
// CHECK-NEXT: rule of my.spread: 'size' holds
// CHECK-NOT: rule
// What a program says that was sharded before is checked too, against the original.
// RUN: shard-opt --auto-shard=tp2 --rules=%t/right.txt %t/model.mlir --quiet -o %t/sharded.mlir
// RUN: shard-run %t/sharded.mlir --rules=%t/right.txt --check=%t/model.mlir | FileCheck %s --check-prefix=SHARDED
// SHARDED: rule of my.worth: 'sum column' holds
// Each clause that is wrong is named.
// RUN: not shard-run --auto-shard=tp2 --rules=%t/max.txt %t/model.mlir --check 2>&1 | FileCheck %s --check-prefix=MAX
// MAX: {{^}}{{.*}}max.txt:2:1: error: rule: 'max column' does not hold: in two parts 'my.worth' gives {{.*}} of result 0, as a whole
// RUN: not shard-run --auto-shard=tp2 --rules=%t/pad.txt %t/model.mlir --check 2>&1 | FileCheck %s --check-prefix=PAD
// PAD: pad.txt:1:1: error: rule: 'pad 3' does not hold
// Names that the rule ties and the body does not.
// RUN: not shard-run --auto-shard=dp2 --rules=%t/tied.txt %t/tied.mlir --check 2>&1 | FileCheck %s --check-prefix=TIED
// TIED: tied.txt:1:1: error: rule: 'a' does not hold: in two parts 'my.shift'
// RUN: shard-run --auto-shard=dp2 --rules=%t/untied.txt %t/tied.mlir --check | FileCheck %s --check-prefix=UNTIED
// UNTIED: rule of my.shift: 'a' holds
// UNTIED-NEXT: rule of my.shift: 'sum b' holds
// Names that the body ties and the rule does not; a size that the body fixes; a call in the body.
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/apart.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=APART --implicit-check-not=note:
// APART: apart.txt:1:1: error: rule: the body of 'my.worth' cannot be split along 'column' as the rule says, 3 of 6: 'linalg.matvec' op inferred
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/result.txt %t/tied.mlir 2>&1 | FileCheck %s --check-prefix=RESULT --implicit-check-not=note:
// RESULT: result.txt:1:1: error: rule: the body of 'my.shift' cannot be split along 'c' as the rule says, 4 of 7: result 0 is tensor<7xf32>; expected tensor<4xf32>
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/fixed.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=FIXED --implicit-check-not=note:
// FIXED: fixed.txt:1:1: error: rule: the body of 'my.worth' cannot be split along 'row' as the rule says, 3 of 5: argument 0 is tensor<5x?xf32>; expected one that takes tensor<3x6xf32>
// RUN: shard-run --auto-shard=tp2 --rules=%t/kept.txt %t/model.mlir --check --quiet
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/other.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=OTHER --implicit-check-not=note:
// OTHER: other.txt:1:1: error: rule: the body of 'my.worth' does not take the op's types: argument 1 is tensor<?xf16>; expected one that takes tensor<6xf32>
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/calls.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=CALLS --implicit-check-not=note:
// CALLS: model.mlir:{{[0-9]+}}:8: error: the body of 'my.worth' calls a function; expected the call written out
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/two.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=TWO --implicit-check-not=note:
// TWO: error: the body of 'my.worth' has other operands or results than the op
// Open dimensions that are given: those of results follow from the rule's names in the operands.
// RUN: sed -n '/^func.func private @worth(/,/^}/p;/^func.func private @spread(/,/^}/p' %t/model.mlir >> %t/open.mlir
// RUN: shard-run --auto-shard=tp2 --dim=0:0=5 --rules=%t/right.txt %t/open.mlir --check | FileCheck %s --check-prefix=OPEN
// OPEN: rule of my.worth: 'row' holds
// OPEN: result 0 5xf32 against the unsharded program:
// OPEN: result 1 5x6xf32 against the unsharded program:

//--- right.txt
my.worth @worth : (row column, column) -> (row) sum column pad 0
my.spread @spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- max.txt
my.spread @spread : (batch heads*size=2, ) -> (batch heads*size, batch)
my.worth @worth : (row column, column) -> (row) max column
//--- pad.txt
my.worth @worth : (row column, column) -> (row) sum column pad 3
my.spread @spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- apart.txt
my.worth @worth : (row column, other) -> (row) sum column pad 0
my.spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- fixed.txt
my.worth @worth_fixed : (row column, column) -> (row) sum column pad 0
my.spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- kept.txt
my.worth @worth_fixed : (_ column, column) -> (_) sum column pad 0
my.spread @spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- other.txt
my.worth @worth_other : (row column, column) -> (row) sum column pad 0
my.spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- calls.txt
my.worth @worth_calls : (row column, column) -> (row) sum column pad 0
my.spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- two.txt
my.worth @spread_two : (row column, column) -> (row) sum column pad 0
my.spread : (batch heads*size=2, ) -> (batch heads*size, batch)
//--- tied.txt
my.shift @shift : (a, a) -> (a)
//--- untied.txt
my.shift @shift : (a, b) -> (a) sum b
//--- result.txt
my.shift @shift : (_, c) -> (c)
//--- model.mlir
func.func @main(%x: tensor<5x6xf32>, %w: tensor<6xf32>, %s: tensor<f32>) -> (tensor<5xf32>, tensor<5x6xf32>, tensor<5xf32>) {
  %0 = "my.worth"(%x, %w) : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5xf32>
  %by = tensor.extract %s[] : tensor<f32>
  %1:2 = "my.spread"(%x, %by) {why = 3 : i64} : (tensor<5x6xf32>, f32) -> (tensor<5x6xf32>, tensor<5xf32>)
  %2 = arith.addf %0, %1#1 : tensor<5xf32>
  return %0, %1#0, %2 : tensor<5xf32>, tensor<5x6xf32>, tensor<5xf32>
}
func.func private @worth(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%rows) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.matvec ins(%x, %w : tensor<?x?xf32>, tensor<?xf32>) outs(%f : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// Each number times one, and row numbers that the size of a row has no part in.
func.func private @spread(%x: tensor<?x?xf32>, %by: f32) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%b, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%by : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %0 = arith.mulf %x, %f : tensor<?x?xf32>
  %e1 = tensor.empty(%b) : tensor<?xf32>
  %1 = linalg.fill ins(%by : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?xf32>
}
func.func private @worth_fixed(%x: tensor<5x?xf32>, %w: tensor<?xf32>) -> tensor<5xf32> {
  %zero = arith.constant dense<0.0> : tensor<5xf32>
  %0 = linalg.matvec ins(%x, %w : tensor<5x?xf32>, tensor<?xf32>) outs(%zero : tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func private @worth_other(%x: tensor<?x?xf32>, %w: tensor<?xf16>) -> tensor<5xf32> {
  %zero = arith.constant dense<0.0> : tensor<5xf32>
  return %zero : tensor<5xf32>
}
func.func private @worth_calls(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @worth(%x, %w) : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @spread_two(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  return %w, %w : tensor<?xf32>, tensor<?xf32>
}
//--- open.mlir
func.func @main(%x: tensor<?x6xf32>, %w: tensor<6xf32>, %by: f32) -> (tensor<?xf32>, tensor<?x6xf32>, tensor<?xf32>) {
  %0 = "my.worth"(%x, %w) : (tensor<?x6xf32>, tensor<6xf32>) -> tensor<?xf32>
  %1:2 = "my.spread"(%x, %by) {why = 3 : i64} : (tensor<?x6xf32>, f32) -> (tensor<?x6xf32>, tensor<?xf32>)
  %2 = arith.addf %0, %1#1 : tensor<?xf32>
  return %0, %1#0, %2 : tensor<?xf32>, tensor<?x6xf32>, tensor<?xf32>
}
//--- tied.mlir
func.func @main(%x: tensor<7xf32>, %y: tensor<7xf32>) -> tensor<7xf32> {
  %0 = "my.shift"(%x, %y) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}
// Each number of x times the sum of y.
func.func private @shift(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
