// One program for each op that is refused.
func.func @pack(%x: tensor<8x6xf32>) -> tensor<2x3x4x2xf32> {
  %e = tensor.empty() : tensor<2x3x4x2xf32>
  %0 = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [4, 2] into %e : tensor<8x6xf32> -> tensor<2x3x4x2xf32>
  return %0 : tensor<2x3x4x2xf32>
}
// -----
func.func @unpack(%x: tensor<2x3x4x2xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %0 = linalg.unpack %x inner_dims_pos = [0, 1] inner_tiles = [4, 2] into %e : tensor<2x3x4x2xf32> -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// -----
func.func @winograd_filter(%x: tensor<2x3x3x5xf32>) -> tensor<6x6x5x2xf32> {
  %e = tensor.empty() : tensor<6x6x5x2xf32>
  %0 = linalg.winograd_filter_transform fmr(F_4_3) ins(%x : tensor<2x3x3x5xf32>) outs(%e : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  return %0 : tensor<6x6x5x2xf32>
}
// -----
func.func @winograd_input(%x: tensor<2x10x10x5xf32>) -> tensor<6x6x2x2x2x5xf32> {
  %e = tensor.empty() : tensor<6x6x2x2x2x5xf32>
  %0 = linalg.winograd_input_transform fmr(F_4_3) ins(%x : tensor<2x10x10x5xf32>) outs(%e : tensor<6x6x2x2x2x5xf32>) -> tensor<6x6x2x2x2x5xf32>
  return %0 : tensor<6x6x2x2x2x5xf32>
}
// -----
func.func @winograd_output(%x: tensor<6x6x2x2x2x2xf32>) -> tensor<2x8x8x2xf32> {
  %e = tensor.empty() : tensor<2x8x8x2xf32>
  %0 = linalg.winograd_output_transform fmr(F_4_3) ins(%x : tensor<6x6x2x2x2x2xf32>) outs(%e : tensor<2x8x8x2xf32>) -> tensor<2x8x8x2xf32>
  return %0 : tensor<2x8x8x2xf32>
}
// -----
func.func @forall(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = scf.forall (%i) in (8) shared_outs(%o = %e) -> (tensor<8xf32>) {
    %s = tensor.extract_slice %x[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %0 : tensor<8xf32>
}
// -----
func.func @parallel(%x: tensor<8xf32>) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = arith.constant 0.0 : f32
  %s = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%z) -> f32 {
    %v = tensor.extract %x[%i] : tensor<8xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      scf.reduce.return %c : f32
    }
  }
  %0 = tensor.from_elements %s : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
func.func @scaling_extf(%x: tensor<8xf8E5M2>, %s: tensor<8xf8E8M0FNU>) -> tensor<8xf32> {
  %0 = arith.scaling_extf %x, %s : tensor<8xf8E5M2>, tensor<8xf8E8M0FNU> to tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
func.func @scaling_truncf(%x: tensor<8xf32>, %s: tensor<8xf8E8M0FNU>) -> tensor<8xf8E5M2> {
  %0 = arith.scaling_truncf %x, %s : tensor<8xf32>, tensor<8xf8E8M0FNU> to tensor<8xf8E5M2>
  return %0 : tensor<8xf8E5M2>
}
// -----
func.func @cast_from_block_scaled(%x: tensor<4x32xf8E4M3FN>, %s: tensor<4x1xf8E8M0FNU>) -> tensor<4x32xf32> {
  %0 = tosa.cast_from_block_scaled %x, %s {block_size = BLOCK_SIZE_32} : (tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
// -----
func.func @custom(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tosa.custom %x {domain_name = "mine", operator_name = "twice", implementation_attrs = ""} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
func.func @transpose_conv2d(%x: tensor<1x4x4x4xf32>, %w: tensor<6x3x3x4xf32>, %b: tensor<6xf32>) -> tensor<1x6x6x6xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<6x3x3x4xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x6xf32>
  return %0 : tensor<1x6x6x6xf32>
}
// -----
func.func @add_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.add_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @concat_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.concat_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<2>
  return %x : tensor<8xf32>
}
// -----
func.func @div_ceil_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.div_ceil_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @div_floor_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.div_floor_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @max_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.max_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @min_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.min_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @mod_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.mod_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @mul_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.mul_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @sub_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.sub_shape %a, %a : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @exp2_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.exp2_shape %a : (!tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @log2_ceil_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.log2_ceil_shape %a : (!tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @log2_floor_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.log2_floor_shape %a : (!tosa.shape<1>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @slice_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tosa.const_shape {values = dense<[4, 2, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %b = "tosa.const"() <{values = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = tosa.slice_shape %a, %b, %b : (!tosa.shape<3>, tensor<1xi32>, tensor<1xi32>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @dim(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = tosa.dim %x {axis = 0 : i32} : (tensor<8xf32>) -> !tosa.shape<1>
  return %x : tensor<8xf32>
}
// -----
func.func @cast_to_block_scaled(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0, %1 = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<4x32xf32>) -> (tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>)
  return %x : tensor<4x32xf32>
}
// -----
func.func @matmul_block_scaled(%x: tensor<4x32xf32>, %a: tensor<2x4x32xf8E4M3FN>, %s: tensor<2x4x1xf8E8M0FNU>) -> tensor<2x4x4xf32> {
  %0 = tosa.matmul_t_block_scaled %a, %s, %a, %s {block_size = BLOCK_SIZE_32} : (tensor<2x4x32xf8E4M3FN>, tensor<2x4x1xf8E8M0FNU>, tensor<2x4x32xf8E4M3FN>, tensor<2x4x1xf8E8M0FNU>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
tosa.variable @state = dense<1.0> : tensor<8xf32>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
// -----
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  tosa.variable_write @state, %x : tensor<8xf32>
  return %x : tensor<8xf32>
}
tosa.variable @state = dense<1.0> : tensor<8xf32>
// -----
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tosa.variable_read @state : tensor<8xf32>
  return %0 : tensor<8xf32>
}
tosa.variable @state = dense<1.0> : tensor<8xf32>
