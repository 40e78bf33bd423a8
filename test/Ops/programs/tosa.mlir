// TOSA.
func.func @unary(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %v0 = tosa.tanh %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = tosa.sigmoid %v0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v2 = tosa.exp %v1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v3 = tosa.log %v2 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v4 = tosa.abs %v3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v5 = tosa.identity %v4 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v6 = tosa.sin %v5 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v7 = tosa.cos %v6 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v8 = tosa.erf %v7 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %v9 = tosa.floor %v8 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %v9 : tensor<4x6xf32>
}
// -----
func.func @unary_more(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = tosa.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tosa.reciprocal %a : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = tosa.rsqrt %b : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %d = tosa.ceil %c : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %f = tosa.negate %d, %z, %z : (tensor<4x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x6xf32>
  %r = tosa.clamp %f {min_val = -3.5 : f32, max_val = -0.5 : f32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @binary(%x: tensor<4x6xf32>, %y: tensor<1x6xf32>) -> tensor<4x6xf32> {
  %s = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %a = tosa.add %x, %y : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  %b = tosa.sub %a, %y : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  %c = tosa.mul %b, %y, %s : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<1xi8>) -> tensor<4x6xf32>
  %d = tosa.maximum %c, %y : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  %f = tosa.minimum %d, %y : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x6xf32>
  %g = tosa.exp %f : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = tosa.pow %g, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @comparisons(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = tosa.greater %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  %b = tosa.greater_equal %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  %c = tosa.equal %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  %d = tosa.logical_and %a, %b : (tensor<4x6xi1>, tensor<4x6xi1>) -> tensor<4x6xi1>
  %f = tosa.logical_or %d, %c : (tensor<4x6xi1>, tensor<4x6xi1>) -> tensor<4x6xi1>
  %g = tosa.logical_xor %f, %a : (tensor<4x6xi1>, tensor<4x6xi1>) -> tensor<4x6xi1>
  %h = tosa.logical_not %g : (tensor<4x6xi1>) -> tensor<4x6xi1>
  %r = tosa.select %h, %x, %y : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @integers(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %s = "tosa.const"() <{values = dense<2> : tensor<1x1xi32>}> : () -> tensor<1x1xi32>
  %a = tosa.add %x, %s : (tensor<4x6xi32>, tensor<1x1xi32>) -> tensor<4x6xi32>
  %b = tosa.logical_left_shift %a, %s : (tensor<4x6xi32>, tensor<1x1xi32>) -> tensor<4x6xi32>
  %c = tosa.logical_right_shift %b, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %d = tosa.arithmetic_right_shift %b, %y {round = true} : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %f = tosa.bitwise_and %c, %d : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %g = tosa.bitwise_or %f, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %h = tosa.bitwise_xor %g, %x : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %i = tosa.bitwise_not %h : (tensor<4x6xi32>) -> tensor<4x6xi32>
  %j = tosa.clz %i : (tensor<4x6xi32>) -> tensor<4x6xi32>
  %k = tosa.intdiv %j, %s : (tensor<4x6xi32>, tensor<1x1xi32>) -> tensor<4x6xi32>
  return %k : tensor<4x6xi32>
}
// -----
func.func @casts(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = tosa.cast %x : (tensor<4x6xf32>) -> tensor<4x6xf16>
  %b = tosa.cast %a : (tensor<4x6xf16>) -> tensor<4x6xi32>
  %c = tosa.cast %b : (tensor<4x6xi32>) -> tensor<4x6xf32>
  %d = tosa.add %x, %c : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}
// -----
func.func @matmul(%x: tensor<2x4x6xf32>, %y: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = tosa.matmul %x, %y, %z, %z : (tensor<2x4x6xf32>, tensor<2x6x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}
// -----
func.func @reduce_sum(%x: tensor<4x6x8xf32>) -> tensor<4x1x8xf32> {
  %r = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<4x6x8xf32>) -> tensor<4x1x8xf32>
  return %r : tensor<4x1x8xf32>
}
// -----
func.func @reduce_max(%x: tensor<4x6x8xf32>) -> tensor<4x1x8xf32> {
  %r = tosa.reduce_max %x {axis = 1 : i32} : (tensor<4x6x8xf32>) -> tensor<4x1x8xf32>
  return %r : tensor<4x1x8xf32>
}
// -----
func.func @reduce_min(%x: tensor<4x6x8xf32>) -> tensor<4x1x8xf32> {
  %r = tosa.reduce_min %x {axis = 1 : i32} : (tensor<4x6x8xf32>) -> tensor<4x1x8xf32>
  return %r : tensor<4x1x8xf32>
}
// -----
func.func @reduce_product(%x: tensor<4x6x8xf32>) -> tensor<4x1x8xf32> {
  %r = tosa.reduce_product %x {axis = 1 : i32} : (tensor<4x6x8xf32>) -> tensor<4x1x8xf32>
  return %r : tensor<4x1x8xf32>
}
// -----
func.func @reduce_all(%x: tensor<4x6xi1>) -> tensor<4x1xi1> {
  %r = tosa.reduce_all %x {axis = 1 : i32} : (tensor<4x6xi1>) -> tensor<4x1xi1>
  return %r : tensor<4x1xi1>
}
// -----
func.func @reduce_any(%x: tensor<4x6xi1>) -> tensor<4x1xi1> {
  %r = tosa.reduce_any %x {axis = 1 : i32} : (tensor<4x6xi1>) -> tensor<4x1xi1>
  return %r : tensor<4x1xi1>
}
// -----
func.func @argmax(%x: tensor<4x6xf32>) -> tensor<4xi32> {
  %r = tosa.argmax %x {axis = 1 : i32} : (tensor<4x6xf32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
// -----
func.func @shapes(%x: tensor<2x4x6xf32>) -> tensor<6x8xf32> {
  %s = tosa.const_shape {values = dense<[8, 6]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %a = tosa.reshape %x, %s : (tensor<2x4x6xf32>, !tosa.shape<2>) -> tensor<8x6xf32>
  %r = tosa.transpose %a {perms = array<i32: 1, 0>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
// -----
func.func @concat(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x12xf32> {
  %r = tosa.concat %x, %y {axis = 1 : i32} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  return %r : tensor<4x12xf32>
}
// -----
func.func @pad(%x: tensor<4x6xf32>) -> tensor<4x10xf32> {
  %p = tosa.const_shape {values = dense<[0, 0, 1, 3]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() <{values = dense<1.5> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = tosa.pad %x, %p, %v : (tensor<4x6xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<4x10xf32>
  return %r : tensor<4x10xf32>
}
// -----
func.func @slice(%x: tensor<8x10xf32>) -> tensor<8x5xf32> {
  %s = tosa.const_shape {values = dense<[0, 5]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %z = tosa.const_shape {values = dense<[8, 5]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %r = tosa.slice %x, %s, %z : (tensor<8x10xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<8x5xf32>
  return %r : tensor<8x5xf32>
}
// -----
func.func @reverse(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = tosa.reverse %x {axis = 1 : i32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @tile(%x: tensor<4x6xf32>) -> tensor<8x12xf32> {
  %m = tosa.const_shape {values = dense<[2, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %r = tosa.tile %x, %m : (tensor<4x6xf32>, !tosa.shape<2>) -> tensor<8x12xf32>
  return %r : tensor<8x12xf32>
}
// -----
func.func @gather(%x: tensor<2x8x6xf32>, %i: tensor<2x4xi32>) -> tensor<2x4x6xf32> {
  %r = tosa.gather %x, %i : (tensor<2x8x6xf32>, tensor<2x4xi32>) -> tensor<2x4x6xf32>
  return %r : tensor<2x4x6xf32>
}
// -----
func.func @scatter(%v: tensor<2x8x6xf32>, %i: tensor<2x1xi32>, %x: tensor<2x1x6xf32>) -> tensor<2x8x6xf32> {
  %r = tosa.scatter %v, %i, %x : (tensor<2x8x6xf32>, tensor<2x1xi32>, tensor<2x1x6xf32>) -> tensor<2x8x6xf32>
  return %r : tensor<2x8x6xf32>
}
// -----
func.func @conv2d(%x: tensor<2x6x6x4xf32>, %w: tensor<6x3x3x4xf32>, %b: tensor<6xf32>) -> tensor<2x6x6x6xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<2x6x6x4xf32>, tensor<6x3x3x4xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x6x6x6xf32>
  return %r : tensor<2x6x6x6xf32>
}
// -----
func.func @conv3d(%x: tensor<2x4x4x4x4xf32>, %w: tensor<6x2x2x2x4xf32>, %b: tensor<6xf32>) -> tensor<2x3x3x3x6xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = tosa.conv3d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>} : (tensor<2x4x4x4x4xf32>, tensor<6x2x2x2x4xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x3x3x6xf32>
  return %r : tensor<2x3x3x3x6xf32>
}
// -----
func.func @depthwise_conv2d(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x2xf32>, %b: tensor<8xf32>) -> tensor<2x4x4x8xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = tosa.depthwise_conv2d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<2x6x6x4xf32>, tensor<3x3x4x2xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4x8xf32>
  return %r : tensor<2x4x4x8xf32>
}
// -----
func.func @avg_pool2d(%x: tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %r = tosa.avg_pool2d %x, %z, %z {acc_type = f32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<2x8x8x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x4x4xf32>
  return %r : tensor<2x4x4x4xf32>
}
// -----
func.func @max_pool2d(%x: tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32> {
  %r = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32>
  return %r : tensor<2x4x4x4xf32>
}
// -----
func.func @resize(%x: tensor<2x4x4x6xf32>) -> tensor<2x8x8x6xf32> {
  %s = tosa.const_shape {values = dense<[4, 2, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<[-1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.const_shape {values = dense<[1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %r = tosa.resize %x, %s, %o, %b {mode = BILINEAR} : (tensor<2x4x4x6xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x8x8x6xf32>
  return %r : tensor<2x8x8x6xf32>
}
// -----
func.func @rescale(%x: tensor<4x6xi32>) -> tensor<4x6xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
  %i = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %o = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r = tosa.rescale %x, %m, %s, %i, %o {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4x6xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4x6xi8>
  return %r : tensor<4x6xi8>
}
// -----
func.func @apply_scale(%x: tensor<4x6xi32>, %m: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %s = "tosa.const"() <{values = dense<10> : tensor<4x6xi8>}> : () -> tensor<4x6xi8>
  %r = tosa.apply_scale %x, %m, %s {rounding_mode = SINGLE_ROUND} : (tensor<4x6xi32>, tensor<4x6xi32>, tensor<4x6xi8>) -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
// -----
func.func @table(%x: tensor<4x6xi8>) -> tensor<4x6xi8> {
  %t = "tosa.const"() <{values = dense<7> : tensor<256xi8>}> : () -> tensor<256xi8>
  %r = tosa.table %x, %t : (tensor<4x6xi8>, tensor<256xi8>) -> tensor<4x6xi8>
  return %r : tensor<4x6xi8>
}
// -----
func.func @fft(%x: tensor<2x4x8xf32>, %y: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %r, %i = tosa.fft2d %x, %y {inverse = false} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return %r, %i : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
// -----
func.func @rfft(%x: tensor<2x4x8xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xf32>) {
  %r, %i = tosa.rfft2d %x : (tensor<2x4x8xf32>) -> (tensor<2x4x5xf32>, tensor<2x4x5xf32>)
  return %r, %i : tensor<2x4x5xf32>, tensor<2x4x5xf32>
}
// -----
func.func @control(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %n: tensor<i32>) -> tensor<4x6xf32> {
  %zero = "tosa.const"() <{values = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %p = tosa.greater_equal %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %a = tosa.cond_if %p : tensor<i1> -> tensor<4x6xf32> {
    %b = tosa.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    tosa.yield %b : tensor<4x6xf32>
  } else {
    %c = tosa.sub %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    tosa.yield %c : tensor<4x6xf32>
  }
  %three = "tosa.const"() <{values = dense<3> : tensor<i32>}> : () -> tensor<i32>
  %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = tosa.while_loop (%i = %zero, %v = %a) : (tensor<i32>, tensor<4x6xf32>) -> (tensor<i32>, tensor<4x6xf32>) {
    %go = tosa.greater %three, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %go : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %v: tensor<4x6xf32>):
    %j = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %w = tosa.add %v, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    tosa.yield %j, %w : tensor<i32>, tensor<4x6xf32>
  }
  return %r#1 : tensor<4x6xf32>
}
