//===- Placement.c - Which part of a value a rank holds -----------*- C -*-===//

#include "Placement.h"
#include "Element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t meshRankCount(const ShardProgram *program) {
  int64_t count = 1;
  for (int32_t i = 0; i < program->nAxes; ++i)
    count *= program->axisSizes[i];
  return count;
}

void meshCoordinates(const ShardProgram *program, int64_t rank, int64_t *outCoordinates) {
  for (int32_t i = program->nAxes - 1; i >= 0; --i) {
    outCoordinates[i] = rank % program->axisSizes[i];
    rank /= program->axisSizes[i];
  }
}

int32_t meshStage(const ShardProgram *program, int64_t rank) {
  if (program->ppAxis < 0)
    return 0;
  for (int32_t i = program->nAxes - 1; i > program->ppAxis; --i)
    rank /= program->axisSizes[i];
  return (int32_t)(rank % program->axisSizes[program->ppAxis]);
}

static bool fail(char *message, size_t messageSize, const ShardProgramValue *value,
                 const char *text) {
  snprintf(message, messageSize, "the program's table for value %" PRId32 " '%s' %s", value->index,
           value->name ? value->name : "", text);
  return false;
}

size_t valueGlobalCount(const ShardProgramValue *value) {
  size_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i)
    count *= (size_t)value->globalShape[i];
  return count;
}

size_t valueLocalBytes(const ShardProgramValue *value) {
  size_t bytes = elementBytes(value->element);
  for (int32_t i = 0; i < value->rank; ++i)
    bytes *= (size_t)value->localShape[i];
  return bytes;
}

bool placementCreate(const ShardProgram *program, const ShardProgramValue *value, int64_t rank,
                     Placement *out, char *message, size_t messageSize) {
  const ShardProgramSharding *sharding = &value->sharding;
  bool viewed = sharding->nViewDims > 0, windowed = value->windowSize != 0;
  int32_t nDims = viewed ? sharding->nViewDims : value->rank;
  if (nDims > PLACEMENT_MAX_DIMS || program->nAxes > PLACEMENT_MAX_DIMS)
    return fail(message, messageSize, value, "has more than 64 dimensions or axes");
  int64_t coordinates[PLACEMENT_MAX_DIMS];
  meshCoordinates(program, rank, coordinates);
  memset(out, 0, sizeof *out);
  out->nDims = nDims;
  size_t globalCount = 1, localCount = 1, shapeCount = 1, localShapeCount = 1;
  for (int32_t i = 0; i < value->rank; ++i) {
    bool cut = windowed && i == value->windowDim;
    if (cut) {
      out->windowRow = (size_t)value->windowSize;
      out->wholeRow = (size_t)value->globalShape[i];
      out->windowBegin = (size_t)value->windowBegin;
      if (value->windowBegin < 0 || value->windowSize < 1 ||
          value->windowBegin > value->globalShape[i] - value->windowSize)
        return fail(message, messageSize, value, "has a window outside of its shape");
    } else if (windowed && i > value->windowDim) {
      out->windowRow *= (size_t)value->globalShape[i];
      out->wholeRow *= (size_t)value->globalShape[i];
      out->windowBegin *= (size_t)value->globalShape[i];
    }
    shapeCount *= (size_t)(cut ? value->windowSize : value->globalShape[i]);
    localShapeCount *= (size_t)value->localShape[i];
  }
  for (int32_t i = 0; i < nDims; ++i) {
    int64_t size = viewed                              ? sharding->view[i]
                   : windowed && i == value->windowDim ? value->windowSize
                                                       : value->globalShape[i];
    int64_t parts = 1, index = 0;
    for (int32_t k = viewed ? sharding->axisStart[i] : 0;
         k < (viewed ? sharding->axisStart[i + 1] : 0); ++k) {
      int32_t axis = sharding->axes[k];
      if (axis < 0 || axis >= program->nAxes)
        return fail(message, messageSize, value, "names an axis that the mesh lacks");
      parts *= program->axisSizes[axis];
      index = index * program->axisSizes[axis] + coordinates[axis];
    }
    int64_t rows = size / parts + (size % parts != 0);
    int64_t begin = index * rows < size ? index * rows : size;
    int64_t end = begin + rows < size ? begin + rows : size;
    out->view[i] = size;
    out->local[i] = rows;
    out->begin[i] = begin;
    out->extent[i] = end - begin;
    globalCount *= (size_t)size;
    localCount *= (size_t)rows;
  }
  if (globalCount != shapeCount)
    return fail(message, messageSize, value, "has a view that does not multiply to its shape");
  if (localCount != localShapeCount)
    return fail(message, messageSize, value, "has a sharding that does not give its local shape");
  out->globalCount = globalCount;
  out->localCount = localCount;
  return true;
}

size_t placementHeldCount(const Placement *placement) {
  size_t count = 1;
  for (int32_t i = 0; i < placement->nDims; ++i)
    count *= (size_t)placement->extent[i];
  return count;
}

bool placementEqual(const Placement *a, const Placement *b) {
  size_t bytes = (size_t)a->nDims * sizeof(int64_t);
  return a->nDims == b->nDims && !memcmp(a->view, b->view, bytes) &&
         !memcmp(a->local, b->local, bytes) && !memcmp(a->begin, b->begin, bytes) &&
         !memcmp(a->extent, b->extent, bytes) && a->windowRow == b->windowRow &&
         a->wholeRow == b->wholeRow && a->windowBegin == b->windowBegin;
}

/// A run of the part as runs of the whole value.
static void visitRun(const Placement *placement, PlacementVisitor visit, void *user, size_t begin,
                     size_t local, size_t count) {
  if (!placement->windowRow) {
    visit(user, begin, local, count);
    return;
  }
  while (count) {
    size_t row = begin / placement->windowRow, at = begin % placement->windowRow;
    size_t here = placement->windowRow - at < count ? placement->windowRow - at : count;
    visit(user, row * placement->wholeRow + placement->windowBegin + at, local, here);
    begin += here, local += here, count -= here;
  }
}

void placementVisit(const Placement *placement, PlacementVisitor visit, void *user) {
  // Trailing dimensions that are held and stored whole belong to one run.
  int32_t outer = placement->nDims;
  size_t run = 1;
  while (outer > 0 && placement->extent[outer - 1] == placement->view[outer - 1] &&
         placement->local[outer - 1] == placement->view[outer - 1])
    run *= (size_t)placement->view[--outer];
  size_t inner = run;      // elements of one row of the dimension before them
  int32_t cut = outer - 1; // the last dimension that is not whole, -1 if all are
  if (cut >= 0)
    run *= (size_t)placement->extent[outer = cut];
  for (int32_t i = 0; i < placement->nDims; ++i)
    if (placement->extent[i] == 0)
      return;
  int64_t at[PLACEMENT_MAX_DIMS] = {0};
  for (;;) {
    size_t global = 0, local = 0;
    for (int32_t i = 0; i < outer; ++i) {
      global = global * (size_t)placement->view[i] + (size_t)(placement->begin[i] + at[i]);
      local = local * (size_t)placement->local[i] + (size_t)at[i];
    }
    if (cut >= 0) {
      global = global * (size_t)placement->view[cut] + (size_t)placement->begin[cut];
      local = local * (size_t)placement->local[cut];
    }
    visitRun(placement, visit, user, global * inner, local * inner, run);
    int32_t i = outer - 1;
    while (i >= 0 && ++at[i] == placement->extent[i])
      at[i--] = 0;
    if (i < 0)
      return;
  }
}

typedef struct Copy {
  char *to;
  const char *from;
  size_t elementBytes;
} Copy;

static void cutRun(void *user, size_t globalBegin, size_t localBegin, size_t count) {
  const Copy *copy = user;
  memcpy(copy->to + localBegin * copy->elementBytes, copy->from + globalBegin * copy->elementBytes,
         count * copy->elementBytes);
}

static void joinRun(void *user, size_t globalBegin, size_t localBegin, size_t count) {
  cutRun(user, localBegin, globalBegin, count);
}

void placementCut(const Placement *placement, const void *whole, void *local, size_t elementBytes) {
  placementVisit(placement, cutRun, &(Copy){local, whole, elementBytes});
}

void placementJoin(const Placement *placement, const void *local, void *whole,
                   size_t elementBytes) {
  placementVisit(placement, joinRun, &(Copy){whole, local, elementBytes});
}
