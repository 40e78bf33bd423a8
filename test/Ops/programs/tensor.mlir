func.func @gather(%table: tensor<4x6x10xf32>, %at: tensor<8x2xi64>) -> tensor<8x6xf32> {
  %zero = arith.constant 0 : i64
  %0 = tensor.gather %table[%at] gather_dims([0, 2]) : (tensor<4x6x10xf32>, tensor<8x2xi64>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
// Gathered dimensions stay as extents of one.
func.func @gather_units(%table: tensor<4x6x10xf32>, %at: tensor<8x1xi64>) -> tensor<8x4x1x10xf32> {
  %0 = tensor.gather %table[%at] gather_dims([1]) : (tensor<4x6x10xf32>, tensor<8x1xi64>) -> tensor<8x4x1x10xf32>
  return %0 : tensor<8x4x1x10xf32>
}
// -----
// Positions are the loop numbers of a shuffled range: unique.
func.func @scatter(%update: tensor<4x6xf32>, %into: tensor<8x6xf32>, %at: tensor<4xi64>) -> tensor<8x6xf32> {
  %init = tensor.empty() : tensor<4x1xindex>
  %unique = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%init : tensor<4x1xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    %three = arith.constant 3 : index
    %eight = arith.constant 8 : index
    %p = arith.muli %i, %three : index
    %q = arith.remui %p, %eight : index
    linalg.yield %q : index
  } -> tensor<4x1xindex>
  %0 = tensor.scatter %update into %into[%unique] scatter_dims([0]) unique : (tensor<4x6xf32>, tensor<8x6xf32>, tensor<4x1xindex>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
// A position known at run time only: one row, made unique by its number.
func.func @scatter_run_time(%update: tensor<1x6xf32>, %into: tensor<8x6xf32>, %at: tensor<1x1xi64>) -> tensor<8x6xf32> {
  %0 = tensor.scatter %update into %into[%at] scatter_dims([0]) unique : (tensor<1x6xf32>, tensor<8x6xf32>, tensor<1x1xi64>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
func.func @generate(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<8x10xindex>) {
  %two = arith.constant 2.0 : f32
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %x[%i, %j] : tensor<4x6xf32>
    %w = arith.mulf %v, %two : f32
    tensor.yield %w : f32
  } : tensor<4x6xf32>
  %1 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %ten = arith.constant 10 : index
    %a = arith.muli %i, %ten : index
    %b = arith.addi %a, %j : index
    tensor.yield %b : index
  } : tensor<8x10xindex>
  return %0, %1 : tensor<4x6xf32>, tensor<8x10xindex>
}
// -----
func.func @from_elements(%x: tensor<4x6xf32>) -> tensor<2x2xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %a = tensor.extract %x[%c0, %c5] : tensor<4x6xf32>
  %b = tensor.extract %x[%c3, %c0] : tensor<4x6xf32>
  %0 = tensor.from_elements %a, %b, %b, %a : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
// -----
func.func @insert(%x: tensor<4x6xf32>, %y: tensor<8xf32>) -> tensor<4x6xf32> {
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %a = tensor.extract %y[%c5] : tensor<8xf32>
  %0 = tensor.insert %a into %x[%c2, %c5] : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @extents(%x: tensor<4x6xf32>) -> tensor<2xindex> {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<4x6xf32>
  %r = tensor.rank %x : tensor<4x6xf32>
  %0 = tensor.from_elements %d, %r : tensor<2xindex>
  return %0 : tensor<2xindex>
}
// -----
func.func @casts(%x: tensor<4x6xf32>) -> (tensor<4x6xi32>, tensor<4x6xf32>) {
  %a = tensor.cast %x : tensor<4x6xf32> to tensor<4x6xf32>
  %0 = tensor.bitcast %a : tensor<4x6xf32> to tensor<4x6xi32>
  return %0, %a : tensor<4x6xi32>, tensor<4x6xf32>
}
// -----
func.func @concat(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %z: tensor<4x4xf32>) -> (tensor<4x12xf32>, tensor<4x16xf32>) {
  %0 = tensor.concat dim(1) %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %1 = tensor.concat dim(1) %x, %y, %z : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x12xf32>, tensor<4x16xf32>
}
// -----
func.func @pad(%x: tensor<4x6xf32>) -> tensor<4x10xf32> {
  %v = arith.constant 2.5 : f32
  %0 = tensor.pad %x low[0, 1] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<4x6xf32> to tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
// -----
func.func @splat(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %v = arith.constant 2.5 : f32
  %s = tensor.splat %v : tensor<4x6xf32>
  %0 = arith.addf %x, %s : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
// A splat of a value computed at run time.
func.func @splat_run_time(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %x[%c0, %c0] : tensor<4x6xf32>
  %s = tensor.splat %v : tensor<4x6xf32>
  %0 = arith.addf %x, %s : tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %shape = arith.constant dense<[2, 12]> : tensor<2xindex>
  %0 = tensor.reshape %x(%shape) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}
// -----
func.func @reshapes(%x: tensor<4x6x10xf32>) -> tensor<4x60xf32> {
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<4x6x10xf32> into tensor<24x10xf32>
  %b = tensor.expand_shape %a [[0, 1], [2]] output_shape [4, 6, 10] : tensor<24x10xf32> into tensor<4x6x10xf32>
  %0 = tensor.collapse_shape %b [[0], [1, 2]] : tensor<4x6x10xf32> into tensor<4x60xf32>
  return %0 : tensor<4x60xf32>
}
// -----
func.func @slices(%x: tensor<8x10xf32>) -> (tensor<8x5xf32>, tensor<3x10xf32>, tensor<4x10xf32>, tensor<10xf32>) {
  %0 = tensor.extract_slice %x[0, 5] [8, 5] [1, 1] : tensor<8x10xf32> to tensor<8x5xf32>
  %1 = tensor.extract_slice %x[2, 0] [3, 10] [1, 1] : tensor<8x10xf32> to tensor<3x10xf32>
  %2 = tensor.extract_slice %x[1, 0] [4, 10] [2, 1] : tensor<8x10xf32> to tensor<4x10xf32>
  %3 = tensor.extract_slice %x[7, 0] [1, 10] [1, 1] : tensor<8x10xf32> to tensor<10xf32>
  return %0, %1, %2, %3 : tensor<8x5xf32>, tensor<3x10xf32>, tensor<4x10xf32>, tensor<10xf32>
}
// -----
func.func @insert_slices(%x: tensor<8x10xf32>, %row: tensor<10xf32>, %block: tensor<3x4xf32>) -> tensor<8x10xf32> {
  %0 = tensor.insert_slice %row into %x[5, 0] [1, 10] [1, 1] : tensor<10xf32> into tensor<8x10xf32>
  %1 = tensor.insert_slice %block into %0[1, 3] [3, 4] [2, 2] : tensor<3x4xf32> into tensor<8x10xf32>
  return %1 : tensor<8x10xf32>
}
// -----
// A cache updated at a position known at run time.
func.func @cache(%cache: tensor<4x8x6xf32>, %new: tensor<4x1x6xf32>, %at: tensor<1xi64>) -> tensor<4x8x6xf32> {
  %c0 = arith.constant 0 : index
  %p = tensor.extract %at[%c0] : tensor<1xi64>
  %q = arith.index_cast %p : i64 to index
  %0 = tensor.insert_slice %new into %cache[0, %q, 0] [4, 1, 6] [1, 1, 1] : tensor<4x1x6xf32> into tensor<4x8x6xf32>
  return %0 : tensor<4x8x6xf32>
}
// -----
// Read back at a position known at run time.
func.func @cache_read(%cache: tensor<4x8x6xf32>, %at: tensor<1xi64>) -> tensor<4x2x6xf32> {
  %c0 = arith.constant 0 : index
  %p = tensor.extract %at[%c0] : tensor<1xi64>
  %q = arith.index_cast %p : i64 to index
  %0 = tensor.extract_slice %cache[0, %q, 0] [4, 2, 6] [1, 1, 1] : tensor<4x8x6xf32> to tensor<4x2x6xf32>
  return %0 : tensor<4x2x6xf32>
}
// -----
func.func @empty() -> tensor<4x6xf32> {
  %z = arith.constant 1.5 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
