//===- Recount.c - Counts the memory of a program from its text ---*- C -*-===//
// shard-recount BUFFERS.mlir PLAN.json [RUN.json]
// Reads what shard-opt --emit=buffers printed, what --memory-plan=json says of the same program,
// and what shard-run --check-memory --json measured. With no code of the compiler it finds when
// each buffer is in use (Trace.c), and demands of every stage:
//   - no two buffers in use at one moment share a byte;
//   - the workspace ends with its highest buffer, and is at most 1.02 x the most bytes in use;
//   - the plan says the same workspace, at least these bytes in use, and for each class the same
//   sum;
//   - every rank wrote its workspace up to that byte, planned it, and has the staging and the peak
//   of the plan.
// Exit 1 when something does not hold, each fault on a line of its own; 2 when it cannot be read.
//===----------------------------------------------------------------------===//
#include "Trace.h"

#include "../Matrix/ReadIr.h"
#include "../Report/ReadJson.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/RegisterEverything.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const classes[] = {"weights",     "gradients",     "optimizer", "activations",
                                      "temporaries", "communication", "staging"};
enum { N_CLASSES = sizeof classes / sizeof classes[0] };

typedef struct Sums {
  int64_t all, byClass[N_CLASSES];
} Sums;

static int classNumber(const char *name) {
  int i = 0;
  while (i < N_CLASSES && strcmp(classes[i], name) != 0)
    ++i;
  if (i == N_CLASSES)
    die("no class '%s'", name);
  return i;
}

static void addTo(Sums *sums, const char *name, int64_t bytes) {
  sums->all += bytes;
  sums->byClass[classNumber(name)] += bytes;
}

static json_t *jsonGet(const json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!value)
    die("no '%s' in the plan or the run", key);
  return value;
}

static int64_t jsonInteger(const json_t *object, const char *key) {
  return json_integer_value(jsonGet(object, key));
}

/// Bytes of a list of values or buffers, by class.
static Sums sumOf(const json_t *list) {
  Sums sums = {0};
  size_t i;
  json_t *item;
  json_array_foreach((json_t *)list, i, item)
      addTo(&sums, json_string_value(jsonGet(item, "class")), jsonInteger(item, "bytes"));
  return sums;
}

static bool equal(const Sums *a, const Sums *b) { return !memcmp(a, b, sizeof(*a)); }

//===----------------------------------------------------------------------===//
// One trace
//===----------------------------------------------------------------------===//

static void checkSize(const Instance *instance) {
  if (!is(instance->op, "memref.alloc"))
    return; // a panel: its size is measured only
  MlirType type = mlirValueGetType(mlirOperationGetResult(instance->op, 0));
  MlirType element = mlirShapedTypeGetElementType(type);
  int64_t bits = mlirTypeIsAInteger(element) ? mlirIntegerTypeGetWidth(element)
                 : mlirTypeIsAFloat(element) ? mlirFloatTypeGetWidth(element)
                                             : 64;
  int64_t bytes = (bits + 7) / 8;
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
    bytes *= mlirShapedTypeGetDimSize(type, i);
  if (bytes != instance->bytes)
    fault("a buffer of %" PRId64 " bytes has %" PRId64, bytes, instance->bytes);
}

static void checkApart(int64_t stage, const Trace *trace) {
  for (size_t i = 0; i < trace->nInstances; ++i) {
    const Instance *a = &trace->instances[i];
    checkSize(a);
    for (size_t k = 0; k < i; ++k) {
      const Instance *b = &trace->instances[k];
      if (a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
          b->offset < a->offset + a->bytes)
        fault("stage %" PRId64 ": bytes [%" PRId64 ", %" PRId64 ") and [%" PRId64 ", %" PRId64
              ") are in use at one moment",
              stage, a->offset, a->offset + a->bytes, b->offset, b->offset + b->bytes);
    }
  }
}

static void addSums(Sums *sums, const Sums *more, int64_t sign) {
  sums->all += sign * more->all;
  for (int c = 0; c < N_CLASSES; ++c)
    sums->byClass[c] += sign * more->byClass[c];
}

/// The most bytes in use at a moment of the activation. While a call runs it needs what it needs at
/// most: a layer is one function, whose offsets are the same in all its calls. `calls`: of those
/// in it, [nActivations]. *outSame: whether some moment has the sums of `expected`; may be null.
static Sums mostOf(const Trace *trace, size_t activation, const Sums *calls, const Sums *expected,
                   bool *outSame) {
  int64_t from = trace->activations[activation].first;
  int64_t n = trace->activations[activation].last - from + 1;
  Sums *changes = allocate((size_t)n + 1, sizeof(Sums)), now = {0}, most = {0};
  for (size_t i = 0; i < trace->nInstances; ++i) {
    const Instance *instance = &trace->instances[i];
    if (instance->activation != activation || instance->first > instance->last)
      continue;
    addTo(&changes[instance->first - from], instance->class_, instance->bytes);
    addTo(&changes[instance->last + 1 - from], instance->class_, -instance->bytes);
  }
  for (size_t a = activation + 1; a < trace->nActivations; ++a)
    if (trace->activations[a].caller == activation) {
      addSums(&changes[trace->activations[a].first - from], &calls[a], 1);
      addSums(&changes[trace->activations[a].last + 1 - from], &calls[a], -1);
    }
  for (int64_t m = 0; m < n; ++m) {
    addSums(&now, &changes[m], 1);
    if (now.all > most.all)
      most = now;
    if (outSame)
      *outSame |= equal(&now, expected);
  }
  free(changes);
  return most;
}

static Sums mostInUse(const Trace *trace, const Sums *expected, bool *outSame) {
  Sums *calls = allocate(trace->nActivations, sizeof(Sums));
  for (size_t a = trace->nActivations; a-- > 0;)
    calls[a] = mostOf(trace, a, calls, expected, a ? NULL : outSame);
  Sums most = calls[0];
  free(calls);
  return most;
}

/// The most bytes in use at a moment, if each call could place its buffers anew.
static int64_t leastPossible(const Trace *trace) {
  int64_t *changes = allocate((size_t)trace->nMoments + 2, sizeof(*changes)), now = 0, most = 0;
  for (size_t i = 0; i < trace->nInstances; ++i)
    if (trace->instances[i].first <= trace->instances[i].last) {
      changes[trace->instances[i].first] += trace->instances[i].bytes;
      changes[trace->instances[i].last + 1] -= trace->instances[i].bytes;
    }
  for (int64_t m = 0; m <= trace->nMoments; ++m) {
    now += changes[m];
    most = now > most ? now : most;
  }
  free(changes);
  return most;
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

static void printSums(const Sums *sums) {
  for (int c = 0; c < N_CLASSES; ++c)
    if (sums->byClass[c])
      printf(" %s %" PRId64, classes[c], sums->byClass[c]);
  printf("\n");
}

/// What the plan says is in use in the workspace at its peak.
static Sums plannedPeak(const json_t *plan) {
  Sums sums = {0}, arguments = sumOf(jsonGet(plan, "arguments")),
       results = sumOf(jsonGet(plan, "results"));
  for (int c = 0; c < N_CLASSES; ++c)
    addTo(&sums, classes[c],
          jsonInteger(jsonGet(plan, "peakByClass"), classes[c]) - arguments.byClass[c] -
              results.byClass[c]);
  addTo(&sums, "staging", -jsonInteger(plan, "stagingBytes"));
  return sums;
}

typedef struct Traces {
  size_t n;
  Trace all[1 << TRACE_CHOICES];
} Traces;

static bool isKnown(const Traces *traces, size_t before, const Instance *instance) {
  for (size_t t = 0; t < before; ++t)
    for (size_t k = 0; k < traces->all[t].nInstances; ++k) {
      const Instance *other = &traces->all[t].instances[k];
      if (mlirOperationEqual(other->op, instance->op) && other->calls == instance->calls)
        return true;
    }
  return false;
}

/// Every buffer once for each call: with the first choices, then those that only others have.
static Sums allBuffers(const Traces *traces) {
  Sums sums = {0};
  for (size_t t = 0; t < traces->n; ++t)
    for (size_t i = 0; i < traces->all[t].nInstances; ++i) {
      const Instance *instance = &traces->all[t].instances[i];
      bool used = !instance->repeated && instance->bytes && instance->first <= instance->last;
      if (used && !isKnown(traces, t, instance))
        addTo(&sums, instance->class_, instance->bytes);
    }
  return sums;
}

static void checkRun(int64_t stage, int64_t workspace, const json_t *plan, const json_t *run) {
  int64_t staging = jsonInteger(plan, "stagingBytes"), peak = jsonInteger(plan, "peakBytes");
  const json_t *peaks = jsonGet(run, "peakBytes");
  size_t rank;
  json_t *row;
  json_array_foreach(jsonGet(run, "memory"), rank, row) {
    if (jsonInteger(row, "stage") != stage)
      continue;
    int64_t planned = jsonInteger(row, "workspaceBytes");
    int64_t written = jsonInteger(row, "workspaceWritten");
    if (planned != workspace || written != workspace)
      fault("stage %" PRId64 ": the workspace is %" PRId64 " bytes, rank %zu was given %" PRId64
            " and wrote up to %" PRId64,
            stage, workspace, rank, planned, written);
    int64_t given = jsonInteger(row, "stagingBytes");
    int64_t had = json_integer_value(json_array_get(peaks, rank));
    if (given != staging || had != peak)
      fault("stage %" PRId64 ": the plan says staging %" PRId64 " and a peak of %" PRId64
            " bytes, rank %zu had %" PRId64 " and %" PRId64,
            stage, staging, peak, rank, given, had);
  }
}

/// Runs the stage with all choices at its branches: any, if they are few, else any of so many in
/// turn.
static void traceAll(MlirModule module, MlirOperation func, int64_t stage, const Sums *planned,
                     Traces *traces, Sums *outMost, int64_t *outLeast, bool *outSame) {
  int64_t nBranches = 0;
  for (unsigned choices = 0; choices < 1u << nBranches; ++choices) {
    Trace *trace = &traces->all[traces->n++];
    traceStage(module, func, choices, trace);
    checkApart(stage, trace);
    Sums found = mostInUse(trace, planned, outSame);
    *outMost = found.all > outMost->all ? found : *outMost;
    int64_t least = leastPossible(trace);
    *outLeast = least > *outLeast ? least : *outLeast;
    nBranches = trace->nBranches > nBranches ? trace->nBranches : nBranches;
    nBranches = nBranches < TRACE_CHOICES ? nBranches : TRACE_CHOICES;
  }
}

static int64_t endOf(const Traces *traces) {
  int64_t end = 0;
  for (size_t t = 0; t < traces->n; ++t)
    for (size_t i = 0; i < traces->all[t].nInstances; ++i) {
      const Instance *instance = &traces->all[t].instances[i];
      if (instance->first <= instance->last && instance->offset + instance->bytes > end)
        end = instance->offset + instance->bytes;
    }
  return end;
}

static void checkStage(MlirModule module, MlirOperation func, int64_t stage, const json_t *plan,
                       const json_t *run) {
  int64_t workspace = mlirIntegerAttrGetValueInt(attributeOf(func, "spmd.workspace"));
  Sums planned = plannedPeak(plan), most = {0}, all;
  Traces traces = {0};
  int64_t least = 0;
  bool same = false;
  traceAll(module, func, stage, &planned, &traces, &most, &least, &same);
  int64_t end = endOf(&traces);
  printf("stage %" PRId64 ": workspace %" PRId64 ", in use at most %" PRId64 " (%" PRId64
         " if each call placed its buffers anew):",
         stage, workspace, most.all, least);
  printSums(&most);
  if (end != workspace)
    fault("stage %" PRId64 ": the workspace is %" PRId64 " bytes, its buffers end at %" PRId64,
          stage, workspace, end);
  if (50 * workspace > 51 * most.all)
    fault("stage %" PRId64 ": the workspace is %" PRId64 " bytes, more than 1.02 x the %" PRId64
          " in use at a moment",
          stage, workspace, most.all);
  int64_t plannedWorkspace = jsonInteger(plan, "workspaceBytes");
  int64_t plannedLive = jsonInteger(plan, "liveBytes");
  if (plannedWorkspace != workspace || plannedLive < most.all || plannedLive > workspace)
    fault("stage %" PRId64 ": the plan says workspace %" PRId64 " and %" PRId64
          " in use; the text %" PRId64 " and %" PRId64,
          stage, plannedWorkspace, plannedLive, workspace, most.all);
  if (plannedLive == most.all && !same)
    fault("stage %" PRId64 ": the plan says other sums by class of the %" PRId64
          " bytes in use at the peak",
          stage, most.all);
  all = allBuffers(&traces);
  Sums listed = sumOf(jsonGet(plan, "buffers"));
  if (!jsonInteger(plan, "buffersLeftOut") && !equal(&all, &listed)) {
    fault("stage %" PRId64 ": the plan's buffers sum to %" PRId64 ", the text's to %" PRId64
          ", or otherwise by class",
          stage, listed.all, all.all);
    printSums(&listed);
    printSums(&all);
  }
  if (run)
    checkRun(stage, workspace, plan, run);
  for (size_t t = 0; t < traces.n; ++t)
    traceFree(&traces.all[t]);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4)
    die("usage: shard-recount BUFFERS.mlir PLAN.json [RUN.json]");
  MlirContext context = mlirContextCreateWithThreading(false);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  MlirModule module = parseFile(context, argv[1]);
  json_t *plan = readJson(argv[2]), *run = argc > 3 ? readJson(argv[3]) : NULL;
  json_t *stages = jsonGet(plan, "stages");
  MlirBlock body = mlirModuleGetBody(module);
  size_t stage = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (isPublicFunction(op)) {
      if (stage >= json_array_size(stages))
        die("more stages than the plan has");
      checkStage(module, op, (int64_t)stage, json_array_get(stages, stage), run);
      ++stage;
    }
  if (!stage || stage != json_array_size(stages))
    die("the plan has %zu stages, the text %zu", json_array_size(stages), stage);
  json_decref(plan);
  json_decref(run);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return faultCount() ? 1 : 0;
}
