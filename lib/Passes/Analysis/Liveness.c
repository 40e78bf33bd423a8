//===- Liveness.c - Live bytes of a block -------------------------*- C -*-===//
// A value lives from the op that makes it to the last op that uses it, through views of it; what is
// sent until the wait, what comes in from the start on. A
// result takes over the buffer of its destination when that is used for the last time there.
//===----------------------------------------------------------------------===//
#include "Liveness.h"

#include "Work.h"

#include "../Core/Collectives.h"

/// Memory that a value and the views of it are in.
typedef struct Buffer {
  int64_t bytes;
  int64_t first, last; // ops
  int64_t takes;       // the buffer that it goes on in; -1: its own
  bool taken;
  bool outside; // an argument's, or the caller's for a result
  bool folded;  // never in memory: the op that reads it does the op that makes it
} Buffer;

/// Ops that are folded one into the next are followed so far.
enum { MAX_FOLDED = 64 };

typedef struct Liveness {
  ShardArena *arena;
  ShardPointerMap *bufferOf; // value -> buffer
  size_t nBuffers, capacity;
  Buffer *buffers;
  ShardPointerMap *startOf; // where each start of L4 is
  int64_t at;               // the op that is looked at
} Liveness;

static int64_t addBuffer(Liveness *l, MlirValue value, Buffer buffer) {
  l->buffers = shardArenaGrow(l->arena, l->buffers, l->nBuffers, &l->capacity, l->nBuffers + 1,
                              sizeof(Buffer));
  l->buffers[l->nBuffers] = buffer;
  shardPointerMapSet(l->bufferOf, value.ptr, (int64_t)l->nBuffers);
  return (int64_t)l->nBuffers++;
}

static int64_t findBuffer(const Liveness *l, MlirValue value) {
  return shardPointerMapGetOr(l->bufferOf, value.ptr, -1);
}

/// The op that began what a token stands for; null: no token, or it began elsewhere.
static MlirOperation startOf(MlirValue token) {
  bool starts = false, receives;
  MlirOperation start = shardValueDefiningOp(token);
  bool found = start.ptr && shardScheduledKind(start, &starts, &receives) && starts;
  return found ? start : (MlirOperation){NULL};
}

/// The same of the wait for it, which has what comes in.
static MlirOperation startOfWait(MlirOperation op) {
  bool starts = true, receives;
  if (!shardScheduledKind(op, &starts, &receives) || starts || mlirOperationGetNumOperands(op) == 0)
    return (MlirOperation){NULL};
  return startOf(mlirOperationGetOperand(op, 0));
}

/// Uses what an op reads; of a value that is never in memory, what that is made of.
static void useAt(Liveness *l, MlirOperation op, int depth) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    int64_t buffer = findBuffer(l, operand);
    if (buffer < 0)
      continue;
    l->buffers[buffer].last = l->at;
    MlirOperation producer = shardValueProducer(operand);
    if (depth < MAX_FOLDED && l->buffers[buffer].folded && !mlirOperationIsNull(producer))
      useAt(l, producer, depth + 1);
  }
}

static MlirLogicalResult useOperands(void *user, MlirOperation op) {
  useAt(user, op, 0);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirOperation start = startOf(mlirOperationGetOperand(op, i));
    if (start.ptr) // what is sent stays until it has left, or until the token is out of sight
      useAt(user, start, 0);
  }
  return mlirLogicalResultSuccess();
}

/// The operand that result `result` is written over; -1: none.
static intptr_t destinationOf(MlirOperation op, intptr_t result) {
  MlirStringRef name = shardOpGetName(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (name.length > 7 && mlirStringRefEqual(mlirStringRefCreate(name.data, 7),
                                            mlirStringRefCreateFromCString("linalg.")))
    return nOperands >= nResults ? nOperands - nResults + result : -1;
  if (shardStringIs(name, "tensor.insert_slice") || shardStringIs(name, "tensor.scatter"))
    return 1;
  if (shardStringIs(name, "shard.recv"))
    return 0;
  return shardStringIs(name, "scf.for") ? result + 3 : -1;
}

static void addResults(Liveness *l, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    int64_t source = shardOpIsView(op) ? findBuffer(l, mlirOperationGetOperand(op, 0)) : -1;
    if (source >= 0) {
      shardPointerMapSet(l->bufferOf, result.ptr, source);
      continue;
    }
    bool folded = shardOpIsFolded(op);
    bool unwritten = folded || shardOpIs(op, "tensor.empty") || shardOpIs(op, "arith.constant");
    int64_t bytes = unwritten ? 0 : shardTypeBytes(mlirValueGetType(result));
    intptr_t destination = destinationOf(op, i);
    int64_t init = destination < 0 || destination >= mlirOperationGetNumOperands(op)
                       ? -1
                       : findBuffer(l, mlirOperationGetOperand(op, destination));
    MlirOperation start = startOfWait(op);
    int64_t from = start.ptr ? shardPointerMapGetOr(l->startOf, start.ptr, l->at) : l->at;
    addBuffer(l, result, (Buffer){bytes, from, l->at, init, false, false, folded});
  }
}

static void markReturned(Liveness *l, MlirOperation end) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i) {
    int64_t buffer = findBuffer(l, mlirOperationGetOperand(end, i));
    if (buffer >= 0)
      l->buffers[buffer].outside = true;
  }
}

/// Decides which results go on in their destinations; those that end outside began there.
static void shareBuffers(Liveness *l) {
  for (size_t i = 0; i < l->nBuffers; ++i) {
    Buffer *buffer = &l->buffers[i];
    Buffer *init = buffer->takes < 0 ? NULL : &l->buffers[buffer->takes];
    if (!init)
      continue;
    bool fits = init->bytes == buffer->bytes && init->last == buffer->first;
    if (!fits || init->taken || (init->outside && !buffer->outside))
      buffer->takes = -1;
    else
      init->taken = true;
  }
  for (size_t i = l->nBuffers; i-- > 0;)
    if (l->buffers[i].takes >= 0 && l->buffers[i].outside)
      l->buffers[l->buffers[i].takes].outside = true;
}

/// What is sent and never waited for stays to the end.
static void useUnwaited(Liveness *l, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    bool starts = false, receives;
    if (shardScheduledKind(op, &starts, &receives) && starts &&
        mlirOperationGetNumResults(op) > 0 &&
        mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(op, 0))))
      useAt(l, op, 0);
  }
}

ShardLiveBytes shardBlockLiveBytes(MlirBlock block, const ShardPointerMap *innerPeak,
                                   ShardArena *arena) {
  ShardLiveBytes out = {0};
  ShardArena *scratch = shardArenaCreate();
  Liveness l = {.arena = scratch,
                .bufferOf = shardPointerMapCreate(scratch, 64),
                .startOf = shardPointerMapCreate(scratch, 16)};
  int64_t nOps = 0;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
    addBuffer(&l, mlirBlockGetArgument(block, i), (Buffer){0, 0, 0, -1, false, true, false});
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    l.at = nOps++;
    shardPointerMapSet(l.startOf, op.ptr, l.at);
    shardWalk(op, NULL, useOperands, &l);
    addResults(&l, op);
  }
  useUnwaited(&l, block);
  markReturned(&l, mlirBlockGetTerminator(block));
  shareBuffers(&l);
  int64_t *change = SHARD_ARENA_ARRAY(scratch, int64_t, nOps + 1); // before each op
  for (size_t i = 0; i < l.nBuffers; ++i) {
    const Buffer *buffer = &l.buffers[i];
    if (buffer->outside)
      continue;
    if (buffer->takes < 0)
      change[buffer->first] += buffer->bytes;
    if (!buffer->taken)
      change[buffer->last + 1] -= buffer->bytes;
  }
  out.opBytes = SHARD_ARENA_ARRAY(arena, int64_t, nOps);
  int64_t live = 0, i = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op), ++i) {
    live += change[i];
    out.opBytes[i] = live + shardPointerMapGetOr(innerPeak, op.ptr, 0);
    if (out.opBytes[i] > out.peakBytes) {
      out.peakBytes = out.opBytes[i];
      out.peakOp = op;
    }
  }
  shardArenaDestroy(scratch);
  return out;
}
