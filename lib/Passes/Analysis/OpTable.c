//===- OpTable.c - Dimension rules: the one table -----------------*- C -*-===//
// A row an op: its loops, and every dimension of every operand and result in terms of them.
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "Roll.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <assert.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void describeLinalg(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
static void describeElementwise(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
static void describeSource(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
static void describeConstant(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);
static void describeReshape(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape);

#define LINALG_SUMMARY                                                                             \
  "one factor a loop; parallel if in a result's map, else a reduction with the body's combiner"
#define ELEMENTWISE_SUMMARY "one parallel factor a dimension"

// clang-format off: a row a line
static const ShardOpEntry opTable[] = {
    {"linalg.generic", LINALG_SUMMARY "; tensor.extract by linalg.index follows the loop, by data is a gather; a scan, an arg-max or a selection of k is split along its dimension; a dimension read in turned order moves", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.batch_matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.matvec", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.vecmat", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.batch_matvec", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.batch_vecmat", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.batch_reduce_matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.mmt4d", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.batch_mmt4d", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.quantized_matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.quantized_batch_matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.dot", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.contract", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.transpose", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.broadcast", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.reduce", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.map", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.fill", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.copy", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.elementwise", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.add", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.sub", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.mul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.div", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.div_unsigned", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.max", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.min", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.exp", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.log", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.abs", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.ceil", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.floor", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.negf", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.reciprocal", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.round", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.sqrt", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.rsqrt", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.square", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.tanh", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.erf", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.select", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.powf", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_1d", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_1d_ncw_fcw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_1d_nwc_wcf", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nchw_fchw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nchw_fchw_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_ngchw_fgchw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_ngchw_gfchw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_ngchw_gfchw_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nhwc_fhwc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nhwc_fhwc_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nhwc_hwcf", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nhwc_hwcf_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nhwgc_gfhwc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_2d_nhwgc_gfhwc_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_3d", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_3d_ncdhw_fcdhw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_3d_ndhwc_dhwcf", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.conv_3d_ndhwc_dhwcf_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_1d_ncw_cw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_1d_nwc_wc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_1d_nwc_wcm", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_2d_nchw_chw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_2d_nhwc_hwc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_2d_nhwc_hwc_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_2d_nhwc_hwcm", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_2d_nhwc_hwcm_q", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_3d_ncdhw_cdhw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_3d_ndhwc_dhwc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.depthwise_conv_3d_ndhwc_dhwcm", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nchw_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nchw_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_ncw_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_ncw_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_ndhwc_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_ndhwc_min", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_ndhwc_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nhwc_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nhwc_max_unsigned", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nhwc_min", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nhwc_min_unsigned", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nhwc_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nwc_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nwc_max_unsigned", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nwc_min", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"linalg.pooling_nwc_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg, shardLocaliseLinalg},
    {"tensor.empty", ELEMENTWISE_SUMMARY, SHARD_OP_COMPUTE, describeSource, NULL},
    {"tensor.splat", ELEMENTWISE_SUMMARY, SHARD_OP_COMPUTE, describeSource, NULL},
    {"arith.constant", "splat: one parallel factor a dimension; other values: whole", SHARD_OP_COMPUTE, describeConstant, shardLocaliseConstant},
    {"tensor.cast", ELEMENTWISE_SUMMARY, SHARD_OP_COMPUTE, describeElementwise, NULL},
    {"tensor.expand_shape", "each operand dimension is the product of its group", SHARD_OP_RESHAPE, describeReshape, shardLocaliseExpand},
    {"tensor.collapse_shape", "each result dimension is the product of its group", SHARD_OP_RESHAPE, describeReshape, NULL},
    {"tensor.extract_slice", "whole dimensions parallel; a tile of equal tiles is a window on its minor factor; any other window that no op cuts in pieces is split with its source, and what lies elsewhere moves; else whole", SHARD_OP_SLICE, shardRuleDescribeExtractSlice, shardLocaliseExtractSlice},
    {"tensor.insert_slice", "whole dimensions parallel; a tile as in tensor.extract_slice; any other window: the destination's dimension parallel, the source whole along it, and each rank writes what is its own", SHARD_OP_SLICE, shardRuleDescribeInsertSlice, shardLocaliseInsertSlice},
    {"tensor.extract", "the tensor whole; of a larger one the element is cut out first", SHARD_OP_WHOLE, shardRuleDescribeWhole, NULL},
    {"tensor.insert", "the tensor whole; into a larger one the element goes as a slice", SHARD_OP_WHOLE, shardRuleDescribeWhole, NULL},
    {"tensor.from_elements", "whole: every rank has the elements", SHARD_OP_WHOLE, shardRuleDescribeWhole, NULL},
    {"tensor.pad", "dimensions without padding parallel; padded ones that no op cuts in pieces are split with their source, and what lies elsewhere moves; else whole", SHARD_OP_SLICE, shardRuleDescribePad, shardLocalisePad},
    {"tensor.concat", "other dimensions parallel; the joined one is [pieces, piece] when pieces are equal, else split with them, and what lies elsewhere moves", SHARD_OP_SLICE, shardRuleDescribeConcat, NULL},
    {"func.call", "the callee's own factors", SHARD_OP_CALL, shardRuleDescribeWhole, NULL},
    {"scf.for", "what it carries has one placement; the body is a function", SHARD_OP_LOOP, shardRuleDescribeLoop, shardLocaliseLoop},
    {"scf.if", "both branches give their results in one placement; each is a function", SHARD_OP_LOOP, shardRuleDescribeLoop, shardLocaliseLoop},
    {"scf.while", "what it carries has one placement; condition and body are functions", SHARD_OP_LOOP, shardRuleDescribeLoop, shardLocaliseLoop},
    {"func.return", "no factor: results are resharded to what the caller wants", SHARD_OP_RETURN, shardRuleDescribeWhole, NULL},
};
// clang-format on

// arith and math ops on tensors share one row.
static const ShardOpEntry elementwiseEntry = {"arith.* and math.* on tensors", ELEMENTWISE_SUMMARY,
                                              SHARD_OP_COMPUTE, describeElementwise,
                                              shardLocaliseElementwise};

// Ops that a file of rules describes.
static const ShardOpEntry ownEntry = {"ops of your own", "as their rule in --rules says",
                                      SHARD_OP_COMPUTE, shardRuleDescribeOwn, shardLocaliseOwn};

const ShardOpEntry *shardOpEntryOf(MlirOperation op) {
  return shardRuleIsOwn(op) ? &ownEntry : shardOpEntryFind(shardOpGetName(op));
}

intptr_t shardOpEntryCount(void) { return (intptr_t)(sizeof(opTable) / sizeof(opTable[0])) + 1; }

static const ShardOpEntry *entryAt(intptr_t index) {
  return index < shardOpEntryCount() - 1 ? &opTable[index] : &elementwiseEntry;
}

ShardLocalise shardOpEntryLocalise(const ShardOpEntry *entry) { return entry->localise; }
const char *shardOpEntryName(intptr_t index) { return entryAt(index)->name; }
const char *shardOpEntrySummary(intptr_t index) { return entryAt(index)->summary; }

const ShardOpEntry *shardOpEntryFind(MlirStringRef name) {
  for (size_t i = 0; i < sizeof(opTable) / sizeof(opTable[0]); ++i)
    if (shardStringIs(name, opTable[i].name))
      return &opTable[i];
  if (shardNameHasDialect(name, "arith") || shardNameHasDialect(name, "math"))
    return &elementwiseEntry;
  return NULL;
}

//===----------------------------------------------------------------------===//
// Describing ops
//===----------------------------------------------------------------------===//

int32_t shardRuleAddLoop(ShardRuleBuilder *b, ShardOpShape *shape, int64_t size, bool whole,
                         bool real) {
  assert(shape->nLoops < SHARD_MAX_LOOPS);
  shape->loops[shape->nLoops] =
      (ShardLoop){.size = size, .node = shardNodeCreate(b, size), .whole = whole, .real = real};
  return shape->nLoops++;
}

ShardDimExpr shardRuleDimProduct(ShardRuleBuilder *b, int32_t n, const int32_t *loops) {
  ShardDimExpr expr = {.kind = SHARD_DIM_PRODUCT, .nLoops = n};
  expr.loops = SHARD_ARENA_ARRAY(b->arena, int32_t, n ? n : 1);
  memcpy(expr.loops, loops, (size_t)n * sizeof(int32_t));
  return expr;
}

ShardDimExpr shardRuleDimLoop(ShardRuleBuilder *b, int32_t loop) {
  return shardRuleDimProduct(b, 1, &loop);
}

ShardPortShape *shardRuleAddPort(ShardRuleBuilder *b, ShardOpShape *shape, bool result,
                                 MlirValue value, int32_t operandIndex, MlirOperation user) {
  ShardPortShape **list = result ? &shape->results : &shape->operands;
  int32_t *n = result ? &shape->nResults : &shape->nOperands;
  if ((*n & (*n - 1)) == 0) { // grows at powers of two
    ShardPortShape *bigger = SHARD_ARENA_ARRAY(b->arena, ShardPortShape, *n ? *n * 2 : 1);
    if (*n)
      memcpy(bigger, *list, (size_t)*n * sizeof(ShardPortShape));
    *list = bigger;
  }
  ShardPortShape *port = &(*list)[(*n)++];
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(mlirValueGetType(value));
  *port = (ShardPortShape){.value = value, .operandIndex = operandIndex, .user = user};
  port->dims = SHARD_ARENA_ARRAY(b->arena, ShardDimExpr, rank ? rank : 1);
  for (intptr_t d = 0; d < rank; ++d)
    port->dims[d] = shardRuleDimWhole();
  return port;
}

void shardRuleAddAllPorts(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (isTensor(mlirOperationGetOperand(op, i)))
      shardRuleAddPort(b, shape, false, mlirOperationGetOperand(op, i), (int32_t)i, op);
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (isTensor(mlirOperationGetResult(op, i)))
      shardRuleAddPort(b, shape, true, mlirOperationGetResult(op, i), (int32_t)i, op);
}

/// Tensors of the function that ops nested in `op` use.
static void addCaptures(ShardRuleBuilder *b, MlirOperation op, MlirRegion region,
                        ShardOpShape *shape) {
  for (MlirBlock block = mlirRegionGetFirstBlock(region); block.ptr;
       block = mlirBlockGetNextInRegion(block))
    for (MlirOperation inner = mlirBlockGetFirstOperation(block); inner.ptr;
         inner = mlirOperationGetNextInBlock(inner)) {
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
        MlirValue value = mlirOperationGetOperand(inner, i);
        if (isTensor(value) && shardRuleFindValue(b, value) >= 0)
          shardRuleAddPort(b, shape, false, value, -1, inner)->userOperand = (int32_t)i;
      }
      for (intptr_t r = 0; r < mlirOperationGetNumRegions(inner); ++r)
        addCaptures(b, op, mlirOperationGetRegion(inner, r), shape);
    }
}

void shardRuleDescribeWhole(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    addCaptures(b, op, mlirOperationGetRegion(op, r), shape);
}

/// The loop that a body's index value runs along (`linalg.index k` through casts), or -1.
static int32_t indexLoop(MlirValue value) {
  for (;;) {
    MlirOperation def = shardValueDefiningOp(value);
    if (!def.ptr)
      return -1;
    if (shardOpIs(def, "linalg.index")) {
      int64_t dim = -1;
      shardAttrGetI64(shardOpGetAttribute(def, "dim"), &dim);
      return (int32_t)dim;
    }
    if (!shardOpIs(def, "arith.index_cast") && !shardOpIs(def, "arith.index_castui"))
      return -1;
    value = mlirOperationGetOperand(def, 0);
  }
}

static void describeExtracts(ShardRuleBuilder *b, MlirBlock body, ShardOpShape *shape,
                             int32_t nLoops) {
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); inner.ptr;
       inner = mlirOperationGetNextInBlock(inner)) {
    if (!shardOpIs(inner, "tensor.extract")) {
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
        MlirValue value = mlirOperationGetOperand(inner, i);
        if (isTensor(value) && shardRuleFindValue(b, value) >= 0)
          shardRuleAddPort(b, shape, false, value, -1, inner)->userOperand = (int32_t)i;
      }
      for (intptr_t r = 0; r < mlirOperationGetNumRegions(inner); ++r)
        addCaptures(b, inner, mlirOperationGetRegion(inner, r), shape);
      continue;
    }
    MlirValue table = mlirOperationGetOperand(inner, 0);
    if (shardRuleFindValue(b, table) < 0)
      continue;
    ShardPortShape *port = shardRuleAddPort(b, shape, false, table, -1, inner);
    for (intptr_t d = 0; d < rankOf(table); ++d) {
      int32_t loop = indexLoop(mlirOperationGetOperand(inner, d + 1));
      if (loop >= 0 && loop < nLoops)
        port->dims[d] = shape->loops[loop].size == sizeOf(table, d) ? shardRuleDimLoop(b, loop)
                                                                    : shardRuleDimWhole();
      else
        port->dims[d] = (ShardDimExpr){.kind = SHARD_DIM_GATHER};
    }
  }
}

/// Keeps every loop of an expression whole: it indexes by the loops' global values.
static void keepLoopsWhole(ShardOpShape *shape, MlirAffineExpr expr) {
  if (mlirAffineExprIsADim(expr)) {
    shape->loops[mlirAffineDimExprGetPosition(expr)].whole = true;
  } else if (mlirAffineExprIsABinary(expr)) {
    keepLoopsWhole(shape, mlirAffineBinaryOpExprGetLHS(expr));
    keepLoopsWhole(shape, mlirAffineBinaryOpExprGetRHS(expr));
  }
}

/// d0, or d0 floordiv c, or (d0 + c) mod size, or d0 * s + d1 that tiles; whole otherwise (the
/// caller keeps the loops whole).
static ShardDimExpr describeMapResult(ShardRuleBuilder *b, ShardOpShape *shape, MlirAffineExpr expr,
                                      int64_t size, bool mapsInAttribute) {
  if (mlirAffineExprIsADim(expr)) {
    int32_t loop = (int32_t)mlirAffineDimExprGetPosition(expr);
    return shape->loops[loop].size == size ? shardRuleDimLoop(b, loop) : shardRuleDimWhole();
  }
  ShardRoll roll;
  if (shardRollRead(expr, &roll) && shape->loops[roll.loop].size == size && roll.extent == size)
    return shardRuleDimLoop(b, (int32_t)roll.loop);
  if (mlirAffineExprIsAFloorDiv(expr)) {
    MlirAffineExpr dim = mlirAffineBinaryOpExprGetLHS(expr),
                   by = mlirAffineBinaryOpExprGetRHS(expr);
    if (mlirAffineExprIsADim(dim) && mlirAffineExprIsAConstant(by)) {
      int32_t loop = (int32_t)mlirAffineDimExprGetPosition(dim);
      int64_t part = mlirAffineConstantExprGetValue(by);
      if (part > 0 && size > 0 && shape->loops[loop].size == size * part) {
        ShardDimExpr result = shardRuleDimLoop(b, loop);
        result.kind = SHARD_DIM_PREFIX;
        return result;
      }
    }
    return shardRuleDimWhole();
  }
  if (mlirAffineExprIsAAdd(expr)) {
    MlirAffineExpr major = mlirAffineBinaryOpExprGetLHS(expr);
    MlirAffineExpr minor = mlirAffineBinaryOpExprGetRHS(expr);
    if (!mlirAffineExprIsADim(minor)) { // either order
      MlirAffineExpr swap = major;
      major = minor, minor = swap;
    }
    if (!mlirAffineExprIsADim(minor))
      return shardRuleDimWhole();
    int64_t stride = 1;
    if (mlirAffineExprIsAMul(major)) {
      MlirAffineExpr by = mlirAffineBinaryOpExprGetRHS(major);
      if (!mlirAffineExprIsAConstant(by))
        return shardRuleDimWhole();
      stride = mlirAffineConstantExprGetValue(by);
      major = mlirAffineBinaryOpExprGetLHS(major);
    }
    if (!mlirAffineExprIsADim(major))
      return shardRuleDimWhole();
    int32_t loops[2] = {(int32_t)mlirAffineDimExprGetPosition(major),
                        (int32_t)mlirAffineDimExprGetPosition(minor)};
    int64_t sizes[2] = {shape->loops[loops[0]].size, shape->loops[loops[1]].size};
    if (sizes[0] == 1 && sizes[1] == size)
      return shardRuleDimLoop(b, loops[1]);
    if (sizes[1] == 1 && stride == 1 && sizes[0] == size)
      return shardRuleDimLoop(b, loops[0]);
    if (sizes[1] == stride && sizes[0] * stride == size) {
      if (stride > 1 && !mapsInAttribute) // a named op's stride stays the size of a whole tile
        shape->loops[loops[1]].whole = true;
      return shardRuleDimProduct(b, 2, loops);
    }
  }
  return shardRuleDimWhole();
}

static void describeLinalg(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  if (!maps.ptr || !mlirAttributeIsAArray(maps) || mlirOperationGetNumResults(op) == 0) {
    shardRuleDescribeWhole(b, op, shape);
    return;
  }
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nInits = mlirOperationGetNumResults(op);
  MlirAffineMap first = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  intptr_t nLoops = mlirAffineMapGetNumDims(first);
  bool mapsInAttribute = !mlirAttributeIsNull(shardOpGetAttribute(op, "indexing_maps"));
  if (nMaps != nOperands || nLoops > SHARD_MAX_LOOPS) {
    shardRuleDescribeWhole(b, op, shape);
    return;
  }
  for (intptr_t l = 0; l < nLoops; ++l)
    shardRuleAddLoop(b, shape, 1, false, true);
  for (intptr_t i = 0; i < nMaps; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!isTensor(operand))
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t d = 0, rank = rankOf(operand); d < rank; ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
      if (mlirAffineExprIsADim(expr))
        shape->loops[mlirAffineDimExprGetPosition(expr)].size = sizeOf(operand, d);
    }
  }
  for (intptr_t l = 0; l < nLoops; ++l)
    b->nodes[shape->loops[l].node].size = shape->loops[l].size;
  for (intptr_t i = 0; i < nOperands + nInits; ++i) {
    bool result = i >= nOperands;
    intptr_t mapIndex = result ? i - nInits : i;
    MlirValue value =
        result ? mlirOperationGetResult(op, i - nOperands) : mlirOperationGetOperand(op, i);
    if (!isTensor(value))
      continue;
    ShardPortShape *port =
        shardRuleAddPort(b, shape, result, value, (int32_t)(result ? i - nOperands : i), op);
    port->init = !result && i >= nOperands - nInits;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, mapIndex));
    for (intptr_t d = 0, rank = rankOf(value); d < rank; ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
      port->dims[d] = describeMapResult(b, shape, expr, sizeOf(value, d), mapsInAttribute);
      if (port->dims[d].kind == SHARD_DIM_WHOLE)
        keepLoopsWhole(shape, expr);
    }
  }
  if (mlirOperationGetNumRegions(op) == 1)
    describeExtracts(b, mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)), shape,
                     (int32_t)nLoops);
}

static void describeElementwise(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  if (shape->nResults == 0)
    return;
  MlirValue result = shape->results[0].value;
  for (intptr_t d = 0; d < rankOf(result); ++d)
    shardRuleAddLoop(b, shape, sizeOf(result, d), false, false);
  for (int32_t i = 0; i < shape->nOperands + shape->nResults; ++i) {
    ShardPortShape *port =
        i < shape->nOperands ? &shape->operands[i] : &shape->results[i - shape->nOperands];
    if (rankOf(port->value) != rankOf(result))
      continue;
    for (intptr_t d = 0; d < rankOf(result); ++d)
      if (sizeOf(port->value, d) == shape->loops[d].size)
        port->dims[d] = shardRuleDimLoop(b, (int32_t)d);
  }
}

static void describeSource(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  describeElementwise(b, op, shape);
}

static void describeConstant(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  MlirAttribute value = shardOpGetAttribute(op, "value");
  if (value.ptr && mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value))
    describeElementwise(b, op, shape);
  else
    shardRuleAddAllPorts(b, op, shape);
}

static void describeReshape(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  shardRuleAddAllPorts(b, op, shape);
  bool expand = shardOpIs(op, "tensor.expand_shape");
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  ShardPortShape *source = &shape->operands[0], *result = &shape->results[0];
  ShardPortShape *fine = expand ? result : source, *coarse = expand ? source : result;
  int32_t fineDim = 0;
  for (intptr_t g = 0; g < mlirArrayAttrGetNumElements(groups); ++g) {
    int32_t loops[SHARD_MAX_LOOPS], n = 0;
    intptr_t count = mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(groups, g));
    for (intptr_t k = 0; k < count; ++k, ++fineDim) {
      loops[n] = shardRuleAddLoop(b, shape, sizeOf(fine->value, fineDim), false, false);
      fine->dims[fineDim] = shardRuleDimLoop(b, loops[n++]);
    }
    coarse->dims[g] = shardRuleDimProduct(b, n, loops);
  }
}
