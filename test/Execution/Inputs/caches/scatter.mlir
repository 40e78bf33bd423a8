func.func private @update(%new: tensor<3x1x4x6xf32>, %cache: tensor<3x16x4x6xf32>, %pos: tensor<1xi64>) -> tensor<3x16x4x6xf32> {
  %e = tensor.empty() : tensor<16x3x4x6xf32>
  %en = tensor.empty() : tensor<1x3x4x6xf32>
  %eb = tensor.empty() : tensor<3x16x4x6xf32>
  %ct = linalg.transpose ins(%cache : tensor<3x16x4x6xf32>) outs(%e : tensor<16x3x4x6xf32>) permutation = [1, 0, 2, 3]
  %nt = linalg.transpose ins(%new : tensor<3x1x4x6xf32>) outs(%en : tensor<1x3x4x6xf32>) permutation = [1, 0, 2, 3]
  %p = tensor.expand_shape %pos [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
  %p32 = arith.trunci %p : tensor<1x1xi64> to tensor<1x1xi32>
  %s = "tm_tensor.scatter"(%nt, %p32, %ct) <{dimension_map = array<i64: 0>, operandSegmentSizes = array<i32: 2, 1>, unique_indices = true}> ({
  ^bb0(%a: f32, %b: f32):
    "tm_tensor.yield"(%a) : (f32) -> ()
  }) : (tensor<1x3x4x6xf32>, tensor<1x1xi32>, tensor<16x3x4x6xf32>) -> tensor<16x3x4x6xf32>
  %r = linalg.transpose ins(%s : tensor<16x3x4x6xf32>) outs(%eb : tensor<3x16x4x6xf32>) permutation = [1, 0, 2, 3]
  return %r : tensor<3x16x4x6xf32>
}
