//===- Pieces.c - A fused weight as one argument for each projection -*- C -*-===//
// Queries, keys and values of unequal width may come out of one weight, of which every use cuts a
// piece (import has moved the cuts there). No view of such a weight splits each piece by its heads.
// So the argument becomes one for each piece, with `spmd.window` = [dimension, offset, size of the
// whole dimension]; `spmd.arg` and the rest are the whole weight's. Then each piece is laid out as
// a weight of its own, nothing moves, and every rank holds its part only.
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "../Core/Diagnostics.h"
#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>

enum { MAX_PIECES = 32 };

typedef struct PieceList {
  intptr_t dim, n;
  int64_t full;               // size of the dimension
  int64_t offset[MAX_PIECES]; // ascending
  int64_t size[MAX_PIECES];
} PieceList;

/// Adds the window that a slice takes. False if it is not one dimension's, by unit stride, or
/// overlaps another.
static bool addSlice(MlirOperation op, PieceList *list) {
  MlirAttribute offsets = shardOpGetAttribute(op, "static_offsets");
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes");
  MlirAttribute strides = shardOpGetAttribute(op, "static_strides");
  MlirType source = mlirValueGetType(mlirOperationGetOperand(op, 0));
  MlirType result = mlirValueGetType(mlirOperationGetResult(op, 0));
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(source), dim = -1;
  if (mlirOperationGetNumOperands(op) != 1 || mlirShapedTypeGetRank(result) != rank)
    return false;
  for (intptr_t d = 0; d < rank; ++d) {
    if (mlirDenseI64ArrayGetElement(strides, d) != 1)
      return false;
    if (mlirDenseI64ArrayGetElement(sizes, d) == mlirShapedTypeGetDimSize(source, d))
      continue;
    if (dim >= 0)
      return false;
    dim = d;
  }
  if (dim < 0 || (list->n && list->dim != dim))
    return false;
  list->dim = dim, list->full = mlirShapedTypeGetDimSize(source, dim);
  int64_t offset = mlirDenseI64ArrayGetElement(offsets, dim);
  int64_t size = mlirDenseI64ArrayGetElement(sizes, dim);
  intptr_t at = 0;
  for (intptr_t i = 0; i < list->n; ++i) {
    if (list->offset[i] == offset && list->size[i] == size)
      return true;
    if (offset < list->offset[i] + list->size[i] && list->offset[i] < offset + size)
      return false;
    at += list->offset[i] < offset;
  }
  if (list->n == MAX_PIECES)
    return false;
  for (intptr_t i = list->n++; i > at; --i)
    list->offset[i] = list->offset[i - 1], list->size[i] = list->size[i - 1];
  list->offset[at] = offset, list->size[at] = size;
  return true;
}

/// Collects the windows that all uses of a value take, in functions that it is passed to as well.
/// False if some use is another.
static bool collectPieces(MlirOperation module, MlirValue value, PieceList *list, bool inCallee) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (shardOpIs(user, "tensor.extract_slice")) {
      if (!addSlice(user, list))
        return false;
      continue;
    }
    if (!shardOpIs(user, "func.call") || inCallee)
      return false;
    MlirOperation callee = shardModuleCallee(module, user);
    MlirBlock body = callee.ptr ? shardFuncGetBody(callee) : (MlirBlock){NULL};
    if (!body.ptr ||
        !collectPieces(module, mlirBlockGetArgument(body, mlirOpOperandGetOperandNumber(use)), list,
                       true))
      return false;
  }
  return true;
}

static bool areEqual(const PieceList *a, const PieceList *b) {
  bool equal = a->n == b->n && a->dim == b->dim && a->full == b->full;
  for (intptr_t i = 0; equal && i < a->n; ++i)
    equal = a->offset[i] == b->offset[i] && a->size[i] == b->size[i];
  return equal;
}

/// Pieces of one size at its multiples are a view of the weight and need no arguments.
static bool areTiles(const PieceList *list) {
  for (intptr_t i = 0; i < list->n; ++i)
    if (list->size[i] != list->size[0] || list->offset[i] % list->size[0])
      return false;
  return list->full % list->size[0] == 0;
}

typedef struct Splitter {
  MlirOperation module, entry;
  ShardArena *arena;
  PieceList **pieces;       // [entry arguments] or null
  ShardPointerMap *splitTo; // values that are split already
} Splitter;

/// Whether a call passes a value of the same pieces as `number`.
static bool passesPieces(const Splitter *s, MlirOperation call, intptr_t number,
                         const PieceList *list) {
  MlirValue value = mlirOperationGetOperand(call, number);
  if (!mlirValueIsABlockArgument(value) ||
      !mlirBlockEqual(mlirBlockArgumentGetOwner(value), shardFuncGetBody(s->entry)))
    return false;
  const PieceList *theirs = s->pieces[mlirBlockArgumentGetArgNumber(value)];
  return theirs && areEqual(theirs, list);
}

/// Whether every call of every function that the value is passed to passes a value of the same
/// pieces there: the function is rewritten for all.
static bool callsAgree(const Splitter *s, MlirValue value, const PieceList *list) {
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(s->module));
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!shardOpIs(user, "func.call"))
      continue;
    MlirAttribute callee = shardOpGetAttribute(user, "callee");
    intptr_t number = mlirOpOperandGetOperandNumber(use);
    for (MlirOperation func = mlirBlockGetFirstOperation(top); func.ptr;
         func = mlirOperationGetNextInBlock(func)) {
      MlirBlock body = shardOpIs(func, "func.func") ? shardFuncGetBody(func) : (MlirBlock){NULL};
      for (MlirOperation op = body.ptr ? mlirBlockGetFirstOperation(body) : (MlirOperation){NULL};
           op.ptr; op = mlirOperationGetNextInBlock(op))
        if (shardOpIs(op, "func.call") &&
            mlirAttributeEqual(shardOpGetAttribute(op, "callee"), callee) &&
            !passesPieces(s, op, number, list))
          return false;
    }
  }
  return true;
}

static MlirType pieceType(MlirType type, const PieceList *list, intptr_t piece, ShardArena *arena) {
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type);
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = d == list->dim ? list->size[piece] : mlirShapedTypeGetDimSize(type, d);
  return shardTensorWithShape(type, rank, shape);
}

static void setFunctionType(MlirOperation func, ShardArena *arena) {
  MlirBlock body = shardFuncGetBody(func);
  MlirType old = mlirTypeAttrGetValue(shardOpGetAttribute(func, "function_type"));
  intptr_t n = mlirBlockGetNumArguments(body), nResults = mlirFunctionTypeGetNumResults(old);
  MlirType *inputs = SHARD_ARENA_ARRAY(arena, MlirType, n ? n : 1);
  MlirType *results = SHARD_ARENA_ARRAY(arena, MlirType, nResults ? nResults : 1);
  for (intptr_t i = 0; i < n; ++i)
    inputs[i] = mlirValueGetType(mlirBlockGetArgument(body, i));
  for (intptr_t i = 0; i < nResults; ++i)
    results[i] = mlirFunctionTypeGetResult(old, i);
  MlirContext context = mlirOperationGetContext(func);
  shardOpSetAttribute(func, "function_type",
                      mlirTypeAttrGet(mlirFunctionTypeGet(context, n, inputs, nResults, results)));
}

static void splitArgument(Splitter *s, MlirOperation func, intptr_t number, const PieceList *list);

/// Replaces the uses of a value by its pieces, one value each, in calls too.
static void replaceUses(Splitter *s, MlirValue value, const PieceList *list,
                        const MlirValue *pieces) {
  MlirOperation *users = NULL;
  intptr_t *numbers = NULL;
  size_t n = 0, capacity = 0, capacityNumbers = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    users = shardArenaGrow(s->arena, users, n, &capacity, n + 1, sizeof(*users));
    numbers = shardArenaGrow(s->arena, numbers, n, &capacityNumbers, n + 1, sizeof(*numbers));
    users[n] = mlirOpOperandGetOwner(use);
    numbers[n++] = mlirOpOperandGetOperandNumber(use);
  }
  for (size_t u = 0; u < n; ++u) {
    if (shardOpIs(users[u], "tensor.extract_slice")) {
      int64_t offset =
          mlirDenseI64ArrayGetElement(shardOpGetAttribute(users[u], "static_offsets"), list->dim);
      for (intptr_t i = 0; i < list->n; ++i)
        if (list->offset[i] == offset)
          mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(users[u], 0), pieces[i]);
      mlirOperationDestroy(users[u]);
      continue;
    }
    MlirOperation callee = shardModuleCallee(s->module, users[u]);
    splitArgument(s, callee, numbers[u], list);
    intptr_t old = mlirOperationGetNumOperands(users[u]);
    MlirValue *operands = SHARD_ARENA_ARRAY(s->arena, MlirValue, old + list->n);
    for (intptr_t i = 0; i < old; ++i)
      operands[i] = mlirOperationGetOperand(users[u], i);
    operands[numbers[u]] = pieces[0];
    for (intptr_t i = 1; i < list->n; ++i)
      operands[old + i - 1] = pieces[i];
    mlirOperationSetOperands(users[u], old + list->n - 1, operands);
  }
}

/// The first piece takes an argument's place, the others are appended. Once per function.
static void splitArgument(Splitter *s, MlirOperation func, intptr_t number, const PieceList *list) {
  MlirBlock body = shardFuncGetBody(func);
  MlirValue value = mlirBlockGetArgument(body, number);
  int64_t done;
  if (shardPointerMapGet(s->splitTo, value.ptr, &done))
    return;
  shardPointerMapSet(s->splitTo, value.ptr, 1);
  MlirContext context = mlirOperationGetContext(func);
  MlirType whole = mlirValueGetType(value);
  intptr_t before = mlirBlockGetNumArguments(body);
  MlirAttribute old = shardOpGetAttribute(func, "arg_attrs"),
                empty = mlirDictionaryAttrGet(context, 0, NULL);
  MlirAttribute *attributes = SHARD_ARENA_ARRAY(s->arena, MlirAttribute, before + list->n);
  for (intptr_t i = 0; i < before; ++i)
    attributes[i] = old.ptr ? mlirArrayAttrGetElement(old, i) : empty;
  MlirValue pieces[MAX_PIECES];
  pieces[0] = value;
  for (intptr_t i = 1; i < list->n; ++i) {
    pieces[i] = mlirBlockAddArgument(body, pieceType(whole, list, i, s->arena),
                                     mlirOperationGetLocation(func));
    attributes[before + i - 1] = attributes[number];
  }
  replaceUses(s, value, list, pieces);
  mlirValueSetType(value, pieceType(whole, list, 0, s->arena));
  setFunctionType(func, s->arena);
  shardOpSetAttribute(func, "arg_attrs",
                      mlirArrayAttrGet(context, before + list->n - 1, attributes));
  if (func.ptr != s->entry.ptr)
    return;
  for (intptr_t i = 0; i < list->n; ++i) {
    int64_t window[] = {list->dim, list->offset[i], list->full};
    shardFuncSetArgumentAttribute(func, i ? before + i - 1 : number, "spmd.window",
                                  shardAttrI64Array(context, 3, window));
  }
}

/// Gives the pieces of an argument the layouts that an annotation lists.
static MlirLogicalResult placePieces(Splitter *s, intptr_t number, const PieceList *list,
                                     intptr_t firstMore) {
  MlirAttribute given = shardFuncGetArgumentAttribute(s->entry, number, "spmd.pieces");
  if (!given.ptr)
    return mlirLogicalResultSuccess();
  bool fits = mlirAttributeIsAArray(given) && mlirArrayAttrGetNumElements(given) == list->n;
  for (intptr_t i = 0; fits && i < list->n; ++i) {
    MlirAttribute piece = mlirArrayAttrGetElement(given, i);
    MlirAttribute window =
        mlirDictionaryAttrGetElementByName(piece, mlirStringRefCreateFromCString("window"));
    fits = window.ptr && mlirDenseI64ArrayGetElement(window, 0) == list->dim &&
           mlirDenseI64ArrayGetElement(window, 1) == list->offset[i] &&
           mlirDenseI64ArrayGetElement(window, 2) == list->size[i];
    static const char *const fields[][2] = {{"sharding", "spmd.sharding"}, {"view", "spmd.view"}};
    intptr_t argument = i ? firstMore + i - 1 : number;
    shardFuncSetArgumentAttribute(s->entry, argument, "spmd.pieces", (MlirAttribute){NULL});
    for (int k = 0; fits && k < 2; ++k) {
      MlirAttribute field =
          mlirDictionaryAttrGetElementByName(piece, mlirStringRefCreateFromCString(fields[k][0]));
      if (field.ptr)
        shardFuncSetArgumentAttribute(s->entry, argument, fields[k][1], field);
    }
  }
  if (fits)
    return mlirLogicalResultSuccess();
  return shardEmitError(s->entry,
                        "the pieces annotated for argument %" PRIdPTR
                        " are not those in which the model uses it",
                        number);
}

MlirLogicalResult shardSplitFusedWeights(MlirOperation module, MlirOperation entry,
                                         ShardArena *arena) {
  MlirBlock body = shardFuncGetBody(entry);
  intptr_t n = mlirBlockGetNumArguments(body);
  Splitter s = {.module = module, .entry = entry, .arena = arena};
  s.pieces = SHARD_ARENA_ARRAY(arena, PieceList *, n ? n : 1);
  s.splitTo = shardPointerMapCreate(arena, (size_t)n);
  for (intptr_t a = 0; a < n; ++a) {
    MlirAttribute role = shardFuncGetArgumentAttribute(entry, a, "spmd.role");
    MlirValue value = mlirBlockGetArgument(body, a);
    if (!role.ptr || !mlirAttributeIsAString(role) ||
        !shardStringIs(mlirStringAttrGetValue(role), "weight") ||
        !mlirTypeIsARankedTensor(mlirValueGetType(value)) ||
        shardFuncGetArgumentAttribute(entry, a, "spmd.sharding").ptr)
      continue;
    PieceList list = {0};
    if (!collectPieces(module, value, &list, false) || list.n < 2 || areTiles(&list))
      continue;
    s.pieces[a] = SHARD_ARENA_NEW(arena, PieceList);
    *s.pieces[a] = list;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (intptr_t a = 0; a < n; ++a)
      if (s.pieces[a] && !callsAgree(&s, mlirBlockGetArgument(body, a), s.pieces[a]))
        s.pieces[a] = NULL, changed = true;
  }
  for (intptr_t a = 0; a < n; ++a) {
    if (!s.pieces[a]) {
      if (shardFuncGetArgumentAttribute(entry, a, "spmd.pieces").ptr)
        return shardEmitError(entry,
                              "the pieces annotated for argument %" PRIdPTR
                              " are not those in which the model uses it",
                              a);
      continue;
    }
    intptr_t firstMore = mlirBlockGetNumArguments(body);
    splitArgument(&s, entry, a, s.pieces[a]);
    if (mlirLogicalResultIsFailure(placePieces(&s, a, s.pieces[a], firstMore)))
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}
