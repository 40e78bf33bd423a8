//===- ModelData.h - Stored values of a model's arguments ---------*- C -*-===//
// A folder with args.json and its .npy files, or a set of .safetensors (common/Safetensors.h).
//===----------------------------------------------------------------------===//
#ifndef SHARD_MODEL_MODELDATA_H
#define SHARD_MODEL_MODELDATA_H

#include "../common/Npy.h"
#include "shard/Program.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ModelData ModelData;

typedef enum ModelDataState {
  MODEL_DATA_UNKNOWN, // no entry for the argument
  MODEL_DATA_NO_FILE, // an input without stored values
  MODEL_DATA_STORED
} ModelDataState;

/// Opens `path` and finds the entry of each argument of `program` (borrowed): in a folder by name,
/// else by position (ArgsJson.h); in a set by name. Constants of the program go by name only. Null:
/// a text in `message`, cut to messageSize. Close with modelDataClose. Thread-compatible.
ModelData *modelDataOpen(const char *path, const ShardProgram *program, char *message,
                         size_t messageSize);
void modelDataClose(ModelData *data); // null is fine

/// The file that says what is stored: args.json, the .safetensors, the index. Owned by `data`.
const char *modelDataPath(const ModelData *data);
/// Of program->arguments[i].
ModelDataState modelDataGetState(const ModelData *data, int32_t i);
/// Whole value of program->arguments[i], whose state is STORED. `*out` is to be released with
/// shardNpyRelease; its `data` is null where *outData, which `data` owns, is part of a mapped file
/// and not aligned. False: `message`.
bool modelDataRead(ModelData *data, int32_t i, ShardNpyArray *out, const void **outData,
                   char *message, size_t messageSize);

/// Whether a file's type is that of a value; signs apart.
bool modelDataTypeFits(ShardNpyType type, const ShardProgramValue *value);
/// The type that a value is written as.
ShardNpyType modelDataTypeOf(const ShardProgramValue *value);
/// The name of a value's element type, for messages.
const char *modelDataElementName(const ShardProgramValue *value);

/// "argument 4 'w'", and "2x37xi64" of shape [rank] and a type's name.
void modelDataFormatArgument(const ShardProgramValue *value, char *text, size_t textSize);
void modelDataFormatShape(char *text, size_t textSize, int32_t rank, const int64_t *shape,
                          const char *type);

#endif // SHARD_MODEL_MODELDATA_H
