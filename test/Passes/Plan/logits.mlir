// A step of a decoder, or a prefill's last token, gives logits without a sequence: they are split over
// tp as a vocabulary is, whatever the number of layers, where that saves a rank a good part of its
// flops; the few classes of a classifier stay whole.
// RUN: shard-opt %s --auto-shard=tp2 -o %t.mlir --report=%t.txt 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=WEIGHTS < %t.txt
// RUN: shard-run %s --auto-shard=tp2 --check
// RUN: shard-run %s --auto-shard=dp3,tp3 --check
// CHECK:         all-gather     tp    x 1          120 B  split linalg.matmul wanted whole by the function's result
// CHECK-NOT:     all-gather
// WEIGHTS:       5 weight 8x20xf32           [] [tp]
// WEIGHTS:       6 weight 8x2xf32            whole
func.func @step(%x: tensor<3x8xf32>, %u0: tensor<8x16xf32>, %d0: tensor<16x8xf32>,
                %u1: tensor<8x16xf32>, %d1: tensor<16x8xf32>, %head: tensor<8x20xf32>,
                %classes: tensor<8x2xf32>) -> (tensor<3x20xf32>, tensor<3x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x16xf32>) -> tensor<3x16xf32>
  %2 = tensor.empty() : tensor<3x8xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<3x8xf32>) -> tensor<3x8xf32>
  %4 = linalg.matmul ins(%x, %u0 : tensor<3x8xf32>, tensor<8x16xf32>) outs(%1 : tensor<3x16xf32>) -> tensor<3x16xf32>
  %5 = math.tanh %4 : tensor<3x16xf32>
  %6 = linalg.matmul ins(%5, %d0 : tensor<3x16xf32>, tensor<16x8xf32>) outs(%3 : tensor<3x8xf32>) -> tensor<3x8xf32>
  %7 = arith.addf %x, %6 : tensor<3x8xf32>
  %8 = linalg.matmul ins(%7, %u1 : tensor<3x8xf32>, tensor<8x16xf32>) outs(%1 : tensor<3x16xf32>) -> tensor<3x16xf32>
  %9 = math.tanh %8 : tensor<3x16xf32>
  %10 = linalg.matmul ins(%9, %d1 : tensor<3x16xf32>, tensor<16x8xf32>) outs(%3 : tensor<3x8xf32>) -> tensor<3x8xf32>
  %11 = arith.addf %7, %10 : tensor<3x8xf32>
  %12 = tensor.empty() : tensor<3x20xf32>
  %13 = linalg.fill ins(%zero : f32) outs(%12 : tensor<3x20xf32>) -> tensor<3x20xf32>
  %14 = linalg.matmul ins(%11, %head : tensor<3x8xf32>, tensor<8x20xf32>) outs(%13 : tensor<3x20xf32>) -> tensor<3x20xf32>
  %15 = tensor.empty() : tensor<3x2xf32>
  %16 = linalg.fill ins(%zero : f32) outs(%15 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %17 = linalg.matmul ins(%11, %classes : tensor<3x8xf32>, tensor<8x2xf32>) outs(%16 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %14, %17 : tensor<3x20xf32>, tensor<3x2xf32>
}
