//===- Run.c - A plan on the ranks of a world ---------------------*- C -*-===//

#include "Internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct Runner {
  const ShardReshardPlan *plan;
  const Problem *problem;
  ShardRtComm *comm;
  ShardRtSite site;
  ShardRtElement element;
  int64_t elementBytes;
  int64_t coordinates[MAX_AXES];
  int64_t liveBytes, peakBytes;
} Runner;

// A buffer of `count` elements, whose size stands before it; null: out of memory.
static void *take(Runner *runner, int64_t count) {
  enum { header = 64 }; // keeps the alignment
  size_t bytes = (size_t)count * (size_t)runner->elementBytes;
  char *memory = calloc(1, bytes + header);
  if (!memory)
    return NULL;
  *(int64_t *)(void *)memory = (int64_t)bytes;
  runner->liveBytes += (int64_t)bytes;
  if (runner->liveBytes > runner->peakBytes)
    runner->peakBytes = runner->liveBytes;
  return memory + header;
}

static void give(Runner *runner, void *buffer) {
  if (!buffer)
    return;
  char *memory = (char *)buffer - 64;
  runner->liveBytes -= *(int64_t *)(void *)memory;
  free(memory);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

// Where a box lies in a dense buffer. Null offsets: at its beginning; null orders: as stored.
typedef struct Room {
  const int64_t *shape, *offset;
  const int64_t *const *order; // [pieces] null, or the step of storage at each packed place
} Room;

static int64_t stepOf(const Room *room, int64_t i) {
  int64_t place = (room->offset ? room->offset[0] : 0) + i;
  return room->order && room->order[0] ? room->order[0][place] : place;
}

static Room insideOf(const Room *room) {
  return (Room){room->shape + 1, room->offset ? room->offset + 1 : NULL,
                room->order ? room->order + 1 : NULL};
}

// Copies a box between dense buffers of `n` dimensions.
static void copyBox(int32_t n, int64_t elementBytes, const int64_t *box, const char *from, Room in,
                    char *to, Room out) {
  if (n == 0) {
    memcpy(to, from, (size_t)elementBytes);
    return;
  }
  int64_t fromStride = elementBytes, toStride = elementBytes;
  for (int32_t k = 1; k < n; ++k) {
    fromStride *= in.shape[k];
    toStride *= out.shape[k];
  }
  bool ordered = (in.order && in.order[0]) || (out.order && out.order[0]);
  if (n == 1 && !ordered) {
    memcpy(to + stepOf(&out, 0) * toStride, from + stepOf(&in, 0) * fromStride,
           (size_t)(box[0] * elementBytes));
    return;
  }
  for (int64_t i = 0; i < box[0]; ++i)
    copyBox(n - 1, elementBytes, box + 1, from + stepOf(&in, i) * fromStride, insideOf(&in),
            to + stepOf(&out, i) * toStride, insideOf(&out));
}

static int64_t productOf(int32_t n, const int64_t *sizes) {
  int64_t product = 1;
  for (int32_t k = 0; k < n; ++k)
    product *= sizes[k];
  return product;
}

// Copies what fits of piece `p`: steps from `begin` of `from` to `at` of `to`.
static void copySteps(const Runner *runner, int32_t p, const char *from, const int64_t *fromShape,
                      int64_t begin, char *to, const int64_t *toShape, int64_t at, int64_t most) {
  int32_t n = runner->plan->nPieces;
  int64_t box[MAX_PIECES], fromOffset[MAX_PIECES] = {0}, toOffset[MAX_PIECES] = {0};
  for (int32_t k = 0; k < n; ++k)
    box[k] = fromShape[k] < toShape[k] ? fromShape[k] : toShape[k];
  box[p] = most;
  if (box[p] > fromShape[p] - begin)
    box[p] = fromShape[p] - begin;
  if (box[p] > toShape[p] - at)
    box[p] = toShape[p] - at;
  fromOffset[p] = begin;
  toOffset[p] = at;
  if (box[p] > 0)
    copyBox(n, runner->elementBytes, box, from, (Room){fromShape, fromOffset, NULL}, to,
            (Room){toShape, toOffset, NULL});
}

//===----------------------------------------------------------------------===//
// Identities
//===----------------------------------------------------------------------===//

static uint64_t identityBits(ShardRtElement element, ShardReshardCombiner combiner) {
  static const uint64_t one[] = {
      1, 1, 1, 1, 1, 0x3C00, 0x3F80, 0x3F800000, UINT64_C(0x3FF0000000000000)};
  static const uint64_t least[] = {0,
                                   UINT64_C(0x80),
                                   UINT64_C(0x8000),
                                   UINT64_C(0x80000000),
                                   UINT64_C(0x8000000000000000),
                                   0xFC00,
                                   0xFF80,
                                   UINT64_C(0xFF800000),
                                   UINT64_C(0xFFF0000000000000)};
  static const uint64_t most[] = {1,
                                  0x7F,
                                  0x7FFF,
                                  0x7FFFFFFF,
                                  UINT64_C(0x7FFFFFFFFFFFFFFF),
                                  0x7C00,
                                  0x7F80,
                                  0x7F800000,
                                  UINT64_C(0x7FF0000000000000)};
  switch (combiner) {
  case SHARD_RESHARD_MAX:
    return least[element];
  case SHARD_RESHARD_MIN:
    return most[element];
  case SHARD_RESHARD_PRODUCT:
    return one[element];
  case SHARD_RESHARD_AND:
    return element == SHARD_RT_I1 ? 1 : ~UINT64_C(0);
  default:
    return 0;
  }
}

static void fill(const Runner *runner, char *to, int64_t count, uint64_t bits) {
  char bytes[8];
  for (int k = 0; k < 8; ++k) // little end first, as on every host that has a backend
    bytes[k] = (char)(bits >> (8 * k));
  for (int64_t i = 0; i < count; ++i)
    memcpy(to + i * runner->elementBytes, bytes, (size_t)runner->elementBytes);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

typedef struct StepRun {
  const ShardReshardStep *step;
  const Cut *before, *after;
  int64_t in[MAX_PIECES], out[MAX_PIECES]; // shapes
  int64_t devices, position;
  uint32_t mask;
  const char *send;
  char *recv;
  const int64_t *const *fromOrder, *const *toOrder; // of an exchange, for this rank
} StepRun;

static void runSlice(Runner *runner, const StepRun *run) {
  int32_t p = run->step->to;
  copySteps(runner, p, run->send, run->in, run->position * run->out[p], run->recv, run->out, 0,
            run->out[p]);
}

static void runEnter(Runner *runner, const StepRun *run) {
  const ShardReshardStep *step = run->step;
  int32_t n = runner->plan->nPieces;
  fill(runner, run->recv, productOf(n, run->out), identityBits(runner->element, step->combiner));
  int64_t box[MAX_PIECES], offset[MAX_PIECES];
  uint32_t once = run->mask;
  for (int32_t p = 0; p < n; ++p) {
    int keep = run->after[p].nAxes, more = run->before[p].nAxes - keep;
    for (int k = 0; k < more; ++k)
      once &= ~(UINT32_C(1) << run->before[p].axes[keep + k]);
    offset[p] = run->in[p] * positionOf(&runner->plan->mesh, more, &run->before[p].axes[keep],
                                        runner->coordinates);
    box[p] = run->in[p] < run->out[p] - offset[p] ? run->in[p] : run->out[p] - offset[p];
    if (box[p] <= 0)
      return;
  }
  bool repeats = step->combiner != SHARD_RESHARD_SUM && step->combiner != SHARD_RESHARD_PRODUCT;
  for (int32_t a = 0; a < runner->plan->mesh.nAxes; ++a)
    if (!repeats && (once >> a & 1) && runner->coordinates[a])
      return;
  copyBox(n, runner->elementBytes, box, run->send, (Room){run->in, NULL, NULL}, run->recv,
          (Room){run->out, offset, NULL});
}

static ShardRtStatus runAllReduce(Runner *runner, const StepRun *run) {
  return shardRtAllReduce(runner->comm, run->mask, runner->site, run->send, run->recv,
                          (size_t)productOf(runner->plan->nPieces, run->in), runner->element,
                          (ShardRtReduction)(run->step->combiner - 1));
}

static ShardRtStatus runReduceScatter(Runner *runner, const StepRun *run) {
  int32_t n = runner->plan->nPieces, p = run->step->to;
  int64_t padded[MAX_PIECES];
  memcpy(padded, run->in, sizeof(padded));
  padded[p] = run->out[p] * run->devices;
  char *packed = NULL;
  if (padded[p] != run->in[p]) {
    packed = take(runner, productOf(n, padded));
    if (!packed)
      return SHARD_RT_OUT_OF_MEMORY;
    copySteps(runner, p, run->send, run->in, 0, packed, padded, 0, run->in[p]);
  }
  ShardRtStatus status = shardRtReduceScatter(
      runner->comm, run->mask, runner->site, packed ? packed : run->send, run->recv,
      (size_t)productOf(p, run->out), (size_t)productOf(n - p, run->out + p), runner->element,
      (ShardRtReduction)(run->step->combiner - 1));
  give(runner, packed);
  return status;
}

static ShardRtStatus runAllGather(Runner *runner, const StepRun *run) {
  int32_t n = runner->plan->nPieces, p = run->step->from;
  int64_t gathered[MAX_PIECES];
  memcpy(gathered, run->in, sizeof(gathered));
  gathered[p] *= run->devices;
  bool crops = gathered[p] != run->out[p];
  char *recv = crops ? take(runner, productOf(n, gathered)) : run->recv;
  if (!recv)
    return SHARD_RT_OUT_OF_MEMORY;
  ShardRtStatus status = shardRtAllGather(runner->comm, run->mask, runner->site, run->send, recv,
                                          (size_t)productOf(p, run->in),
                                          (size_t)productOf(n - p, run->in + p), runner->element);
  if (!crops)
    return status;
  copySteps(runner, p, recv, gathered, 0, run->recv, run->out, 0, run->out[p]);
  give(runner, recv);
  return status;
}

static ShardRtStatus runAllToAll(Runner *runner, const StepRun *run) {
  int32_t n = runner->plan->nPieces, i = run->step->from, j = run->step->to;
  int64_t block[MAX_PIECES];
  memcpy(block, run->in, sizeof(block));
  block[j] = run->out[j];
  int64_t count = productOf(n, block);
  char *packed = take(runner, count * run->devices), *moved = take(runner, count * run->devices);
  ShardRtStatus status = SHARD_RT_OUT_OF_MEMORY;
  if (packed && moved) {
    for (int64_t k = 0; k < run->devices; ++k)
      copySteps(runner, j, run->send, run->in, k * block[j],
                packed + k * count * runner->elementBytes, block, 0, block[j]);
    status = shardRtAllToAll(runner->comm, run->mask, runner->site, packed, moved, (size_t)count,
                             runner->element);
    for (int64_t k = 0; k < run->devices && status == SHARD_RT_OK; ++k)
      copySteps(runner, i, moved + k * count * runner->elementBytes, block, 0, run->recv, run->out,
                k * block[i], block[i]);
  }
  give(runner, packed);
  give(runner, moved);
  return status;
}

// The rank of the world at a position of this rank's group.
static int32_t rankAt(const Runner *runner, const ShardReshardStep *step, int64_t position) {
  const ShardReshardMesh *mesh = &runner->plan->mesh;
  int64_t coordinates[MAX_AXES], rank = 0;
  memcpy(coordinates, runner->coordinates, sizeof(coordinates));
  for (int32_t k = step->nAxes - 1; k >= 0; --k) {
    coordinates[step->axes[k]] = position % mesh->sizes[step->axes[k]];
    position /= mesh->sizes[step->axes[k]];
  }
  for (int32_t a = 0; a < mesh->nAxes; ++a)
    rank = rank * mesh->sizes[a] + coordinates[a];
  return (int32_t)rank;
}

static ShardRtStatus runMove(Runner *runner, const StepRun *run, const ShardReshardMove *move) {
  int32_t n = runner->plan->nPieces;
  bool sends = move->sender == run->position, receives = move->receiver == run->position;
  Room in = {run->in, move->fromOffset, run->fromOrder};
  Room out = {run->out, move->toOffset, run->toOrder}, wire = {move->shape, NULL, NULL};
  if (sends && receives) {
    copyBox(n, runner->elementBytes, move->shape, run->send, in, run->recv, out);
    return SHARD_RT_OK;
  }
  if (!sends && !receives)
    return SHARD_RT_OK;
  int64_t count = productOf(n, move->shape);
  char *packed = take(runner, count);
  if (!packed)
    return SHARD_RT_OUT_OF_MEMORY;
  if (sends)
    copyBox(n, runner->elementBytes, move->shape, run->send, in, packed, wire);
  int32_t peer = rankAt(runner, run->step, sends ? move->receiver : move->sender);
  ShardRtStatus status = sends ? shardRtSend(runner->comm, runner->site, runner->site, peer, packed,
                                             (size_t)count, runner->element)
                               : shardRtReceive(runner->comm, runner->site, runner->site, peer,
                                                packed, (size_t)count, runner->element);
  if (receives && status == SHARD_RT_OK)
    copyBox(n, runner->elementBytes, move->shape, packed, wire, run->recv, out);
  give(runner, packed);
  return status;
}

// In each round sends come first; a send never waits, so that no ring of receives can form.
static ShardRtStatus runExchange(Runner *runner, const StepRun *run, int32_t step) {
  ShardReshardExchange *exchange = shardReshardExchangeCreate(runner->plan, step);
  // Rows of this rank.
  const int64_t *fromOrder[MAX_PIECES] = {NULL}, *toOrder[MAX_PIECES] = {NULL};
  for (int32_t p = 0; p < exchange->nPieces; ++p) {
    if (!exchange->fromOrder[p])
      continue;
    fromOrder[p] =
        exchange->fromOrder[p] + run->in[p] * positionOf(&runner->plan->mesh, run->before[p].nAxes,
                                                         run->before[p].axes, runner->coordinates);
    toOrder[p] =
        exchange->toOrder[p] + run->out[p] * positionOf(&runner->plan->mesh, run->after[p].nAxes,
                                                        run->after[p].axes, runner->coordinates);
  }
  StepRun packed = *run;
  packed.fromOrder = fromOrder;
  packed.toOrder = toOrder;
  run = &packed;
  ShardRtStatus status = SHARD_RT_OK;
  for (int64_t i = 0, end; i < exchange->nMoves && status == SHARD_RT_OK; i = end) {
    for (end = i; end < exchange->nMoves && exchange->moves[end].round == exchange->moves[i].round;)
      ++end;
    for (int64_t k = i; k < end && status == SHARD_RT_OK; ++k)
      if (exchange->moves[k].sender == run->position)
        status = runMove(runner, run, &exchange->moves[k]);
    for (int64_t k = i; k < end && status == SHARD_RT_OK; ++k)
      if (exchange->moves[k].receiver == run->position &&
          exchange->moves[k].sender != run->position)
        status = runMove(runner, run, &exchange->moves[k]);
  }
  shardReshardExchangeDestroy(exchange);
  return status;
}

static ShardRtStatus runStep(Runner *runner, int32_t index, const char *send, char *recv) {
  const PlanMemory *memory = runner->plan->memory;
  int32_t n = runner->plan->nPieces;
  StepRun run = {.step = &runner->plan->steps[index],
                 .before = &memory->cuts[index * n],
                 .after = &memory->cuts[(index + 1) * n],
                 .send = send,
                 .recv = recv};
  for (int32_t p = 0; p < n; ++p) {
    run.in[p] = run.before[p].chunk;
    run.out[p] = run.after[p].chunk;
  }
  run.devices = axesProduct(&runner->plan->mesh, run.step->nAxes, run.step->axes);
  run.position =
      positionOf(&runner->plan->mesh, run.step->nAxes, run.step->axes, runner->coordinates);
  for (int32_t k = 0; k < run.step->nAxes; ++k)
    run.mask |= UINT32_C(1) << run.step->axes[k];
  switch (run.step->kind) {
  case SHARD_RESHARD_SLICE:
    runSlice(runner, &run);
    return SHARD_RT_OK;
  case SHARD_RESHARD_ENTER:
    runEnter(runner, &run);
    return SHARD_RT_OK;
  case SHARD_RESHARD_ALL_GATHER:
    return runAllGather(runner, &run);
  case SHARD_RESHARD_ALL_TO_ALL:
    return runAllToAll(runner, &run);
  case SHARD_RESHARD_EXCHANGE:
    return runExchange(runner, &run, index);
  case SHARD_RESHARD_ALL_REDUCE:
    return runAllReduce(runner, &run);
  default:
    return runReduceScatter(runner, &run);
  }
}

ShardRtStatus shardReshardRun(const ShardReshardPlan *plan, ShardRtComm *comm, ShardRtSite site,
                              ShardRtElement element, const void *send, void *recv,
                              int64_t *outPeakBytes) {
  static const int64_t bytes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
  if (outPeakBytes)
    *outPeakBytes = 0;
  if (!plan || !comm || !send || !recv || element < 0 || element > SHARD_RT_F64 ||
      bytes[element] != plan->elementBytes)
    return SHARD_RT_INVALID_ARGUMENT;
  const PlanMemory *memory = plan->memory;
  Runner runner = {.plan = plan,
                   .problem = &memory->problem,
                   .comm = comm,
                   .site = site,
                   .element = element,
                   .elementBytes = plan->elementBytes};
  if (shardRtWorldGetSize(shardRtCommGetWorld(comm)) != memory->problem.nDevices)
    return SHARD_RT_INVALID_ARGUMENT;
  int64_t rank = shardRtCommGetRank(comm);
  for (int32_t a = plan->mesh.nAxes - 1; a >= 0; --a) {
    runner.coordinates[a] = rank % plan->mesh.sizes[a];
    rank /= plan->mesh.sizes[a];
  }
  if (plan->nSteps == 0)
    memcpy(recv, send,
           (size_t)(shardReshardStorage(&memory->problem, memory->cuts) * plan->elementBytes));
  const char *at = send;
  char *owned = NULL;
  ShardRtStatus status = SHARD_RT_OK;
  for (int32_t k = 0; k < plan->nSteps && status == SHARD_RT_OK; ++k) {
    bool last = k + 1 == plan->nSteps;
    char *out = last ? recv
                     : take(&runner, shardReshardStorage(&memory->problem,
                                                         &memory->cuts[(k + 1) * plan->nPieces]));
    status = out ? runStep(&runner, k, at, out) : SHARD_RT_OUT_OF_MEMORY;
    give(&runner, owned);
    owned = last ? NULL : out;
    at = out;
  }
  give(&runner, owned);
  if (outPeakBytes)
    *outPeakBytes = runner.peakBytes;
  return status;
}
