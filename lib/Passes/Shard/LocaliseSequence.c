//===- LocaliseSequence.c - Scans and choices across ranks ---------*- C -*-===//
// Local forms of ops that run along a split dimension (Analysis/Sequence.h). A scan runs on each
// rank from the identity; ranks tell each other their totals, and each adds those of the ranks
// before it. A choice, or a selection of k, is made on each rank and told to all, who choose again
// among what they heard, in the ranks' order: ties go to the lowest place. Where what is no number
// stops or restarts a choice (ShardChoiceNan), the sign of the place says that a rank met one.
//===----------------------------------------------------------------------===//

#include "../Analysis/Sequence.h"

#include "Localiser.h"
#include "Radix.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

/// The ranks over which an op's dimension is split.
typedef struct Ranks {
  ShardLocaliser *l;
  ShardInsert at;
  ShardSequence sequence; // of L2
  ShardAxisList axes;
  int64_t count;         // ranks
  int64_t holders;       // of them have an element: the first ones
  int64_t global, local; // extent of the dimension
  MlirValue origin;      // place of this rank's first element
  MlirValue coordinate;  // of this rank
  bool uneven;
} Ranks;

static int32_t splitFactorOf(const ShardOpPlan *plan) {
  for (int32_t f = 0; plan && f < plan->rule->nFactors; ++f)
    if ((plan->rule->factors[f].kind == SHARD_FACTOR_SCAN ||
         plan->rule->factors[f].kind == SHARD_FACTOR_SELECT) &&
        plan->factors[f].count)
      return f;
  return -1;
}

bool shardLocaliserHasSequence(const ShardLocaliser *l) { return splitFactorOf(l->plan) >= 0; }

static void readRanks(ShardLocaliser *l, Ranks *out) {
  ShardBuild *build = l->build;
  const ShardOpRule *rule = l->plan->rule;
  int32_t factor = splitFactorOf(l->plan);
  *out = (Ranks){.l = l, .axes = l->plan->factors[factor]};
  out->at = (ShardInsert){.context = build->spmd->context,
                          .location = mlirOperationGetLocation(l->source),
                          .block = build->block};
  shardSequenceRead(l->source, build->spmd->arena, &out->sequence);
  out->count = shardAxisListSize(&build->spmd->mesh, out->axes);
  int64_t size = rule->factors[factor].size, part = (size + out->count - 1) / out->count, below = 1;
  for (int32_t f = factor + 1; f < rule->nFactors; ++f)
    if (rule->factors[f].loop == out->sequence.loop)
      below *= rule->factors[f].size;
  out->global = size * below;
  out->local = part * below;
  out->holders = (size + part - 1) / part;
  out->uneven = size % out->count != 0;
  ShardPlace place = {.block = build->block, .location = out->at.location};
  out->coordinate = shardBuildCoordinate(build, place, out->axes);
  out->origin = shardBuildBinary(place, "arith.muli", out->coordinate,
                                 shardBuildIndex(build, place, out->local));
}

static MlirValue validCount(const Ranks *ranks) {
  ShardPlace place = {.block = ranks->at.block, .location = ranks->at.location};
  return shardBuildValidCount(ranks->l->build, place, ranks->origin, ranks->global, ranks->local);
}

//===----------------------------------------------------------------------===//
// Telling each other
//===----------------------------------------------------------------------===//

/// The tensor with a dimension of 1 before the others.
static MlirValue expandFront(const Ranks *ranks, MlirValue value) {
  MlirContext context = ranks->at.context;
  ShardArena *arena = ranks->l->build->spmd->arena;
  MlirType type = mlirValueGetType(value);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank + 1);
  MlirAttribute *groups = SHARD_ARENA_ARRAY(arena, MlirAttribute, rank + 1);
  shape[0] = 1;
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d + 1] = mlirShapedTypeGetDimSize(type, d);
    MlirAttribute dims[2] = {shardAttrI64(context, d), shardAttrI64(context, d + 1)};
    groups[d] =
        d == 0 ? mlirArrayAttrGet(context, 2, dims) : mlirArrayAttrGet(context, 1, dims + 1);
  }
  ShardPlace place = {.block = ranks->at.block, .location = ranks->at.location};
  return shardBuildExpand(place, value, mlirArrayAttrGet(context, rank, groups),
                          shardTensorWithShape(type, rank + 1, shape));
}

/// What the ranks that have an element hold, one after the other along `dim`.
static MlirValue gather(const Ranks *ranks, MlirValue value, intptr_t dim, const char *what) {
  ShardSpmd *spmd = ranks->l->build->spmd;
  MlirContext context = ranks->at.context;
  MlirType type = mlirValueGetType(value);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *shape = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  int64_t part = shape[dim];
  double bytes = (double)(shardTypeElementCount(type) *
                          shardTypeElementBytes(mlirShapedTypeGetElementType(type)));
  MlirStringRef name = shardOpGetName(ranks->l->source);
  int64_t site = shardSiteAdd(
      spmd, SHARD_RT_ALL_GATHER, shardArenaCopyString(spmd->arena, name.data, name.length),
      ranks->at.location, shardArenaFormat(spmd->arena, "%s wanted by the other ranks", what),
      ranks->axes, type, bytes * (double)(ranks->count - 1));
  int16_t axes[SHARD_MAX_AXES];
  for (int k = 0; k < ranks->axes.count; ++k)
    axes[k] = ranks->axes.axis[k];
  const ShardNamedAttribute attributes[] = {
      {"grid", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))},
      {"grid_axes", mlirDenseI16ArrayGet(context, ranks->axes.count, axes)},
      {"gather_axis", mlirIntegerAttrGet(mlirIndexTypeGet(context), dim)},
      {"spmd.site", shardAttrI64(context, site)}};
  shape[dim] = part * ranks->count;
  MlirValue all = shardInsertOp(&ranks->at, "shard.all_gather",
                                shardTensorWithShape(type, rank, shape), 1, &value, 4, attributes);
  if (ranks->holders == ranks->count)
    return all;
  shape[dim] = part * ranks->holders;
  int64_t *offsets = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
  int64_t *strides = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d)
    strides[d] = 1;
  int32_t segments[] = {1, 0, 0, 0};
  const ShardNamedAttribute window[] = {
      {"static_offsets", shardAttrI64Array(context, rank, offsets)},
      {"static_sizes", shardAttrI64Array(context, rank, shape)},
      {"static_strides", shardAttrI64Array(context, rank, strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 4, segments)}};
  return shardInsertOp(&ranks->at, "tensor.extract_slice", shardTensorWithShape(type, rank, shape),
                       1, &all, 4, window);
}

/// A step in the padding of this rank leaves the results as they were.
static void maskSteps(const Ranks *ranks, const bool *masked) {
  if (!ranks->uneven)
    return;
  ShardLocaliser *l = ranks->l;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(l->copy, 0));
  MlirOperation end = mlirBlockGetTerminator(body);
  ShardPlace outside = {.block = ranks->at.block, .location = ranks->at.location};
  ShardRadix radix = shardRadixOfLoop(l->build->spmd, l->plan, ranks->sequence.loop);
  shardRadixBuildOrigins(l->build, outside, &radix);
  ShardInsert inside = ranks->at;
  inside.block = body;
  inside.before = end;
  ShardPlace place = {body, end, ranks->at.location};
  MlirValue valid = shardRadixBuildValid(l->build, place, &radix,
                                         shardInsertLoopIndex(&inside, ranks->sequence.loop), -1,
                                         (MlirValue){NULL});
  intptr_t n = mlirOperationGetNumOperands(end), first = mlirBlockGetNumArguments(body) - n;
  for (intptr_t r = 0; r < n; ++r)
    if (!masked || masked[r])
      mlirOperationSetOperand(end, r,
                              shardInsertSelect(&inside, valid, mlirOperationGetOperand(end, r),
                                                mlirBlockGetArgument(body, first + r)));
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

typedef struct Combination {
  MlirOperation op; // to clone
  intptr_t carried;
  MlirValue coordinate; // combine those before it only; null: all
} Combination;

static MlirValue combine(const Combination *c, const ShardInsert *at, MlirValue earlier,
                         MlirValue later) {
  MlirOperation op = mlirOperationClone(c->op);
  mlirOperationSetOperand(op, c->carried, earlier);
  mlirOperationSetOperand(op, 1 - c->carried, later);
  mlirBlockAppendOwnedOperation(at->block, op);
  return mlirOperationGetResult(op, 0);
}

/// Loop 0 runs over the ranks.
static void buildTotal(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  const Combination *c = user;
  yielded[0] = combine(c, at, arguments[1], arguments[0]);
  if (mlirValueIsNull(c->coordinate))
    return;
  MlirValue before = shardInsertCompare(at, 6, shardInsertLoopIndex(at, 0), c->coordinate);
  yielded[0] = shardInsertSelect(at, before, yielded[0], arguments[1]);
}

static void buildShift(void *user, const ShardInsert *at, const MlirValue *arguments,
                       MlirValue *yielded) {
  yielded[0] = combine(user, at, arguments[0], arguments[1]);
}

static MlirValue buildTotals(const Ranks *ranks, Combination *c, MlirValue totals, MlirValue init) {
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(totals));
  char *iterators = SHARD_ARENA_ARRAY(ranks->l->build->spmd->arena, char, rank + 1);
  memset(iterators, 'p', (size_t)rank);
  iterators[0] = 'r';
  MlirValue operands[2] = {totals, init};
  MlirAffineMap maps[2] = {mlirAffineMapMultiDimIdentityGet(ranks->at.context, rank),
                           shardMapWithout(ranks->at.context, rank, 0)};
  return mlirOperationGetResult(
      shardInsertGeneric(&ranks->at, iterators, 1, 1, operands, maps, buildTotal, c), 0);
}

static void localiseScan(Ranks *ranks, MlirValue *values) {
  const ShardSequence *s = &ranks->sequence;
  MlirOperation copy = ranks->l->copy;
  ShardArena *arena = ranks->l->build->spmd->arena;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, 0));
  MlirOperation end = mlirBlockGetTerminator(body);
  MlirAttribute maps = shardOpGetAttribute(copy, "indexing_maps");
  intptr_t nInputs = mlirOperationGetNumOperands(copy) - 2;
  MlirValue init = mlirOperationGetOperand(copy, nInputs + s->running);
  MlirType type = mlirValueGetType(init);
  // Cloned before the mask comes between it and the yield.
  Combination c = {.op = mlirOpResultGetOwner(mlirOperationGetOperand(end, s->running)),
                   .carried = s->carried};
  mlirOperationSetOperand(
      copy, nInputs + s->running,
      shardInsertFill(&ranks->at, type,
                      shardCombinerIdentity(s->combiner, mlirShapedTypeGetElementType(type))));
  bool masked[2] = {s->running == 0, s->running == 1};
  maskSteps(ranks, masked);
  mlirBlockAppendOwnedOperation(ranks->at.block, copy);

  MlirValue totals = gather(ranks, expandFront(ranks, mlirOperationGetResult(copy, s->running)), 0,
                            "totals of a split scan");
  c.coordinate = ranks->coordinate;
  MlirValue before = buildTotals(ranks, &c, totals, init);
  MlirValue scanned = mlirOperationGetResult(copy, s->following);
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(scanned));
  MlirAffineMap following =
      mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nInputs + s->following));
  MlirAffineMap running =
      mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, nInputs + s->running));
  int64_t *dims = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  for (intptr_t k = 0; k + 1 < rank; ++k)
    for (intptr_t d = 0; d < rank; ++d)
      if (mlirAffineExprEqual(mlirAffineMapGetResult(running, k),
                              mlirAffineMapGetResult(following, d)))
        dims[k] = d;
  char *iterators = SHARD_ARENA_ARRAY(arena, char, rank + 1);
  memset(iterators, 'p', (size_t)rank);
  MlirValue operands[3] = {before, scanned,
                           shardInsertEmpty(&ranks->at, mlirValueGetType(scanned))};
  MlirAffineMap all = mlirAffineMapMultiDimIdentityGet(ranks->at.context, rank);
  MlirAffineMap shiftMaps[3] = {shardMapOfDims(ranks->at.context, rank, rank - 1, dims), all, all};
  values[s->following] = mlirOperationGetResult(
      shardInsertGeneric(&ranks->at, iterators, 2, 1, operands, shiftMaps, buildShift, &c), 0);
  values[s->running] = mlirOperationGetResult(copy, s->running);
  MlirValue source = mlirOperationGetResult(ranks->l->source, s->running);
  if (!mlirOpOperandIsNull(mlirValueGetFirstUse(source))) {
    c.coordinate = (MlirValue){NULL};
    values[s->running] = buildTotals(ranks, &c, totals, init);
  }
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

typedef struct Choice {
  ShardArena *arena;
  MlirBlock body;           // of the local op
  const MlirValue *offered; // in it
  const MlirValue *states;  // in it: what stands for the accumulators
  const MlirValue *yields;  // in it
  const bool *isPlace;
  ShardChoiceNan nan;
  int32_t value;
  intptr_t nResults;
} Choice;

static MlirValue cloneInto(const Choice *choice, const ShardInsert *at, ShardPointerMap *map,
                           MlirValue value) {
  int64_t known;
  if (shardPointerMapGet(map, value.ptr, &known))
    return shardValueMapGet(map, value);
  MlirOperation op = shardValueDefiningOp(value);
  if (mlirOperationIsNull(op) || !mlirBlockEqual(mlirOperationGetBlock(op), choice->body))
    return value;
  // Its operands first: what they become is in the map once it is cloned.
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    cloneInto(choice, at, map, mlirOperationGetOperand(op, i));
  shardOpCloneMapped(op, at->block, at->before, map);
  return shardValueMapGet(map, value);
}

/// -1 - place: of a rank that met what is no number, and back.
static MlirValue flipPlace(const ShardInsert *at, MlirValue place) {
  MlirValue ones = shardInsertScalar(at, shardAttrNumber(mlirValueGetType(place), -1));
  return shardInsertBinary(at, "arith.xori", place, ones);
}

static MlirValue isFlipped(const ShardInsert *at, MlirValue place) {
  MlirValue zero = shardInsertScalar(at, shardAttrNumber(mlirValueGetType(place), 0));
  return shardInsertCompare(at, 2, place, zero); // slt
}

static MlirValue notANumber(const ShardInsert *at, MlirType type) {
  return shardInsertScalar(at, shardAttrNumber(type, (double)NAN));
}

static void replaceOperands(MlirOperation first, const ShardPointerMap *map) {
  for (MlirOperation op = first; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
      int64_t known;
      MlirValue operand = mlirOperationGetOperand(op, i);
      if (shardPointerMapGet(map, operand.ptr, &known))
        mlirOperationSetOperand(op, i, shardValueMapGet(map, operand));
    }
}

/// In the local op a place keeps its sign from step to step, and a value that stopped what it was
/// before. `states` become what the body reads, `outKept` what it is to yield.
static void keepSigns(const Choice *choice, const ShardInsert *outer, MlirValue *states,
                      MlirValue *outKept) {
  MlirOperation first = mlirBlockGetFirstOperation(choice->body);
  ShardInsert at = *outer;
  at.block = choice->body, at.before = first;
  bool stops = choice->nan == SHARD_CHOICE_NAN_STOPS;
  intptr_t v = choice->value;
  MlirValue value = states[v], met = {NULL};
  ShardPointerMap *map = shardPointerMapCreate(choice->arena, 32);
  for (intptr_t k = 0; k < choice->nResults; ++k) {
    if (!choice->isPlace[k])
      continue;
    met = isFlipped(&at, states[k]);
    MlirValue place = shardInsertSelect(&at, met, flipPlace(&at, states[k]), states[k]);
    shardValueMapSet(map, states[k], place);
    states[k] = place;
  }
  if (stops) {
    states[v] = shardInsertSelect(&at, met, notANumber(&at, mlirValueGetType(value)), value);
    shardValueMapSet(map, value, states[v]);
  }
  replaceOperands(first, map);
  at.before = mlirBlockGetTerminator(choice->body);
  MlirValue seen = stops ? choice->yields[v] : choice->offered[v];
  MlirValue meets = shardInsertCompare(&at, 14, seen, seen); // uno
  if (!stops)
    meets = shardInsertBinary(&at, "arith.ori", meets, met);
  for (intptr_t k = 0; k < choice->nResults; ++k) {
    MlirValue next = choice->yields[k];
    outKept[k] = choice->isPlace[k] ? shardInsertSelect(&at, meets, flipPlace(&at, next), next)
                 : stops            ? shardInsertSelect(&at, meets, value, next)
                                    : next;
  }
}

/// The op's own body, with what a rank chose in the place of what a step offers.
static void buildChoice(void *user, const ShardInsert *at, const MlirValue *arguments,
                        MlirValue *yielded) {
  const Choice *choice = user;
  ShardPointerMap *map = shardPointerMapCreate(choice->arena, 32);
  MlirValue *told = SHARD_ARENA_ARRAY(choice->arena, MlirValue, choice->nResults), met = {NULL};
  for (intptr_t k = 0; k < choice->nResults; ++k) {
    told[k] = arguments[k];
    if (choice->nan != SHARD_CHOICE_NAN_PLAIN && choice->isPlace[k]) {
      met = isFlipped(at, told[k]);
      told[k] = shardInsertSelect(at, met, flipPlace(at, told[k]), told[k]);
    }
    MlirType type = mlirValueGetType(choice->states[k]);
    if (!mlirTypeEqual(mlirValueGetType(told[k]), type))
      told[k] = shardInsertIntegerCast(at, told[k], type);
    shardValueMapSet(map, choice->offered[k], told[k]);
    shardValueMapSet(map, choice->states[k], arguments[choice->nResults + k]);
  }
  for (intptr_t k = 0; k < choice->nResults; ++k) {
    yielded[k] = cloneInto(choice, at, map, choice->yields[k]);
    if (choice->nan == SHARD_CHOICE_NAN_RESTARTS)
      yielded[k] = shardInsertSelect(at, met, told[k], yielded[k]);
    else if (choice->nan == SHARD_CHOICE_NAN_STOPS && k == choice->value)
      yielded[k] =
          shardInsertSelect(at, met, notANumber(at, mlirValueGetType(yielded[k])), yielded[k]);
  }
}

static void buildNarrow(void *user, const ShardInsert *at, const MlirValue *arguments,
                        MlirValue *yielded) {
  (void)user;
  yielded[0] = shardInsertIntegerCast(at, arguments[0], mlirValueGetType(arguments[1]));
}

/// Whether the value is a fill with a number of at most 31 bits.
static bool isSmallFill(MlirValue value) {
  int64_t x;
  return shardAttrGetI64(shardSequenceFill(value), &x) && x >= INT32_MIN && x <= INT32_MAX;
}

/// Places as 32-bit integers, where they fit.
static MlirValue narrow(const Ranks *ranks, MlirValue value) {
  MlirType type = mlirValueGetType(value), element = mlirShapedTypeGetElementType(type);
  if (!mlirTypeIsAInteger(element) || mlirIntegerTypeGetWidth(element) <= 32 ||
      ranks->global > INT32_MAX)
    return value;
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *shape = SHARD_ARENA_ARRAY(ranks->l->build->spmd->arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  MlirType small = mlirRankedTensorTypeGet(rank, shape, mlirIntegerTypeGet(ranks->at.context, 32),
                                           mlirAttributeGetNull());
  char *iterators = SHARD_ARENA_ARRAY(ranks->l->build->spmd->arena, char, rank + 1);
  memset(iterators, 'p', (size_t)rank);
  MlirAffineMap all = mlirAffineMapMultiDimIdentityGet(ranks->at.context, rank);
  MlirAffineMap maps[2] = {all, all};
  MlirValue operands[2] = {value, shardInsertEmpty(&ranks->at, small)};
  return mlirOperationGetResult(
      shardInsertGeneric(&ranks->at, iterators, 1, 1, operands, maps, buildNarrow, NULL), 0);
}

static void localiseChoice(Ranks *ranks, MlirValue *values) {
  MlirOperation copy = ranks->l->copy;
  ShardArena *arena = ranks->l->build->spmd->arena;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, 0));
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t n = mlirOperationGetNumResults(copy), nInputs = mlirOperationGetNumOperands(copy) - n;
  MlirValue *offered = SHARD_ARENA_ARRAY(arena, MlirValue, n);
  MlirValue *states = SHARD_ARENA_ARRAY(arena, MlirValue, n);
  MlirValue *yields = SHARD_ARENA_ARRAY(arena, MlirValue, n);
  MlirValue *operands = SHARD_ARENA_ARRAY(arena, MlirValue, 2 * n);
  MlirAffineMap *maps = SHARD_ARENA_ARRAY(arena, MlirAffineMap, 2 * n);
  for (intptr_t k = 0; k < n; ++k) {
    offered[k] = shardSequenceOffered(copy, k);
    states[k] = mlirBlockGetArgument(body, nInputs + k);
    yields[k] = mlirOperationGetOperand(end, k);
    operands[n + k] = mlirOperationGetOperand(copy, nInputs + k);
  }
  Choice choice = {.arena = arena,
                   .body = body,
                   .offered = offered,
                   .states = states,
                   .yields = yields,
                   .isPlace = ranks->sequence.isPlace,
                   .nan = ranks->sequence.nan,
                   .value = ranks->sequence.value,
                   .nResults = n};
  if (choice.nan != SHARD_CHOICE_NAN_PLAIN) {
    MlirValue *kept = SHARD_ARENA_ARRAY(arena, MlirValue, n);
    keepSigns(&choice, &ranks->at, states, kept);
    for (intptr_t k = 0; k < n; ++k)
      mlirOperationSetOperand(end, k, kept[k]);
  }
  maskSteps(ranks, NULL);
  mlirBlockAppendOwnedOperation(ranks->at.block, copy);
  intptr_t rank = mlirShapedTypeGetRank(mlirValueGetType(operands[n]));
  for (intptr_t k = 0; k < n; ++k) {
    MlirValue mine = mlirOperationGetResult(copy, k);
    if (ranks->sequence.isPlace[k] &&
        isSmallFill(mlirOperationGetOperand(ranks->l->source, nInputs + k)))
      mine = narrow(ranks, mine);
    operands[k] = gather(ranks, expandFront(ranks, mine), 0, "choices along a split dimension");
    maps[k] = mlirAffineMapMultiDimIdentityGet(ranks->at.context, rank + 1);
    maps[n + k] = shardMapWithout(ranks->at.context, rank + 1, 0);
  }
  char *iterators = SHARD_ARENA_ARRAY(arena, char, rank + 2);
  memset(iterators, 'p', (size_t)rank + 1);
  iterators[0] = 'r';
  MlirOperation chosen =
      shardInsertGeneric(&ranks->at, iterators, n, n, operands, maps, buildChoice, &choice);
  for (intptr_t k = 0; k < n; ++k)
    values[k] = mlirOperationGetResult(chosen, k);
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

static void localiseSelection(Ranks *ranks, MlirValue *values) {
  MlirOperation copy = ranks->l->copy;
  ShardArena *arena = ranks->l->build->spmd->arena;
  ShardSelection s = ranks->sequence.selection; // in terms of L2
  intptr_t n = s.nTensors;
  MlirValue *tensors = SHARD_ARENA_ARRAY(arena, MlirValue, n);
  for (intptr_t i = 0; i < n; ++i)
    tensors[i] = mlirOperationGetOperand(copy, i);
  ShardSelection mine = s;
  mine.tensors = tensors;
  mine.user = &ranks->sequence.order;
  mine.count = s.count < ranks->local ? s.count : ranks->local;
  if (mlirValueIsNull(s.positions)) {
    mine.origin = ranks->origin;
    if (ranks->global <= INT32_MAX && mlirIntegerTypeGetWidth(s.positionType) > 32)
      mine.positionType = mlirIntegerTypeGet(ranks->at.context, 32);
  } else {
    mine.positions = mlirOperationGetOperand(copy, n);
  }
  if (ranks->uneven)
    mine.valid = validCount(ranks);
  MlirOperation local = shardInsertSelection(&ranks->at, &mine);
  MlirValue *told = SHARD_ARENA_ARRAY(arena, MlirValue, n + 1);
  for (intptr_t i = 0; i <= n; ++i)
    told[i] = gather(ranks, mlirOperationGetResult(local, i), s.dim,
                     "selections along a split dimension");
  ShardSelection all = s;
  all.tensors = told;
  all.positions = told[n];
  all.user = &ranks->sequence.order;
  MlirOperation merged = shardInsertSelection(&ranks->at, &all);
  for (intptr_t r = 0; r < mlirOperationGetNumResults(merged); ++r)
    values[r] = mlirOperationGetResult(merged, r);
  mlirOperationDestroy(copy);
}

void shardLocaliseSequence(ShardLocaliser *l, MlirValue *values) {
  Ranks ranks;
  readRanks(l, &ranks);
  if (ranks.sequence.kind == SHARD_SEQUENCE_SCAN)
    localiseScan(&ranks, values);
  else if (ranks.sequence.kind == SHARD_SEQUENCE_CHOICE)
    localiseChoice(&ranks, values);
  else
    localiseSelection(&ranks, values);
}
