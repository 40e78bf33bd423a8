//===- Moves.c - Slices, and boxes that go from rank to rank ------*- C -*-===//
// All ranks run the same ops: offsets and peers that differ come from tables by rank. A send never
// waits for its receive, so that a round cannot lock up whatever its peers are.
//===----------------------------------------------------------------------===//

#include "Moves.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum { MAX_RANK = 32 };

// Static numbers of a slice op, and its dynamic ones as operands.
typedef struct Window {
  int64_t offsets[MAX_RANK], sizes[MAX_RANK], strides[MAX_RANK];
  MlirValue operands[MAX_RANK + 2];
  intptr_t nOperands;
} Window;

static void addOffsets(Window *window, intptr_t rank, const ShardRankNumber *offsets,
                       const int64_t *sizes) {
  for (intptr_t d = 0; d < rank; ++d) {
    bool dynamic = !mlirValueIsNull(offsets[d].value);
    window->offsets[d] = dynamic ? mlirShapedTypeGetDynamicStrideOrOffset() : offsets[d].number;
    window->sizes[d] = sizes[d];
    window->strides[d] = 1;
    if (dynamic)
      window->operands[window->nOperands++] = offsets[d].value;
  }
}

static MlirValue createWindowOp(ShardPlace place, const char *name, MlirType type, intptr_t rank,
                                const Window *window, intptr_t nTensors) {
  MlirContext context = mlirLocationGetContext(place.location);
  int32_t segments[5];
  int n = 0;
  for (intptr_t k = 0; k < nTensors; ++k)
    segments[n++] = 1;
  segments[n++] = (int32_t)(window->nOperands - nTensors);
  segments[n++] = 0;
  segments[n++] = 0;
  const ShardNamedAttribute attributes[] = {
      {"static_offsets", shardAttrI64Array(context, rank, window->offsets)},
      {"static_sizes", shardAttrI64Array(context, rank, window->sizes)},
      {"static_strides", shardAttrI64Array(context, rank, window->strides)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, n, segments)},
  };
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location, name, 1,
                                              &type, window->nOperands, window->operands, 4,
                                              attributes, 0, NULL),
                                0);
}

MlirValue shardBuildExtract(ShardBuild *build, ShardPlace place, MlirValue source,
                            const ShardRankNumber *offsets, const int64_t *sizes) {
  (void)build;
  MlirType type = mlirValueGetType(source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  Window window = {.operands = {source}, .nOperands = 1};
  addOffsets(&window, rank, offsets, sizes);
  return createWindowOp(place, "tensor.extract_slice", shardTensorWithShape(type, rank, sizes),
                        rank, &window, 1);
}

MlirValue shardBuildInsert(ShardBuild *build, ShardPlace place, MlirValue source, MlirValue dest,
                           const ShardRankNumber *offsets) {
  (void)build;
  MlirType type = mlirValueGetType(source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t sizes[MAX_RANK];
  for (intptr_t d = 0; d < rank; ++d)
    sizes[d] = mlirShapedTypeGetDimSize(type, d);
  Window window = {.operands = {source, dest}, .nOperands = 2};
  addOffsets(&window, rank, offsets, sizes);
  return createWindowOp(place, "tensor.insert_slice", mlirValueGetType(dest), rank, &window, 2);
}

static MlirValue createPad(ShardPlace place, MlirValue source, intptr_t dim, int64_t size) {
  MlirContext context = mlirLocationGetContext(place.location);
  MlirType type = mlirValueGetType(source), index = mlirIndexTypeGet(context);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t shape[MAX_RANK], low[MAX_RANK] = {0}, high[MAX_RANK] = {0};
  MlirType indices[MAX_RANK];
  MlirLocation locations[MAX_RANK];
  for (intptr_t d = 0; d < rank; ++d) {
    shape[d] = mlirShapedTypeGetDimSize(type, d);
    indices[d] = index;
    locations[d] = place.location;
  }
  high[dim] = size - shape[dim];
  shape[dim] = size;
  MlirValue zero = shardBuildNumber(place, mlirShapedTypeGetElementType(type), 0);
  MlirBlock body = mlirBlockCreate(rank, indices, locations);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirOperation end = {NULL};
  shardOpCreate(body, end, place.location, "tensor.yield", 0, NULL, 1, &zero, 0, NULL, 0, NULL);
  int32_t segments[] = {1, 0, 0};
  const ShardNamedAttribute attributes[] = {
      {"static_low", shardAttrI64Array(context, rank, low)},
      {"static_high", shardAttrI64Array(context, rank, high)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 3, segments)},
  };
  MlirType padded = shardTensorWithShape(type, rank, shape);
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "tensor.pad", 1, &padded, 1, &source, 3, attributes,
                                              1, &region),
                                0);
}

MlirValue shardBuildResize(ShardBuild *build, ShardPlace place, MlirValue source, intptr_t dim,
                           int64_t size) {
  MlirType type = mlirValueGetType(source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t sizes[MAX_RANK];
  ShardRankNumber offsets[MAX_RANK] = {{0}};
  for (intptr_t d = 0; d < rank; ++d)
    sizes[d] = mlirShapedTypeGetDimSize(type, d);
  if (sizes[dim] == size)
    return source;
  if (sizes[dim] < size)
    return createPad(place, source, dim, size);
  sizes[dim] = size;
  return shardBuildExtract(build, place, source, offsets, sizes);
}

//===----------------------------------------------------------------------===//
// Numbers by rank
//===----------------------------------------------------------------------===//

typedef struct Column {
  const int64_t *numbers; // [nRanks]
  MlirValue value;
} Column;

typedef struct Rounds {
  ShardBuild *build;
  ShardPlace place;
  const ShardMoves *moves;
  MlirValue position; // in the group
  Column *columns;
  size_t nColumns, capacity;
} Rounds;

// What `numbers` has for this rank. Equal columns are looked up once.
static ShardRankNumber numberOf(Rounds *rounds, const int64_t *numbers) {
  int64_t n = rounds->moves->nRanks;
  bool same = true;
  for (int64_t r = 1; r < n; ++r)
    same &= numbers[r] == numbers[0];
  if (same)
    return (ShardRankNumber){.number = numbers[0]};
  for (size_t i = 0; i < rounds->nColumns; ++i)
    if (memcmp(rounds->columns[i].numbers, numbers, (size_t)n * sizeof(int64_t)) == 0)
      return (ShardRankNumber){.value = rounds->columns[i].value};
  ShardArena *arena = rounds->build->spmd->arena;
  MlirContext context = rounds->build->spmd->context;
  ShardPlace place = rounds->place;
  MlirType i64 = mlirIntegerTypeGet(context, 64), index = mlirIndexTypeGet(context);
  MlirType type = mlirRankedTensorTypeGet(1, &n, i64, mlirAttributeGetNull());
  ShardNamedAttribute value = {"value", mlirDenseElementsAttrInt64Get(type, n, numbers)};
  MlirValue table =
      mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                           "arith.constant", 1, &type, 0, NULL, 1, &value, 0, NULL),
                             0);
  MlirValue operands[] = {table, rounds->position};
  MlirValue entry = mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                                         "tensor.extract", 1, &i64, 2, operands, 0,
                                                         NULL, 0, NULL),
                                           0);
  MlirValue number = mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                                          "arith.index_cast", 1, &index, 1, &entry,
                                                          0, NULL, 0, NULL),
                                            0);
  int64_t *copy = SHARD_ARENA_ARRAY(arena, int64_t, n);
  memcpy(copy, numbers, (size_t)n * sizeof(int64_t));
  rounds->columns = shardArenaGrow(arena, rounds->columns, rounds->nColumns, &rounds->capacity,
                                   rounds->nColumns + 1, sizeof(Column));
  rounds->columns[rounds->nColumns++] = (Column){copy, number};
  return (ShardRankNumber){.value = number};
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

// One round, as each rank of the group sees it.
typedef struct Round {
  int64_t *destination, *source; // [nRanks] peers; itself where there is none
  int64_t *copies;               // 1: the rank's own box
  int64_t *fromOffset[MAX_RANK], *toOffset[MAX_RANK];
  const int64_t *shape;
  bool anyRemote, anyCopy, anyIdle;
} Round;

static Round readRound(ShardArena *arena, const ShardMoves *moves, int64_t begin, int64_t end) {
  int64_t n = moves->nRanks;
  Round round = {.shape = moves->moves[begin].shape};
  round.destination = SHARD_ARENA_ARRAY(arena, int64_t, n);
  round.source = SHARD_ARENA_ARRAY(arena, int64_t, n);
  round.copies = SHARD_ARENA_ARRAY(arena, int64_t, n);
  for (int32_t d = 0; d < moves->nDims; ++d) {
    round.fromOffset[d] = SHARD_ARENA_ARRAY(arena, int64_t, n);
    round.toOffset[d] = SHARD_ARENA_ARRAY(arena, int64_t, n);
  }
  bool *receives = SHARD_ARENA_ARRAY(arena, bool, n);
  for (int64_t r = 0; r < n; ++r)
    round.destination[r] = round.source[r] = r;
  for (int64_t i = begin; i < end; ++i) {
    const ShardReshardMove *move = &moves->moves[i];
    round.destination[move->sender] = move->receiver;
    round.source[move->receiver] = move->sender;
    round.copies[move->receiver] = move->sender == move->receiver;
    receives[move->receiver] = true;
    round.anyRemote |= move->sender != move->receiver;
    round.anyCopy |= move->sender == move->receiver;
    for (int32_t d = 0; d < moves->nDims; ++d) {
      round.fromOffset[d][move->sender] = move->fromOffset[d];
      round.toOffset[d][move->receiver] = move->toOffset[d];
    }
  }
  for (int64_t r = 0; r < n; ++r)
    round.anyIdle |= !receives[r];
  return round;
}

// A send to the peers of `peers`, or the receive from them in place of `operand`.
static MlirValue createMessage(Rounds *rounds, bool sends, MlirValue operand, const int64_t *peers,
                               int64_t site, int64_t number) {
  ShardSpmd *spmd = rounds->build->spmd;
  const ShardMoves *moves = rounds->moves;
  MlirContext context = spmd->context;
  int16_t axes[SHARD_MAX_AXES];
  int64_t statics[SHARD_MAX_AXES];
  MlirValue operands[SHARD_MAX_AXES + 1] = {operand};
  intptr_t nOperands = 1;
  int64_t *coordinates = SHARD_ARENA_ARRAY(spmd->arena, int64_t, moves->nRanks);
  int64_t stride = moves->nRanks;
  for (int k = 0; k < moves->axes.count; ++k) {
    int64_t size = spmd->mesh.sizes[moves->axes.axis[k]];
    axes[k] = moves->axes.axis[k];
    stride /= size;
    for (int64_t r = 0; r < moves->nRanks; ++r)
      coordinates[r] = peers[r] / stride % size;
    ShardRankNumber coordinate = numberOf(rounds, coordinates);
    statics[k] = coordinate.number;
    if (mlirValueIsNull(coordinate.value))
      continue;
    statics[k] = mlirShapedTypeGetDynamicSize();
    operands[nOperands++] = coordinate.value;
  }
  const ShardNamedAttribute attributes[] = {
      {"grid", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))},
      {"grid_axes", mlirDenseI16ArrayGet(context, moves->axes.count, axes)},
      {sends ? "destination" : "source", shardAttrI64Array(context, moves->axes.count, statics)},
      {"spmd.site", shardAttrI64(context, site)},
      {"spmd.channel", shardAttrI64(context, site)},
      {"spmd.round", shardAttrI64(context, number)},
  };
  MlirType type = mlirValueGetType(operand);
  return mlirOperationGetResult(shardOpCreate(rounds->place.block, rounds->place.before,
                                              rounds->place.location,
                                              sends ? "shard.send" : "shard.recv", 1, &type,
                                              nOperands, operands, 6, attributes, 0, NULL),
                                0);
}

// `a` where the condition (a number by rank) is not 0.
static MlirValue choose(Rounds *rounds, const int64_t *condition, MlirValue a, MlirValue b) {
  ShardBuild *build = rounds->build;
  ShardPlace place = rounds->place;
  MlirValue number = numberOf(rounds, condition).value;
  MlirValue isSet = shardBuildCompareUlt(place, shardBuildIndex(build, place, 0), number);
  MlirType type = mlirValueGetType(a), element = mlirShapedTypeGetElementType(type);
  intptr_t rank = mlirShapedTypeGetRank(type);
  MlirContext context = build->spmd->context;
  MlirAttribute map = mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, rank));
  MlirAttribute maps[] = {map, map, map}, iterators[MAX_RANK];
  for (intptr_t d = 0; d < rank; ++d)
    iterators[d] = mlirAttributeParseGet(
        context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  int32_t segments[] = {2, 1};
  const ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 3, maps)},
      {"iterator_types", mlirArrayAttrGet(context, rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)},
  };
  MlirType elements[] = {element, element, element};
  MlirLocation locations[] = {place.location, place.location, place.location};
  MlirBlock body = mlirBlockCreate(3, elements, locations);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirValue inputs[] = {a, b, shardBuildEmpty(place, type)};
  MlirOperation op = shardOpCreate(place.block, place.before, place.location, "linalg.generic", 1,
                                   &type, 3, inputs, 3, attributes, 1, &region);
  ShardPlace inside = {.block = body, .location = place.location};
  shardBuildYield(op, shardBuildSelect(inside, isSet, mlirBlockGetArgument(body, 0),
                                       mlirBlockGetArgument(body, 1)));
  return mlirOperationGetResult(op, 0);
}

// By how far every rank of a group along one axis sends, or 0.
static int64_t cyclicOffset(const ShardMoves *moves, const Round *round) {
  int64_t n = moves->nRanks, offset = (round->destination[0] + n) % n;
  bool cyclic = moves->axes.count == 1 && !round->anyIdle && !round->anyCopy;
  for (int64_t r = 0; r < n; ++r)
    cyclic &= round->destination[r] == (r + offset) % n;
  return cyclic ? offset : 0;
}

static MlirValue createShift(Rounds *rounds, MlirValue box, int64_t offset, int64_t site,
                             int64_t number) {
  MlirContext context = rounds->build->spmd->context;
  MlirType type = mlirValueGetType(box), i64 = mlirIntegerTypeGet(context, 64);
  int16_t axis = rounds->moves->axes.axis[0];
  const ShardNamedAttribute attributes[] = {
      {"grid", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))},
      {"grid_axes", mlirDenseI16ArrayGet(context, 1, &axis)},
      {"shift_axis", mlirIntegerAttrGet(mlirIndexTypeGet(context), axis)},
      {"offset", mlirIntegerAttrGet(i64, offset)},
      {"rotate", shardAttrUnit(context)},
      {"spmd.site", shardAttrI64(context, site)},
      {"spmd.round", shardAttrI64(context, number)},
  };
  return mlirOperationGetResult(shardOpCreate(rounds->place.block, rounds->place.before,
                                              rounds->place.location, "shard.shift", 1, &type, 1,
                                              &box, 7, attributes, 0, NULL),
                                0);
}

// Whether nothing has been put into `dest` yet: a rank without a move may put anything there.
static bool isFresh(MlirValue dest) {
  MlirOperation op = shardValueDefiningOp(dest);
  return !mlirOperationIsNull(op) && shardOpIs(op, "tensor.empty");
}

static MlirValue emitRound(Rounds *rounds, const Round *round, MlirValue source, MlirValue dest,
                           int64_t site, int64_t *nSent) {
  ShardBuild *build = rounds->build;
  ShardRankNumber from[MAX_RANK] = {{0}}, to[MAX_RANK] = {{0}};
  for (int32_t d = 0; d < rounds->moves->nDims; ++d) {
    from[d] = numberOf(rounds, round->fromOffset[d]);
    to[d] = numberOf(rounds, round->toOffset[d]);
  }
  MlirValue box = shardBuildExtract(build, rounds->place, source, from, round->shape);
  // What a rank that is its own peer puts into its place: its own box, or what is there.
  MlirValue kept = box;
  if (round->anyIdle && !isFresh(dest)) {
    kept = shardBuildExtract(build, rounds->place, dest, to, round->shape);
    if (round->anyCopy)
      kept = choose(rounds, round->copies, box, kept);
  }
  int64_t offset = cyclicOffset(rounds->moves, round);
  if (offset) {
    kept = createShift(rounds, box, offset, site, (*nSent)++);
  } else if (round->anyRemote) {
    createMessage(rounds, true, box, round->destination, site, *nSent);
    kept = createMessage(rounds, false, kept, round->source, site, (*nSent)++);
  }
  return shardBuildInsert(build, rounds->place, kept, dest, to);
}

MlirValue shardBuildMoves(ShardBuild *build, ShardPlace place, const ShardMoves *moves,
                          MlirValue source, MlirValue dest, int64_t site) {
  Rounds rounds = {.build = build, .place = place, .moves = moves};
  if (moves->axes.count)
    rounds.position = shardBuildCoordinate(build, place, moves->axes);
  int64_t nSent = 0;
  for (int64_t begin = 0, end; begin < moves->nMoves; begin = end) {
    for (end = begin; end < moves->nMoves && moves->moves[end].round == moves->moves[begin].round;)
      ++end;
    Round round = readRound(build->spmd->arena, moves, begin, end);
    dest = emitRound(&rounds, &round, source, dest, site, &nSent);
  }
  return dest;
}
