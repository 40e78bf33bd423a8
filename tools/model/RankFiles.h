//===- RankFiles.h - A model's weights, one file a rank -----------*- C -*-===//
// FORMATS, Weights of a rank: DIR/rank-NNNNN.safetensors holds what the rank's buffers hold,
// padding (zero) included; its metadata says of which mesh and how each tensor lies in the whole.
//===----------------------------------------------------------------------===//
#ifndef SHARD_MODEL_RANKFILES_H
#define SHARD_MODEL_RANKFILES_H

#include "shard/Program.h"

#include <stdbool.h>
#include <stddef.h>

/// Cuts the arguments of `program` that are no inputs and whose values `source` has (a path as
/// ModelData.h takes it) and writes a file for each rank into `folder`, which is made if it is not
/// there. False: a text in `message`, cut to messageSize; none of the files is left.
bool rankFilesSplit(const ShardProgram *program, const char *source, const char *folder,
                    char *message, size_t messageSize);

/// Puts the files of `folder` together to one file `output`. Every element must be held by some
/// rank, and all ranks that hold it must have the same bits. False: `message`; nothing is written.
bool rankFilesJoin(const char *folder, const char *output, char *message, size_t messageSize);

#endif // SHARD_MODEL_RANKFILES_H
