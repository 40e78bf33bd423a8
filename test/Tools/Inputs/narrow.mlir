// Conversions of bf16 that no single instruction does.
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<4x6xbf16>, %n: tensor<4x6xi64>) -> (tensor<4x6xbf16>, tensor<4x6xi64>) {
  %small = arith.constant 1.0e-3 : f64
  %e = tensor.empty() : tensor<4x6xbf16>
  %ei = tensor.empty() : tensor<4x6xi64>
  %y:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %n : tensor<4x6xbf16>, tensor<4x6xi64>)
      outs(%e, %ei : tensor<4x6xbf16>, tensor<4x6xi64>) {
  ^bb0(%a: bf16, %i: i64, %out: bf16, %outi: i64):
    %0 = arith.truncf %small : f64 to bf16
    %1 = arith.addf %a, %0 : bf16
    %2 = arith.sitofp %i : i64 to bf16
    %3 = arith.mulf %1, %2 : bf16
    %4 = arith.extf %3 : bf16 to f64
    %5 = arith.addf %4, %small : f64
    %6 = arith.truncf %5 : f64 to bf16
    %7 = arith.fptosi %6 : bf16 to i64
    linalg.yield %6, %7 : bf16, i64
  } -> (tensor<4x6xbf16>, tensor<4x6xi64>)
  return %y#0, %y#1 : tensor<4x6xbf16>, tensor<4x6xi64>
}
