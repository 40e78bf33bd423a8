// Batch last: the first dimension of the result is a feature, which the stack of square weights has twice. It is a weight all the same.
// RUN: shard-opt --auto-shard=tp1 --quiet %s -o /dev/null --report=%t.txt && FileCheck %s --input-file=%t.txt
// CHECK: 0 input  6x4xf32
// CHECK: 1 weight 6x6x2xf32
func.func @main(%x: tensor<6x4xf32>, %w: tensor<6x6x2xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x4xf32>) -> tensor<6x4xf32>
  %w0 = tensor.extract_slice %w[0, 0, 0] [6, 6, 1] [1, 1, 1] : tensor<6x6x2xf32> to tensor<6x6xf32>
  %w1 = tensor.extract_slice %w[0, 0, 1] [6, 6, 1] [1, 1, 1] : tensor<6x6x2xf32> to tensor<6x6xf32>
  %h = linalg.matmul ins(%w0, %x : tensor<6x6xf32>, tensor<6x4xf32>) outs(%init : tensor<6x4xf32>) -> tensor<6x4xf32>
  %t = math.tanh %h : tensor<6x4xf32>
  %y = linalg.matmul ins(%w1, %t : tensor<6x6xf32>, tensor<6x4xf32>) outs(%init : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}
