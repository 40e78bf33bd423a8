// Grouped heads: three key heads for twelve query heads, over a number of ranks that does not divide them;
// scores over a padded sequence of keys.
// SPLIT: {"0":{"sharding":[["tp"],[],[],[]],"view":[3,4,5,4]},"1":{"sharding":[["tp"],[],[]]},"2":{"sharding":[["tp"],[],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"],[]]}}
// SPLIT: {"1":{"sharding":[[],["tp"],[]]},"2":{"sharding":[[],["tp"],[]]}}
// SPLIT: {"2":{"sharding":[[],[],["tp"]]}}
#q = affine_map<(h, i, j, d) -> (h, i, d)>
#k = affine_map<(h, i, j, d) -> (h floordiv 4, j, d)>
#s = affine_map<(h, i, j, d) -> (h, i, j)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#r = affine_map<(h, i, j) -> (h, i)>
func.func @main(%q: tensor<12x5x4xf32>, %k: tensor<3x7x4xf32>, %v: tensor<3x7x4xf32>) -> tensor<12x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<12x5x7xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<12x5x7xf32>) -> tensor<12x5x7xf32>
  %scores = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<12x5x4xf32>, tensor<3x7x4xf32>) outs(%fs : tensor<12x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %c, %m : f32
    linalg.yield %t : f32
  } -> tensor<12x5x7xf32>
  %er = tensor.empty() : tensor<12x5xf32>
  %fm = linalg.fill ins(%lowest : f32) outs(%er : tensor<12x5xf32>) -> tensor<12x5xf32>
  %max = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%scores : tensor<12x5x7xf32>) outs(%fm : tensor<12x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.maximumf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<12x5xf32>
  %p = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scores, %max : tensor<12x5x7xf32>, tensor<12x5xf32>) outs(%es : tensor<12x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  } -> tensor<12x5x7xf32>
  %fz = linalg.fill ins(%zero : f32) outs(%er : tensor<12x5xf32>) -> tensor<12x5xf32>
  %sum = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p : tensor<12x5x7xf32>) outs(%fz : tensor<12x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<12x5xf32>
  %w = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %sum : tensor<12x5x7xf32>, tensor<12x5xf32>) outs(%es : tensor<12x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.divf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<12x5x7xf32>
  %eo = tensor.empty() : tensor<12x5x4xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<12x5x4xf32>) -> tensor<12x5x4xf32>
  %out = linalg.generic {indexing_maps = [#s, #k, #q], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%w, %v : tensor<12x5x7xf32>, tensor<3x7x4xf32>) outs(%fo : tensor<12x5x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %c, %m : f32
    linalg.yield %t : f32
  } -> tensor<12x5x4xf32>
  return %out : tensor<12x5x4xf32>
}
