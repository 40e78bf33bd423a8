//===- LocaliseRoll.c - Operands read in turned order --------------*- C -*-===//
// An operand read at (d + shift) mod extent along a split dimension is turned among the ranks
// first: each sends what another needs, once. The op then reads it as it lies.
//===----------------------------------------------------------------------===//

#include "../Analysis/Roll.h"

#include "Localiser.h"
#include "Moves.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

/// Elements [toBegin, toBegin + length) of a receiver's part come from a sender's part.
typedef struct Run {
  int64_t sender, receiver, fromBegin, toBegin, length;
} Run;

typedef struct Runs {
  ShardArena *arena;
  Run *items;
  size_t count, capacity;
} Runs;

/// Parts are `chunk` steps of an extent; the last ones may be shorter, or empty.
static void listRuns(Runs *runs, int64_t nRanks, int64_t chunk, const ShardRoll *roll) {
  for (int64_t receiver = 0; receiver < nRanks; ++receiver) {
    int64_t at = receiver * chunk, end = at + chunk < roll->extent ? at + chunk : roll->extent;
    while (at < end) {
      int64_t source = (at + roll->shift) % roll->extent, sender = source / chunk;
      int64_t held = (sender + 1) * chunk < roll->extent ? (sender + 1) * chunk : roll->extent;
      int64_t length = held - source < end - at ? held - source : end - at;
      runs->items = shardArenaGrow(runs->arena, runs->items, runs->count, &runs->capacity,
                                   runs->count + 1, sizeof(Run));
      runs->items[runs->count++] =
          (Run){sender, receiver, source - sender * chunk, at - receiver * chunk, length};
      at += length;
    }
  }
}

/// Rounds: of one length, in which each rank sends and receives at most once. Runs go to the first
/// round that has room.
static int32_t assignRounds(const Runs *runs, int64_t nRanks, int32_t *rounds) {
  int32_t nRounds = 0;
  int64_t *lengths = SHARD_ARENA_ARRAY(runs->arena, int64_t, runs->count + 1);
  uint8_t *busy = SHARD_ARENA_ARRAY(runs->arena, uint8_t, runs->count *(size_t)nRanks * 2 + 1);
  for (size_t i = 0; i < runs->count; ++i) {
    const Run *run = &runs->items[i];
    int32_t r = 0;
    for (; r < nRounds; ++r)
      if (lengths[r] == run->length && !busy[(r * nRanks + run->sender) * 2] &&
          !busy[(r * nRanks + run->receiver) * 2 + 1])
        break;
    if (r == nRounds)
      lengths[nRounds++] = run->length;
    busy[(r * nRanks + run->sender) * 2] = busy[(r * nRanks + run->receiver) * 2 + 1] = 1;
    rounds[i] = r;
  }
  return nRounds;
}

static MlirValue buildRoll(ShardLocaliser *l, MlirValue operand, intptr_t dim,
                           const ShardAxisList *axes, const ShardRoll *roll) {
  ShardBuild *build = l->build;
  ShardSpmd *spmd = build->spmd;
  ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(l->source)};
  MlirType type = mlirValueGetType(operand);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t chunk = mlirShapedTypeGetDimSize(type, dim);
  int64_t nRanks = shardAxisListSize(&spmd->mesh, *axes), stepBytes = 1, nSent = 0;
  Runs runs = {.arena = spmd->arena};
  listRuns(&runs, nRanks, chunk, roll);
  int32_t *rounds = SHARD_ARENA_ARRAY(spmd->arena, int32_t, runs.count);
  ShardMoves moves = {.axes = *axes,
                      .nRanks = nRanks,
                      .nDims = (int32_t)rank,
                      .nRounds = assignRounds(&runs, nRanks, rounds),
                      .nMoves = (int64_t)runs.count};
  ShardReshardMove *items = SHARD_ARENA_ARRAY(spmd->arena, ShardReshardMove, runs.count);
  size_t n = 0;
  for (int32_t r = 0; r < moves.nRounds; ++r)
    for (size_t i = 0; i < runs.count; ++i) {
      if (rounds[i] != r)
        continue;
      const Run *run = &runs.items[i];
      int64_t *numbers = SHARD_ARENA_ARRAY(spmd->arena, int64_t, 3 * rank);
      for (intptr_t d = 0; d < rank; ++d)
        numbers[d] = mlirShapedTypeGetDimSize(type, d);
      numbers[dim] = run->length;
      numbers[rank + dim] = run->fromBegin;
      numbers[2 * rank + dim] = run->toBegin;
      items[n++] = (ShardReshardMove){.sender = run->sender,
                                      .receiver = run->receiver,
                                      .round = r,
                                      .shape = numbers,
                                      .fromOffset = numbers + rank,
                                      .toOffset = numbers + 2 * rank};
      nSent += run->sender != run->receiver ? run->length : 0;
    }
  moves.moves = items;
  stepBytes = shardTypeElementCount(type) / chunk *
              shardTypeElementBytes(mlirShapedTypeGetElementType(type));
  MlirStringRef name = shardOpGetName(l->source);
  int64_t site = shardSiteAdd(
      spmd, SHARD_RT_PERMUTE, shardArenaCopyString(spmd->arena, name.data, name.length),
      place.location, "operand read in turned order along a split dimension", *axes, type,
      (double)(nSent * stepBytes) / (double)nRanks);
  return shardBuildMoves(build, place, &moves, operand, shardBuildEmpty(place, type), site);
}

/// The axes over which a port's dimension is split, on its major atom; null if it is not.
static const ShardAxisList *splitOf(const ShardLocaliser *l, int32_t port, intptr_t dim) {
  const ShardValueInfo *info = &l->build->spmd->rules->values[l->plan->rule->operands[port].value];
  for (int32_t a = 0; a < info->nAtoms; ++a)
    if (info->atoms[a].dim == dim && l->plan->operands[port]->atoms[a].count)
      return &l->plan->operands[port]->atoms[a];
  return NULL;
}

void shardLocaliseRolls(ShardLocaliser *l) {
  MlirAttribute maps = shardOpGetAttribute(l->copy, "indexing_maps");
  if (mlirAttributeIsNull(maps) || !shardOpIs(l->copy, "linalg.generic"))
    return;
  ShardSpmd *spmd = l->build->spmd;
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  MlirAttribute *local = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, nMaps);
  bool changed = false;
  for (intptr_t m = 0; m < nMaps; ++m) {
    local[m] = mlirArrayAttrGetElement(maps, m);
    MlirAffineMap map = mlirAffineMapAttrGetValue(local[m]);
    int32_t port = shardLocaliserFindPort(l->plan, l->source, m, false);
    intptr_t n = mlirAffineMapGetNumResults(map);
    MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(spmd->arena, MlirAffineExpr, n ? n : 1);
    bool turned = false;
    for (intptr_t d = 0; d < n; ++d) {
      ShardRoll roll;
      exprs[d] = mlirAffineMapGetResult(map, d);
      const ShardAxisList *axes =
          port >= 0 && shardRollRead(exprs[d], &roll) ? splitOf(l, port, d) : NULL;
      if (!axes)
        continue;
      mlirOperationSetOperand(l->copy, m,
                              buildRoll(l, mlirOperationGetOperand(l->copy, m), d, axes, &roll));
      exprs[d] = mlirAffineDimExprGet(spmd->context, roll.loop);
      turned = true;
    }
    if (turned)
      local[m] = mlirAffineMapAttrGet(
          mlirAffineMapGet(spmd->context, mlirAffineMapGetNumDims(map), 0, n, exprs));
    changed |= turned;
  }
  if (changed)
    shardOpSetAttribute(l->copy, "indexing_maps", mlirArrayAttrGet(spmd->context, nMaps, local));
}
