//===- RankSet.h - Files of ranks, read as whole values -----------*- C -*-===//
// The reading half of RankFiles.h.
//===----------------------------------------------------------------------===//
#ifndef SHARD_MODEL_RANKSET_H
#define SHARD_MODEL_RANKSET_H

#include "../common/Safetensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A folder of rank files. Whole tensors in the order in which ranks first hold some of them; of
/// each `name`, `type`, `rank` and `shape` are set. Texts are the set's.
typedef struct RankSet RankSet;

/// DIR/rank-NNNNN.safetensors; to be freed; null: out of memory.
char *rankSetPath(const char *folder, int64_t rank);
/// The name of a tensor whose argument has none in the model: argNNN.
void rankSetFormatNumber(int32_t argument, char *text, size_t textSize);
/// Whether `folder` has a file of rank 0.
bool rankSetIsThere(const char *folder);
/// Opens every rank's file; data is mapped. Null: a text in `message`, cut to messageSize.
/// Thread-compatible.
RankSet *rankSetOpen(const char *folder, char *message, size_t messageSize);
void rankSetClose(RankSet *set); // null is fine
size_t rankSetCount(const RankSet *set);
const ShardSafetensor *rankSetTensor(const RankSet *set, size_t i);
/// By name; null when there is none.
const ShardSafetensor *rankSetFind(const RankSet *set, const char *name);
/// The whole value, 64-byte aligned, to be freed. Every element must be held by some rank, and all
/// ranks that hold it must have the same bits. Null: `message`.
void *rankSetRead(const RankSet *set, const ShardSafetensor *tensor, size_t *outBytes,
                  char *message, size_t messageSize);

#endif // SHARD_MODEL_RANKSET_H
