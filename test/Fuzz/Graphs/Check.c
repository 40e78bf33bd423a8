//===- Check.c - A random program against its original ------------*- C -*-===//
#define _GNU_SOURCE

#include "Check.h"

#include "../../../tools/model/Element.h"
#include "../../../tools/shard-run/Exact.h"
#include "../../../tools/shard-run/Execute.h"
#include "../../../tools/shard-run/Initialize.h"
#include "../../../tools/shard-run/Memory.h"
#include "../../../tools/shard-run/Values.h"
#include "Stock.h"
#include "shard/Load.h"
#include "shard/Pipelines.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdictName(Verdict verdict) {
  static const char *const names[] = {"passed", "refused", "wrong", "failed", "crashed", "hung"};
  return names[verdict];
}

//===----------------------------------------------------------------------===//
// Statistics of the layout, after shard-propagate
//===----------------------------------------------------------------------===//

static MlirStringRef string(const char *text) { return mlirStringRefCreateFromCString(text); }

static bool nameIs(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), string(name));
}

typedef struct Layout {
  MlirOperation grid;
  Outcome *out;
} Layout;

/// Devices along the axes of one dimension: "tp" also counts "tp.0" and "tp.1".
static int64_t axesSize(const Layout *layout, MlirAttribute axes) {
  MlirAttribute names = mlirOperationGetAttributeByName(layout->grid, string("spmd.axes"));
  MlirAttribute shape = mlirOperationGetAttributeByName(layout->grid, string("shape"));
  int64_t size = 1;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(axes); ++i) {
    MlirStringRef axis = mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i));
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(names); ++k) {
      MlirStringRef name = mlirStringAttrGetValue(mlirArrayAttrGetElement(names, k));
      bool part = name.length > axis.length && name.data[axis.length] == '.' &&
                  !memcmp(name.data, axis.data, axis.length);
      if (part || mlirStringRefEqual(name, axis))
        size *= mlirDenseI64ArrayGetElement(shape, k);
    }
  }
  return size;
}

static void noteSharding(const Layout *layout, MlirType type, MlirAttribute sharding,
                         MlirAttribute view) {
  if (mlirAttributeIsNull(sharding) || !mlirAttributeIsAArray(sharding))
    return;
  bool viewed = !mlirAttributeIsNull(view) && mlirAttributeIsADenseI64Array(view);
  for (intptr_t d = 0; d < mlirArrayAttrGetNumElements(sharding); ++d) {
    MlirAttribute axes = mlirArrayAttrGetElement(sharding, d);
    if (!mlirAttributeIsAArray(axes) || mlirArrayAttrGetNumElements(axes) == 0)
      continue;
    int64_t size = viewed                            ? mlirDenseI64ArrayGetElement(view, d)
                   : d < mlirShapedTypeGetRank(type) ? mlirShapedTypeGetDimSize(type, d)
                                                     : 0;
    layout->out->uneven |= size % axesSize(layout, axes) != 0;
  }
}

/// Entry `index` of a list attribute on an op; null if there is none.
static MlirAttribute entryOf(MlirOperation op, const char *name, intptr_t index) {
  MlirAttribute list = mlirOperationGetAttributeByName(op, string(name));
  if (mlirAttributeIsNull(list) || !mlirAttributeIsAArray(list) ||
      index >= mlirArrayAttrGetNumElements(list))
    return (MlirAttribute){NULL};
  return mlirArrayAttrGetElement(list, index);
}

static bool isPartial(MlirValue value) {
  if (!mlirValueIsAOpResult(value))
    return false;
  MlirAttribute entry =
      entryOf(mlirOpResultGetOwner(value), "spmd.partial", mlirOpResultGetResultNumber(value));
  return !mlirAttributeIsNull(entry) && mlirAttributeIsAArray(entry) &&
         mlirArrayAttrGetNumElements(entry) > 0;
}

/// Whether one of a reshape's merged dimensions is split, on the side that has them apart.
static bool reshapesSplit(MlirOperation op) {
  bool expands = nameIs(op, "tensor.expand_shape");
  MlirValue fine = expands ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, 0);
  MlirAttribute sharding;
  if (mlirValueIsAOpResult(fine)) {
    sharding =
        entryOf(mlirOpResultGetOwner(fine), "spmd.sharding", mlirOpResultGetResultNumber(fine));
  } else {
    MlirOperation func = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(fine));
    MlirAttribute entry = entryOf(func, "arg_attrs", mlirBlockArgumentGetArgNumber(fine));
    sharding = mlirAttributeIsNull(entry)
                   ? entry
                   : mlirDictionaryAttrGetElementByName(entry, string("spmd.sharding"));
  }
  MlirAttribute groups = mlirOperationGetAttributeByName(op, string("reassociation"));
  if (mlirAttributeIsNull(sharding) || !mlirAttributeIsAArray(sharding) ||
      mlirArrayAttrGetNumElements(sharding) != mlirShapedTypeGetRank(mlirValueGetType(fine)))
    return false;
  intptr_t d = 0;
  for (intptr_t g = 0; g < mlirArrayAttrGetNumElements(groups); ++g) {
    intptr_t n = mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(groups, g));
    for (intptr_t k = 0; k < n; ++k, ++d)
      if (n > 1 && mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(sharding, d)) > 0)
        return true;
  }
  return false;
}

static MlirWalkResult noteOp(MlirOperation op, void *user) {
  const Layout *layout = user;
  bool takes = false, makes = false;
  if (nameIs(op, "func.func")) {
    MlirRegion region = mlirOperationGetRegion(op, 0);
    MlirBlock body = mlirRegionGetFirstBlock(region);
    for (intptr_t i = 0; !mlirBlockIsNull(body) && i < mlirBlockGetNumArguments(body); ++i) {
      MlirAttribute entry = entryOf(op, "arg_attrs", i);
      if (!mlirAttributeIsNull(entry))
        noteSharding(layout, mlirValueGetType(mlirBlockGetArgument(body, i)),
                     mlirDictionaryAttrGetElementByName(entry, string("spmd.sharding")),
                     mlirDictionaryAttrGetElementByName(entry, string("spmd.view")));
    }
    return MlirWalkResultAdvance;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    makes |= isPartial(result);
    if (mlirTypeIsARankedTensor(mlirValueGetType(result)))
      noteSharding(layout, mlirValueGetType(result), entryOf(op, "spmd.sharding", i),
                   entryOf(op, "spmd.view", i));
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    takes |= isPartial(mlirOperationGetOperand(op, i));
  layout->out->partial |= takes && makes;
  if (nameIs(op, "tensor.expand_shape") || nameIs(op, "tensor.collapse_shape"))
    layout->out->reshape |= reshapesSplit(op);
  return MlirWalkResultAdvance;
}

static MlirWalkResult findGrid(MlirOperation op, void *user) {
  if (!nameIs(op, "shard.grid"))
    return MlirWalkResultAdvance;
  *(MlirOperation *)user = op;
  return MlirWalkResultInterrupt;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

typedef struct Compiled {
  Outcome *out;
  bool original;
  Distribution *distributions;
  size_t nDistributions;
  MlirOperation imported;
  ShardLoaded *loaded;
  const ShardProgram *program;
} Compiled;

typedef struct Message {
  char *text;
  size_t size, used;
} Message;

static void appendMessage(MlirStringRef part, void *user) {
  Message *message = user;
  for (size_t i = 0; i < part.length && message->used + 1 < message->size; ++i)
    message->text[message->used++] = part.data[i] == '\n' ? ' ' : part.data[i];
  message->text[message->used] = 0;
}

static MlirLogicalResult handleDiagnostic(MlirDiagnostic diagnostic, void *user) {
  Outcome *out = user;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError && !out->message[0]) {
    Message message = {out->message, sizeof out->message, 0};
    shardDiagnosticFormat(diagnostic, "shard-opt", appendMessage, &message);
  }
  return mlirLogicalResultSuccess();
}

static void inspect(void *userData, const char *pass, MlirOperation module) {
  Compiled *compiled = userData;
  if (compiled->original && !strcmp(pass, "shard-import")) {
    compiled->distributions = initializeFromModule(module, &compiled->nDistributions);
    compiled->imported = mlirOperationClone(module);
  }
  if (!compiled->original && !strcmp(pass, "shard-propagate")) {
    Layout layout = {{NULL}, compiled->out};
    mlirOperationWalk(module, findGrid, &layout.grid, MlirWalkPreOrder);
    if (!mlirOperationIsNull(layout.grid))
      mlirOperationWalk(module, noteOp, &layout, MlirWalkPreOrder);
  }
}

/// An error of ours names what is wrong with the input; one of MLIR's verifier is about what a pass
/// made of it.
static bool isOwnError(const char *message) {
  static const char *const others[] = {"see current operation", " op expected ",
                                       " op failed to ",        " op inferred ",
                                       " op unexpected ",       "Dimension size mismatch"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (strstr(message, others[i]))
      return false;
  return message[0] != 0;
}

static bool compile(MlirContext context, const char *text, const char *degrees, Compiled *out) {
  MlirModule module = shardModuleParse(context, string(text), out->original ? "plain" : "sharded");
  if (mlirModuleIsNull(module)) {
    out->out->verdict = FAILED; // the generator's fault
    return false;
  }
  ShardPipelineOptions options = shardPipelineOptionsGetDefault();
  options.degrees = degrees;
  options.lower = true;
  options.verifyEach = true;
  options.inspect = inspect;
  options.userData = out;
  if (mlirLogicalResultIsSuccess(shardPipelineRun(mlirModuleGetOperation(module), &options)))
    out->loaded = shardLoadModule(mlirModuleGetOperation(module), NULL);
  else
    out->out->verdict = isOwnError(out->out->message) ? REFUSED : FAILED;
  if (out->loaded)
    out->program = shardLoadedGetProgram(out->loaded);
  else if (out->out->verdict == PASSED)
    out->out->verdict = FAILED;
  mlirModuleDestroy(module);
  return out->loaded != NULL;
}

static void compiledRelease(Compiled *compiled) {
  free(compiled->distributions);
  if (!mlirOperationIsNull(compiled->imported))
    mlirOperationDestroy(compiled->imported);
  shardLoadedDestroy(compiled->loaded);
}

//===----------------------------------------------------------------------===//
// Changing one rank's shard
//===----------------------------------------------------------------------===//

typedef struct Disturbance {
  const ShardProgram *program;
  int64_t rank;
  double by;
  bool touched;
} Disturbance;

/// Changes all floats that the rank holds, and what replicas hold of the same part.
static void disturb(void *userData, const ShardProgramValue *value, int64_t rank,
                    const Placement *placement, void *local) {
  Disturbance *disturbance = userData;
  Placement wanted;
  char message[256];
  (void)rank;
  if (!elementIsFloat(value->element) ||
      !placementCreate(disturbance->program, value, disturbance->rank, &wanted, message,
                       sizeof message) ||
      !placementEqual(placement, &wanted))
    return;
  for (int32_t d = 0; d < placement->nDims; ++d)
    if (placement->extent[d] <= 0)
      return;
  for (size_t i = 0; i < placement->localCount; ++i)
    elementWrite(value->element, local, i, elementRead(value->element, local, i) + disturbance->by);
  if (placement->localCount)
    __atomic_store_n(&disturbance->touched, true, __ATOMIC_RELAXED);
}

static bool differs(const Execution *execution) {
  bool held = execution->nFaults == 0;
  for (size_t i = 0; i < execution->nChecks; ++i)
    held &= execution->checks[i].held;
  return !held;
}

/// Runs again for each rank, its shard changed: some result must change.
static void measureSensitivity(const ShardProgram *program, const ValueSet *values,
                               const Execution *reference, Outcome *out) {
  static const double by[] = {1, -3, 0.5, 40};
  bool *exact = memoryZeroed(reference->nResults * sizeof *exact + 1);
  memset(exact, 1, reference->nResults);
  Reference itself = {.what = "itself",
                      .nResults = reference->nResults,
                      .values = (const void *const *)reference->results,
                      .tolerance = 0,
                      .own = true,
                      .exact = exact};
  for (int64_t rank = 0; rank < out->nRanks; ++rank) {
    bool changed = false, touched = false;
    for (size_t i = 0; i < sizeof by / sizeof *by && !changed; ++i) {
      Disturbance disturbance = {program, rank, by[i], false};
      ExecuteOptions options = {.iterations = 1,
                                .nReferences = 1,
                                .references = &itself,
                                .disturb = disturb,
                                .userData = &disturbance};
      Execution execution;
      executeProgram(program, values, &options, &execution);
      changed = differs(&execution);
      touched |= disturbance.touched;
      executionRelease(&execution);
      if (!touched)
        break;
    }
    out->nDisturbed += touched;
    out->nSensitive += touched && changed;
  }
  free(exact);
}

//===----------------------------------------------------------------------===//
// One program
//===----------------------------------------------------------------------===//

static void describeDifference(const ShardProgram *program, const Execution *execution,
                               Outcome *out) {
  out->verdict = WRONG;
  if (execution->nFaults)
    snprintf(out->message, sizeof out->message, "%s", execution->faults[0]);
  for (size_t i = 0; i < execution->nChecks; ++i) {
    const ResultCheck *check = &execution->checks[i];
    if (check->held)
      continue;
    char place[200] = "";
    for (int32_t k = 0; k < program->nResults; ++k)
      if (program->results[k].index == check->index)
        valuesFormatPlace(&program->results[k], check->at, place, sizeof place);
    snprintf(out->message, sizeof out->message,
             "result %" PRId32 ": %.17g for %.17g at %s on rank %" PRId64 " (error %.3g, bar %.3g)",
             check->index, check->got, check->expected, place, check->rank, check->error,
             check->tolerance);
    return;
  }
}

static void compare(const Program *p, const Compiled *original, const Compiled *sharded,
                    const char *stock, Outcome *out) {
  ValueOptions valueOptions = {.seeded = true,
                               .seed = out->seed,
                               .distributions = original->distributions,
                               .nDistributions = original->nDistributions,
                               .describing = original->program};
  size_t nFacts;
  ExactFact *facts = exactChoose(original->imported, original->program, &valueOptions, &nFacts);
  bool *exact = memoryZeroed(nFacts + 1);
  out->exact = true;
  for (size_t i = 0; i < nFacts; ++i) {
    if (!(exact[i] = facts[i].exact)) {
      char *reason = exactReason(&facts[i]);
      snprintf(out->message, sizeof out->message, "not exact: %s", reason);
      free(reason);
      out->exact = false;
    }
  }
  if (!p->exact) { // any numbers
    snprintf(out->message, sizeof out->message, "in f64, with ops that round");
    valueOptions.wholeNumbers = 0, memset(exact, 0, nFacts), out->exact = false;
  }
  free(facts);
  ValueSet values, originalValues;
  valuesCreate(original->program, &valueOptions, &originalValues);
  valuesCreate(sharded->program, &valueOptions, &values);
  ExecuteOptions once = {.iterations = 1, .keepResults = true};
  Execution originalRun, run;
  executeProgram(original->program, &originalValues, &once, &originalRun);
  Reference reference = {.what = "the original",
                         .nResults = originalRun.nResults,
                         .values = (const void *const *)originalRun.results,
                         .tolerance = p->exact ? -1 : 1e-9, // f64; what is exact has no bar
                         .own = true,
                         .exact = exact};
  ExecuteOptions twice = {
      .iterations = 2, .nReferences = 1, .references = &reference, .keepResults = true};
  Disturbance planted = {sharded->program, 0, 1, false};
  if (p->planted)
    twice.disturb = disturb, twice.userData = &planted;
  executeProgram(sharded->program, &values, &twice, &run);
  for (int k = 0; k < SHARD_RT_N_KINDS; ++k)
    out->collective |= run.bytes[k] > 0;
  out->nRanks = (int)run.nRanks;
  if (originalRun.nFaults)
    describeDifference(original->program, &originalRun, out);
  else if (differs(&run))
    describeDifference(sharded->program, &run, out);
  else if (!p->brief)
    measureSensitivity(sharded->program, &values, &run, out);
  if (stock && out->verdict == PASSED)
    stockWrite(stock, p->plain.data, original->program, &originalValues, &originalRun, exact);
  executionRelease(&run);
  executionRelease(&originalRun);
  valuesRelease(&values);
  valuesRelease(&originalValues);
  free(exact);
}

void checkProgram(const Program *program, const char *stock, Outcome *out) {
  static MlirContext context; // a child's own
  if (mlirContextIsNull(context)) {
    context = mlirContextCreate();
    mlirContextEnableMultithreading(context, false);
    shardContextPrepare(context);
  }
  memcpy(out->used, program->used, sizeof out->used);
  out->hasCall = program->hasCall;
  out->hasLoop = program->hasLoop;
  out->nOps = program->nOps;
  out->verdict = PASSED;
  MlirDiagnosticHandlerID handler =
      mlirContextAttachDiagnosticHandler(context, handleDiagnostic, out, NULL);
  Compiled original = {.out = out, .original = true}, sharded = {.out = out};
  if (program->failed) {
    out->verdict = FAILED;
    snprintf(out->message, sizeof out->message, "no program");
  } else if (compile(context, program->plain.data, "tp1", &original) &&
             compile(context, program->module.data, program->degrees, &sharded)) {
    out->message[0] = 0;
    compare(program, &original, &sharded, stock, out);
  }
  compiledRelease(&original);
  compiledRelease(&sharded);
  mlirContextDetachDiagnosticHandler(context, handler);
}
