// Element types.
func.func @bf16(%a: tensor<4x6xbf16>, %b: tensor<6x8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xbf16>, tensor<6x8xbf16>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = arith.truncf %0 : tensor<4x8xf32> to tensor<4x8xbf16>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xbf16>
}
// -----
func.func @f16(%a: tensor<4x6xf16>, %b: tensor<4x6xf16>) -> tensor<4x6xf16> {
  %0 = arith.addf %a, %b : tensor<4x6xf16>
  %1 = math.tanh %0 : tensor<4x6xf16>
  return %1 : tensor<4x6xf16>
}
// -----
func.func @f64(%a: tensor<4x6xf64>, %b: tensor<6x8xf64>) -> tensor<4x8xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x8xf64>
  %i = linalg.fill ins(%zero : f64) outs(%e : tensor<4x8xf64>) -> tensor<4x8xf64>
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xf64>, tensor<6x8xf64>) outs(%i : tensor<4x8xf64>) -> tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}
// -----
func.func @i8(%a: tensor<4x6xi8>, %b: tensor<6x8xi8>) -> tensor<4x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %i = linalg.fill ins(%zero : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xi8>, tensor<6x8xi8>) outs(%i : tensor<4x8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
// -----
func.func @i1(%a: tensor<4x6xi1>, %b: tensor<4x6xi1>) -> tensor<4xi1> {
  %true = arith.constant true
  %e = tensor.empty() : tensor<4xi1>
  %i = linalg.fill ins(%true : i1) outs(%e : tensor<4xi1>) -> tensor<4xi1>
  %o = arith.ori %a, %b : tensor<4x6xi1>
  %0 = linalg.reduce { arith.andi } ins(%o : tensor<4x6xi1>) outs(%i : tensor<4xi1>) dimensions = [1]
  return %0 : tensor<4xi1>
}
// -----
func.func @i64(%a: tensor<4x6xi64>, %b: tensor<4x6xi64>) -> tensor<6xi64> {
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<6xi64>
  %i = linalg.fill ins(%zero : i64) outs(%e : tensor<6xi64>) -> tensor<6xi64>
  %m = arith.muli %a, %b : tensor<4x6xi64>
  %0 = linalg.reduce { arith.addi } ins(%m : tensor<4x6xi64>) outs(%i : tensor<6xi64>) dimensions = [0]
  return %0 : tensor<6xi64>
}
// -----
func.func @i16(%a: tensor<4x6xi16>, %b: tensor<4x6xi16>) -> tensor<4x6xi16> {
  %0 = arith.muli %a, %b : tensor<4x6xi16>
  %1 = arith.maxsi %0, %b : tensor<4x6xi16>
  return %1 : tensor<4x6xi16>
}
// -----
func.func @f8E4M3FN(%a: tensor<4x6xf8E4M3FN>, %b: tensor<6x8xf8E4M3FN>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x6xf8E4M3FN>, tensor<6x8xf8E4M3FN>) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// -----
func.func @f8E5M2(%a: tensor<4x6xf32>, %b: tensor<4x6xf8E5M2>) -> (tensor<4x6xf8E5M2>, tensor<4x6xbf16>) {
  %n = arith.truncf %a : tensor<4x6xf32> to tensor<4x6xf8E5M2>
  %w = arith.extf %n : tensor<4x6xf8E5M2> to tensor<4x6xbf16>
  %v = arith.extf %b : tensor<4x6xf8E5M2> to tensor<4x6xbf16>
  %0 = arith.addf %w, %v : tensor<4x6xbf16>
  return %n, %0 : tensor<4x6xf8E5M2>, tensor<4x6xbf16>
}
