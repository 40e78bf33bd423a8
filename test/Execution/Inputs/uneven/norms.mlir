// Layer norm and RMS norm: sums over a padded dimension, the mean over its true extent.
// SPLIT: {"0":{"sharding":[["tp"],[],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],[],["tp"]]},"1":{"sharding":[["tp"]]}}
#x = affine_map<(b, s, d) -> (b, s, d)>
#r = affine_map<(b, s, d) -> (b, s)>
#g = affine_map<(b, s, d) -> (d)>
func.func @main(%x: tensor<3x5x13xf32>, %g: tensor<13xf32>) -> (tensor<3x5x13xf32>, tensor<3x5x13xf32>) {
  %zero = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<3x5xf32>
  %e = tensor.empty() : tensor<3x5x13xf32>
  %f = linalg.fill ins(%zero : f32) outs(%er : tensor<3x5xf32>) -> tensor<3x5xf32>
  %sum = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<3x5x13xf32>) outs(%f : tensor<3x5xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<3x5xf32>
  %var = linalg.generic {indexing_maps = [#x, #r, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %sum : tensor<3x5x13xf32>, tensor<3x5xf32>) outs(%f : tensor<3x5xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %n = arith.constant 13.0 : f32
    %mean = arith.divf %m, %n : f32
    %d = arith.subf %a, %mean : f32
    %q = arith.mulf %d, %d : f32
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32
  } -> tensor<3x5xf32>
  %0 = linalg.generic {indexing_maps = [#x, #r, #r, #g, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %sum, %var, %g : tensor<3x5x13xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<13xf32>) outs(%e : tensor<3x5x13xf32>) {
  ^bb0(%a: f32, %m: f32, %v: f32, %w: f32, %o: f32):
    %n = arith.constant 13.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %mean = arith.divf %m, %n : f32
    %variance = arith.divf %v, %n : f32
    %d = arith.subf %a, %mean : f32
    %p = arith.addf %variance, %eps : f32
    %r = math.rsqrt %p : f32
    %t = arith.mulf %d, %r : f32
    %u = arith.mulf %t, %w : f32
    linalg.yield %u : f32
  } -> tensor<3x5x13xf32>
  %squares = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<3x5x13xf32>) outs(%f : tensor<3x5xf32>) {
  ^bb0(%a: f32, %s: f32):
    %c2 = arith.constant 2 : i64
    %q = math.fpowi %a, %c2 : f32, i64
    %t = arith.addf %s, %q : f32
    linalg.yield %t : f32
  } -> tensor<3x5xf32>
  %1 = linalg.generic {indexing_maps = [#x, #r, #g, #x], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %squares, %g : tensor<3x5x13xf32>, tensor<3x5xf32>, tensor<13xf32>) outs(%e : tensor<3x5x13xf32>) {
  ^bb0(%a: f32, %m: f32, %w: f32, %o: f32):
    %n = arith.constant 13.0 : f32
    %mean = arith.divf %m, %n : f32
    %r = math.rsqrt %mean : f32
    %t = arith.mulf %a, %r : f32
    %u = arith.mulf %t, %w : f32
    linalg.yield %u : f32
  } -> tensor<3x5x13xf32>
  return %0, %1 : tensor<3x5x13xf32>, tensor<3x5x13xf32>
}
