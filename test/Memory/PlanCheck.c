//===- PlanCheck.c - What the numbers of a memory plan add up to ---*- C -*-===//
// shard-memory-check SCHEMA plan.json [run.json]: the plan is valid; its parts add up; a workspace
// is at most 1.02 times what is live at once; each rank of the run, shard-run's --json, had the
// peak of its stage.
//===----------------------------------------------------------------------===//
#include "Schema.h"

#include "../Report/ReadJson.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int nFailures;

static void expect(json_int_t found, json_int_t wanted, const char *what, size_t stage) {
  if (found == wanted)
    return;
  printf("FAIL: stage %zu: %s: %" PRId64 ", expected %" PRId64 "\n", stage, what, (int64_t)found,
         (int64_t)wanted);
  ++nFailures;
}

static json_int_t number(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static json_int_t sumClasses(json_t *classes) {
  json_int_t sum = 0;
  const char *key;
  json_t *value;
  json_object_foreach(classes, key, value) sum += json_integer_value(value);
  return sum;
}

static json_int_t sumBytes(const json_t *values) {
  json_int_t sum = 0;
  size_t i;
  json_t *value;
  json_array_foreach(values, i, value) sum += number(value, "bytes");
  return sum;
}

static void checkStage(json_t *stage, size_t s) {
  json_int_t held =
      number(stage, "argumentBytes") + number(stage, "resultBytes") + number(stage, "stagingBytes");
  json_int_t workspace = number(stage, "workspaceBytes"), live = number(stage, "liveBytes");
  expect(number(stage, "peakBytes"), held + workspace, "peak", s);
  expect(sumBytes(json_object_get(stage, "arguments")), number(stage, "argumentBytes"),
         "bytes of arguments", s);
  expect(sumBytes(json_object_get(stage, "results")), number(stage, "resultBytes"),
         "bytes of results", s);
  expect(sumClasses(json_object_get(stage, "peakByClass")), held + live, "classes at the peak", s);
  json_int_t end = 0, atPeak = 0, highest = 0;
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(stage, "buffers"), i, row) {
    json_int_t last = number(row, "offset") + number(row, "bytes");
    end = last > end ? last : end;
    atPeak += json_is_true(json_object_get(row, "atPeak")) ? number(row, "bytes") : 0;
    if (number(row, "firstStep") > number(row, "lastStep"))
      expect(number(row, "firstStep"), number(row, "lastStep"), "steps of a buffer", s);
  }
  expect(end, workspace, "end of the highest buffer", s);
  expect(atPeak, live, "buffers at the peak", s);
  json_array_foreach(json_object_get(stage, "steps"), i, row) {
    expect(sumClasses(json_object_get(row, "byClass")), number(row, "bytes"), "classes of a step",
           s);
    highest = number(row, "bytes") > highest ? number(row, "bytes") : highest;
  }
  if (i)
    expect(highest, held + live, "the highest step", s);
  json_int_t bound = number(stage, "boundBytes");
  if (bound < live || bound > workspace)
    expect(bound, workspace, "bound, from what is live to the workspace", s);
  if (workspace * 100 > live * 102)
    expect(workspace, live, "workspace, more than 1.02 times what is live", s);
}

/// Ranks in the order of the mesh, pp first: as many in each stage.
static void checkRun(const json_t *stages, const json_t *run) {
  const json_t *peaks = json_object_get(run, "peakBytes");
  size_t nRanks = json_array_size(peaks), nStages = json_array_size(stages);
  if (!nRanks || nRanks % nStages)
    expect((json_int_t)nRanks, (json_int_t)nStages, "ranks of the run", 0);
  for (size_t r = 0; r < nRanks; ++r) {
    size_t s = r / (nRanks / nStages);
    expect(json_integer_value(json_array_get(peaks, r)),
           number(json_array_get(stages, s), "peakBytes"), "peak of a rank", s);
  }
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: shard-memory-check SCHEMA plan.json [run.json]\n");
    return 2;
  }
  json_t *schema = readJson(argv[1]), *plan = readJson(argv[2]);
  if (!schemaAccepts(schema, schema, plan)) {
    puts("FAIL: the plan is not valid under the schema");
    ++nFailures;
  }
  const json_t *stages = json_object_get(plan, "stages");
  size_t s;
  json_t *stage;
  json_array_foreach(stages, s, stage) checkStage(stage, s);
  if (argc == 4) {
    json_t *run = readJson(argv[3]);
    checkRun(stages, run);
    json_decref(run);
  }
  json_decref(plan);
  json_decref(schema);
  printf("%d failures\n", nFailures);
  return nFailures != 0;
}
