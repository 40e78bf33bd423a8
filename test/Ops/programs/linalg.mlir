// Other ops of linalg.
func.func @unary_a(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %one = arith.constant 1.5 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v0 = linalg.mul ins(%x, %f : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = linalg.tanh ins(%v0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v2 = linalg.exp ins(%v1 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v3 = linalg.log ins(%v2 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v4 = linalg.abs ins(%v3 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v5 = linalg.square ins(%v4 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v6 = linalg.sqrt ins(%v5 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v7 = linalg.negf ins(%v6 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v8 = linalg.erf ins(%v7 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %v8 : tensor<4x6xf32>
}
// -----
func.func @unary_b(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %one = arith.constant 1.5 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v0 = linalg.mul ins(%x, %f : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = linalg.abs ins(%v0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v2 = linalg.exp ins(%v1 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v3 = linalg.rsqrt ins(%v2 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v4 = linalg.reciprocal ins(%v3 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %v4 : tensor<4x6xf32>
}
// -----
func.func @unary_c(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %one = arith.constant 1.5 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v0 = linalg.mul ins(%x, %f : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = linalg.ceil ins(%v0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %v1 : tensor<4x6xf32>
}
// -----
func.func @unary_d(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %one = arith.constant 1.5 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v0 = linalg.mul ins(%x, %f : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = linalg.floor ins(%v0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %v1 : tensor<4x6xf32>
}
// -----
func.func @unary_e(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %one = arith.constant 1.5 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v0 = linalg.mul ins(%x, %f : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = linalg.round ins(%v0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %v1 : tensor<4x6xf32>
}
// -----
func.func @binary(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %a = linalg.add ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.sub ins(%a, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = linalg.mul ins(%b, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %d = linalg.exp ins(%y : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %f = linalg.div ins(%c, %d : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = linalg.max ins(%f, %x : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %h = linalg.min ins(%g, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %i = linalg.powf ins(%d, %h : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %j = linalg.copy ins(%i : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %j : tensor<4x6xf32>
}
// -----
func.func @select(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %p: tensor<4x6xi1>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.select ins(%p, %x, %y : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @div_unsigned(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %e = tensor.empty() : tensor<4x6xi32>
  %three = arith.constant 3 : i32
  %f = linalg.fill ins(%three : i32) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>
  %d = linalg.add ins(%y, %f : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>
  %0 = linalg.div_unsigned ins(%x, %d : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// -----
func.func @elementwise(%x: tensor<6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] ins(%x, %y : tensor<6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @moves(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<6x4xf32> {
  %e = tensor.empty() : tensor<6x4xf32>
  %t = linalg.transpose ins(%x : tensor<4x6xf32>) outs(%e : tensor<6x4xf32>) permutation = [1, 0]
  %b = linalg.broadcast ins(%y : tensor<6xf32>) outs(%e : tensor<6x4xf32>) dimensions = [1]
  %0 = linalg.map { arith.addf } ins(%t, %b : tensor<6x4xf32>, tensor<6x4xf32>) outs(%e : tensor<6x4xf32>)
  return %0 : tensor<6x4xf32>
}
// -----
func.func @reduce_sum(%x: tensor<4x6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x6x8xf32>) outs(%i : tensor<4x8xf32>) dimensions = [1]
  return %0 : tensor<4x8xf32>
}
// -----
func.func @reduce_max(%x: tensor<4x6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<4x6x8xf32>) outs(%i : tensor<4x8xf32>) dimensions = [1]
  return %0 : tensor<4x8xf32>
}
// -----
func.func @reduce_min(%x: tensor<4x6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0x7F800000 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.reduce { arith.minimumf } ins(%x : tensor<4x6x8xf32>) outs(%i : tensor<4x8xf32>) dimensions = [1]
  return %0 : tensor<4x8xf32>
}
// -----
func.func @reduce_product(%x: tensor<4x6x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.reduce { arith.mulf } ins(%x : tensor<4x6x8xf32>) outs(%i : tensor<4x8xf32>) dimensions = [1]
  return %0 : tensor<4x8xf32>
}
// -----
func.func @softmax(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
// Loop numbers in a named op's body.
func.func @random(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %low = arith.constant -1.0 : f64
  %high = arith.constant 1.0 : f64
  %seed = arith.constant 7 : i32
  %e = tensor.empty() : tensor<4x6xf32>
  %r = linalg.fill_rng_2d ins(%low, %high, %seed : f64, f64, i32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = linalg.add ins(%x, %r : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
// Row maximum and its place, two results of one op; ties go to the first.
func.func @arg_max(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xi64>
  %n = linalg.fill ins(%zero : i64) outs(%f : tensor<4xi64>) -> tensor<4xi64>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%m, %n : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %larger = arith.cmpf ogt, %in, %best : f32
    %v = arith.select %larger, %in, %best : f32
    %w = arith.select %larger, %k, %at : i64
    linalg.yield %v, %w : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi64>
}
// -----
// Two results with combiners of their own.
func.func @sum_and_max(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf32>) outs(%m, %n : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %s: f32, %t: f32):
    %v = arith.addf %s, %in : f32
    %w = arith.maximumf %t, %in : f32
    linalg.yield %v, %w : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
// -----
// Elementwise with two results, positions and a value that the body captures.
func.func @two_results(%x: tensor<4x6xf32>, %table: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6x4xi64>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<6x4xi64>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e, %f : tensor<4x6xf32>, tensor<6x4xi64>) {
  ^bb0(%in: f32, %o: f32, %p: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %t = tensor.extract %table[%j] : tensor<6xf32>
    %v = arith.mulf %in, %t : f32
    %a = arith.muli %i, %j : index
    %b = arith.index_cast %a : index to i64
    linalg.yield %v, %b : f32, i64
  } -> (tensor<4x6xf32>, tensor<6x4xi64>)
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<6x4xi64>
}
// -----
// A table indexed by data.
func.func @embedding(%ids: tensor<4x6xi64>, %table: tensor<8x10xf32>) -> tensor<4x6x10xf32> {
  %e = tensor.empty() : tensor<4x6x10xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : tensor<4x6xi64>) outs(%e : tensor<4x6x10xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %d = linalg.index 2 : index
    %v = tensor.extract %table[%i, %d] : tensor<8x10xf32>
    linalg.yield %v : f32
  } -> tensor<4x6x10xf32>
  return %0 : tensor<4x6x10xf32>
}
