#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %empty = tensor.empty() : tensor<5x3xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5x3xf32>) outs(%empty : tensor<5x3xf32>) {
  ^bb0(%a: f32, %out: f32):
    %sum = arith.addf %a, %one : f32
    %product = arith.mulf %sum, %two : f32
    linalg.yield %product : f32
  } -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}
