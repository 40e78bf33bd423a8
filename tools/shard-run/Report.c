//===- Report.c - What a run showed -------------------------------*- C -*-===//
#define _GNU_SOURCE

#include "Report.h"
#include "../model/Element.h"
#include "Memory.h"
#include "MemoryCheck.h"

#include "../common/OutputFile.h"
#include "../common/Safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Kinds that move something: all but the last, a barrier.
enum { nMovingKinds = SHARD_RT_BARRIER };

static const ShardProgramValue *findResult(const ShardProgram *program, int32_t index) {
  for (int32_t i = 0; i < program->nResults; ++i)
    if (program->results[i].index == index)
      return &program->results[i];
  return NULL;
}

static void formatBytes(double bytes, char *text, size_t textSize) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
    bytes /= 1024;
    ++unit;
  }
  snprintf(text, textSize, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static void printCheck(const ShardProgram *program, const ResultCheck *check) {
  const ShardProgramValue *value = findResult(program, check->index);
  char type[256], place[512];
  const char *notFinite = check->notFinite ? ", some values not finite" : "";
  valuesFormatType(value, type, sizeof type);
  printf("result %" PRId32 " %s", check->index, type);
  if (!check->what) {
    printf(": largest magnitude %.6g%s, compared between ranks only\n", check->maxAbs, notFinite);
    return;
  }
  printf(" against %s: ", check->what);
  if (check->error == 0) {
    printf("equal (largest magnitude %.6g%s)\n", check->maxAbs, notFinite);
    return;
  }
  valuesFormatPlace(value, check->at, place, sizeof place);
  if (check->exact)
    printf("%.17g for %.17g at %s on rank %" PRId64 "\n", check->got, check->expected, place,
           check->rank);
  else
    printf("error %.3g (bar %.3g, largest magnitude %.6g%s), %" PRIu64
           " ulp, at %s on rank %" PRId64 "\n",
           check->error, check->tolerance, check->maxAbs, notFinite, check->ulp, place,
           check->rank);
}

static void printMismatch(const ShardProgram *program, const Execution *execution,
                          const ResultCheck *check) {
  char place[512], iteration[64] = "";
  valuesFormatPlace(findResult(program, check->index), check->at, place, sizeof place);
  if (execution->iterations > 1)
    snprintf(iteration, sizeof iteration, ", iteration %" PRId32, check->iteration + 1);
  if (check->exact)
    fprintf(stderr,
            "mismatch: result %" PRId32 " against %s: %.17g for %.17g at %s on rank %" PRId64
            "%s\n",
            check->index, check->what, check->got, check->expected, place, check->rank, iteration);
  else
    fprintf(stderr,
            "mismatch: result %" PRId32 " against %s: error %.3g is above %.3g: %.9g for %.9g at "
            "%s on rank %" PRId64 "%s\n",
            check->index, check->what, check->error, check->tolerance, check->got, check->expected,
            place, check->rank, iteration);
}

bool reportText(const ShardProgram *program, const Execution *execution, bool quiet) {
  bool held = execution->nFaults == 0;
  if (!quiet) {
    printf("ranks: %" PRId64 " (", execution->nRanks);
    for (int32_t i = 0; i < program->nAxes; ++i)
      printf("%s%s %" PRId64, i ? " x " : "", program->axisNames[i], program->axisSizes[i]);
    printf(")\n");
  }
  for (size_t i = 0; i < execution->nChecks; ++i) {
    if (!quiet)
      printCheck(program, &execution->checks[i]);
    held &= execution->checks[i].held;
  }
  if (!quiet) {
    char text[64];
    printf("time of an iteration: minimum %.3f ms, median %.3f ms of %" PRId32 "\n",
           1e3 * execution->minSeconds, 1e3 * execution->medianSeconds, execution->iterations);
    printf("sent by a rank, mean, an iteration:");
    bool any = false;
    for (int kind = 0; kind < nMovingKinds; ++kind) {
      if (execution->bytes[kind] == 0)
        continue;
      formatBytes(execution->bytes[kind], text, sizeof text);
      printf("%s %s %s", any ? "," : "", shardRtKindGetName((ShardRtKind)kind), text);
      any = true;
    }
    printf("%s\n", any ? "" : " nothing");
    int64_t largest = 0;
    for (int64_t r = 1; r < execution->nRanks; ++r)
      if (execution->peakBytes[r] > execution->peakBytes[largest])
        largest = r;
    formatBytes((double)execution->peakBytes[largest], text, sizeof text);
    printf("memory: %s on rank %" PRId64 ", the largest\n", text, largest);
    if (execution->memory)
      memoryCheckPrint(program, execution);
  }
  fflush(stdout);
  for (size_t i = 0; i < execution->nChecks; ++i)
    if (!execution->checks[i].held)
      printMismatch(program, execution, &execution->checks[i]);
  for (size_t i = 0; i < execution->nFaults; ++i)
    fprintf(stderr, "mismatch: %s\n", execution->faults[i]);
  return held;
}

/// JSON has no infinity: null stands for what is no number.
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *jsonOutputs(const ShardProgram *program, const Execution *execution) {
  json_t *outputs = json_array();
  for (int32_t i = 0; i < program->nResults; ++i) {
    // The worst of the comparisons of this result.
    const ResultCheck *worst = NULL;
    bool held = true;
    for (size_t k = 0; k < execution->nChecks; ++k) {
      const ResultCheck *check = &execution->checks[k];
      if (check->index != program->results[i].index)
        continue;
      held &= check->held;
      if (!worst || check->error > worst->error)
        worst = check;
    }
    json_t *output = json_object(), *at = json_array();
    int64_t indices[PLACEMENT_MAX_DIMS];
    int32_t n = worst->what ? program->results[i].rank : 0;
    valuesIndicesOf(&program->results[i], worst->at, indices);
    for (int32_t d = 0; d < n; ++d)
      json_array_append_new(at, json_integer(indices[d]));
    json_object_set_new(output, "index", json_integer(worst->index));
    json_object_set_new(output, "maxAbs", number(worst->maxAbs));
    json_object_set_new(output, "error", worst->what ? number(worst->error) : json_null());
    json_object_set_new(output, "ulp", json_integer((json_int_t)worst->ulp));
    json_object_set_new(output, "rank", json_integer(worst->rank));
    json_object_set_new(output, "at", at);
    json_object_set_new(output, "held", json_boolean(held));
    json_array_append_new(outputs, output);
  }
  return outputs;
}

static json_t *jsonMemory(const Execution *execution) {
  json_t *rows = json_array();
  for (int64_t r = 0; r < execution->nRanks; ++r) {
    const RankMemory *memory = &execution->memory[r];
    json_t *row = json_object();
    const struct {
      const char *name;
      size_t value;
    } fields[] = {{"stage", (size_t)memory->stage},
                  {"workspaceBytes", memory->workspaceBytes},
                  {"workspaceWritten", memory->workspaceWritten},
                  {"argumentBytes", memory->argumentBytes},
                  {"resultBytes", memory->resultBytes},
                  {"stagingBytes", memory->stagingBytes},
                  {"stagedBytes", memory->stagedBytes}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
      json_object_set_new(row, fields[i].name, json_integer((json_int_t)fields[i].value));
    json_object_set_new(row, "allocations",
                        execution->allocationsSeen ? json_integer((json_int_t)memory->allocations)
                                                   : json_null());
    json_array_append_new(rows, row);
  }
  return rows;
}

void reportJson(const ShardProgram *program, const Execution *execution, const char *path) {
  json_t *root = json_object(), *mesh = json_object(), *axes = json_array(), *shape = json_array(),
         *iterations = json_object(), *bytes = json_object(), *peak = json_array(),
         *mismatches = json_array();
  for (int32_t i = 0; i < program->nAxes; ++i) {
    json_array_append_new(axes, json_string(program->axisNames[i]));
    json_array_append_new(shape, json_integer(program->axisSizes[i]));
  }
  json_object_set_new(mesh, "axes", axes);
  json_object_set_new(mesh, "shape", shape);
  json_object_set_new(mesh, "devices", json_integer(execution->nRanks));
  json_object_set_new(root, "mesh", mesh);
  json_object_set_new(iterations, "count", json_integer(execution->iterations));
  json_object_set_new(iterations, "minSeconds", json_real(execution->minSeconds));
  json_object_set_new(iterations, "medianSeconds", json_real(execution->medianSeconds));
  json_object_set_new(root, "iterations", iterations);
  json_object_set_new(root, "outputs", jsonOutputs(program, execution));
  for (int kind = 0; kind < nMovingKinds; ++kind)
    json_object_set_new(bytes, shardRtKindGetName((ShardRtKind)kind),
                        number(execution->bytes[kind]));
  json_object_set_new(root, "bytes", bytes);
  for (int64_t r = 0; r < execution->nRanks; ++r)
    json_array_append_new(peak, json_integer((json_int_t)execution->peakBytes[r]));
  json_object_set_new(root, "peakBytes", peak);
  if (execution->memory)
    json_object_set_new(root, "memory", jsonMemory(execution));
  for (size_t i = 0; i < execution->nFaults; ++i)
    json_array_append_new(mismatches, json_string(execution->faults[i]));
  json_object_set_new(root, "mismatches", mismatches);

  ShardOutputFile file;
  char message[1024];
  if (!shardOutputFileOpen(path, &file, message, sizeof message))
    stop("%s", message);
  json_dumpf(root, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  if (!shardOutputFileCommit(&file, message, sizeof message))
    stop("%s", message);
  json_decref(root);
}

static void saveSet(const ShardProgram *program, const Execution *execution, const char *path) {
  size_t n = (size_t)program->nResults;
  ShardSafetensor *tensors = memoryZeroed(n * sizeof *tensors);
  char (*names)[32] = memoryZeroed(n * sizeof *names);
  char message[1024];
  for (size_t i = 0; i < n; ++i) {
    const ShardProgramValue *value = &program->results[i];
    snprintf(names[i], sizeof names[i], "out%03" PRId32, value->index);
    if (value->rank > SHARD_NPY_MAX_RANK)
      stop("%s: result %" PRId32 " has more than %d dimensions", path, value->index,
           SHARD_NPY_MAX_RANK);
    tensors[i] =
        (ShardSafetensor){.name = names[i], .type = modelDataTypeOf(value), .rank = value->rank};
    memcpy(tensors[i].shape, value->globalShape, (size_t)value->rank * sizeof(int64_t));
  }
  ShardSafetensorsWriter *writer =
      shardSafetensorsWriterCreate(path, n, tensors, 0, NULL, message, sizeof message);
  bool ok = writer != NULL;
  for (size_t i = 0; ok && i < n; ++i)
    ok = shardSafetensorsWriterAdd(writer, execution->results[program->results[i].index], message,
                                   sizeof message);
  if (!ok)
    shardSafetensorsWriterAbandon(writer);
  if (!ok || !shardSafetensorsWriterFinish(writer, message, sizeof message))
    stop("%s", message);
  free(tensors);
  free(names);
}

void reportSave(const ShardProgram *program, const Execution *execution, const char *place) {
  if (shardSafetensorsNamed(place)) {
    saveSet(program, execution, place);
    return;
  }
  for (int32_t i = 0; i < program->nResults; ++i) {
    const ShardProgramValue *value = &program->results[i];
    char *path, message[1024];
    if (asprintf(&path, "%s/out%03" PRId32 ".npy", place, value->index) < 0)
      stop("out of memory");
    if (!shardNpyWriteFile(path, modelDataTypeOf(value), value->rank, value->globalShape,
                           execution->results[value->index], message, sizeof message))
      stop("%s", message);
    free(path);
  }
}
