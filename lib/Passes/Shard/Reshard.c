//===- Reshard.c - From one placement of a value to another -------*- C -*-===//
// Emits the steps of a plan of the reshard engine (shard/Reshard.h). A step on a piece that is not
// the major part of its dimension sees the tensor expanded, so that the piece heads a dimension of
// its own.
//===----------------------------------------------------------------------===//

#include "Causes.h"
#include "Moves.h"
#include "Spmd.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

// What one more message of every rank may save in bytes to be worth it: less than the start of a
// message takes on any link, so that bytes decide where there are many.
enum { MESSAGE_BYTES = 512, MAX_PIECES = SHARD_RESHARD_MAX_PIECES };

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static bool describePlacement(const ShardValueInfo *info, const ShardSharding *sharding,
                              ShardReshardPlacement *out) {
  *out = (ShardReshardPlacement){0};
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    const ShardAxisList *axes = &sharding->atoms[i];
    if (axes->span == SHARD_SPAN_INSIDE) {
      out->pieces[out->nPieces - 1].size *= info->atoms[i].size;
      continue;
    }
    if (out->nPieces == MAX_PIECES)
      return false;
    ShardReshardPiece *piece = &out->pieces[out->nPieces++];
    *piece = (ShardReshardPiece){
        .dim = info->atoms[i].dim, .nAxes = axes->count, .size = info->atoms[i].size};
    memcpy(piece->axes, axes->axis, axes->count);
  }
  memcpy(out->partial, sharding->partial, sizeof(out->partial));
  return true;
}

// The cheapest way, yours to destroy; null with a reason when there is none.
static ShardReshardPlan *findPlan(const ShardSpmd *spmd, int32_t value, const ShardSharding *from,
                                  const ShardSharding *to, const char **outMessage) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  ShardReshardMesh mesh = {.nAxes = spmd->mesh.nAxes};
  memcpy(mesh.sizes, spmd->mesh.sizes, sizeof(mesh.sizes));
  int32_t pp = shardMeshFindAxis(&spmd->mesh, "pp");
  if (pp >= 0)
    mesh.sizes[pp] = 1; // other stages run other programs
  MlirType element = mlirShapedTypeGetElementType(info->type);
  ShardReshardPlacement ends[2];
  ShardReshardPlan *plan = NULL;
  // A collective that sends some padding too is worth less than the rounds that avoid it.
  static const ShardReshardOptions options = {.messageBytes = MESSAGE_BYTES,
                                              .bytePercent[SHARD_RESHARD_EXCHANGE] = 105};
  *outMessage = "a value has too many dimensions";
  if (describePlacement(info, from, &ends[0]) && describePlacement(info, to, &ends[1]))
    shardReshardPlanCreate(&mesh, shardTypeElementBytes(element), &ends[0], &ends[1], &options,
                           &plan, outMessage);
  return plan;
}

ShardReshardCost shardReshardFindCost(const ShardSpmd *spmd, int32_t value,
                                      const ShardSharding *from, const ShardSharding *to) {
  const char *message;
  if (shardShardingEqual(from, to))
    return (ShardReshardCost){0, 0};
  ShardReshardPlan *plan = findPlan(spmd, value, from, to, &message);
  if (!plan)
    return (ShardReshardCost){INT64_MAX, INT32_MAX};
  ShardReshardCost cost = {plan->sentBytes, plan->nMessages};
  shardReshardPlanDestroy(plan);
  return cost;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

// A local tensor seen with marked pieces at the head of a dimension of their own.
typedef struct PieceView {
  MlirType type;
  MlirAttribute reassociation; // null: the tensor as it is
  intptr_t rank;
  int64_t shape[2 * MAX_PIECES];
  intptr_t dims[MAX_PIECES]; // of the marked pieces
} PieceView;

static int64_t chunkOf(const ShardReshardPlan *plan, int32_t state, int32_t piece) {
  return plan->states[state].pieces[piece].chunk;
}

static int64_t deviceCount(const ShardReshardPlan *plan) {
  int64_t count = 1;
  for (int32_t a = 0; a < plan->mesh.nAxes; ++a)
    count *= plan->mesh.sizes[a];
  return count;
}

// The local tensor's type in a state of the plan.
static MlirType localType(MlirType type, const ShardReshardPlan *plan, int32_t state) {
  int64_t shape[MAX_PIECES];
  intptr_t rank = mlirShapedTypeGetRank(type);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = 1;
  for (int32_t p = 0; p < plan->nPieces; ++p)
    shape[plan->states[state].pieces[p].dim] *= chunkOf(plan, state, p);
  return shardTensorWithShape(type, rank, shape);
}

static PieceView viewPieces(const ShardSpmd *spmd, MlirType type, const ShardReshardPlan *plan,
                            int32_t state, const bool *marked) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  PieceView view = {.rank = 0};
  MlirAttribute groups[MAX_PIECES];
  int32_t p = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t begin = view.rank;
    view.shape[view.rank++] = 1;
    int64_t before = 1; // local extent of the pieces so far in the open view dimension
    bool headMarked = false;
    for (; p < plan->nPieces && plan->states[state].pieces[p].dim == d; ++p) {
      if (marked[p]) {
        if (before != 1 || headMarked) {
          view.shape[view.rank++] = 1;
          before = 1;
        }
        view.dims[p] = view.rank - 1;
        headMarked = true;
      }
      view.shape[view.rank - 1] *= chunkOf(plan, state, p);
      before *= chunkOf(plan, state, p);
    }
    MlirAttribute indices[MAX_PIECES];
    intptr_t n = 0;
    for (intptr_t k = begin; k < view.rank; ++k)
      indices[n++] = shardAttrI64(spmd->context, k);
    groups[d] = mlirArrayAttrGet(spmd->context, n, indices);
  }
  view.type = shardTensorWithShape(type, view.rank, view.shape);
  view.reassociation =
      view.rank == rank ? mlirAttributeGetNull() : mlirArrayAttrGet(spmd->context, rank, groups);
  return view;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

typedef struct StepBuild {
  ShardBuild *build;
  ShardPlace place;
  const ShardReshardPlan *plan;
  const ShardReshardStep *step;
  int32_t index;
  ShardAxisList axes;
  int64_t devices, site;
  PieceView before, after;
} StepBuild;

static MlirValue createCollective(const StepBuild *s, const char *name, MlirValue operand,
                                  MlirType type, const char *axisName, intptr_t axis,
                                  const char *otherName, intptr_t other) {
  MlirContext context = s->build->spmd->context;
  MlirType index = mlirIndexTypeGet(context);
  int16_t axes[SHARD_MAX_AXES];
  for (int k = 0; k < s->axes.count; ++k)
    axes[k] = s->axes.axis[k];
  ShardNamedAttribute attributes[6];
  intptr_t n = 0;
  attributes[n++] = (ShardNamedAttribute){
      "grid", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))};
  attributes[n++] =
      (ShardNamedAttribute){"grid_axes", mlirDenseI16ArrayGet(context, s->axes.count, axes)};
  if (axisName)
    attributes[n++] = (ShardNamedAttribute){axisName, mlirIntegerAttrGet(index, axis)};
  if (otherName)
    attributes[n++] = (ShardNamedAttribute){otherName, mlirIntegerAttrGet(index, other)};
  if (s->step->combiner) {
    static const char *const kinds[] = {"",        "sum",         "max",       "min",
                                        "product", "bitwise_and", "bitwise_or"};
    const char *text =
        shardArenaFormat(s->build->spmd->arena, "#shard<partial %s>", kinds[s->step->combiner]);
    attributes[n++] = (ShardNamedAttribute){
        "reduction", mlirAttributeParseGet(context, mlirStringRefCreateFromCString(text))};
  }
  attributes[n++] = (ShardNamedAttribute){"spmd.site", shardAttrI64(context, s->site)};
  return mlirOperationGetResult(shardOpCreate(s->place.block, s->place.before, s->place.location,
                                              name, 1, &type, 1, &operand, n, attributes, 0, NULL),
                                0);
}

static MlirType withDim(MlirType type, intptr_t dim, int64_t size) {
  int64_t shape[2 * MAX_PIECES];
  intptr_t rank = mlirShapedTypeGetRank(type);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = d == dim ? size : mlirShapedTypeGetDimSize(type, d);
  return shardTensorWithShape(type, rank, shape);
}

// A dimension long enough for full chunks on all ranks of the step.
static MlirValue fillChunks(const StepBuild *s, MlirValue operand, int32_t piece) {
  intptr_t dim = s->after.dims[piece];
  return shardBuildResize(s->build, s->place, operand, s->before.dims[piece],
                          s->after.shape[dim] * s->devices);
}

static MlirValue emitSlice(const StepBuild *s, MlirValue operand) {
  intptr_t dim = s->before.dims[s->step->to];
  operand = fillChunks(s, operand, s->step->to);
  ShardRankNumber offsets[2 * MAX_PIECES] = {{0}};
  MlirValue offset = shardBuildCoordinate(s->build, s->place, s->axes);
  int64_t size = s->after.shape[dim];
  if (size != 1)
    offset =
        shardBuildBinary(s->place, "arith.muli", offset, shardBuildIndex(s->build, s->place, size));
  offsets[dim].value = offset;
  return shardBuildExtract(s->build, s->place, operand, offsets, s->after.shape);
}

static MlirValue emitAllGather(const StepBuild *s, MlirValue operand) {
  intptr_t dim = s->before.dims[s->step->from];
  MlirType type = withDim(s->before.type, dim, s->before.shape[dim] * s->devices);
  MlirValue whole =
      createCollective(s, "shard.all_gather", operand, type, "gather_axis", dim, NULL, 0);
  return shardBuildResize(s->build, s->place, whole, dim, s->after.shape[dim]);
}

static MlirValue emitReduceScatter(const StepBuild *s, MlirValue operand) {
  operand = fillChunks(s, operand, s->step->to);
  return createCollective(s, "shard.reduce_scatter", operand, s->after.type, "scatter_axis",
                          s->before.dims[s->step->to], NULL, 0);
}

static MlirValue emitAllToAll(const StepBuild *s, MlirValue operand) {
  intptr_t from = s->before.dims[s->step->from];
  operand = fillChunks(s, operand, s->step->to);
  MlirType type = withDim(s->after.type, from, s->before.shape[from] * s->devices);
  MlirValue moved = createCollective(s, "shard.all_to_all", operand, type, "split_axis",
                                     s->before.dims[s->step->to], "concat_axis", from);
  return shardBuildResize(s->build, s->place, moved, from, s->after.shape[from]);
}

// The axes that cut a piece in a state of the plan.
static ShardAxisList axesOf(const ShardReshardPlan *plan, int32_t state, int32_t piece) {
  const ShardReshardPiece *cut = &plan->states[state].pieces[piece];
  ShardAxisList axes = {.count = (uint8_t)cut->nAxes};
  memcpy(axes.axis, cut->axes, (size_t)cut->nAxes);
  return axes;
}

// Rows of an order turned round: the packed place of each step.
static const int64_t *inverseOrder(ShardArena *arena, int64_t rows, int64_t extent,
                                   const int64_t *order) {
  int64_t *inverse = SHARD_ARENA_ARRAY(arena, int64_t, rows *extent);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < extent; ++i)
      inverse[r * extent + order[r * extent + i]] = i;
  return inverse;
}

// The operand of an exchange packed, or its result unpacked: one op a piece that has an order.
static MlirValue packPieces(const StepBuild *s, const ShardReshardExchange *exchange, bool unpacks,
                            MlirValue value) {
  for (int32_t p = 0; p < exchange->nPieces; ++p) {
    const int64_t *order = unpacks ? exchange->toOrder[p] : exchange->fromOrder[p];
    if (!order)
      continue;
    ShardAxisList axes = axesOf(s->plan, s->index + unpacks, p);
    if (unpacks)
      order = inverseOrder(s->build->spmd->arena, shardAxisListSize(&s->build->spmd->mesh, axes),
                           exchange->resultShape[p], order);
    intptr_t dim = (unpacks ? &s->after : &s->before)->dims[p];
    value = shardBuildReorder(s->build, s->place, value, dim, axes, order);
  }
  return value;
}

static MlirValue emitExchange(const StepBuild *s, MlirValue operand) {
  ShardSpmd *spmd = s->build->spmd;
  ShardReshardExchange *exchange = shardReshardExchangeCreate(s->plan, s->index);
  // Dimensions of the view that are no piece have one step.
  ShardReshardMove *moves = SHARD_ARENA_ARRAY(spmd->arena, ShardReshardMove, exchange->nMoves);
  intptr_t rank = s->before.rank;
  for (int64_t i = 0; i < exchange->nMoves; ++i) {
    const ShardReshardMove *move = &exchange->moves[i];
    int64_t *numbers = SHARD_ARENA_ARRAY(spmd->arena, int64_t, 3 * rank);
    for (intptr_t d = 0; d < rank; ++d)
      numbers[d] = 1;
    for (int32_t p = 0; p < exchange->nPieces; ++p) {
      intptr_t d = s->before.dims[p];
      numbers[d] = move->shape[p];
      numbers[rank + d] = move->fromOffset[p];
      numbers[2 * rank + d] = move->toOffset[p];
    }
    moves[i] = *move;
    moves[i].shape = numbers;
    moves[i].fromOffset = numbers + rank;
    moves[i].toOffset = numbers + 2 * rank;
  }
  ShardMoves all = {.axes = s->axes,
                    .nRanks = exchange->nRanks,
                    .nDims = (int32_t)rank,
                    .nRounds = exchange->nRounds,
                    .nMoves = exchange->nMoves,
                    .moves = moves};
  MlirValue dest = shardBuildEmpty(s->place, s->after.type);
  operand = packPieces(s, exchange, false, operand);
  MlirValue moved = shardBuildMoves(s->build, s->place, &all, operand, dest, s->site);
  moved = packPieces(s, exchange, true, moved);
  shardReshardExchangeDestroy(exchange);
  return moved;
}

// The identity of a combiner, a scalar. That of a float sum is -0: -0 + 0 would be 0.
static MlirValue createIdentity(ShardPlace place, MlirType element, ShardCombiner combiner) {
  bool isFloat = mlirTypeIsAFloat(element);
  unsigned width = isFloat ? 64 : mlirIntegerTypeGetWidth(element);
  double lowest = isFloat ? -INFINITY : width == 1 ? 0 : -ldexp(1, (int)width - 1);
  switch (combiner) {
  case SHARD_COMBINER_MAX:
    return shardBuildNumber(place, element, lowest);
  case SHARD_COMBINER_MIN: {
    if (isFloat)
      return shardBuildNumber(place, element, INFINITY);
    int64_t most = width == 1 ? 1 : (int64_t)((UINT64_C(1) << (width - 1)) - 1);
    ShardNamedAttribute value = {"value", mlirIntegerAttrGet(element, most)};
    return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                                "arith.constant", 1, &element, 0, NULL, 1, &value,
                                                0, NULL),
                                  0);
  }
  case SHARD_COMBINER_AND:
    return shardBuildNumber(place, element, -1);
  default:
    return shardBuildNumber(place, element, combiner == SHARD_COMBINER_PRODUCT ? 1 : -0.0);
  }
}

MlirValue shardBuildEnterOnce(ShardBuild *build, ShardPlace place, MlirValue source,
                              ShardAxisList axes, ShardCombiner combiner) {
  // Every rank may hold it: x max x = x.
  if (combiner != SHARD_COMBINER_SUM && combiner != SHARD_COMBINER_PRODUCT)
    return source;
  MlirValue first = shardBuildCompareUlt(place, shardBuildCoordinate(build, place, axes),
                                         shardBuildIndex(build, place, 1));
  MlirValue identity =
      createIdentity(place, mlirShapedTypeGetElementType(mlirValueGetType(source)), combiner);
  MlirOperation chosen = shardBuildElementwise(build, place, source);
  ShardPlace body = {.block = mlirRegionGetFirstBlock(mlirOperationGetRegion(chosen, 0)),
                     .location = place.location};
  shardBuildYield(chosen,
                  shardBuildSelect(body, first, mlirBlockGetArgument(body.block, 0), identity));
  return mlirOperationGetResult(chosen, 0);
}

// Pieces that are cut over axes of the step lie in their place among identities; over the other
// axes the value enters once.
static MlirValue emitEnter(const StepBuild *s, MlirValue operand) {
  const ShardReshardPlacement *before = &s->plan->states[s->index],
                              *after = &s->plan->states[s->index + 1];
  ShardRankNumber offsets[2 * MAX_PIECES] = {{0}};
  int64_t room[2 * MAX_PIECES];
  memcpy(room, s->before.shape, sizeof(room));
  uint32_t once = 0;
  bool any = false;
  for (int k = 0; k < s->axes.count; ++k)
    once |= UINT32_C(1) << s->axes.axis[k];
  for (int32_t p = 0; p < s->plan->nPieces; ++p) {
    const ShardReshardPiece *piece = &before->pieces[p];
    ShardAxisList more = {0};
    for (int32_t k = after->pieces[p].nAxes; k < piece->nAxes; ++k) {
      more.axis[more.count++] = piece->axes[k];
      once &= ~(UINT32_C(1) << piece->axes[k]);
    }
    if (!more.count)
      continue;
    any = true;
    intptr_t dim = s->before.dims[p];
    room[dim] *= shardAxisListSize(&s->build->spmd->mesh, more);
    offsets[dim].value =
        shardBuildBinary(s->place, "arith.muli", shardBuildCoordinate(s->build, s->place, more),
                         shardBuildIndex(s->build, s->place, s->before.shape[dim]));
  }
  if (any) {
    MlirType element = mlirShapedTypeGetElementType(s->before.type);
    MlirValue filled = shardBuildFill(
        s->place, createIdentity(s->place, element, (ShardCombiner)s->step->combiner),
        shardBuildEmpty(s->place, shardTensorWithShape(s->before.type, s->before.rank, room)));
    operand = shardBuildInsert(s->build, s->place, operand, filled, offsets);
    for (intptr_t d = 0; d < s->before.rank; ++d)
      operand = shardBuildResize(s->build, s->place, operand, d, s->after.shape[d]);
  }
  ShardAxisList rest = {0};
  for (int k = 0; k < s->axes.count; ++k)
    if (once >> s->axes.axis[k] & 1)
      rest.axis[rest.count++] = s->axes.axis[k];
  return rest.count ? shardBuildEnterOnce(s->build, s->place, operand, rest,
                                          (ShardCombiner)s->step->combiner)
                    : operand;
}

// Notes on the op of a moved value which value of L1 it holds.
static MlirValue keepOrigin(const ShardSpmd *spmd, int32_t value, MlirValue moved) {
  shardOpSetAttribute(mlirOpResultGetOwner(moved), "spmd.origin",
                      shardAttrString(spmd->context, shardSpmdOriginText(spmd, value)));
  return moved;
}

//===----------------------------------------------------------------------===//
// Plans to ops
//===----------------------------------------------------------------------===//

// Pieces that must head a dimension of their own.
static void markPieces(const ShardReshardPlan *plan, int32_t index, bool *marked) {
  const ShardReshardStep *step = &plan->steps[index];
  const ShardReshardPiece *before = plan->states[index].pieces;
  const ShardReshardPiece *after = plan->states[index + 1].pieces;
  for (int32_t p = 0; p < plan->nPieces; ++p)
    marked[p] = step->kind == SHARD_RESHARD_EXCHANGE || p == step->from || p == step->to ||
                (step->kind == SHARD_RESHARD_ENTER && before[p].nAxes != after[p].nAxes);
}

static MlirValue emitStep(ShardBuild *build, int32_t value, MlirValue source,
                          const ShardReshardPlan *plan, int32_t index, ShardPlace place,
                          MlirOperation consumer) {
  ShardSpmd *spmd = build->spmd;
  MlirType global = spmd->rules->values[value].type;
  const ShardReshardStep *step = &plan->steps[index];
  StepBuild s = {
      .build = build, .place = place, .plan = plan, .step = step, .index = index, .site = -1};
  s.axes.count = (uint8_t)step->nAxes;
  memcpy(s.axes.axis, step->axes, (size_t)step->nAxes);
  s.devices = shardAxisListSize(&spmd->mesh, s.axes);
  if (step->sentBytes) {
    ShardCause cause = shardCauseOf(spmd, plan, index, value, consumer);
    s.place.location = mlirOperationGetLocation(cause.op);
    MlirStringRef name = shardOpGetName(cause.op);
    s.site =
        shardSiteAdd(spmd, cause.kind, shardArenaCopyString(spmd->arena, name.data, name.length),
                     s.place.location, cause.text, s.axes, mlirValueGetType(source),
                     (double)step->sentBytes / (double)deviceCount(plan));
  }
  if (step->kind == SHARD_RESHARD_ALL_REDUCE)
    return keepOrigin(spmd, value,
                      createCollective(&s, "shard.all_reduce", source, mlirValueGetType(source),
                                       NULL, 0, NULL, 0));
  bool marked[MAX_PIECES];
  markPieces(plan, index, marked);
  s.before = viewPieces(spmd, global, plan, index, marked);
  s.after = viewPieces(spmd, global, plan, index + 1, marked);
  MlirValue operand = source;
  if (!mlirAttributeIsNull(s.before.reassociation))
    operand = shardBuildExpand(s.place, source, s.before.reassociation, s.before.type);
  MlirValue moved;
  switch (step->kind) {
  case SHARD_RESHARD_SLICE:
    moved = emitSlice(&s, operand);
    break;
  case SHARD_RESHARD_ENTER:
    moved = emitEnter(&s, operand);
    break;
  case SHARD_RESHARD_ALL_GATHER:
    moved = emitAllGather(&s, operand);
    break;
  case SHARD_RESHARD_REDUCE_SCATTER:
    moved = emitReduceScatter(&s, operand);
    break;
  case SHARD_RESHARD_EXCHANGE:
    moved = emitExchange(&s, operand);
    break;
  default:
    moved = emitAllToAll(&s, operand);
    break;
  }
  if (step->kind != SHARD_RESHARD_ENTER)
    keepOrigin(spmd, value, moved);
  if (mlirAttributeIsNull(s.after.reassociation))
    return moved;
  return shardBuildCollapse(s.place, moved, s.after.reassociation,
                            localType(global, plan, index + 1));
}

// A placement on the way on the value's own atoms; null if they cannot say it.
static ShardSharding *stateOnAtoms(const ShardSpmd *spmd, int32_t value,
                                   const ShardReshardPlan *plan, int32_t state) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  ShardSharding *out = shardShardingCreate(spmd->arena, info->nAtoms);
  memcpy(out->partial, plan->states[state].partial, sizeof(out->partial));
  int32_t at = 0;
  for (int32_t p = 0; p < plan->nPieces; ++p) {
    const ShardReshardPiece *piece = &plan->states[state].pieces[p];
    int32_t begin = at;
    int64_t covered = 1, n = 1;
    while (at < info->nAtoms && info->atoms[at].dim == piece->dim && covered < piece->size)
      covered *= info->atoms[at++].size;
    for (int32_t k = 0; k < piece->nAxes; ++k)
      n *= spmd->mesh.sizes[piece->axes[k]];
    if (covered != piece->size || plan->mixedForm[state * plan->nPieces + p] ||
        piece->chunk != (piece->size + n - 1) / n || (piece->size == 1 && piece->nAxes) ||
        !shardShardingSplitDimension(&spmd->mesh, begin, at, info->atoms, piece->nAxes, piece->axes,
                                     out))
      return NULL;
  }
  return at == info->nAtoms ? out : NULL;
}

MlirValue shardReshard(ShardBuild *build, int32_t value, MlirValue source,
                       const ShardSharding *from, const ShardSharding *to, ShardPlace place,
                       MlirOperation consumer) {
  ShardSpmd *spmd = build->spmd;
  const char *message;
  ShardReshardPlan *plan = findPlan(spmd, value, from, to, &message);
  if (!plan) {
    shardEmitError(consumer, "a value cannot be brought to where it is wanted: %s", message);
    return (MlirValue){NULL};
  }
  const ShardMove *outer = spmd->move, move = {value, from, to, consumer};
  spmd->move = &move;
  for (int32_t k = 0; k < plan->nSteps; ++k) {
    source = emitStep(build, value, source, plan, k, place, consumer);
    const ShardSharding *state =
        k + 1 == plan->nSteps ? to : stateOnAtoms(spmd, value, plan, k + 1);
    if (state)
      shardBuildAddVersion(build, value, state, source);
  }
  spmd->move = outer;
  shardReshardPlanDestroy(plan);
  return source;
}
