//===- Buffers.c - Memrefs become pointers, linalg becomes loops ---*- C -*-===//
// Every layout is static, so a memref is a pointer to its first element and its type says the rest:
// no descriptors. Two walks: structure (views, copies, linalg, regions that pass memrefs), then the
// scalar accesses that bodies of linalg ops left.
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "shard/Runtime.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

MlirLogicalResult shardLowerScalars(ShardLowering *lowering, MlirOperation func); // Scalars.c

typedef struct BufferLowering {
  ShardBuffers buffers;
  ShardLowering *lowering;
  MlirValue workspace;
  MlirOperation *dead; // to erase, in program order
  size_t nDead, deadCapacity;
} BufferLowering;

static void bury(BufferLowering *state, MlirOperation op) {
  state->dead = shardArenaGrow(state->lowering->arena, state->dead, state->nDead,
                               &state->deadCapacity, state->nDead + 1, sizeof(MlirOperation));
  state->dead[state->nDead++] = op;
}

static bool isMemref(MlirValue value) { return mlirTypeIsAMemRef(mlirValueGetType(value)); }

/// Makes a value that stays (a result or argument of a structured op) a pointer.
static void retype(BufferLowering *state, MlirValue value) {
  MlirType type = mlirValueGetType(value);
  mlirValueSetType(value, state->lowering->pointer);
  shardBuffersSet(&state->buffers, value, value, type);
}

static MlirLogicalResult unsupported(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardEmitError(op, "'%.*s' has no lowering for these operands", (int)name.length,
                        name.data);
}

/// Offset + sum of parts, as i64; parts are static or the next operands.
static MlirValue buildOffset(ShardLowerBuilder *b, MlirOperation op, intptr_t firstDynamic,
                             MlirAttribute staticParts, const int64_t *strides) {
  int64_t constant = 0;
  MlirValue sum = {NULL};
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(staticParts); ++i) {
    int64_t part = mlirDenseI64ArrayGetElement(staticParts, i);
    if (part != mlirShapedTypeGetDynamicStrideOrOffset()) {
      constant += part * strides[i];
      continue;
    }
    MlirValue value =
        shardMakeIndexCast(b, mlirOperationGetOperand(op, firstDynamic++), b->lowering->i64);
    value = shardMakeMul(b, value, shardMakeI64(b, strides[i]));
    sum = mlirValueIsNull(sum) ? value : shardMakeAdd(b, sum, value);
  }
  if (mlirValueIsNull(sum))
    return shardMakeI64(b, constant);
  return constant ? shardMakeAdd(b, sum, shardMakeI64(b, constant)) : sum;
}

static MlirLogicalResult lowerView(BufferLowering *state, MlirOperation op) {
  MlirValue result = mlirOperationGetResult(op, 0), pointer;
  MlirType sourceType, type = mlirValueGetType(result);
  if (!shardBuffersGet(&state->buffers, mlirOperationGetOperand(op, 0), &pointer, &sourceType))
    return unsupported(op);
  int64_t strides[32], resultStrides[32];
  if (mlirShapedTypeGetRank(type) > 32 || mlirShapedTypeGetRank(sourceType) > 32 ||
      !shardMemrefGetStrides(sourceType, strides))
    return unsupported(op);
  if (!shardMemrefGetStrides(type, resultStrides)) {
    // A cast to a dynamic layout forgets what is known: keep the operand's type.
    if (!shardOpIs(op, "memref.cast"))
      return unsupported(op);
    type = sourceType;
  }
  ShardLowerBuilder b = shardLowerBuilderBefore(state->lowering, op);
  if (shardOpIs(op, "memref.subview")) {
    MlirValue offset = buildOffset(&b, op, 1, shardOpGetAttribute(op, "static_offsets"), strides);
    pointer =
        shardMakeElementPointer(&b, pointer, offset, mlirShapedTypeGetElementType(sourceType));
  } else if (shardOpIs(op, "memref.reinterpret_cast")) {
    int64_t offset;
    if (mlirLogicalResultIsFailure(
            mlirMemRefTypeGetStridesAndOffset(sourceType, strides, &offset)) ||
        offset != 0) // the offset counts from the buffer's start, which a view does not know
      return unsupported(op);
    const int64_t one = 1;
    MlirValue elements = buildOffset(&b, op, 1, shardOpGetAttribute(op, "static_offsets"), &one);
    pointer =
        shardMakeElementPointer(&b, pointer, elements, mlirShapedTypeGetElementType(sourceType));
  }
  shardBuffersSet(&state->buffers, result, pointer, type);
  bury(state, op);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerGetGlobal(BufferLowering *state, MlirOperation op) {
  ShardLowering *lowering = state->lowering;
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  ShardNamedAttribute attribute = {"global_name", shardOpGetAttribute(op, "name")};
  MlirValue pointer = mlirOperationGetResult(
      shardMakeOp(&b, "llvm.mlir.addressof", 1, &lowering->pointer, 0, NULL, 1, &attribute), 0);
  shardBuffersSet(&state->buffers, mlirOperationGetResult(op, 0), pointer,
                  mlirValueGetType(mlirOperationGetResult(op, 0)));
  bury(state, op);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerBlock(BufferLowering *state, MlirBlock block);

static MlirLogicalResult lowerRegions(BufferLowering *state, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (isMemref(mlirOperationGetResult(op, i)))
      retype(state, mlirOperationGetResult(op, i));
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block)) {
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
        if (isMemref(mlirBlockGetArgument(block, i)))
          retype(state, mlirBlockGetArgument(block, i));
      if (mlirLogicalResultIsFailure(lowerBlock(state, block)))
        return mlirLogicalResultFailure();
    }
  return mlirLogicalResultSuccess();
}

/// Replaces memref operands of an op that stays by their pointers.
static MlirLogicalResult replaceOperands(BufferLowering *state, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i), pointer;
    MlirType type;
    if (shardBuffersGet(&state->buffers, operand, &pointer, &type))
      mlirOperationSetOperand(op, i, pointer);
    else if (isMemref(operand))
      return unsupported(op);
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerOp(BufferLowering *state, MlirOperation op) {
  ShardLowering *lowering = state->lowering;
  MlirStringRef name = shardOpGetName(op);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);

  if (shardStringIs(name, "builtin.unrealized_conversion_cast") &&
      mlirOperationGetNumOperands(op) == 1) {
    MlirValue operand = mlirOperationGetOperand(op, 0), result = mlirOperationGetResult(op, 0);
    MlirValue pointer;
    MlirType type;
    if (isMemref(result)) {
      shardBuffersSet(&state->buffers, result, operand, mlirValueGetType(result));
      bury(state, op);
    } else if (shardBuffersGet(&state->buffers, operand, &pointer, &type)) {
      mlirValueReplaceAllUsesOfWith(result, pointer);
      bury(state, op);
    }
    return mlirLogicalResultSuccess();
  }
  if (shardStringIs(name, "memref.alloc")) {
    int64_t offset;
    MlirAttribute attribute = shardOpGetAttribute(op, "spmd.offset");
    if (mlirAttributeIsNull(attribute) || !shardAttrGetI64(attribute, &offset))
      return unsupported(op);
    MlirValue pointer =
        shardMakeElementPointer(&b, state->workspace, shardMakeI64(&b, offset), lowering->i8);
    shardBuffersSet(&state->buffers, mlirOperationGetResult(op, 0), pointer,
                    mlirValueGetType(mlirOperationGetResult(op, 0)));
    bury(state, op);
    return mlirLogicalResultSuccess();
  }
  static const char *const views[] = {"memref.subview", "memref.expand_shape",
                                      "memref.collapse_shape", "memref.cast",
                                      "memref.reinterpret_cast"};
  for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); ++i)
    if (shardStringIs(name, views[i]))
      return lowerView(state, op);
  if (shardStringIs(name, "memref.get_global"))
    return lowerGetGlobal(state, op);
  if (shardStringIs(name, "memref.copy")) {
    bury(state, op);
    return shardEmitCopyLoops(&state->buffers, op, mlirOperationGetOperand(op, 0),
                              mlirOperationGetOperand(op, 1));
  }
  if (shardStringIs(name, "memref.dealloc")) {
    bury(state, op);
    return mlirLogicalResultSuccess();
  }
  if (shardStringIs(name, "memref.load") || shardStringIs(name, "memref.store"))
    return mlirLogicalResultSuccess(); // the second walk
  if (shardStringIs(name, "linalg.generic")) {
    bury(state, op);
    return shardIsContraction(op) ? shardEmitContraction(&state->buffers, op, state->workspace)
                                  : shardEmitGenericLoops(&state->buffers, op);
  }
  if (shardStringIs(name, "func.call")) {
    int64_t offset;
    MlirAttribute attribute = shardOpGetAttribute(op, "spmd.offset");
    if (!mlirAttributeIsNull(attribute) && shardAttrGetI64(attribute, &offset) && offset)
      mlirOperationSetOperand(
          op, 1,
          shardMakeElementPointer(&b, state->workspace, shardMakeI64(&b, offset), lowering->i8));
    shardOpRemoveAttribute(op, "spmd.offset");
    shardOpRemoveAttribute(op, "spmd.workspace");
    shardOpRemoveAttribute(op, "spmd.bytes");
    shardOpRemoveAttribute(op, "spmd.collective");
    return replaceOperands(state, op);
  }
  if (shardStringIs(name, "func.return") || shardStringIs(name, "scf.for") ||
      shardStringIs(name, "scf.if") || shardStringIs(name, "scf.while") ||
      shardStringIs(name, "scf.execute_region") || shardStringIs(name, "scf.index_switch") ||
      shardStringIs(name, "scf.yield") || shardStringIs(name, "scf.condition") ||
      shardStringIs(name, "arith.select")) {
    if (mlirLogicalResultIsFailure(replaceOperands(state, op)))
      return mlirLogicalResultFailure();
    return lowerRegions(state, op);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (isMemref(mlirOperationGetOperand(op, i)))
      return unsupported(op);
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (isMemref(mlirOperationGetResult(op, i)))
      return unsupported(op);
  return lowerRegions(state, op);
}

static MlirLogicalResult lowerBlock(BufferLowering *state, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block), next; !mlirOperationIsNull(op);
       op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (mlirLogicalResultIsFailure(lowerOp(state, op)))
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

typedef struct AccessList {
  ShardArena *arena;
  MlirOperation *ops;
  size_t nOps, capacity;
} AccessList;

static MlirLogicalResult collectAccess(void *user, MlirOperation op) {
  AccessList *list = user;
  if (!shardOpIs(op, "memref.load") && !shardOpIs(op, "memref.store"))
    return mlirLogicalResultSuccess();
  list->ops = shardArenaGrow(list->arena, list->ops, list->nOps, &list->capacity, list->nOps + 1,
                             sizeof(*list->ops));
  list->ops[list->nOps++] = op;
  return mlirLogicalResultSuccess();
}

/// Whether an index is computed from what is stored in memory, as the row of an embedding is.
static bool isData(MlirValue index, int depth) {
  if (depth == 0 || !mlirValueIsAOpResult(index))
    return false;
  MlirOperation op = mlirOpResultGetOwner(index);
  if (shardOpIs(op, "llvm.load") || shardOpIs(op, "memref.load"))
    return true;
  MlirStringRef name = shardOpGetName(op);
  if (!shardNameHasDialect(name, "arith"))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (isData(mlirOperationGetOperand(op, i), depth - 1))
      return true;
  return false;
}

/// An index out of range fails with the op's location, where it would read or write what is not the
/// tensor's.
static void checkIndex(BufferLowering *state, MlirOperation func, MlirOperation op, MlirValue index,
                       int64_t size) {
  ShardLowerBuilder b = shardLowerBuilderBefore(state->lowering, op);
  MlirType i64 = state->lowering->i64;
  MlirValue operands[] = {shardMakeIndexCast(&b, index, i64), shardMakeI64(&b, size)};
  ShardNamedAttribute predicate = {"predicate", mlirIntegerAttrGet(i64, 6)}; // ult
  MlirValue inside = mlirOperationGetResult(
      shardMakeOp(&b, "arith.cmpi", 1, &state->lowering->i1, 2, operands, 1, &predicate), 0);
  shardMakeAssert(state->lowering, func, op, inside,
                  mlirStringRefCreateFromCString("index out of range"));
}

/// memref.load and memref.store.
static MlirLogicalResult lowerAccess(BufferLowering *state, MlirOperation func, MlirOperation op) {
  bool isLoad = shardOpIs(op, "memref.load");
  intptr_t first = isLoad ? 0 : 1;
  MlirValue pointer;
  MlirType type;
  int64_t strides[32];
  if (!shardBuffersGet(&state->buffers, mlirOperationGetOperand(op, first), &pointer, &type) ||
      mlirShapedTypeGetRank(type) > 32 || !shardMemrefGetStrides(type, strides))
    return unsupported(op);
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i) {
    MlirValue index = mlirOperationGetOperand(op, first + 1 + i);
    if (isData(index, 8))
      checkIndex(state, func, op, index, mlirShapedTypeGetDimSize(type, i));
  }
  ShardLowerBuilder b = shardLowerBuilderBefore(state->lowering, op);
  MlirType element = mlirShapedTypeGetElementType(type);
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i) {
    MlirValue index =
        shardMakeIndexCast(&b, mlirOperationGetOperand(op, first + 1 + i), state->lowering->i64);
    if (strides[i] != 1)
      index = shardMakeMul(&b, index, shardMakeI64(&b, strides[i]));
    pointer = shardMakeElementPointer(&b, pointer, index, element);
  }
  if (isLoad)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0),
                                  shardMakeLoad(&b, pointer, element));
  else
    shardMakeStore(&b, mlirOperationGetOperand(op, 0), pointer);
  bury(state, op);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerFunction(ShardLowering *lowering, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  BufferLowering state = {
      .lowering = lowering,
      .workspace = mlirBlockGetArgument(body, 1),
      .buffers = {.lowering = lowering, .map = shardPointerMapCreate(lowering->arena, 256)}};
  if (mlirLogicalResultIsFailure(lowerBlock(&state, body)))
    return mlirLogicalResultFailure();
  // Ops that the first walk replaced still hold bodies with accesses: erase them in one go at the
  // end, and skip what lies in them.
  size_t nStructural = state.nDead;
  for (size_t i = nStructural; i-- > 0;)
    if (shardOpIs(state.dead[i], "linalg.generic")) {
      mlirOperationDestroy(state.dead[i]);
      state.dead[i] = (MlirOperation){NULL};
    }
  AccessList accesses = {.arena = lowering->arena};
  shardWalk(func, NULL, collectAccess, &accesses);
  for (size_t i = 0; i < accesses.nOps; ++i)
    if (mlirLogicalResultIsFailure(lowerAccess(&state, func, accesses.ops[i])))
      return mlirLogicalResultFailure();
  for (size_t i = state.nDead; i-- > 0;)
    if (!mlirOperationIsNull(state.dead[i]))
      mlirOperationDestroy(state.dead[i]);
  return shardLowerScalars(lowering, func);
}

static void lowerGlobal(ShardLowering *lowering, MlirOperation op) {
  MlirContext context = lowering->context;
  MlirType type = mlirTypeAttrGetValue(shardOpGetAttribute(op, "type"));
  MlirAttribute value = shardOpGetAttribute(op, "initial_value");
  if (mlirShapedTypeGetRank(type) == 0 && mlirAttributeIsADenseElements(value))
    value = mlirDenseElementsAttrGetSplatValue(value); // a global that is no array wants a scalar
  MlirRegion region = mlirRegionCreate();
  MlirType element = mlirShapedTypeGetElementType(type);
  if (mlirTypeIsAIndex(element))
    element = lowering->i64;
  ShardNamedAttribute attributes[] = {
      {"global_type", mlirTypeAttrGet(shardLLVMArrayOf(type, element))},
      {"sym_name", shardOpGetAttribute(op, "sym_name")},
      {"linkage", shardParseAttribute(lowering, "#llvm.linkage<internal>")},
      {"constant", shardAttrUnit(context)},
      {"value", value},
      {"alignment", shardAttrI64(context, 64)}};
  shardOpCreate(mlirOperationGetBlock(op), op, mlirOperationGetLocation(op), "llvm.mlir.global", 0,
                NULL, 0, NULL, 6, attributes, 1, &region);
  mlirOperationDestroy(op);
}

MlirLogicalResult shardLowerBuffers(ShardLowering *lowering) {
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top), next; !mlirOperationIsNull(op);
       op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (shardOpIs(op, "memref.global"))
      lowerGlobal(lowering, op);
    else if (shardOpIs(op, "func.func") && !mlirBlockIsNull(shardFuncGetBody(op)) &&
             mlirLogicalResultIsFailure(lowerFunction(lowering, op)))
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}
