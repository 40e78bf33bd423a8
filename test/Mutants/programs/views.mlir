// A vector split inside of its rows, patches of an image cut in tiles.
func.func @main(%img: tensor<24xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 6, 4>}, %w: tensor<4x5xf32>) -> (tensor<6x5xf32>, tensor<6x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(p, c, i) -> (p * 4 + i)>, affine_map<(p, c, i) -> (i, c)>, affine_map<(p, c, i) -> (p, c)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%img, %w : tensor<24xf32>, tensor<4x5xf32>) outs(%z : tensor<6x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %m, %o : f32
    linalg.yield %n : f32
  } -> tensor<6x5xf32>
  %2 = tensor.expand_shape %img [[0, 1]] output_shape [6, 4] : tensor<24xf32> into tensor<6x4xf32>
  return %1, %2 : tensor<6x5xf32>, tensor<6x4xf32>
}
