// RUN: shard-opt --auto-shard=tp2 %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: not shard-opt --auto-shard=tp2 --max-comm-bytes=1000000 %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=LIMIT
// Turns of loops within loops that 64 bits do not count are as many as those do: the product here
// is above 2^63, and was below 0, so that nothing was counted and every limit held.
// CHECK:      stage 0: 1 unit, 9223 Pflop in contractions
// CHECK-NEXT: collectives: {{[0-9]+}} TiB sent by one rank
// CHECK-NEXT:   all-reduce     tp    x 9223372036854775807
// LIMIT: error: {{[0-9]+}} bytes are sent in a step, mean over ranks; at most 1000000 are allowed
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 4000000000 : index
  %0 = scf.for %i = %c0 to %many step %c1 iter_args(%outer = %x) -> (tensor<4x8xf32>) {
    %1 = scf.for %j = %c0 to %many step %c1 iter_args(%inner = %outer) -> (tensor<4x8xf32>) {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<4x8xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
      %2 = linalg.matmul ins(%inner, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
      scf.yield %2 : tensor<4x8xf32>
    }
    scf.yield %1 : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}
