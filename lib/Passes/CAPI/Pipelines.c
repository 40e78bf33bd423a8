//===- Pipelines.c - From a model to one program per device -------*- C -*-===//
// The passes run one after another on the module, without a pass manager: the caller is asked
// between them, options need no text form, and nothing is registered anywhere.
//===----------------------------------------------------------------------===//
#include "shard/Pipelines.h"

#include "shard/MemoryPlan.h"

#include "Bucketing.h"

#include "../Analysis/Mesh.h"
#include "../Core/Registry.h"
#include "../Plan/Annotations.h"

#include "mlir-c/BuiltinAttributes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char stageAttribute[] = "spmd.after", optionsAttribute[] = "spmd.options";
static const char importPass[] = "shard-import", spmdizePass[] = "shard-spmdize",
                  lowerPass[] = "shard-lower-cpu";

intptr_t shardPipelineGetPassCount(void) {
  intptr_t count = 0;
  for (intptr_t i = 0; i < shardPassInfoCount(); ++i)
    count += shardPassInfoIsInPipeline(i);
  return count;
}

static const ShardPassInfo *pipelinePass(intptr_t index) {
  for (intptr_t i = 0; i < shardPassInfoCount(); ++i)
    if (shardPassInfoIsInPipeline(i) && index-- == 0)
      return shardPassInfoGet(i);
  return NULL;
}

const char *shardPipelineGetPass(intptr_t index) { return pipelinePass(index)->argument; }

// Place of a pass in the pipeline; -1 when it is no part of it.
static intptr_t pipelineIndex(MlirStringRef argument) {
  for (intptr_t i = 0, n = shardPipelineGetPassCount(); i < n; ++i)
    if (shardStringIs(argument, pipelinePass(i)->argument))
      return i;
  return -1;
}

const char *shardModuleGetStage(MlirOperation module) {
  MlirAttribute after = shardOpGetAttribute(module, stageAttribute);
  if (!mlirAttributeIsNull(after) && mlirAttributeIsAString(after)) {
    intptr_t index = pipelineIndex(mlirStringAttrGetValue(after));
    return index < 0 ? NULL : shardPipelineGetPass(index);
  }
  if (!mlirAttributeIsNull(shardOpGetAttribute(module, "spmd.program")))
    return lowerPass;
  if (!mlirAttributeIsNull(shardOpGetAttribute(module, "spmd.sites")))
    return spmdizePass;
  return NULL;
}

ShardPipelineOptions shardPipelineOptionsGetDefault(void) {
  return (ShardPipelineOptions){.structBytes = sizeof(ShardPipelineOptions), .maxCommBytes = -1};
}

bool shardPipelineCheckDegrees(const char *degrees, char *message, size_t messageBytes) {
  if (!*degrees || strcmp(degrees, "auto") == 0)
    return true;
  ShardArena *arena = shardArenaCreate();
  ShardDegrees parsed;
  const char *why = "";
  bool ok = shardDegreesParse(degrees, strlen(degrees), arena, &parsed, &why);
  if (!ok)
    snprintf(message, messageBytes, "%s", why);
  shardArenaDestroy(arena);
  return ok;
}

// Options by the names that passes give them.
enum { maxValues = 16 };
typedef struct OptionValues {
  intptr_t count;
  const char *names[maxValues], *values[maxValues];
  bool used[maxValues];
} OptionValues;

static void addValue(OptionValues *all, const char *name, const char *value) {
  if (!value)
    return;
  for (intptr_t i = 0; i < all->count; ++i)
    if (strcmp(all->names[i], name) == 0)
      return; // the first one given wins
  assert(all->count < maxValues);
  all->names[all->count] = name;
  all->values[all->count++] = value;
}

static MlirLogicalResult runPass(const ShardPassInfo *info, MlirOperation module,
                                 OptionValues *values) {
  ShardArena *arena = shardArenaCreate();
  void *options = shardArenaAllocate(arena, info->optionsSize);
  const char *message = NULL;
  MlirLogicalResult result = mlirLogicalResultSuccess();
  bool ok = shardPassOptionsParse(info, mlirStringRefCreate("", 0), options, arena, &message);
  for (intptr_t i = 0; ok && i < values->count; ++i)
    if (shardPassOptionFind(info, mlirStringRefCreateFromCString(values->names[i])))
      ok = shardPassOptionSet(info, values->names[i], values->values[i], options, arena, &message);
  if (!ok) {
    result = shardEmitError(module, "%s", message);
  } else {
    MlirContext context = mlirOperationGetContext(module);
    shardPassLoadDialects(info, context);
    ShardPassRun run = {context, module, options, arena};
    assert(strcmp(info->anchor, "builtin.module") == 0 || !*info->anchor);
    result = info->run(&run);
  }
  shardArenaDestroy(arena);
  return result;
}

static MlirLogicalResult checkOptionsUsed(MlirOperation module, OptionValues *values,
                                          intptr_t first, intptr_t end) {
  for (intptr_t i = first; i < end; ++i)
    for (intptr_t k = 0; k < values->count; ++k)
      values->used[k] |=
          shardPassOptionFind(pipelinePass(i), mlirStringRefCreateFromCString(values->names[k])) !=
          NULL;
  for (intptr_t k = 0; k < values->count; ++k)
    if (!values->used[k])
      return first ? shardEmitError(module,
                                    "'%s' is for a pass that does not run here: the module comes "
                                    "from after '%s'",
                                    values->names[k], shardPipelineGetPass(first - 1))
                   : shardEmitError(module, "no pass of the pipeline takes '%s'", values->names[k]);
  return mlirLogicalResultSuccess();
}

static const char *const optionNames[] = {"degrees",     "function", "args",
                                          "annotations", "dims",     "results",
                                          "mcpu",        "rules",    "no-implicit-replication"};
enum { nOptionNames = sizeof optionNames / sizeof optionNames[0] };

static void givenOptions(const ShardPipelineOptions *options, const char **out) {
  const char *const all[nOptionNames] = {
      options->degrees,     options->function, options->argsFile,
      options->annotations, options->dims,     options->splitResults ? "split" : NULL,
      options->mcpu,        options->rules,    options->noImplicitReplication ? "true" : NULL};
  memcpy(out, all, sizeof all);
}

static bool passesTake(intptr_t first, intptr_t end, const char *option) {
  for (intptr_t i = first; i < end; ++i)
    if (shardPassOptionFind(pipelinePass(i), mlirStringRefCreateFromCString(option)))
      return true;
  return false;
}

// A module that was stopped carries the options of the passes still to come.
static void saveOptions(MlirOperation module, const OptionValues *values, intptr_t first) {
  MlirContext context = mlirOperationGetContext(module);
  MlirNamedAttribute saved[maxValues];
  intptr_t nSaved = 0;
  for (intptr_t i = 0; i < values->count; ++i)
    if (passesTake(first, shardPipelineGetPassCount(), values->names[i]))
      saved[nSaved++] = mlirNamedAttributeGet(
          mlirIdentifierGet(context, mlirStringRefCreateFromCString(values->names[i])),
          shardAttrString(context, values->values[i]));
  if (nSaved)
    shardOpSetAttribute(module, optionsAttribute, mlirDictionaryAttrGet(context, nSaved, saved));
}

static void loadOptions(MlirOperation module, OptionValues *values, ShardArena *arena) {
  MlirAttribute saved = shardOpGetAttribute(module, optionsAttribute);
  if (mlirAttributeIsNull(saved) || !mlirAttributeIsADictionary(saved))
    return;
  for (int i = 0; i < nOptionNames; ++i) {
    MlirAttribute value =
        mlirDictionaryAttrGetElementByName(saved, mlirStringRefCreateFromCString(optionNames[i]));
    if (mlirAttributeIsNull(value) || !mlirAttributeIsAString(value))
      continue;
    MlirStringRef text = mlirStringAttrGetValue(value);
    addValue(values, optionNames[i], shardArenaCopyString(arena, text.data, text.length));
  }
}

static const char *findValue(const OptionValues *values, const char *name) {
  for (intptr_t i = 0; i < values->count; ++i)
    if (strcmp(values->names[i], name) == 0)
      return values->values[i];
  return NULL;
}

// The passes [*outFirst, *outEnd) are to run.
static MlirLogicalResult findRange(MlirOperation module, const ShardPipelineOptions *options,
                                   intptr_t *outFirst, intptr_t *outEnd) {
  MlirAttribute after = shardOpGetAttribute(module, stageAttribute);
  const char *stage = shardModuleGetStage(module);
  if (!stage && !mlirAttributeIsNull(after)) {
    MlirStringRef text =
        mlirAttributeIsAString(after) ? mlirStringAttrGetValue(after) : mlirStringRefCreate("", 0);
    return shardEmitError(module, "'spmd.after' is '%.*s', which is no pass of the pipeline",
                          (int)text.length, text.data);
  }
  *outFirst = stage ? pipelineIndex(mlirStringRefCreateFromCString(stage)) + 1 : 0;
  *outEnd = shardPipelineGetPassCount();
  intptr_t lower = pipelineIndex(mlirStringRefCreateFromCString(lowerPass));
  if (!options->lower && lower >= 0)
    *outEnd = lower;
  if (options->stopAfter) {
    intptr_t stop = pipelineIndex(mlirStringRefCreateFromCString(options->stopAfter));
    if (stop < 0)
      return shardEmitError(module, "no pass of the pipeline is named '%s'", options->stopAfter);
    if (stop < *outFirst)
      return shardEmitError(module, "cannot stop after '%s': the module comes from after '%s'",
                            options->stopAfter, stage);
    *outEnd = stop + 1;
  }
  if (*outEnd < *outFirst)
    *outEnd = *outFirst;
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Versions for smaller extents
//===----------------------------------------------------------------------===//

typedef struct Buckets {
  ShardArena *arena;
  ShardBucketRequest request;
  bool asked;           // several, by the user
  MlirOperation source; // the model as it came; null: no versions are made of it
  ShardOpList modules;  // beside the module while passes run, smallest first
} Buckets;

/// Runs a pass on a version; what it says is what it has said of the program. The error's text,
/// null: there was none.
static const char *runOnBucket(const ShardPassInfo *info, MlirOperation bucket,
                               OptionValues *values, bool verify, ShardArena *arena) {
  ShardFirstError first;
  shardFirstErrorBegin(&first, bucket, arena);
  bool ok = mlirLogicalResultIsSuccess(runPass(info, bucket, values)) &&
            (!verify || mlirOperationVerify(bucket));
  const char *text = shardFirstErrorEnd(&first);
  return ok ? NULL : text ? text : "it is not valid";
}

/// A version that cannot be had is left out, unless it was asked for.
static MlirLogicalResult leaveOut(const Buckets *buckets, MlirOperation module, const char *bounds,
                                  const char *why) {
  if (buckets->request.nListed)
    return shardEmitError(module, "--dim-buckets: no version for extents up to %s: %s", bounds,
                          why);
  shardEmitRemark(module, "no version for extents up to %s: %s", bounds, why);
  return mlirLogicalResultSuccess();
}

/// Before shard-import: keeps the model, of which versions may be made.
static MlirLogicalResult keepSource(Buckets *buckets, MlirOperation module,
                                    const ShardPipelineOptions *options) {
  if (mlirLogicalResultIsFailure(
          shardBucketRequestRead(module, options->buckets, buckets->arena, &buckets->request)))
    return mlirLogicalResultFailure();
  bool several = buckets->request.nListed || buckets->request.count > 1;
  buckets->asked = several && options->buckets;
  if (several && options->dims && strstr(options->dims, ".."))
    buckets->source = mlirOperationClone(module);
  return mlirLogicalResultSuccess();
}

static void insertBucket(ShardOpList *list, MlirOperation bucket) {
  size_t at = 0;
  while (at < list->nOps && shardBucketCompare(list->ops[at], bucket) < 0)
    ++at;
  if (at < list->nOps && shardBucketCompare(list->ops[at], bucket) == 0) {
    mlirOperationDestroy(bucket); // given twice
    return;
  }
  shardOpListAppend(list, bucket);
  memmove(list->ops + at + 1, list->ops + at, (list->nOps - 1 - at) * sizeof(*list->ops));
  list->ops[at] = bucket;
}

/// After shard-import: imports the model at each of the smaller bounds.
static MlirLogicalResult createBuckets(Buckets *buckets, const ShardPassInfo *info,
                                       MlirOperation module, const OptionValues *values) {
  bool open = !mlirAttributeIsNull(shardDynamicDims(module));
  if (!open && buckets->asked)
    return shardEmitError(module, "--dim-buckets: no dimension is open; --dim=ARG:D=..MAX is what "
                                  "leaves one open");
  if (!open || !buckets->source.ptr)
    return mlirLogicalResultSuccess();
  const char **texts;
  intptr_t n = shardBucketTexts(module, &buckets->request, buckets->arena, &texts);
  for (intptr_t t = 0; t < n; ++t) {
    OptionValues own = *values;
    for (intptr_t i = 0; i < own.count; ++i)
      if (strcmp(own.names[i], "dims") == 0) // of two for a dimension the last one holds
        own.values[i] = shardArenaFormat(buckets->arena, "%s,%s", own.values[i], texts[t]);
    MlirOperation bucket = mlirOperationClone(buckets->source);
    const char *why = runOnBucket(info, bucket, &own, false, buckets->arena);
    if (!why)
      why = shardBucketFindMisfit(module, bucket, buckets->arena);
    if (!why) {
      insertBucket(&buckets->modules, bucket);
      continue;
    }
    mlirOperationDestroy(bucket);
    if (mlirLogicalResultIsFailure(leaveOut(buckets, module, texts[t], why)))
      return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

/// Takes all versions through a pass that `module` has been through.
static MlirLogicalResult runOnBuckets(Buckets *buckets, const ShardPassInfo *info,
                                      MlirOperation module, OptionValues *values, bool verify) {
  ShardOpList *list = &buckets->modules;
  size_t kept = 0;
  MlirLogicalResult result = mlirLogicalResultSuccess();
  for (size_t i = 0; i < list->nOps; ++i) {
    MlirOperation bucket = list->ops[i];
    const char *why = runOnBucket(info, bucket, values, verify, buckets->arena);
    if (!why && strcmp(info->argument, spmdizePass) == 0)
      why = shardBucketFindConflict(module, bucket, buckets->arena);
    if (!why) {
      list->ops[kept++] = bucket;
      continue;
    }
    const char *bounds = shardBucketBoundsText(bucket, buckets->arena);
    mlirOperationDestroy(bucket);
    if (mlirLogicalResultIsSuccess(result))
      result = leaveOut(buckets, module, bounds, why);
  }
  list->nOps = kept;
  return result;
}

/// Versions of a program that was stopped.
static MlirLogicalResult takeBuckets(Buckets *buckets, MlirOperation module) {
  shardBucketsTake(module, &buckets->modules);
  for (size_t i = 0; i < buckets->modules.nOps; ++i) {
    const char *why = shardBucketFindMisfit(module, buckets->modules.ops[i], buckets->arena);
    if (why)
      return shardEmitError(buckets->modules.ops[i], "no version of the program around it: %s",
                            why);
  }
  return mlirLogicalResultSuccess();
}

static void releaseBuckets(Buckets *buckets) {
  for (size_t i = 0; i < buckets->modules.nOps; ++i)
    mlirOperationDestroy(buckets->modules.ops[i]);
  if (buckets->source.ptr)
    mlirOperationDestroy(buckets->source);
}

/// One pass, on the module and on its versions.
static MlirLogicalResult runOne(Buckets *buckets, const ShardPassInfo *info, MlirOperation module,
                                OptionValues *values, const ShardPipelineOptions *options,
                                bool last) {
  bool imports = strcmp(info->argument, importPass) == 0, verify = options->verifyEach || last;
  if (imports && mlirLogicalResultIsFailure(keepSource(buckets, module, options)))
    return mlirLogicalResultFailure();
  if (mlirLogicalResultIsFailure(runPass(info, module, values)))
    return mlirLogicalResultFailure();
  if (verify && !mlirOperationVerify(module))
    return mlirLogicalResultFailure(); // the verifier has said what is wrong
  return imports ? createBuckets(buckets, info, module, values)
                 : runOnBuckets(buckets, info, module, values, verify);
}

/// What the user does not want to be sent is looked for once the collectives are there.
static MlirLogicalResult checkComm(MlirOperation module, const ShardPipelineOptions *options) {
  const ShardPassInfo *info = shardPassInfoFind(mlirStringRefCreateFromCString("shard-check-comm"));
  char bytes[32];
  snprintf(bytes, sizeof bytes, "%" PRId64, options->maxCommBytes);
  OptionValues values = {0};
  addValue(&values, "forbid", options->forbid);
  addValue(&values, "max-bytes", bytes);
  addValue(&values, "implicit", options->noImplicitComm ? "false" : NULL);
  return runPass(info, module, &values);
}

static MlirLogicalResult runRange(MlirOperation module, const ShardPipelineOptions *options,
                                  OptionValues *values, Buckets *buckets, intptr_t first,
                                  intptr_t end) {
  intptr_t sharded = pipelineIndex(mlirStringRefCreateFromCString(spmdizePass)) + 1;
  bool checks = options->forbid || options->maxCommBytes >= 0 || options->noImplicitComm;
  if (checks && (sharded < first || sharded > end))
    return shardEmitError(module, "what is sent cannot be checked: %s",
                          end < sharded ? "the run ends before 'shard-spmdize'"
                                        : "the module is lowered already");
  if (checks && sharded == first && mlirLogicalResultIsFailure(checkComm(module, options)))
    return mlirLogicalResultFailure();
  for (intptr_t i = first; i < end; ++i) {
    const ShardPassInfo *info = pipelinePass(i);
    if (options->cancelled && options->cancelled(options->userData))
      return shardEmitError(module, "cancelled before '%s'", info->argument);
    if (options->progress)
      options->progress(options->userData, info->argument, i - first, end - first);
    if (mlirLogicalResultIsFailure(runOne(buckets, info, module, values, options, i + 1 == end)))
      return mlirLogicalResultFailure();
    if (checks && i + 1 == sharded && mlirLogicalResultIsFailure(checkComm(module, options)))
      return mlirLogicalResultFailure();
    if (options->inspect)
      options->inspect(options->userData, info->argument, module);
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardPipelineRun(MlirOperation module, const ShardPipelineOptions *options) {
  if (options->structBytes != sizeof(ShardPipelineOptions))
    return shardEmitError(module,
                          "structBytes is %zu; this library expects %zu, from "
                          "shardPipelineOptionsGetDefault",
                          options->structBytes, sizeof(ShardPipelineOptions));
  if (!shardOpIs(module, "builtin.module"))
    return shardEmitError(module, "expected a builtin.module");
  intptr_t first = 0, end = 0;
  if (mlirLogicalResultIsFailure(findRange(module, options, &first, &end)))
    return mlirLogicalResultFailure();
  OptionValues values = {0};
  const char *given[nOptionNames];
  givenOptions(options, given);
  for (int i = 0; i < nOptionNames; ++i)
    addValue(&values, optionNames[i], given[i]);
  if (mlirLogicalResultIsFailure(
          checkOptionsUsed(module, &values, first, shardPipelineGetPassCount())))
    return mlirLogicalResultFailure();
  if (first && options->buckets)
    return shardEmitError(module,
                          "'dim-buckets' is for a pass that does not run here: the module comes "
                          "from after '%s'",
                          shardPipelineGetPass(first - 1));
  ShardArena *arena = shardArenaCreate();
  loadOptions(module, &values, arena);
  MlirLogicalResult result = mlirLogicalResultSuccess();
  if (!findValue(&values, "degrees") && passesTake(first, end, "degrees"))
    result = first
                 ? shardEmitError(module, "no degrees are given, and 'shard-plan' is still to run")
                 : shardEmitError(module, "no degrees are given, and the module is not from a "
                                          "stop of the pipeline");
  if (mlirLogicalResultIsSuccess(result)) {
    shardOpRemoveAttribute(module, stageAttribute);
    shardOpRemoveAttribute(module, optionsAttribute);
    Buckets buckets = {.arena = arena, .modules = {.arena = arena}};
    if (first)
      result = takeBuckets(&buckets, module);
    if (mlirLogicalResultIsSuccess(result))
      result = runRange(module, options, &values, &buckets, first, end);
    if (mlirLogicalResultIsSuccess(result)) {
      shardBucketsGive(module, &buckets.modules);
      buckets.modules.nOps = 0;
    }
    releaseBuckets(&buckets);
  }
  if (mlirLogicalResultIsSuccess(result) && options->stopAfter) {
    shardOpSetAttribute(
        module, stageAttribute,
        shardAttrString(mlirOperationGetContext(module), shardPipelineGetPass(end - 1)));
    saveOptions(module, &values, end);
  }
  shardArenaDestroy(arena);
  return result;
}

MlirLogicalResult shardModuleExtractWeights(MlirOperation module, const char *function,
                                            const char *output) {
  const ShardPassInfo *info =
      shardPassInfoFind(mlirStringRefCreateFromCString("shard-extract-weights"));
  OptionValues values = {0};
  addValue(&values, "function", function);
  addValue(&values, "output", output);
  return runPass(info, module, &values);
}

MlirLogicalResult shardModulePlanBuffers(MlirOperation module, const char *mcpu) {
  if (!mlirAttributeIsNull(shardOpGetAttribute(module, "spmd.program")))
    return shardEmitError(module, "the module is lowered already; its buffers are no longer there");
  shardBucketsErase(module);
  OptionValues values = {0};
  addValue(&values, "to", "buffers");
  addValue(&values, "mcpu", mcpu);
  return runPass(shardPassInfoFind(mlirStringRefCreateFromCString(lowerPass)), module, &values);
}

MlirLogicalResult shardModuleWriteAnnotations(MlirOperation module, MlirStringCallback callback,
                                              void *userData) {
  return shardAnnotationsWrite(module, callback, userData);
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

typedef struct KeepState {
  MlirOperation module;
  ShardPointerMap *kept; // functions
  ShardArena *arena;
} KeepState;

static MlirLogicalResult keepFunction(KeepState *state, MlirOperation func);

static MlirLogicalResult keepCallee(void *user, MlirOperation call) {
  KeepState *state = user;
  MlirOperation func = shardModuleCallee(state->module, call);
  return mlirOperationIsNull(func) ? mlirLogicalResultSuccess() : keepFunction(state, func);
}

static MlirLogicalResult keepFunction(KeepState *state, MlirOperation func) {
  if (shardPointerMapGetOr(state->kept, func.ptr, 0))
    return mlirLogicalResultSuccess();
  shardPointerMapSet(state->kept, func.ptr, 1);
  return shardWalk(func, "func.call", keepCallee, state);
}

MlirLogicalResult shardModuleKeepStage(MlirOperation module, int64_t stage) {
  shardBucketsErase(module);
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  ShardArena *arena = shardArenaCreate();
  KeepState state = {module, shardPointerMapCreate(arena, 64), arena};
  MlirOperation found = {NULL};
  int64_t nStages = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func") || !shardFuncIsPublic(op) ||
        mlirBlockIsNull(shardFuncGetBody(op)))
      continue;
    int64_t number = 0; // a program of one stage carries no number
    shardAttrGetI64(shardOpGetAttribute(op, "spmd.stage"), &number);
    ++nStages;
    if (number == stage)
      found = op;
  }
  MlirLogicalResult result = mlirLogicalResultSuccess();
  if (mlirOperationIsNull(found)) {
    result =
        nStages == 1
            ? shardEmitError(module, "there is no stage %" PRId64 "; the program has one, 0", stage)
            : shardEmitError(module, "there is no stage %" PRId64 "; the stages are 0 to %" PRId64,
                             stage, nStages - 1);
  } else {
    keepFunction(&state, found);
    for (MlirOperation op = mlirBlockGetFirstOperation(body), next; !mlirOperationIsNull(op);
         op = next) {
      next = mlirOperationGetNextInBlock(op);
      if (shardOpIs(op, "func.func") && !shardPointerMapGetOr(state.kept, op.ptr, 0))
        mlirOperationDestroy(op);
    }
  }
  shardArenaDestroy(arena);
  return result;
}
