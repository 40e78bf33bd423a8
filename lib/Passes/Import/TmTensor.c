//===- TmTensor.c - torch-mlir's tm_tensor ops to linalg ----------*- C -*-===//
// MLIR does not know this dialect: its ops come in generic form, and nothing has verified them.
// Scan becomes a linalg.generic that carries its running value along the dimension; sort and top-k
// a selection (Analysis/Selection.h), or places and a pick where all is sorted; scatter a reduction
// over the updates in which the element that an update names takes it; attention its two products
// around a softmax.
//===----------------------------------------------------------------------===//
#include "TmTensor.h"

#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

enum { EQ = 0 }; // arith.cmpi

//===----------------------------------------------------------------------===//
// Reading an op that nobody has verified
//===----------------------------------------------------------------------===//

MlirLogicalResult shardTmMalformed(const TmOp *t, const char *what) {
  MlirStringRef name = shardOpGetName(t->op);
  return shardEmitError(t->op, "'%.*s': expected %s", (int)name.length, name.data, what);
}

MlirType shardTmTypeOf(const TmOp *t, intptr_t operand) {
  return mlirValueGetType(mlirOperationGetOperand(t->op, operand));
}

MlirType shardTmElementOf(MlirValue value) {
  return mlirShapedTypeGetElementType(mlirValueGetType(value));
}

bool shardTmSameShape(MlirType a, MlirType b) {
  intptr_t rank = mlirShapedTypeGetRank(a);
  if (rank != mlirShapedTypeGetRank(b))
    return false;
  for (intptr_t d = 0; d < rank; ++d)
    if (mlirShapedTypeGetDimSize(a, d) != mlirShapedTypeGetDimSize(b, d))
      return false;
  return true;
}

/// Inputs, destinations and results: a result for each destination, of its type.
MlirLogicalResult shardTmReadOperands(TmOp *t, intptr_t nInputs, intptr_t nOutputs) {
  MlirAttribute segments = shardOpGetAttribute(t->op, "operandSegmentSizes");
  intptr_t n = mlirOperationGetNumOperands(t->op);
  t->nInputs = nInputs;
  if (!mlirAttributeIsNull(segments) && mlirAttributeIsADenseI32Array(segments) &&
      mlirDenseArrayGetNumElements(segments) >= 2)
    t->nInputs = mlirDenseI32ArrayGetElement(segments, 0);
  t->nOutputs = n - t->nInputs;
  if (t->nInputs != nInputs || (nOutputs >= 0 && t->nOutputs != nOutputs) || t->nOutputs < 1 ||
      t->nOutputs != mlirOperationGetNumResults(t->op))
    return shardTmMalformed(
        t, "as many results as destinations, and the operands that torch-mlir writes");
  for (intptr_t i = 0; i < n; ++i)
    if (!mlirTypeIsARankedTensor(shardTmTypeOf(t, i)))
      return shardTmMalformed(t, "operands that are ranked tensors");
  for (intptr_t r = 0; r < t->nOutputs; ++r)
    if (!mlirTypeEqual(shardTmTypeOf(t, t->nInputs + r),
                       mlirValueGetType(mlirOperationGetResult(t->op, r))))
      return shardTmMalformed(t, "results of the types of their destinations");
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardTmReadDimension(TmOp *t, MlirType type) {
  t->rank = mlirShapedTypeGetRank(type);
  if (!shardAttrGetI64(shardOpGetAttribute(t->op, "dimension"), &t->dim) || t->dim < 0 ||
      t->dim >= t->rank)
    return shardTmMalformed(t, "a 'dimension' below the rank of the first operand");
  return mlirLogicalResultSuccess();
}

/// One block of scalar ops whose arguments come in pairs of an operand's element type.
MlirLogicalResult shardTmReadBody(TmOp *t, intptr_t firstOperand, intptr_t nPairs, bool yieldsBit) {
  static const char what[] =
      "a body of two scalars for each tensor, of its element type, that yields one scalar";
  MlirRegion region = mlirOperationGetNumRegions(t->op) == 1 ? mlirOperationGetRegion(t->op, 0)
                                                             : (MlirRegion){NULL};
  t->body = mlirRegionIsNull(region) ? (MlirBlock){NULL} : mlirRegionGetFirstBlock(region);
  if (mlirBlockIsNull(t->body) || !mlirBlockIsNull(mlirBlockGetNextInRegion(t->body)) ||
      mlirBlockGetNumArguments(t->body) != 2 * nPairs)
    return shardTmMalformed(t, what);
  for (intptr_t i = 0; i < 2 * nPairs; ++i)
    if (!mlirTypeEqual(mlirValueGetType(mlirBlockGetArgument(t->body, i)),
                       mlirShapedTypeGetElementType(shardTmTypeOf(t, firstOperand + i / 2))))
      return shardTmMalformed(t, what);
  // Nothing verified that the block has a terminator.
  MlirOperation last = mlirBlockGetFirstOperation(t->body);
  while (!mlirOperationIsNull(last) && !mlirOperationIsNull(mlirOperationGetNextInBlock(last)))
    last = mlirOperationGetNextInBlock(last);
  if (!shardOpIs(last, "tm_tensor.yield") || mlirOperationGetNumOperands(last) != 1)
    return shardTmMalformed(t, what);
  t->yielded = mlirOperationGetOperand(last, 0);
  MlirType type = mlirValueGetType(t->yielded);
  MlirType wanted = yieldsBit ? mlirIntegerTypeGet(mlirOperationGetContext(t->op), 1)
                              : mlirValueGetType(mlirBlockGetArgument(t->body, 0));
  return mlirTypeEqual(type, wanted) ? mlirLogicalResultSuccess() : shardTmMalformed(t, what);
}

/// The body with these values of its arguments; returns what it yields.
MlirValue shardTmInlineBody(const TmOp *t, const ShardInsert *at, const MlirValue *arguments) {
  ShardPointerMap *map = shardPointerMapCreate(t->arena, 16);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(t->body); ++i)
    shardValueMapSet(map, mlirBlockGetArgument(t->body, i), arguments[i]);
  for (MlirOperation op = mlirBlockGetFirstOperation(t->body); !shardOpIs(op, "tm_tensor.yield");
       op = mlirOperationGetNextInBlock(op))
    shardOpCloneMapped(op, at->block, at->before, map);
  return shardValueMapGet(map, t->yielded);
}

void shardTmReplaceResult(const TmOp *t, intptr_t result, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(t->op, result), value);
}

static bool resultIsUsed(const TmOp *t, intptr_t result) {
  return !shardValueIsUnused(mlirOperationGetResult(t->op, result));
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

typedef struct Scan {
  const TmOp *t;
  bool inclusive;
  bool hasIdentity; // the running value begins as the identity of the combiner
  MlirValue zero;   // index
} Scan;

/// Inputs: x; outputs: the result, the running value.
static void buildScan(void *user, const ShardInsert *at, const MlirValue *arguments,
                      MlirValue *yielded) {
  const Scan *scan = user;
  MlirValue pair[2] = {arguments[2], arguments[0]};
  MlirValue next = shardTmInlineBody(scan->t, at, pair);
  if (scan->inclusive && !scan->hasIdentity) {
    MlirValue isFirst =
        shardInsertCompare(at, EQ, shardInsertLoopIndex(at, scan->t->dim), scan->zero);
    next = shardInsertSelect(at, isFirst, arguments[0], next);
  }
  yielded[0] = scan->inclusive ? next : arguments[2];
  yielded[1] = next;
}

/// The identity of a body that is one op of its two arguments; null if it has none.
static MlirAttribute identityOfBody(const TmOp *t) {
  static const struct {
    const char *op;
    double identity;
  } table[] = {{"arith.addf", 0},
               {"arith.addi", 0},
               {"arith.mulf", 1},
               {"arith.muli", 1},
               {"arith.maximumf", -INFINITY},
               {"arith.minimumf", INFINITY},
               {"arith.ori", 0},
               {"arith.xori", 0}};
  MlirOperation op = shardValueDefiningOp(t->yielded);
  if (mlirOperationIsNull(op) || mlirOperationGetNumOperands(op) != 2)
    return mlirAttributeGetNull();
  MlirValue a = mlirOperationGetOperand(op, 0), b = mlirOperationGetOperand(op, 1);
  MlirValue x = mlirBlockGetArgument(t->body, 0), y = mlirBlockGetArgument(t->body, 1);
  if (!(mlirValueEqual(a, x) && mlirValueEqual(b, y)) &&
      !(mlirValueEqual(a, y) && mlirValueEqual(b, x)))
    return mlirAttributeGetNull();
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (shardOpIs(op, table[i].op))
      return shardAttrNumber(mlirValueGetType(t->yielded), table[i].identity);
  return mlirAttributeGetNull();
}

static MlirLogicalResult importScan(TmOp *t) {
  if (mlirLogicalResultIsFailure(shardTmReadOperands(t, 1, 2)) ||
      mlirLogicalResultIsFailure(shardTmReadDimension(t, shardTmTypeOf(t, 0))) ||
      mlirLogicalResultIsFailure(shardTmReadBody(t, 0, 1, false)))
    return mlirLogicalResultFailure();
  MlirAttribute inclusive = shardOpGetAttribute(t->op, "inclusive");
  bool shapes = mlirTypeEqual(shardTmTypeOf(t, 0), shardTmTypeOf(t, 1)) &&
                mlirShapedTypeGetRank(shardTmTypeOf(t, 2)) == t->rank - 1 &&
                mlirTypeEqual(shardTmElementOf(mlirOperationGetOperand(t->op, 2)),
                              shardTmElementOf(mlirOperationGetOperand(t->op, 0)));
  for (intptr_t d = 0, k = 0; shapes && d < t->rank; ++d)
    if (d != t->dim)
      shapes &= mlirShapedTypeGetDimSize(shardTmTypeOf(t, 0), d) ==
                mlirShapedTypeGetDimSize(shardTmTypeOf(t, 2), k++);
  if (!shapes || mlirAttributeIsNull(inclusive) || !mlirAttributeIsABool(inclusive))
    return shardTmMalformed(t, "'inclusive', a destination of the input's type and one without the "
                               "scanned dimension");
  ShardInsert at = shardInsertBefore(t->op);
  Scan scan = {.t = t, .inclusive = mlirBoolAttrGetValue(inclusive)};
  if (!scan.inclusive && resultIsUsed(t, 1))
    return shardTmMalformed(t, "that nobody uses the running value of an exclusive scan");
  MlirAttribute identity = scan.inclusive ? identityOfBody(t) : mlirAttributeGetNull();
  MlirValue running = mlirOperationGetOperand(t->op, 2);
  scan.hasIdentity = !mlirAttributeIsNull(identity);
  if (scan.hasIdentity)
    running = shardInsertFill(&at, shardTmTypeOf(t, 2), identity);
  else if (scan.inclusive)
    scan.zero = shardInsertIndexConstant(&at, 0);
  MlirValue operands[3] = {mlirOperationGetOperand(t->op, 0),
                           shardInsertEmpty(&at, shardTmTypeOf(t, 1)), running};
  MlirAffineMap all = mlirAffineMapMultiDimIdentityGet(at.context, t->rank);
  MlirAffineMap maps[3] = {all, all, shardMapWithout(at.context, t->rank, t->dim)};
  char *iterators = SHARD_ARENA_ARRAY(t->arena, char, t->rank + 1);
  memset(iterators, 'p', (size_t)t->rank);
  iterators[t->dim] = 'r';
  MlirOperation generic =
      shardInsertGeneric(&at, iterators, 1, 2, operands, maps, buildScan, &scan);
  shardTmReplaceResult(t, 0, mlirOperationGetResult(generic, 0));
  // Of one element the op leaves the running value as it was.
  bool single = mlirShapedTypeGetDimSize(shardTmTypeOf(t, 0), t->dim) == 1;
  shardTmReplaceResult(
      t, 1, single ? mlirOperationGetOperand(t->op, 2) : mlirOperationGetResult(generic, 1));
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static const struct {
  const char *name;
  MlirLogicalResult (*import)(TmOp *t);
} importTable[] = {{"tm_tensor.scan", importScan},
                   {"tm_tensor.sort", shardTmImportSort},
                   {"tm_tensor.topk", shardTmImportTopK},
                   {"tm_tensor.scatter", shardTmImportScatter},
                   {"tm_tensor.attention", shardTmImportAttention}};

enum { nImports = sizeof(importTable) / sizeof(importTable[0]) };

bool shardImportKnowsTmTensor(MlirOperation op) {
  if (shardOpIs(op, "tm_tensor.yield"))
    op = mlirOperationGetParentOperation(op);
  for (size_t i = 0; i < nImports; ++i)
    if (shardOpIs(op, importTable[i].name))
      return true;
  return false;
}

static bool isTmTensor(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "tm_tensor") && !shardOpIs(op, "tm_tensor.yield");
}

MlirLogicalResult shardImportTmTensor(const ShardImport *import) {
  ShardOpList list = {.arena = import->arena};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardOpListCollect(&list, import->functions[i], NULL, isTmTensor);
  for (size_t i = 0; i < list.nOps; ++i) {
    TmOp t = {.op = list.ops[i], .arena = import->arena};
    for (size_t k = 0; k < nImports; ++k)
      if (shardOpIs(list.ops[i], importTable[k].name) &&
          mlirLogicalResultIsFailure(importTable[k].import(&t)))
        return mlirLogicalResultFailure();
    mlirOperationDestroy(list.ops[i]);
  }
  return mlirLogicalResultSuccess();
}
