// A table cut over tp and read by data, positions added, a causal mask, an arg-max over split columns.
#same = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
func.func @main(%ids: tensor<6xi64>, %table: tensor<16x8xf32> {spmd.sharding = [["tp"], []]}, %s: tensor<8x8xf32> {spmd.sharding = [["tp"], []]}, %w: tensor<8x12xf32> {spmd.sharding = [[], ["tp"]]})
    -> (tensor<6x8xf32>, tensor<8x8xf32>, tensor<6xf32>, tensor<6xi64>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -4096.0 : f32
  %none = arith.constant 0 : i64
  %e = tensor.empty() : tensor<6x8xf32>
  %rows = linalg.generic {indexing_maps = [#first, #same], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<6xi64>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<16x8xf32>
    linalg.yield %v : f32
  } -> tensor<6x8xf32>
  %e8 = tensor.empty() : tensor<8x8xf32>
  %masked = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<8x8xf32>) outs(%e8 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sle, %j, %i : index
    %v = arith.select %c, %a, %low : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %positions = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<8x8xf32>) outs(%e8 : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %f = arith.sitofp %k : i64 to f32
    %v = arith.addf %a, %f : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %e12 = tensor.empty() : tensor<6x12xf32>
  %z12 = linalg.fill ins(%zero : f32) outs(%e12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %logits = linalg.matmul ins(%rows, %w : tensor<6x8xf32>, tensor<8x12xf32>) outs(%z12 : tensor<6x12xf32>) -> tensor<6x12xf32>
  %e6 = tensor.empty() : tensor<6xf32>
  %i6 = tensor.empty() : tensor<6xi64>
  %l6 = linalg.fill ins(%low : f32) outs(%e6 : tensor<6xf32>) -> tensor<6xf32>
  %n6 = linalg.fill ins(%none : i64) outs(%i6 : tensor<6xi64>) -> tensor<6xi64>
  %top:2 = linalg.generic {indexing_maps = [#same, #first, #first], iterator_types = ["parallel", "reduction"]} ins(%logits : tensor<6x12xf32>) outs(%l6, %n6 : tensor<6xf32>, tensor<6xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i64
    %v = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %q = arith.select %c, %n, %k : i64
    linalg.yield %v, %q : f32, i64
  } -> (tensor<6xf32>, tensor<6xi64>)
  return %rows, %masked, %top#0, %top#1, %positions : tensor<6x8xf32>, tensor<8x8xf32>, tensor<6xf32>, tensor<6xi64>, tensor<8x8xf32>
}
