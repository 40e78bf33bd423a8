//===- Lifetimes.c - When each buffer of a function is used --------*- C -*-===//
// Reads: memref.alloc, func.call with `spmd.workspace` (its callee needs memory), contractions (a
// panel), `spmd.collective` on calls of the runtime. Writes: nothing.
// A buffer lives from the first to the last op that touches it, through everything that may alias
// it, in program order, in loops too, but in branches that do not pass it on (LiveTimes.c). What is
// used in a loop and was there before it lives through all of the loop, and so does what a step
// hands to the next.
//===----------------------------------------------------------------------===//

#include "Workspace.h"

typedef struct Touches {
  size_t n, capacity;
  ShardTouch *all;
} Touches;

typedef struct Reader {
  ShardLowering *lowering;
  const ShardPointerMap *workspaces;
  ShardWorkspace *out;
  ShardPointerMap *positions, *bufferOf; // op -> position; memref.alloc -> number
  Touches *touches;                      // of each buffer of `out`
  size_t touchesCapacity;
  size_t nOps, capacity;
  MlirOperation *ops; // [nOps]
  size_t endCapacity, parentCapacity, blockCapacity, callCapacity;
  int64_t *ends, *parents, *blockEnds; // [nOps], as in ShardOpTree
  int64_t *nCalls;                     // [nOps] calls of functions before the op
} Reader;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static bool isCall(MlirOperation op) {
  return shardOpIs(op, "func.call") &&
         !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.workspace"));
}

static void numberBlock(Reader *reader, MlirBlock block, int64_t parent) {
  ShardArena *arena = reader->lowering->arena;
  size_t begin = reader->nOps;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    size_t at = reader->nOps++;
    reader->ops = shardArenaGrow(arena, reader->ops, at, &reader->capacity, at + 1, sizeof(op));
    reader->ends =
        shardArenaGrow(arena, reader->ends, at, &reader->endCapacity, at + 1, sizeof(int64_t));
    reader->parents = shardArenaGrow(arena, reader->parents, at, &reader->parentCapacity, at + 1,
                                     sizeof(int64_t));
    reader->blockEnds = shardArenaGrow(arena, reader->blockEnds, at, &reader->blockCapacity, at + 1,
                                       sizeof(int64_t));
    reader->nCalls =
        shardArenaGrow(arena, reader->nCalls, at, &reader->callCapacity, at + 1, sizeof(int64_t));
    reader->ops[at] = op;
    reader->parents[at] = parent;
    reader->nCalls[at] = at ? reader->nCalls[at - 1] + isCall(reader->ops[at - 1]) : 0;
    shardPointerMapSet(reader->positions, op.ptr, (int64_t)at);
    if (shardNameHasDialect(shardOpGetName(op), "scf"))
      for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
        for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
             !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
          numberBlock(reader, inner, (int64_t)at);
    reader->ends[at] = (int64_t)reader->nOps - 1;
  }
  for (size_t at = begin; at < reader->nOps; at = (size_t)reader->ends[at] + 1)
    reader->blockEnds[at] = (int64_t)reader->nOps - 1;
}

static int64_t positionOf(const Reader *reader, MlirOperation op) {
  int64_t position;
  while (!shardPointerMapGet(reader->positions, op.ptr, &position))
    op = mlirOperationGetParentOperation(op);
  return position;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

typedef struct Uses {
  Reader *reader;
  ShardWorkspaceBuffer *buffer;
  int64_t home, writerPosition; // of the memref.alloc
  Touches touches;
  size_t nCalls, callCapacity;
  ShardCallUse *calls;
  ShardPointerMap *seen;
  MlirValue *values; // that may alias the buffer
  size_t nValues, capacity;
  bool ofFunction;           // a function of the program reads or writes it
  bool sent, received, read; // by collectives; by something else
} Uses;

static bool mayAlias(const Uses *uses, MlirValue value) {
  MlirType type = mlirValueGetType(value);
  return mlirTypeIsAMemRef(type) || mlirTypeEqual(type, uses->reader->lowering->pointer);
}

static void enqueue(Uses *uses, MlirValue value) {
  if (!mayAlias(uses, value) || shardPointerMapGetOr(uses->seen, value.ptr, 0))
    return;
  shardPointerMapSet(uses->seen, value.ptr, 1);
  uses->values = shardArenaGrow(uses->reader->lowering->arena, uses->values, uses->nValues,
                                &uses->capacity, uses->nValues + 1, sizeof(MlirValue));
  uses->values[uses->nValues++] = value;
}

static void enqueueResult(Uses *uses, MlirOperation op, intptr_t number) {
  if (number >= 0 && number < mlirOperationGetNumResults(op))
    enqueue(uses, mlirOperationGetResult(op, number));
}

static void enqueueArgument(Uses *uses, MlirOperation op, intptr_t region, intptr_t number) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
  if (number >= 0 && number < mlirBlockGetNumArguments(block))
    enqueue(uses, mlirBlockGetArgument(block, number));
}

/// Results and arguments of regions of an op of which no more is known.
static void enqueueAll(Uses *uses, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    enqueueResult(uses, op, i);
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
        enqueue(uses, mlirBlockGetArgument(block, i));
}

static bool isLoop(MlirOperation op) {
  return shardNameHasDialect(shardOpGetName(op), "scf") && !shardOpIs(op, "scf.if") &&
         !shardOpIs(op, "scf.index_switch") && !shardOpIs(op, "scf.execute_region");
}

static void addTouch(Uses *uses, int64_t position) {
  Touches *touches = &uses->touches;
  touches->all = shardArenaGrow(uses->reader->lowering->arena, touches->all, touches->n,
                                &touches->capacity, touches->n + 1, sizeof(ShardTouch));
  touches->all[touches->n++] = position;
}

/// The buffer's bytes are read or written by `user`, in loops around it at each step.
static void touch(Uses *uses, MlirOperation user) {
  const Reader *reader = uses->reader;
  int64_t position = positionOf(reader, user), at = position;
  for (int64_t p = reader->parents[position]; p >= 0; p = reader->parents[p]) {
    bool madeInside = p <= uses->home && uses->home <= reader->ends[p];
    if (!madeInside && isLoop(reader->ops[p]))
      at = p;
  }
  if (position < uses->writerPosition) {
    uses->writerPosition = position;
    uses->buffer->writer = reader->ops[position];
  }
  addTouch(uses, at);
}

/// What a step of a loop hands to the next lives through the loop.
static void carry(Uses *uses, MlirOperation loop) {
  addTouch(uses, positionOf(uses->reader, loop));
  uses->buffer->carried = true;
}

/// Follows a value that control flow passes on as operand `k` of `user`; false for any other op.
static bool followControl(Uses *uses, MlirOperation user, intptr_t k) {
  MlirOperation parent = mlirOperationGetParentOperation(user);
  if (shardOpIs(user, "scf.for")) {
    enqueueArgument(uses, user, 0, k - 2);
    enqueueResult(uses, user, k - 3);
  } else if (shardOpIs(user, "scf.while")) {
    enqueueArgument(uses, user, 0, k);
  } else if (shardOpIs(user, "scf.condition")) {
    enqueueArgument(uses, parent, 1, k - 1);
    enqueueResult(uses, parent, k - 1);
  } else if (!shardOpIs(user, "scf.yield")) {
    return false;
  } else if (shardOpIs(parent, "scf.while")) {
    enqueueArgument(uses, parent, 0, k);
    carry(uses, parent);
  } else if (isLoop(parent)) {
    enqueueArgument(uses, parent, 0, k + 1);
    enqueueResult(uses, parent, k);
    carry(uses, parent);
  } else {
    enqueueResult(uses, parent, k);
  }
  return true;
}

static void addCallUse(Uses *uses, MlirOperation call, intptr_t operand) {
  uses->calls = shardArenaGrow(uses->reader->lowering->arena, uses->calls, uses->nCalls,
                               &uses->callCapacity, uses->nCalls + 1, sizeof(ShardCallUse));
  uses->calls[uses->nCalls++] = (ShardCallUse){positionOf(uses->reader, call), operand};
}

/// Notes what `user` does with operand `k`.
static void noteUse(Uses *uses, MlirOperation user, intptr_t k) {
  MlirAttribute collective = shardOpGetAttribute(user, "spmd.collective");
  MlirAttribute segments = shardOpGetAttribute(user, "operandSegmentSizes");
  if (!mlirAttributeIsNull(collective)) {
    uses->sent |= mlirDenseI64ArrayGetElement(collective, 0) == k;
    uses->received |= mlirDenseI64ArrayGetElement(collective, 1) == k;
  } else if (shardOpIs(user, "func.call")) {
    bool ofFunction = isCall(user);
    uses->ofFunction |= ofFunction;
    if (ofFunction)
      addCallUse(uses, user, k);
    uses->read |= !uses->ofFunction;
  } else if (shardOpIs(user, "linalg.generic")) {
    uses->read |= k < mlirDenseI32ArrayGetElement(segments, 0);
  } else {
    bool writes = shardOpIs(user, "memref.copy") || shardOpIs(user, "memref.store");
    uses->read |= !writes || k == 0;
  }
}

static void followUses(Uses *uses, MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    intptr_t k = mlirOpOperandGetOperandNumber(use);
    if (followControl(uses, user, k))
      continue;
    enqueueAll(uses, user);
    bool isView = mlirOperationGetNumResults(user) == 1 && mlirOperationGetNumRegions(user) == 0 &&
                  mayAlias(uses, mlirOperationGetResult(user, 0));
    if (isView)
      continue;
    touch(uses, user);
    noteUse(uses, user, k);
    MlirOperation parent = mlirOperationGetParentOperation(user);
    bool ends = mlirOperationGetNumResults(user) == 0 && mlirOperationGetNumRegions(user) == 0 &&
                mlirOperationEqual(user, mlirBlockGetTerminator(mlirOperationGetBlock(user))) &&
                !shardOpIs(parent, "func.func");
    if (ends) { // of an op that is not known: from any step to any other
      enqueueAll(uses, parent);
      touch(uses, parent);
    }
  }
}

/// Calls at [first, end).
static int64_t callsBetween(const Reader *reader, int64_t first, int64_t end) {
  return reader->nCalls[end] - reader->nCalls[first];
}

static ShardMemoryClass classOf(const Uses *uses) {
  const ShardWorkspaceBuffer *buffer = uses->buffer;
  const Reader *reader = uses->reader;
  if (uses->ofFunction)
    return SHARD_MEMORY_ACTIVATIONS;
  if (uses->received || (uses->sent && !uses->read))
    return SHARD_MEMORY_COMMUNICATION;
  // What a call of a function lies in between is kept across it.
  int64_t nCalls =
      buffer->first < buffer->last ? callsBetween(reader, buffer->first + 1, buffer->last) : 0;
  for (int64_t k = 0; k < buffer->nGaps; ++k)
    nCalls -= callsBetween(reader, buffer->gaps[k].lower, buffer->gaps[k].upper);
  if (nCalls > 0)
    return SHARD_MEMORY_ACTIVATIONS;
  return SHARD_MEMORY_TEMPORARIES;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

enum { SMALL_BUFFER = 4096 }; // bytes

/// What an offset has to be a multiple of: rows of a buffer that is no multiple of 64 bytes do not
/// begin at such multiples anyway. Code only needs that of an element; 64 is for speed, and buffers
/// of a few lines do without, where gaps between them would count.
static int64_t alignmentOf(int64_t bytes) {
  int64_t most = bytes < SMALL_BUFFER ? 16 : 64;
  int64_t lowest = bytes & -bytes;
  return lowest > 0 && lowest < most ? lowest : most;
}

static ShardWorkspaceBuffer *addBuffer(Reader *reader, MlirOperation op, int64_t position,
                                       int64_t bytes) {
  ShardWorkspace *out = reader->out;
  out->buffers = shardArenaGrow(reader->lowering->arena, out->buffers, out->nBuffers,
                                &out->capacity, out->nBuffers + 1, sizeof(*out->buffers));
  ShardWorkspaceBuffer *buffer = &out->buffers[out->nBuffers++];
  *buffer = (ShardWorkspaceBuffer){.op = op,
                                   .writer = op,
                                   .class_ = SHARD_MEMORY_TEMPORARIES,
                                   .bytes = bytes,
                                   .alignment = alignmentOf(bytes),
                                   .first = position,
                                   .last = position,
                                   .with = -1};
  return buffer;
}

static void findLiveTimes(const Reader *reader, Touches *touches, ShardWorkspaceBuffer *buffer) {
  ShardOpTree tree = {.n = (int64_t)reader->nOps,
                      .ops = reader->ops,
                      .parents = reader->parents,
                      .ends = reader->ends,
                      .blockEnds = reader->blockEnds};
  shardLiveTimesFind(reader->lowering->arena, &tree, touches->n, touches->all, buffer);
}

static MlirLogicalResult addAlloc(Reader *reader, MlirOperation op, int64_t position) {
  MlirValue result = mlirOperationGetResult(op, 0);
  MlirType type = mlirValueGetType(result);
  int64_t bytes = shardTypeElementBytes(mlirShapedTypeGetElementType(type));
  if (bytes <= 0)
    return shardEmitError(op, "a buffer of this element type has no lowering");
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i) {
    if (mlirShapedTypeIsDynamicDim(type, i))
      return shardEmitError(op, "a buffer of dynamic size has no lowering");
    if (__builtin_mul_overflow(bytes, mlirShapedTypeGetDimSize(type, i), &bytes))
      return shardEmitError(op, "the buffers of this function are too large to count");
  }
  ShardWorkspaceBuffer *buffer = addBuffer(reader, op, position, bytes);
  shardPointerMapSet(reader->bufferOf, op.ptr, (int64_t)reader->out->nBuffers - 1);
  Uses uses = {.reader = reader,
               .buffer = buffer,
               .home = position,
               .writerPosition = INT64_MAX,
               .seen = shardPointerMapCreate(reader->lowering->arena, 16)};
  enqueue(&uses, result);
  for (size_t i = 0; i < uses.nValues; ++i)
    followUses(&uses, uses.values[i]);
  findLiveTimes(reader, &uses.touches, buffer);
  buffer->nCalls = uses.nCalls;
  buffer->calls = uses.calls;
  // Panels and calls have a number too, and none of these.
  reader->touches =
      shardArenaGrow(reader->lowering->arena, reader->touches, reader->touchesCapacity,
                     &reader->touchesCapacity, reader->out->nBuffers, sizeof(Touches));
  reader->touches[reader->out->nBuffers - 1] = uses.touches;
  buffer->class_ = classOf(&uses);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult addBufferOf(Reader *reader, MlirOperation op, int64_t position) {
  if (shardOpIs(op, "memref.alloc"))
    return addAlloc(reader, op, position);
  if (shardOpIs(op, "linalg.generic") &&
      !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.contraction"))) {
    int64_t bytes = shardContractionScratchBytes(reader->lowering, op);
    if (bytes < 0)
      return mlirLogicalResultFailure();
    addBuffer(reader, op, position, bytes);
  } else if (shardOpIs(op, "func.call") &&
             !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.workspace"))) {
    MlirOperation callee = shardModuleCallee(reader->lowering->module, op);
    int64_t found;
    if (!shardPointerMapGet(reader->workspaces, callee.ptr, &found))
      return shardEmitError(op, "a recursive call has no lowering");
    const ShardWorkspace *workspace = (const ShardWorkspace *)(intptr_t)found;
    ShardWorkspaceBuffer *buffer = addBuffer(reader, op, position, workspace->bytes);
    buffer->alignment = workspace->alignment;
    buffer->callee = workspace;
  }
  return mlirLogicalResultSuccess();
}

/// The buffer that a branch hands out as result `k`, if it is one of its own; -1 if not.
static int64_t branchBuffer(const Reader *reader, MlirOperation branch, intptr_t region,
                            intptr_t k) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(branch, region));
  if (mlirBlockIsNull(block))
    return -1;
  MlirOperation op =
      shardValueDefiningOp(mlirOperationGetOperand(mlirBlockGetTerminator(block), k));
  while (!mlirOperationIsNull(op) && shardOpIs(op, "memref.cast"))
    op = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
  int64_t number;
  return mlirOperationIsNull(op) || !mlirBlockEqual(mlirOperationGetBlock(op), block) ||
                 !shardPointerMapGet(reader->bufferOf, op.ptr, &number)
             ? -1
             : number;
}

static Touches joinTouches(Reader *reader, int64_t a, int64_t b) {
  const Touches *one = &reader->touches[a], *other = &reader->touches[b];
  Touches both = {.n = one->n + other->n};
  both.all = SHARD_ARENA_ARRAY(reader->lowering->arena, ShardTouch, both.n + 1);
  for (size_t i = 0; i < both.n; ++i)
    both.all[i] = i < one->n ? one->all[i] : other->all[i - one->n];
  return both;
}

/// One of two branches runs: what both hand out as one result has one place.
static void joinBranches(Reader *reader, MlirOperation branch) {
  ShardWorkspaceBuffer *buffers = reader->out->buffers;
  for (intptr_t k = 0; k < mlirOperationGetNumResults(branch); ++k) {
    int64_t a = branchBuffer(reader, branch, 0, k), b = branchBuffer(reader, branch, 1, k);
    if (a < 0 || b < 0 || buffers[a].bytes != buffers[b].bytes || buffers[a].carried ||
        buffers[b].carried || buffers[a].with >= 0 || buffers[b].with >= 0)
      continue;
    Touches both = joinTouches(reader, a, b);
    findLiveTimes(reader, &both, &buffers[a]);
    buffers[b].first = buffers[a].first;
    buffers[b].last = buffers[a].last;
    buffers[b].nGaps = buffers[a].nGaps;
    buffers[b].gaps = buffers[a].gaps;
    buffers[b].with = a;
    buffers[a].joined = buffers[b].joined = true;
  }
}

/// When the ops of the function touch what its caller handed it.
static void findArgumentUses(Reader *reader) {
  ShardWorkspace *out = reader->out;
  MlirBlock body = shardFuncGetBody(out->func);
  out->nArguments = shardFuncIsPublic(out->func) ? 0 : mlirBlockGetNumArguments(body);
  out->arguments =
      SHARD_ARENA_ARRAY(reader->lowering->arena, ShardArgumentUse, out->nArguments + 1);
  for (intptr_t i = 0; i < out->nArguments; ++i) {
    ShardWorkspaceBuffer buffer = {0};
    Uses uses = {.reader = reader,
                 .buffer = &buffer,
                 .home = -1,
                 .seen = shardPointerMapCreate(reader->lowering->arena, 16)};
    enqueue(&uses, mlirBlockGetArgument(body, i));
    for (size_t k = 0; k < uses.nValues; ++k)
      followUses(&uses, uses.values[k]);
    findLiveTimes(reader, &uses.touches, &buffer);
    out->arguments[i] = (ShardArgumentUse){.first = buffer.first, .last = buffer.last};
  }
}

MlirLogicalResult shardWorkspaceCollect(ShardLowering *lowering, const ShardPointerMap *workspaces,
                                        ShardWorkspace *out) {
  Reader reader = {.lowering = lowering,
                   .workspaces = workspaces,
                   .out = out,
                   .positions = shardPointerMapCreate(lowering->arena, 256),
                   .bufferOf = shardPointerMapCreate(lowering->arena, 64)};
  numberBlock(&reader, shardFuncGetBody(out->func), -1);
  out->nPositions = (int64_t)reader.nOps;
  out->ops = reader.ops;
  for (size_t i = 0; i < reader.nOps; ++i)
    if (mlirLogicalResultIsFailure(addBufferOf(&reader, reader.ops[i], (int64_t)i)))
      return mlirLogicalResultFailure();
  for (size_t i = 0; i < reader.nOps; ++i)
    if (shardOpIs(reader.ops[i], "scf.if"))
      joinBranches(&reader, reader.ops[i]);
  findArgumentUses(&reader);
  shardHandOver(lowering, out);
  return mlirLogicalResultSuccess();
}
