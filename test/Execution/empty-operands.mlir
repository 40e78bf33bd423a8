// Tensors without elements, as a cache that holds nothing yet is exported: what they have no part in
// is as it would be without them, and their arguments are not there; the others keep their numbers.
// RUN: split-file %s %t
// RUN: shard-opt --auto-shard=tp2 %t/cache.mlir --quiet | FileCheck %s
// CHECK: func.func @main(%{{[^:]*}}: tensor<4x8xf32> {spmd.arg = 0 : i64, {{.*}}, %{{[^:]*}}: tensor<8x2xf32> {spmd.arg = 2 : i64,
// CHECK-NOT: x0x
// RUN: shard-run --auto-shard=tp2 %t/cache.mlir --check --quiet
// RUN: shard-run --auto-shard=tp3,dp2 %t/cache.mlir --check --quiet
// RUN: shard-run --auto-shard=dp3 %t/cache.mlir --check --quiet
// RUN: echo '{"version": 1, "args": {"2": {"sharding": [["tp"], []]}}}' > %t/two.json
// RUN: shard-run --auto-shard=tp4 --annotations=%t/two.json %t/cache.mlir --check --quiet
// The same bits as without the empty operand.
// RUN: mkdir -p %t/with %t/without
// RUN: shard-run %t/cache.mlir --save=%t/with --quiet
// RUN: shard-run %t/plain.mlir --save=%t/without --quiet
// RUN: cmp %t/with/out000.npy %t/without/out000.npy
// RUN: shard-run --auto-shard=tp2 %t/moves.mlir --check --quiet
// RUN: shard-run --auto-shard=dp2,tp3 %t/moves.mlir --check --quiet
// RUN: shard-opt --auto-shard=tp2 %t/moves.mlir --quiet | FileCheck %s --check-prefix=MOVES --implicit-check-not=x0x
// MOVES: func.func @main
// What has no elements and is used elsewhere is one error.
// RUN: not shard-opt --auto-shard=tp2 %t/given.mlir 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: given.mlir:1:1: error: argument 1 has type 'tensor<0x3xf32>', which has no elements; expected extents of at least 1
// RUN: not shard-opt --auto-shard=tp2 %t/called.mlir 2>&1 | FileCheck %s --check-prefix=CALLED
// CALLED: error: argument {{[01]}} has type 'tensor<{{.*}}', which has no elements
// A branch that only makes such a tensor stays where it asserts: it is refused, not left out.
// RUN: not shard-opt --auto-shard=dp2 %t/asserts.mlir 2>&1 | FileCheck %s --check-prefix=ASSERTS
// ASSERTS: asserts.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}} has type 'tensor<4x0xf32>', which has no elements

//--- cache.mlir
func.func @main(%x: tensor<4x8xf32>, %cache: tensor<4x0x2xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %length = tensor.dim %cache, %c1 : tensor<4x0x2xf32>
  %add = arith.index_cast %length : index to i64
  %number = arith.sitofp %add : i64 to f32
  %v = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 4, 2] : tensor<4x8xf32> into tensor<4x4x2xf32>
  %n = tensor.concat dim(1) %cache, %v, %cache : (tensor<4x0x2xf32>, tensor<4x4x2xf32>, tensor<4x0x2xf32>) -> tensor<4x4x2xf32>
  %c = tensor.collapse_shape %n [[0], [1, 2]] : tensor<4x4x2xf32> into tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x3xf32>
  %f = linalg.fill ins(%number : f32) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = linalg.matmul ins(%c, %w : tensor<4x8xf32>, tensor<8x3xf32>) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
//--- plain.mlir
func.func @main(%x: tensor<4x8xf32>, %cache: tensor<4x1x2xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x3xf32>) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
//--- moves.mlir
func.func @main(%x: tensor<6x9xf32>, %w: tensor<9x4xf32>) -> tensor<6x7xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %none = tensor.extract_slice %x[0, 3] [6, 0] [1, 1] : tensor<6x9xf32> to tensor<6x0xf32>
  %nothing = tensor.pad %none low[0, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<6x0xf32> to tensor<6x0xf32>
  %same = tensor.insert_slice %nothing into %x[0, 5] [6, 0] [1, 1] : tensor<6x0xf32> into tensor<6x9xf32>
  %still = tensor.pad %same low[0, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<6x9xf32> to tensor<6x9xf32>
  %padding = tensor.pad %nothing low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %two : f32
  } : tensor<6x0xf32> to tensor<6x3xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %rows = tensor.extract_slice %w[0, 0] [0, 4] [1, 1] : tensor<9x4xf32> to tensor<0x4xf32>
  %start = linalg.matmul ins(%none, %rows : tensor<6x0xf32>, tensor<0x4xf32>) outs(%f : tensor<6x4xf32>) -> tensor<6x4xf32>
  %0 = linalg.matmul ins(%still, %w : tensor<6x9xf32>, tensor<9x4xf32>) outs(%start : tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = tensor.concat dim(1) %padding, %0 : (tensor<6x3xf32>, tensor<6x4xf32>) -> tensor<6x7xf32>
  return %1 : tensor<6x7xf32>
}
//--- given.mlir
func.func @main(%x: tensor<4x3xf32>, %y: tensor<0x3xf32>) -> (tensor<4x3xf32>, tensor<0x3xf32>) {
  %0 = math.tanh %y : tensor<0x3xf32>
  %1 = math.tanh %x : tensor<4x3xf32>
  return %1, %0 : tensor<4x3xf32>, tensor<0x3xf32>
}
//--- called.mlir
func.func private @join(%x: tensor<4x0xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = tensor.concat dim(1) %x, %y : (tensor<4x0xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
func.func @main(%x: tensor<4x0xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = call @join(%x, %y) : (tensor<4x0xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
//--- asserts.mlir
func.func @main(%x: tensor<4x6xf32>, %none: tensor<4x0xf32>, %c: tensor<i1>, %d: tensor<i1>) -> tensor<4x6xf32> {
  %here = tensor.extract %c[] : tensor<i1>
  %good = tensor.extract %d[] : tensor<i1>
  %r = scf.if %here -> tensor<4x0xf32> {
    cf.assert %good, "not this"
    scf.yield %none : tensor<4x0xf32>
  } else {
    scf.yield %none : tensor<4x0xf32>
  }
  %0 = tensor.concat dim(1) %r, %x : (tensor<4x0xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
