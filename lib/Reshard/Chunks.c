//===- Chunks.c - Into which chunks a piece is worth cutting -------*- C -*-===//
// Ranks' parts must be chunks of the whole piece, and none larger than before. So a piece that is
// cut already has one choice, or the target's; a whole one has any. Only chunks at which something
// changes can be the best of them.
//===----------------------------------------------------------------------===//

#include "Search.h"

#include <stdlib.h>
#include <string.h>

int64_t shardReshardTargetChunk(const Search *search, int32_t p, int k) {
  const Cut *target = &search->problem->target[p];
  if (k == 0)
    return search->problem->sizes[p];
  return target->chunk * axesProduct(search->mesh, target->nAxes - k, &target->axes[k]);
}

int shardReshardCommonPrefix(const Search *search, int32_t p, const Cut *cut) {
  const Cut *target = &search->problem->target[p];
  if (cut->form != CUT_CHUNKS || target->form != CUT_CHUNKS)
    return 0;
  int n = 0;
  while (n < cut->nAxes && n < target->nAxes && cut->axes[n] == target->axes[n])
    ++n;
  for (; n > 0; --n)
    if (cut->chunk * axesProduct(search->mesh, cut->nAxes - n, &cut->axes[n]) ==
        shardReshardTargetChunk(search, p, n))
      break;
  return n;
}

bool shardReshardWantsMore(const Search *search, int32_t p, const Cut *cut) {
  const Cut *target = &search->problem->target[p];
  return cut->form == CUT_CHUNKS && target->form == CUT_CHUNKS && cut->nAxes < target->nAxes &&
         shardReshardCommonPrefix(search, p, cut) == cut->nAxes;
}

static void addChunk(Search *search, int64_t chunk) {
  search->chunks = shardArenaGrow(search->problem->arena, search->chunks, search->nChunks,
                                  &search->chunkCapacity, search->nChunks + 1, sizeof(int64_t));
  search->chunks[search->nChunks++] = chunk;
}

static bool isIn(const int64_t *chunks, size_t n, int64_t chunk) {
  for (size_t k = 0; k < n; ++k)
    if (chunks[k] == chunk)
      return true;
  return false;
}

static void addNewChunk(Search *search, int64_t chunk) {
  if (!isIn(search->chunks, search->nChunks, chunk))
    addChunk(search, chunk);
}

static int compareChunks(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// Leaves each chunk after the first `nFirst` once, in ascending order.
static void sortChunks(Search *search, size_t nFirst) {
  int64_t *chunks = search->chunks;
  if (search->nChunks == nFirst)
    return;
  qsort(&chunks[nFirst], search->nChunks - nFirst, sizeof(int64_t), compareChunks);
  size_t n = nFirst;
  for (size_t k = nFirst; k < search->nChunks; ++k)
    if (!(n > nFirst && chunks[k] == chunks[n - 1]) && !isIn(chunks, nFirst, chunks[k]))
      chunks[n++] = chunks[k];
  search->nChunks = n;
}

// The chunk with which `parts` of them end at step `end`, the next smaller and the next larger;
// each is then cut into `unit`.
static void addMeetingChunk(Search *search, int64_t least, int64_t size, int64_t end, int64_t parts,
                            int64_t unit) {
  int64_t down = end / parts * unit, up = ceilDivide(end, parts) * unit;
  if (down >= least && down < size)
    addChunk(search, down);
  if (up != down && up >= least && up < size)
    addChunk(search, up);
}

// Chunks of a whole piece, cut over these axes and maybe over `unit` times as many ranks later, at
// which some rank's share begins where that which it wants does, or ends where it does. Between two
// of them what ranks lack changes evenly with the chunk, as what a reduction sends, so that no
// other is the best.
static void addMeetingChunks(Search *search, int32_t p, int n, const uint8_t *axes, int64_t unit) {
  const Problem *problem = search->problem;
  const Cut *target = &problem->target[p];
  int64_t size = problem->sizes[p], least = ceilDivide(size, axesProduct(search->mesh, n, axes));
  Group group = {.nRanks = 1};
  for (uint8_t a = 0; a < search->mesh->nAxes; ++a)
    if (memchr(axes, a, (size_t)n) || memchr(target->axes, a, target->nAxes)) {
      group.axes[group.nAxes++] = a;
      group.nRanks *= search->mesh->sizes[a];
    }
  for (int64_t r = 0; r < group.nRanks; ++r) {
    int64_t coordinates[MAX_AXES];
    shardReshardCoordinates(problem, &group, r, coordinates);
    int64_t first = positionOf(search->mesh, n, axes, coordinates) * unit;
    int64_t begin =
        positionOf(search->mesh, target->nAxes, target->axes, coordinates) * target->chunk;
    int64_t end = begin + target->chunk < size ? begin + target->chunk : size;
    for (int64_t i = first; i < first + unit && begin < end; ++i) {
      addMeetingChunk(search, least, size, end, i + 1, unit);
      if (i > 0 && begin > 0)
        addMeetingChunk(search, least, size, begin, i, unit);
    }
  }
}

void shardReshardChunksAfter(Search *search, int32_t p, const Cut *cut, int n,
                             const uint8_t *axes) {
  int64_t devices = axesProduct(search->mesh, n, axes);
  const Cut *target = &search->problem->target[p];
  search->nChunks = 0;
  if (cut->form != CUT_CHUNKS || cut->nAxes + n > MAX_AXES)
    return;
  if (shardReshardWantsMore(search, p, cut) && cut->nAxes + n <= target->nAxes &&
      memcmp(&target->axes[cut->nAxes], axes, (size_t)n) == 0 &&
      shardReshardTargetChunk(search, p, cut->nAxes + n) <= cut->chunk)
    addNewChunk(search, shardReshardTargetChunk(search, p, cut->nAxes + n));
  int64_t least = ceilDivide(cut->chunk, devices);
  if (cut->nAxes) {
    if (least * devices == cut->chunk)
      addNewChunk(search, least);
    return;
  }
  addNewChunk(search, least);
  if (!search->triesAllChunks)
    return;
  for (int64_t more = 1; more <= 3 && least + more < cut->chunk; ++more)
    addNewChunk(search, least + more);
  int64_t others = search->problem->nDevices / devices;
  for (int64_t unit = 2; unit <= others; ++unit)
    if (others % unit == 0 && ceilDivide(least, unit) * unit <= cut->chunk)
      addNewChunk(search, ceilDivide(least, unit) * unit);
  size_t nFirst = search->nChunks;
  for (int64_t unit = 1; unit <= others && target->form == CUT_CHUNKS; ++unit)
    if (others % unit == 0)
      addMeetingChunks(search, p, n, axes, unit);
  sortChunks(search, nFirst);
}
