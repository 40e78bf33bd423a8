// Rows of a table of 6 at ids that must lie in it.
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func @main(%table: tensor<6x8xf32>, %ids: tensor<64xi64>) -> tensor<64x8xf32> {
  %limit = arith.constant 6 : index
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<64x8xf32>
  %y = linalg.generic {indexing_maps = [#rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<64xi64>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %below = arith.cmpi slt, %row, %limit : index
    cf.assert %below, "index must be smaller than dim size"
    %least = arith.cmpi sge, %id, %zero : i64
    cf.assert %least, "index must be larger or equal to 0"
    %value = tensor.extract %table[%row, %column] : tensor<6x8xf32>
    linalg.yield %value : f32
  } -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}
