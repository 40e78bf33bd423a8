//===- Units.c - Pipeline units, and stages of them ---------------*- C -*-===//
// See Model.h.
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static int64_t opCost(const ShardRules *rules, const int64_t *functionCosts,
                      const ShardOpRule *rule) {
  if (rule->form == SHARD_OP_CALL)
    return functionCosts[rule->callee];
  if (rule->form == SHARD_OP_LOOP) {
    int64_t cost = 0;
    for (int32_t g = 0; g < rule->nBodies; ++g)
      cost += rule->trips * functionCosts[rule->bodies[g].callee];
    return cost;
  }
  if (rule->contraction)
    return rule->flops;
  if (rule->cheap || rule->form == SHARD_OP_RESHAPE || rule->form == SHARD_OP_RETURN)
    return 0;
  int64_t cost = 0;
  for (int32_t r = 0; r < rule->nResults; ++r)
    cost += shardTypeElementCount(rules->values[rule->results[r].value].type);
  return cost;
}

/// Ops of the entry whose numbers (a tensor.extract's) an op reads, directly or through others, in
/// its regions as well.
typedef struct NumberReads {
  ShardArena *arena;
  const ShardPointerMap *numbers; // MlirOperation.ptr -> op index
  ShardPointerMap *seen;
  int32_t *ops; // [n]
  int32_t n;
  size_t capacity;
} NumberReads;

static MlirLogicalResult addNumbers(void *user, MlirOperation op) {
  NumberReads *reads = user;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue value = mlirOperationGetOperand(op, i);
    MlirOperation maker = shardValueDefiningOp(value);
    if (!maker.ptr || mlirTypeIsARankedTensor(mlirValueGetType(value)) ||
        shardPointerMapGetOr(reads->seen, maker.ptr, 0))
      continue;
    shardPointerMapSet(reads->seen, maker.ptr, 1);
    int64_t index = shardPointerMapGetOr(reads->numbers, maker.ptr, -1);
    if (index < 0) {
      addNumbers(reads, maker);
      continue;
    }
    reads->ops = shardArenaGrow(reads->arena, reads->ops, (size_t)reads->n, &reads->capacity,
                                (size_t)reads->n + 1, sizeof(int32_t));
    reads->ops[reads->n++] = (int32_t)index;
  }
  return mlirLogicalResultSuccess();
}

static bool givesNumbers(const ShardOpRule *rule) {
  return rule->nResults == 0 && rule->form != SHARD_OP_RETURN && rule->form != SHARD_OP_CALL;
}

/// Definitions in the entry that an op reads: those of its tensors, and ops that give it numbers.
typedef struct Definitions {
  int32_t *ops; // [n]
  int32_t n;
} Definitions;

static Definitions *findDefinitions(const ShardRules *rules, const ShardFunctionInfo *info,
                                    ShardArena *arena) {
  Definitions *list = SHARD_ARENA_ARRAY(arena, Definitions, info->nOps);
  ShardPointerMap *numbers = shardPointerMapCreate(arena, 16);
  bool any = false;
  for (int32_t o = 0; o < info->nOps; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    NumberReads reads = {.arena = arena, .numbers = numbers};
    if (any) {
      reads.seen = shardPointerMapCreate(arena, 16);
      shardWalk(rule->op, NULL, addNumbers, &reads);
    }
    Definitions *d = &list[o];
    d->ops = SHARD_ARENA_ARRAY(arena, int32_t, rule->nOperands + reads.n + 1);
    for (int32_t p = 0; p < rule->nOperands; ++p)
      if (rules->values[rule->operands[p].value].definition >= 0)
        d->ops[d->n++] = rules->values[rule->operands[p].value].definition;
    for (int32_t k = 0; k < reads.n; ++k)
      d->ops[d->n++] = reads.ops[k];
    if (givesNumbers(rule)) {
      shardPointerMapSet(numbers, rule->op.ptr, o);
      any = true;
    }
  }
  return list;
}

ShardUnits *shardModelFindUnits(const ShardModel *model, ShardArena *arena) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  int64_t *functionCosts = SHARD_ARENA_ARRAY(arena, int64_t, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o)
      functionCosts[f] += opCost(rules, functionCosts, &rules->functions[f].ops[o]);

  ShardUnits *units = SHARD_ARENA_NEW(arena, ShardUnits);
  int32_t n = info->nOps;
  units->unitOf = SHARD_ARENA_ARRAY(arena, int32_t, n);
  // after[o]: number of the last layer call that op o depends on, plus one; 0: none.
  int32_t *after = SHARD_ARENA_ARRAY(arena, int32_t, n);
  bool *usesInput = SHARD_ARENA_ARRAY(arena, bool, n); // depends on an input
  bool *usesWeight =
      SHARD_ARENA_ARRAY(arena, bool, n); // depends on a weight by more than a constant
  bool *feedsLayer = SHARD_ARENA_ARRAY(arena, bool, n);
  const Definitions *definitions = findDefinitions(rules, info, arena);
  int32_t nLayers = 0;
  for (int32_t o = 0; o < n; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    units->unitOf[o] = -1;
    for (int32_t k = 0; k < definitions[o].n; ++k) {
      int32_t definition = definitions[o].ops[k];
      if (after[definition] > after[o])
        after[o] = after[definition];
      usesInput[o] |= usesInput[definition];
      usesWeight[o] |= usesWeight[definition];
    }
    for (int32_t p = 0; p < rule->nOperands; ++p)
      if (rules->values[rule->operands[p].value].definition < 0)
        *(model->weight[rule->operands[p].value] ? &usesWeight[o] : &usesInput[o]) = true;
    if (rule->form == SHARD_OP_CALL)
      after[o] = ++nLayers;
  }
  for (int32_t o = n - 1; o >= 0; --o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->form == SHARD_OP_CALL || feedsLayer[o])
      for (int32_t k = 0; k < definitions[o].n; ++k)
        feedsLayer[definitions[o].ops[k]] = true;
  }
  // Prologue: work on weights and inputs together that a layer needs. Layers. Epilogue: the rest.
  bool prologue = false, epilogue = false;
  for (int32_t o = 0; o < n; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    bool main = rule->form != SHARD_OP_RETURN && rule->form != SHARD_OP_CALL;
    if (main && after[o] == 0 && usesInput[o] && usesWeight[o] && feedsLayer[o])
      prologue = true;
    if (main && nLayers > 0 && after[o] == nLayers)
      epilogue = true;
  }
  int32_t firstLayer = prologue ? 1 : 0;
  units->nUnits = nLayers + firstLayer + (epilogue ? 1 : 0);
  if (nLayers == 0)
    units->nUnits = 1;
  units->costs = SHARD_ARENA_ARRAY(arena, int64_t, units->nUnits);
  for (int32_t o = 0; o < n; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    if (rule->form == SHARD_OP_RETURN || givesNumbers(rule)) // made again in every stage
      continue;
    int32_t unit = -1;
    if (nLayers == 0)
      unit = 0;
    else if (rule->form == SHARD_OP_CALL)
      unit = firstLayer + after[o] - 1;
    else if (after[o] == 0) {
      // Work without weights, and moved weights, is repeated where it is used.
      if (usesInput[o] && usesWeight[o])
        unit = feedsLayer[o] || !epilogue ? 0 : units->nUnits - 1;
      else if (usesWeight[o] && rule->contraction)
        unit = 0;
    } else if (after[o] == nLayers)
      unit = units->nUnits - 1;
    else
      unit = firstLayer + after[o] - 1;
    units->unitOf[o] = unit;
    if (unit >= 0)
      units->costs[unit] += opCost(rules, functionCosts, rule);
  }
  return units;
}

void shardPartitionUnits(int32_t nUnits, const int64_t *costs, int32_t nStages, int32_t *outStage,
                         ShardArena *arena) {
  int64_t *sum = SHARD_ARENA_ARRAY(arena, int64_t, nUnits + 1);
  for (int32_t u = 0; u < nUnits; ++u)
    sum[u + 1] = sum[u] + costs[u];
  // best[u]: least largest cost of the first u units in so many stages; cut[k][u]: where the last
  // of k begins. As the last stage begins later, it costs less and what is before it no less: the
  // best cut is where the two meet, which moves on with u.
  int32_t width = nUnits + 1;
  int64_t *best = SHARD_ARENA_ARRAY(arena, int64_t, width);
  int64_t *next = SHARD_ARENA_ARRAY(arena, int64_t, width);
  int32_t *cut = SHARD_ARENA_ARRAY(arena, int32_t, (size_t)(nStages + 1) * (size_t)width);
  memcpy(best, sum, (size_t)width * sizeof(*best));
  for (int32_t k = 2; k <= nStages; ++k) {
    for (int32_t u = k, v = k - 1; u <= nUnits; ++u) {
      while (v < u - 1 && best[v] < sum[u] - sum[v])
        ++v;
      int64_t last = sum[u] - sum[v];
      int32_t begin = v;
      next[u] = best[v] > last ? best[v] : last;
      if (v > k - 1 && sum[u] - sum[v - 1] <= next[u]) {
        next[u] = sum[u] - sum[v - 1];
        for (begin = v - 1; begin > k - 1 && sum[begin - 1] == sum[begin];)
          --begin;
      }
      cut[k * width + u] = begin;
    }
    int64_t *swap = best;
    best = next, next = swap;
  }
  int32_t end = nUnits;
  for (int32_t k = nStages; k >= 1; --k) {
    int32_t begin = cut[k * width + end];
    for (int32_t u = begin; u < end; ++u)
      outStage[u] = k - 1;
    end = begin;
  }
}
