//===- Sites.c - The table of collectives -------------------------*- C -*-===//

#include "../Core/Collectives.h"
#include "../Core/Diagnostics.h"
#include "../Core/Numbers.h"
#include "Spmd.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

static MlirAttribute axisNames(ShardSpmd *spmd, ShardAxisList axes) {
  int64_t size = 1;
  for (int i = 0; i < axes.count; ++i)
    size *= spmd->mesh.sizes[axes.axis[i]];
  MlirType type =
      mlirRankedTensorTypeGet(1, &size, mlirF32TypeGet(spmd->context), mlirAttributeGetNull());
  ShardAtom atom = {.size = size};
  ShardSharding sharding = {.nAtoms = 1, .atoms = &axes};
  MlirAttribute entries, view, partial;
  shardShardingToAttributes(&spmd->mesh, spmd->context, type, 1, &atom, &sharding, &entries, &view,
                            &partial);
  return mlirArrayAttrGetElement(entries, 0);
}

int64_t shardSiteAdd(ShardSpmd *spmd, ShardRtKind kind, const char *opName, MlirLocation location,
                     const char *cause, ShardAxisList axes, MlirType type, double bytes) {
  spmd->sites = shardArenaGrow(spmd->arena, spmd->sites, spmd->nSites, &spmd->capacitySites,
                               spmd->nSites + 1, sizeof(ShardSite));
  ShardSite *site = &spmd->sites[spmd->nSites];
  site->number = (int64_t)spmd->nSites++;
  site->kind = kind;
  site->opName = opName;
  site->location = location;
  site->op =
      shardArenaFormat(spmd->arena, "%s at %s", opName, shardLocationText(location, spmd->arena));
  site->cause = cause;
  site->axes = axisNames(spmd, axes);
  site->type = type;
  site->bytes = bytes;
  int64_t number = site->number;
  if (spmd->move)
    shardSiteDescribeMove(spmd, site, spmd->move);
  return number;
}

typedef struct CallList {
  MlirAttribute *items;
  size_t count, capacity;
} CallList;

typedef struct CallWalk {
  ShardSpmd *spmd;
  CallList *calls; // [nSites]
  int64_t stage;
  int64_t layer;            // -1: outside
  int64_t instance;         // part of fused locations that is this layer's, -1
  int64_t times;            // steps of the loops around
  ShardPointerMap *calling; // body of a function -> whether a collective is called below it
  size_t *nCalls;           // of all sites
} CallWalk;

/// The op of a site as this call has it: outlining leaves the places of all instances in one
/// location.
static const char *opOfCall(const CallWalk *walk, const ShardSite *site) {
  ShardArena *arena = walk->spmd->arena;
  if (walk->instance < 0 || !mlirLocationIsAFused(site->location))
    return site->op;
  unsigned n = mlirLocationFusedGetNumLocations(site->location);
  if (walk->instance >= n)
    return site->op;
  MlirLocation *parts = SHARD_ARENA_ARRAY(arena, MlirLocation, n);
  mlirLocationFusedGetLocations(site->location, parts);
  return shardArenaFormat(arena, "%s at %s", site->opName,
                          shardLocationText(parts[walk->instance], arena));
}

static MlirNamedAttribute named(ShardSpmd *spmd, const char *name, MlirAttribute attribute) {
  return mlirNamedAttributeGet(
      mlirIdentifierGet(spmd->context, mlirStringRefCreateFromCString(name)), attribute);
}

/// More calls of collectives than this are a call graph that nobody means to be listed.
#define MAX_CALLS 1000000

/// The body that a call enters; null: `op` calls none.
static MlirBlock calleeOf(const ShardSpmd *spmd, MlirOperation op) {
  MlirOperation target = shardModuleCallee(spmd->module, op);
  return mlirOperationIsNull(target) ? (MlirBlock){NULL} : shardFuncGetBody(target);
}

static bool callsBelow(const CallWalk *walk, MlirBlock function);

/// Fails where a collective is found.
static MlirLogicalResult findCall(void *user, MlirOperation op) {
  const CallWalk *walk = user;
  MlirBlock callee = calleeOf(walk->spmd, op);
  bool found = !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.site")) ||
               (!mlirBlockIsNull(callee) && callsBelow(walk, callee));
  return found ? mlirLogicalResultFailure() : mlirLogicalResultSuccess();
}

/// Whether a collective is called in a function or below it. Each is looked at once.
static bool callsBelow(const CallWalk *walk, MlirBlock function) {
  int64_t known;
  if (shardPointerMapGet(walk->calling, function.ptr, &known))
    return known != 0;
  void *user = (void *)walk;
  known = mlirLogicalResultIsFailure(
      shardWalk(mlirBlockGetParentOperation(function), NULL, findCall, user));
  shardPointerMapSet(walk->calling, function.ptr, known);
  return known != 0;
}

/// False after one error: too many calls.
static bool walkCalls(const CallWalk *walk, MlirBlock block) {
  ShardSpmd *spmd = walk->spmd;
  MlirOperation op = mlirBlockGetFirstOperation(block);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    int64_t number;
    MlirAttribute site = shardOpGetAttribute(op, "spmd.site");
    if (!mlirAttributeIsNull(site) && shardAttrGetI64(site, &number)) {
      // A send and its receive are one call, and so are all rounds of an exchange.
      int64_t round = 0;
      MlirAttribute mark = shardOpGetAttribute(op, "spmd.round");
      if (shardOpIs(op, "shard.recv") ||
          (!mlirAttributeIsNull(mark) && shardAttrGetI64(mark, &round) && round > 0))
        continue;
      const char *text = opOfCall(walk, &spmd->sites[number]);
      if (walk->layer >= 0)
        text = shardArenaFormat(spmd->arena, "layer %lld: %s", (long long)walk->layer, text);
      MlirNamedAttribute fields[4];
      intptr_t n = 0;
      fields[n++] = named(spmd, "stage", shardAttrI64(spmd->context, walk->stage));
      if (walk->layer >= 0)
        fields[n++] = named(spmd, "layer", shardAttrI64(spmd->context, walk->layer));
      fields[n++] = named(spmd, "op", shardAttrString(spmd->context, text));
      if (walk->times != 1)
        fields[n++] = named(spmd, "times", shardAttrI64(spmd->context, walk->times));
      if (++*walk->nCalls > MAX_CALLS) {
        shardEmitError(op, "the program calls collectives more than %d times, written out",
                       MAX_CALLS);
        return false;
      }
      CallList *list = &walk->calls[number];
      list->items = shardArenaGrow(spmd->arena, list->items, list->count, &list->capacity,
                                   list->count + 1, sizeof(MlirAttribute));
      list->items[list->count++] = mlirDictionaryAttrGet(spmd->context, n, fields);
      continue;
    }
    // What a loop calls, it calls at every step.
    CallWalk inner = *walk;
    inner.times = shardMultiplyCounts(inner.times, shardLoopTrips(op));
    bool loop = shardNameHasDialect(shardOpGetName(op), "scf") && inner.times > 0;
    for (intptr_t g = 0; loop && g < mlirOperationGetNumRegions(op); ++g) {
      MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
      if (!mlirBlockIsNull(body) && !walkCalls(&inner, body))
        return false;
    }
    MlirBlock callee = calleeOf(spmd, op);
    if (mlirBlockIsNull(callee) || !callsBelow(walk, callee))
      continue;
    int64_t layer;
    MlirAttribute mark = shardOpGetAttribute(op, "spmd.layer");
    if (!mlirAttributeIsNull(mark) && shardAttrGetI64(mark, &layer))
      inner.layer = layer;
    int64_t instance;
    if (shardAttrGetI64(shardOpGetAttribute(op, "spmd.instance"), &instance))
      inner.instance = instance;
    if (!walkCalls(&inner, callee))
      return false;
  }
  return true;
}

static MlirAttribute waysAttribute(ShardSpmd *spmd, const ShardSite *site, double stages) {
  MlirAttribute ways[SHARD_MAX_WAYS];
  for (int32_t i = 0; i < site->nWays; ++i) {
    MlirNamedAttribute fields[] = {
        named(spmd, "how", shardAttrString(spmd->context, site->ways[i].how)),
        named(spmd, "bytes",
              mlirFloatAttrDoubleGet(spmd->context, mlirF64TypeGet(spmd->context),
                                     site->ways[i].bytes / stages))};
    ways[i] = mlirDictionaryAttrGet(spmd->context, 2, fields);
  }
  return mlirArrayAttrGet(spmd->context, site->nWays, ways);
}

MlirLogicalResult shardSitesWrite(ShardSpmd *spmd, int32_t nEntries, const MlirOperation *entries) {
  CallList *calls = SHARD_ARENA_ARRAY(spmd->arena, CallList, spmd->nSites);
  ShardPointerMap *calling = shardPointerMapCreate(spmd->arena, 64);
  size_t nCalls = 0;
  for (int32_t i = 0; i < nEntries; ++i) {
    CallWalk walk = {spmd, calls, i, -1, -1, 1, calling, &nCalls};
    if (!walkCalls(&walk, shardFuncGetBody(entries[i])))
      return mlirLogicalResultFailure();
  }
  // A rank takes part in the calls of its own stage only: mean over all ranks.
  int32_t pp = shardMeshFindAxis(&spmd->mesh, "pp");
  double stages = pp >= 0 ? (double)spmd->mesh.sizes[pp] : 1;
  MlirAttribute *rows = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, spmd->nSites);
  for (size_t i = 0; i < spmd->nSites; ++i) {
    const ShardSite *site = &spmd->sites[i];
    MlirNamedAttribute fields[14] = {
        named(spmd, "site", shardAttrI64(spmd->context, site->number)),
        named(spmd, "kind", shardAttrString(spmd->context, shardCollectiveKindName(site->kind))),
        named(spmd, "op", shardAttrString(spmd->context, site->op)),
        named(spmd, "cause", shardAttrString(spmd->context, site->cause)),
        named(spmd, "axes", site->axes),
        named(spmd, "type", mlirTypeAttrGet(site->type)),
        named(spmd, "bytes",
              mlirFloatAttrDoubleGet(spmd->context, mlirF64TypeGet(spmd->context),
                                     site->bytes / stages)),
        named(spmd, "calls",
              mlirArrayAttrGet(spmd->context, (intptr_t)calls[i].count, calls[i].items)),
    };
    intptr_t n = 8;
    if (site->value) {
      fields[n++] = named(spmd, "value", shardAttrString(spmd->context, site->value));
      fields[n++] = named(spmd, "from", shardAttrString(spmd->context, site->from));
      fields[n++] = named(spmd, "to", shardAttrString(spmd->context, site->to));
      fields[n++] = named(spmd, "otherwise", waysAttribute(spmd, site, stages));
      if (site->nWays)
        fields[n++] = named(spmd, "moved",
                            mlirFloatAttrDoubleGet(spmd->context, mlirF64TypeGet(spmd->context),
                                                   site->moved / stages));
      if (!site->asked)
        fields[n++] = named(spmd, "implicit", shardAttrUnit(spmd->context));
    }
    rows[i] = mlirDictionaryAttrGet(spmd->context, n, fields);
  }
  shardOpSetAttribute(spmd->module, "spmd.sites",
                      mlirArrayAttrGet(spmd->context, (intptr_t)spmd->nSites, rows));
  return mlirLogicalResultSuccess();
}
