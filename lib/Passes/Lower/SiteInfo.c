//===- SiteInfo.c - The collectives that an emitted program names -*- C -*-===//
// Reads `spmd.site` of collectives and `spmd.sites` of the module, which says more of them.
//===----------------------------------------------------------------------===//

#include "Lower.h"

#include "../Core/Collectives.h"

#include <stdlib.h>

typedef struct Site {
  int64_t number;
  MlirAttribute row;
} Site;

typedef struct SiteCollector {
  ShardLowering *lowering;
  Site *sites;
  size_t nSites, capacity;
} SiteCollector;

static MlirAttribute field(MlirAttribute dictionary, const char *name) {
  return mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
}

/// The row of `spmd.sites` for a site; null: none.
static MlirAttribute findRow(MlirOperation module, int64_t site) {
  MlirAttribute sites = shardOpGetAttribute(module, "spmd.sites");
  if (mlirAttributeIsNull(sites) || !mlirAttributeIsAArray(sites))
    return mlirAttributeGetNull();
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(sites); ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(sites, i);
    if (!mlirAttributeIsADictionary(row))
      continue;
    MlirAttribute number = field(row, "site");
    int64_t value = i;
    if (!mlirAttributeIsNull(number))
      shardAttrGetI64(number, &value);
    if (value == site)
      return row;
  }
  return mlirAttributeGetNull();
}

/// The text that a row (or null) has under `name`; else `other`.
static MlirAttribute textOr(MlirAttribute row, const char *name, MlirAttribute other) {
  if (mlirAttributeIsNull(row))
    return other;
  MlirAttribute value = field(row, name);
  return !mlirAttributeIsNull(value) && mlirAttributeIsAString(value) ? value : other;
}

static MlirLogicalResult collectSite(void *user, MlirOperation op) {
  SiteCollector *collector = user;
  int64_t site;
  MlirAttribute attribute = shardOpGetAttribute(op, "spmd.site");
  const char *kind = shardCollectiveKind(op);
  if (mlirAttributeIsNull(attribute) || !shardAttrGetI64(attribute, &site) || !kind)
    return mlirLogicalResultSuccess();
  // One entry a site: the first op stands for all of it.
  for (size_t i = 0; i < collector->nSites; ++i)
    if (collector->sites[i].number == site)
      return mlirLogicalResultSuccess();
  ShardLowering *lowering = collector->lowering;
  MlirContext context = lowering->context;
  MlirAttribute row = findRow(lowering->module, site);
  MlirAttribute location =
      shardAttrString(context, shardLocationText(mlirOperationGetLocation(op), lowering->arena));
  MlirNamedAttribute entries[] = {
      shardNamed(context, "site", shardAttrI64(context, site)),
      shardNamed(context, "kind", textOr(row, "kind", shardAttrString(context, kind))),
      shardNamed(context, "location", textOr(row, "location", textOr(row, "op", location))),
      shardNamed(context, "cause", textOr(row, "cause", shardAttrString(context, "")))};
  collector->sites = shardArenaGrow(lowering->arena, collector->sites, collector->nSites,
                                    &collector->capacity, collector->nSites + 1, sizeof(Site));
  collector->sites[collector->nSites++] = (Site){site, mlirDictionaryAttrGet(context, 4, entries)};
  return mlirLogicalResultSuccess();
}

static int compareSites(const void *a, const void *b) {
  int64_t left = ((const Site *)a)->number, right = ((const Site *)b)->number;
  return (left > right) - (left < right);
}

MlirAttribute shardSiteInfoCollect(ShardLowering *lowering) {
  SiteCollector collector = {.lowering = lowering};
  shardWalk(lowering->module, NULL, collectSite, &collector);
  if (collector.nSites)
    qsort(collector.sites, collector.nSites, sizeof(Site), compareSites);
  MlirAttribute *rows = SHARD_ARENA_ARRAY(lowering->arena, MlirAttribute, collector.nSites + 1);
  for (size_t i = 0; i < collector.nSites; ++i)
    rows[i] = collector.sites[i].row;
  return mlirArrayAttrGet(lowering->context, (intptr_t)collector.nSites, rows);
}
