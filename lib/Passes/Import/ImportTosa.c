//===- ImportTosa.c - TOSA to linalg, tensor and arith ------------*- C -*-===//
// Upstream's passes do the work. Rewritten before them is what they spell in a way that hides how
// the dimensions go together: concat (as a chain of insert_slice) and tile (as a loop nest of twice
// the rank); and scatter, which upstream does not lower.
//===----------------------------------------------------------------------===//
#include "ImportParts.h"

#include "../Core/Insert.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Conversion.h"
#include "mlir-c/Pass.h"
#include "mlir-c/Transforms.h"

#include <string.h>
#include <threads.h>

static void replaceBy(MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), value);
  mlirOperationDestroy(op);
}

static void rewriteConcat(MlirOperation op, ShardArena *arena) {
  intptr_t n = mlirOperationGetNumOperands(op);
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, n ? n : 1);
  for (intptr_t i = 0; i < n; ++i)
    operands[i] = mlirOperationGetOperand(op, i);
  int64_t axis = 0;
  shardAttrGetI64(shardOpGetAttribute(op, "axis"), &axis);
  MlirContext context = mlirOperationGetContext(op);
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  ShardNamedAttribute dim = {"dim", shardAttrI64(context, axis)};
  MlirOperation concat = shardOpCreate((MlirBlock){NULL}, op, mlirOperationGetLocation(op),
                                       "tensor.concat", 1, &type, n, operands, 1, &dim, 0, NULL);
  replaceBy(op, mlirOperationGetResult(concat, 0));
}

/// A tile that only repeats dimensions of extent 1 is a broadcast: one loop a dimension.
static void rewriteTile(MlirOperation op, ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirLocation location = mlirOperationGetLocation(op);
  MlirValue source = mlirOperationGetOperand(op, 0);
  MlirType from = mlirValueGetType(source), to = mlirValueGetType(mlirOperationGetResult(op, 0));
  intptr_t rank = mlirShapedTypeGetRank(to);
  MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(arena, MlirAffineExpr, rank ? rank : 1);
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(arena, MlirAttribute, rank ? rank : 1);
  MlirAttribute parallel = mlirAttributeParseGet(
      context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  for (intptr_t d = 0; d < rank; ++d) {
    bool repeated = mlirShapedTypeGetDimSize(from, d) != mlirShapedTypeGetDimSize(to, d);
    if (repeated && mlirShapedTypeGetDimSize(from, d) != 1)
      return;
    exprs[d] = repeated ? mlirAffineConstantExprGet(context, 0) : mlirAffineDimExprGet(context, d);
    iterators[d] = parallel;
  }
  MlirAttribute maps[2] = {mlirAffineMapAttrGet(mlirAffineMapGet(context, rank, 0, rank, exprs)),
                           mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, rank))};
  int32_t segments[2] = {1, 1};
  ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 2, maps)},
      {"iterator_types", mlirArrayAttrGet(context, rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)}};
  MlirOperation empty = shardOpCreate((MlirBlock){NULL}, op, location, "tensor.empty", 1, &to, 0,
                                      NULL, 0, NULL, 0, NULL);
  MlirType element = mlirShapedTypeGetElementType(to);
  MlirType bodyTypes[2] = {element, element};
  MlirLocation bodyLocations[2] = {location, location};
  MlirBlock body = mlirBlockCreate(2, bodyTypes, bodyLocations);
  MlirValue in = mlirBlockGetArgument(body, 0);
  shardOpCreate(body, (MlirOperation){NULL}, location, "linalg.yield", 0, NULL, 1, &in, 0, NULL, 0,
                NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirValue operands[2] = {source, mlirOperationGetResult(empty, 0)};
  MlirOperation generic = shardOpCreate((MlirBlock){NULL}, op, location, "linalg.generic", 1, &to,
                                        2, operands, 3, attributes, 1, &region);
  replaceBy(op, mlirOperationGetResult(generic, 0));
}

static void buildScatter(void *user, const ShardInsert *at, const MlirValue *arguments,
                         MlirValue *yielded) {
  (void)user;
  MlirValue place =
      shardInsertIntegerCast(at, shardInsertLoopIndex(at, 1), mlirValueGetType(arguments[1]));
  MlirValue hit = shardInsertCompare(at, 0, arguments[1], place);
  yielded[0] = shardInsertSelect(at, hit, arguments[0], arguments[2]);
}

/// values_out[n, indices[n, w], c] = input[n, w, c]: each element takes the input that names it.
static void rewriteScatter(MlirOperation op) {
  ShardInsert at = shardInsertBefore(op);
  MlirValue operands[3] = {mlirOperationGetOperand(op, 2), mlirOperationGetOperand(op, 1),
                           mlirOperationGetOperand(op, 0)};
  static const int64_t input[] = {0, 3, 2}, indices[] = {0, 3}, values[] = {0, 1, 2};
  MlirAffineMap maps[3] = {shardMapOfDims(at.context, 4, 3, input),
                           shardMapOfDims(at.context, 4, 2, indices),
                           shardMapOfDims(at.context, 4, 3, values)};
  MlirOperation generic = shardInsertGeneric(&at, "pppr", 2, 1, operands, maps, buildScatter, NULL);
  replaceBy(op, mlirOperationGetResult(generic, 0));
}

static void rewriteBlock(MlirBlock block, ShardArena *arena) {
  intptr_t n;
  MlirOperation *ops = shardBlockOps(block, arena, &n);
  for (intptr_t i = 0; i < n; ++i) {
    MlirStringRef name = shardOpGetName(ops[i]);
    if (!shardNameHasDialect(name, "tosa"))
      continue;
    bool sameType = mlirOperationGetNumResults(ops[i]) == 1 &&
                    mlirOperationGetNumOperands(ops[i]) > 0 &&
                    mlirTypeEqual(mlirValueGetType(mlirOperationGetOperand(ops[i], 0)),
                                  mlirValueGetType(mlirOperationGetResult(ops[i], 0)));
    if (shardStringIs(name, "tosa.concat"))
      rewriteConcat(ops[i], arena);
    else if (shardStringIs(name, "tosa.scatter"))
      rewriteScatter(ops[i]);
    else if (sameType &&
             (shardStringIs(name, "tosa.identity") || shardStringIs(name, "tosa.reshape") ||
              shardStringIs(name, "tosa.cast") || shardStringIs(name, "tosa.tile")))
      replaceBy(ops[i], mlirOperationGetOperand(ops[i], 0));
    else if (shardStringIs(name, "tosa.tile"))
      rewriteTile(ops[i], arena);
  }
}

static MlirLogicalResult checkGone(void *user, MlirOperation op) {
  (void)user;
  MlirStringRef name = shardOpGetName(op);
  if (!shardNameHasDialect(name, "tosa"))
    return mlirLogicalResultSuccess();
  return shardEmitError(op, "'%.*s' could not be lowered to linalg", (int)name.length, name.data);
}

static MlirWalkResult eraseShapes(MlirOperation op, void *user) {
  (void)user;
  if (!shardOpIs(op, "tosa.const_shape") || !shardValueIsUnused(mlirOperationGetResult(op, 0)))
    return MlirWalkResultAdvance;
  mlirOperationDestroy(op);
  return MlirWalkResultSkip;
}

static void ignoreText(MlirStringRef text, void *user) {
  (void)text;
  (void)user;
}

MlirLogicalResult shardImportTosa(const ShardImport *import) {
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    rewriteBlock(shardFuncGetBody(import->functions[i]), import->arena);
  MlirPassManager manager = mlirPassManagerCreateOnOperation(
      import->context, mlirStringRefCreateFromCString("builtin.module"));
  mlirPassManagerEnableVerifier(manager, false);
  MlirOpPassManager functions =
      mlirPassManagerGetNestedUnder(manager, mlirStringRefCreateFromCString("func.func"));
  mlirOpPassManagerAddOwnedPass(functions, mlirCreateConversionTosaToSCFPass());
  mlirOpPassManagerAddOwnedPass(functions, mlirCreateConversionTosaToLinalgNamed());
  mlirOpPassManagerAddOwnedPass(functions, mlirCreateConversionTosaToLinalg());
  mlirOpPassManagerAddOwnedPass(functions, mlirCreateConversionTosaToTensorPass());
  // The option has no C entry but the text of a pipeline.
  static once_flag once = ONCE_FLAG_INIT;
  call_once(&once, mlirRegisterConversionTosaToArithPass);
  if (mlirLogicalResultIsFailure(mlirOpPassManagerAddPipeline(
          functions,
          mlirStringRefCreateFromCString(
              "tosa-to-arith{include-apply-rescale=true use-32-bit=true}"),
          ignoreText, NULL))) {
    mlirPassManagerDestroy(manager);
    return shardEmitError(import->module, "internal error: MLIR does not know tosa-to-arith");
  }
  // The conversions make one tensor.empty, constant and transpose for each use.
  mlirOpPassManagerAddOwnedPass(functions, mlirCreateTransformsCSE());
  MlirLogicalResult result = mlirPassManagerRunOnOp(manager, import->module);
  mlirPassManagerDestroy(manager);
  if (mlirLogicalResultIsFailure(result))
    return result; // upstream has said why
  mlirOperationWalk(import->module, eraseShapes, NULL, MlirWalkPostOrder);
  return shardWalk(import->module, NULL, checkGone, NULL);
}
