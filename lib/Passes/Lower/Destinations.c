//===- Destinations.c - Functions and calls on pointers ------------*- C -*-===//
// Every function becomes f(context, workspace, arguments..., results...) on pointers, so that its
// memory is the caller's.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include <inttypes.h>
#include <string.h>

static bool isTensor(MlirType type) { return mlirTypeIsARankedTensor(type); }

//===----------------------------------------------------------------------===//
// Between tensors and pointers
//===----------------------------------------------------------------------===//

MlirType shardMemrefOfTensor(MlirType tensor) {
  int64_t shape[SHARD_LOWER_MAX_RANK];
  intptr_t rank = mlirShapedTypeGetRank(tensor);
  for (intptr_t i = 0; i < rank; ++i)
    shape[i] = mlirShapedTypeGetDimSize(tensor, i);
  return mlirMemRefTypeContiguousGet(mlirShapedTypeGetElementType(tensor), rank, shape,
                                     mlirAttributeGetNull());
}

MlirValue shardMakePointerToRead(ShardLowerBuilder *b, MlirValue tensor) {
  MlirType type = shardMemrefOfTensor(mlirValueGetType(tensor));
  ShardNamedAttribute attribute = {"read_only", shardAttrUnit(b->lowering->context)};
  MlirValue buffer = mlirOperationGetResult(
      shardMakeOp(b, "bufferization.to_buffer", 1, &type, 1, &tensor, 1, &attribute), 0);
  return shardMakeCast(b, buffer, b->lowering->pointer);
}

MlirValue shardMakePointerToWrite(ShardLowerBuilder *b, MlirType type, MlirValue *outBuffer) {
  MlirType memref = shardMemrefOfTensor(type);
  ShardNamedAttribute attributes[] = {
      {"alignment", shardAttrI64(b->lowering->context, 64)},
      {"operandSegmentSizes",
       mlirDenseI32ArrayGet(b->lowering->context, 2, (const int32_t[]){0, 0})}};
  *outBuffer =
      mlirOperationGetResult(shardMakeOp(b, "memref.alloc", 1, &memref, 0, NULL, 2, attributes), 0);
  return shardMakeCast(b, *outBuffer, b->lowering->pointer);
}

MlirValue shardMakeTensorOfBuffer(ShardLowerBuilder *b, MlirValue buffer, MlirType tensor,
                                  bool writable) {
  ShardNamedAttribute attributes[] = {{"restrict", shardAttrUnit(b->lowering->context)},
                                      {"writable", shardAttrUnit(b->lowering->context)}};
  return mlirOperationGetResult(shardMakeOp(b, "bufferization.to_tensor", 1, &tensor, 1, &buffer,
                                            writable ? 2 : 1, attributes),
                                0);
}

MlirBlock shardEnclosingBody(MlirOperation op) {
  while (!shardOpIs(op, "func.func"))
    op = mlirOperationGetParentOperation(op);
  return shardFuncGetBody(op);
}

//===----------------------------------------------------------------------===//
// Functions and calls
//===----------------------------------------------------------------------===//

static bool isDense(MlirType tensor) {
  return mlirShapedTypeGetRank(tensor) < SHARD_LOWER_MAX_RANK && shardTypeElementCount(tensor) >= 0;
}

/// Context, workspace, and a pointer in the place of each argument that is a tensor, in a public
/// function of any.
static MlirLogicalResult lowerArguments(ShardLowerBuilder *b, MlirOperation func, MlirBlock body) {
  ShardLowering *lowering = b->lowering;
  intptr_t nArguments = mlirBlockGetNumArguments(body);
  mlirBlockInsertArgument(body, 0, lowering->pointer, b->location); // context
  mlirBlockInsertArgument(body, 1, lowering->pointer, b->location); // workspace
  for (intptr_t i = 0; i < nArguments; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i + 2);
    MlirType type = mlirValueGetType(argument);
    if (!isTensor(type) && !shardFuncIsPublic(func))
      continue;
    if (!isTensor(type) && shardElementNumber(type) < 0)
      return shardEmitError(func, "argument %" PRIdPTR " has a type without a lowering", i);
    if (isTensor(type) && !isDense(type))
      return shardEmitError(func, "argument %" PRIdPTR " has no static shape", i);
    MlirValue pointer = mlirBlockInsertArgument(body, i + 2, lowering->pointer, b->location);
    MlirValue value =
        isTensor(type) ? shardMakeTensorOfBuffer(
                             b, shardMakeCast(b, pointer, shardMemrefOfTensor(type)), type, false)
                       : shardMakeLoad(b, pointer, type);
    mlirValueReplaceAllUsesOfWith(argument, value);
    mlirBlockEraseArgument(body, (unsigned)(i + 3));
  }
  return mlirLogicalResultSuccess();
}

/// Results that are tensors, in a public function all, are written through a pointer each.
static MlirLogicalResult lowerResults(ShardLowerBuilder *b, MlirOperation func, MlirBlock body) {
  ShardLowering *lowering = b->lowering;
  MlirOperation terminator = mlirBlockGetTerminator(body);
  intptr_t nResults = mlirOperationGetNumOperands(terminator);
  ShardLowerBuilder end = shardLowerBuilderBefore(lowering, terminator);
  MlirValue *kept = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, nResults);
  intptr_t nKept = 0;
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirValue value = mlirOperationGetOperand(terminator, i);
    MlirType type = mlirValueGetType(value);
    if (!isTensor(type) && !shardFuncIsPublic(func)) {
      kept[nKept++] = value;
      continue;
    }
    MlirValue pointer = mlirBlockAddArgument(body, lowering->pointer, b->location);
    if (!isTensor(type)) {
      shardMakeStore(&end, value, pointer);
      continue;
    }
    if (!isDense(type))
      return shardEmitError(func, "result %" PRIdPTR " has no static shape", i);
    MlirValue operands[] = {value, shardMakeCast(b, pointer, shardMemrefOfTensor(type))};
    ShardNamedAttribute attributes[] = {{"restrict", shardAttrUnit(lowering->context)},
                                        {"writable", shardAttrUnit(lowering->context)}};
    shardMakeOp(&end, "bufferization.materialize_in_destination", 0, NULL, 2, operands, 2,
                attributes);
  }
  shardMakeOp(&end, "func.return", 0, NULL, nKept, kept, 0, NULL);
  mlirOperationDestroy(terminator);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerFunction(ShardLowering *lowering, MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  ShardLowerBuilder b = shardLowerBuilderAtStart(lowering, body, mlirOperationGetLocation(func));
  if (mlirLogicalResultIsFailure(lowerArguments(&b, func, body)) ||
      mlirLogicalResultIsFailure(lowerResults(&b, func, body)))
    return mlirLogicalResultFailure();
  shardOpRemoveAttribute(func, "arg_attrs");
  shardOpRemoveAttribute(func, "res_attrs");
  shardFuncUpdateType(func);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult lowerCall(ShardLowering *lowering, MlirOperation op) {
  MlirBlock body = shardEnclosingBody(op);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  intptr_t nOperands = mlirOperationGetNumOperands(op);
  intptr_t nResults = mlirOperationGetNumResults(op);
  MlirValue *operands = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, 2 + nOperands + nResults);
  MlirValue *buffers = SHARD_ARENA_ARRAY(lowering->arena, MlirValue, nResults);
  MlirType *types = SHARD_ARENA_ARRAY(lowering->arena, MlirType, nResults);
  intptr_t n = 0, nKept = 0;
  operands[n++] = mlirBlockGetArgument(body, 0);
  operands[n++] = mlirBlockGetArgument(body, 1); // shardPlanWorkspace moves it
  for (intptr_t i = 0; i < nOperands; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    operands[n++] =
        isTensor(mlirValueGetType(operand)) ? shardMakePointerToRead(&b, operand) : operand;
  }
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    if (isTensor(type))
      operands[n++] = shardMakePointerToWrite(&b, type, &buffers[i]);
    else
      types[nKept++] = type;
  }
  ShardNamedAttribute attribute = {"callee", shardOpGetAttribute(op, "callee")};
  MlirOperation call = shardMakeOp(&b, "func.call", nKept, types, n, operands, 1, &attribute);
  shardOpSetAttribute(call, "spmd.workspace", shardAttrUnit(lowering->context));
  nKept = 0;
  for (intptr_t i = 0; i < nResults; ++i) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, i),
                                  isTensor(type)
                                      ? shardMakeTensorOfBuffer(&b, buffers[i], type, true)
                                      : mlirOperationGetResult(call, nKept++));
  }
  mlirOperationDestroy(op);
  return mlirLogicalResultSuccess();
}

/// Ops that bufferization knows nothing of.
static MlirLogicalResult checkLowering(void *user, MlirOperation op) {
  (void)user;
  static const char *const refused[] = {"linalg.pack",    "linalg.softmax", "linalg.unpack",
                                        "tensor.bitcast", "tensor.gather",  "tensor.pack",
                                        "tensor.reshape", "tensor.scatter", "tensor.unpack"};
  MlirStringRef name = shardOpGetName(op);
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i)
    if (shardStringIs(name, refused[i]))
      return shardEmitError(op, "'%s' has no lowering", refused[i]);
  return mlirLogicalResultSuccess();
}

/// What becomes a call on pointers: a call, or a collective.
static bool becomesCall(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardStringIs(name, "func.call") ||
         (shardNameHasDialect(name, "shard") && !shardStringIs(name, "shard.grid"));
}

typedef struct BufferUses {
  bool asBuffer, other;
} BufferUses;

/// How a tensor and its reshapes are used.
static void findBufferUses(MlirValue tensor, BufferUses *uses) {
  static const char *const views[] = {"tensor.collapse_shape", "tensor.expand_shape", "tensor.cast",
                                      "tensor.extract_slice"};
  for (MlirOpOperand use = mlirValueGetFirstUse(tensor); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation owner = mlirOpOperandGetOwner(use);
    bool isView = false;
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); ++i)
      isView |= shardOpIs(owner, views[i]);
    if (isView)
      findBufferUses(mlirOperationGetResult(owner, 0), uses);
    else if (shardOpIs(owner, "bufferization.to_buffer"))
      uses->asBuffer = true;
    else
      uses->other = true;
  }
}

/// What a call or a collective reads of a value that another one made becomes, by folding, a read
/// of the buffer itself, which bufferization does not see: what may write the value in place has a
/// copy then.
static MlirLogicalResult keepReadBuffers(void *user, MlirOperation op) {
  (void)user;
  if (!shardOpIs(op, "bufferization.to_tensor"))
    return mlirLogicalResultSuccess();
  BufferUses uses = {false, false};
  findBufferUses(mlirOperationGetResult(op, 0), &uses);
  if (uses.asBuffer && uses.other)
    mlirOperationRemoveAttributeByName(op, mlirStringRefCreateFromCString("writable"));
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardLowerToDestinations(ShardLowering *lowering) {
  if (mlirLogicalResultIsFailure(shardWalk(lowering->module, NULL, checkLowering, NULL)))
    return mlirLogicalResultFailure();
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, lowering->module, NULL, becomesCall);
  MlirBlock top = shardOpBody(lowering->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func"))
      continue;
    if (mlirBlockIsNull(shardFuncGetBody(op)))
      return shardEmitError(op, "function has no body");
    if (mlirLogicalResultIsFailure(lowerFunction(lowering, op)))
      return mlirLogicalResultFailure();
  }
  for (size_t i = 0; i < list.nOps; ++i)
    if (mlirLogicalResultIsFailure(shardOpIs(list.ops[i], "func.call")
                                       ? lowerCall(lowering, list.ops[i])
                                       : shardLowerCollective(lowering, list.ops[i])))
      return mlirLogicalResultFailure();
  shardKeepCarriedBuffers(lowering);
  if (mlirLogicalResultIsFailure(shardWalk(lowering->module, NULL, keepReadBuffers, NULL)))
    return mlirLogicalResultFailure();
  // The mesh has done its work.
  for (MlirOperation op = mlirBlockGetFirstOperation(top), next; !mlirOperationIsNull(op);
       op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (shardOpIs(op, "shard.grid"))
      mlirOperationDestroy(op);
  }
  return mlirLogicalResultSuccess();
}
