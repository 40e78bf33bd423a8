//===- Report.c - A sharded program's numbers as JSON and text ----*- C -*-===//
// The form of the JSON is fixed by FORMATS, Report; keys are only added.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Report.h"

#include "../Core/Text.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json_t *shardReportText(MlirStringRef text) {
  json_t *json = json_stringn(text.length ? text.data : "", text.length);
  return json ? json : json_string("?"); // not UTF-8
}

static json_t *cTextJson(const char *text) {
  return shardReportText(mlirStringRefCreateFromCString(text));
}

const char *shardReportElementType(MlirType type, ShardArena *arena) {
  return shardTypeText(mlirTypeIsAShaped(type) ? mlirShapedTypeGetElementType(type) : type, arena);
}

json_t *shardReportShape(MlirType type) {
  json_t *shape = json_array();
  if (mlirTypeIsARankedTensor(type))
    for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
      json_array_append_new(shape, json_integer(mlirShapedTypeGetDimSize(type, i)));
  return shape;
}

json_t *shardReportAttribute(MlirAttribute attribute) {
  if (mlirAttributeIsNull(attribute))
    return json_null();
  if (mlirAttributeIsAString(attribute))
    return shardReportText(mlirStringAttrGetValue(attribute));
  json_t *array = json_array();
  if (mlirAttributeIsAArray(attribute))
    for (intptr_t i = 0, n = mlirArrayAttrGetNumElements(attribute); i < n; ++i)
      json_array_append_new(array, shardReportAttribute(mlirArrayAttrGetElement(attribute, i)));
  else if (mlirAttributeIsADenseI64Array(attribute))
    for (intptr_t i = 0, n = mlirDenseArrayGetNumElements(attribute); i < n; ++i)
      json_array_append_new(array, json_integer(mlirDenseI64ArrayGetElement(attribute, i)));
  return array;
}

static json_t *stagesJson(const ShardCount *count) {
  json_t *stages = json_array();
  for (int32_t i = 0; i < count->nStages; ++i)
    json_array_append_new(stages, json_pack("{s:i, s:I, s:I, s:I}", "index", (int)i, "units",
                                            (json_int_t)count->stages[i].units, "cost",
                                            (json_int_t)count->stages[i].cost, "parameterBytes",
                                            (json_int_t)count->stages[i].weightBytes));
  return stages;
}

static json_t *argumentsJson(const ShardCount *count, ShardArena *arena) {
  json_t *arguments = json_array();
  for (intptr_t i = 0; i < count->nArguments; ++i) {
    const ShardCountArgument *argument = &count->arguments[i];
    json_t *stages = json_array();
    for (int32_t s = 0; s < count->nStages; ++s)
      if (argument->inStage[s])
        json_array_append_new(stages, json_integer(s));
    json_t *entry = json_pack(
        "{s:I, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:I}", "index", (json_int_t)argument->index,
        "name", cTextJson(argument->name), "role", cTextJson(argument->role), "shape",
        shardReportShape(argument->global), "type", shardReportElementType(argument->global, arena),
        "view", shardReportAttribute(argument->view), "sharding",
        shardReportAttribute(argument->sharding), "stages", stages, "bytesPerDevice",
        (json_int_t)argument->bytesPerDevice);
    if (!mlirAttributeIsNull(argument->window))
      json_object_set_new(entry, "window", shardReportAttribute(argument->window));
    int64_t alias;
    if (shardAttrGetI64(argument->alias, &alias))
      json_object_set_new(entry, "alias", json_integer(alias));
    json_array_append_new(arguments, entry);
  }
  return arguments;
}

static json_t *collectivesJson(const ShardCount *count, ShardArena *arena) {
  json_t *collectives = json_array();
  for (intptr_t i = 0; i < count->nSites; ++i) {
    const ShardCountSite *site = &count->sites[i];
    json_t *calls = json_array();
    for (intptr_t k = 0; k < site->nCalls; ++k) {
      const ShardCountCall *call = &site->calls[k];
      json_t *entry = json_pack("{s:I, s:o, s:o}", "stage", (json_int_t)call->stage, "layer",
                                call->layer < 0 ? json_null() : json_integer(call->layer), "op",
                                cTextJson(call->op));
      if (call->times != 1)
        json_object_set_new(entry, "times", json_integer(call->times));
      json_array_append_new(calls, entry);
    }
    json_array_append_new(
        collectives,
        json_pack("{s:I, s:s, s:o, s:o, s:s, s:f, s:I, s:o, s:o, s:o}", "site",
                  (json_int_t)site->site, "kind", site->kind, "axes",
                  shardReportAttribute(site->axes), "shape", shardReportShape(site->type), "type",
                  shardReportElementType(site->type, arena), "bytes", site->bytes, "count",
                  (json_int_t)site->nTimes, "cause", cTextJson(site->cause), "op",
                  cTextJson(site->op), "calls", calls));
  }
  return collectives;
}

static json_t *devicesJson(const ShardCount *count) {
  json_t *devices = json_array();
  int64_t coordinates[SHARD_MAX_AXES];
  for (int64_t rank = 0, n = shardMeshDeviceCount(&count->mesh); rank < n; ++rank) {
    shardMeshCoordinates(&count->mesh, rank, coordinates);
    json_t *coords = json_array();
    for (int32_t a = 0; a < count->mesh.nAxes; ++a)
      json_array_append_new(coords, json_integer(coordinates[a]));
    int64_t stage = count->ppAxis < 0 ? 0 : coordinates[count->ppAxis];
    json_array_append_new(devices,
                          json_pack("{s:I, s:o, s:I}", "rank", (json_int_t)rank, "coords", coords,
                                    "parameterBytes",
                                    (json_int_t)count->stages[stage].weightBytesPerDevice));
  }
  return devices;
}

static json_t *makeJson(const ShardCount *count, MlirOperation module, ShardArena *arena,
                        intptr_t nWarnings, const char *const *warnings) {
  json_t *axes = json_array(), *list = json_array(), *collectives = collectivesJson(count, arena);
  for (int32_t a = 0; a < count->mesh.nAxes; ++a)
    json_array_append_new(axes, json_pack("{s:s, s:I}", "name", count->mesh.names[a], "size",
                                          (json_int_t)count->mesh.sizes[a]));
  for (intptr_t i = 0; i < nWarnings; ++i)
    json_array_append_new(list, cTextJson(warnings[i]));
  return json_pack("{s:i, s:{s:o, s:I}, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "mesh",
                   "axes", axes, "devices", (json_int_t)shardMeshDeviceCount(&count->mesh),
                   "stages", stagesJson(count), "arguments", argumentsJson(count, arena),
                   "collectives", collectives, "devices", devicesJson(count), "warnings", list,
                   "communication", shardReportCommunication(collectives), "values",
                   shardReportValues(module, arena));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static const char *bytesText(double bytes, ShardArena *arena) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 10240 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  if (unit && bytes < 100)
    return shardArenaFormat(arena, "%.1f %s", bytes, units[unit]);
  return shardArenaFormat(arena, "%.0f %s", bytes, units[unit]);
}

static const char *flopsText(double flops, ShardArena *arena) {
  static const char *const units[] = {"flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"};
  int unit = 0;
  while (flops >= 10000 && unit < 5) {
    flops /= 1000;
    ++unit;
  }
  return shardArenaFormat(arena, "%.*f %s", unit && flops < 100 ? 1 : 0, flops, units[unit]);
}

static const char *shapeText(MlirType type, ShardArena *arena) {
  const char *text = "";
  if (mlirTypeIsARankedTensor(type))
    for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
      text = shardArenaFormat(arena, "%s%" PRId64 "x", text, mlirShapedTypeGetDimSize(type, i));
  return shardArenaFormat(arena, "%s%s", text, shardReportElementType(type, arena));
}

static const char *axesText(MlirAttribute axes, ShardArena *arena) {
  if (mlirAttributeIsNull(axes) || !mlirAttributeIsAArray(axes))
    return "";
  const char *text = "";
  for (intptr_t i = 0, n = mlirArrayAttrGetNumElements(axes); i < n; ++i) {
    MlirAttribute axis = mlirArrayAttrGetElement(axes, i);
    if (!mlirAttributeIsAString(axis))
      continue;
    MlirStringRef name = mlirStringAttrGetValue(axis);
    text = shardArenaFormat(arena, "%s%s%.*s", text, i ? "," : "", (int)name.length, name.data);
  }
  return text;
}

// "[tp] [] seen as 96x3x12x8", "whole"
static const char *shardingText(const ShardCountArgument *argument, ShardArena *arena) {
  MlirAttribute sharding = argument->sharding;
  if (mlirAttributeIsNull(sharding) || !mlirAttributeIsAArray(sharding))
    return "whole";
  const char *text = "";
  bool split = false;
  for (intptr_t i = 0, n = mlirArrayAttrGetNumElements(sharding); i < n; ++i) {
    MlirAttribute entry = mlirArrayAttrGetElement(sharding, i);
    const char *axes = axesText(entry, arena);
    split |= *axes != 0;
    text = shardArenaFormat(arena, "%s%s[%s]", text, i ? " " : "", axes);
  }
  if (!split)
    return "whole";
  MlirAttribute view = argument->view;
  if (mlirAttributeIsNull(view) || !mlirAttributeIsADenseI64Array(view))
    return text;
  text = shardArenaFormat(arena, "%s seen as ", text);
  for (intptr_t i = 0, n = mlirDenseArrayGetNumElements(view); i < n; ++i)
    text = shardArenaFormat(arena, "%s%s%" PRId64, text, i ? "x" : "",
                            mlirDenseI64ArrayGetElement(view, i));
  return text;
}

static void writeMesh(FILE *out, const ShardCount *count) {
  fprintf(out, "mesh: ");
  for (int32_t a = 0; a < count->mesh.nAxes; ++a)
    fprintf(out, "%s%s=%" PRId64, a ? " " : "", count->mesh.names[a], count->mesh.sizes[a]);
  fprintf(out, ", %" PRId64 " devices\n", shardMeshDeviceCount(&count->mesh));
}

static void writeStages(FILE *out, const ShardCount *count, ShardArena *arena) {
  for (int32_t i = 0; i < count->nStages; ++i)
    fprintf(out, "stage %d: %" PRId64 " unit%s, %s in contractions and %s of weights a rank\n", i,
            count->stages[i].units, count->stages[i].units == 1 ? "" : "s",
            flopsText((double)count->stages[i].cost, arena),
            bytesText((double)count->stages[i].weightBytesPerDevice, arena));
}

static const char *namesText(const json_t *names, ShardArena *arena) {
  const char *text = "";
  for (size_t i = 0; i < json_array_size(names); ++i)
    text = shardArenaFormat(arena, "%s%s%s", text, i ? "," : "",
                            json_string_value(json_array_get(names, i)));
  return text;
}

static void writeCauses(FILE *out, const json_t *communication, ShardArena *arena) {
  const json_t *row;
  size_t i;
  double total = 0;
  json_array_foreach(communication, i, row) total +=
      json_real_value(json_object_get(row, "sentBytes"));
  fprintf(out, "collectives: %s sent by one rank a step, mean over ranks\n",
          bytesText(total, arena));
  json_array_foreach(communication, i, row)
      fprintf(out, "  %-14s %-5s x %-5" JSON_INTEGER_FORMAT " %10s  %s\n",
              json_string_value(json_object_get(row, "collective")),
              namesText(json_object_get(row, "axes"), arena),
              json_integer_value(json_object_get(row, "calls")),
              bytesText(json_real_value(json_object_get(row, "sentBytes")), arena),
              json_string_value(json_object_get(row, "cause")));
}

static void writeArguments(FILE *out, const ShardCount *count, ShardArena *arena) {
  fprintf(out, "arguments: index, role, shape, layout, stages, bytes a rank, name\n");
  for (intptr_t i = 0; i < count->nArguments; ++i) {
    const ShardCountArgument *argument = &count->arguments[i];
    const char *stages = "";
    for (int32_t s = 0; s < count->nStages; ++s)
      if (argument->inStage[s])
        stages = shardArenaFormat(arena, "%s%s%d", stages, *stages ? "," : "", s);
    fprintf(out, "  %4" PRId64 " %-6s %-18s %-28s %-5s %10s  %s\n", argument->index, argument->role,
            shapeText(argument->global, arena), shardingText(argument, arena), stages,
            bytesText((double)argument->bytesPerDevice, arena), argument->name);
  }
}

static void writeSites(FILE *out, const ShardCount *count, ShardArena *arena) {
  fprintf(out, "sites: number, kind, axes, local operand, calls, bytes a call, cause, op\n");
  for (intptr_t i = 0; i < count->nSites; ++i) {
    const ShardCountSite *site = &count->sites[i];
    fprintf(out, "  %4" PRId64 " %-14s %-5s %-18s x %-4" PRId64 " %10s  %s; %s\n", site->site,
            site->kind, axesText(site->axes, arena), shapeText(site->type, arena), site->nTimes,
            bytesText(site->bytes, arena), site->cause, site->op);
  }
}

static char *makeText(const json_t *communication, const ShardCount *count, ShardArena *arena,
                      bool everything, intptr_t nWarnings, const char *const *warnings) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  writeMesh(out, count);
  enum { maxStagesOnScreen = 16 };
  if (everything || count->nStages <= maxStagesOnScreen) {
    writeStages(out, count, arena);
  } else {
    int64_t least = INT64_MAX, most = 0;
    for (int32_t i = 0; i < count->nStages; ++i) {
      int64_t bytes = count->stages[i].weightBytesPerDevice;
      least = bytes < least ? bytes : least;
      most = bytes > most ? bytes : most;
    }
    fprintf(out, "%d stages, %s to %s of weights a rank\n", count->nStages,
            bytesText((double)least, arena), bytesText((double)most, arena));
  }
  writeCauses(out, communication, arena);
  if (everything) {
    writeSites(out, count, arena);
    writeArguments(out, count, arena);
  }
  for (intptr_t i = 0; i < nWarnings; ++i)
    fprintf(out, "warning: %s\n", warnings[i]);
  fclose(out);
  return text;
}

//===----------------------------------------------------------------------===//
// The object
//===----------------------------------------------------------------------===//

ShardReport *shardReportCreate(MlirOperation module, intptr_t nWarnings,
                               const char *const *warnings) {
  ShardArena *arena = shardArenaCreate();
  const ShardCount *count = shardCountCreate(module, arena);
  ShardReport *report = count ? calloc(1, sizeof *report) : NULL;
  if (report) {
    report->root = makeJson(count, module, arena, nWarnings, warnings);
    const json_t *communication = json_object_get(report->root, "communication");
    report->text = makeText(communication, count, arena, true, nWarnings, warnings);
    report->summary = makeText(communication, count, arena, false, nWarnings, warnings);
  }
  shardArenaDestroy(arena);
  return report;
}

void shardReportDestroy(ShardReport *report) {
  if (!report)
    return;
  json_decref(report->root);
  free(report->json);
  free(report->text);
  free(report->summary);
  free(report->page);
  free(report->trace);
  free(report);
}

static MlirStringRef asText(const char *text) {
  return text ? mlirStringRefCreateFromCString(text) : mlirStringRefCreate("", 0);
}

// Written when first asked for: what --cluster adds stands in it by then.
MlirStringRef shardReportGetJson(ShardReport *report) {
  if (!report->json)
    report->json = json_dumps(report->root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
  return asText(report->json);
}
MlirStringRef shardReportGetPage(ShardReport *report) {
  if (!report->page)
    report->page = shardReportFormatPage(report->root, shardReportGetJson(report).data);
  return asText(report->page);
}
MlirStringRef shardReportGetTrace(ShardReport *report) { return asText(report->trace); }
MlirStringRef shardReportGetText(ShardReport *report) { return asText(report->text); }
MlirStringRef shardReportGetSummary(ShardReport *report) { return asText(report->summary); }
