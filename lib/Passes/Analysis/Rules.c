//===- Rules.c - Dimension rules: the one table -------------------*- C -*-===//
// Two steps. First every dimension of every tensor value and every loop of every op is a node; rules
// tie nodes that run together, and a reshape splits a node into children (union-find with splitting,
// so that a split found anywhere is seen everywhere). The leaves are the atoms. Then each op's factors
// are the leaves of its loops, and each operand's atoms are bound to them.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

typedef struct RuleBuilder RuleBuilder;
typedef struct OpShape OpShape;
typedef void (*DescribeFunction)(RuleBuilder *b, MlirOperation op, OpShape *shape);

struct ShardOpEntry {
  const char *name;
  const char *summary;
  ShardOpForm form;
  DescribeFunction describe;
};

static void describeLinalg(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeElementwise(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeSource(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeConstant(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeReshape(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeExtractSlice(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeInsertSlice(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describePad(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeConcat(RuleBuilder *b, MlirOperation op, OpShape *shape);
static void describeWhole(RuleBuilder *b, MlirOperation op, OpShape *shape);

#define LINALG_SUMMARY                                                                             \
  "one factor a loop; parallel if in a result's map, else a reduction with the body's combiner"
#define ELEMENTWISE_SUMMARY "one parallel factor a dimension"

static const ShardOpEntry opTable[] = {
    {"linalg.generic", LINALG_SUMMARY "; tensor.extract by linalg.index follows the loop, by data is a gather", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.batch_matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.matvec", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.vecmat", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.batch_matvec", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.batch_vecmat", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.batch_reduce_matmul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.dot", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.contract", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.transpose", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.broadcast", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.reduce", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.map", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.fill", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.copy", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.elementwise", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.add", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.sub", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.mul", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.div", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.max", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.min", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.exp", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.log", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.abs", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.ceil", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.floor", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.negf", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.reciprocal", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.round", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.sqrt", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.rsqrt", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.square", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.tanh", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.erf", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.select", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.powf", LINALG_SUMMARY, SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.conv_1d_ncw_fcw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.conv_1d_nwc_wcf", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.conv_2d_nchw_fchw", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.conv_2d_nhwc_hwcf", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.conv_2d_nhwc_fhwc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.depthwise_conv_2d_nhwc_hwc", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.depthwise_conv_2d_nhwc_hwcm", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.pooling_nhwc_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.pooling_nhwc_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.pooling_nchw_sum", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"linalg.pooling_nchw_max", LINALG_SUMMARY "; a window d0*s+d1 is a product when it tiles, else whole", SHARD_OP_COMPUTE, describeLinalg},
    {"tensor.empty", ELEMENTWISE_SUMMARY, SHARD_OP_COMPUTE, describeSource},
    {"tensor.splat", ELEMENTWISE_SUMMARY, SHARD_OP_COMPUTE, describeSource},
    {"arith.constant", "splat: one parallel factor a dimension; other values: whole", SHARD_OP_COMPUTE, describeConstant},
    {"tensor.cast", ELEMENTWISE_SUMMARY, SHARD_OP_COMPUTE, describeElementwise},
    {"tensor.expand_shape", "each operand dimension is the product of its group", SHARD_OP_RESHAPE, describeReshape},
    {"tensor.collapse_shape", "each result dimension is the product of its group", SHARD_OP_RESHAPE, describeReshape},
    {"tensor.extract_slice", "whole dimensions parallel; a tile of equal tiles is a window on its minor factor; else whole", SHARD_OP_SLICE, describeExtractSlice},
    {"tensor.insert_slice", "as tensor.extract_slice, with the destination along", SHARD_OP_SLICE, describeInsertSlice},
    {"tensor.pad", "dimensions without padding parallel, padded ones whole", SHARD_OP_SLICE, describePad},
    {"tensor.concat", "other dimensions parallel; the joined one is [pieces, piece] when pieces are equal, else whole", SHARD_OP_SLICE, describeConcat},
    {"func.call", "the callee's own factors", SHARD_OP_CALL, describeWhole},
    {"func.return", "no factor: results are resharded to what the caller wants", SHARD_OP_RETURN, describeWhole},
};

// arith and math ops on tensors share one row.
static const ShardOpEntry elementwiseEntry = {"arith.* and math.* on tensors", ELEMENTWISE_SUMMARY,
                                              SHARD_OP_COMPUTE, describeElementwise};

intptr_t shardOpEntryCount(void) { return (intptr_t)(sizeof(opTable) / sizeof(opTable[0])) + 1; }

static const ShardOpEntry *entryAt(intptr_t index) {
  return index < shardOpEntryCount() - 1 ? &opTable[index] : &elementwiseEntry;
}

const char *shardOpEntryName(intptr_t index) { return entryAt(index)->name; }
const char *shardOpEntrySummary(intptr_t index) { return entryAt(index)->summary; }

const ShardOpEntry *shardOpEntryFind(MlirStringRef name) {
  for (size_t i = 0; i < sizeof(opTable) / sizeof(opTable[0]); ++i)
    if (shardStringIs(name, opTable[i].name))
      return &opTable[i];
  if ((name.length > 6 && memcmp(name.data, "arith.", 6) == 0) ||
      (name.length > 5 && memcmp(name.data, "math.", 5) == 0))
    return &elementwiseEntry;
  return NULL;
}

//===----------------------------------------------------------------------===//
// Nodes: dimensions that run together, and how they split
//===----------------------------------------------------------------------===//

typedef struct Node {
  int64_t size;
  int32_t parent; // itself: root
  int32_t nChildren;
  int32_t *children; // of a root that is split; sizes multiply to `size`
  int32_t klass;     // of a leaf root, once numbered; else -1
} Node;

/// One dimension of a port in terms of the op's loops.
typedef enum DimKind { DIM_PRODUCT, DIM_PREFIX, DIM_WHOLE, DIM_GATHER } DimKind;
typedef struct DimExpr {
  DimKind kind;
  int32_t nLoops; // PRODUCT: major first; PREFIX: one loop, whose major part it is
  int32_t *loops;
} DimExpr;

typedef struct PortShape {
  MlirValue value;
  int32_t operandIndex;
  MlirOperation user;
  bool init;
  DimExpr *dims; // [rank]
} PortShape;

typedef struct Loop {
  int64_t size;
  int32_t node;
  bool whole;
  bool real; // a linalg iteration dimension (its index is the loop number)
} Loop;

#define MAX_LOOPS 64
struct OpShape {
  const ShardOpEntry *entry;
  int32_t nLoops;
  Loop loops[MAX_LOOPS];
  int32_t nOperands, nResults, capacity;
  PortShape *operands, *results;
};

struct RuleBuilder {
  ShardRules *rules;
  ShardArena *arena;
  Node *nodes;
  size_t nNodes, nodeCapacity;
  int32_t **valueNodes; // [value][dim]
  size_t valueCapacity, valueNodeCapacity;
};

static int32_t newNode(RuleBuilder *b, int64_t size) {
  b->nodes = shardArenaGrow(b->arena, b->nodes, b->nNodes, &b->nodeCapacity, b->nNodes + 1,
                            sizeof(Node));
  int32_t id = (int32_t)b->nNodes++;
  b->nodes[id] = (Node){.size = size, .parent = id, .klass = -1};
  return id;
}

static int32_t findNode(RuleBuilder *b, int32_t id) {
  while (b->nodes[id].parent != id) {
    b->nodes[id].parent = b->nodes[b->nodes[id].parent].parent;
    id = b->nodes[id].parent;
  }
  return id;
}

/// A node that is the product of `ids` (unit ones are dropped): the only one itself, or a new node.
static int32_t productNode(RuleBuilder *b, int32_t n, const int32_t *ids) {
  int32_t *children = SHARD_ARENA_ARRAY(b->arena, int32_t, n ? n : 1);
  int32_t count = 0;
  int64_t size = 1;
  for (int32_t i = 0; i < n; ++i) {
    size *= b->nodes[ids[i]].size;
    if (b->nodes[ids[i]].size != 1)
      children[count++] = ids[i];
  }
  if (count == 1)
    return children[0];
  int32_t id = newNode(b, size);
  b->nodes[id].nChildren = count;
  b->nodes[id].children = children;
  return id;
}

static void appendLeaves(RuleBuilder *b, int32_t id, int32_t **list, int32_t *n, size_t *capacity) {
  id = findNode(b, id);
  if (b->nodes[id].size == 1)
    return;
  if (b->nodes[id].nChildren == 0) {
    *list = shardArenaGrow(b->arena, *list, (size_t)*n, capacity, (size_t)*n + 1, sizeof(int32_t));
    (*list)[(*n)++] = id;
    return;
  }
  for (int32_t i = 0; i < b->nodes[id].nChildren; ++i)
    appendLeaves(b, b->nodes[id].children[i], list, n, capacity);
}

static void splitLeaf(RuleBuilder *b, int32_t leaf, int64_t major) {
  int32_t *children = SHARD_ARENA_ARRAY(b->arena, int32_t, 2);
  int64_t size = b->nodes[leaf].size;
  children[0] = newNode(b, major);
  children[1] = newNode(b, size / major);
  b->nodes[leaf].nChildren = 2;
  b->nodes[leaf].children = children;
}

/// Ties two nodes of equal size. Split ones are aligned leaf by leaf; where the sizes do not align
/// (6 as 2x3 and as 3x2) the rest stays untied, and the rule of the op keeps those atoms whole.
static void tieNodes(RuleBuilder *b, int32_t x, int32_t y) {
  x = findNode(b, x), y = findNode(b, y);
  if (x == y || b->nodes[x].size != b->nodes[y].size || b->nodes[x].size == 1)
    return;
  if (b->nodes[y].nChildren == 0) {
    b->nodes[y].parent = x;
    return;
  }
  if (b->nodes[x].nChildren == 0) {
    b->nodes[x].parent = y;
    return;
  }
  int32_t *left = NULL, *right = NULL, nLeft = 0, nRight = 0;
  size_t leftCapacity = 0, rightCapacity = 0;
  appendLeaves(b, x, &left, &nLeft, &leftCapacity);
  appendLeaves(b, y, &right, &nRight, &rightCapacity);
  int32_t i = 0, j = 0;
  while (i < nLeft && j < nRight) {
    int32_t l = findNode(b, left[i]), r = findNode(b, right[j]);
    // A leaf may have been split by an earlier step when a class occurs twice.
    if (b->nodes[l].nChildren || b->nodes[r].nChildren) {
      left = right = NULL, nLeft = nRight = 0, leftCapacity = rightCapacity = 0;
      appendLeaves(b, x, &left, &nLeft, &leftCapacity);
      appendLeaves(b, y, &right, &nRight, &rightCapacity);
      i = j = 0;
      continue;
    }
    int64_t sizeLeft = b->nodes[l].size, sizeRight = b->nodes[r].size;
    if (l == r || sizeLeft == sizeRight) {
      if (l != r)
        b->nodes[r].parent = l;
      ++i, ++j;
    } else if (sizeLeft % sizeRight == 0) {
      splitLeaf(b, l, sizeRight);
    } else if (sizeRight % sizeLeft == 0) {
      splitLeaf(b, r, sizeLeft);
    } else {
      return;
    }
  }
  // The children of both now are the same leaves: let one stand for both.
  x = findNode(b, x), y = findNode(b, y);
  if (x != y)
    b->nodes[y].parent = x;
}

//===----------------------------------------------------------------------===//
// Describing ops: loops, and every dimension in terms of them
//===----------------------------------------------------------------------===//

static int32_t valueOf(RuleBuilder *b, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(b->rules->valueIndex, value.ptr, -1);
}

static int32_t addValue(RuleBuilder *b, MlirValue value, int32_t function, int32_t definition,
                        int32_t number) {
  MlirType type = mlirValueGetType(value);
  if (!mlirTypeIsARankedTensor(type))
    return -1;
  ShardRules *rules = b->rules;
  int32_t id = rules->nValues;
  rules->values = shardArenaGrow(b->arena, rules->values, (size_t)id, &b->valueCapacity,
                                 (size_t)id + 1, sizeof(ShardValueInfo));
  b->valueNodes = shardArenaGrow(b->arena, b->valueNodes, (size_t)id, &b->valueNodeCapacity,
                                 (size_t)id + 1, sizeof(int32_t *));
  ++rules->nValues;
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type);
  int32_t *nodes = SHARD_ARENA_ARRAY(b->arena, int32_t, rank ? rank : 1);
  for (intptr_t d = 0; d < rank; ++d)
    nodes[d] = newNode(b, mlirShapedTypeGetDimSize(type, d));
  b->valueNodes[id] = nodes;
  int64_t elements = shardTypeElementCount(type);
  rules->values[id] = (ShardValueInfo){
      .value = value, .type = type, .function = function, .definition = definition,
      .number = number,
      .bytes = elements * shardTypeElementBytes(mlirShapedTypeGetElementType(type))};
  shardPointerMapSet(rules->valueIndex, value.ptr, id);
  return id;
}

static int32_t addLoop(RuleBuilder *b, OpShape *shape, int64_t size, bool whole, bool real) {
  assert(shape->nLoops < MAX_LOOPS);
  shape->loops[shape->nLoops] =
      (Loop){.size = size, .node = newNode(b, size), .whole = whole, .real = real};
  return shape->nLoops++;
}

static DimExpr dimWhole(void) { return (DimExpr){.kind = DIM_WHOLE}; }

static DimExpr dimProduct(RuleBuilder *b, int32_t n, const int32_t *loops) {
  DimExpr expr = {.kind = DIM_PRODUCT, .nLoops = n};
  expr.loops = SHARD_ARENA_ARRAY(b->arena, int32_t, n ? n : 1);
  memcpy(expr.loops, loops, (size_t)n * sizeof(int32_t));
  return expr;
}

static DimExpr dimLoop(RuleBuilder *b, int32_t loop) { return dimProduct(b, 1, &loop); }

static PortShape *addPort(RuleBuilder *b, OpShape *shape, bool result, MlirValue value,
                          int32_t operandIndex, MlirOperation user) {
  PortShape **list = result ? &shape->results : &shape->operands;
  int32_t *n = result ? &shape->nResults : &shape->nOperands;
  if ((*n & (*n - 1)) == 0) { // grows at powers of two
    PortShape *bigger = SHARD_ARENA_ARRAY(b->arena, PortShape, *n ? *n * 2 : 1);
    if (*n)
      memcpy(bigger, *list, (size_t)*n * sizeof(PortShape));
    *list = bigger;
  }
  PortShape *port = &(*list)[(*n)++];
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(mlirValueGetType(value));
  *port = (PortShape){.value = value, .operandIndex = operandIndex, .user = user};
  port->dims = SHARD_ARENA_ARRAY(b->arena, DimExpr, rank ? rank : 1);
  for (intptr_t d = 0; d < rank; ++d)
    port->dims[d] = dimWhole();
  return port;
}

static bool isTensor(MlirValue value) { return mlirTypeIsARankedTensor(mlirValueGetType(value)); }
static int64_t rankOf(MlirValue value) { return mlirShapedTypeGetRank(mlirValueGetType(value)); }
static int64_t sizeOf(MlirValue value, intptr_t dim) {
  return mlirShapedTypeGetDimSize(mlirValueGetType(value), dim);
}

static void addAllPorts(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (isTensor(mlirOperationGetOperand(op, i)))
      addPort(b, shape, false, mlirOperationGetOperand(op, i), (int32_t)i, op);
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (isTensor(mlirOperationGetResult(op, i)))
      addPort(b, shape, true, mlirOperationGetResult(op, i), (int32_t)i, op);
}

/// Tensors of the function that ops nested in `op` use.
static void addCaptures(RuleBuilder *b, MlirOperation op, MlirRegion region, OpShape *shape) {
  for (MlirBlock block = mlirRegionGetFirstBlock(region); block.ptr;
       block = mlirBlockGetNextInRegion(block))
    for (MlirOperation inner = mlirBlockGetFirstOperation(block); inner.ptr;
         inner = mlirOperationGetNextInBlock(inner)) {
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
        MlirValue value = mlirOperationGetOperand(inner, i);
        if (isTensor(value) && valueOf(b, value) >= 0)
          addPort(b, shape, false, value, -1, inner);
      }
      for (intptr_t r = 0; r < mlirOperationGetNumRegions(inner); ++r)
        addCaptures(b, op, mlirOperationGetRegion(inner, r), shape);
    }
}

static void describeWhole(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    addCaptures(b, op, mlirOperationGetRegion(op, r), shape);
}

static MlirOperation definingOp(MlirValue value) {
  return mlirValueIsAOpResult(value) ? mlirOpResultGetOwner(value) : (MlirOperation){NULL};
}

/// The loop that a body's index value runs along (`linalg.index k` through casts), or -1.
static int32_t indexLoop(MlirValue value) {
  for (;;) {
    MlirOperation def = definingOp(value);
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

static void describeExtracts(RuleBuilder *b, MlirBlock body, OpShape *shape, int32_t nLoops) {
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); inner.ptr;
       inner = mlirOperationGetNextInBlock(inner)) {
    if (!shardOpIs(inner, "tensor.extract")) {
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
        MlirValue value = mlirOperationGetOperand(inner, i);
        if (isTensor(value) && valueOf(b, value) >= 0)
          addPort(b, shape, false, value, -1, inner);
      }
      for (intptr_t r = 0; r < mlirOperationGetNumRegions(inner); ++r)
        addCaptures(b, inner, mlirOperationGetRegion(inner, r), shape);
      continue;
    }
    MlirValue table = mlirOperationGetOperand(inner, 0);
    if (valueOf(b, table) < 0)
      continue;
    PortShape *port = addPort(b, shape, false, table, -1, inner);
    for (intptr_t d = 0; d < rankOf(table); ++d) {
      int32_t loop = indexLoop(mlirOperationGetOperand(inner, d + 1));
      if (loop >= 0 && loop < nLoops)
        port->dims[d] = shape->loops[loop].size == sizeOf(table, d) ? dimLoop(b, loop) : dimWhole();
      else
        port->dims[d] = (DimExpr){.kind = DIM_GATHER};
    }
  }
}

/// d0, or d0 floordiv c, or d0 * s + d1 that tiles; whole otherwise.
static DimExpr describeMapResult(RuleBuilder *b, OpShape *shape, MlirAffineExpr expr, int64_t size) {
  if (mlirAffineExprIsADim(expr)) {
    int32_t loop = (int32_t)mlirAffineDimExprGetPosition(expr);
    return shape->loops[loop].size == size ? dimLoop(b, loop) : dimWhole();
  }
  if (mlirAffineExprIsAFloorDiv(expr)) {
    MlirAffineExpr dim = mlirAffineBinaryOpExprGetLHS(expr), by = mlirAffineBinaryOpExprGetRHS(expr);
    if (mlirAffineExprIsADim(dim) && mlirAffineExprIsAConstant(by)) {
      int32_t loop = (int32_t)mlirAffineDimExprGetPosition(dim);
      int64_t part = mlirAffineConstantExprGetValue(by);
      if (part > 0 && size > 0 && shape->loops[loop].size == size * part) {
        DimExpr result = dimLoop(b, loop);
        result.kind = DIM_PREFIX;
        return result;
      }
    }
    return dimWhole();
  }
  if (mlirAffineExprIsAAdd(expr)) {
    MlirAffineExpr major = mlirAffineBinaryOpExprGetLHS(expr);
    MlirAffineExpr minor = mlirAffineBinaryOpExprGetRHS(expr);
    if (!mlirAffineExprIsADim(minor)) { // either order
      MlirAffineExpr swap = major;
      major = minor, minor = swap;
    }
    if (!mlirAffineExprIsADim(minor))
      return dimWhole();
    int64_t stride = 1;
    if (mlirAffineExprIsAMul(major)) {
      MlirAffineExpr by = mlirAffineBinaryOpExprGetRHS(major);
      if (!mlirAffineExprIsAConstant(by))
        return dimWhole();
      stride = mlirAffineConstantExprGetValue(by);
      major = mlirAffineBinaryOpExprGetLHS(major);
    }
    if (!mlirAffineExprIsADim(major))
      return dimWhole();
    int32_t loops[2] = {(int32_t)mlirAffineDimExprGetPosition(major),
                        (int32_t)mlirAffineDimExprGetPosition(minor)};
    int64_t sizes[2] = {shape->loops[loops[0]].size, shape->loops[loops[1]].size};
    if (sizes[0] == 1 && sizes[1] == size)
      return dimLoop(b, loops[1]);
    if (sizes[1] == 1 && stride == 1 && sizes[0] == size)
      return dimLoop(b, loops[0]);
    if (sizes[1] == stride && sizes[0] * stride == size)
      return dimProduct(b, 2, loops);
  }
  return dimWhole();
}

static void describeLinalg(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  if (!maps.ptr || !mlirAttributeIsAArray(maps) || mlirOperationGetNumResults(op) == 0) {
    describeWhole(b, op, shape);
    return;
  }
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nInits = mlirOperationGetNumResults(op);
  MlirAffineMap first = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, 0));
  intptr_t nLoops = mlirAffineMapGetNumDims(first);
  if (nMaps != nOperands || nLoops > MAX_LOOPS) {
    describeWhole(b, op, shape);
    return;
  }
  for (intptr_t l = 0; l < nLoops; ++l)
    addLoop(b, shape, 1, false, true);
  for (intptr_t i = 0; i < nMaps; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (!isTensor(operand))
      continue;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    for (intptr_t d = 0; d < rankOf(operand); ++d) {
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
    MlirValue value = result ? mlirOperationGetResult(op, i - nOperands) : mlirOperationGetOperand(op, i);
    if (!isTensor(value))
      continue;
    PortShape *port = addPort(b, shape, result, value, (int32_t)(result ? i - nOperands : i), op);
    port->init = !result && i >= nOperands - nInits;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, mapIndex));
    for (intptr_t d = 0; d < rankOf(value); ++d)
      port->dims[d] = describeMapResult(b, shape, mlirAffineMapGetResult(map, d), sizeOf(value, d));
  }
  if (mlirOperationGetNumRegions(op) == 1)
    describeExtracts(b, mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)), shape,
                     (int32_t)nLoops);
}

static void describeElementwise(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  if (shape->nResults == 0)
    return;
  MlirValue result = shape->results[0].value;
  for (intptr_t d = 0; d < rankOf(result); ++d)
    addLoop(b, shape, sizeOf(result, d), false, false);
  for (int32_t i = 0; i < shape->nOperands + shape->nResults; ++i) {
    PortShape *port = i < shape->nOperands ? &shape->operands[i] : &shape->results[i - shape->nOperands];
    if (rankOf(port->value) != rankOf(result))
      continue;
    for (intptr_t d = 0; d < rankOf(result); ++d)
      if (sizeOf(port->value, d) == shape->loops[d].size)
        port->dims[d] = dimLoop(b, (int32_t)d);
  }
}

static void describeSource(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  describeElementwise(b, op, shape);
}

static void describeConstant(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  MlirAttribute value = shardOpGetAttribute(op, "value");
  if (value.ptr && mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value))
    describeElementwise(b, op, shape);
  else
    addAllPorts(b, op, shape);
}

static void describeReshape(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  bool expand = shardOpIs(op, "tensor.expand_shape");
  MlirAttribute groups = shardOpGetAttribute(op, "reassociation");
  PortShape *source = &shape->operands[0], *result = &shape->results[0];
  PortShape *fine = expand ? result : source, *coarse = expand ? source : result;
  int32_t fineDim = 0;
  for (intptr_t g = 0; g < mlirArrayAttrGetNumElements(groups); ++g) {
    int32_t loops[MAX_LOOPS], n = 0;
    intptr_t count = mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(groups, g));
    for (intptr_t k = 0; k < count; ++k, ++fineDim) {
      loops[n] = addLoop(b, shape, sizeOf(fine->value, fineDim), false, false);
      fine->dims[fineDim] = dimLoop(b, loops[n++]);
    }
    coarse->dims[g] = dimProduct(b, n, loops);
  }
}

static bool readI64Array(MlirOperation op, const char *name, intptr_t rank, int64_t *out) {
  MlirAttribute attribute = shardOpGetAttribute(op, name);
  if (!attribute.ptr || !mlirAttributeIsADenseI64Array(attribute) ||
      mlirDenseArrayGetNumElements(attribute) != rank || rank > MAX_LOOPS)
    return false;
  for (intptr_t i = 0; i < rank; ++i)
    out[i] = mlirDenseI64ArrayGetElement(attribute, i);
  return true;
}

/// A window [offset, offset + size) of a dimension of `full` steps: a whole dimension, one of equal
/// tiles ([tile number, step in tile]), or something else. `loop` runs over the window.
static DimExpr windowDim(RuleBuilder *b, OpShape *shape, int64_t full, int64_t offset, int64_t size,
                         int64_t stride, int32_t loop) {
  if (size == full && offset == 0 && stride == 1)
    return dimLoop(b, loop);
  if (stride == 1 && size > 1 && offset >= 0 && offset % size == 0 && full % size == 0) {
    int32_t loops[2] = {addLoop(b, shape, full / size, true, false), loop};
    return dimProduct(b, 2, loops);
  }
  return dimWhole();
}

/// Dimension of the rank-reduced side for each dimension of the full side, -1 where dropped.
static bool matchReduced(MlirValue reduced, intptr_t rank, const int64_t *sizes, int32_t *out) {
  intptr_t next = 0, reducedRank = (intptr_t)rankOf(reduced);
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t left = rank - d, needed = reducedRank - next;
    if (next < reducedRank && sizeOf(reduced, next) == sizes[d] && (sizes[d] != 1 || needed >= left))
      out[d] = (int32_t)next++;
    else if (sizes[d] == 1)
      out[d] = -1;
    else
      return false;
  }
  return next == reducedRank;
}

static void describeExtractSlice(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  PortShape *source = &shape->operands[0], *result = &shape->results[0];
  intptr_t rank = (intptr_t)rankOf(source->value);
  int64_t offsets[MAX_LOOPS], sizes[MAX_LOOPS], strides[MAX_LOOPS];
  int32_t reduced[MAX_LOOPS];
  if (!readI64Array(op, "static_offsets", rank, offsets) ||
      !readI64Array(op, "static_sizes", rank, sizes) ||
      !readI64Array(op, "static_strides", rank, strides) ||
      !matchReduced(result->value, rank, sizes, reduced))
    return;
  for (intptr_t d = 0; d < rank; ++d) {
    if (reduced[d] < 0)
      continue;
    int32_t loop = addLoop(b, shape, sizes[d], false, false);
    DimExpr window = windowDim(b, shape, sizeOf(source->value, d), offsets[d], sizes[d], strides[d], loop);
    source->dims[d] = window;
    if (window.kind != DIM_WHOLE)
      result->dims[reduced[d]] = dimLoop(b, loop);
  }
}

static void describeInsertSlice(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  PortShape *source = &shape->operands[0], *dest = &shape->operands[1], *result = &shape->results[0];
  intptr_t rank = (intptr_t)rankOf(result->value);
  int64_t offsets[MAX_LOOPS], sizes[MAX_LOOPS], strides[MAX_LOOPS];
  int32_t reduced[MAX_LOOPS];
  if (!readI64Array(op, "static_offsets", rank, offsets) ||
      !readI64Array(op, "static_sizes", rank, sizes) ||
      !readI64Array(op, "static_strides", rank, strides) ||
      !matchReduced(source->value, rank, sizes, reduced))
    return;
  for (intptr_t d = 0; d < rank; ++d) {
    int32_t loop = addLoop(b, shape, sizes[d], false, false);
    DimExpr window = windowDim(b, shape, sizeOf(result->value, d), offsets[d], sizes[d], strides[d], loop);
    dest->dims[d] = result->dims[d] = window;
    if (reduced[d] >= 0 && window.kind != DIM_WHOLE)
      source->dims[reduced[d]] = dimLoop(b, loop);
  }
}

static void describePad(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  PortShape *source = &shape->operands[0], *result = &shape->results[0];
  intptr_t rank = (intptr_t)rankOf(result->value);
  int64_t low[MAX_LOOPS], high[MAX_LOOPS];
  if (!readI64Array(op, "static_low", rank, low) || !readI64Array(op, "static_high", rank, high))
    return;
  for (intptr_t d = 0; d < rank; ++d)
    if (low[d] == 0 && high[d] == 0)
      source->dims[d] = result->dims[d] =
          dimLoop(b, addLoop(b, shape, sizeOf(result->value, d), false, false));
}

static void describeConcat(RuleBuilder *b, MlirOperation op, OpShape *shape) {
  addAllPorts(b, op, shape);
  PortShape *result = &shape->results[0];
  int64_t dim = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &dim);
  bool equal = true;
  for (int32_t i = 1; i < shape->nOperands; ++i)
    equal &= sizeOf(shape->operands[i].value, dim) == sizeOf(shape->operands[0].value, dim);
  for (intptr_t d = 0; d < rankOf(result->value); ++d) {
    if (d == dim && !equal)
      continue;
    int32_t loop = addLoop(b, shape, sizeOf(shape->operands[0].value, d), false, false);
    for (int32_t i = 0; i < shape->nOperands; ++i)
      shape->operands[i].dims[d] = dimLoop(b, loop);
    if (d == dim && shape->nOperands > 1) {
      int32_t loops[2] = {addLoop(b, shape, shape->nOperands, true, false), loop};
      result->dims[d] = dimProduct(b, 2, loops);
    } else {
      result->dims[d] = dimLoop(b, loop);
    }
  }
}

//===----------------------------------------------------------------------===//
// What a linalg body computes: combiner, linearity
//===----------------------------------------------------------------------===//

static const struct {
  const char *op;
  ShardCombiner combiner;
} combinerTable[] = {
    {"arith.addf", SHARD_COMBINER_SUM},      {"arith.addi", SHARD_COMBINER_SUM},
    {"arith.maximumf", SHARD_COMBINER_MAX},  {"arith.maxnumf", SHARD_COMBINER_MAX},
    {"arith.maxsi", SHARD_COMBINER_MAX},     {"arith.minimumf", SHARD_COMBINER_MIN},
    {"arith.minnumf", SHARD_COMBINER_MIN},   {"arith.minsi", SHARD_COMBINER_MIN},
    {"arith.mulf", SHARD_COMBINER_PRODUCT},  {"arith.muli", SHARD_COMBINER_PRODUCT},
    {"arith.andi", SHARD_COMBINER_AND},      {"arith.ori", SHARD_COMBINER_OR},
};

static bool sameValue(MlirValue a, MlirValue b) { return mlirValueEqual(a, b); }

static intptr_t countUses(MlirValue value) {
  intptr_t n = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    ++n;
  return n;
}

/// The combiner that folds `accumulator` (a block argument) into `yielded`, and the other operand.
/// A float cast of the accumulator's sum is not a combiner.
static ShardCombiner bodyCombiner(MlirValue yielded, MlirValue accumulator, MlirValue *outOther) {
  MlirOperation def = definingOp(yielded);
  if (!def.ptr || mlirOperationGetNumOperands(def) != 2 || countUses(accumulator) != 1)
    return SHARD_COMBINER_NONE;
  MlirValue left = mlirOperationGetOperand(def, 0), right = mlirOperationGetOperand(def, 1);
  bool isLeft = sameValue(left, accumulator), isRight = sameValue(right, accumulator);
  if (isLeft == isRight)
    return SHARD_COMBINER_NONE;
  *outOther = isLeft ? right : left;
  for (size_t i = 0; i < sizeof(combinerTable) / sizeof(combinerTable[0]); ++i)
    if (shardOpIs(def, combinerTable[i].op))
      return combinerTable[i].combiner;
  return SHARD_COMBINER_NONE;
}

/// Degree of a body value in the chosen block arguments: 0 constant, 1 linear without a constant
/// term, 2 anything else. `zero` values count as any degree.
typedef struct DegreeQuery {
  MlirBlock body;
  uint32_t variables;    // bit per block argument
  MlirValue accumulator; // counts as zero; null if none
  const PortShape *extracts[32]; // captured tensors that are variables
  int32_t nExtracts;
} DegreeQuery;

static int degreeOf(const DegreeQuery *q, MlirValue value, int depth) {
  if (depth > 64)
    return 2;
  if (mlirValueIsABlockArgument(value)) {
    if (!mlirBlockEqual(mlirBlockArgumentGetOwner(value), q->body))
      return 0;
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    return number < 32 && (q->variables >> number & 1) ? 1 : 0;
  }
  MlirOperation def = definingOp(value);
  if (!mlirBlockEqual(mlirOperationGetBlock(def), q->body))
    return 0;
  if (shardOpIs(def, "tensor.extract")) {
    for (int32_t i = 0; i < q->nExtracts; ++i)
      if (q->extracts[i]->user.ptr == def.ptr)
        return 1;
    return 0;
  }
  int degrees[3] = {0, 0, 0};
  intptr_t n = mlirOperationGetNumOperands(def);
  int highest = 0;
  for (intptr_t i = 0; i < n; ++i) {
    int degree = degreeOf(q, mlirOperationGetOperand(def, i), depth + 1);
    if (i < 3)
      degrees[i] = degree;
    highest = degree > highest ? degree : highest;
  }
  if (highest == 0)
    return 0;
  if (shardOpIs(def, "arith.addf") || shardOpIs(def, "arith.subf") || shardOpIs(def, "arith.addi") ||
      shardOpIs(def, "arith.subi"))
    return degrees[0] == 1 && degrees[1] == 1 ? 1 : 2;
  if (shardOpIs(def, "arith.mulf") || shardOpIs(def, "arith.muli"))
    return degrees[0] + degrees[1] == 1 ? 1 : 2;
  if (shardOpIs(def, "arith.divf"))
    return degrees[0] == 1 && degrees[1] == 0 ? 1 : 2;
  if (shardOpIs(def, "arith.negf") || shardOpIs(def, "arith.truncf") || shardOpIs(def, "arith.extf"))
    return degrees[0];
  if (shardOpIs(def, "arith.select"))
    return degrees[0] == 0 && degrees[1] == 1 && degrees[2] == 1 ? 1 : 2;
  return 2;
}

static bool mentions(MlirBlock body, MlirValue value, MlirValue target, int depth) {
  if (sameValue(value, target))
    return true;
  MlirOperation def = definingOp(value);
  if (!def.ptr || depth > 64 || !mlirBlockEqual(mlirOperationGetBlock(def), body))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); ++i)
    if (mentions(body, mlirOperationGetOperand(def, i), target, depth + 1))
      return true;
  return false;
}

/// A product of two different inputs is summed: the body of a contraction.
static bool multipliesInputs(MlirBlock body, MlirValue value, intptr_t nInputs, int depth) {
  MlirOperation def = definingOp(value);
  if (!def.ptr || depth > 16 || !mlirBlockEqual(mlirOperationGetBlock(def), body))
    return false;
  if (shardOpIs(def, "arith.mulf") || shardOpIs(def, "arith.muli")) {
    MlirValue left = mlirOperationGetOperand(def, 0), right = mlirOperationGetOperand(def, 1);
    intptr_t i = 0, j = 0;
    for (; i < nInputs && !mentions(body, left, mlirBlockGetArgument(body, i), 0); ++i)
      ;
    for (; j < nInputs; ++j)
      if (j != i && mentions(body, right, mlirBlockGetArgument(body, j), 0))
        break;
    if (i < nInputs && j < nInputs)
      return true;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); ++i)
    if (multipliesInputs(body, mlirOperationGetOperand(def, i), nInputs, depth + 1))
      return true;
  return false;
}

static bool isZeroConstant(MlirValue value);

static bool isZeroAttribute(MlirAttribute attribute) {
  if (mlirAttributeIsAFloat(attribute))
    return mlirFloatAttrGetValueDouble(attribute) == 0.0;
  if (mlirAttributeIsAInteger(attribute)) {
    int64_t value;
    return shardAttrGetI64(attribute, &value) && value == 0;
  }
  if (mlirAttributeIsADenseElements(attribute) && mlirDenseElementsAttrIsSplat(attribute))
    return isZeroAttribute(mlirDenseElementsAttrGetSplatValue(attribute));
  return false;
}

/// A tensor or scalar that is zero everywhere: a constant, or a fill or splat of one.
static bool isZeroConstant(MlirValue value) {
  MlirOperation def = definingOp(value);
  if (!def.ptr)
    return false;
  if (shardOpIs(def, "arith.constant"))
    return isZeroAttribute(shardOpGetAttribute(def, "value"));
  if (shardOpIs(def, "linalg.fill") || shardOpIs(def, "tensor.splat"))
    return isZeroConstant(mlirOperationGetOperand(def, 0));
  return false;
}

static bool isFloat(MlirType type) { return mlirTypeIsAFloat(type); }

static void addLinear(RuleBuilder *b, ShardOpRule *rule, uint32_t mask) {
  if (!mask)
    return;
  for (int32_t i = 0; i < rule->nLinear; ++i)
    if (rule->linear[i] == mask)
      return;
  uint32_t *bigger = SHARD_ARENA_ARRAY(b->arena, uint32_t, rule->nLinear + 1);
  if (rule->nLinear)
    memcpy(bigger, rule->linear, (size_t)rule->nLinear * sizeof(uint32_t));
  bigger[rule->nLinear++] = mask;
  rule->linear = bigger;
}

/// Fills combiner of reduction factors, linearity and flops of a linalg op.
static void analyseBody(RuleBuilder *b, const OpShape *shape, ShardOpRule *rule) {
  MlirOperation op = rule->op;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirOperation yield = mlirBlockGetTerminator(body);
  intptr_t nInits = mlirOperationGetNumResults(op);
  intptr_t nInputs = mlirOperationGetNumOperands(op) - nInits;
  bool reduces = false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    reduces |= rule->factors[f].kind == SHARD_FACTOR_REDUCTION;

  ShardCombiner combiner = SHARD_COMBINER_NONE;
  MlirValue folded = {NULL}, accumulator = {NULL};
  intptr_t nArguments = mlirBlockGetNumArguments(body);
  bool hasInitArguments = nArguments >= nInputs + nInits; // linalg.map has none
  bool initUsed = false;
  for (intptr_t r = 0; hasInitArguments && r < nInits; ++r)
    initUsed |= countUses(mlirBlockGetArgument(body, nInputs + r)) > 0;
  rule->unusedInit = !initUsed;

  if (reduces && hasInitArguments) {
    for (intptr_t r = 0; r < nInits; ++r) {
      MlirValue other;
      ShardCombiner found = bodyCombiner(mlirOperationGetOperand(yield, r),
                                         mlirBlockGetArgument(body, nInputs + r), &other);
      if (r == 0)
        combiner = found, folded = other, accumulator = mlirBlockGetArgument(body, nInputs);
      else if (found != combiner)
        combiner = SHARD_COMBINER_NONE;
      if (found == SHARD_COMBINER_NONE)
        combiner = SHARD_COMBINER_NONE;
    }
    // The other results' accumulators must not feed this one's value.
    for (int32_t f = 0; f < rule->nFactors; ++f) {
      ShardFactor *factor = &rule->factors[f];
      if (factor->kind != SHARD_FACTOR_REDUCTION)
        continue;
      factor->combiner = combiner;
      if (combiner == SHARD_COMBINER_NONE)
        factor->kind = SHARD_FACTOR_WHOLE;
    }
  }
  if (nInits != 1)
    return;

  MlirValue value = mlirOperationGetOperand(yield, 0);
  bool sum = false;
  if (combiner == SHARD_COMBINER_SUM)
    value = folded, sum = true;
  if (sum && multipliesInputs(body, value, nInputs, 0)) {
    rule->contraction = true;
    rule->flops = 2;
    for (int32_t l = 0; l < shape->nLoops; ++l)
      if (shape->loops[l].real)
        rule->flops *= shape->loops[l].size;
  }
  if (reduces && !sum)
    return;
  if (!reduces && initUsed && hasInitArguments) {
    // An elementwise body that reads its init: the init is an ordinary input.
    sum = false;
  }

  // Candidate variables: float operands that the body reads.
  int32_t candidates[32], nCandidates = 0;
  for (int32_t i = 0; i < rule->nOperands && nCandidates < 6; ++i) {
    const ShardPort *port = &rule->operands[i];
    if (port->init && (sum || rule->unusedInit))
      continue;
    MlirType element = mlirShapedTypeGetElementType(b->rules->values[port->value].type);
    if (isFloat(element) || mlirTypeIsAInteger(element))
      if (!(mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1))
        candidates[nCandidates++] = i;
  }
  uint32_t found[64];
  int32_t nFound = 0;
  // A replicated init of a sum enters as it is only when it is zero; else it joins every set.
  uint32_t initMask = 0;
  if (sum)
    for (int32_t i = 0; i < rule->nOperands; ++i)
      if (rule->operands[i].init && !isZeroConstant(b->rules->values[rule->operands[i].value].value))
        initMask |= 1u << i;
  for (uint32_t subset = 1; subset < 1u << nCandidates; ++subset) {
    DegreeQuery query = {.body = body, .accumulator = accumulator};
    uint32_t mask = 0;
    for (int32_t c = 0; c < nCandidates; ++c) {
      if (!(subset >> c & 1))
        continue;
      const ShardPort *port = &rule->operands[candidates[c]];
      mask |= 1u << candidates[c];
      if (port->operandIndex >= 0 && port->operandIndex < 32)
        query.variables |= 1u << port->operandIndex;
      else if (query.nExtracts < 32)
        query.extracts[query.nExtracts++] = &shape->operands[candidates[c]];
    }
    // Keep only minimal sets: a union of two independent linear sets is not linear jointly.
    bool covered = false;
    for (int32_t k = 0; k < nFound; ++k)
      covered |= (found[k] & mask) == found[k] && found[k] != mask;
    if (covered)
      continue;
    if (degreeOf(&query, value, 0) == 1 && nFound < 64)
      found[nFound++] = mask;
  }
  for (int32_t k = 0; k < nFound; ++k)
    addLinear(b, rule, found[k] | initMask);
  MlirOperation def = definingOp(value);
  rule->movement = !reduces && (!def.ptr || !mlirBlockEqual(mlirOperationGetBlock(def), body) ||
                                shardOpIs(def, "tensor.extract"));
}

uint32_t shardOpLinearSet(const ShardOpRule *rule, uint32_t partialOperands) {
  uint32_t best = 0;
  int bestCount = 33;
  for (int32_t i = 0; i < rule->nLinear; ++i)
    if ((rule->linear[i] & partialOperands) == partialOperands) {
      int count = __builtin_popcount(rule->linear[i]);
      if (count < bestCount)
        best = rule->linear[i], bestCount = count;
    }
  return best;
}

//===----------------------------------------------------------------------===//
// Binding atoms to factors
//===----------------------------------------------------------------------===//

typedef struct AtomRef {
  int32_t klass;
  int64_t size;
  int32_t factor;
} AtomRef;

static int32_t classOf(RuleBuilder *b, int32_t leaf) {
  leaf = findNode(b, leaf);
  if (b->nodes[leaf].klass < 0)
    b->nodes[leaf].klass = b->rules->nClasses++;
  return b->nodes[leaf].klass;
}

typedef struct FactorList {
  ShardFactor *factors;
  int32_t n;
  size_t capacity;
} FactorList;

static int32_t addFactor(RuleBuilder *b, FactorList *list, ShardFactor factor) {
  list->factors = shardArenaGrow(b->arena, list->factors, (size_t)list->n, &list->capacity,
                                 (size_t)list->n + 1, sizeof(ShardFactor));
  list->factors[list->n] = factor;
  return list->n++;
}

/// Binds a dimension's atoms to the factors that `expected` lists. Atoms that do not line up are
/// bound to new WHOLE factors, and factors that they would need become WHOLE.
static void bindAtoms(RuleBuilder *b, FactorList *list, int32_t nExpected, const AtomRef *expected,
                      int32_t nAtoms, const ShardAtom *atoms, int32_t *outFactors) {
  int32_t i = 0, j = 0;
  int64_t left = 1, right = 1; // products so far
  while (i < nAtoms || j < nExpected) {
    if (i < nAtoms && j < nExpected && left == right && atoms[i].klass == expected[j].klass) {
      outFactors[i] = expected[j].factor;
      left *= atoms[i++].size;
      right *= expected[j++].size;
    } else if (i < nAtoms && (j == nExpected || left <= right)) {
      outFactors[i] = addFactor(b, list, (ShardFactor){.size = atoms[i].size, .klass = atoms[i].klass,
                                                       .kind = SHARD_FACTOR_WHOLE, .loop = -1});
      left *= atoms[i++].size;
    } else {
      list->factors[expected[j].factor].kind = SHARD_FACTOR_WHOLE;
      right *= expected[j++].size;
    }
  }
}

static void bindPort(RuleBuilder *b, FactorList *list, const OpShape *shape, const PortShape *source,
                     AtomRef *const *loopAtoms, const int32_t *nLoopAtoms, ShardPort *port) {
  *port = (ShardPort){.value = valueOf(b, source->value), .operandIndex = source->operandIndex,
                      .user = source->user, .init = source->init};
  const ShardValueInfo *info = &b->rules->values[port->value];
  int32_t *factors = SHARD_ARENA_ARRAY(b->arena, int32_t, info->nAtoms ? info->nAtoms : 1);
  for (int32_t a = 0; a < info->nAtoms; ++a)
    factors[a] = -1;
  port->factors = factors;
  if (shape->entry && (shape->entry->form == SHARD_OP_CALL || shape->entry->form == SHARD_OP_RETURN))
    return;
  int32_t begin = 0;
  while (begin < info->nAtoms) {
    int32_t dim = info->atoms[begin].dim, end = begin;
    int64_t size = 1;
    while (end < info->nAtoms && info->atoms[end].dim == dim)
      size *= info->atoms[end++].size;
    const DimExpr *expr = &source->dims[dim];
    AtomRef expected[MAX_LOOPS];
    int32_t n = 0;
    if (expr->kind == DIM_PRODUCT) {
      for (int32_t k = 0; k < expr->nLoops; ++k)
        for (int32_t a = 0; a < nLoopAtoms[expr->loops[k]] && n < MAX_LOOPS; ++a)
          expected[n++] = loopAtoms[expr->loops[k]][a];
    } else if (expr->kind == DIM_PREFIX) {
      int64_t product = 1;
      for (int32_t a = 0; a < nLoopAtoms[expr->loops[0]] && product < size; ++a) {
        expected[n] = loopAtoms[expr->loops[0]][a];
        product *= expected[n++].size;
      }
    }
    if (expr->kind == DIM_GATHER) {
      for (int32_t a = begin; a < end; ++a) // only the major part of a table splits by rows
        factors[a] = addFactor(b, list, (ShardFactor){.size = info->atoms[a].size,
                                                      .klass = info->atoms[a].klass,
                                                      .kind = a == begin ? SHARD_FACTOR_GATHER : SHARD_FACTOR_WHOLE,
                                                      .combiner = SHARD_COMBINER_SUM, .loop = -1});
    } else {
      bindAtoms(b, list, n, expected, end - begin, info->atoms + begin, factors + begin);
    }
    begin = end;
  }
}

/// A factor may be split only if every port sees each of its loops' factors at most once and results
/// agree: in all results (parallel) or in none (reduction).
static void bindOp(RuleBuilder *b, const OpShape *shape, ShardOpRule *rule) {
  FactorList list = {0};
  AtomRef *loopAtoms[MAX_LOOPS];
  int32_t nLoopAtoms[MAX_LOOPS];
  for (int32_t l = 0; l < shape->nLoops; ++l) {
    int32_t *leaves = NULL, n = 0;
    size_t capacity = 0;
    appendLeaves(b, shape->loops[l].node, &leaves, &n, &capacity);
    loopAtoms[l] = SHARD_ARENA_ARRAY(b->arena, AtomRef, n ? n : 1);
    nLoopAtoms[l] = n;
    for (int32_t a = 0; a < n; ++a) {
      int32_t klass = classOf(b, leaves[a]);
      int64_t size = b->nodes[findNode(b, leaves[a])].size;
      int32_t factor = addFactor(
          b, &list,
          (ShardFactor){.size = size, .klass = klass,
                        .kind = shape->loops[l].whole ? SHARD_FACTOR_WHOLE : SHARD_FACTOR_PARALLEL,
                        .loop = shape->loops[l].real ? l : -1});
      loopAtoms[l][a] = (AtomRef){.klass = klass, .size = size, .factor = factor};
    }
  }
  rule->nOperands = shape->nOperands, rule->nResults = shape->nResults;
  rule->operands = SHARD_ARENA_ARRAY(b->arena, ShardPort, rule->nOperands ? rule->nOperands : 1);
  rule->results = SHARD_ARENA_ARRAY(b->arena, ShardPort, rule->nResults ? rule->nResults : 1);
  for (int32_t i = 0; i < shape->nOperands; ++i)
    bindPort(b, &list, shape, &shape->operands[i], loopAtoms, nLoopAtoms, &rule->operands[i]);
  for (int32_t i = 0; i < shape->nResults; ++i)
    bindPort(b, &list, shape, &shape->results[i], loopAtoms, nLoopAtoms, &rule->results[i]);
  rule->factors = list.factors, rule->nFactors = list.n;

  int32_t nLoopFactors = 0;
  for (int32_t l = 0; l < shape->nLoops; ++l)
    nLoopFactors += nLoopAtoms[l];
  if (rule->form != SHARD_OP_COMPUTE && rule->form != SHARD_OP_RESHAPE && rule->form != SHARD_OP_SLICE)
    return;
  for (int32_t f = 0; f < nLoopFactors; ++f) {
    ShardFactor *factor = &rule->factors[f];
    if (factor->kind != SHARD_FACTOR_PARALLEL)
      continue;
    int32_t in = 0;
    for (int32_t r = 0; r < rule->nResults; ++r)
      for (int32_t a = 0; a < b->rules->values[rule->results[r].value].nAtoms; ++a)
        in += rule->results[r].factors[a] == f;
    if (in == 0)
      factor->kind = SHARD_FACTOR_REDUCTION;
    else if (in != rule->nResults)
      factor->kind = SHARD_FACTOR_WHOLE;
    if (in == 0 && factor->loop < 0)
      factor->kind = SHARD_FACTOR_WHOLE;
  }
  // A diagonal (a factor twice in one port) cannot be cut along both of its dimensions.
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
    const ShardPort *port = i < rule->nOperands ? &rule->operands[i] : &rule->results[i - rule->nOperands];
    int32_t nAtoms = b->rules->values[port->value].nAtoms;
    for (int32_t a = 0; a < nAtoms; ++a)
      for (int32_t c = a + 1; c < nAtoms; ++c)
        if (port->factors[a] >= 0 && port->factors[a] == port->factors[c])
          rule->factors[port->factors[a]].kind = SHARD_FACTOR_WHOLE;
  }
}

static bool isLinalgBody(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return name.length > 7 && memcmp(name.data, "linalg.", 7) == 0 &&
         mlirOperationGetNumRegions(op) == 1 &&
         mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)).ptr;
}

static void analyseOp(RuleBuilder *b, const OpShape *shape, ShardOpRule *rule) {
  MlirOperation op = rule->op;
  if (rule->form == SHARD_OP_RESHAPE || rule->form == SHARD_OP_SLICE) {
    rule->movement = true;
    uint32_t mask = 0;
    for (int32_t i = 0; i < rule->nOperands && i < 32; ++i)
      mask |= 1u << i;
    if (!shardOpIs(op, "tensor.pad") && rule->nOperands <= 32)
      addLinear(b, rule, mask);
    return;
  }
  if (rule->form != SHARD_OP_COMPUTE)
    return;
  if (isLinalgBody(op)) {
    analyseBody(b, shape, rule);
  } else {
    for (int32_t f = 0; f < rule->nFactors; ++f)
      if (rule->factors[f].kind == SHARD_FACTOR_REDUCTION)
        rule->factors[f].kind = SHARD_FACTOR_WHOLE;
    if (shardOpIs(op, "arith.addf") || shardOpIs(op, "arith.subf"))
      addLinear(b, rule, 3);
    if (shardOpIs(op, "arith.mulf"))
      addLinear(b, rule, 1), addLinear(b, rule, 2);
    if (shardOpIs(op, "arith.negf") || shardOpIs(op, "arith.divf") || shardOpIs(op, "tensor.cast"))
      addLinear(b, rule, 1);
  }
  // Rows that a shard does not hold count as zero: right only where the element enters linearly.
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    bool linear = i < 32 && shardOpLinearSet(rule, 1u << i) == 1u << i;
    for (int32_t a = 0; a < b->rules->values[port->value].nAtoms; ++a)
      if (port->factors[a] >= 0 && rule->factors[port->factors[a]].kind == SHARD_FACTOR_GATHER && !linear)
        rule->factors[port->factors[a]].kind = SHARD_FACTOR_WHOLE;
  }
  bool data = false;
  for (int32_t i = 0; i < rule->nOperands; ++i)
    data |= !(rule->operands[i].init && rule->unusedInit);
  bool whole = false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    whole |= rule->factors[f].kind == SHARD_FACTOR_WHOLE;
  rule->cheap = !data && !whole;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static MlirOperation calleeOf(MlirOperation module, MlirOperation call) {
  MlirAttribute symbol = shardOpGetAttribute(call, "callee");
  if (!symbol.ptr || !mlirAttributeIsAFlatSymbolRef(symbol))
    return (MlirOperation){NULL};
  return shardModuleLookup(module, mlirFlatSymbolRefAttrGetValue(symbol));
}

typedef struct FunctionOrder {
  MlirOperation *functions;
  int32_t n;
  size_t capacity;
  ShardPointerMap *state; // 1 in progress, 2 done
} FunctionOrder;

static MlirLogicalResult orderFunction(RuleBuilder *b, FunctionOrder *order, MlirOperation func) {
  int64_t state = shardPointerMapGetOr(order->state, func.ptr, 0);
  if (state == 2)
    return mlirLogicalResultSuccess();
  if (state == 1)
    return shardEmitError(func, "recursive function: a program must call its layers in one order");
  shardPointerMapSet(order->state, func.ptr, 1);
  MlirBlock body = shardFuncGetBody(func);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.call"))
      continue;
    MlirOperation callee = calleeOf(b->rules->module, op);
    if (!callee.ptr || !shardFuncGetBody(callee).ptr)
      return shardEmitError(op, "call of a function without a body");
    if (mlirLogicalResultIsFailure(orderFunction(b, order, callee)))
      return mlirLogicalResultFailure();
  }
  shardPointerMapSet(order->state, func.ptr, 2);
  order->functions = shardArenaGrow(b->arena, order->functions, (size_t)order->n, &order->capacity,
                                    (size_t)order->n + 1, sizeof(MlirOperation));
  order->functions[order->n++] = func;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult checkStatic(MlirOperation op, MlirValue value) {
  MlirType type = mlirValueGetType(value);
  if (mlirTypeIsAUnrankedTensor(type) ||
      (mlirTypeIsARankedTensor(type) && !mlirShapedTypeHasStaticShape(type)))
    return shardEmitError(op, "a dynamic shape is left; set it with --dim=ARG:D=N");
  return mlirLogicalResultSuccess();
}

static bool hasTensors(MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (isTensor(mlirOperationGetResult(op, i)))
      return true;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (isTensor(mlirOperationGetOperand(op, i)))
      return true;
  return mlirOperationGetNumRegions(op) > 0 || shardOpIs(op, "func.return");
}

static void tiePorts(RuleBuilder *b, const OpShape *shape) {
  for (int32_t i = 0; i < shape->nOperands + shape->nResults; ++i) {
    const PortShape *port =
        i < shape->nOperands ? &shape->operands[i] : &shape->results[i - shape->nOperands];
    int32_t value = valueOf(b, port->value);
    for (intptr_t d = 0; d < rankOf(port->value); ++d) {
      const DimExpr *expr = &port->dims[d];
      int32_t node = b->valueNodes[value][d];
      if (expr->kind == DIM_PRODUCT) {
        int32_t nodes[MAX_LOOPS];
        for (int32_t k = 0; k < expr->nLoops; ++k)
          nodes[k] = shape->loops[expr->loops[k]].node;
        tieNodes(b, productNode(b, expr->nLoops, nodes), node);
      } else if (expr->kind == DIM_PREFIX) {
        int64_t size = shape->loops[expr->loops[0]].size;
        int32_t nodes[2] = {node, newNode(b, size / sizeOf(port->value, d))};
        tieNodes(b, productNode(b, 2, nodes), shape->loops[expr->loops[0]].node);
      }
    }
  }
}

static void tieValues(RuleBuilder *b, int32_t x, int32_t y) {
  if (x < 0 || y < 0)
    return;
  int64_t rank = mlirShapedTypeGetRank(b->rules->values[x].type);
  if (rank != mlirShapedTypeGetRank(b->rules->values[y].type))
    return;
  for (int64_t d = 0; d < rank; ++d)
    tieNodes(b, b->valueNodes[x][d], b->valueNodes[y][d]);
}

/// Ties a call's operands and results to the callee's arguments and returned values.
static void tieCall(RuleBuilder *b, const ShardOpRule *rule) {
  const ShardFunctionInfo *callee = &b->rules->functions[rule->callee];
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(rule->op); ++i)
    tieValues(b, valueOf(b, mlirOperationGetOperand(rule->op, i)), callee->arguments[i]);
  MlirOperation ret = mlirBlockGetTerminator(shardFuncGetBody(callee->func));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(rule->op); ++i)
    tieValues(b, valueOf(b, mlirOperationGetResult(rule->op, i)),
              valueOf(b, mlirOperationGetOperand(ret, i)));
}

static MlirLogicalResult collectFunction(RuleBuilder *b, int32_t index, OpShape **shapes, bool remarks) {
  ShardFunctionInfo *info = &b->rules->functions[index];
  MlirBlock body = shardFuncGetBody(info->func);
  if (mlirBlockGetNextInRegion(body).ptr)
    return shardEmitError(info->func, "function with more than one block");
  info->nArguments = (int32_t)mlirBlockGetNumArguments(body);
  int32_t *arguments = SHARD_ARENA_ARRAY(b->arena, int32_t, info->nArguments ? info->nArguments : 1);
  for (int32_t i = 0; i < info->nArguments; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    if (mlirLogicalResultIsFailure(checkStatic(info->func, argument)))
      return mlirLogicalResultFailure();
    arguments[i] = addValue(b, argument, index, -1, i);
  }
  info->arguments = arguments;
  int32_t n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr; op = mlirOperationGetNextInBlock(op))
    n += hasTensors(op);
  info->ops = SHARD_ARENA_ARRAY(b->arena, ShardOpRule, n ? n : 1);
  *shapes = SHARD_ARENA_ARRAY(b->arena, OpShape, n ? n : 1);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (!hasTensors(op))
      continue;
    int32_t number = info->nOps++;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
      if (mlirLogicalResultIsFailure(checkStatic(op, mlirOperationGetResult(op, r))))
        return mlirLogicalResultFailure();
      addValue(b, mlirOperationGetResult(op, r), index, number, (int32_t)r);
    }
    OpShape *shape = &(*shapes)[number];
    ShardOpRule *rule = &info->ops[number];
    shape->entry = shardOpEntryFind(shardOpGetName(op));
    rule->op = op;
    rule->callee = -1;
    rule->form = shape->entry ? shape->entry->form : SHARD_OP_WHOLE;
    if (shape->entry) {
      shape->entry->describe(b, op, shape);
    } else {
      describeWhole(b, op, shape);
      if (remarks)
        shardEmitRemark(op, "no dimension rule for '%.*s': its operands are kept whole",
                        (int)shardOpGetName(op).length, shardOpGetName(op).data);
    }
    if (rule->form == SHARD_OP_CALL) {
      MlirOperation callee = calleeOf(b->rules->module, op);
      for (int32_t f = 0; f < index; ++f)
        if (b->rules->functions[f].func.ptr == callee.ptr) {
          rule->callee = f;
          ++b->rules->functions[f].nCalls;
        }
      tieCall(b, rule);
    } else if (rule->form == SHARD_OP_RETURN) {
      info->nResults = (int32_t)mlirOperationGetNumOperands(op);
    } else {
      tiePorts(b, shape);
    }
  }
  return mlirLogicalResultSuccess();
}

static void numberAtoms(RuleBuilder *b, ShardValueInfo *info, const int32_t *nodes) {
  int64_t rank = mlirShapedTypeGetRank(info->type);
  ShardAtom *atoms = NULL;
  int32_t n = 0;
  size_t capacity = 0;
  for (int64_t d = 0; d < rank; ++d) {
    int32_t *leaves = NULL, nLeaves = 0;
    size_t leafCapacity = 0;
    appendLeaves(b, nodes[d], &leaves, &nLeaves, &leafCapacity);
    for (int32_t i = 0; i < nLeaves; ++i) {
      atoms = shardArenaGrow(b->arena, atoms, (size_t)n, &capacity, (size_t)n + 1, sizeof(ShardAtom));
      atoms[n++] = (ShardAtom){.dim = (int32_t)d, .klass = classOf(b, leaves[i]),
                               .size = b->nodes[findNode(b, leaves[i])].size};
    }
  }
  info->atoms = atoms;
  info->nAtoms = n;
}

int32_t shardRulesFindValue(const ShardRules *rules, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(rules->valueIndex, value.ptr, -1);
}

ShardRules *shardRulesCreate(MlirOperation module, ShardArena *arena, bool remarks) {
  ShardRules *rules = SHARD_ARENA_NEW(arena, ShardRules);
  rules->module = module;
  rules->arena = arena;
  rules->valueIndex = shardPointerMapCreate(arena, 1024);
  RuleBuilder builder = {.rules = rules, .arena = arena};
  FunctionOrder order = {.state = shardPointerMapCreate(arena, 64)};
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(module));
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr; op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && shardFuncGetBody(op).ptr)
      if (mlirLogicalResultIsFailure(orderFunction(&builder, &order, op)))
        return NULL;
  rules->nFunctions = order.n;
  rules->functions = SHARD_ARENA_ARRAY(arena, ShardFunctionInfo, order.n ? order.n : 1);
  OpShape **shapes = SHARD_ARENA_ARRAY(arena, OpShape *, order.n ? order.n : 1);
  for (int32_t f = 0; f < order.n; ++f) {
    rules->functions[f].func = order.functions[f];
    if (mlirLogicalResultIsFailure(collectFunction(&builder, f, &shapes[f], remarks)))
      return NULL;
  }
  for (int32_t v = 0; v < rules->nValues; ++v)
    numberAtoms(&builder, &rules->values[v], builder.valueNodes[v]);
  for (int32_t f = 0; f < order.n; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
      bindOp(&builder, &shapes[f][o], &rules->functions[f].ops[o]);
      analyseOp(&builder, &shapes[f][o], &rules->functions[f].ops[o]);
    }
  int64_t *sizes = SHARD_ARENA_ARRAY(arena, int64_t, rules->nClasses ? rules->nClasses : 1);
  for (size_t i = 0; i < builder.nNodes; ++i)
    if (builder.nodes[i].klass >= 0)
      sizes[builder.nodes[i].klass] = builder.nodes[i].size;
  rules->classSizes = sizes;
  return rules;
}
