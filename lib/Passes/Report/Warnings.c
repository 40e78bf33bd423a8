//===- Warnings.c - Known mistakes of plans and clusters ----------*- C -*-===//
#include "Warnings.h"

#include "../Core/Diagnostics.h"

#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

static const struct {
  const char *id;
  double threshold;    // unless --threshold says another; 0: it has none
  const char *meaning; // of the threshold
  ShardWarningFinder *find;
  bool ofModels; // of a model that is analysed too
} warningTable[] = {
    {"slow-tensor-parallel", 1, "of the first link's bytes a second, for each device",
     shardFindSlowTensorParallel, false},
    {"no-memory-margin", 0, "", shardFindNoMargin, false},
    {"incomplete-budget", 1, "times a class of the budget", shardFindIncompleteBudget, true},
    {"assumed-overlap", 0.05, "of communication, below --assume-overlap", shardFindAssumedOverlap,
     false},
    {"checkpoint-interval", 2, "times the best interval, or a part of it",
     shardFindCheckpointInterval, false},
    {"unequal-stages", 1.2, "times the mean of all stages", shardFindUnequalStages, false},
    {"idle-ranks", 0, "", shardFindIdleRanks, false},
    {"peak-bandwidth", 0.9, "of a peak that nobody measured", shardFindPeakAsReal, false},
    {"layout-changes", 0.1, "of the step", shardFindLayoutChanges, false},
    {"no-failure-handling", 1, "failures a day", shardFindNoFailureHandling, false},
};
enum { nWarnings = sizeof warningTable / sizeof warningTable[0] };

static bool inRange(intptr_t index) { return index >= 0 && index < nWarnings; }

intptr_t shardWarningGetCount(void) { return nWarnings; }

const char *shardWarningGetId(intptr_t index) {
  return inRange(index) ? warningTable[index].id : NULL;
}
double shardWarningGetThreshold(intptr_t index) {
  return inRange(index) ? warningTable[index].threshold : 0;
}
const char *shardWarningGetThresholdMeaning(intptr_t index) {
  return inRange(index) ? warningTable[index].meaning : "";
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static int findId(const char *id, size_t length) {
  for (int i = 0; i < nWarnings; ++i)
    if (strlen(warningTable[i].id) == length && memcmp(id, warningTable[i].id, length) == 0)
      return i;
  return -1;
}

/// The ids of the warnings in words; `thresholds`: of those that have one.
static const char *listIds(ShardArena *arena, bool thresholds) {
  const char *list = "", *last = NULL;
  for (int i = 0; i < nWarnings; ++i) {
    if (thresholds && warningTable[i].threshold <= 0)
      continue;
    if (last)
      list = shardArenaFormat(arena, "%s%s%s", list, *list ? ", " : "", last);
    last = warningTable[i].id;
  }
  return shardArenaFormat(arena, "%s or %s", list, last);
}

/// Reads a list of ids into `said` [nWarnings]; with numbers behind a colon into `thresholds`
/// instead. Returns a message, or null.
static const char *parseList(const char *list, ShardArena *arena, bool *said, double *thresholds) {
  for (const char *p = list; p && *p;) {
    size_t length = strcspn(p, ","), name = thresholds ? strcspn(p, ":,") : length;
    int i = findId(p, name);
    if (i < 0 || (thresholds && warningTable[i].threshold <= 0))
      return shardArenaFormat(arena, "no warning%s is named '%.*s'; expected %s",
                              thresholds ? " with a threshold" : "", (int)name, p,
                              listIds(arena, thresholds != NULL));
    if (thresholds && (name == length ||
                       !shardWarningParseNumber(p + name + 1, length - name - 1, &thresholds[i]) ||
                       thresholds[i] <= 0))
      return shardArenaFormat(arena, "'--threshold': '%.*s' is no ID:NUMBER above 0", (int)length,
                              p);
    if (said)
      said[i] = true;
    p += length + (p[length] == ',');
  }
  return NULL;
}

typedef struct Settings {
  bool silenced[nWarnings], errors[nWarnings];
  double thresholds[nWarnings];
} Settings;

/// Returns a message, or null.
static const char *readOptions(const ShardWarningOptions *options, ShardArena *arena,
                               Settings *settings, ShardClaims *claims) {
  *settings = (Settings){0};
  for (int i = 0; i < nWarnings; ++i)
    settings->thresholds[i] = warningTable[i].threshold;
  const char *error = parseList(options->silenced, arena, settings->silenced, NULL);
  error = error ? error : parseList(options->errors, arena, settings->errors, NULL);
  error = error ? error : parseList(options->thresholds, arena, NULL, settings->thresholds);
  return error ? error : shardClaimsParse(options, arena, claims);
}

char *shardWarningOptionsCheck(const ShardWarningOptions *options) {
  ShardArena *arena = shardArenaCreate();
  Settings settings;
  ShardClaims claims;
  const char *error = readOptions(options, arena, &settings, &claims);
  char *copy = error ? malloc(strlen(error) + 1) : NULL;
  if (copy)
    memcpy(copy, error, strlen(error) + 1);
  shardArenaDestroy(arena);
  return copy;
}

//===----------------------------------------------------------------------===//
// Warning
//===----------------------------------------------------------------------===//

static MlirLogicalResult warnAll(ShardWarningSubject *subject, const Settings *settings) {
  for (int i = 0; i < nWarnings; ++i) {
    const char *id = warningTable[i].id;
    if (settings->silenced[i] || (subject->analysis && !warningTable[i].ofModels))
      continue;
    subject->threshold = settings->thresholds[i];
    const char *text = warningTable[i].find(subject);
    if (subject->failed)
      return mlirLogicalResultFailure();
    if (text && settings->errors[i])
      return shardEmitError(subject->module, "%s [%s]", text, id);
    if (text)
      shardEmitWarning(subject->module, "%s [%s]", text, id);
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult warn(ShardWarningSubject *subject, const ShardWarningOptions *options) {
  subject->arena = shardArenaCreate();
  Settings settings;
  const char *error = readOptions(options, subject->arena, &settings, &subject->claims);
  if (!subject->analysis)
    shardMeshRead(subject->module, subject->arena, &subject->mesh);
  MlirLogicalResult result =
      error ? shardEmitError(subject->module, "what is said of warnings: %s", error)
            : warnAll(subject, &settings);
  shardArenaDestroy(subject->arena);
  return result;
}

MlirLogicalResult shardModuleWarn(MlirOperation module, const ShardCluster *cluster,
                                  const ShardSimulation *simulation,
                                  const ShardWarningOptions *options) {
  ShardWarningSubject subject = {.module = module, .cluster = cluster, .simulation = simulation};
  return warn(&subject, options);
}

MlirLogicalResult shardSizeAnalysisWarn(MlirOperation module, const ShardSizeAnalysis *analysis,
                                        const ShardWarningOptions *options) {
  ShardWarningSubject subject = {.module = module, .analysis = analysis};
  return warn(&subject, options);
}
