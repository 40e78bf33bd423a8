// Columns cut in blocks that are no whole heads: 15 columns of 3 heads of 5 over 2, 4, 8. The
// product, its bias and what is computed of each element stay in blocks; heads come together afterwards.
// Rows of a weight in such blocks: the sum over them is cut likewise.
// SPLIT: {"1":{"sharding":[[],["tp"]]},"2":{"sharding":[["tp"]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]}}
// SPLIT: {"3":{"sharding":[["tp"],[]]}}
#x = affine_map<(i, h, d) -> (i, h, d)>
#r = affine_map<(i, h, d) -> (i, h)>
func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x15xf32>, %b: tensor<15xf32>, %v: tensor<15x7xf32>) -> tensor<5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x15xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x15xf32>) -> tensor<5x15xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<5x7xf32>, tensor<7x15xf32>) outs(%f : tensor<5x15xf32>) -> tensor<5x15xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0, %b : tensor<5x15xf32>, tensor<15xf32>) outs(%e : tensor<5x15xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i64
    %c = arith.sitofp %n : i64 to f32
    %s = arith.addf %p, %q : f32
    %u = arith.addf %s, %c : f32
    %t = math.tanh %u : f32
    linalg.yield %t : f32
  } -> tensor<5x15xf32>
  %heads = tensor.expand_shape %1 [[0], [1, 2]] output_shape [5, 3, 5] : tensor<5x15xf32> into tensor<5x3x5xf32>
  %eh = tensor.empty() : tensor<5x3x5xf32>
  %er = tensor.empty() : tensor<5x3xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<5x3xf32>) -> tensor<5x3xf32>
  %sum = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%heads : tensor<5x3x5xf32>) outs(%fr : tensor<5x3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<5x3xf32>
  %2 = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%heads, %sum : tensor<5x3x5xf32>, tensor<5x3xf32>) outs(%eh : tensor<5x3x5xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %t = arith.subf %a, %s : f32
    linalg.yield %t : f32
  } -> tensor<5x3x5xf32>
  %back = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<5x3x5xf32> into tensor<5x15xf32>
  %e2 = tensor.empty() : tensor<5x7xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = linalg.matmul ins(%back, %v : tensor<5x15xf32>, tensor<15x7xf32>) outs(%f2 : tensor<5x7xf32>) -> tensor<5x7xf32>
  return %3 : tensor<5x7xf32>
}
