//===- RefusedOps.c - Ops of the dialects that are not taken ------*- C -*-===//
// Every other op of func, linalg, tensor, arith, math, tosa and scf has a local form and a
// lowering.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#define TILING "it is made by tiling, which the compiler does itself"
#define LAYOUT "its tiles are an order of memory, which the compiler chooses itself"
#define WINOGRAD "it is one step of an algorithm for convolutions, which the lowering would choose"
#define BLOCK_SCALED                                                                               \
  "it has values with scales of 8 bits and no mantissa, which have no storage here"
#define SHAPES "it computes a shape at run time, and shapes are static"
#define VARIABLE "it is state beside arguments and results"

static const ShardOpRefusal refusals[] = {
    {"linalg.pack", LAYOUT, "tensor.pad, tensor.expand_shape and linalg.transpose"},
    {"linalg.unpack", LAYOUT, "linalg.transpose, tensor.collapse_shape and tensor.extract_slice"},
    {"linalg.winograd_filter_transform", WINOGRAD, "linalg.conv_2d_nhwc_fhwc"},
    {"linalg.winograd_input_transform", WINOGRAD, "linalg.conv_2d_nhwc_fhwc"},
    {"linalg.winograd_output_transform", WINOGRAD, "linalg.conv_2d_nhwc_fhwc"},
    {"tensor.parallel_insert_slice", TILING, "scf.for with tensor.insert_slice"},
    {"scf.forall", TILING, "scf.for with tensor.insert_slice"},
    {"scf.forall.in_parallel", TILING, "scf.for with tensor.insert_slice"},
    {"scf.parallel", TILING, "scf.for, or linalg.generic with a reduction loop"},
    {"scf.reduce", TILING, "linalg.reduce"},
    {"scf.reduce.return", TILING, "linalg.reduce"},
    {"arith.scaling_extf", BLOCK_SCALED, "arith.extf and arith.mulf"},
    {"arith.scaling_truncf", BLOCK_SCALED, "arith.divf and arith.truncf"},
    {"tosa.cast_from_block_scaled", BLOCK_SCALED, "tosa.cast and tosa.mul"},
    {"tosa.cast_to_block_scaled", BLOCK_SCALED, "tosa.cast"},
    {"tosa.matmul_t_block_scaled", BLOCK_SCALED, "tosa.cast, tosa.transpose and tosa.matmul"},
    {"tosa.custom", "what it computes is not known", "the op spelled out in others"},
    {"tosa.variable", VARIABLE, "an argument and a result with 'spmd.alias'"},
    {"tosa.variable_read", VARIABLE, "an argument with 'spmd.alias'"},
    {"tosa.variable_write", VARIABLE, "a result with 'spmd.alias'"},
    {"tosa.transpose_conv2d", "MLIR 22.1 has no lowering for it",
     "linalg.conv_2d_nhwc_fhwc on an input with zeros put between its elements"},
    {"tosa.dim", SHAPES, "tosa.const_shape"},
    {"tosa.add_shape", SHAPES, "tosa.const_shape"},
    {"tosa.concat_shape", SHAPES, "tosa.const_shape"},
    {"tosa.div_ceil_shape", SHAPES, "tosa.const_shape"},
    {"tosa.div_floor_shape", SHAPES, "tosa.const_shape"},
    {"tosa.exp2_shape", SHAPES, "tosa.const_shape"},
    {"tosa.log2_ceil_shape", SHAPES, "tosa.const_shape"},
    {"tosa.log2_floor_shape", SHAPES, "tosa.const_shape"},
    {"tosa.max_shape", SHAPES, "tosa.const_shape"},
    {"tosa.min_shape", SHAPES, "tosa.const_shape"},
    {"tosa.mod_shape", SHAPES, "tosa.const_shape"},
    {"tosa.mul_shape", SHAPES, "tosa.const_shape"},
    {"tosa.slice_shape", SHAPES, "tosa.const_shape"},
    {"tosa.sub_shape", SHAPES, "tosa.const_shape"},
};

intptr_t shardOpRefusalCount(void) { return (intptr_t)(sizeof(refusals) / sizeof(refusals[0])); }
const ShardOpRefusal *shardOpRefusalGet(intptr_t index) { return &refusals[index]; }

const ShardOpRefusal *shardOpRefusalFind(MlirStringRef name) {
  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); ++i)
    if (shardStringIs(name, refusals[i].name))
      return &refusals[i];
  return NULL;
}
