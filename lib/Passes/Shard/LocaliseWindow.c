//===- LocaliseWindow.c - Slices, pads and concats of split dimensions -===//
// Along a dimension that is split where the op cuts it, each rank receives the steps of the result
// that other ranks hold (a row of a halo, half a shard of a concat), and no more.
//===----------------------------------------------------------------------===//

#include "Localiser.h"
#include "Moves.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

enum { MAX_DIMS = 32 };

const ShardFactor *shardLocaliserFindWindow(const ShardLocaliser *l, intptr_t d,
                                            ShardAxisList *outAxes) {
  const ShardOpRule *rule = l->plan->rule;
  const ShardPort *port = &rule->operands[0];
  const ShardValueInfo *info = &l->build->spmd->rules->values[port->value];
  for (int32_t a = 0; a < info->nAtoms; ++a) {
    int32_t f = port->factors ? port->factors[a] : -1;
    if (info->atoms[a].dim != d || f < 0 || rule->factors[f].kind != SHARD_FACTOR_WINDOW ||
        l->plan->factors[f].count == 0)
      continue;
    *outAxes = l->plan->factors[f];
    return &rule->factors[f];
  }
  return NULL;
}

bool shardLocaliserHasWindow(const ShardLocaliser *l) {
  ShardAxisList axes;
  if (!l->plan || l->plan->rule->form != SHARD_OP_SLICE || l->plan->rule->nResults != 1)
    return false;
  MlirType type = l->build->spmd->rules->values[l->plan->rule->results[0].value].type;
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); ++d)
    if (shardLocaliserFindWindow(l, d, &axes))
      return true;
  return false;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

typedef struct MoveList {
  ShardReshardMove *moves;
  size_t count, capacity;
} MoveList;

// The steps of the window that rank `s` holds and rank `r` wants.
static void addMove(ShardArena *arena, MoveList *list, const ShardWindow *window, int64_t n,
                    int64_t s, int64_t r, intptr_t rank, intptr_t d, const int64_t *shape) {
  int64_t from = (window->fromSize + n - 1) / n;
  int64_t to = window->toAll ? window->toSize : (window->toSize + n - 1) / n;
  int64_t first = window->toAll ? 0 : r * to;
  int64_t shift = window->to - window->from; // from the operand's steps to the result's
  int64_t begin = larger(larger(first, window->to), s * from + shift);
  int64_t end = smaller(smaller(first + to, window->to + window->length),
                        smaller((s + 1) * from, window->fromSize) + shift);
  if (begin >= end)
    return;
  int64_t *numbers = SHARD_ARENA_ARRAY(arena, int64_t, 3 * rank);
  for (intptr_t k = 0; k < rank; ++k)
    numbers[k] = shape[k];
  numbers[d] = end - begin;
  numbers[rank + d] = begin - shift - s * from;
  numbers[2 * rank + d] = begin - first;
  list->moves = shardArenaGrow(arena, list->moves, list->count, &list->capacity, list->count + 1,
                               sizeof(ShardReshardMove));
  list->moves[list->count++] = (ShardReshardMove){.sender = s,
                                                  .receiver = r,
                                                  .shape = numbers,
                                                  .fromOffset = numbers + rank,
                                                  .toOffset = numbers + 2 * rank};
}

static int64_t addSite(ShardLocaliser *l, ShardPlace place, int32_t operand, ShardAxisList axes,
                       MlirType type, const MoveList *list, int64_t nRanks) {
  ShardSpmd *spmd = l->build->spmd;
  int64_t elements = 0;
  for (size_t i = 0; i < list->count; ++i) {
    int64_t box = 1;
    for (intptr_t k = 0; k < mlirShapedTypeGetRank(type); ++k)
      box *= list->moves[i].shape[k];
    elements += list->moves[i].sender == list->moves[i].receiver ? 0 : box;
  }
  if (!elements)
    return -1;
  MlirStringRef name = shardOpGetName(l->source);
  const char *op = shardArenaCopyString(spmd->arena, name.data, name.length);
  int32_t value = l->plan->rule->operands[operand].value;
  const char *cause =
      shardArenaFormat(spmd->arena, "split %s moved along its split dimension by %s",
                       shardSpmdProducerText(spmd, value), op);
  double bytes = (double)(elements * shardTypeElementBytes(mlirShapedTypeGetElementType(type)));
  return shardSiteAdd(spmd, SHARD_RT_PERMUTE, op, place.location, cause, axes, type,
                      bytes / (double)nRanks);
}

// Brings the window of operand `operand`, of which `source` is the local part, into `dest`.
static MlirValue moveWindow(ShardLocaliser *l, ShardPlace place, int32_t operand, intptr_t d,
                            const ShardWindow *window, ShardAxisList axes, MlirValue source,
                            MlirValue dest) {
  ShardSpmd *spmd = l->build->spmd;
  MlirType type = mlirValueGetType(source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t shape[MAX_DIMS], n = shardAxisListSize(&spmd->mesh, axes);
  for (intptr_t k = 0; k < rank; ++k)
    shape[k] = mlirShapedTypeGetDimSize(type, k);
  MoveList list = {0};
  for (int64_t r = 0; r < n; ++r)
    for (int64_t s = 0; s < n; ++s)
      addMove(spmd->arena, &list, window, n, s, r, rank, d, shape);
  ShardMoves moves = {.axes = axes, .nRanks = n, .nDims = (int32_t)rank};
  shardReshardSchedule(n, (int32_t)rank, (int64_t)list.count, list.moves, &moves.nRounds);
  moves.nMoves = (int64_t)list.count;
  moves.moves = list.moves;
  int64_t site = addSite(l, place, operand, axes, type, &list, n);
  return shardBuildMoves(l->build, place, &moves, source, dest, site);
}

// The value that a pad fills in, a scalar of the local function.
static MlirValue padValue(const ShardLocaliser *l) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(l->copy, 0));
  return mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
}

static MlirValue createDest(ShardLocaliser *l, ShardPlace place, MlirType like, intptr_t d,
                            int64_t size) {
  int64_t shape[MAX_DIMS];
  intptr_t rank = mlirShapedTypeGetRank(like);
  for (intptr_t k = 0; k < rank; ++k)
    shape[k] = k == d ? size : mlirShapedTypeGetDimSize(like, k);
  MlirType type = shardTensorWithShape(like, rank, shape);
  MlirValue empty = shardBuildEmpty(place, type);
  return shardOpIs(l->source, "tensor.pad") ? shardBuildFill(place, padValue(l), empty) : empty;
}

MlirValue shardLocaliseWindows(ShardLocaliser *l) {
  ShardSpmd *spmd = l->build->spmd;
  const ShardOpRule *rule = l->plan->rule;
  ShardPlace place = {.block = l->build->block, .location = mlirOperationGetLocation(l->source)};
  bool joins = shardOpIs(l->source, "tensor.concat");
  MlirValue value = mlirOperationGetOperand(l->copy, 0);
  if (!joins) { // what it does along other dimensions first
    mlirBlockAppendOwnedOperation(l->build->block, l->copy);
    value = mlirOperationGetResult(l->copy, 0);
  }
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(value));
  for (intptr_t d = 0; d < rank; ++d) {
    ShardAxisList axes;
    const ShardFactor *factor = shardLocaliserFindWindow(l, d, &axes);
    if (!factor)
      continue;
    int64_t n = shardAxisListSize(&spmd->mesh, axes);
    int64_t size = factor->windows[0].toSize;
    size = factor->windows[0].toAll ? size : (size + n - 1) / n;
    MlirValue dest = createDest(l, place, mlirValueGetType(value), d, size);
    for (int32_t i = 0; i < rule->nOperands; ++i)
      dest = moveWindow(l, place, i, d, &factor->windows[i], axes,
                        joins ? mlirOperationGetOperand(l->copy, i) : value, dest);
    value = dest;
  }
  if (joins)
    mlirOperationDestroy(l->copy);
  return value;
}
