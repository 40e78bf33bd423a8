// Positions of loops: a causal mask over scores, positions that are read from a whole table one step on,
// and an iota that nothing is read for.
// SPLIT: {"0":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]}}
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<11x13xf32>, %t: tensor<14xf32>) -> (tensor<11x13xf32>, tensor<11xf32>, tensor<11x13xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<11x13xf32>
  %masked = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<11x13xf32>) outs(%e : tensor<11x13xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %sees = arith.cmpi ule, %j, %i : index
    %m = arith.select %sees, %a, %lowest : f32
    linalg.yield %m : f32
  } -> tensor<11x13xf32>
  %er = tensor.empty() : tensor<11xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%er : tensor<11xf32>) -> tensor<11xf32>
  %max = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]} ins(%masked : tensor<11x13xf32>) outs(%f : tensor<11xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<11xf32>
  %next = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<11x13xf32>) outs(%e : tensor<11x13xf32>) {
  ^bb0(%a: f32, %o: f32):
    %one = arith.constant 1 : index
    %j = linalg.index 1 : index
    %k = arith.addi %j, %one : index
    %v = tensor.extract %t[%k] : tensor<14xf32>
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %p = arith.sitofp %n : i64 to f32
    %u = arith.addf %v, %p : f32
    %w = arith.addf %u, %a : f32
    linalg.yield %w : f32
  } -> tensor<11x13xf32>
  return %masked, %max, %next : tensor<11x13xf32>, tensor<11xf32>, tensor<11x13xf32>
}
