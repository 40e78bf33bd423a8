//===- SplitLayers.h - A period that is several layers ------------*- C -*-===//
#ifndef SHARD_IMPORT_SPLITLAYERS_H
#define SHARD_IMPORT_SPLITLAYERS_H

#include "LayerRegion.h"

/// Where a stack alternates (dense and expert layers, local and global attention), the period found
/// is several layers in a row. Then replaces the region by the most numerous kind of those layers;
/// else leaves it as it is.
void shardLayerRegionSplit(ShardLayerRegion *region);

#endif // SHARD_IMPORT_SPLITLAYERS_H
