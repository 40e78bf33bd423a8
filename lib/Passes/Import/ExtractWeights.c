//===- ExtractWeights.c - Constants out of the program, into files *- C -*-===//
// Reads: constants of the entry and of what it calls, as written or as `spmd.value` of an imported
// program. Writes: an argument for each (`spmd.name`, `spmd.role`), and a folder with argNNN.npy
// and args.json, or one .npz or .safetensors whose members have the arguments' names. Fails: when a
// file cannot be written.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "ImportParts.h"

#include "../../../tools/common/Npy.h"
#include "../../../tools/common/Npz.h"
#include "../../../tools/common/Safetensors.h"
#include "../Core/Constants.h"
#include "Evaluate.h"

#include "mlir-c/BuiltinTypes.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct ExtractOptions {
  const char *function;
  const char *output;
} ExtractOptions;
static const ShardOption optionTable[] = {
    SHARD_OPTION(ExtractOptions, function, "function", "", "",
                 "Entry function; empty: the one public function"),
    SHARD_OPTION(ExtractOptions, output, "output", "", "",
                 "FILE.safetensors, FILE.npz, or a folder"),
};

typedef struct Weight {
  intptr_t argument;
  const char *name;
  MlirAttribute value;
} Weight;

typedef struct Extraction {
  const ShardImport *import;
  const char *output;
  intptr_t nWeights;
  Weight *weights;
  ShardEvaluator *evaluator;
} Extraction;

//===----------------------------------------------------------------------===//
// Which constants
//===----------------------------------------------------------------------===//

/// Integers that count (positions, strides, permutations) are part of the program, not of its
/// weights.
static bool isWeight(void *user, MlirOperation op) {
  Extraction *extraction = user;
  MlirAttribute value = shardOpGetAttribute(op, shardOpIs(op, "tosa.const") ? "values" : "value");
  if (mlirAttributeIsADenseResourceElements(value))
    return shardConstantCheck(value) != SHARD_CONSTANT_ABSENT;
  MlirType type = mlirAttributeGetType(value);
  if (mlirTypeIsAFloat(mlirShapedTypeGetElementType(type)))
    return true;
  const int64_t *values = shardEvaluateTensor(extraction->evaluator, mlirOperationGetResult(op, 0));
  intptr_t rank = mlirShapedTypeGetRank(type);
  ShardArena *arena = extraction->import->arena;
  int64_t *extents = SHARD_ARENA_ARRAY(arena, int64_t, rank + 1), start;
  int64_t *steps = SHARD_ARENA_ARRAY(arena, int64_t, rank + 1);
  for (intptr_t d = 0; d < rank; ++d)
    extents[d] = mlirShapedTypeGetDimSize(type, d);
  return !values || !shardFitAffine(values, rank, extents, &start, steps);
}

static const char *argumentText(const ShardImport *import, intptr_t index, const char *key) {
  MlirAttribute attribute = shardFuncGetArgumentAttribute(import->entry, index, key);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAString(attribute))
    return "";
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  return shardArenaCopyString(import->arena, text.data, text.length);
}

static void findWeights(Extraction *extraction) {
  const ShardImport *import = extraction->import;
  MlirBlock body = shardFuncGetBody(import->entry);
  intptr_t nModel = mlirBlockGetNumArguments(body), nConstants;
  const char **taken = SHARD_ARENA_ARRAY(import->arena, const char *, nModel + 1);
  for (intptr_t i = 0; i < nModel; ++i)
    taken[i] = argumentText(import, i, "spmd.name");
  extraction->evaluator = shardEvaluatorCreate(import->arena);
  MlirAttribute *values = shardHoistConstants(import, isWeight, extraction, &nConstants);
  shardEvaluatorDestroy(extraction->evaluator);
  const char **names = shardNameConstants(import, nModel, taken, nConstants, values);
  extraction->weights = SHARD_ARENA_ARRAY(import->arena, Weight, nModel + nConstants + 1);
  for (intptr_t i = 0; i < nModel; ++i) {
    MlirAttribute value = shardFuncGetArgumentAttribute(import->entry, i, "spmd.value");
    if (mlirAttributeIsNull(value))
      continue;
    const char *name = taken[i][0] ? taken[i] : shardArenaFormat(import->arena, "argument_%td", i);
    extraction->weights[extraction->nWeights++] = (Weight){i, name, value};
  }
  for (intptr_t i = 0; i < nConstants; ++i)
    extraction->weights[extraction->nWeights++] = (Weight){nModel + i, names[i], values[i]};
}

static void markArguments(const Extraction *extraction) {
  const ShardImport *import = extraction->import;
  for (intptr_t i = 0; i < extraction->nWeights; ++i) {
    const Weight *weight = &extraction->weights[i];
    shardFuncSetArgumentAttribute(import->entry, weight->argument, "spmd.value",
                                  (MlirAttribute){NULL});
    shardFuncSetArgumentAttribute(import->entry, weight->argument, "spmd.name",
                                  shardAttrString(import->context, weight->name));
    shardFuncSetArgumentAttribute(import->entry, weight->argument, "spmd.role",
                                  shardAttrString(import->context, "weight"));
  }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static bool npyType(MlirType element, ShardNpyType *out) {
  if (mlirTypeIsAF16(element))
    *out = SHARD_NPY_F16;
  else if (mlirTypeIsABF16(element))
    *out = SHARD_NPY_BF16;
  else if (mlirTypeIsAF32(element))
    *out = SHARD_NPY_F32;
  else if (mlirTypeIsAF64(element))
    *out = SHARD_NPY_F64;
  else if (mlirTypeIsAIndex(element))
    *out = SHARD_NPY_I64;
  else if (!mlirTypeIsAInteger(element))
    return false;
  else
    switch (mlirIntegerTypeGetWidth(element)) {
    case 1:
      *out = SHARD_NPY_BOOL;
      break;
    case 8:
      *out = SHARD_NPY_I8;
      break;
    case 16:
      *out = SHARD_NPY_I16;
      break;
    case 32:
      *out = SHARD_NPY_I32;
      break;
    case 64:
      *out = SHARD_NPY_I64;
      break;
    default:
      return false;
    }
  return true;
}

typedef struct Array {
  ShardNpyType type;
  int32_t rank;
  int64_t shape[SHARD_NPY_MAX_RANK];
  const void *data;
  size_t sizeBytes;
} Array;

static MlirLogicalResult readWeight(const Extraction *extraction, const Weight *weight,
                                    ShardArena *arena, Array *out) {
  MlirOperation entry = extraction->import->entry;
  MlirType type = mlirAttributeGetType(weight->value);
  out->rank = (int32_t)mlirShapedTypeGetRank(type);
  if (!npyType(mlirShapedTypeGetElementType(type), &out->type) || out->rank > SHARD_NPY_MAX_RANK)
    return shardEmitError(entry, "constant '%s' is of a type that .npy files do not have",
                          weight->name);
  for (int32_t d = 0; d < out->rank; ++d)
    out->shape[d] = mlirShapedTypeGetDimSize(type, d);
  if (shardConstantRead(weight->value, arena, &out->data, &out->sizeBytes) != SHARD_CONSTANT_OK)
    return shardEmitError(entry, "constant '%s' does not have the bytes that its type needs",
                          weight->name);
  return mlirLogicalResultSuccess();
}

static const char *fileName(ShardArena *arena, intptr_t argument) {
  return shardArenaFormat(arena, "arg%03td.npy", argument);
}

static json_t *describeArgument(const Extraction *extraction, intptr_t index, const char *file) {
  const ShardImport *import = extraction->import;
  MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(import->entry), index));
  json_t *entry = json_object(), *shape = json_array();
  json_object_set_new(entry, "index", json_integer(index));
  const char *name = argumentText(import, index, "spmd.name");
  const char *role = argumentText(import, index, "spmd.role");
  if (name[0])
    json_object_set_new(entry, "name", json_string(name));
  bool isStatic = mlirTypeIsARankedTensor(type) && mlirShapedTypeHasStaticShape(type);
  for (intptr_t d = 0; isStatic && d < mlirShapedTypeGetRank(type); ++d)
    json_array_append_new(shape, json_integer(mlirShapedTypeGetDimSize(type, d)));
  ShardNpyType element;
  if (isStatic && npyType(mlirShapedTypeGetElementType(type), &element)) {
    json_object_set(entry, "shape", shape);
    json_object_set_new(entry, "dtype", json_string(shardNpyTypeName(element)));
  }
  json_decref(shape);
  json_object_set_new(entry, "role", json_string(role[0] ? role : "input"));
  if (file)
    json_object_set_new(entry, "file", json_string(file));
  return entry;
}

static MlirLogicalResult writeArgsJson(const Extraction *extraction, const char *path) {
  const ShardImport *import = extraction->import;
  json_t *root = json_object(), *list = json_array();
  MlirStringRef entry = mlirStringAttrGetValue(shardOpGetAttribute(import->entry, "sym_name"));
  json_object_set_new(root, "entry", json_stringn(entry.data, entry.length));
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(import->entry)), weight = 0;
  for (intptr_t i = 0; i < n; ++i) {
    bool has = weight < extraction->nWeights && extraction->weights[weight].argument == i;
    json_array_append_new(list,
                          describeArgument(extraction, i, has ? fileName(import->arena, i) : NULL));
    weight += has;
  }
  json_object_set_new(root, "args", list);
  const char *temporary = shardArenaFormat(import->arena, "%s.%ld.tmp", path, (long)getpid());
  bool written =
      json_dump_file(root, temporary, JSON_INDENT(1)) == 0 && rename(temporary, path) == 0;
  int error = errno;
  json_decref(root);
  if (written)
    return mlirLogicalResultSuccess();
  unlink(temporary);
  return shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s: %s", path, strerror(error));
}

/// All or nothing: what was written goes when a later file fails.
static MlirLogicalResult writeFolder(const Extraction *extraction) {
  const ShardImport *import = extraction->import;
  bool created = mkdir(extraction->output, 0777) == 0;
  if (!created && errno != EEXIST)
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s: %s", extraction->output,
                            strerror(errno));
  MlirLogicalResult result = mlirLogicalResultSuccess();
  intptr_t n = 0;
  char message[512];
  for (; n < extraction->nWeights && mlirLogicalResultIsSuccess(result); ++n) {
    ShardArena *scratch = shardArenaCreate();
    const Weight *weight = &extraction->weights[n];
    const char *path =
        shardArenaFormat(scratch, "%s/%s", extraction->output, fileName(scratch, weight->argument));
    Array array;
    result = readWeight(extraction, weight, scratch, &array);
    if (mlirLogicalResultIsSuccess(result) &&
        !shardNpyWriteFile(path, array.type, array.rank, array.shape, array.data, message,
                           sizeof(message)))
      result = shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s", message);
    shardArenaDestroy(scratch);
  }
  if (mlirLogicalResultIsSuccess(result))
    result = writeArgsJson(extraction,
                           shardArenaFormat(import->arena, "%s/args.json", extraction->output));
  if (mlirLogicalResultIsSuccess(result))
    return result;
  for (intptr_t i = 0; i < n; ++i)
    unlink(shardArenaFormat(import->arena, "%s/%s", extraction->output,
                            fileName(import->arena, extraction->weights[i].argument)));
  if (created)
    rmdir(extraction->output);
  return result;
}

static MlirLogicalResult writeNpz(const Extraction *extraction) {
  const ShardImport *import = extraction->import;
  char message[512];
  ShardNpzWriter *writer = shardNpzWriterCreate(extraction->output, message, sizeof(message));
  if (!writer)
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s", message);
  for (intptr_t i = 0; i < extraction->nWeights; ++i) {
    ShardArena *scratch = shardArenaCreate();
    Array array;
    MlirLogicalResult result = readWeight(extraction, &extraction->weights[i], scratch, &array);
    if (mlirLogicalResultIsSuccess(result) &&
        !shardNpzWriterAdd(writer, extraction->weights[i].name, array.type, array.rank, array.shape,
                           array.data, message, sizeof(message)))
      result = shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s", message);
    shardArenaDestroy(scratch);
    if (mlirLogicalResultIsFailure(result)) {
      shardNpzWriterAbandon(writer);
      return result;
    }
  }
  if (!shardNpzWriterFinish(writer, message, sizeof(message)))
    return shardEmitErrorAt(mlirLocationUnknownGet(import->context), "%s", message);
  return mlirLogicalResultSuccess();
}

/// The header comes first: each weight is read for its shape, then for its values.
static MlirLogicalResult writeSafetensors(const Extraction *extraction) {
  const ShardImport *import = extraction->import;
  MlirLocation nowhere = mlirLocationUnknownGet(import->context);
  ShardSafetensor *tensors =
      SHARD_ARENA_ARRAY(import->arena, ShardSafetensor, extraction->nWeights + 1);
  ShardSafetensorsWriter *writer = NULL;
  MlirLogicalResult result = mlirLogicalResultSuccess();
  char message[512];
  for (int pass = 0; pass < 2 && mlirLogicalResultIsSuccess(result); ++pass) {
    for (intptr_t i = 0; i < extraction->nWeights && mlirLogicalResultIsSuccess(result); ++i) {
      ShardArena *scratch = shardArenaCreate();
      Array array;
      result = readWeight(extraction, &extraction->weights[i], scratch, &array);
      if (mlirLogicalResultIsSuccess(result) && pass == 0) {
        tensors[i] = (ShardSafetensor){
            .name = extraction->weights[i].name, .type = array.type, .rank = array.rank};
        memcpy(tensors[i].shape, array.shape, (size_t)array.rank * sizeof(int64_t));
      } else if (mlirLogicalResultIsSuccess(result) &&
                 !shardSafetensorsWriterAdd(writer, array.data, message, sizeof(message))) {
        result = shardEmitErrorAt(nowhere, "%s", message);
      }
      shardArenaDestroy(scratch);
    }
    if (pass == 0 && mlirLogicalResultIsSuccess(result) &&
        !(writer = shardSafetensorsWriterCreate(extraction->output, (size_t)extraction->nWeights,
                                                tensors, 0, NULL, message, sizeof(message))))
      result = shardEmitErrorAt(nowhere, "%s", message);
  }
  if (mlirLogicalResultIsFailure(result))
    shardSafetensorsWriterAbandon(writer);
  else if (!shardSafetensorsWriterFinish(writer, message, sizeof(message)))
    result = shardEmitErrorAt(nowhere, "%s", message);
  return result;
}

static bool hasSuffix(const char *text, const char *suffix) {
  size_t length = strlen(text), n = strlen(suffix);
  return length > n && strcmp(text + length - n, suffix) == 0;
}

static MlirLogicalResult runExtractWeights(ShardPassRun *run) {
  const ExtractOptions *options = run->options;
  ShardImport import = {.context = run->context, .module = run->op, .arena = run->arena};
  if (!options->output[0])
    return shardEmitErrorAt(mlirLocationUnknownGet(run->context),
                            "no output is given for the weights");
  if (mlirLogicalResultIsFailure(shardImportFindFunctions(&import, options->function)))
    return mlirLogicalResultFailure();
  Extraction extraction = {.import = &import, .output = options->output};
  findWeights(&extraction);
  markArguments(&extraction);
  if (hasSuffix(options->output, ".safetensors"))
    return writeSafetensors(&extraction);
  return hasSuffix(options->output, ".npz") ? writeNpz(&extraction) : writeFolder(&extraction);
}

const ShardPassInfo shardExtractWeightsPass = {
    .argument = "shard-extract-weights",
    .summary = "Take constants out of the program, into a .safetensors, an .npz or .npy files",
    .anchor = "builtin.module",
    SHARD_PASS_OPTIONS(ExtractOptions, optionTable),
    .run = runExtractWeights,
    .dialects = "tosa",
};
