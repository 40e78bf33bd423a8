// A loop that only inserts into what it carries does so in place: two tables of 32 x 8 floats are not copied at each step.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: shard-opt %s --auto-shard=tp2 -o %t.mlir
// RUN: shard-opt %t.mlir --shard-lower-cpu | FileCheck %s --check-prefix=TEXT
// TEXT-NOT: @main_for0
// CHECK-COUNT-3: against the unsharded program: equal
func.func @main(%ids: tensor<16xi64>, %g: tensor<16x8xf32>, %t: tensor<32x8xf32>, %u: tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant dense<2.0> : tensor<32x8xf32>
  %start = arith.mulf %t, %two : tensor<32x8xf32>
  %s:2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%a = %start, %b = %u) -> (tensor<32x8xf32>, tensor<32x8xf32>) {
    %id = tensor.extract %ids[%i] : tensor<16xi64>
    %row = arith.index_cast %id : i64 to index
    %new = tensor.extract_slice %g[%i, 0] [1, 8] [1, 1] : tensor<16x8xf32> to tensor<1x8xf32>
    %old = tensor.extract_slice %a[%row, 0] [1, 8] [1, 1] : tensor<32x8xf32> to tensor<1x8xf32>
    %sum = arith.addf %old, %new : tensor<1x8xf32>
    %na = tensor.insert_slice %sum into %a[%row, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<32x8xf32>
    %nb = tensor.insert_slice %new into %b[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<32x8xf32>
    scf.yield %na, %nb : tensor<32x8xf32>, tensor<32x8xf32>
  }
  return %s#0, %s#1, %start : tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>
}
