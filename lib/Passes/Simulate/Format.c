//===- Format.c - A simulated step as text and as JSON ------------*- C -*-===//
#define _GNU_SOURCE
#include "shard/Simulate.h"

#include "../Core/Units.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "1.2345 ms".
static void writeTime(FILE *out, int64_t ps) {
  char text[SHARD_SCALED_TEXT];
  fprintf(out, "%12s", shardTimeText(text, (double)ps, 5));
}

static void writeBytes(FILE *out, double bytes) {
  char text[SHARD_SCALED_TEXT];
  fprintf(out, "%12s", shardBytesText(text, bytes, 5));
}

static double fraction(int64_t part, int64_t whole) {
  return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void writeClasses(FILE *out, const ShardSimulation *s) {
  fprintf(out,
          "classes of equal ranks: stage, first rank, ranks, device; end, busy, communication, "
          "wait, bubble\n");
  for (int32_t i = 0; i < s->nClasses; ++i) {
    const ShardSimulatedClass *class = &s->classes[i];
    fprintf(out, "  %4d %7" PRId64 " x %-7" PRId64 " %-12s", class->stage, class->firstRank,
            class->nRanks, class->deviceKind);
    writeTime(out, class->endPs);
    fprintf(out, " %5.1f%% %5.1f%% %5.1f%% %5.1f%%\n", fraction(class->busyPs, s->stepPs),
            fraction(class->communicationPs, s->stepPs), fraction(class->waitPs, s->stepPs),
            fraction(class->bubblePs, s->stepPs));
  }
}

static void writeStages(FILE *out, const ShardSimulation *s) {
  fprintf(out, "memory of a rank: stage, peak, arguments, results, at\n");
  const char *because = NULL;
  for (int32_t i = 0; i < s->nStages; ++i) {
    const ShardSimulatedStage *stage = &s->stages[i];
    fprintf(out, "  %4d", i);
    writeBytes(out, (double)stage->peakBytes);
    fputs(stage->planned ? "" : " (estimated)", out);
    writeBytes(out, (double)stage->argumentBytes);
    writeBytes(out, (double)stage->resultBytes);
    fprintf(out, "  %s\n", stage->peakOp);
    because = stage->planned ? because : stage->estimatedBecause;
  }
  if (because)
    fprintf(out, "  estimated, as the program has no memory plan: %s\n", because);
}

static void writeSites(FILE *out, const ShardSimulation *s) {
  fprintf(out, "collectives: site, kind, way, calls, message; time alone on the links, exposed\n");
  for (intptr_t i = 0; i < s->nSites; ++i) {
    const ShardSimulatedSite *site = &s->sites[i];
    fprintf(out, "  %4" PRId64 " %-14s %-12s x %-6" PRId64, site->site, site->kind, site->algorithm,
            site->count);
    writeBytes(out, (double)site->bytes);
    writeTime(out, site->ps);
    writeTime(out, site->exposedPs);
    fputc('\n', out);
  }
}

static void writeLinks(FILE *out, const ShardSimulation *s) {
  fprintf(out, "links: level, links that carry as much, bytes of each, part of the step that it "
               "would need\n");
  enum { mostOnScreen = 8 };
  int32_t shown = 0, link = -1;
  for (intptr_t i = 0; i < s->nLinks; ++i) {
    const ShardSimulatedLinks *links = &s->links[i];
    shown = links->link == link ? shown + 1 : 1;
    link = links->link;
    if (shown > mostOnScreen)
      continue; // most bytes first; all of them are in the JSON
    fprintf(out, "  %-8s x %-7" PRId64, links->level, links->nLinks);
    writeBytes(out, (double)links->bytes);
    fprintf(out, " %5.1f%%\n", 100 * links->busy);
  }
}

char *shardSimulationFormatText(const ShardSimulation *s) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return NULL;
  fprintf(out, "step on %s: ", s->clusterName);
  writeTime(out, s->stepPs);
  fprintf(out, ", %" PRId64 " rank%s in %d stage%s, %d class%s\n", s->nRanks,
          s->nRanks == 1 ? "" : "s", s->nStages, s->nStages == 1 ? "" : "s", s->nClasses,
          s->nClasses == 1 ? "" : "es");
  fprintf(out, "mean over ranks: busy %.1f%%, communication %.1f%%, wait %.1f%%, bubble %.1f%%\n",
          100 * s->busy, 100 * s->communication, 100 * s->wait, 100 * s->bubble);
  if (s->nLoopsOnce)
    fprintf(
        out,
        "%d loop%s of the program with bounds that are not known: one turn of each is counted\n",
        s->nLoopsOnce, s->nLoopsOnce == 1 ? "" : "s");
  writeClasses(out, s);
  writeStages(out, s);
  if (s->nSites)
    writeSites(out, s);
  if (s->nLinks)
    writeLinks(out, s);
  fclose(out);
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json_t *textJson(const char *text) {
  json_t *json = json_string(text);
  return json ? json : json_string("?"); // not UTF-8
}

static json_t *classesJson(const ShardSimulation *s) {
  json_t *list = json_array();
  for (int32_t i = 0; i < s->nClasses; ++i) {
    const ShardSimulatedClass *class = &s->classes[i];
    json_array_append_new(
        list, json_pack("{s:i, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                        "stage", (int)class->stage, "firstRank", (json_int_t)class->firstRank,
                        "ranks", (json_int_t)class->nRanks, "deviceKind", class->deviceKind,
                        "endPs", (json_int_t)class->endPs, "busyPs", (json_int_t)class->busyPs,
                        "communicationPs", (json_int_t)class->communicationPs, "waitPs",
                        (json_int_t)class->waitPs, "reorderPs", (json_int_t)class->reorderPs,
                        "bubblePs", (json_int_t)class->bubblePs, "arithmeticPs",
                        (json_int_t)class->arithmeticPs, "memoryPs", (json_int_t)class->memoryPs,
                        "launchPs", (json_int_t)class->launchPs));
  }
  return list;
}

/// Bytes of each class, at each point of `memory`.
static json_t *memoryByClassJson(const ShardSimulatedStage *stage) {
  json_t *classes = json_object();
  for (int c = 0; stage->planned && c < SHARD_N_MEMORY_CLASSES; ++c) {
    json_t *list = json_array();
    for (intptr_t k = 0; k < stage->nMemory; ++k)
      json_array_append_new(list, json_integer((json_int_t)stage->memory[k].byClass[c]));
    json_object_set_new(classes, shardMemoryClassName((ShardMemoryClass)c), list);
  }
  return classes;
}

static json_t *bytesByClassJson(const ShardSimulatedStage *stage, const int64_t *byClass) {
  json_t *classes = json_object();
  for (int c = 0; stage->planned && c < SHARD_N_MEMORY_CLASSES; ++c)
    json_object_set_new(classes, shardMemoryClassName((ShardMemoryClass)c),
                        json_integer((json_int_t)byClass[c]));
  return classes;
}

static json_t *stagesJson(const ShardSimulation *s) {
  json_t *list = json_array();
  for (int32_t i = 0; i < s->nStages; ++i) {
    const ShardSimulatedStage *stage = &s->stages[i];
    json_t *memory = json_array();
    for (intptr_t k = 0; k < stage->nMemory; ++k)
      json_array_append_new(memory, json_pack("[I, I]", (json_int_t)stage->memory[k].ps,
                                              (json_int_t)stage->memory[k].bytes));
    json_array_append_new(
        list,
        json_pack(
            "{s:i, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:I}",
            "index", (int)i, "ranks", (json_int_t)stage->nRanks, "flops", stage->flops,
            "vectorFlops", stage->vectorFlops, "memoryBytes", stage->memoryBytes, "argumentBytes",
            (json_int_t)stage->argumentBytes, "resultBytes", (json_int_t)stage->resultBytes,
            "peakBytes", (json_int_t)stage->peakBytes, "peakPs", (json_int_t)stage->peakPs,
            "peakOp", textJson(stage->peakOp), "memory", memory, "planned", (int)stage->planned,
            "peakByClass", bytesByClassJson(stage, stage->peakByClass), "memoryByClass",
            memoryByClassJson(stage), "heldByClass", bytesByClassJson(stage, stage->heldByClass),
            "stagingBytes", (json_int_t)stage->stagingBytes));
    if (!stage->planned)
      json_object_set_new(json_array_get(list, (size_t)i), "estimatedBecause",
                          textJson(stage->estimatedBecause));
  }
  return list;
}

static json_t *sitesJson(const ShardSimulation *s) {
  json_t *list = json_array();
  for (intptr_t i = 0; i < s->nSites; ++i) {
    const ShardSimulatedSite *site = &s->sites[i];
    json_array_append_new(
        list, json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "site", (json_int_t)site->site,
                        "kind", site->kind, "algorithm", site->algorithm, "count",
                        (json_int_t)site->count, "bytes", (json_int_t)site->bytes, "ps",
                        (json_int_t)site->ps, "exposedPs", (json_int_t)site->exposedPs, "sharedPs",
                        (json_int_t)site->sharedPs));
  }
  return list;
}

static json_t *linksJson(const ShardSimulation *s) {
  json_t *list = json_array();
  for (intptr_t i = 0; i < s->nLinks; ++i) {
    const ShardSimulatedLinks *links = &s->links[i];
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:f}", "from", links->level,
                                          "first", (json_int_t)links->firstVertex, "links",
                                          (json_int_t)links->nLinks, "bytes",
                                          (json_int_t)links->bytes, "busy", links->busy));
  }
  return list;
}

char *shardSimulationFormatJson(const ShardSimulation *s) {
  json_t *root =
      json_pack("{s:i, s:s, s:I, s:f, s:I, s:f, s:f, s:f, s:f, s:i, s:o, s:o, s:o, s:o}", "version",
                1, "cluster", s->clusterName, "stepPs", (json_int_t)s->stepPs, "stepSeconds",
                (double)s->stepPs * 1e-12, "ranks", (json_int_t)s->nRanks, "busy", s->busy,
                "communication", s->communication, "wait", s->wait, "bubble", s->bubble,
                "loopsOnce", (int)s->nLoopsOnce, "classes", classesJson(s), "stages", stagesJson(s),
                "collectives", sitesJson(s), "links", linksJson(s));
  char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
  json_decref(root);
  if (!text)
    return NULL;
  char *line = NULL;
  int written = asprintf(&line, "%s\n", text);
  free(text);
  return written < 0 ? NULL : line;
}
