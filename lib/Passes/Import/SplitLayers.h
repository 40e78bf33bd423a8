//===- SplitLayers.h - Whole layers along the main chain ----------*- C -*-===//
#ifndef SHARD_IMPORT_SPLITLAYERS_H
#define SHARD_IMPORT_SPLITLAYERS_H

#include "LayerRegion.h"

/// Where a stack mixes kinds of layers (dense and expert ones), alike parts are periods of several
/// layers, or the half that all layers have in common. Then replaces the region by the kind of
/// whole layer that covers most; else leaves it as it is.
void shardLayerRegionSplit(ShardLayerRegion *region);

#endif // SHARD_IMPORT_SPLITLAYERS_H
