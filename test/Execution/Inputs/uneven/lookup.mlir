// Rows of a table named by data: the ids, the rows, the columns; bounds asserted; padding of the ids holds
// numbers that no table has.
// SPLIT: {"0":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]}}
// SPLIT: {"1":{"sharding":[["tp"],[]]}}
// SPLIT: {"1":{"sharding":[[],["tp"]]}}
func.func @main(%ids: tensor<3x5xi64>, %table: tensor<11x7xf32>) -> tensor<3x5x7xf32> {
  %e = tensor.empty() : tensor<3x5x7xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : tensor<3x5xi64>) outs(%e : tensor<3x5x7xf32>) {
  ^bb0(%id: i64, %o: f32):
    %c0 = arith.constant 0 : i64
    %n = arith.constant 11 : i64
    %low = arith.cmpi sge, %id, %c0 : i64
    %high = arith.cmpi slt, %id, %n : i64
    cf.assert %low, "index is negative"
    cf.assert %high, "index is too large"
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 2 : index
    %v = tensor.extract %table[%row, %column] : tensor<11x7xf32>
    linalg.yield %v : f32
  } -> tensor<3x5x7xf32>
  return %0 : tensor<3x5x7xf32>
}
