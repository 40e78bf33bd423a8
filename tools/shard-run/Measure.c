//===- Measure.c - What this machine reaches, as a cluster file ----*- C -*-===//
// Rates are those of small programs that the product's own lowering made, so that a rate is what an
// emitted program reaches. Which programs there are depends on no model. One rank is timed by the
// clock of its thread, which stands still while others have the core.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Measure.h"
#include "ColdMemory.h"
#include "MeasureProgram.h"
#include "Memory.h"

#include "../common/OutputFile.h"
#include "shard/Cluster.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/// Ranks that can work at the same time.
static int32_t coreCount(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 1 ? (int32_t)n : 1;
}

static void cpuName(char *out, size_t outBytes) {
  char line[512];
  snprintf(out, outBytes, "unknown CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !colon)
      continue;
    char *name = colon + 1 + strspn(colon + 1, " \t");
    name[strcspn(name, "\n")] = 0;
    for (char *c = name; *c; ++c)
      if ((unsigned char)*c < ' ')
        *c = ' ';
    if (*name)
      snprintf(out, outBytes, "%s", name);
    break;
  }
  if (file)
    fclose(file);
}

/// What all steps share.
typedef struct Machine {
  Compiler *compiler;
  bool quick;
  int32_t nRanks;
  double launch; // seconds of an op
} Machine;

enum { N_ROUNDS = 3, MAX_TYPES = 8 };

static double secondsEach(const Machine *machine) { return machine->quick ? 0.0005 : 0.004; }

/// Compiles the cases and times them: alone, and with all ranks at work when `busy`.
static void timeCases(const Machine *machine, size_t nCases, MeasureCase *cases, bool busy) {
  Compiled compiled = {0};
  double each = secondsEach(machine);
  measureCompile(machine->compiler, nCases, cases, &compiled);
  measureAlone(compiled.program, nCases, cases, machine->quick ? 1 : N_ROUNDS, each);
  if (busy && machine->nRanks > 1)
    measureBusy(compiled.program, nCases, cases, machine->nRanks, 10 * each);
  compiledRelease(&compiled);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

typedef struct Grid {
  size_t n[3];
  const int64_t *sizes[3];
} Grid;

static Grid gridOf(const Machine *machine, const char *type) {
  static const int64_t all[] = {1, 8, 32, 64, 128, 256, 512, 1024}, deep[] = {16, 64, 256, 1024};
  static const int64_t few[] = {1, 16, 128}, small[] = {1, 8, 64, 256};
  if (machine->quick)
    return (Grid){{COUNT(few), COUNT(few), COUNT(few)}, {few, few, few}};
  if (type[0] == 'i') // there is no product of integers, and a loop is a loop at any size
    return (Grid){{COUNT(small), COUNT(small), COUNT(small)}, {small, small, small}};
  return (Grid){{COUNT(all), COUNT(all), COUNT(deep)}, {all, all, deep}};
}

static json_t *sizesOf(size_t n, const int64_t *sizes) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; ++i)
    json_array_append_new(list, json_integer(sizes[i]));
  return list;
}

/// Products of one type.
typedef struct Products {
  Grid grid;
  size_t nCases;
  MeasureCase *cases;
  Compiled compiled;
} Products;

static Products compileProducts(const Machine *machine, const char *type) {
  Grid grid = gridOf(machine, type);
  Products out = {.grid = grid, .nCases = grid.n[0] * grid.n[1] * grid.n[2]};
  out.cases = memoryZeroed(out.nCases * sizeof *out.cases);
  for (size_t i = 0; i < out.nCases; ++i)
    out.cases[i] = (MeasureCase){.kind = MEASURE_CONTRACTION,
                                 .type = type,
                                 .m = grid.sizes[0][i / grid.n[2] / grid.n[1]],
                                 .n = grid.sizes[1][i / grid.n[2] % grid.n[1]],
                                 .k = grid.sizes[2][i % grid.n[2]]};
  measureCompile(machine->compiler, out.nCases, out.cases, &out.compiled);
  return out;
}

/// {"achieved": BEST, "efficiency": GRID} of products that are timed, and releases them.
static json_t *summariseProducts(const Machine *machine, Products *products, double *outBusy) {
  Grid grid = products->grid;
  size_t nCases = products->nCases;
  MeasureCase *cases = products->cases;
  double best = 0, *busy = memoryZeroed(nCases * sizeof *busy);
  size_t nBusy = 0;
  for (size_t i = 0; i < nCases; ++i) {
    MeasureCase *c = &cases[i];
    c->seconds = fmax(c->seconds - machine->launch, c->seconds / 10);
    best = fmax(best, 2.0 * (double)c->m * (double)c->n * (double)c->k / c->seconds);
  }
  json_t *fractions = json_array();
  for (size_t i = 0; i < nCases; ++i) {
    MeasureCase *c = &cases[i];
    double rate = 2.0 * (double)c->m * (double)c->n * (double)c->k / c->seconds;
    json_array_append_new(fractions, measureNumber(fmax(rate / best, 1e-6)));
    if (c->busySeconds > 0 && rate > best / 2)
      busy[nBusy++] = fmin(c->seconds / c->busySeconds, 1);
  }
  if (outBusy)
    *outBusy = nBusy ? measureQuantile(nBusy, busy, 0.5) : 1;
  free(cases);
  free(busy);
  compiledRelease(&products->compiled);
  return json_pack("{s:o, s:{s:o, s:o, s:o, s:o}}", "achieved", measureRate(best), "efficiency",
                   "m", sizesOf(grid.n[0], grid.sizes[0]), "n", sizesOf(grid.n[1], grid.sizes[1]),
                   "k", sizesOf(grid.n[2], grid.sizes[2]), "fractions", fractions);
}

/// Of each of `nTypes` types. The rounds go over all of them, so that seconds in which the machine
/// is slow are no type's alone.
static void measureContractions(const Machine *machine, size_t nTypes, const char *const *types,
                                json_t **outRates, double *outBusy) {
  Products products[MAX_TYPES];
  for (size_t i = 0; i < nTypes; ++i)
    products[i] = compileProducts(machine, types[i]);
  for (int round = 0; round < (machine->quick ? 1 : N_ROUNDS); ++round)
    for (size_t i = 0; i < nTypes; ++i)
      measureAlone(products[i].compiled.program, products[i].nCases, products[i].cases, 1,
                   secondsEach(machine));
  if (machine->nRanks > 1)
    measureBusy(products[0].compiled.program, products[0].nCases, products[0].cases,
                machine->nRanks, 10 * secondsEach(machine));
  for (size_t i = 0; i < nTypes; ++i)
    outRates[i] = summariseProducts(machine, &products[i], i ? NULL : outBusy);
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

/// Runs of tiny ops.
static double measureLaunch(const Machine *machine) {
  MeasureCase launch = {.kind = MEASURE_LAUNCH, .type = "f32", .repeats = 32};
  timeCases(machine, 1, &launch, false);
  return launch.seconds / launch.repeats;
}

static double machineBytes(void) {
  return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/// Bytes a second over sizes, of one rank and of all of them: the curves' fractions are of the
/// longest array's, which is the memory's rate.
static double measureMemory(const Machine *machine, json_t **outAlone, json_t **outBusy) {
  enum { N_SIZES = 8 };
  MeasureCase cases[N_SIZES];
  size_t nCases = (size_t)sizesThatFit(machine->quick ? N_SIZES / 2 : N_SIZES, 12 * 1024,
                                       machine->nRanks, machineBytes());
  for (size_t i = 0; i < nCases; ++i) // 12 bytes each: 12 KiB, then times four, up to 192 MiB
    cases[i] = (MeasureCase){
        .kind = MEASURE_COPY, .type = "f32", .n = INT64_C(1024) << 2 * i, .repeats = 1};
  timeCases(machine, nCases, cases, true);
  double memory = 12.0 * (double)cases[nCases - 1].n / cases[nCases - 1].seconds;
  *outAlone = json_array(), *outBusy = NULL;
  if (machine->nRanks > 1)
    *outBusy = json_array();
  for (size_t i = 0; i < nCases; ++i) {
    double bytes = 12.0 * (double)cases[i].n;
    double seconds = fmax(cases[i].seconds - machine->launch, cases[i].seconds / 10);
    double alone = fmin(bytes / seconds / memory, 1000);
    json_array_append_new(*outAlone, json_pack("[f, o]", bytes, measureNumber(alone)));
    if (*outBusy)
      json_array_append_new(
          *outBusy, json_pack("[f, o]", bytes,
                              measureNumber(fmin(alone, bytes / cases[i].busySeconds / memory))));
  }
  return memory;
}

/// Operations a second of `type` in `*outVector`, and evaluations a second of functions.
static json_t *measureVectors(const Machine *machine, const char *type, json_t **outVector) {
  static const struct {
    const char *op;
    ShardFunction function;
  } functions[] = {{"arith.divf", SHARD_FUNCTION_DIVIDE}, {"math.rsqrt", SHARD_FUNCTION_SQRT},
                   {"math.exp", SHARD_FUNCTION_EXP},      {"math.tanh", SHARD_FUNCTION_TANH},
                   {"math.erf", SHARD_FUNCTION_ERF},      {"math.sin", SHARD_FUNCTION_OTHER}};
  bool integer = type[0] == 'i';
  MeasureCase cases[COUNT(functions) + 2];
  size_t nCases = 0;
  cases[nCases++] =
      (MeasureCase){.kind = MEASURE_ARITHMETIC, .type = type, .n = 2048, .repeats = 16};
  if (!integer) {
    cases[nCases++] = (MeasureCase){.kind = MEASURE_REDUCE, .type = type, .m = 16, .n = 512};
    for (size_t i = 0; i < COUNT(functions); ++i)
      cases[nCases++] = (MeasureCase){.kind = MEASURE_FUNCTION,
                                      .type = type,
                                      .n = 2048,
                                      .repeats = 4,
                                      .function = functions[i].op};
  }
  timeCases(machine, nCases, cases, false);
  json_t *rates = json_object();
  for (size_t i = 0; i < nCases; ++i) {
    const MeasureCase *c = &cases[i];
    double count = (double)c->n * (double)(c->repeats ? c->repeats : c->m);
    json_t *rate =
        json_pack("{s:o}", "achieved",
                  measureRate(count / fmax(c->seconds - machine->launch, c->seconds / 10)));
    if (i == 0)
      *outVector = rate;
    else
      json_object_set_new(
          rates, shardFunctionName(i == 1 ? SHARD_FUNCTION_REDUCE : functions[i - 2].function),
          rate);
  }
  return rates;
}

/// The one kind of device: a core.
static json_t *measureDevice(Machine *machine, const char *source) {
  static const char *const types[] = {"f32", "f64", "bf16", "f16", "i8"};
  json_t *aloneCurve, *busyCurve, *flops = json_object(), *vector = json_object();
  json_t *functions = json_object();
  machine->launch = measureLaunch(machine);
  json_t *rates[MAX_TYPES];
  double memory = measureMemory(machine, &aloneCurve, &busyCurve), busy = 1;
  measureContractions(machine, COUNT(types), types, rates, &busy);
  for (size_t i = 0; i < COUNT(types); ++i) {
    json_t *rate, *perFunction = measureVectors(machine, types[i], &rate);
    json_object_set_new(flops, types[i], rates[i]);
    json_object_set_new(vector, types[i], rate);
    if (json_object_size(perFunction))
      json_object_set_new(functions, types[i], perFunction);
    else
      json_decref(perFunction);
  }
  double bytes = machineBytes();
  json_t *device = json_pack(
      "{s:s, s:s, s:{s:f, s:s}, s:{s:o}, s:{s:o}, s:o, s:o, s:o, s:o}", "kind", "core", "source",
      source, "memoryBytes", "value", floor(bytes / machine->nRanks), "source",
      "the machine's, over its cores", "memoryBytesPerSecond", "achieved", measureRate(memory),
      "memoryEfficiency", "points", aloneCurve, "flops", flops, "vectorFlops", vector, "functions",
      functions, "launchSeconds", measureNumber(machine->launch));
  if (busyCurve)
    json_object_set_new(device, "allBusy",
                        json_pack("{s:i, s:o, s:{s:o}}", "devices", (int)machine->nRanks, "flops",
                                  measureNumber(busy), "memoryEfficiency", "points", busyCurve));
  return device;
}

static json_t *measureLink(const Machine *machine, const char *source) {
  double latency = 0, rate = 1;
  json_t *rows = measureCollectives(machine->nRanks, machine->quick, &latency, &rate);
  if (machine->nRanks < 2) // a file has a link, which no ranks are there to use
    source = "one core: nothing was measured, and nothing uses it";
  return json_pack("{s:s, s:s, s:i, s:s, s:{s:o}, s:o, s:o, s:s}", "from", "device", "to", "node",
                   "count", (int)machine->nRanks, "kind", "plain", "bytesPerSecond",
                   machine->nRanks < 2 ? "peak" : "achieved",
                   machine->nRanks < 2 ? measureNumber(rate) : measureRate(rate), "latencySeconds",
                   measureNumber(latency), "measured", rows, "source", source);
}

static void writeFile(const char *path, const char *text) {
  ShardOutputFile file;
  char message[512];
  if (!shardOutputFileOpen(path, &file, message, sizeof message))
    stop("%s", message);
  fputs(text, file.stream);
  if (!shardOutputFileCommit(&file, message, sizeof message))
    stop("%s", message);
}

/// Stops before minutes of measuring where its file could not be written.
static void checkWritable(const char *path) {
  char message[512];
  if (!shardOutputFileCheck(path, message, sizeof message))
    stop("%s", message);
}

void measureMachine(const Options *options) {
  bool quick = options->measureMode && !strcmp(options->measureMode, "quick");
  if (options->measureMode && !quick && strcmp(options->measureMode, "full"))
    stop("--measure=%s: expected quick or full", options->measureMode);
  if (options->output)
    checkWritable(options->output);
  Options bare = {.quiet = true, .mcpu = options->mcpu};
  Compiler compiler;
  compilerCreate(&bare, &compiler);
  Machine machine = {.compiler = &compiler, .quick = quick, .nRanks = coreCount()};
  char cpu[256], date[32], source[512];
  cpuName(cpu, sizeof cpu);
  time_t now = time(NULL);
  struct tm utc;
  strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
  snprintf(source, sizeof source,
           "shard-run --measure%s, %s, %s, %d core%s: emitted programs, the best of repeats on a "
           "thread's clock",
           quick ? "=quick" : "", date, cpu, (int)machine.nRanks, machine.nRanks > 1 ? "s" : "");
  json_t *device = measureDevice(&machine, source), *link = measureLink(&machine, source);
  json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:[o], s:[o], s:[{s:s, s:i}]}", "version", 1,
                           "name", "measured", "description", cpu, "source", source, "devices",
                           device, "links", link, "nodes", "kind", "core", "count", 1);
  char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) : NULL;
  if (!text)
    stop("out of memory");
  char *error = NULL;
  ShardCluster *cluster = shardClusterParse("--measure", text, strlen(text), 0, &error);
  if (!cluster) // a figure that nothing can be: a clock that stood still
    stop("what was measured is no cluster: %s", error);
  char *formatted = shardClusterFormatJson(cluster);
  writeFile(options->output ? options->output : "-", formatted);
  free(formatted);
  free(text);
  json_decref(root);
  shardClusterDestroy(cluster);
  compilerRelease(&compiler);
}
