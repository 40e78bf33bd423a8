//===- Fold.c - Equal calls in a row, as one that counts for many -*- C -*-===//
// See Fold.h. A run has blocks of `period` calls, so that layers of alternating kinds fold too. Of
// its blocks the first two stay as they are, the third stands for all up to the last but one, and
// the last stays: what follows the run uses its results. Whether the state between blocks does
// repeat only the search can tell (ShardAxisSolution.settled).
//===----------------------------------------------------------------------===//

#include "Fold.h"

#include <string.h>

enum { MAX_PERIOD = 8, KEPT_BEFORE = 2, MIN_BLOCKS = 6 };

typedef struct Folder {
  const ShardRules *rules;
  const ShardFunctionInfo *info;
  ShardFold *fold;
  int32_t *nUses, *lastUse;  // [values of the function]
  int32_t *counts, *periods; // [nOps] of the calls that stand for others
} Folder;

static void countUses(Folder *f) {
  for (int32_t o = 0; o < f->info->nOps; ++o)
    for (int32_t p = 0; p < f->info->ops[o].nOperands; ++p) {
      int32_t v = f->info->ops[o].operands[p].value - f->fold->firstValue;
      ++f->nUses[v], f->lastUse[v] = o;
    }
}

/// Arguments that only these two calls use, with the same dimensions.
static bool areAlike(const Folder *f, int32_t a, int32_t b) {
  const ShardValueInfo *x = &f->rules->values[a], *y = &f->rules->values[b];
  if (f->nUses[a - f->fold->firstValue] != 1 || f->nUses[b - f->fold->firstValue] != 1 ||
      x->bytes != y->bytes || x->nAtoms != y->nAtoms)
    return false;
  for (int32_t i = 0; i < x->nAtoms; ++i)
    if (x->atoms[i].dim != y->atoms[i].dim || x->atoms[i].klass != y->atoms[i].klass ||
        x->atoms[i].size != y->atoms[i].size)
      return false;
  return true;
}

/// Whether an op is the call `period` ops before it, on operands that are the same, lie `period`
/// ops further on as well, or are arguments of its own.
static bool follows(const Folder *f, int32_t op, int32_t period) {
  const ShardOpRule *ops = f->info->ops, *now = &ops[op], *before = &ops[op - period];
  if (now->form != SHARD_OP_CALL || before->form != SHARD_OP_CALL ||
      now->callee != before->callee || now->nOperands != before->nOperands || now->nFactors)
    return false;
  for (int32_t p = 0; p < now->nOperands; ++p) {
    int32_t a = now->operands[p].value, b = before->operands[p].value;
    if (a == b)
      continue;
    const ShardValueInfo *x = &f->rules->values[a], *y = &f->rules->values[b];
    if (x->definition < 0 || y->definition < 0) {
      if (x->definition != y->definition || !areAlike(f, a, b))
        return false;
    } else if (x->definition - y->definition != period || x->number != y->number ||
               op - x->definition > period || ops[x->definition].form != SHARD_OP_CALL ||
               ops[x->definition].callee != ops[y->definition].callee) {
      return false;
    }
  }
  return true;
}

/// Marks what is left out of the run of `nBlocks` blocks from `begin` on; sets `*outEnd`. False if
/// it is too short.
static bool foldRun(Folder *f, int32_t begin, int32_t period, int32_t nBlocks, int32_t *outEnd) {
  const ShardFunctionInfo *info = f->info;
  int32_t kept = begin + KEPT_BEFORE * period;
  // Until the last block, nothing but the run uses what it hands on.
  for (int32_t o = kept; o < begin + (nBlocks - 1) * period; ++o)
    for (int32_t r = 0; r < info->ops[o].nResults; ++r) {
      int32_t v = info->ops[o].results[r].value - f->fold->firstValue;
      if (f->nUses[v] && f->lastUse[v] > o + period)
        nBlocks = (o - begin) / period + 1;
    }
  int32_t end = *outEnd = begin + nBlocks * period;
  if (nBlocks < MIN_BLOCKS)
    return false;
  for (int32_t o = kept; o < kept + period; ++o)
    f->counts[o] = nBlocks - KEPT_BEFORE - 1, f->periods[o] = period;
  for (int32_t o = kept + period; o < end - period; ++o) {
    int32_t stays = kept + (o - kept) % period;
    f->fold->opOf[o] = stays;
    for (int32_t r = 0; r < info->ops[o].nResults; ++r)
      f->fold->valueOf[info->ops[o].results[r].value - f->fold->firstValue] =
          info->ops[stays].results[r].value - f->fold->firstValue;
    for (int32_t p = 0; p < info->ops[o].nOperands; ++p) {
      const ShardValueInfo *value = &f->rules->values[info->ops[o].operands[p].value];
      int32_t other = info->ops[stays].operands[p].value - f->fold->firstValue;
      if (value->definition >= 0 || info->ops[o].operands[p].value == other + f->fold->firstValue)
        continue;
      f->fold->valueOf[info->ops[o].operands[p].value - f->fold->firstValue] = other;
      f->fold->argumentOf[value->number] = f->rules->values[other + f->fold->firstValue].number;
    }
  }
  return true;
}

/// Finds the runs. At first everything stands for itself.
static bool findRuns(Folder *f) {
  const ShardFunctionInfo *info = f->info;
  bool any = false;
  for (int32_t o = 1; o < info->nOps;) {
    int32_t next = o + 1;
    for (int32_t period = 1; period <= MAX_PERIOD && period <= o && next == o + 1; ++period) {
      int32_t n = 0;
      while (o + n < info->nOps && follows(f, o + n, period))
        ++n;
      if (n / period + 1 >= MIN_BLOCKS)
        any |= foldRun(f, o - period, period, n / period + 1, &next);
    }
    o = next;
  }
  return any;
}

/// The ports of an op that stays, on the new numbers of values.
static ShardPort *movePorts(const Folder *f, const int32_t *numbers, const ShardPort *ports,
                            int32_t n, ShardArena *arena) {
  ShardPort *moved = SHARD_ARENA_ARRAY(arena, ShardPort, n ? n : 1);
  memcpy(moved, ports, (size_t)n * sizeof(*moved));
  for (int32_t p = 0; p < n; ++p)
    moved[p].value =
        f->fold->firstValue + numbers[f->fold->valueOf[ports[p].value - f->fold->firstValue]];
  return moved;
}

/// Numbers what stays anew, `of` telling for each what stands for it; returns how many stay.
static int32_t renumber(int32_t *of, int32_t n, int32_t *numbers) {
  int32_t left = 0;
  for (int32_t i = 0; i < n; ++i)
    if (of[i] == i)
      numbers[i] = left++;
  return left;
}

/// Writes the function without what is left out.
static void writeFolded(Folder *f, ShardArena *arena) {
  ShardFold *fold = f->fold;
  const ShardFunctionInfo *info = f->info;
  int32_t *numbers = SHARD_ARENA_ARRAY(arena, int32_t, fold->nValues + 1);
  int32_t *opNumbers = SHARD_ARENA_ARRAY(arena, int32_t, info->nOps);
  int32_t *argumentNumbers = SHARD_ARENA_ARRAY(arena, int32_t, info->nArguments + 1);
  int32_t nValues = renumber(fold->valueOf, fold->nValues, numbers);
  ShardFunctionInfo *out = &fold->rules->functions[fold->function];
  out->nOps = renumber(fold->opOf, info->nOps, opNumbers);
  out->nArguments = renumber(fold->argumentOf, info->nArguments, argumentNumbers);
  int32_t *arguments = SHARD_ARENA_ARRAY(arena, int32_t, out->nArguments + 1);
  for (int32_t a = 0; a < info->nArguments; ++a)
    if (fold->argumentOf[a] == a)
      arguments[argumentNumbers[a]] =
          info->arguments[a] < 0
              ? -1
              : fold->firstValue + numbers[info->arguments[a] - fold->firstValue];
  out->arguments = arguments;
  out->ops = SHARD_ARENA_ARRAY(arena, ShardOpRule, out->nOps);
  for (int32_t o = 0; o < info->nOps; ++o) {
    if (fold->opOf[o] != o)
      continue;
    ShardOpRule *rule = &out->ops[opNumbers[o]];
    *rule = info->ops[o];
    rule->operands = movePorts(f, numbers, rule->operands, rule->nOperands, arena);
    rule->results = movePorts(f, numbers, rule->results, rule->nResults, arena);
    if (f->counts[o] > 1)
      rule->count = f->counts[o], rule->period = f->periods[o];
  }
  ShardRules *rules = fold->rules;
  rules->nValues = fold->firstValue + nValues;
  rules->values = SHARD_ARENA_ARRAY(arena, ShardValueInfo, rules->nValues + 1);
  memcpy(rules->values, f->rules->values, (size_t)fold->firstValue * sizeof(ShardValueInfo));
  for (int32_t v = 0; v < fold->nValues; ++v) {
    if (fold->valueOf[v] != v)
      continue;
    ShardValueInfo *value = &rules->values[fold->firstValue + numbers[v]];
    *value = f->rules->values[fold->firstValue + v];
    if (value->definition < 0)
      value->number = argumentNumbers[value->number];
    else
      value->definition = opNumbers[value->definition];
  }
  for (int32_t v = 0; v < fold->nValues; ++v)
    if (fold->valueOf[v] != v)
      ++rules->values[fold->firstValue + numbers[fold->valueOf[v]]].count;
  for (int32_t v = 0; v < fold->nValues; ++v)
    fold->valueOf[v] = numbers[fold->valueOf[v]];
  for (int32_t o = 0; o < info->nOps; ++o)
    fold->opOf[o] = opNumbers[fold->opOf[o]];
  for (int32_t a = 0; a < info->nArguments; ++a)
    fold->argumentOf[a] = argumentNumbers[fold->argumentOf[a]];
}

static int32_t *makeIdentity(ShardArena *arena, int32_t n) {
  int32_t *identity = SHARD_ARENA_ARRAY(arena, int32_t, n + 1);
  for (int32_t i = 0; i < n; ++i)
    identity[i] = i;
  return identity;
}

ShardFold *shardFoldCreate(const ShardRules *rules, int32_t function, ShardArena *arena) {
  const ShardFunctionInfo *info = &rules->functions[function];
  if (function != rules->nFunctions - 1)
    return NULL; // values of later functions would change their numbers
  int32_t first = rules->nValues;
  while (first > 0 && rules->values[first - 1].function == function)
    --first;
  ShardFold *fold = SHARD_ARENA_NEW(arena, ShardFold);
  *fold = (ShardFold){.function = function,
                      .firstValue = first,
                      .nOps = info->nOps,
                      .nValues = rules->nValues - first,
                      .nArguments = info->nArguments};
  fold->opOf = makeIdentity(arena, fold->nOps);
  fold->valueOf = makeIdentity(arena, fold->nValues);
  fold->argumentOf = makeIdentity(arena, fold->nArguments);
  Folder f = {.rules = rules,
              .info = info,
              .fold = fold,
              .nUses = SHARD_ARENA_ARRAY(arena, int32_t, fold->nValues + 1),
              .lastUse = SHARD_ARENA_ARRAY(arena, int32_t, fold->nValues + 1),
              .counts = SHARD_ARENA_ARRAY(arena, int32_t, fold->nOps + 1),
              .periods = SHARD_ARENA_ARRAY(arena, int32_t, fold->nOps + 1)};
  countUses(&f);
  if (!findRuns(&f))
    return NULL;
  fold->rules = SHARD_ARENA_NEW(arena, ShardRules);
  *fold->rules = *rules;
  fold->rules->valueIndex = NULL;
  fold->rules->functions = SHARD_ARENA_ARRAY(arena, ShardFunctionInfo, rules->nFunctions);
  memcpy(fold->rules->functions, rules->functions,
         (size_t)rules->nFunctions * sizeof(ShardFunctionInfo));
  writeFolded(&f, arena);
  return fold;
}
