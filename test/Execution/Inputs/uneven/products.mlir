// Products of other forms: batched, by a transposed weight, of whole numbers, of 16 bits, by a factor that
// the summed loop lacks, and one that is no plain product.
// SPLIT: {"0":{"sharding":[["tp"],[],[]]},"1":{"sharding":[["tp"],[],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],[],["tp"]]},"1":{"sharding":[[],["tp"],[]]},"2":{"sharding":[[],["tp"]]}}
// SPLIT: {"1":{"sharding":[[],[],["tp"]]}}
// SPLIT: {"2":{"sharding":[["tp"],[]]}}
// SPLIT: {"3":{"sharding":[["tp"],[]]},"4":{"sharding":[[],["tp"]]},"5":{"sharding":[["tp"],[]]}}
// SPLIT: {"3":{"sharding":[[],["tp"]]},"4":{"sharding":[["tp"],[]]},"5":{"sharding":[[],["tp"]]},"6":{"sharding":[["tp"],[]]}}
#x = affine_map<(b, i, j, k) -> (b, i, k)>
#w = affine_map<(b, i, j, k) -> (j, k)>
#o = affine_map<(b, i, j, k) -> (b, i, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#ik = affine_map<(i, j, k) -> (i, k)>
#jk = affine_map<(i, j, k) -> (k, j)>
#i = affine_map<(i, j, k) -> (i, j)>
func.func @main(%x: tensor<3x5x7xf32>, %y: tensor<3x7x9xf32>, %w: tensor<11x7xf32>, %a: tensor<5x13xi32>, %b: tensor<13x7xi32>,
                %c: tensor<5x13xbf16>, %d: tensor<13x7xbf16>)
    -> (tensor<3x5x9xf32>, tensor<3x5x11xf32>, tensor<5x7xi32>, tensor<5x7xf32>, tensor<5x7xf32>) {
  %zero = arith.constant 0.0 : f32
  %izero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3x5x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x5x9xf32>) -> tensor<3x5x9xf32>
  %0 = linalg.batch_matmul ins(%x, %y : tensor<3x5x7xf32>, tensor<3x7x9xf32>) outs(%f : tensor<3x5x9xf32>) -> tensor<3x5x9xf32>
  %e1 = tensor.empty() : tensor<3x5x11xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x5x11xf32>) -> tensor<3x5x11xf32>
  %1 = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<3x5x7xf32>, tensor<11x7xf32>) outs(%f1 : tensor<3x5x11xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %r, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x5x11xf32>
  %e2 = tensor.empty() : tensor<5x7xi32>
  %f2 = linalg.fill ins(%izero : i32) outs(%e2 : tensor<5x7xi32>) -> tensor<5x7xi32>
  %2 = linalg.matmul ins(%a, %b : tensor<5x13xi32>, tensor<13x7xi32>) outs(%f2 : tensor<5x7xi32>) -> tensor<5x7xi32>
  %e3 = tensor.empty() : tensor<5x7xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = linalg.generic {indexing_maps = [#ik, #jk, #ij], iterator_types = ["parallel", "parallel", "reduction"]} ins(%c, %d : tensor<5x13xbf16>, tensor<13x7xbf16>) outs(%f3 : tensor<5x7xf32>) {
  ^bb0(%p: bf16, %q: bf16, %r: f32):
    %u = arith.extf %p : bf16 to f32
    %v = arith.extf %q : bf16 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %r, %m : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
  %4 = linalg.generic {indexing_maps = [#ik, #jk, #ij], iterator_types = ["parallel", "parallel", "reduction"]} ins(%c, %d : tensor<5x13xbf16>, tensor<13x7xbf16>) outs(%f3 : tensor<5x7xf32>) {
  ^bb0(%p: bf16, %q: bf16, %r: f32):
    %one = arith.constant 1.0 : f32
    %u = arith.extf %p : bf16 to f32
    %v = arith.extf %q : bf16 to f32
    %u1 = arith.addf %u, %one : f32
    %v1 = arith.addf %v, %one : f32
    %m = arith.mulf %u1, %v1 : f32
    %s = arith.addf %r, %m : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
  return %0, %1, %2, %3, %4 : tensor<3x5x9xf32>, tensor<3x5x11xf32>, tensor<5x7xi32>, tensor<5x7xf32>, tensor<5x7xf32>
}
