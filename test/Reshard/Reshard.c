//===- Reshard.c - All pairs of placements, run and counted -------*- C -*-===//
// usage: shard-reshard-pairs [--seed=N] [--pairs=N] [--bytes]
//                            [--plant=exchange|reduce-scatter | --programs=DIR]
// On meshes of 8, 2x4, 2x2x2 and 2x2x2x2 ranks, every pair of placements of tensors
// up to rank 3, or
// --pairs of them where there are more (half of them uneven, partial or over some of the axes
// only). Each is planned, run on CPU ranks and compared element by element; the bytes that ranks
// sent must be those of the plan, and those the fewest that a brute force finds; no rank may hold
// more than the larger end and one step's buffer. --plant makes the engine overcharge a move: the
// brute force must then find dearer plans, else the program fails. --bytes draws partial values of
// odd sizes, larger ones than can be run in numbers, and compares bytes only. --programs writes
// --pairs pairs a mesh as DIR/0.mlir to DIR/3.mlir instead (Programs.c).
//===----------------------------------------------------------------------===//

#include "Case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static uint64_t randomBits(void) { // splitmix64
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}
static int randomBelow(int n) { return (int)(randomBits() % (uint64_t)n); }

static bool bytesOnly;
static int64_t nFailures, nDearer, nCompared, nRun, nChecked;
static void fail(const Case *c, const char *what) {
  char from[128], to[128];
  placeText(c->mesh, &c->from, from, sizeof(from));
  placeText(c->mesh, &c->to, to, sizeof(to));
  if (nFailures++ < 20)
    printf("FAIL: %s to %s (combiners %d, %d): %s\n", from, to, c->fromCombiner, c->toCombiner,
           what);
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

// All ways to give each axis to the end of a list of a dimension, to none, or to a partial value.
typedef struct Layout {
  int nDims, partial;
  int n[3], axes[3][maxAxes];
} Layout;

typedef struct Layouts {
  Layout *items;
  int count, capacity;
} Layouts;

static void addLayout(Layouts *all, const Layout *layout) {
  if (all->count == all->capacity) {
    all->capacity = all->capacity ? 2 * all->capacity : 64;
    all->items = realloc(all->items, (size_t)all->capacity * sizeof(Layout));
  }
  all->items[all->count++] = *layout;
}

static void listLayouts(Layouts *all, int nAxes, Layout *layout, int free) {
  for (int partial = free;; partial = (partial - 1) & free) {
    layout->partial = partial;
    addLayout(all, layout);
    if (!partial)
      break;
  }
  layout->partial = 0;
  for (int axis = 0; axis < nAxes; ++axis)
    for (int d = 0; d < layout->nDims && (free >> axis & 1); ++d) {
      layout->axes[d][layout->n[d]++] = axis;
      listLayouts(all, nAxes, layout, free & ~(1 << axis));
      --layout->n[d];
    }
}

// Where a layout puts a tensor whose dimensions are seen as `nParts` pieces each; a dimension's
// axes go to its first piece or, `late`, to its second.
static Place placeLayout(const Mesh *mesh, const Layout *layout, const int *dims,
                         const int *factors, int late) {
  Place place = {.partial = layout->partial};
  for (int d = 0; d < layout->nDims; ++d) {
    int parts = factors[d] > 1 ? 2 : 1;
    for (int k = 0; k < parts; ++k) {
      Piece *piece = &place.pieces[place.nPieces++];
      piece->dim = d;
      piece->size = parts == 1 ? dims[d] : k == 0 ? factors[d] : dims[d] / factors[d];
      if (k == (parts == 2 && (late >> d & 1))) {
        piece->nAxes = layout->n[d];
        memcpy(piece->axes, layout->axes[d], sizeof(piece->axes));
      }
      int n = axesSize(mesh, piece->nAxes, piece->axes);
      piece->chunk = (piece->size + n - 1) / n;
    }
  }
  return place;
}

static bool isUneven(const Mesh *mesh, const Place *place) {
  for (int p = 0; p < place->nPieces; ++p)
    if (place->pieces[p].chunk * axesSize(mesh, place->pieces[p].nAxes, place->pieces[p].axes) !=
        place->pieces[p].size)
      return true;
  return false;
}

static bool usesSome(const Mesh *mesh, const Place *place) {
  int used = 0;
  for (int p = 0; p < place->nPieces; ++p)
    used += place->pieces[p].nAxes;
  return used > 0 && used < mesh->nAxes;
}

// Odd sizes are at most `most` in the first dimension and `mostLater` in the others.
static Case makeCase(const Mesh *mesh, const Layout *from, const Layout *to, bool even, int most,
                     int mostLater) {
  static const int evenSizes[] = {16, 32, 48};
  Case c = {.mesh = mesh};
  int dims[3], factors[2][3] = {{1, 1, 1}, {1, 1, 1}};
  c.count = 1;
  bool views = randomBelow(4) == 0, other = randomBelow(3) == 0;
  for (int d = 0; d < from->nDims; ++d) {
    bool small = d > 0;
    dims[d] =
        even ? (small ? 16 : evenSizes[randomBelow(3)]) : 1 + randomBelow(small ? mostLater : most);
    if (views && randomBelow(2)) { // a dimension of two factors
      int major = 2 + randomBelow(5), minor = even ? 16 : 2 + randomBelow(5);
      dims[d] = major * minor;
      factors[0][d] = factors[1][d] = major;
      if (other)
        factors[randomBelow(2)][d] = randomBelow(2) ? 1 : minor;
    }
    c.count *= dims[d];
  }
  int late = randomBelow(8);
  c.from = placeLayout(mesh, from, dims, factors[0], late);
  c.to = placeLayout(mesh, to, dims, factors[1], randomBelow(3) ? late : randomBelow(8));
  c.sameView = memcmp(factors[0], factors[1], sizeof(factors[0])) == 0;
  c.fromCombiner = c.from.partial ? 1 + randomBelow(6) : 0;
  c.toCombiner =
      c.to.partial ? (c.fromCombiner && randomBelow(4) ? c.fromCombiner : 1 + randomBelow(6)) : 0;
  c.isHard = isUneven(mesh, &c.from) || isUneven(mesh, &c.to) || c.from.partial || c.to.partial ||
             usesSome(mesh, &c.from) || usesSome(mesh, &c.to);
  return c;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static uint32_t combine(int combiner, uint32_t a, uint32_t b) {
  switch (combiner) {
  case SHARD_RESHARD_SUM:
    return a + b;
  case SHARD_RESHARD_MAX:
    return (int32_t)a > (int32_t)b ? a : b;
  case SHARD_RESHARD_MIN:
    return (int32_t)a < (int32_t)b ? a : b;
  case SHARD_RESHARD_PRODUCT:
    return a * b;
  case SHARD_RESHARD_AND:
    return a & b;
  default:
    return a | b;
  }
}

typedef struct Job {
  Case c;
  ShardReshardPlan *plan;
  uint32_t *send[maxRanks], *recv[maxRanks], *whole;
  int64_t peak[maxRanks], sent[maxRanks];
} Job;

typedef struct Batch {
  Job *jobs;
  int n;
} Batch;

// The rank with this one's coordinates but those of another on some axes.
static int withCoordinates(const Mesh *mesh, int rank, int other, int axes) {
  int result = 0;
  for (int a = 0; a < mesh->nAxes; ++a)
    result = result * mesh->sizes[a] + mesh->coordinates[axes >> a & 1 ? other : rank][a];
  return result;
}

// What stands for an element over the ranks that differ from `rank` along the partial axes.
static bool combined(const Case *c, const Place *place, int combiner, uint32_t *const *buffers,
                     int rank, int e, uint32_t *out) {
  bool any = false;
  for (int other = 0; other < c->mesh->nRanks; ++other) {
    if (withCoordinates(c->mesh, rank, other, place->partial) != other)
      continue;
    int at = placeOf(c->mesh, place, other, e);
    if (at < 0)
      return false;
    *out = any ? combine(combiner, *out, buffers[other][at]) : buffers[other][at];
    any = true;
  }
  return any;
}

static void fillJob(Job *job) {
  const Case *c = &job->c;
  const Mesh *mesh = c->mesh;
  size_t in = (size_t)storageOf(&c->from), out = (size_t)storageOf(&c->to);
  job->whole = malloc((size_t)c->count * sizeof(uint32_t));
  for (int r = 0; r < mesh->nRanks; ++r) {
    job->send[r] = malloc(in * sizeof(uint32_t));
    job->recv[r] = malloc(out * sizeof(uint32_t));
    for (size_t i = 0; i < in; ++i)
      job->send[r][i] = (uint32_t)randomBits(); // padding holds anything
    for (size_t i = 0; i < out; ++i)
      job->recv[r][i] = (uint32_t)randomBits();
  }
  for (int e = 0; e < c->count; ++e) {
    // One value for each coordinate along the partial axes.
    uint32_t values[maxRanks];
    for (int r = 0; r < mesh->nRanks; ++r) {
      int key = withCoordinates(mesh, 0, r, c->from.partial);
      if (key == r)
        values[r] = (uint32_t)randomBits();
    }
    for (int r = 0; r < mesh->nRanks; ++r) {
      int at = placeOf(mesh, &c->from, r, e);
      if (at >= 0)
        job->send[r][at] = values[withCoordinates(mesh, 0, r, c->from.partial)];
    }
    uint32_t value = 0;
    bool any = false;
    for (int r = 0; r < mesh->nRanks; ++r)
      if (withCoordinates(mesh, 0, r, c->from.partial) == r) {
        value = any ? combine(c->fromCombiner, value, values[r]) : values[r];
        any = true;
      }
    job->whole[e] = value;
  }
}

static int runBatch(ShardRtContext *context, void *user) {
  Batch *batch = user;
  ShardRtComm *comm = shardRtContextGetComm(context);
  int rank = shardRtCommGetRank(comm);
  for (int i = 0; i < batch->n; ++i) {
    Job *job = &batch->jobs[i];
    shardRtCommResetBytes(comm);
    ShardRtStatus status = shardReshardRun(job->plan, comm, -1, SHARD_RT_I32, job->send[rank],
                                           job->recv[rank], &job->peak[rank]);
    if (status != SHARD_RT_OK)
      return status;
    for (int k = 0; k < SHARD_RT_N_KINDS; ++k)
      job->sent[rank] += shardRtCommGetBytes(comm, k);
  }
  return SHARD_RT_OK;
}

static void compareJob(const Job *job) {
  const Case *c = &job->c;
  int64_t sent = 0, limit = 0, calls = job->plan->nMessages;
  for (int r = 0; r < c->mesh->nRanks; ++r) {
    sent += job->sent[r];
    for (int e = 0; e < c->count; ++e) {
      if (placeOf(c->mesh, &c->to, r, e) < 0)
        continue;
      uint32_t value = 0;
      if (!combined(c, &c->to, c->toCombiner, job->recv, r, e, &value) || value != job->whole[e]) {
        fail(c, "a value differs");
        return;
      }
      ++nCompared;
    }
  }
  // An all-reduce's fraction of a byte is dropped on every rank.
  if (sent > job->plan->sentBytes || sent + calls * c->mesh->nRanks < job->plan->sentBytes)
    fail(c, "the ranks sent other bytes than planned");
  for (int k = 0; k < job->plan->nSteps; ++k)
    if (job->plan->steps[k].bufferBytes > limit)
      limit = job->plan->steps[k].bufferBytes;
  int in = storageOf(&c->from), out = storageOf(&c->to);
  int64_t larger = 4 * (int64_t)(in > out ? in : out);
  for (int k = 0; k <= job->plan->nSteps; ++k)
    if (4 * shardReshardStorageElements(&job->plan->mesh, &job->plan->states[k]) > larger &&
        c->sameView)
      fail(c, "a placement on the way is larger than both ends");
  for (int r = 0; r < c->mesh->nRanks; ++r)
    if (job->peak[r] > larger + limit) {
      fail(c, "a rank held more than the larger end and one step's buffer");
      return;
    }
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static ShardReshardPlacement toPublic(const Mesh *mesh, const Place *place, int combiner) {
  ShardReshardPlacement out = {.nPieces = place->nPieces};
  for (int p = 0; p < place->nPieces; ++p) {
    const Piece *piece = &place->pieces[p];
    out.pieces[p] =
        (ShardReshardPiece){.dim = piece->dim, .nAxes = piece->nAxes, .size = piece->size};
    for (int k = 0; k < piece->nAxes; ++k)
      out.pieces[p].axes[k] = (uint8_t)piece->axes[k];
  }
  for (int a = 0; a < mesh->nAxes; ++a)
    if (place->partial >> a & 1)
      out.partial[a] = (uint8_t)combiner;
  return out;
}

static bool planJob(Job *job, const ShardReshardOptions *options) {
  const Case *c = &job->c;
  ShardReshardMesh mesh = {.nAxes = c->mesh->nAxes};
  for (int a = 0; a < mesh.nAxes; ++a)
    mesh.sizes[a] = c->mesh->sizes[a];
  ShardReshardPlacement from = toPublic(c->mesh, &c->from, c->fromCombiner),
                        to = toPublic(c->mesh, &c->to, c->toCombiner);
  const char *message;
  if (shardReshardPlanCreate(&mesh, 4, &from, &to, options, &job->plan, &message) != SHARD_RT_OK) {
    fail(c, message);
    return false;
  }
  if (options->messageBytes)
    return true; // bytes are not all that counts
  if (!c->from.partial && !c->to.partial) {
    ++nChecked;
    if (job->plan->sentBytes != 4 * lackedElements(c)) {
      ++nDearer;
      if (!options->bytePercent[SHARD_RESHARD_EXCHANGE])
        fail(c, "the plan does not send just what ranks lack");
    }
  }
  if (!c->sameView)
    return true;
  ++nChecked;
  long planned = (long)job->plan->sentBytes, fewest = 4 * fewestElements(c, planned / 4);
  if (fewest == planned)
    return true;
  ++nDearer;
  bool planted = false;
  for (int k = 0; k < SHARD_RESHARD_N_STEP_KINDS; ++k)
    planted |= options->bytePercent[k] != 0;
  if (!planted) {
    char text[96];
    snprintf(text, sizeof(text), "%ld bytes are planned, %ld are enough", planned, fewest);
    fail(c, text);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

static Mesh makeMesh(int nAxes, const int *sizes) {
  Mesh mesh = {.nAxes = nAxes,
               .nRanks = axesSize(&(Mesh){.sizes = {sizes[0], sizes[1], sizes[2], sizes[3]}}, nAxes,
                                  (const int[]){0, 1, 2, 3})};
  for (int a = 0; a < nAxes; ++a)
    mesh.sizes[a] = sizes[a];
  for (int r = 0; r < mesh.nRanks; ++r)
    for (int a = nAxes - 1, left = r; a >= 0; left /= sizes[a--])
      mesh.coordinates[r][a] = left % sizes[a];
  return mesh;
}

static void runJobs(ShardRtWorld *world, Batch *batch) {
  if (!batch->n)
    return;
  if (shardRtWorldRunRanks(world, 0, NULL, runBatch, batch, NULL) != SHARD_RT_OK) {
    printf("FAIL: %s\n", shardRtWorldGetError(world));
    ++nFailures;
    shardRtWorldReset(world);
  }
  for (int i = 0; i < batch->n; ++i) {
    Job *job = &batch->jobs[i];
    compareJob(job);
    for (int r = 0; r < job->c.mesh->nRanks; ++r) {
      free(job->send[r]);
      free(job->recv[r]);
    }
    free(job->whole);
    shardReshardPlanDestroy(job->plan);
    ++nRun;
  }
  batch->n = 0;
}

enum { batchSize = 64 };

static void addCase(ShardRtWorld *world, Batch *batch, const Case *c, ShardReshardOptions options) {
  Job *job = &batch->jobs[batch->n];
  *job = (Job){.c = *c};
  if (!planJob(job, &options))
    return;
  if (bytesOnly) {
    shardReshardPlanDestroy(job->plan);
    ++nRun;
    return;
  }
  fillJob(job);
  if (++batch->n == batchSize)
    runJobs(world, batch);
}

// Writes `n` drawn pairs as a program.
static void writePairs(const Mesh *mesh, int n, const char *folder, int number) {
  enum { most = 64 };
  Case cases[most];
  Layouts layouts[4] = {{0}};
  for (int rank = 1; rank <= 3; ++rank) {
    Layout layout = {.nDims = rank};
    listLayouts(&layouts[rank], mesh->nAxes, &layout, (1 << mesh->nAxes) - 1);
  }
  n = n < most ? n : most;
  for (int i = 0; i < n;) {
    int rank = 1 + randomBelow(3);
    const Layout *from = &layouts[rank].items[randomBelow(layouts[rank].count)],
                 *to = &layouts[rank].items[randomBelow(layouts[rank].count)];
    cases[i] = makeCase(mesh, from, to, randomBelow(2), 37, 11);
    bool hasView = cases[i].from.nPieces != rank || cases[i].to.nPieces != rank;
    bool cutsOne = false; // which annotations refuse
    for (int p = 0; p < rank; ++p)
      cutsOne |= cases[i].from.pieces[p].size == 1 || cases[i].to.pieces[p].size == 1;
    if (!hasView && !cutsOne && !cases[i].to.partial && cases[i].fromCombiner <= SHARD_RESHARD_MIN)
      ++i;
  }
  char path[4096];
  snprintf(path, sizeof(path), "%s/%d.mlir", folder, number);
  if (!writeProgram(path, n, cases)) {
    printf("FAIL: cannot write %s\n", path);
    ++nFailures;
  }
  for (int rank = 1; rank <= 3; ++rank)
    free(layouts[rank].items);
}

static void testMesh(const Mesh *mesh, long most, const ShardReshardOptions *options) {
  Layouts layouts[4] = {{0}};
  long nPairs = 0;
  for (int rank = 1; rank <= 3; ++rank) {
    Layout layout = {.nDims = rank};
    listLayouts(&layouts[rank], mesh->nAxes, &layout, (1 << mesh->nAxes) - 1);
    nPairs += (long)layouts[rank].count * layouts[rank].count;
  }
  int64_t sizes[maxAxes];
  for (int a = 0; a < mesh->nAxes; ++a)
    sizes[a] = mesh->sizes[a];
  ShardRtWorld *world;
  if (shardRtWorldCreate(mesh->nAxes, sizes, NULL, &world) != SHARD_RT_OK) {
    printf("FAIL: no world\n");
    ++nFailures;
    return;
  }
  Batch batch = {.jobs = calloc(batchSize, sizeof(Job))};
  int64_t before = nRun, hard = 0;
  bool every = 2 * nPairs <= most && !bytesOnly;
  int odd = bytesOnly && mesh->nAxes < maxAxes ? 96 : 37; // all chunks of it are tried
  if (every) {
    for (int rank = 1; rank <= 3; ++rank)
      for (int i = 0; i < layouts[rank].count; ++i)
        for (int k = 0; k < layouts[rank].count; ++k)
          for (int even = 0; even < 2; ++even) {
            Case c = makeCase(mesh, &layouts[rank].items[i], &layouts[rank].items[k], even, 37, 11);
            hard += c.isHard;
            addCase(world, &batch, &c, *options);
          }
  } else {
    for (long n = 0; n < most; ++n) {
      Case c;
      int tries = 0;
      do { // ranks in the ratio of their pairs, but each often
        int rank = randomBelow(6) ? randomBelow(2) + 2 : 1;
        c = makeCase(mesh, &layouts[rank].items[randomBelow(layouts[rank].count)],
                     &layouts[rank].items[randomBelow(layouts[rank].count)],
                     !bytesOnly && randomBelow(2), odd, bytesOnly ? odd : 11);
      } while (bytesOnly ? !c.from.partial || !c.sameView : n % 2 && !c.isHard && ++tries < 1000);
      hard += c.isHard;
      ShardReshardOptions these = *options;
      if (n % 16 == 15 && !bytesOnly && !these.bytePercent[SHARD_RESHARD_EXCHANGE])
        these.messageBytes = 1 + randomBelow(500); // latency counts: other plans must be right too
      addCase(world, &batch, &c, these);
    }
  }
  runJobs(world, &batch);
  free(batch.jobs);
  for (int rank = 1; rank <= 3; ++rank)
    free(layouts[rank].items);
  shardRtWorldDestroy(world);
  printf("mesh ");
  for (int a = 0; a < mesh->nAxes; ++a)
    printf("%s%d", a ? "x" : "", mesh->sizes[a]);
  printf(": %" PRId64 " pairs %s (%s of %ld), %" PRId64 " uneven, partial or over some axes\n",
         nRun - before, bytesOnly ? "planned" : "run", every ? "all, even and uneven," : "sampled",
         nPairs, hard);
  if (2 * hard < nRun - before) {
    printf("FAIL: less than half of the pairs are uneven, partial or over some axes\n");
    ++nFailures;
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  long most = 10000;
  unsigned long seed = 1;
  ShardReshardOptions options = {0};
  const char *folder = NULL;
  for (int i = 1; i < argc; ++i) {
    if (!strncmp(argv[i], "--seed=", 7))
      seed = strtoul(argv[i] + 7, NULL, 10);
    else if (!strncmp(argv[i], "--pairs=", 8))
      most = strtol(argv[i] + 8, NULL, 10);
    else if (!strncmp(argv[i], "--programs=", 11))
      folder = argv[i] + 11;
    else if (!strcmp(argv[i], "--bytes"))
      bytesOnly = true;
    else if (!strcmp(argv[i], "--plant=exchange"))
      options.bytePercent[SHARD_RESHARD_EXCHANGE] = 400;
    else if (!strcmp(argv[i], "--plant=reduce-scatter"))
      options.bytePercent[SHARD_RESHARD_REDUCE_SCATTER] = 400;
    else
      return fprintf(stderr, "usage: shard-reshard-pairs [--seed=N] [--pairs=N] [--bytes] "
                             "[--plant=exchange|reduce-scatter | --programs=DIR]\n"),
             2;
  }
  bool planted = options.bytePercent[SHARD_RESHARD_EXCHANGE] ||
                 options.bytePercent[SHARD_RESHARD_REDUCE_SCATTER];
  printf("seed %lu, at most %ld pairs a mesh\n", seed, most);
  static const int meshes[][maxAxes] = {{8}, {2, 4}, {2, 2, 2}, {2, 2, 2, 2}};
  for (int m = 0; m < 4; ++m) {
    int nAxes = 0;
    while (nAxes < maxAxes && meshes[m][nAxes])
      ++nAxes;
    state = seed * 4 + (unsigned long)m;
    Mesh mesh = makeMesh(nAxes, meshes[m]);
    if (folder)
      writePairs(&mesh, (int)most, folder, m);
    else
      testMesh(&mesh, most, &options);
  }
  if (folder)
    return nFailures != 0;
  printf("%" PRId64 " pairs run, %" PRId64 " elements compared, %" PRId64
         " checks of bytes, %" PRId64 " dearer than need be, %" PRId64 " failures\n",
         nRun, nCompared, nChecked, nDearer, nFailures);
  if (planted && !nDearer) {
    printf("FAIL: the planted overcharge was not found\n");
    return 1;
  }
  return nFailures != 0;
}
