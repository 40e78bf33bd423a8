//===- CostAnswers.c - Answers of --explain-cost ------------------*- C -*-===//
// What the product counts with, and the textbook's form of it beside.
//===----------------------------------------------------------------------===//
#include "CostAnswers.h"

#include "Cluster.h"

#include "shard/Compress.h"
#include "shard/Cost.h"
#include "shard/Recompute.h"
#include "shard/Sizes.h"
#include "shard/Tiers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char textbook[] = "the textbook's form";

static int64_t count(const CostAsked *asked, int i) { return (int64_t)asked->values[i]; }

/// The first `ranks` ranks, `stride` devices apart, of as many groups as go in between. Null after
/// one error.
static ShardGroups *groupsOf(const CostAsked *asked, int64_t ranks, int64_t stride) {
  char *error = NULL;
  if (ranks > asked->cluster->nDevices / stride) {
    shardOptFail("'--explain-cost': %" PRId64 " ranks, %" PRId64
                 " devices apart, on a cluster of %" PRId64 " devices",
                 ranks, stride, asked->cluster->nDevices);
    return NULL;
  }
  ShardGroups *groups = shardGroupsCreateForAxes(asked->cluster, 2,
                                                 (const int64_t[]){ranks, stride}, 1, NULL, &error);
  if (!groups)
    shardOptFailOwned(error);
  return groups;
}

static bool answerCollective(const CostAsked *asked) {
  ShardGroups *groups = groupsOf(asked, count(asked, 1), count(asked, 2));
  bool alone = count(asked, 1) == 1;
  char *text =
      groups && !alone
          ? shardCollectiveExplain(groups, (ShardCollectiveKind)asked->question, count(asked, 0))
          : NULL;
  bool ok = groups && (alone || text);
  if (groups && !ok)
    shardOptFail("out of memory");
  if (ok)
    fputs(alone ? "nothing is sent\n" : text, asked->out);
  free(text);
  shardGroupsDestroy(groups);
  return ok;
}

//===----------------------------------------------------------------------===//
// Ops and steps
//===----------------------------------------------------------------------===//

static bool answerWorkOf(const CostAsked *asked, const ShardDeviceKind *kind,
                         const ShardOpWork *work) {
  static const char *const bounds[] = {"compute", "memory", "launch"};
  ShardOpCost cost;
  if (!shardOpCost(asked->cluster, kind, work, &cost))
    return shardOptFail("'--explain-cost': '%s' of cluster '%s' has no rate for %s", kind->name,
                        asked->cluster->name, shardRateTypeName(work->type));
  fprintf(asked->out,
          "%s, %.6g flop of contractions, %.6g others, %.6g bytes: %.6g us, bound by %s\n",
          kind->name, work->flops, work->vectorFlops, work->bytes, cost.seconds * 1e6,
          bounds[cost.bound]);
  fprintf(asked->out, "  launch  %12.6g us\n", cost.launchSeconds * 1e6);
  if (cost.computeSeconds > 0)
    fprintf(asked->out,
            "  compute %12.6g us, in %s at %.6g Tflop/s, of which this size reaches %.4g\n",
            cost.computeSeconds * 1e6, shardRateTypeName(cost.type), cost.flopsPerSecond * 1e-12,
            cost.efficiency);
  if (cost.memorySeconds > 0)
    fprintf(asked->out, "  memory  %12.6g us, at %.6g GB/s, of which this size reaches %.4g\n",
            cost.memorySeconds * 1e6, cost.bytesPerSecond * 1e-9, cost.memoryEfficiency);
  return true;
}

/// On each kind of device.
static bool answerWork(const CostAsked *asked, const ShardOpWork *work) {
  bool ok = true;
  for (int32_t i = 0; ok && i < asked->cluster->nDeviceKinds; ++i)
    ok = answerWorkOf(asked, &asked->cluster->deviceKinds[i], work);
  return ok;
}

static bool answerOp(const CostAsked *asked) {
  const double *v = asked->values;
  return answerWork(
      asked, &(ShardOpWork){
                 .flops = v[0], .vectorFlops = v[1], .bytes = v[2], .type = (ShardRateType)v[3]});
}

static bool answerMatmul(const CostAsked *asked) {
  static const double bytes[SHARD_N_RATE_TYPES] = {8, 4, 2, 2, 1, 0.5, 1};
  ShardRateType type = (ShardRateType)asked->values[4];
  ShardOpWork work = shardContractionWork(count(asked, 3), count(asked, 0), count(asked, 1),
                                          count(asked, 2), 1, type);
  work.bytes *= bytes[type];
  return answerWork(asked, &work);
}

static bool answerEfficiency(const CostAsked *asked) {
  const double *v = asked->values;
  fprintf(asked->out,
          "efficiency %.4g %%: %.6g s of compute in %.6g s, when nothing hides communication and "
          "nobody waits\n",
          100 * shardParallelEfficiency(v[0], v[1]), v[0], v[0] + v[1]);
  fprintf(asked->out, "  of a program, --simulate counts waits and bubbles too\n");
  return true;
}

static bool answerLayer(const CostAsked *asked) {
  ShardLayerTraffic traffic = {.batch = count(asked, 0),
                               .sequence = count(asked, 1),
                               .hidden = count(asked, 2),
                               .tensorParallel = count(asked, 3),
                               .stages = count(asked, 4),
                               .layers = count(asked, 5),
                               .elementBytes = asked->values[6]};
  if (traffic.layers < traffic.stages)
    return shardOptFail("'--explain-cost': %" PRId64 " layers in %" PRId64 " stages",
                        traffic.layers, traffic.stages);
  fprintf(asked->out, "%.10g bytes sent by a rank for a layer, forward\n",
          shardLayerForwardBytes(&traffic));
  fprintf(asked->out, "%s, 2 B L d (1 - 1/P_tp) + 4 B L d / P_pp: %.10g, of no unit\n", textbook,
          shardTextbookLayerForwardVolume(&traffic));
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void writeFleet(const CostAsked *asked, const char *what, double bytes) {
  const ShardCluster *cluster = asked->cluster;
  double perDevice = bytes / (double)cluster->nDevices;
  ShardCluster alone = *cluster;
  alone.nTiers = 0;
  double room = shardFitBytes(&alone, INFINITY, true).deviceBytes / (double)cluster->nDevices;
  fprintf(asked->out,
          "%s: %.6g TB; on %" PRId64 " devices %.6g GB each, of %.6g GB to use: %s; smallest fleet "
          "%" PRId64 ", with memory tiers %" PRId64 ", and %" PRId64 " with no reserve\n",
          what, bytes * 1e-12, cluster->nDevices, perDevice * 1e-9, room * 1e-9,
          perDevice > room ? "does not fit, tiers or more devices are needed" : "fits",
          shardSmallestFleet(cluster, bytes, true, false),
          shardSmallestFleet(cluster, bytes, true, true),
          shardSmallestFleet(cluster, bytes, false, false));
}

static void writeExperts(const CostAsked *asked, const ShardModelSizes *model, double parameters) {
  double exact = shardExpertsForParameters(model, parameters);
  ShardModelSizes mixture = *model;
  mixture.experts = exact >= 1 ? llround(exact) : 0;
  ShardParameters sizes = shardCountParameters(&mixture);
  if (mixture.experts > 0)
    fprintf(asked->out,
            "%.5gT parameters: %" PRId64 " experts a layer (%.1f): %.1fT in attention and MLPs\n",
            parameters * 1e-12, mixture.experts, exact,
            (sizes.attention + sizes.feedForward) * 1e-12);
}

static bool answerModel(const CostAsked *asked) {
  const ShardModelSizes model = {.layers = count(asked, 0),
                                 .hidden = count(asked, 1),
                                 .feedForward = count(asked, 2),
                                 .experts = count(asked, 3),
                                 .vocabulary = count(asked, 4)};
  const ShardBytesPerParameter weights = shardInferenceBytes(2), adam = shardMixedAdamBytes();
  ShardParameters sizes = shardCountParameters(&model);
  double room = asked->cluster->deviceKinds[0].memoryBytes.value, activations = asked->values[6];
  ShardMemoryBytes memory = shardCountMemory(sizes.total, &adam, activations);
  fprintf(asked->out,
          "parameters: attention %.0f, MLP %.0f, routers %.0f, embeddings %.0f, total %.0f\n",
          sizes.attention, sizes.feedForward, sizes.router, sizes.embedding, sizes.total);
  if (asked->values[5] > 0)
    writeExperts(asked, &model, asked->values[5]);
  writeFleet(asked, "weights in 16 bits", shardCountMemory(sizes.total, &weights, 0).total);
  writeFleet(asked, "training", memory.total);
  fprintf(asked->out,
          "  weights %.6g, gradients %.6g, master copy %.6g, moments %.6g, activations %.6g TB\n",
          memory.weights * 1e-12, memory.gradients * 1e-12, memory.master * 1e-12,
          memory.moments * 1e-12, memory.activations * 1e-12);
  fprintf(asked->out, "%s of training, without gradients and the master copy: %.6g TB\n", textbook,
          shardTextbookTrainingBytes(sizes.total, activations) * 1e-12);
  fprintf(asked->out, "largest trained on one device of %.4g GB: %.4gB parameters\n", room * 1e-9,
          shardLargestOnDevice(room, &adam) * 1e-9);
  return true;
}

/// What all devices together do at best in 16 bits; 0: there is no rate.
static double peakOf(const ShardCluster *cluster) {
  double sum = 0;
  for (int32_t i = 0; i < cluster->nNodeRuns; ++i) {
    const ShardClusterNodes *run = &cluster->nodeRuns[i];
    const ShardDeviceKind *kind = &cluster->deviceKinds[run->kind];
    double peak = 0;
    for (int t = SHARD_RATE_F16; t <= SHARD_RATE_BF16; ++t)
      if (kind->hasFlops[t])
        peak = fmax(peak, kind->flops[t].peak.given ? kind->flops[t].peak.value
                                                    : kind->flops[t].achieved.value);
    sum += (double)(run->count * run->devicesPerNode) * peak;
  }
  return sum;
}

static bool answerStep(const CostAsked *asked) {
  const double *v = asked->values;
  const ShardModelSizes model = {.layers = count(asked, 0),
                                 .hidden = count(asked, 1),
                                 .feedForward = count(asked, 2),
                                 .vocabulary = count(asked, 3)};
  ShardTraining training = {.sequence = count(asked, 4)};
  static const char *const names[] = {"nothing", "the core of attention", "every layer"};
  double whole = v[6] * peakOf(asked->cluster) / 100;
  for (int r = SHARD_RECOMPUTE_NONE; r <= SHARD_RECOMPUTE_FULL; ++r) {
    training.recompute = (ShardRecompute)r;
    ShardStepFlops flops = shardCountStepFlops(&model, &training, v[5]);
    if (r == SHARD_RECOMPUTE_NONE)
      fprintf(asked->out, "the model asks for %.6g flop\n", flops.model);
    fprintf(asked->out, "%s recomputed: %.6g flop", names[r], flops.hardware);
    if (whole > 0)
      fprintf(asked->out, "; of the 16-bit peak of all devices %.4g %% for the model, %.4g %% done",
              flops.model / whole, flops.hardware / whole);
    if (flops.hardware > whole && whole > 0)
      fputs(": more than the peak, so the seconds or the devices are wrong", asked->out);
    fputc('\n', asked->out);
  }
  return true;
}

static bool answerMemory(const CostAsked *asked) {
  double bytes = asked->values[0];
  for (int reserve = 1; reserve >= 0; --reserve) {
    ShardFit fit = shardFitBytes(asked->cluster, bytes, reserve);
    fprintf(asked->out, "%s: device memory %.6g TB (%.4g %%)",
            reserve ? "with the reserve" : "without", fit.deviceBytes * 1e-12,
            100 * fit.deviceBytes / bytes);
    for (int32_t i = 0; i < asked->cluster->nTiers; ++i)
      fprintf(asked->out, ", %s %.6g TB (%.4g %%)", asked->cluster->tiers[i].name,
              fit.tierBytes[i] * 1e-12, 100 * fit.tierBytes[i] / bytes);
    if (fit.missingBytes > 0)
      fprintf(asked->out, "; %.6g TB fit nowhere", fit.missingBytes * 1e-12);
    fputc('\n', asked->out);
  }
  fprintf(asked->out, "%.6g GB a device\n", bytes / (double)asked->cluster->nDevices * 1e-9);
  return true;
}

static bool answerPrefetch(const CostAsked *asked) {
  const double *v = asked->values;
  if (asked->cluster->nTiers == 0)
    return shardOptFail("'--explain-cost': cluster '%s' has no memory tiers", asked->cluster->name);
  for (int32_t i = 0; i < asked->cluster->nTiers; ++i) {
    ShardPrefetch fetch;
    shardPrefetch(asked->cluster, i, v[0], v[1], v[2], &fetch);
    fprintf(asked->out,
            "%s to %s: starts %.6g s ahead of the use, %" PRId64 " layers; %.6g GB/s a device\n",
            asked->cluster->tiers[i].name, i ? asked->cluster->tiers[i - 1].name : "device memory",
            fetch.leadSeconds, fetch.layersAhead, fetch.bytesPerSecond * 1e-9);
  }
  return true;
}

static bool answerCheckpoints(const CostAsked *asked) {
  enum { most = 512 };
  const double *v = asked->values;
  ShardChainOp ops[most];
  bool keep[most];
  int64_t n = count(asked, 0);
  ShardSegments cut;
  for (int64_t i = 0; i < n; ++i)
    ops[i] = (ShardChainOp){v[1], v[2]};
  if (!shardSegmentChainWithin((intptr_t)n, ops, v[3], keep, &cut))
    return shardOptFail("'--explain-cost': segments need %.6g bytes at least; the limit is %.6g",
                        cut.keptBytes + cut.innerBytes, v[3]);
  fprintf(asked->out,
          "%" PRIdPTR " segments: %.6g bytes kept and %.6g inside of one, %.6g saved; %.6g s "
          "computed again\n",
          cut.nSegments, cut.keptBytes, cut.innerBytes, cut.savedBytes, cut.repeatSeconds);
  fprintf(asked->out, "kept:");
  for (int64_t i = 0; i < n; ++i)
    if (keep[i])
      fprintf(asked->out, " %" PRId64, i);
  double rate =
      shardRateEffective(asked->cluster, &asked->cluster->deviceKinds[0].memoryBytesPerSecond);
  fprintf(asked->out, "\n%s of a density, sqrt(T_compute / (M_activation BW_storage)): %.4g\n",
          textbook, shardTextbookCheckpointDensity(v[1], v[2], rate));
  return true;
}

//===----------------------------------------------------------------------===//
// Compression
//===----------------------------------------------------------------------===//

static bool answerCompression(const CostAsked *asked) {
  const double *v = asked->values;
  const ShardCompression compression = {v[0], v[1], v[2], v[3]};
  ShardCompressionCost cost;
  ShardGroups *groups = groupsOf(asked, count(asked, 4), count(asked, 5));
  if (!groups)
    return false;
  shardCompressionCost(groups, &compression, &cost);
  double rate = shardTextbookBytesPerSecond(groups);
  shardGroupsDestroy(groups);
  fprintf(asked->out,
          "all-reduce of %.6g bytes, %" PRId64
          " ranks: %.6g ms; compressed, and gathered by all: %.6g ms: %.4gx, %s\n",
          v[0], count(asked, 4), cost.plainSeconds * 1e3, cost.compressedSeconds * 1e3, cost.gain,
          cost.gain > 1 ? "worth it" : "not worth it");
  if (v[6] >= 0)
    fprintf(asked->out, "a step of which %.4g is communication: %.4gx\n", v[6],
            shardCompressionSpeedUp(v[6], v[0] / v[1], v[7]));
  if (count(asked, 4) < 2)
    return true; // there is no link
  fprintf(asked->out, "%s, one message over one link of %.6g GB/s: %.4gx\n", textbook, rate * 1e-9,
          shardTextbookCompressionGain(&compression, rate));
  return true;
}

static bool answerLevels(const CostAsked *asked) {
  int64_t n = count(asked, 0), block = asked->values[2] > 0 ? count(asked, 2) : n;
  int64_t bytes = shardQuantizedBytes(n, (int32_t)asked->values[1], block);
  double levels = exp2(asked->values[1]);
  fprintf(asked->out, "%" PRId64 " bytes, %.4g times fewer than in 32 bits\n", bytes,
          4 * (double)n / (double)bytes);
  fprintf(asked->out, "%s, 32 / (1 + log2 k) of %.6g magnitudes beside a sign: %.4g\n", textbook,
          levels, shardTextbookLevelRatio(levels));
  return true;
}

static bool answerDistance(const CostAsked *asked) {
  const ShardTransfer transfer = {count(asked, 0), count(asked, 1), count(asked, 2)};
  int64_t n = asked->cluster->nDevices;
  if (transfer.from >= n || transfer.to >= n)
    return shardOptFail("'--explain-cost': device %" PRId64 " of a cluster of %" PRId64 " devices",
                        transfer.from >= n ? transfer.from : transfer.to, n);
  fprintf(asked->out, "distance %" PRId64 " (1 in a node, 10 in a rack, 100 beyond); ",
          shardClusterDistance(asked->cluster, transfer.from, transfer.to));
  fprintf(asked->out, "%" PRId64 " bytes take %.6g us\n", transfer.bytes,
          shardTransfersSeconds(asked->cluster, 1, &transfer) * 1e6);
  fprintf(asked->out, "%s of a placement's cost, bytes times distance: %.6g\n", textbook,
          shardTransfersDistance(asked->cluster, 1, &transfer));
  return true;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

#define MOST 1e15
#define COLLECTIVE(NAME, TEXT)                                                                     \
  {NAME,                                                                                           \
   TEXT,                                                                                           \
   {{"bytes", COST_COUNT, 1, MOST, NAN},                                                           \
    {"ranks", COST_COUNT, 1, MOST, NAN},                                                           \
    {"stride", COST_COUNT, 1, MOST, 1}},                                                           \
   answerCollective}

/// Collectives come first, in the order of their kinds.
const CostQuestion costQuestions[] = {
    COLLECTIVE("all-reduce", "each way of a collective, shortest first, and the textbook's forms"),
    COLLECTIVE("reduce-scatter", "the same"),
    COLLECTIVE("all-gather", "the same; bytes are those after it"),
    COLLECTIVE("all-to-all", "the same"),
    COLLECTIVE("broadcast", "the same"),
    COLLECTIVE("reduce", "the same"),
    COLLECTIVE("permute", "the same, each rank to the next of a ring"),
    COLLECTIVE("send", "the same, each rank to the next"),
    {"op",
     "an op on one device, by its roofline",
     {{"flops", COST_NUMBER, 0, 1e30, 0},
      {"vector-flops", COST_NUMBER, 0, 1e30, 0},
      {"bytes", COST_NUMBER, 0, 1e30, 0},
      {"type", COST_TYPE, 0, 0, SHARD_RATE_F32}},
     answerOp},
    {"matmul",
     "products [m, k] x [k, n] on one device",
     {{"m", COST_COUNT, 1, MOST, NAN},
      {"n", COST_COUNT, 1, MOST, NAN},
      {"k", COST_COUNT, 1, MOST, NAN},
      {"batch", COST_COUNT, 1, MOST, 1},
      {"type", COST_TYPE, 0, 0, SHARD_RATE_F16}},
     answerMatmul},
    {"efficiency",
     "the part of a step that computes, when nothing hides communication",
     {{"compute", COST_SECONDS, 0, 1e9, NAN}, {"communication", COST_SECONDS, 0, 1e9, NAN}},
     answerEfficiency},
    {"layer",
     "bytes that a rank sends for a transformer layer, forward",
     {{"batch", COST_COUNT, 1, MOST, NAN},
      {"sequence", COST_COUNT, 1, MOST, NAN},
      {"hidden", COST_COUNT, 1, MOST, NAN},
      {"tp", COST_COUNT, 1, MOST, 1},
      {"pp", COST_COUNT, 1, MOST, 1},
      {"layers", COST_COUNT, 1, MOST, 1},
      {"element-bytes", COST_NUMBER, 0.5, 8, 2}},
     answerLayer},
    {"model",
     "parameters and memory of a decoder, experts for a number of parameters, fleets",
     {{"layers", COST_COUNT, 1, MOST, NAN},
      {"hidden", COST_COUNT, 1, MOST, NAN},
      {"feed-forward", COST_COUNT, 1, MOST, NAN},
      {"experts", COST_COUNT, 0, MOST, 0},
      {"vocabulary", COST_COUNT, 0, MOST, 0},
      {"parameters", COST_NUMBER, 0, 1e18, 0},
      {"activations", COST_NUMBER, 0, 1e30, 0}},
     answerModel},
    {"step",
     "flops of a training step, and what part of the peak a measured time uses",
     {{"layers", COST_COUNT, 1, MOST, NAN},
      {"hidden", COST_COUNT, 1, MOST, NAN},
      {"feed-forward", COST_COUNT, 1, MOST, NAN},
      {"vocabulary", COST_COUNT, 0, MOST, 0},
      {"sequence", COST_COUNT, 1, MOST, NAN},
      {"batch", COST_COUNT, 1, MOST, NAN},
      {"seconds", COST_SECONDS, 0, 1e9, 0}},
     answerStep},
    {"memory",
     "where bytes lie that are spread over all devices and tiers",
     {{"bytes", COST_NUMBER, 1, 1e30, NAN}},
     answerMemory},
    {"prefetch",
     "how long ahead of its use a tensor of each device is fetched, from each tier",
     {{"bytes", COST_NUMBER, 1, 1e30, NAN},
      {"layer", COST_SECONDS, 1e-9, 1e9, NAN},
      {"slack", COST_SECONDS, 0, 1e9, 0}},
     answerPrefetch},
    {"checkpoints",
     "what to keep of a chain of equal ops within a limit of bytes, the rest computed again",
     {{"ops", COST_COUNT, 1, 512, NAN},
      {"seconds", COST_SECONDS, 0, 1e9, NAN},
      {"bytes", COST_NUMBER, 1, 1e30, NAN},
      {"limit", COST_NUMBER, 0, 1e30, NAN}},
     answerCheckpoints},
    {"compression",
     "whether gradients in fewer bytes are worth it; of a share of the step, what it gains",
     {{"bytes", COST_COUNT, 1, MOST, NAN},
      {"compressed", COST_COUNT, 1, MOST, NAN},
      {"compress", COST_SECONDS, 0, 1e9, 0},
      {"decompress", COST_SECONDS, 0, 1e9, 0},
      {"ranks", COST_COUNT, 1, MOST, NAN},
      {"stride", COST_COUNT, 1, MOST, 1},
      {"share", COST_NUMBER, 0, 1, -1},
      {"overhead", COST_NUMBER, 0, 0.999, 0}},
     answerCompression},
    {"levels",
     "bytes of numbers in levels of some bits, a least and a greatest value to each block",
     {{"count", COST_COUNT, 1, MOST, NAN},
      {"bits", COST_COUNT, 1, 16, NAN},
      {"block", COST_COUNT, 1, MOST, 0}},
     answerLevels},
    {"distance",
     "what a message between two devices takes, and the textbook's cost of it",
     {{"from", COST_COUNT, 0, MOST, NAN},
      {"to", COST_COUNT, 0, MOST, NAN},
      {"bytes", COST_COUNT, 1, MOST, 1}},
     answerDistance},
};
const int32_t nCostQuestions = sizeof(costQuestions) / sizeof(costQuestions[0]);
