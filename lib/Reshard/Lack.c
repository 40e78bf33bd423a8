//===- Lack.c - What ranks hold of a placement that they want -----*- C -*-===//
// Without partial values a chain cannot send less than the elements that each rank lacks, and an
// exchange sends exactly those: that is the bound, and the heuristic of the search.
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <string.h>

int64_t shardReshardStorage(const Problem *problem, const Cut *cuts) {
  int64_t count = 1;
  for (int32_t p = 0; p < problem->nPieces; ++p)
    count *= cuts[p].chunk;
  return count;
}

Group shardReshardGroup(const Problem *problem, const Cut *a, const Cut *b) {
  const ShardReshardMesh *mesh = problem->mesh;
  bool used[MAX_AXES] = {false};
  for (int32_t p = 0; p < problem->nPieces; ++p) {
    // A piece that both cut alike in full chunks is the same on both sides of any move.
    if (memcmp(&a[p], &b[p], sizeof(Cut)) == 0 && a[p].form == CUT_CHUNKS &&
        a[p].chunk * axesProduct(mesh, a[p].nAxes, a[p].axes) == problem->sizes[p])
      continue;
    for (int32_t k = 0; k < a[p].nAxes; ++k)
      used[a[p].axes[k]] = true;
    for (int32_t k = 0; k < b[p].nAxes; ++k)
      used[b[p].axes[k]] = true;
  }
  Group group = {.nRanks = 1};
  for (int32_t axis = 0; axis < mesh->nAxes; ++axis)
    if (used[axis]) {
      group.axes[group.nAxes++] = (uint8_t)axis;
      group.nRanks *= mesh->sizes[axis];
    }
  group.repeats = problem->nDevices / group.nRanks;
  return group;
}

void shardReshardCoordinates(const Problem *problem, const Group *group, int64_t i,
                             int64_t *coordinates) {
  memset(coordinates, 0, MAX_AXES * sizeof(int64_t));
  for (int32_t k = group->nAxes - 1; k >= 0; --k) {
    coordinates[group->axes[k]] = i % problem->mesh->sizes[group->axes[k]];
    i /= problem->mesh->sizes[group->axes[k]];
  }
}

static int64_t lengthOf(int32_t n, const Interval *intervals) {
  int64_t length = 0;
  for (int32_t i = 0; i < n; ++i)
    length += intervals[i].end - intervals[i].begin;
  return length;
}

static int64_t overlapOf(int32_t n, const Interval *a, int32_t m, const Interval *b) {
  int64_t length = 0;
  for (int32_t i = 0, k = 0; i < n && k < m;) {
    int64_t begin = a[i].begin > b[k].begin ? a[i].begin : b[k].begin;
    int64_t end = a[i].end < b[k].end ? a[i].end : b[k].end;
    if (begin < end)
      length += end - begin;
    if (a[i].end < b[k].end)
      ++i;
    else
      ++k;
  }
  return length;
}

// Positions along the cut's axes that hold some of the given intervals.
static int64_t holdersOf(const Problem *problem, int32_t p, const Cut *cut, int32_t n,
                         const Interval *wanted) {
  int64_t positions = axesProduct(problem->mesh, cut->nAxes, cut->axes), count = 0;
  if (cut->form == CUT_CHUNKS && n == 1)
    return (wanted->end - 1) / cut->chunk - wanted->begin / cut->chunk + 1;
  for (int64_t i = 0; i < positions; ++i) {
    Interval one;
    const Interval *held;
    int32_t m = shardReshardHeld(problem, p, cut, i, &one, &held);
    count += overlapOf(m, held, n, wanted) > 0;
  }
  return count;
}

typedef struct Share {
  int64_t wanted, held; // elements; of those wanted
  int64_t all;          // that it holds, wanted or not
  int64_t boxes;        // from how many ranks what is wanted could come
} Share;

// What the rank at these coordinates wants of `to`, and what of it `from` gives.
static Share shareOf(const Problem *problem, const Cut *from, const Cut *to,
                     const int64_t *coordinates, bool countsBoxes) {
  Share share = {1, 1, 1, 1};
  for (int32_t p = 0; p < problem->nPieces && (share.wanted || share.all); ++p) {
    Interval one[2];
    const Interval *held, *want;
    int32_t m = shardReshardHeld(
        problem, p, &from[p], positionOf(problem->mesh, from[p].nAxes, from[p].axes, coordinates),
        &one[0], &held);
    int32_t n = shardReshardHeld(problem, p, &to[p],
                                 positionOf(problem->mesh, to[p].nAxes, to[p].axes, coordinates),
                                 &one[1], &want);
    share.all *= lengthOf(m, held);
    share.wanted *= lengthOf(n, want);
    share.held *= overlapOf(m, held, n, want);
    if (countsBoxes && share.wanted)
      share.boxes *= holdersOf(problem, p, &from[p], n, want);
  }
  return share;
}

int64_t shardReshardLack(const Problem *problem, const Cut *from, const Cut *to, int32_t *outMost) {
  Group group = shardReshardGroup(problem, from, to);
  int64_t lack = 0, most = 0;
  for (int64_t r = 0; r < group.nRanks; ++r) {
    int64_t coordinates[MAX_AXES];
    shardReshardCoordinates(problem, &group, r, coordinates);
    Share share = shareOf(problem, from, to, coordinates, outMost != NULL);
    lack += share.wanted - share.held;
    if (share.wanted && share.boxes - (share.held > 0) > most)
      most = share.boxes - (share.held > 0);
  }
  if (outMost)
    *outMost = most > INT32_MAX ? INT32_MAX : (int32_t)most;
  return lack * group.repeats;
}

int64_t shardReshardLackAmong(const Problem *problem, const Cut *from, const Cut *to,
                              uint32_t among, bool anyOfThem) {
  Group used = shardReshardGroup(problem, from, to);
  Group outer = {.nRanks = 1}, inner = {.nRanks = 1};
  for (int32_t a = 0; a < problem->mesh->nAxes; ++a) {
    Group *group = among >> a & 1 ? &inner : &outer;
    if (group == &outer && !memchr(used.axes, a, (size_t)used.nAxes))
      continue;
    group->axes[group->nAxes++] = (uint8_t)a;
    group->nRanks *= problem->mesh->sizes[a];
  }
  int64_t lack = 0;
  for (int64_t r = 0; r < outer.nRanks; ++r) {
    Share sum = {0};
    for (int64_t i = 0; i < inner.nRanks; ++i) {
      int64_t coordinates[MAX_AXES], more[MAX_AXES];
      shardReshardCoordinates(problem, &outer, r, coordinates);
      shardReshardCoordinates(problem, &inner, i, more);
      for (int32_t a = 0; a < MAX_AXES; ++a)
        coordinates[a] += more[a];
      Share share = shareOf(problem, from, to, coordinates, false);
      sum.wanted = anyOfThem ? share.wanted : sum.wanted + share.wanted;
      sum.held += share.held;
      sum.all = share.all;
    }
    if (!anyOfThem && sum.held > sum.all)
      sum.held = sum.all;
    lack += sum.wanted > sum.held ? sum.wanted - sum.held : 0;
  }
  return lack * (problem->nDevices / (outer.nRanks * inner.nRanks));
}

int64_t shardReshardWanted(const Problem *problem, const Cut *to) {
  int64_t count = problem->nDevices; // divisible by each cut's positions
  for (int32_t p = 0; p < problem->nPieces; ++p) {
    int64_t n = axesProduct(problem->mesh, to[p].nAxes, to[p].axes), held = 0;
    for (int64_t i = 0; i < n; ++i) {
      Interval one;
      const Interval *intervals;
      int32_t m = shardReshardHeld(problem, p, &to[p], i, &one, &intervals);
      held += lengthOf(m, intervals);
    }
    count = count / n * held;
  }
  return count;
}
