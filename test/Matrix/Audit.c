//===- Audit.c - Counts what an emitted program sends, holds and computes -----*- C -*-===//
// shard-audit cells                            every cell: MODEL FILE DEGREES RANKS must|may
// shard-audit fits MODEL DEGREES            must or may, as above
// shard-audit sent SHARDED.mlir                bytes a rank, by kind, and calls
// shard-audit parameters ARGS SHARDED          each parameter element lies where its sharding says
// shard-audit cell MODEL DEGREES ORIGINAL ARGS SHARDED
// The last is one cell of the matrix: contraction flops, weights and bytes against Models.c.
// Everything is counted on the text that shard-opt wrote, with no code of the compiler. ARGS is an
// args.json. MODEL is one of Models.c or what gen-decoder printed. Exit 1 when something does not
// hold, each fault on a line of its own.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Models.h"
#include "Peers.h"

#include "../../tools/common/ArgsJson.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"
#include "mlir-c/IR.h"
#include "mlir-c/RegisterEverything.h"
#include "mlir-c/Support.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "shard-audit: error: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  exit(2);
}

static int nFaults;
static void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fault(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("fault: ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  ++nFaults;
}

static void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes);
  if (!memory)
    die("out of memory");
  return memory;
}

//===----------------------------------------------------------------------===//
// Reading IR
//===----------------------------------------------------------------------===//

static MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }
static bool is(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref(name));
}
static MlirAttribute attributeOf(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, ref(name));
}
static MlirAttribute argumentAttribute(MlirOperation func, intptr_t index, const char *name) {
  MlirAttribute all = attributeOf(func, "arg_attrs");
  if (mlirAttributeIsNull(all) || index >= mlirArrayAttrGetNumElements(all))
    return (MlirAttribute){NULL};
  return mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(all, index), ref(name));
}
static char *textOf(MlirAttribute string) {
  if (mlirAttributeIsNull(string) || !mlirAttributeIsAString(string))
    return NULL;
  MlirStringRef text = mlirStringAttrGetValue(string);
  char *copy = allocate(text.length + 1, 1);
  memcpy(copy, text.data, text.length);
  return copy;
}
static int64_t elementCount(MlirType type) {
  if (!mlirTypeIsARankedTensor(type) || !mlirShapedTypeHasStaticShape(type))
    return -1;
  int64_t count = 1;
  for (int64_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
    count *= mlirShapedTypeGetDimSize(type, i);
  return count;
}
static double typeBytes(MlirType type) {
  MlirType element = mlirShapedTypeGetElementType(type);
  double bits = mlirTypeIsAInteger(element) ? mlirIntegerTypeGetWidth(element)
                : mlirTypeIsAFloat(element) ? mlirFloatTypeGetWidth(element)
                                            : 64;
  return (double)elementCount(type) * ceil(bits / 8);
}

static MlirModule parseFile(MlirContext context, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die("cannot open %s", path);
  size_t capacity = 1 << 16, length = 0, got;
  char *text = malloc(capacity);
  while (text && (got = fread(text + length, 1, capacity - length - 1, file)) > 0)
    if ((length += got) + 1 == capacity)
      text = realloc(text, capacity *= 2);
  fclose(file);
  if (!text)
    die("out of memory");
  text[length] = '\0';
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreate(text, length));
  free(text);
  if (mlirModuleIsNull(module))
    die("%s does not parse", path);
  return module;
}

static MlirOperation lookup(MlirModule module, MlirStringRef name) {
  MlirBlock body = mlirModuleGetBody(module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute symbol = attributeOf(op, "sym_name");
    if (!mlirAttributeIsNull(symbol) && mlirStringRefEqual(mlirStringAttrGetValue(symbol), name))
      return op;
  }
  return (MlirOperation){NULL};
}
static bool isPublicFunction(MlirOperation op) {
  if (!is(op, "func.func"))
    return false;
  MlirAttribute visibility = attributeOf(op, "sym_visibility");
  return mlirAttributeIsNull(visibility) ||
         mlirStringRefEqual(mlirStringAttrGetValue(visibility), ref("public"));
}
static MlirBlock bodyOf(MlirOperation func) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(func, 0));
}

//===----------------------------------------------------------------------===//
// What a value comes from
//===----------------------------------------------------------------------===//

enum { FROM_ATTENTION = 1, FROM_ROUTER = 2, FROM_DATA = 4, FROM_MIXED_WEIGHTS = 8 };

/// Where a value comes from, through everything but contractions.
typedef struct Origin {
  const char *weight; // the one weight it is made of, else null
  int bits;
} Origin;

typedef struct OriginMap { // value pointer -> Origin, open addressing
  size_t capacity, count;
  const void **keys;
  Origin *origins;
} OriginMap;

static size_t slotOf(const OriginMap *map, const void *key) {
  size_t slot = ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20 & (map->capacity - 1);
  while (map->keys[slot] && map->keys[slot] != key)
    slot = (slot + 1) & (map->capacity - 1);
  return slot;
}
static void mapSet(OriginMap *map, MlirValue value, Origin origin) {
  if (2 * (map->count + 1) > map->capacity) {
    OriginMap larger = {.capacity = map->capacity ? 2 * map->capacity : 256};
    larger.keys = allocate(larger.capacity, sizeof(*larger.keys));
    larger.origins = allocate(larger.capacity, sizeof(*larger.origins));
    for (size_t i = 0; i < map->capacity; ++i)
      if (map->keys[i]) {
        size_t slot = slotOf(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.origins[slot] = map->origins[i];
        ++larger.count;
      }
    free(map->keys);
    free(map->origins);
    *map = larger;
  }
  size_t slot = slotOf(map, value.ptr);
  map->count += map->keys[slot] == NULL;
  map->keys[slot] = value.ptr;
  map->origins[slot] = origin;
}
static Origin mapGet(const OriginMap *map, MlirValue value) {
  if (map->capacity) {
    size_t slot = slotOf(map, value.ptr);
    if (map->keys[slot])
      return map->origins[slot];
  }
  return (Origin){NULL, 0};
}
static void mapFree(OriginMap *map) {
  free(map->keys);
  free(map->origins);
}

static Origin join(Origin a, Origin b) {
  Origin out = {a.weight, a.bits | b.bits};
  if (!a.weight)
    out.weight = b.weight;
  else if (b.weight && strcmp(a.weight, b.weight) != 0)
    out.bits |= FROM_MIXED_WEIGHTS;
  return out;
}
/// A weight only if nothing else was mixed in: bias and activation make an activation.
static const char *weightOf(Origin origin) {
  return origin.bits & (FROM_DATA | FROM_MIXED_WEIGHTS) ? NULL : origin.weight;
}

//===----------------------------------------------------------------------===//
// The count
//===----------------------------------------------------------------------===//

enum {
  KIND_ALL_REDUCE,
  KIND_ALL_GATHER,
  KIND_REDUCE_SCATTER,
  KIND_ALL_TO_ALL,
  KIND_PERMUTE,
  KIND_BROADCAST,
  KIND_SEND,
  N_KINDS
};
static const struct {
  const char *op, *name;
  double factor; // of (n-1)/n bytes; 0: of the bytes themselves
  bool ofResult; // counted on the result, else the operand
} kindTable[N_KINDS] = {
    [KIND_ALL_REDUCE] = {"shard.all_reduce", "all-reduce", 2, true},
    [KIND_ALL_GATHER] = {"shard.all_gather", "all-gather", 1, true},
    [KIND_REDUCE_SCATTER] = {"shard.reduce_scatter", "reduce-scatter", 1, false},
    [KIND_ALL_TO_ALL] = {"shard.all_to_all", "all-to-all", 1, false},
    [KIND_PERMUTE] = {"shard.shift", "permute", 0, false},
    [KIND_BROADCAST] = {"shard.broadcast", "broadcast", 1, true},
    [KIND_SEND] = {"shard.send", "send", 0, false},
};

typedef struct Count {
  MlirModule module;
  const Model *model;   // null: do not classify contractions
  const Model *laidOut; // whose sizes tell what uneven parts cost; null: all even
  Degrees degrees;
  int64_t gridRank;
  int64_t gridShape[16];
  double share;             // of all ranks, those that run the function at hand
  int64_t stage, stageAxis; // that they are, and its grid axis; -1: none
  int64_t ranks;
  double flops, leftOut; // over all ranks
  FlopsRange uneven;     // flops, each times what uneven parts make of it
  double bytes[N_KINDS]; // a rank, mean
  double calls[N_KINDS];
} Count;

static void readGrid(Count *count) {
  count->ranks = 1;
  count->stage = count->stageAxis = -1;
  MlirBlock body = mlirModuleGetBody(count->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!is(op, "shard.grid"))
      continue;
    MlirAttribute shape = attributeOf(op, "shape");
    count->gridRank = mlirDenseArrayGetNumElements(shape);
    if (count->gridRank > 16)
      die("a grid of more than 16 dimensions");
    for (int64_t i = 0; i < count->gridRank; ++i) {
      count->gridShape[i] = mlirDenseI64ArrayGetElement(shape, i);
      count->ranks *= count->gridShape[i];
    }
    MlirAttribute names = attributeOf(op, "spmd.axes");
    for (int64_t i = 0; !mlirAttributeIsNull(names) && i < mlirArrayAttrGetNumElements(names); ++i)
      if (mlirStringRefEqual(mlirStringAttrGetValue(mlirArrayAttrGetElement(names, i)), ref("pp")))
        count->stageAxis = i;
    return;
  }
}

static int64_t groupSize(const Count *count, MlirOperation op) {
  MlirAttribute axes = attributeOf(op, "grid_axes");
  int64_t size = 1;
  for (intptr_t i = 0; !mlirAttributeIsNull(axes) && i < mlirDenseArrayGetNumElements(axes); ++i) {
    int64_t axis = mlirDenseI16ArrayGetElement(axes, i);
    if (axis < 0 || axis >= count->gridRank)
      die("a collective over grid axis %" PRId64 " of %" PRId64, axis, count->gridRank);
    size *= count->gridShape[axis];
  }
  return size;
}

/// Of all ranks, those that run a send and send to another rank: a peer equal to oneself sends
/// nothing.
static double sendingShare(const Count *count, MlirOperation op) {
  MlirAttribute axes = attributeOf(op, "grid_axes"), peers = attributeOf(op, "destination");
  intptr_t n = mlirDenseArrayGetNumElements(axes);
  int64_t nSending = 0, coordinates[16];
  for (int64_t rank = 0; rank < count->ranks; ++rank) {
    for (int64_t d = count->gridRank - 1, rest = rank; d >= 0; rest /= count->gridShape[d--])
      coordinates[d] = rest % count->gridShape[d];
    if (count->stage >= 0 && count->stageAxis >= 0 && coordinates[count->stageAxis] != count->stage)
      continue;
    bool away = false;
    intptr_t next = 1; // operand of the next peer that is no constant
    for (intptr_t i = 0; i < n; ++i) {
      int64_t peer = mlirDenseI64ArrayGetElement(peers, i);
      if (peer == mlirShapedTypeGetDynamicSize() &&
          !peersEvaluate(mlirOperationGetOperand(op, next++), count->gridRank, coordinates, &peer))
        die("a send to a rank that is computed in an unknown way");
      away = away || peer != coordinates[mlirDenseI16ArrayGetElement(axes, i)];
    }
    nSending += away;
  }
  return (double)nSending / (double)count->ranks;
}

static void countCollective(Count *count, MlirOperation op, int kind) {
  MlirValue value =
      kindTable[kind].ofResult ? mlirOperationGetResult(op, 0) : mlirOperationGetOperand(op, 0);
  double bytes = typeBytes(mlirValueGetType(value)), n = (double)groupSize(count, op);
  if (kindTable[kind].factor > 0)
    bytes *= kindTable[kind].factor * (n - 1) / n;
  count->bytes[kind] += bytes * (kind == KIND_SEND ? sendingShare(count, op) : count->share);
  count->calls[kind] += 1;
}

/// 2 x the product of the loop sizes of a linalg op, taken from its operands' types.
static double flopsOf(MlirOperation op, int64_t *outReduction) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  int64_t sizes[32] = {0};
  bool inOutput[32] = {false};
  intptr_t nLoops = 0, nMaps = mlirArrayAttrGetNumElements(maps);
  for (intptr_t i = 0; i < nMaps; ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    nLoops = mlirAffineMapGetNumDims(map);
    if (nLoops > 32)
      die("a linalg op of more than 32 loops");
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    for (intptr_t j = 0; j < mlirAffineMapGetNumResults(map); ++j) {
      MlirAffineExpr expression = mlirAffineMapGetResult(map, j);
      if (!mlirAffineExprIsADim(expression))
        continue;
      intptr_t loop = mlirAffineDimExprGetPosition(expression);
      sizes[loop] = mlirShapedTypeGetDimSize(type, j);
      inOutput[loop] = inOutput[loop] || i + 1 == nMaps;
    }
  }
  double flops = 2;
  *outReduction = 1;
  for (intptr_t i = 0; i < nLoops; ++i) {
    if (sizes[i] == 0)
      die("a linalg op with a loop whose size no operand gives");
    flops *= (double)sizes[i];
    *outReduction *= inOutput[i] ? 1 : sizes[i];
  }
  return flops;
}

static void addUneven(Count *count, double flops, FlopsRange by) {
  count->uneven.least += flops * by.least;
  count->uneven.most += flops * by.most;
}

static Origin countContraction(Count *count, MlirOperation op, const OriginMap *map) {
  int64_t reduction;
  double flops = flopsOf(op, &reduction) * count->share * (double)count->ranks;
  const char *weight = NULL;
  int bits = 0;
  for (intptr_t i = 0; i + 1 < mlirOperationGetNumOperands(op);
       ++i) { // the last is the destination
    Origin origin = mapGet(map, mlirOperationGetOperand(op, i));
    bits |= origin.bits;
    if (weightOf(origin))
      weight = weightOf(origin);
  }
  Origin out = {NULL, FROM_DATA};
  if (!count->model) {
    count->flops += flops;
    addUneven(count, flops,
              count->laidOut ? modelRowsFlops(count->laidOut, count->degrees) : (FlopsRange){1, 1});
    return out;
  }
  ContractionClass klass;
  if (weight) {
    klass = modelClassify(count->model, count->degrees, weight);
    if (klass == CONTRACTION_UNKNOWN)
      fault("a contraction with weight '%s', which should not be multiplied", weight);
    if (klass == CONTRACTION_ROUTER)
      out.bits |= FROM_ROUTER;
    else if (weightFeedsAttention(weight))
      out.bits |= FROM_ATTENTION;
  } else if (bits & FROM_ATTENTION) {
    klass = CONTRACTION_ATTENTION;
  } else if (bits & FROM_ROUTER || reduction == 1 || !(bits & FROM_DATA)) {
    klass = CONTRACTION_WHOLE; // dispatch and combine; outer products of position tables
  } else {
    klass = CONTRACTION_UNKNOWN;
    fault("a contraction of %.0f flops that is neither attention nor a weight's", flops);
  }
  if (klass == CONTRACTION_SPLIT || klass == CONTRACTION_ATTENTION) {
    count->flops += flops;
    addUneven(count, flops,
              klass == CONTRACTION_ATTENTION
                  ? modelAttentionFlops(count->model, count->degrees)
                  : modelWeightFlops(count->model, count->degrees, weight));
  } else
    count->leftOut += flops;
  return out;
}

static void countBlock(Count *count, MlirBlock block, OriginMap *map, Origin *results);

static void countCall(Count *count, MlirOperation op, OriginMap *map) {
  MlirOperation callee =
      lookup(count->module, mlirFlatSymbolRefAttrGetValue(attributeOf(op, "callee")));
  if (mlirOperationIsNull(callee))
    die("a call of a function that is not there");
  OriginMap inner = {0};
  MlirBlock body = bodyOf(callee);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    mapSet(&inner, mlirBlockGetArgument(body, i), mapGet(map, mlirOperationGetOperand(op, i)));
  intptr_t nResults = mlirOperationGetNumResults(op);
  Origin *results = allocate((size_t)nResults, sizeof(*results));
  countBlock(count, body, &inner, results);
  for (intptr_t i = 0; i < nResults; ++i)
    mapSet(map, mlirOperationGetResult(op, i), results[i]);
  free(results);
  mapFree(&inner);
}

typedef struct Captured {
  OriginMap *map;
  Origin origin;
} Captured;
static MlirWalkResult addCaptured(MlirOperation op, void *user) {
  Captured *captured = user;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    captured->origin =
        join(captured->origin, mapGet(captured->map, mlirOperationGetOperand(op, i)));
  return MlirWalkResultAdvance;
}

static MlirWalkResult refuseNested(MlirOperation op, void *user) {
  (void)user;
  if (mlirLinalgIsAContractionOp(op) || is(op, "func.call"))
    die("a contraction or call inside control flow cannot be counted");
  return MlirWalkResultAdvance;
}

static void countBlock(Count *count, MlirBlock block, OriginMap *map, Origin *results) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (is(op, "func.return")) {
      for (intptr_t i = 0; results && i < mlirOperationGetNumOperands(op); ++i)
        results[i] = mapGet(map, mlirOperationGetOperand(op, i));
      continue;
    }
    if (is(op, "func.call")) {
      countCall(count, op, map);
      continue;
    }
    for (int kind = 0; kind < N_KINDS; ++kind)
      if (is(op, kindTable[kind].op))
        countCollective(count, op, kind);
    Origin origin = {NULL, 0};
    bool linalg = !mlirAttributeIsNull(mlirLinalgGetIndexingMapsAttribute(op));
    if (linalg && (mlirLinalgIsAContractionOp(op) || mlirLinalgIsAConvolutionOp(op))) {
      origin = countContraction(count, op, map);
    } else {
      // A weight gathered by data (expert weights) stays that weight: captured values count alone.
      Captured captured = {map, {NULL, 0}};
      for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); ++i)
        for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
             !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
          for (MlirOperation child = mlirBlockGetFirstOperation(inner); !mlirOperationIsNull(child);
               child = mlirOperationGetNextInBlock(child)) {
            mlirOperationWalk(child, addCaptured, &captured, MlirWalkPreOrder);
            mlirOperationWalk(child, refuseNested, NULL, MlirWalkPreOrder);
          }
      origin = captured.origin;
      if (!origin.weight)
        for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
          origin = join(origin, mapGet(map, mlirOperationGetOperand(op, i)));
      if (is(op, "shard.recv")) // the hidden state
        origin.bits |= FROM_DATA;
    }
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
      mapSet(map, mlirOperationGetResult(op, i), origin);
  }
}

/// Counts all public functions: stage programs, or the one function of an unsharded module. `args`
/// names the arguments of a model as it came; a program must name its own.
static void countModule(Count *count, const ShardArgsJson *args) {
  readGrid(count);
  bool byPosition = args && count->gridRank == 0; // a model as it came
  MlirBlock body = mlirModuleGetBody(count->module);
  int64_t nStages = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op)) {
      if (!isPublicFunction(op))
        continue;
      if (pass == 0) {
        ++nStages;
        continue;
      }
      count->share = 1.0 / (double)nStages;
      MlirAttribute stage = attributeOf(op, "spmd.stage");
      count->stage = mlirAttributeIsNull(stage) ? -1 : mlirIntegerAttrGetValueInt(stage);
      OriginMap map = {0};
      MlirBlock entry = bodyOf(op);
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(entry); ++i) {
        char *name = textOf(argumentAttribute(op, i, "spmd.name"));
        char *role = textOf(argumentAttribute(op, i, "spmd.role"));
        if (!name && byPosition && (size_t)i < args->nArguments)
          name = strdup(args->arguments[i].name);
        if (!role && byPosition && (size_t)i < args->nArguments)
          role = strdup(args->arguments[i].role);
        bool weight = role && strcmp(role, "weight") == 0;
        mapSet(&map, mlirBlockGetArgument(entry, i),
               weight ? (Origin){name, 0} : (Origin){NULL, FROM_DATA});
        // Names live as long as the program: a few hundred short texts.
        if (!weight)
          free(name);
        free(role);
      }
      countBlock(count, entry, &map, NULL);
      mapFree(&map);
    }
  if (nStages == 0)
    die("no public function");
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Ranks that hold distinct parts, from `spmd.sharding`: the product of the axes it names. And the
/// elements that one stores: each dimension of the view, or of the type, in ceil(size / ranks).
static int64_t partsOfSharding(const Count *count, MlirModule module, MlirAttribute sharding,
                               MlirAttribute view, MlirType type, double *outStored) {
  *outStored = (double)elementCount(type);
  if (mlirAttributeIsNull(sharding))
    return 1;
  MlirAttribute names = {NULL};
  MlirBlock body = mlirModuleGetBody(module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (is(op, "shard.grid"))
      names = attributeOf(op, "spmd.axes");
  if (mlirAttributeIsNull(names))
    die("the grid has no spmd.axes");
  int64_t parts = 1;
  for (intptr_t d = 0; d < mlirArrayAttrGetNumElements(sharding); ++d) {
    MlirAttribute axes = mlirArrayAttrGetElement(sharding, d);
    int64_t before = parts;
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(axes); ++i) {
      MlirStringRef axis = mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i));
      bool found = false;
      for (intptr_t a = 0; a < mlirArrayAttrGetNumElements(names); ++a) {
        MlirStringRef name = mlirStringAttrGetValue(mlirArrayAttrGetElement(names, a));
        // "tp" means tp.0, tp.1 together.
        bool whole = name.length > axis.length && memcmp(name.data, axis.data, axis.length) == 0 &&
                     name.data[axis.length] == '.';
        if (mlirStringRefEqual(name, axis) || whole) {
          parts *= count->gridShape[a];
          found = true;
        }
      }
      if (!found)
        fault("spmd.sharding names axis '%.*s', which the grid does not have", (int)axis.length,
              axis.data);
    }
    int64_t size = mlirAttributeIsNull(view) ? mlirShapedTypeGetDimSize(type, d)
                                             : mlirDenseI64ArrayGetElement(view, d);
    int64_t here = parts / before;
    *outStored = *outStored / (double)size * (double)(size / here + (size % here != 0));
  }
  return parts;
}

/// For each weight of args.json: which stages hold it, in how many parts. With a model: as it
/// should.
static void checkWeights(const Count *count, const ShardArgsJson *args) {
  MlirBlock body = mlirModuleGetBody(count->module);
  double total = 0, expected = 0;
  size_t nWeights = 0;
  for (size_t w = 0; w < args->nArguments; ++w) {
    const ShardArgsEntry *entry = &args->arguments[w];
    if (strcmp(entry->role, "weight") != 0)
      continue;
    ++nWeights;
    double elements = 1, held = 0;
    for (int32_t i = 0; i < entry->rank; ++i)
      elements *= (double)entry->shape[i];
    expected += elements;
    int nHolders = 0, nArguments = 0, nUsers = 0;
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op)) {
      if (!isPublicFunction(op))
        continue;
      MlirBlock function = bodyOf(op);
      double covered = 0;
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(function); ++i) {
        MlirAttribute number = argumentAttribute(op, i, "spmd.arg");
        if (mlirAttributeIsNull(number) || mlirIntegerAttrGetValueInt(number) != (int64_t)w)
          continue;
        MlirValue value = mlirBlockGetArgument(function, i);
        char *role = textOf(argumentAttribute(op, i, "spmd.role")),
             *name = textOf(argumentAttribute(op, i, "spmd.name"));
        if (!role || strcmp(role, "weight") != 0)
          fault("'%s' has role '%s'", entry->name, role ? role : "");
        if (!name || strcmp(name, entry->name) != 0)
          fault("'%s' is called '%s'", entry->name, name ? name : "");
        free(role);
        free(name);
        MlirAttribute global = argumentAttribute(op, i, "spmd.global");
        // Of a fused weight each part is an argument of its own; together they are the weight.
        bool part = !mlirAttributeIsNull(argumentAttribute(op, i, "spmd.window"));
        double mine =
            mlirAttributeIsNull(global) ? 0 : (double)elementCount(mlirTypeAttrGetValue(global));
        if (part ? mine >= elements : mine != elements)
          fault("'%s' has the wrong spmd.global", entry->name);
        covered += mine;
        double local = (double)elementCount(mlirValueGetType(value));
        double stored = 0;
        int64_t parts =
            mlirAttributeIsNull(global)
                ? 1
                : partsOfSharding(count, count->module, argumentAttribute(op, i, "spmd.sharding"),
                                  argumentAttribute(op, i, "spmd.view"),
                                  mlirTypeAttrGetValue(global), &stored);
        if (local != stored)
          fault("'%s' is in %" PRId64 " parts, but a rank holds %.0f of %.0f elements", entry->name,
                parts, local, mine);
        ++nArguments;
        nUsers += !mlirOpOperandIsNull(mlirValueGetFirstUse(value));
        held += mine / elements;
        if (count->model) {
          int64_t least, most;
          modelWeightParts(count->model, count->degrees, entry->name, &least, &most);
          if (parts < least || parts > most || most % parts != 0)
            fault("'%s' is in %" PRId64 " parts over tp, expected %" PRId64, entry->name, parts,
                  least);
        }
      }
      if (covered != 0 && covered != elements)
        fault("'%s' is in a stage with %.0f of its %.0f elements", entry->name, covered, elements);
      nHolders += covered != 0;
    }
    // A weight that nothing reads may be left out; one that is there is used.
    if (nArguments != nUsers)
      fault("'%s' is %d arguments of stages, of which %d are used", entry->name, nArguments,
            nUsers);
    if (nHolders > 0)
      total += elements * held / nHolders;
    else
      fault("'%s' lies on no device", entry->name);
  }
  printf("weights: %zu, elements %.0f, held / copies %.0f\n", nWeights, expected, total);
  if (nWeights > 0 && fabs(total - expected) > 1e-9 * expected)
    fault("elements over devices, divided by copies, are %.0f, the model has %.0f", total,
          expected);
}

static void printSent(const Count *count) {
  double total = 0;
  for (int kind = 0; kind < N_KINDS; ++kind) {
    total += count->bytes[kind];
    if (count->calls[kind] > 0)
      printf("%s: %.0f calls, %.1f bytes a rank\n", kindTable[kind].name, count->calls[kind],
             count->bytes[kind]);
  }
  printf("sent: %.1f bytes a rank\n", total);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static void printCell(const Model *model, const char *file, const char *degrees) {
  Degrees parsed;
  degreesParse(degrees, &parsed);
  printf("%s %s %s %" PRId64 " %s\n", model->name, file, degrees, degreesRanks(parsed),
         modelFits(model, parsed) ? "must" : "may");
}

static void listCells(void) {
  static const char *const degrees[] = {
      "tp1", "tp2", "tp3", "tp4",     "tp6",     "tp8",     "dp2",     "dp3",     "sp2",
      "sp4", "pp2", "pp3", "tp2,sp2", "tp3,sp2", "dp3,tp2", "dp2,sp3", "tp2,pp2", "dp2,tp2,pp2"};
  static const char *const expertDegrees[] = {"ep2", "ep4", "dp2,ep2", "ep2,tp2"};
  static const char *const files[] = {"model.linalg.mlir", "model.tosa.mlir",
                                      "embedded.linalg.mlir", "raw.linalg.generic.mlir",
                                      "raw.tosa.mlir"};
  for (int m = 0; m < nModels; ++m)
    for (int f = 0; f < 5; ++f) {
      const bool present[] = {true, true, models[m].embedded, models[m].rawLinalg,
                              models[m].rawTosa};
      if (!present[f])
        continue;
      for (size_t d = 0; d < sizeof(degrees) / sizeof(degrees[0]); ++d)
        printCell(&models[m], files[f], degrees[d]);
      for (size_t d = 0; models[m].experts && d < sizeof(expertDegrees) / sizeof(expertDegrees[0]);
           ++d)
        printCell(&models[m], files[f], expertDegrees[d]);
    }
}

static ShardArgsJson *readArgs(const char *path) {
  char message[512];
  ShardArgsJson *args = shardArgsJsonReadFile(path, message, sizeof(message));
  if (!args)
    die("%s", message);
  return args;
}

static MlirContext createContext(void) {
  MlirContext context = mlirContextCreateWithThreading(false);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  mlirContextSetAllowUnregisteredDialects(context, true); // tm_tensor in originals
  return context;
}

static void auditCell(const char *modelName, const char *degreesText, MlirModule original,
                      const ShardArgsJson *args, MlirModule sharded) {
  const Model *model = modelFind(modelName);
  Model parsed;
  Degrees degrees;
  if (!model && modelParse(modelName, &parsed))
    model = &parsed;
  if (!model)
    die("no model '%s' in Models.c", modelName);
  if (!degreesParse(degreesText, &degrees))
    die("bad degrees '%s'", degreesText);
  bool embedded = false; // weights as constants have no names in the file: count all contractions
  {
    MlirBlock body = mlirModuleGetBody(original);
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op))
      if (isPublicFunction(op))
        embedded = (size_t)mlirBlockGetNumArguments(bodyOf(op)) < args->nArguments;
  }
  Count before = {
      .module = original, .model = embedded ? NULL : model, .laidOut = model, .degrees = degrees};
  Count after = {.module = sharded, .model = embedded ? NULL : model, .degrees = degrees};
  countModule(&before, args);
  countModule(&after, args);
  if (after.ranks != degreesRanks(degrees))
    fault("the grid has %" PRId64 " ranks, the degrees make %" PRId64, after.ranks,
          degreesRanks(degrees));
  bool wholeParts = embedded && degrees.tp > 1; // then what is kept whole cannot be told apart
  double ratio = before.flops > 0 ? after.flops / before.flops : 0;
  double least = before.flops > 0 ? before.uneven.least / before.flops : 0;
  double most = before.flops > 0 ? before.uneven.most / before.flops : 0;
  printf("flops: %.0f, of the unsharded program's %.4f, with padding %.4f to %.4f; left out as "
         "whole %.0f and %.0f\n",
         after.flops, ratio, least, most, after.leftOut, before.leftOut);
  bool mixes = model->mixesRows && (degrees.dp > 1 || degrees.sp > 1);
  if (!mixes) {
    // Of a fused weight with copies of key/value heads the copies cannot be told from the queries.
    bool copies = model->unevenFused && model->keyValueHeads % degrees.tp != 0;
    if (ratio < least - 0.02 || (ratio > most + 0.02 && !wholeParts && !copies))
      fault("contraction flops of all ranks are %.4f of the unsharded program's, expected %.4f to "
            "%.4f",
            ratio, least, most);
  }
  if (!embedded)
    checkWeights(&after, args);
  printSent(&after);
  ByteRange range = modelBytes(model, degrees);
  double sent = 0;
  for (int kind = 0; kind < N_KINDS; ++kind)
    sent += after.bytes[kind];
  printf("expected: %.1f to %.1f bytes a rank%s\n", range.least, range.most,
         mixes ? " (not enforced: rows mix)" : "");
  if (!mixes && (sent < 0.95 * range.least || sent > 1.05 * range.most))
    fault("a rank sends %.1f bytes, expected %.1f to %.1f", sent, range.least, range.most);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "cells") == 0) {
    listCells();
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "fits") == 0) {
    const Model *model = modelFind(argv[2]);
    Model parsed;
    Degrees degrees;
    if (!model && modelParse(argv[2], &parsed))
      model = &parsed;
    if (!model || !degreesParse(argv[3], &degrees))
      die("bad model '%s' or degrees '%s'", argv[2], argv[3]);
    printf("%s %" PRId64 "\n", modelFits(model, degrees) ? "must" : "may", degreesRanks(degrees));
    return 0;
  }
  MlirContext context = createContext();
  if (argc == 3 && strcmp(argv[1], "sent") == 0) {
    Count count = {.module = parseFile(context, argv[2])};
    countModule(&count, NULL);
    printSent(&count);
    printf("flops: %.0f\n", count.flops + count.leftOut);
    mlirModuleDestroy(count.module);
  } else if (argc == 4 && strcmp(argv[1], "parameters") == 0) {
    ShardArgsJson *args = readArgs(argv[2]);
    Count count = {.module = parseFile(context, argv[3])};
    countModule(&count, NULL);
    checkWeights(&count, args);
    printSent(&count);
    shardArgsJsonDestroy(args);
    mlirModuleDestroy(count.module);
  } else if (argc == 7 && strcmp(argv[1], "cell") == 0) {
    ShardArgsJson *args = readArgs(argv[5]);
    MlirModule original = parseFile(context, argv[4]), sharded = parseFile(context, argv[6]);
    auditCell(argv[2], argv[3], original, args, sharded);
    mlirModuleDestroy(original);
    mlirModuleDestroy(sharded);
    shardArgsJsonDestroy(args);
  } else {
    die("usage: shard-audit cells | fits MODEL DEGREES | sent SHARDED | parameters ARGS SHARDED "
        "| cell MODEL DEGREES "
        "ORIGINAL ARGS SHARDED");
  }
  mlirContextDestroy(context);
  return nFaults ? 1 : 0;
}
