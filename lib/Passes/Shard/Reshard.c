//===- Reshard.c - From one placement of a value to another -------*- C -*-===//
// Emits the steps of a route (Route.h). A step on an atom that is not the major part of its
// dimension sees the tensor expanded, so that the atom heads a dimension of its own.
//===----------------------------------------------------------------------===//

#include "Route.h"
#include "Spmd.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <string.h>

static int64_t deviceCount(const ShardMesh *mesh, ShardAxisList axes) {
  int64_t count = 1;
  for (int k = 0; k < axes.count; ++k)
    count *= mesh->sizes[axes.axis[k]];
  return count;
}

static ShardRoute *findRoute(const ShardSpmd *spmd, int32_t value, const ShardSharding *from,
                             const ShardSharding *to, ShardArena *arena) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  return shardRouteFind(&spmd->mesh, info->nAtoms, info->atoms, info->bytes, from, to, arena);
}

ShardReshardCost shardReshardFindCost(const ShardSpmd *spmd, int32_t value,
                                      const ShardSharding *from, const ShardSharding *to) {
  ShardArena *scratch = shardArenaCreate();
  const ShardRoute *route = findRoute(spmd, value, from, to, scratch);
  ShardReshardCost cost = {route->cost, route->nCollectives};
  shardArenaDestroy(scratch);
  return cost;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

// A local tensor seen with marked atoms at the head of a dimension of their own.
typedef struct AtomView {
  MlirType type;
  MlirAttribute reassociation; // null: the tensor as it is
  intptr_t rank;
  int64_t *shape;
  intptr_t dims[2]; // of the marked atoms
} AtomView;

static AtomView viewAtoms(ShardSpmd *spmd, MlirType type, const ShardRoute *route,
                          const ShardSharding *now, int nMarked, const int32_t *marked) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  AtomView view = {.dims = {-1, -1}};
  view.shape = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank + route->nAtoms);
  MlirAttribute *groups = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, rank);
  int32_t atom = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    intptr_t begin = view.rank;
    view.shape[view.rank++] = 1;
    int64_t before = 1; // local extent of the atoms so far in the open view dimension
    bool headMarked = false;
    for (; atom < route->nAtoms && route->atoms[atom].dim == d; ++atom) {
      int which = -1;
      for (int m = 0; m < nMarked; ++m)
        if (marked[m] == atom)
          which = m;
      if (which >= 0) {
        if (before != 1 || headMarked) {
          view.shape[view.rank++] = 1;
          before = 1;
        }
        view.dims[which] = view.rank - 1;
        headMarked = true;
      }
      int64_t size = shardShardingLocalAtomSize(&spmd->mesh, &route->atoms[atom], now->atoms[atom]);
      view.shape[view.rank - 1] *= size;
      before *= size;
    }
    MlirAttribute indices[16];
    intptr_t n = 0;
    assert(view.rank - begin <= 16);
    for (intptr_t k = begin; k < view.rank; ++k)
      indices[n++] = shardAttrI64(spmd->context, k);
    groups[d] = mlirArrayAttrGet(spmd->context, n, indices);
  }
  view.type = shardTensorWithShape(type, view.rank, view.shape);
  view.reassociation =
      view.rank == rank ? mlirAttributeGetNull() : mlirArrayAttrGet(spmd->context, rank, groups);
  return view;
}

static MlirValue createCollective(ShardBuild *build, ShardPlace place, const char *name,
                                  const ShardStep *step, MlirValue operand, MlirType type,
                                  const char *axisName, intptr_t axis, const char *otherName,
                                  intptr_t other, int64_t site) {
  MlirContext context = build->spmd->context;
  MlirType index = mlirIndexTypeGet(context);
  int16_t axes[SHARD_MAX_AXES];
  for (int k = 0; k < step->axes.count; ++k)
    axes[k] = step->axes.axis[k];
  ShardNamedAttribute attributes[6];
  intptr_t n = 0;
  attributes[n++] = (ShardNamedAttribute){
      "grid", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))};
  attributes[n++] =
      (ShardNamedAttribute){"grid_axes", mlirDenseI16ArrayGet(context, step->axes.count, axes)};
  if (axisName)
    attributes[n++] = (ShardNamedAttribute){axisName, mlirIntegerAttrGet(index, axis)};
  if (otherName)
    attributes[n++] = (ShardNamedAttribute){otherName, mlirIntegerAttrGet(index, other)};
  if (step->combiner) {
    static const char *const kinds[] = {"",        "sum",         "max",       "min",
                                        "product", "bitwise_and", "bitwise_or"};
    const char *text =
        shardArenaFormat(build->spmd->arena, "#shard<partial %s>", kinds[step->combiner]);
    attributes[n++] = (ShardNamedAttribute){
        "reduction", mlirAttributeParseGet(context, mlirStringRefCreateFromCString(text))};
  }
  attributes[n++] = (ShardNamedAttribute){"spmd.site", shardAttrI64(context, site)};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location, name, 1,
                                              &type, 1, &operand, n, attributes, 0, NULL),
                                0);
}

static MlirValue createSlice(ShardBuild *build, ShardPlace place, const AtomView *view,
                             const ShardAxisList axes, MlirValue operand) {
  MlirContext context = build->spmd->context;
  intptr_t rank = view->rank, dim = view->dims[0];
  int64_t *offsets = SHARD_ARENA_ARRAY(build->spmd->arena, int64_t, rank);
  int64_t *sizes = SHARD_ARENA_ARRAY(build->spmd->arena, int64_t, rank);
  int64_t *strides = SHARD_ARENA_ARRAY(build->spmd->arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d) {
    sizes[d] = view->shape[d];
    strides[d] = 1;
  }
  sizes[dim] /= deviceCount(&build->spmd->mesh, axes);
  offsets[dim] = mlirShapedTypeGetDynamicStrideOrOffset();
  MlirValue offset = shardBuildCoordinate(build, place, axes);
  if (sizes[dim] != 1)
    offset =
        shardBuildBinary(place, "arith.muli", offset, shardBuildIndex(build, place, sizes[dim]));
  MlirType type = shardTensorWithShape(view->type, rank, sizes);
  int32_t segments[] = {1, 1, 0, 0};
  const ShardNamedAttribute attributes[] = {
      {"static_offsets", shardAttrI64Array(context, rank, offsets)},
      {"static_sizes", shardAttrI64Array(context, rank, sizes)},
      {"static_strides", shardAttrI64Array(context, rank, strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 4, segments)},
  };
  MlirValue operands[] = {operand, offset};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "tensor.extract_slice", 1, &type, 2, operands, 4,
                                              attributes, 0, NULL),
                                0);
}

MlirValue shardBuildEnterOnce(ShardBuild *build, ShardPlace place, MlirValue source,
                              ShardAxisList axes, ShardCombiner combiner) {
  // Every rank may hold it: x max x = x.
  if (combiner != SHARD_COMBINER_SUM && combiner != SHARD_COMBINER_PRODUCT)
    return source;
  MlirValue first = shardBuildCompareUlt(place, shardBuildCoordinate(build, place, axes),
                                         shardBuildIndex(build, place, 1));
  MlirValue identity =
      shardBuildNumber(place, mlirShapedTypeGetElementType(mlirValueGetType(source)),
                       combiner == SHARD_COMBINER_PRODUCT ? 1 : 0);
  MlirOperation chosen = shardBuildElementwise(build, place, source);
  ShardPlace body = {.block = mlirRegionGetFirstBlock(mlirOperationGetRegion(chosen, 0)),
                     .location = place.location};
  shardBuildYield(chosen,
                  shardBuildSelect(body, first, mlirBlockGetArgument(body.block, 0), identity));
  return mlirOperationGetResult(chosen, 0);
}

// What makes a value, seen through reshapes.
static int32_t sourceOf(const ShardSpmd *spmd, int32_t value) {
  const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
  while (definition && definition->form == SHARD_OP_RESHAPE) {
    value = definition->operands[0].value;
    definition = shardSpmdDefinition(spmd, value);
  }
  return value;
}

// The op that first makes a sum over `axis` what it is: others only pass it on.
static int32_t partialSourceOf(const ShardSpmd *spmd, int32_t value, uint8_t axis) {
  for (;;) {
    const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
    int32_t from = -1;
    for (int32_t i = 0; definition && from < 0 && i < definition->nOperands; ++i)
      if (spmd->own[definition->operands[i].value]->partial[axis])
        from = definition->operands[i].value;
    if (from < 0)
      return value;
    value = from;
  }
}

// What uses a value, seen through reshapes that have one user.
static MlirOperation sinkOf(MlirOperation consumer) {
  while (shardOpIs(consumer, "tensor.expand_shape") ||
         shardOpIs(consumer, "tensor.collapse_shape")) {
    MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(consumer, 0));
    if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)))
      break;
    consumer = mlirOpOperandGetOwner(use);
  }
  return consumer;
}

// An op in words. A linalg.generic is called by what it does, a call by its callee.
static const char *opText(const ShardSpmd *spmd, MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  const char *at = "";
  if (shardOpIs(op, "func.call")) {
    name = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee"));
    at = "@";
  }
  int64_t rule;
  if (shardOpIs(op, "linalg.generic") && shardPointerMapGet(spmd->ruleOf, op.ptr, &rule)) {
    const ShardOpRule *known = (const ShardOpRule *)(intptr_t)rule;
    bool gathers = false, reduces = false;
    for (int32_t f = 0; f < known->nFactors; ++f) {
      gathers |= known->factors[f].kind == SHARD_FACTOR_GATHER;
      reduces |= known->factors[f].kind == SHARD_FACTOR_REDUCTION;
    }
    return known->contraction ? "contraction"
           : gathers          ? "table lookup"
           : reduces          ? "reduction"
                              : "elementwise op";
  }
  return shardArenaFormat(spmd->arena, "%s%.*s", at, (int)name.length, name.data);
}

const char *shardSpmdProducerText(const ShardSpmd *spmd, int32_t value) {
  value = sourceOf(spmd, value);
  const ShardValueInfo *info = &spmd->rules->values[value];
  const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
  if (!definition) {
    MlirAttribute name = shardFuncGetArgumentAttribute(spmd->rules->functions[info->function].func,
                                                       info->number, "spmd.name");
    MlirStringRef text = mlirAttributeIsNull(name) || !mlirAttributeIsAString(name)
                             ? mlirStringRefCreate("", 0)
                             : mlirStringAttrGetValue(name);
    if (text.length)
      return shardArenaFormat(spmd->arena, "argument %d '%.*s'", info->number, (int)text.length,
                              text.data);
    return shardArenaFormat(spmd->arena, "argument %d", info->number);
  }
  return opText(spmd, definition->op);
}

static const char *consumerText(const ShardSpmd *spmd, MlirOperation consumer) {
  consumer = sinkOf(consumer);
  return shardOpIs(consumer, "func.return") ? "the function's result" : opText(spmd, consumer);
}

static double sentBytes(const ShardMesh *mesh, const ShardStep *step, MlirType local) {
  int64_t bytes =
      shardTypeElementCount(local) * shardTypeElementBytes(mlirShapedTypeGetElementType(local));
  return (double)shardStepCost(mesh, step, bytes) / (double)shardMeshDeviceCount(mesh);
}

// Notes on the op of a moved value which value of L1 it holds.
static MlirValue keepOrigin(const ShardSpmd *spmd, int32_t value, MlirValue moved) {
  shardOpSetAttribute(mlirOpResultGetOwner(moved), "spmd.origin",
                      shardAttrString(spmd->context, shardSpmdOriginText(spmd, value)));
  return moved;
}

static MlirValue emitStep(ShardBuild *build, int32_t value, MlirValue source,
                          const ShardRoute *route, int32_t index, ShardPlace place,
                          MlirOperation consumer) {
  ShardSpmd *spmd = build->spmd;
  MlirType global = spmd->rules->values[value].type;
  const ShardStep *step = &route->steps[index];
  const ShardSharding *now = route->states[index], *after = route->states[index + 1];
  if (step->kind == SHARD_STEP_ENTER_ONCE)
    return shardBuildEnterOnce(build, place, source, step->axes, step->combiner);

  int64_t site = -1;
  if (step->kind != SHARD_STEP_SLICE) {
    bool sums = step->kind == SHARD_STEP_ALL_REDUCE || step->kind == SHARD_STEP_REDUCE_SCATTER;
    int32_t maker = sums ? partialSourceOf(spmd, value, step->axes.axis[0]) : value;
    const char *producer = shardSpmdProducerText(spmd, maker);
    const char *user = consumerText(spmd, consumer);
    const char *kind = NULL, *cause = NULL;
    switch (step->kind) {
    case SHARD_STEP_ALL_REDUCE:
      kind = "all-reduce";
      cause = shardArenaFormat(spmd->arena, "partial %s of %s wanted whole by %s",
                               shardCombinerName(step->combiner), producer, user);
      break;
    case SHARD_STEP_REDUCE_SCATTER:
      kind = "reduce-scatter";
      cause = shardArenaFormat(spmd->arena, "partial %s of %s wanted split by %s",
                               shardCombinerName(step->combiner), producer, user);
      break;
    case SHARD_STEP_ALL_GATHER:
      kind = "all-gather";
      cause = shardArenaFormat(spmd->arena, "split %s wanted whole by %s", producer, user);
      break;
    default:
      kind = "all-to-all";
      cause =
          shardArenaFormat(spmd->arena, "split %s wanted split otherwise by %s", producer, user);
      break;
    }
    // A sum belongs to the op that makes it, a gather to the one that asks for it.
    const ShardOpRule *definition = shardSpmdDefinition(spmd, sourceOf(spmd, maker));
    bool own = sums || shardOpIs(sinkOf(consumer), "func.return");
    MlirOperation op = own && definition ? definition->op : sinkOf(consumer);
    place.location = mlirOperationGetLocation(op);
    MlirStringRef name = shardOpGetName(op);
    site = shardSiteAdd(spmd, kind, shardArenaCopyString(spmd->arena, name.data, name.length),
                        place.location, cause, step->axes, mlirValueGetType(source),
                        sentBytes(&spmd->mesh, step, mlirValueGetType(source)));
  }
  if (step->kind == SHARD_STEP_ALL_REDUCE)
    return keepOrigin(spmd, value,
                      createCollective(build, place, "shard.all_reduce", step, source,
                                       mlirValueGetType(source), NULL, 0, NULL, 0, site));

  int32_t marked[2] = {step->kind == SHARD_STEP_ALL_GATHER ? step->from : step->to, step->from};
  int nMarked = step->kind == SHARD_STEP_ALL_TO_ALL ? 2 : 1;
  AtomView view = viewAtoms(spmd, global, route, now, nMarked, marked);
  AtomView result = viewAtoms(spmd, global, route, after, nMarked, marked);
  MlirValue operand = source;
  if (!mlirAttributeIsNull(view.reassociation))
    operand = shardBuildExpand(place, source, view.reassociation, view.type);
  MlirValue moved;
  switch (step->kind) {
  case SHARD_STEP_SLICE:
    moved = createSlice(build, place, &view, step->axes, operand);
    break;
  case SHARD_STEP_ALL_GATHER:
    moved = createCollective(build, place, "shard.all_gather", step, operand, result.type,
                             "gather_axis", view.dims[0], NULL, 0, site);
    break;
  case SHARD_STEP_REDUCE_SCATTER:
    moved = createCollective(build, place, "shard.reduce_scatter", step, operand, result.type,
                             "scatter_axis", view.dims[0], NULL, 0, site);
    break;
  default:
    moved = createCollective(build, place, "shard.all_to_all", step, operand, result.type,
                             "split_axis", view.dims[0], "concat_axis", view.dims[1], site);
    break;
  }
  keepOrigin(spmd, value, moved);
  if (mlirAttributeIsNull(view.reassociation))
    return moved;
  MlirType local = shardShardingLocalType(&spmd->mesh, global, route->nAtoms, route->atoms, after);
  return shardBuildCollapse(place, moved, view.reassociation, local);
}

MlirValue shardReshard(ShardBuild *build, int32_t value, MlirValue source,
                       const ShardSharding *from, const ShardSharding *to, ShardPlace place,
                       MlirOperation consumer) {
  ShardSpmd *spmd = build->spmd;
  const ShardValueInfo *info = &spmd->rules->values[value];
  const ShardRoute *route = findRoute(spmd, value, from, to, spmd->arena);
  for (int32_t k = 0; k < route->nSteps; ++k) {
    source = emitStep(build, value, source, route, k, place, consumer);
    shardBuildAddVersion(
        build, value,
        shardRouteStateOnAtoms(&spmd->mesh, route, k + 1, info->nAtoms, info->atoms, spmd->arena),
        source);
  }
  return source;
}
