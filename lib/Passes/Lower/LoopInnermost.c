//===- LoopInnermost.c - The innermost loop of a linalg.generic ----*- C -*-===//
// Vectors of the CPU's length, then of half that and so on, then single steps. A reduction keeps
// its value in registers, and its combiner may be reassociated: the sum of a row is a vector sum.
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

enum { MAX_STATE = 8 }; // values that a reduction carries

typedef struct Inner {
  ShardNest *nest;
  intptr_t loop;
  int64_t size;
  bool isReduction; // outputs stay in registers
  intptr_t nOutputs;
  MlirOperation combiners[MAX_STATE];
} Inner;

/// One step of vectors of `width` at `index`. For a reduction `state` is updated.
static void emitVectorStep(Inner *inner, ShardLowerBuilder *b, int64_t width, MlirValue index,
                           const MlirValue *pointers, MlirValue *state) {
  ShardNest *nest = inner->nest;
  MlirValue arguments[SHARD_NEST_MAX_OPERANDS], places[SHARD_NEST_MAX_OPERANDS],
      yielded[SHARD_NEST_MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const ShardNestAccess *access = &nest->accesses[i];
    bool isOutput = i >= nest->nInputs;
    arguments[i] = (MlirValue){NULL};
    if (isOutput && inner->isReduction) {
      arguments[i] = state[i - nest->nInputs];
      continue;
    }
    if (!access->isScalar)
      places[i] = shardNestAdvance(b, access, pointers[i], inner->loop, index);
    if (shardValueIsUnused(mlirBlockGetArgument(nest->body, i)))
      continue;
    arguments[i] = access->isScalar ? access->value
                   : access->strides[inner->loop]
                       ? shardMakeVectorLoad(b, places[i], access->element, width)
                       : shardMakeLoad(b, places[i], access->element);
  }
  shardNestEmitVectorBody(nest, b, inner->loop, width, index, arguments, yielded);
  for (intptr_t i = 0; i < inner->nOutputs; ++i)
    if (inner->isReduction)
      state[i] = yielded[i];
    else
      shardMakeVectorStore(b, yielded[i], places[nest->nInputs + i]);
}

/// Steps [from, to) by `width` x `unroll`, each of the `unroll` parts with a state of its own.
static void emitVectorLoop(Inner *inner, ShardLowerBuilder *b, int64_t from, int64_t to,
                           int64_t width, int64_t unroll, const MlirValue *pointers,
                           MlirValue *state) {
  intptr_t nState = inner->isReduction ? inner->nOutputs * unroll : 0;
  if (to - from == width * unroll) {
    for (int64_t u = 0; u < unroll; ++u)
      emitVectorStep(inner, b, width, shardMakeI64(b, from + u * width), pointers,
                     state + u * inner->nOutputs);
    return;
  }
  MlirOperation forOp = shardMakeFor(b, shardMakeI64(b, from), shardMakeI64(b, to),
                                     shardMakeI64(b, width * unroll), nState, state);
  MlirBlock body = shardOpBody(forOp);
  ShardLowerBuilder in = shardLowerBuilderAtEnd(b->lowering, body, b->location);
  MlirValue index = mlirBlockGetArgument(body, 0), inState[MAX_STATE] = {{NULL}};
  for (intptr_t i = 0; i < nState; ++i)
    inState[i] = mlirBlockGetArgument(body, 1 + i);
  for (int64_t u = 0; u < unroll; ++u)
    emitVectorStep(inner, &in, width,
                   u ? shardMakeAdd(&in, index, shardMakeI64(&in, u * width)) : index, pointers,
                   inState + u * inner->nOutputs);
  shardMakeYield(&in, nState, inState);
  for (intptr_t i = 0; i < nState; ++i)
    state[i] = mlirOperationGetResult(forOp, i);
}

/// Steps [from, to) one by one.
static void emitScalarLoop(Inner *inner, ShardLowerBuilder *b, int64_t from, int64_t to,
                           const MlirValue *pointers, MlirValue *state) {
  ShardNest *nest = inner->nest;
  intptr_t nState = inner->isReduction ? inner->nOutputs : 0;
  MlirOperation forOp = shardMakeFor(b, shardMakeI64(b, from), shardMakeI64(b, to),
                                     shardMakeI64(b, 1), nState, state);
  MlirBlock body = shardOpBody(forOp);
  ShardLowerBuilder in = shardLowerBuilderAtEnd(b->lowering, body, b->location);
  MlirValue index = mlirBlockGetArgument(body, 0);
  nest->indices[inner->loop] = index;
  MlirValue advanced[SHARD_NEST_MAX_OPERANDS], inState[MAX_STATE] = {{NULL}},
                                               yielded[SHARD_NEST_MAX_OPERANDS];
  for (intptr_t i = 0; i < nest->nOperands; ++i)
    advanced[i] = shardNestAdvance(&in, &nest->accesses[i], pointers[i], inner->loop, index);
  for (intptr_t i = 0; i < nState; ++i)
    inState[i] = mlirBlockGetArgument(body, 1 + i);
  shardNestEmitPoint(nest, &in, advanced, inner->isReduction ? inState : NULL, yielded);
  shardMakeYield(&in, nState, yielded);
  nest->indices[inner->loop] = (MlirValue){NULL};
  for (intptr_t i = 0; i < nState; ++i)
    state[i] = mlirOperationGetResult(forOp, i);
}

/// Whether vectors along the loop are possible.
static bool canUseVectors(Inner *inner) {
  ShardNest *nest = inner->nest;
  if (inner->nOutputs > MAX_STATE)
    return false;
  if (nest->isReduction[inner->loop] && !inner->isReduction)
    return false;
  for (intptr_t i = 0; i < nest->nOperands; ++i) {
    const ShardNestAccess *access = &nest->accesses[i];
    if (access->isScalar)
      continue;
    int64_t stride = access->strides[inner->loop];
    bool isOutput = i >= nest->nInputs;
    if (!access->isLinear || shardElementNumber(access->element) < 0 ||
        (isOutput && !inner->isReduction ? stride != 1 : stride != 0 && stride != 1))
      return false;
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (!shardOpIs(op, "linalg.yield") && !shardOpIs(op, "linalg.index") &&
        !shardOpHasVectorForm(op))
      return false;
  if (inner->isReduction)
    for (intptr_t i = 0; i < inner->nOutputs; ++i) {
      inner->combiners[i] = shardNestGetCombiner(nest, i);
      if (mlirOperationIsNull(inner->combiners[i]))
        return false;
    }
  return true;
}

static int64_t bodySize(const ShardNest *nest) {
  int64_t n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(nest->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    ++n;
  return n;
}

/// Combines the vectors of `state` into the scalars.
static void fold(Inner *inner, ShardLowerBuilder *b, int64_t width, int64_t unroll,
                 MlirValue *state, MlirValue *scalars) {
  for (intptr_t i = 0; i < inner->nOutputs; ++i) {
    MlirValue vector = state[i];
    for (int64_t u = 1; u < unroll; ++u)
      vector = shardMakeCombination(b, inner->combiners[i], vector, state[u * inner->nOutputs + i]);
    scalars[i] =
        shardMakeCombination(b, inner->combiners[i], scalars[i],
                             shardMakeVectorReduction(b, inner->combiners[i], vector, width));
  }
}

static void makeIdentities(Inner *inner, ShardLowerBuilder *b, int64_t width, int64_t unroll,
                           MlirValue *state) {
  for (int64_t u = 0; u < unroll; ++u)
    for (intptr_t i = 0; i < inner->nOutputs; ++i) {
      MlirType type = inner->nest->accesses[inner->nest->nInputs + i].element;
      MlirType vector = shardVectorOf(type, width);
      state[u * inner->nOutputs + i] =
          shardMakeConstant(b, vector,
                            mlirDenseElementsAttrSplatGet(
                                vector, shardCombinerGetIdentity(inner->combiners[i], type)));
    }
}

/// Vectors of the widest kind, several at once in a short reduction, then of half that and so on.
/// Returns the first step that is left. For a reduction `scalars` are updated.
static int64_t emitVectors(Inner *inner, ShardLowerBuilder *b, const MlirValue *pointers,
                           MlirValue *scalars) {
  int64_t at = 0, width = inner->nest->lowering->target.vectorBytes / 4;
  // A short reduction waits for its adder: several sums at once.
  int64_t unroll = inner->isReduction && inner->nOutputs <= 2 && bodySize(inner->nest) <= 6 &&
                           inner->size >= 8 * width
                       ? 4
                       : 1;
  while (width >= 4) {
    int64_t to = at + (inner->size - at) / (width * unroll) * (width * unroll);
    if (to > at) {
      MlirValue state[MAX_STATE];
      if (inner->isReduction)
        makeIdentities(inner, b, width, unroll, state);
      emitVectorLoop(inner, b, at, to, width, unroll, pointers, state);
      if (inner->isReduction)
        fold(inner, b, width, unroll, state, scalars);
    }
    at = to;
    if (unroll > 1)
      unroll = 1; // the rest, one vector at a time
    else
      width /= 2;
  }
  return at;
}

void shardNestEmitInnermost(ShardNest *nest, ShardLowerBuilder *b, intptr_t level,
                            const MlirValue *pointers) {
  Inner inner = {.nest = nest,
                 .loop = nest->loopOf[level],
                 .size = nest->emittedSizes[level],
                 .nOutputs = nest->nOperands - nest->nInputs};
  inner.isReduction = nest->isReduction[inner.loop] && inner.nOutputs <= MAX_STATE;
  for (intptr_t i = nest->nInputs; i < nest->nOperands; ++i)
    inner.isReduction &= !nest->accesses[i].isScalar && nest->accesses[i].isLinear &&
                         nest->accesses[i].strides[inner.loop] == 0;
  MlirValue scalars[MAX_STATE] = {{NULL}};
  if (inner.isReduction)
    for (intptr_t i = 0; i < inner.nOutputs; ++i)
      scalars[i] =
          shardMakeLoad(b, pointers[nest->nInputs + i], nest->accesses[nest->nInputs + i].element);
  int64_t at = canUseVectors(&inner) ? emitVectors(&inner, b, pointers, scalars) : 0;
  if (at < inner.size)
    emitScalarLoop(&inner, b, at, inner.size, pointers, scalars);
  if (inner.isReduction)
    for (intptr_t i = 0; i < inner.nOutputs; ++i)
      shardMakeStore(b, scalars[i], pointers[nest->nInputs + i]);
}
