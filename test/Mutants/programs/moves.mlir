// Data that moves along dimensions that are split: slices, padding, pieces put together and in.
func.func @main(%x: tensor<8x12xf32> {spmd.sharding = [[], ["tp"]]}, %y: tensor<8x12xf32> {spmd.sharding = [["tp"], []]}, %k: tensor<2x5xf32>, %q: tensor<8x5xf32> {spmd.sharding = [["tp"], []]})
    -> (tensor<8x6xf32>, tensor<8x15xf32>, tensor<8x24xf32>, tensor<8x12xf32>, tensor<8x5xf32>, tensor<4x24xf32>) {
  %zero = arith.constant 0.0 : f32
  %half = tensor.extract_slice %x[0, 6] [8, 6] [1, 1] : tensor<8x12xf32> to tensor<8x6xf32>
  %pad = tensor.pad %y low[0, 2] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x12xf32> to tensor<8x15xf32>
  %both = tensor.concat dim(1) %x, %y : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x24xf32>
  %in = tensor.insert_slice %half into %y[0, 3] [8, 6] [1, 1] : tensor<8x6xf32> into tensor<8x12xf32>
  %e = tensor.empty() : tensor<8x5xf32>
  %grouped = linalg.generic {indexing_maps = [affine_map<(h, s) -> (h floordiv 4, s)>, affine_map<(h, s) -> (h, s)>, affine_map<(h, s) -> (h, s)>], iterator_types = ["parallel", "parallel"]} ins(%k, %q : tensor<2x5xf32>, tensor<8x5xf32>) outs(%e : tensor<8x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.subf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<8x5xf32>
  %wide = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 12] : tensor<8x12xf32> into tensor<4x2x12xf32>
  %flat = tensor.collapse_shape %wide [[0], [1, 2]] : tensor<4x2x12xf32> into tensor<4x24xf32>
  return %half, %pad, %both, %in, %grouped, %flat : tensor<8x6xf32>, tensor<8x15xf32>, tensor<8x24xf32>, tensor<8x12xf32>, tensor<8x5xf32>, tensor<4x24xf32>
}
