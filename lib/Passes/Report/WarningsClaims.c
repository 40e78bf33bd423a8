//===- WarningsClaims.c - What a user claims of a plan ------------*- C -*-===//
// Budgets of memory, overlap and intervals of checkpoints, against what the program, its simulation
// and the cluster say.
//===----------------------------------------------------------------------===//
#include "Warnings.h"

#include "../Analysis/Count.h"
#include "../Core/Diagnostics.h"
#include "../Core/IR.h"
#include "../Core/Units.h"

#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const classNames[SHARD_N_BUDGET_CLASSES] = {
    [SHARD_BUDGET_WEIGHTS] = "weights",
    [SHARD_BUDGET_GRADIENTS] = "gradients",
    [SHARD_BUDGET_OPTIMIZER] = "optimizer",
    [SHARD_BUDGET_STATES] = "states",
    [SHARD_BUDGET_ACTIVATIONS] = "activations"};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool shardWarningParseNumber(const char *text, size_t length, double *out) {
  char copy[64], *end;
  if (length == 0 || length >= sizeof(copy) || text[0] < '0' || text[0] > '9')
    return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  *out = strtod(copy, &end);
  return !*end && isfinite(*out);
}

static int findClass(const char *name, size_t length) {
  for (int c = 0; c < SHARD_N_BUDGET_CLASSES; ++c)
    if (strlen(classNames[c]) == length && memcmp(classNames[c], name, length) == 0)
      return c;
  return -1;
}

static const char *parseBudget(const char *text, ShardArena *arena, ShardBudget *out) {
  size_t head = strcspn(text, ":");
  *out = (ShardBudget){.given = true, .training = head == 8 && memcmp(text, "training", 8) == 0};
  if (!out->training && (head != 9 || memcmp(text, "inference", 9) != 0))
    return shardArenaFormat(arena,
                            "'--budget=%s' begins with '%.*s'; expected inference: or training:, "
                            "then weights=BYTES,...",
                            text, (int)head, text);
  bool seen[SHARD_N_BUDGET_CLASSES] = {false};
  for (const char *p = text + head + (text[head] == ':'); *p;) {
    size_t length = strcspn(p, ","), name = strcspn(p, "=,");
    int class = findClass(p, name);
    if (class < 0)
      return shardArenaFormat(arena,
                              "'--budget' has no class '%.*s'; expected weights, gradients, "
                              "optimizer, states or activations",
                              (int)name, p);
    if (seen[class])
      return shardArenaFormat(arena, "'--budget' names %s twice", classNames[class]);
    seen[class] = true;
    if (name == length ||
        !shardWarningParseNumber(p + name + 1, length - name - 1, &out->bytes[class]))
      return shardArenaFormat(arena, "'--budget': '%.*s' is no class with bytes, weights=4e9",
                              (int)length, p);
    p += length + (p[length] == ',');
  }
  return NULL;
}

static const char *parseInterval(const char *text, ShardArena *arena, ShardClaims *out) {
  size_t length = strcspn(text, ":");
  if (!shardWarningParseNumber(text, length, &out->checkpointSeconds) ||
      out->checkpointSeconds <= 0 || (text[length] == ':' && !text[length + 1]))
    return shardArenaFormat(
        arena, "'--checkpoint-interval' takes SECONDS or SECONDS:TIER, not '%s'", text);
  out->checkpointTier = text[length] ? text + length + 1 : NULL;
  return NULL;
}

const char *shardClaimsParse(const ShardWarningOptions *options, ShardArena *arena,
                             ShardClaims *out) {
  *out = (ShardClaims){.overlap = -1};
  const char *overlap = options->assumedOverlap;
  if (overlap &&
      (!shardWarningParseNumber(overlap, strlen(overlap), &out->overlap) || out->overlap > 1))
    return shardArenaFormat(arena, "'--assume-overlap' takes a number from 0 to 1, not '%s'",
                            overlap);
  const char *error = options->budget ? parseBudget(options->budget, arena, &out->budget) : NULL;
  return error || !options->checkpointInterval
             ? error
             : parseInterval(options->checkpointInterval, arena, out);
}

const char *shardWarningBytes(ShardArena *arena, double bytes) {
  return shardBytesText(SHARD_ARENA_ARRAY(arena, char, SHARD_SCALED_TEXT), bytes, 4);
}

//===----------------------------------------------------------------------===//
// Budgets
//===----------------------------------------------------------------------===//

/// What a device, or the whole model, needs of each class, and in which stage that is.
typedef struct Needs {
  double bytes[SHARD_N_BUDGET_CLASSES];
  int32_t stage[SHARD_N_BUDGET_CLASSES]; // -1: of all
} Needs;

static double elementBytes(MlirType type) {
  return mlirTypeIsAShaped(type) ? (double)shardTypeElementBytes(mlirShapedTypeGetElementType(type))
                                 : 0;
}

/// What training adds for weights of `bytes` in a type of `size` bytes: gradients in that type, a
/// 32-bit copy of narrower weights and Adam's two moments in 32 bits.
static void addTraining(double bytes, double size, double *gradients, double *optimizer) {
  *gradients += bytes;
  *optimizer += size > 0 ? bytes / size * (size < 4 ? 12 : 8) : 0;
}

/// Of a rank of a stage. A program of a forward pass needs as much more as it takes to train it;
/// activations that its gradients would read are more than what it holds now.
static void stageNeeds(const ShardWarningSubject *s, const ShardCount *count, int32_t stage,
                       double *bytes) {
  const ShardSimulatedStage *simulated = &s->simulation->stages[stage];
  double held = 0;
  for (intptr_t i = 0; i < count->nArguments; ++i) {
    const ShardCountArgument *argument = &count->arguments[i];
    double own = (double)argument->bytesPerDevice;
    if (!argument->inStage[stage])
      continue;
    bool weight = strcmp(argument->role, "weight") == 0;
    bool state = strcmp(argument->role, "state") == 0;
    held += weight || state ? own : 0;
    bytes[SHARD_BUDGET_WEIGHTS] += weight ? own : 0;
    bytes[SHARD_BUDGET_STATES] += state ? own : 0;
    if (weight && s->claims.budget.training)
      addTraining(own, elementBytes(argument->local), &bytes[SHARD_BUDGET_GRADIENTS],
                  &bytes[SHARD_BUDGET_OPTIMIZER]);
  }
  bytes[SHARD_BUDGET_ACTIVATIONS] = (double)simulated->peakBytes - held;
}

static bool programNeeds(ShardWarningSubject *s, Needs *needs) {
  const ShardCount *count = shardCountCreate(s->module, s->arena);
  for (int32_t i = 0; count && i < count->nStages; ++i) {
    double bytes[SHARD_N_BUDGET_CLASSES] = {0};
    stageNeeds(s, count, i, bytes);
    for (int c = 0; c < SHARD_N_BUDGET_CLASSES; ++c)
      if (bytes[c] > needs->bytes[c]) {
        needs->bytes[c] = bytes[c];
        needs->stage[c] = i;
      }
  }
  return count != NULL;
}

static void modelNeeds(const ShardWarningSubject *s, Needs *needs) {
  const ShardAnalysedMemory *memory =
      s->claims.budget.training ? &s->analysis->training : &s->analysis->inference;
  needs->bytes[SHARD_BUDGET_WEIGHTS] = memory->weights;
  needs->bytes[SHARD_BUDGET_GRADIENTS] = memory->gradients;
  needs->bytes[SHARD_BUDGET_OPTIMIZER] = memory->master + memory->moments;
  needs->bytes[SHARD_BUDGET_STATES] = memory->states;
  needs->bytes[SHARD_BUDGET_ACTIVATIONS] = memory->activations;
  for (int c = 0; c < SHARD_N_BUDGET_CLASSES; ++c)
    needs->stage[c] = -1;
}

/// "gradients take 400 TB, the budget has none"; bytes of a device where a stage is named.
static const char *missingText(const ShardWarningSubject *s, const Needs *needs, int class) {
  double budget = s->claims.budget.bytes[class];
  const char *place = needs->stage[class] < 0 || s->simulation->nStages == 1
                          ? ""
                          : shardArenaFormat(s->arena, " in stage %d", needs->stage[class]);
  return shardArenaFormat(s->arena, "%s take%s %s%s, the budget has %s", classNames[class],
                          class == SHARD_BUDGET_OPTIMIZER ? "s" : "",
                          shardWarningBytes(s->arena, needs->bytes[class]), place,
                          budget > 0 ? shardWarningBytes(s->arena, budget) : "none");
}

const char *shardFindIncompleteBudget(ShardWarningSubject *s) {
  const ShardBudget *budget = &s->claims.budget;
  if (!budget->given)
    return NULL;
  Needs needs = {0};
  if (s->analysis)
    modelNeeds(s, &needs);
  else if (!programNeeds(s, &needs)) {
    s->failed = true;
    return NULL;
  }
  const char *list = "";
  for (int c = 0; c < SHARD_N_BUDGET_CLASSES; ++c)
    if (needs.bytes[c] > s->threshold * budget->bytes[c])
      list =
          shardArenaFormat(s->arena, "%s%s%s", list, *list ? "; " : "", missingText(s, &needs, c));
  return *list ? shardArenaFormat(s->arena, "the budget for %s is too small: %s",
                                  budget->training ? "training" : "inference", list)
               : NULL;
}

//===----------------------------------------------------------------------===//
// Overlap
//===----------------------------------------------------------------------===//

const char *shardFindAssumedOverlap(ShardWarningSubject *s) {
  double all = 0, exposed = 0;
  for (intptr_t i = 0; i < s->simulation->nSites; ++i) {
    const ShardSimulatedSite *site = &s->simulation->sites[i];
    // Others on the same links may make it longer.
    all += (double)(site->exposedPs > site->ps ? site->exposedPs : site->ps);
    exposed += (double)site->exposedPs;
  }
  double hidden = all > 0 ? 1 - exposed / all : 1;
  double claimed = s->claims.overlap;
  return claimed - hidden > s->threshold
             ? shardArenaFormat(s->arena,
                                "communication is assumed to be hidden: %.3g %% of it by "
                                "--assume-overlap, %.3g %% in the program, whose ranks stand still "
                                "for it for %.3g %% of the step",
                                100 * claimed, 100 * hidden, 100 * s->simulation->communication)
             : NULL;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// The tier that is named, else the fastest that a failing node does not take along; else the last.
static const ShardMemoryTier *findTier(ShardWarningSubject *s) {
  const ShardCluster *cluster = s->cluster;
  const char *name = s->claims.checkpointTier, *names = "";
  const ShardMemoryTier *found = NULL;
  for (int32_t i = 0; i < cluster->nTiers; ++i) {
    const ShardMemoryTier *tier = &cluster->tiers[i];
    names = shardArenaFormat(s->arena, "%s%s'%s'", names, i ? ", " : "", tier->name);
    bool wanted = name ? strcmp(name, tier->name) == 0
                       : tier->owner > SHARD_LEVEL_NODE || i + 1 == cluster->nTiers;
    found = found || !wanted ? found : tier;
  }
  if (!found && !cluster->nTiers)
    shardEmitError(s->module,
                   "'--checkpoint-interval': the cluster '%s' has no memory tiers to save to",
                   cluster->name);
  else if (!found)
    shardEmitError(s->module,
                   "'--checkpoint-interval': the cluster '%s' has no tier '%s'; it has %s",
                   cluster->name, name, names);
  return found;
}

/// Weights and states, each once, and with a budget for training the optimizer's.
static double checkpointBytes(const ShardWarningSubject *s, const ShardCount *count) {
  double bytes = 0, gradients = 0, optimizer = 0;
  for (intptr_t i = 0; i < count->nArguments; ++i) {
    const ShardCountArgument *argument = &count->arguments[i];
    bool weight = strcmp(argument->role, "weight") == 0;
    bytes += weight || strcmp(argument->role, "state") == 0 ? (double)argument->globalBytes : 0;
    if (weight && s->claims.budget.training)
      addTraining((double)argument->globalBytes, elementBytes(argument->global), &gradients,
                  &optimizer);
  }
  return bytes + optimizer;
}

/// All ranks save equal parts at once, those below one owner of the tier into that.
static double saveSeconds(const ShardWarningSubject *s, const ShardMemoryTier *tier, double bytes) {
  int64_t nOwners = 0, nRanks = s->simulation->nRanks;
  ShardPointerMap *seen = shardPointerMapCreate(s->arena, 64);
  for (int64_t rank = 0; rank < nRanks; ++rank) {
    int64_t owner = shardClusterVertexOf(s->cluster, s->simulation->devices[rank], tier->owner);
    const void *key = (const void *)(intptr_t)(owner + 2); // -1: outside
    int64_t known;
    nOwners += !shardPointerMapGet(seen, key, &known);
    shardPointerMapSet(seen, key, 1);
  }
  double seconds = bytes / (double)nOwners / shardRateEffective(s->cluster, &tier->bytesPerSecond);
  double own = tier->hasDeviceRate ? bytes / (double)nRanks /
                                         shardRateEffective(s->cluster, &tier->deviceBytesPerSecond)
                                   : 0;
  return (own > seconds ? own : seconds) + tier->latencySeconds.value;
}

/// The best time between two checkpoints that take `save` seconds, with a failure every `mean`:
/// the higher order of Daly, "A higher order estimate of the optimum checkpoint interval for
/// restart dumps", 2006; `first`: the first order, Young 1974 as Daly writes it.
static double bestInterval(double save, double mean, double *first) {
  double root = sqrt(2 * save * mean), ratio = save / (2 * mean);
  *first = root > save ? root - save : 0;
  return ratio < 1 ? root * (1 + sqrt(ratio) / 3 + ratio / 9) - save : mean;
}

const char *shardFindCheckpointInterval(ShardWarningSubject *s) {
  double interval = s->claims.checkpointSeconds, failures = shardWarningFailuresPerDay(s), first;
  if (interval <= 0)
    return NULL;
  const ShardCount *count = NULL;
  if (failures <= 0)
    shardEmitError(s->module,
                   "'--checkpoint-interval': the cluster '%s' has no failures a day "
                   "('failuresPerDay'), so that no interval is the best",
                   s->cluster->name);
  const ShardMemoryTier *tier = failures > 0 ? findTier(s) : NULL;
  if (tier)
    count = shardCountCreate(s->module, s->arena);
  s->failed = !count;
  if (!count)
    return NULL;
  double bytes = checkpointBytes(s, count), save = saveSeconds(s, tier, bytes);
  double mean = 86400 / failures, best = bestInterval(save, mean, &first);
  return interval > best * s->threshold || interval * s->threshold < best
             ? shardArenaFormat(
                   s->arena,
                   "checkpoints every %.4g s are far from the best interval, %.5g s "
                   "(first order: %.5g s): %s to '%s' take %.4g s, and a failure comes "
                   "every %.4g s",
                   interval, best, first, shardWarningBytes(s->arena, bytes), tier->name, save,
                   mean)
             : NULL;
}
