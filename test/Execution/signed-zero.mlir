// Rows of a split table are summed from all ranks, of which one has the row: the sign of a zero in it
// stays, which a quotient shows.
// RUN: echo '{"version": 1, "args": {"0": {"sharding": [["tp"]]}}}' > %t.json
// RUN: shard-run %s --auto-shard=tp3 --annotations=%t.json --check | FileCheck %s
// CHECK: result 0 8xf32 against the unsharded program: equal (largest magnitude 0)
// CHECK: result 1 8xf32 against the unsharded program: equal (largest magnitude 0, some values not finite)
// CHECK: sent by a rank, mean, an iteration: all-reduce
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<100xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant dense<0.0> : tensor<100xf32>
  %one = arith.constant 1.0 : f32
  %ids = arith.constant dense<[7, 91, 2, 66, 33, 0, 99, 45]> : tensor<8xi64>
  %table = arith.mulf %x, %zero : tensor<100xf32>
  %e = tensor.empty() : tensor<8xf32>
  %rows = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: i64, %o: f32):
    %0 = arith.index_cast %i : i64 to index
    %1 = tensor.extract %table[%0] : tensor<100xf32>
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %quotients = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.divf %one, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %rows, %quotients : tensor<8xf32>, tensor<8xf32>
}
