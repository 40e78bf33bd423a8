// Contractions.
func.func @matmul(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// -----
func.func @batch_matmul(%a: tensor<2x4x6xf32>, %b: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%i : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}
// -----
func.func @matvec(%a: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.matvec ins(%a, %b : tensor<4x6xf32>, tensor<6xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @vecmat(%a: tensor<6xf32>, %b: tensor<6x8xf32>) -> tensor<8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.vecmat ins(%a, %b : tensor<6xf32>, tensor<6x8xf32>) outs(%i : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
func.func @batch_matvec(%a: tensor<2x4x6xf32>, %b: tensor<2x6xf32>) -> tensor<2x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = linalg.batch_matvec ins(%a, %b : tensor<2x4x6xf32>, tensor<2x6xf32>) outs(%i : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
// -----
func.func @batch_vecmat(%a: tensor<2x6xf32>, %b: tensor<2x6x8xf32>) -> tensor<2x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x8xf32>) -> tensor<2x8xf32>
  %0 = linalg.batch_vecmat ins(%a, %b : tensor<2x6xf32>, tensor<2x6x8xf32>) outs(%i : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
// -----
func.func @batch_reduce_matmul(%a: tensor<2x4x6xf32>, %b: tensor<2x6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.batch_reduce_matmul ins(%a, %b : tensor<2x4x6xf32>, tensor<2x6x8xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// -----
func.func @dot(%a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.dot ins(%a, %b : tensor<6xf32>, tensor<6xf32>) outs(%i : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// -----
func.func @mmt4d(%a: tensor<2x4x4x6xf32>, %b: tensor<6x4x2x6xf32>) -> tensor<2x6x4x2xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x4x2xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x4x2xf32>) -> tensor<2x6x4x2xf32>
  %0 = linalg.mmt4d ins(%a, %b : tensor<2x4x4x6xf32>, tensor<6x4x2x6xf32>) outs(%i : tensor<2x6x4x2xf32>) -> tensor<2x6x4x2xf32>
  return %0 : tensor<2x6x4x2xf32>
}
// -----
func.func @batch_mmt4d(%a: tensor<2x2x4x4x6xf32>, %b: tensor<2x6x4x2x6xf32>) -> tensor<2x2x6x4x2xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x6x4x2xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2x6x4x2xf32>) -> tensor<2x2x6x4x2xf32>
  %0 = linalg.batch_mmt4d ins(%a, %b : tensor<2x2x4x4x6xf32>, tensor<2x6x4x2x6xf32>) outs(%i : tensor<2x2x6x4x2xf32>) -> tensor<2x2x6x4x2xf32>
  return %0 : tensor<2x2x6x4x2xf32>
}
// -----
func.func @quantized_matmul(%a: tensor<4x6xi8>, %b: tensor<6x8xi8>) -> tensor<4x8xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.quantized_matmul ins(%a, %b, %p, %q : tensor<4x6xi8>, tensor<6x8xi8>, i32, i32) outs(%i : tensor<4x8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
// -----
func.func @quantized_batch_matmul(%a: tensor<2x4x6xi8>, %b: tensor<2x6x8xi8>) -> tensor<2x4x8xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x8xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x8xi32>) -> tensor<2x4x8xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.quantized_batch_matmul ins(%a, %b, %p, %q : tensor<2x4x6xi8>, tensor<2x6x8xi8>, i32, i32) outs(%i : tensor<2x4x8xi32>) -> tensor<2x4x8xi32>
  return %0 : tensor<2x4x8xi32>
}
// -----
func.func @contract(%a: tensor<2x4x6xf32>, %b: tensor<6x8x2xf32>) -> tensor<8x2x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %0 = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n, b)>, affine_map<(b, m, n, k) -> (n, b, m)>] ins(%a, %b : tensor<2x4x6xf32>, tensor<6x8x2xf32>) outs(%i : tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %0 : tensor<8x2x4xf32>
}
// -----
// The init is a value.
func.func @matmul_into(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// -----
func.func @matmul_transposed(%a: tensor<6x4xf32>, %b: tensor<8x6xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<6x4xf32>, tensor<8x6xf32>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
