//===- Weights.h - Where --extract-weights puts its files ---------*- C -*-===//
#ifndef SHARD_OPT_WEIGHTS_H
#define SHARD_OPT_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/// Files on the way to `path`: a .safetensors, an .npz or a folder that lies beside it until the
/// commit.
typedef struct ShardOptWeights {
  const char *path; // as given; null: nothing
  char *temporary;  // where to write to
  bool folder;
} ShardOptWeights;

/// Chooses the temporary place. False: "cannot write 'x': ..." in `message`; nothing is left.
bool shardOptWeightsBegin(const char *path, ShardOptWeights *out, char *message,
                          size_t messageBytes);
/// Puts the files in place. False: `message`. Releases `weights`.
bool shardOptWeightsCommit(ShardOptWeights *weights, char *message, size_t messageBytes);
/// Removes what was written. Empty is fine.
void shardOptWeightsAbandon(ShardOptWeights *weights);

#endif // SHARD_OPT_WEIGHTS_H
