// RUN: split-file %s %t
// An op that MLIR does not know: its rule says how it splits, its body what it computes.
// RUN: echo '{"version": 1, "args": {"0": {"sharding": [["tp"], []]}, "1": {"sharding": [[]]}}}' > %t/rows.json
// RUN: shard-opt --auto-shard=tp2 --rules=%t/rules.txt --annotations=%t/rows.json %t/model.mlir --quiet -o %t/rows.mlir
// RUN: FileCheck %s --check-prefix=ROWS < %t/rows.mlir
// RUN: shard-run %t/rows.mlir --rules=%t/rules.txt --check=%t/model.mlir --quiet
// RUN: shard-run --auto-shard=tp2 --rules=%t/rules.txt --annotations=%t/rows.json %t/model.mlir --check --quiet
// Rows that do not divide: padding stays padding.
// RUN: shard-run --auto-shard=tp3 --rules=%t/rules.txt --annotations=%t/rows.json %t/model.mlir --check --quiet
// The reduced dimension: a partial sum. Padding enters as the rule says.
// RUN: echo '{"version": 1, "args": {"0": {"sharding": [[], ["tp"]]}, "1": {"sharding": [["tp"]]}}}' > %t/columns.json
// RUN: shard-opt --auto-shard=tp2 --rules=%t/rules.txt --annotations=%t/columns.json %t/model.mlir --quiet | FileCheck %s --check-prefix=COLUMNS
// RUN: shard-run --auto-shard=tp2 --rules=%t/rules.txt --annotations=%t/columns.json %t/model.mlir --check --quiet
// RUN: shard-run --auto-shard=tp4 --rules=%t/rules.txt --annotations=%t/columns.json %t/model.mlir --check --quiet
// A wrong rule is found by running: a sum is not a maximum.
// RUN: not shard-run --auto-shard=tp2 --rules=%t/wrong.txt --annotations=%t/columns.json %t/model.mlir --check 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: wrong.txt:1:1: error: rule: 'max column' does not hold: in two parts
// Without a rule the op is no op of a model; without a body it has no lowering, but a layout.
// RUN: not shard-opt --auto-shard=tp2 %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: op 'my.weighted_sum': dialect 'my' is not supported
// RUN: shard-opt --auto-shard=tp2 --rules=%t/no-body.txt --annotations=%t/rows.json %t/model.mlir --quiet -o %t/no-body.mlir
// RUN: not shard-run --auto-shard=tp2 --rules=%t/no-body.txt --annotations=%t/rows.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NO-BODY
// NO-BODY: error: 'my.weighted_sum' has no lowering: its rule names no body
// RUN: not shard-run --auto-shard=tp4 --rules=%t/no-pad.txt --annotations=%t/columns.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NO-PAD
// NO-PAD: error: a reduced dimension of 'my.weighted_sum' does not divide, and its rule says nothing of padding; expected 'pad NUMBER' in the rule
// Mistakes are shown where they are.
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/cut.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: cut.txt:2:39: error: rule: expected the name of a dimension, '_' or ')'
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/word.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: word.txt:1:41: error: rule: expected sum, max, min, product, and, or, whole or pad
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/rank.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: model.mlir:2:8: error: 'my.weighted_sum' does not fit its rule: operand 0 has 2 dimensions, in its rule 3
// RUN: not shard-opt --auto-shard=tp2 --rules=%t/nobody.txt %t/model.mlir 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: error: the rule of 'my.weighted_sum' names the body '@absent'; expected a function with a body and as many arguments as the op has operands

// Heads in a product: two of four to a rank, whole heads.
// RUN: echo '{"version": 1, "args": {"0": {"sharding": [[], ["tp"]]}}}' > %t/heads.json
// RUN: shard-opt --auto-shard=tp2 --rules=%t/heads.txt --annotations=%t/heads.json %t/heads.mlir --quiet | FileCheck %s --check-prefix=HEADS
// RUN: shard-run --auto-shard=tp2 --rules=%t/heads.txt --annotations=%t/heads.json %t/heads.mlir --check --quiet
// HEADS: "my.flip"(%{{.*}}) {{.*}} : (tensor<3x16xf32>) -> tensor<3x16xf32>

// ROWS: "my.weighted_sum"(%{{.*}}, %{{.*}}) {{.*}} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4xf32>
// ROWS: shard.all_gather
// COLUMNS: "my.weighted_sum"(%{{.*}}, %{{.*}}) {{.*}} : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8xf32>
// COLUMNS: shard.all_reduce

//--- rules.txt
# What a row is worth.
my.weighted_sum @weighted_sum : (row column, column) -> (row) sum column pad 0
//--- wrong.txt
my.weighted_sum @weighted_sum : (row column, column) -> (row) max column
//--- no-body.txt
my.weighted_sum : (row column, column) -> (row) sum column
//--- no-pad.txt
my.weighted_sum @weighted_sum : (row column, column) -> (row) sum column
//--- cut.txt

my.weighted_sum : (row column, column -> (row)
//--- word.txt
my.weighted_sum : (row column) -> (row) add column
//--- rank.txt
my.weighted_sum : (row column more, column) -> (row)
//--- nobody.txt
my.weighted_sum @absent : (row column, column) -> (row)
//--- model.mlir
func.func @main(%x: tensor<8x6xf32>, %w: tensor<6xf32>) -> tensor<8xf32> {
  %0 = "my.weighted_sum"(%x, %w) : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @weighted_sum(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%rows) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %0 = linalg.matvec ins(%x, %w : tensor<?x?xf32>, tensor<?xf32>) outs(%f : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
//--- heads.txt
my.flip @flip : (batch heads*size=8) -> (batch heads*size) whole size
//--- heads.mlir
func.func @main(%x: tensor<3x32xf32>) -> tensor<3x32xf32> {
  %0 = "my.flip"(%x) : (tensor<3x32xf32>) -> tensor<3x32xf32>
  return %0 : tensor<3x32xf32>
}
// Each 8 numbers in turn from the back.
func.func private @flip(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %b = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%b, %n) : tensor<?x?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %head = arith.divui %j, %c8 : index
    %at = arith.remui %j, %c8 : index
    %back = arith.subi %c7, %at : index
    %first = arith.muli %head, %c8 : index
    %k = arith.addi %first, %back : index
    %v = tensor.extract %x[%i, %k] : tensor<?x?xf32>
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
