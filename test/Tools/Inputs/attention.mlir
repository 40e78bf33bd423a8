// Attention of one head over 16 positions of width 32. Result 1 is the mean square of the logits.
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
#scalar = affine_map<(i, j) -> ()>
func.func @main(%x: tensor<16x32xf32>, %wq: tensor<32x32xf32>, %wk: tensor<32x32xf32>,
                %wv: tensor<32x32xf32>) -> (tensor<16x32xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.17677669529 : f32
  %count = arith.constant 256.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<16x32xf32>, tensor<32x32xf32>)
      outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<16x32xf32>, tensor<32x32xf32>)
      outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<16x32xf32>, tensor<32x32xf32>)
      outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %et = tensor.empty() : tensor<32x16xf32>
  %kt = linalg.transpose ins(%k : tensor<16x32xf32>) outs(%et : tensor<32x16xf32>)
      permutation = [1, 0]
  %es = tensor.empty() : tensor<16x16xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<16x16xf32>) -> tensor<16x16xf32>
  %raw = linalg.matmul ins(%q, %kt : tensor<16x32xf32>, tensor<32x16xf32>)
      outs(%fs : tensor<16x16xf32>) -> tensor<16x16xf32>
  %logits = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%raw : tensor<16x16xf32>) outs(%es : tensor<16x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %er = tensor.empty() : tensor<16xf32>
  %fl = linalg.fill ins(%lowest : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %max = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%logits : tensor<16x16xf32>) outs(%fl : tensor<16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.maximumf %a, %out : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %exp = linalg.generic {indexing_maps = [#all, #rows, #all],
                         iterator_types = ["parallel", "parallel"]}
      ins(%logits, %max : tensor<16x16xf32>, tensor<16xf32>) outs(%es : tensor<16x16xf32>) {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %0 = arith.subf %a, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x16xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<16x16xf32>) outs(%fr : tensor<16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %a, %out : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %probabilities = linalg.generic {indexing_maps = [#all, #rows, #all],
                                   iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<16x16xf32>, tensor<16xf32>) outs(%es : tensor<16x16xf32>) {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %0 = arith.divf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<16x16xf32>
  %y = linalg.matmul ins(%probabilities, %v : tensor<16x16xf32>, tensor<16x32xf32>)
      outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %e0 = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %square = linalg.generic {indexing_maps = [#all, #scalar],
                            iterator_types = ["reduction", "reduction"]}
      ins(%logits : tensor<16x16xf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.divf %0, %count : f32
    %2 = arith.addf %1, %out : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %y, %square : tensor<16x32xf32>, tensor<f32>
}
