//===- Recount.c - A report's numbers from the program's text -----*- C -*-===//
// shard-report-recount program.mlir buffers.mlir cluster.json plan.json [page.html]: bytes by axes,
// flops, weights, peak and bubble, counted again on what was emitted, by code that shares nothing
// with the report, the simulator or the cost model; then those of the report, and of the page where
// it shows them. Times are those of a cluster where only contractions and rings take any.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "ReadJson.h"
#include "ReadProgram.h"

#include "shard/Pipelines.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Message {
  double sent, arrives;
} Message;

typedef struct Recount {
  MlirOperation module;
  ProgramMesh mesh;
  double flopsPerSecond, bytesPerSecond;
  double bytes[MAX_SETS]; // sent, by set of axes
  double flops[MAX_STAGES], weights[MAX_STAGES], held[MAX_STAGES], workspace[MAX_STAGES];
  double clock[MAX_STAGES], bubble[MAX_STAGES];
  bool sent[MAX_CHANNELS];
  Message messages[MAX_CHANNELS];
  int stage; // that is run
  const json_t *plan;
  const char *page; // null: none
  int nShown, nCompared, nFailures;
} Recount;

//===----------------------------------------------------------------------===//
// Messages and collectives
//===----------------------------------------------------------------------===//

static Message *messageOf(Recount *r, MlirOperation op, int64_t *channel) {
  *channel = integerOf(op, "spmd.channel");
  if (*channel < 0 || *channel >= MAX_CHANNELS)
    stop("more channels than are counted here");
  return &r->messages[*channel];
}

/// A send takes its rank until the data is there; a receive waits for it. What it waits before the
/// message is on its way is a bubble. `set`: of axes.
static void runMessage(Recount *r, MlirOperation op, unsigned set) {
  int64_t channel;
  double *clock = &r->clock[r->stage];
  if (r->mesh.ppAxis < 0 || set != 1U << r->mesh.ppAxis)
    stop("messages within a stage are not counted here");
  Message *message = messageOf(r, op, &channel);
  if (isOp(op, "shard.send")) {
    double bytes = bytesOf(mlirValueGetType(mlirOperationGetOperand(op, 0)));
    r->bytes[set] += bytes / r->mesh.nStages; // mean over all ranks
    *message = (Message){*clock, *clock + picoseconds(bytes / r->bytesPerSecond)};
    r->sent[channel] = true;
    *clock = message->arrives;
    return;
  }
  if (!r->sent[channel])
    stop("a message is received that no earlier stage sends");
  r->bubble[r->stage] += fmax(0, message->sent - *clock);
  *clock = fmax(*clock, message->arrives);
}

static void runCollective(Recount *r, MlirOperation op) {
  MlirAttribute axes = attributeOf(op, "grid_axes");
  unsigned set = 0;
  double n = 1;
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(axes); ++i) {
    int16_t axis = mlirDenseI16ArrayGetElement(axes, i);
    set |= 1U << axis;
    n *= (double)r->mesh.sizes[axis];
  }
  if (isOp(op, "shard.send") || isOp(op, "shard.recv")) {
    if (isOp(op, "shard.recv")) // it may come before it is asked for, and there are no loops here
      r->held[r->stage] += bytesOf(mlirValueGetType(mlirOperationGetResult(op, 0)));
    runMessage(r, op, set);
    return;
  }
  if (isOp(op, "shard.all_slice"))
    return;
  double bytes = ringBytes(op, n, "shard.", "");
  r->bytes[set] += bytes / r->mesh.nStages;
  r->clock[r->stage] += picoseconds(bytes / r->bytesPerSecond);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void runBlock(Recount *r, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    if (isOp(op, "func.call")) {
      MlirAttribute callee = attributeOf(op, "callee");
      runBlock(r, blockOf(findFunction(r->module, mlirFlatSymbolRefAttrGetValue(callee))));
    } else if (name.length > 4 && memcmp(name.data, "scf.", 4) == 0) {
      stop("loops are not counted here");
    } else if (!mlirAttributeIsNull(attributeOf(op, "grid_axes"))) {
      runCollective(r, op);
    } else {
      double flops = flopsOf(op);
      r->flops[r->stage] += flops;
      r->clock[r->stage] += picoseconds(flops / r->flopsPerSecond);
    }
  }
}

/// Arguments and results, to which messages come as they are met, and weights apart.
static void countHeld(Recount *r, MlirOperation func) {
  MlirBlock block = blockOf(func);
  MlirAttribute all = attributeOf(func, "arg_attrs");
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
    double bytes = bytesOf(mlirValueGetType(mlirBlockGetArgument(block, i)));
    MlirAttribute role =
        mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(all, i), ref("spmd.role"));
    bool weight = mlirStringRefEqual(mlirStringAttrGetValue(role), ref("weight"));
    r->weights[r->stage] += weight ? bytes : 0;
    r->held[r->stage] += bytes;
  }
  MlirOperation end = mlirBlockGetTerminator(block);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i)
    r->held[r->stage] += bytesOf(mlirValueGetType(mlirOperationGetOperand(end, i)));
}

static void runProgram(Recount *r) {
  r->mesh = readMesh(r->module);
  for (r->stage = 0; r->stage < r->mesh.nStages; ++r->stage) {
    MlirOperation func = stageFunction(r->module, &r->mesh, r->stage);
    countHeld(r, func);
    runBlock(r, blockOf(func));
  }
}

/// The highest byte of each stage's workspace, from the text of its buffers.
static void readBuffers(Recount *r, const char *path) {
  FILE *in = fopen(path, "r");
  char *line = NULL;
  size_t capacity = 0;
  int stage = -1;
  while (in && getline(&line, &capacity, in) > 0) {
    const char *func = strstr(line, "func.func "), *main = func ? strstr(func, "@main") : NULL;
    if (func)
      stage = !main ? -1 : strncmp(main, "@main_stage", 11) == 0 ? atoi(main + 11) : 0;
    const char *offset = strstr(line, "spmd.offset = "), *bytes = strstr(line, "spmd.bytes = ");
    if (stage < 0 || stage >= r->mesh.nStages || !offset || !bytes)
      continue;
    r->workspace[stage] =
        fmax(r->workspace[stage], strtod(offset + strlen("spmd.offset = "), NULL) +
                                      strtod(bytes + strlen("spmd.bytes = "), NULL));
  }
  free(line);
  if (!in || fclose(in) != 0)
    stop("no buffers");
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// What the page shows for a place of the report; NAN: nothing.
static double shownAt(const Recount *r, const char *path) {
  char *key;
  if (!r->page || asprintf(&key, "\" data-path=\"%s\"", path) < 0)
    return NAN;
  const char *at = strstr(r->page, key);
  free(key);
  if (!at)
    return NAN;
  while (at > r->page && at[-1] != '"')
    --at;
  return strtod(at, NULL);
}

static void compare(Recount *r, const char *path, double counted) {
  const json_t *there = resolveJson(r->plan, path);
  double reported = json_number_value(there), shown = shownAt(r, path);
  ++r->nCompared;
  r->nShown += !isnan(shown);
  if (!json_is_number(there) || fabs(reported - counted) > 1e-9 * fabs(counted)) {
    printf("FAIL: %s: counted %.15g, reported %.15g\n", path, counted, reported);
    ++r->nFailures;
  }
  if (!isnan(shown) && fabs(shown - counted) > 1e-9 * fabs(counted)) {
    printf("FAIL: %s: counted %.15g, shown %.15g\n", path, counted, shown);
    ++r->nFailures;
  }
}

static void compareOf(Recount *r, const char *format, int i, double counted) {
  char path[64];
  snprintf(path, sizeof(path), format, i);
  compare(r, path, counted);
}

/// "tp" names all its parts, "tp.0" and "tp.1".
static unsigned setOf(const Recount *r, const json_t *axes) {
  unsigned set = 0;
  for (size_t i = 0; i < json_array_size(axes); ++i)
    for (int a = 0; a < r->mesh.nAxes; ++a) {
      const char *name = json_string_value(json_array_get(axes, i));
      size_t length = strlen(name);
      bool part = strncmp(r->mesh.names[a], name, length) == 0 && r->mesh.names[a][length] == '.';
      if (part || strcmp(r->mesh.names[a], name) == 0)
        set |= 1U << a;
    }
  return set;
}

/// The rows of a set of axes together.
static void compareBytes(Recount *r) {
  const json_t *rows = json_object_get(r->plan, "communication");
  for (unsigned set = 0; set < 1U << r->mesh.nAxes; ++set) {
    double reported = 0, shown = 0;
    bool any = false;
    for (size_t i = 0; i < json_array_size(rows); ++i) {
      const json_t *row = json_array_get(rows, i);
      if (setOf(r, json_object_get(row, "axes")) != set)
        continue;
      char path[64];
      snprintf(path, sizeof(path), "/communication/%zu/sentBytes", i);
      any = true;
      reported += json_number_value(json_object_get(row, "sentBytes"));
      shown += shownAt(r, path);
    }
    if (!any && r->bytes[set] == 0)
      continue;
    ++r->nCompared;
    r->nShown += !isnan(shown);
    if (fabs(reported - r->bytes[set]) > 1e-9 * r->bytes[set] ||
        (!isnan(shown) && fabs(shown - r->bytes[set]) > 1e-9 * r->bytes[set])) {
      printf("FAIL: bytes over axes %#x: counted %.15g, reported %.15g, shown %.15g\n", set,
             r->bytes[set], reported, shown);
      ++r->nFailures;
    }
  }
}

static void compareAll(Recount *r) {
  double step = 0, bubble = 0, most = 0;
  for (int s = 0; s < r->mesh.nStages; ++s)
    step = fmax(step, r->clock[s]);
  for (int s = 0; s < r->mesh.nStages; ++s) {
    bubble += (r->bubble[s] + step - r->clock[s]) / step / r->mesh.nStages;
    most = fmax(most, r->held[s] + r->workspace[s]);
    compareOf(r, "/stages/%d/cost", s, r->flops[s]);
    compareOf(r, "/memory/%d/atPeak/weight", s, r->weights[s]);
    compareOf(r, "/memory/%d/peakBytes", s, r->held[s] + r->workspace[s]);
  }
  compareBytes(r);
  compare(r, "/headline/stepPs", step);
  compare(r, "/headline/peakBytes", most);
  compare(r, "/simulation/bubble", bubble);
}

static char *readText(const char *path) {
  FILE *in = fopen(path, "rb");
  char *text = NULL;
  size_t capacity = 0;
  if (!in || getdelim(&text, &capacity, 0, in) < 0)
    stop("no page");
  fclose(in);
  return text;
}

int main(int argc, char **argv) {
  if (argc != 5 && argc != 6)
    stop("usage: program.mlir buffers.mlir cluster.json plan.json [page.html]");
  MlirContext context = mlirContextCreateWithThreading(false);
  shardContextPrepare(context);
  MlirModule module = shardModuleParseFile(context, argv[1]);
  if (mlirModuleIsNull(module))
    return 2;
  json_t *cluster = readJson(argv[3]), *plan = readJson(argv[4]);
  char *page = argc == 6 ? readText(argv[5]) : NULL;
  Recount r = {.module = mlirModuleGetOperation(module),
               .plan = plan,
               .page = page,
               .flopsPerSecond =
                   json_number_value(resolveJson(cluster, "/devices/0/flops/f32/achieved/value")),
               .bytesPerSecond = json_number_value(
                   resolveJson(cluster, "/links/0/bytesPerSecond/achieved/value"))};
  runProgram(&r);
  readBuffers(&r, argv[2]);
  compareAll(&r);
  printf("%d numbers counted, %d of them shown, %d failures\n", r.nCompared, r.nShown, r.nFailures);
  free(page);
  json_decref(cluster);
  json_decref(plan);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return r.nFailures != 0;
}
