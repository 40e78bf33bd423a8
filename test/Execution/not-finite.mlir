// What is not a number equals itself, and the report says so: such a comparison proves little.
// RUN: shard-run %s --auto-shard=dp2 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=dp2 | FileCheck %s --check-prefix=ALONE
// CHECK: result 0 4xf32 against the unsharded program: equal (largest magnitude 0, some values not finite)
// ALONE: result 0 4xf32: largest magnitude 0, some values not finite, compared between ranks only
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %nan = arith.constant 0x7FC00000 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %all = linalg.fill ins(%nan : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %0 = arith.addf %x, %all : tensor<4xf32>
  return %0 : tensor<4xf32>
}
