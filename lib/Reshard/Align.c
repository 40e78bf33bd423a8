//===- Align.c - Two placements on common pieces ------------------*- C -*-===//

#include "Internal.h"

#include <string.h>

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// A placement with chunks filled in and axes of one device left out. Null, or what is wrong.
static const char *normalise(const ShardReshardMesh *mesh, const ShardReshardPlacement *in,
                             ShardReshardPlacement *out) {
  if (in->nPieces < 0 || in->nPieces > MAX_PIECES)
    return "a placement has too many pieces";
  bool used[MAX_AXES] = {false};
  *out = (ShardReshardPlacement){.nPieces = in->nPieces};
  for (int32_t p = 0; p < in->nPieces; ++p) {
    const ShardReshardPiece *piece = &in->pieces[p];
    ShardReshardPiece *copy = &out->pieces[p];
    copy->dim = piece->dim;
    copy->size = piece->size;
    if (piece->size < 1 || piece->nAxes < 0 || piece->nAxes > MAX_AXES)
      return "a piece has no steps or too many axes";
    if (p && piece->dim < in->pieces[p - 1].dim)
      return "the dimensions of the pieces do not ascend";
    for (int32_t k = 0; k < piece->nAxes; ++k) {
      uint8_t axis = piece->axes[k];
      if (axis >= mesh->nAxes)
        return "a piece names an axis that the mesh does not have";
      if (mesh->sizes[axis] == 1)
        continue;
      if (used[axis])
        return "a placement names an axis twice";
      used[axis] = true;
      copy->axes[copy->nAxes++] = axis;
    }
    int64_t n = axesProduct(mesh, copy->nAxes, copy->axes);
    copy->chunk = piece->chunk && copy->nAxes ? piece->chunk : ceilDivide(piece->size, n);
    if (copy->chunk < ceilDivide(piece->size, n))
      return "the chunks of a piece do not reach its end";
  }
  uint8_t combiner = SHARD_RESHARD_NONE;
  for (int32_t a = 0; a < mesh->nAxes; ++a) {
    if (mesh->sizes[a] == 1 || !in->partial[a])
      continue;
    if (used[a])
      return "a placement is cut and partial over one axis";
    if (in->partial[a] > SHARD_RESHARD_OR || (combiner && combiner != in->partial[a]))
      return "a placement has two combiners";
    combiner = out->partial[a] = in->partial[a];
  }
  return NULL;
}

int64_t shardReshardStorageElements(const ShardReshardMesh *mesh,
                                    const ShardReshardPlacement *placement) {
  ShardReshardPlacement out;
  if (normalise(mesh, placement, &out))
    return 0;
  int64_t count = 1;
  for (int32_t p = 0; p < out.nPieces; ++p)
    count *= out.pieces[p].chunk;
  return count;
}

//===----------------------------------------------------------------------===//
// Splitting and joining pieces
//===----------------------------------------------------------------------===//

static bool isWhole(const ShardReshardPiece *piece) { return piece->nAxes == 0; }

// Splits off the major `size` steps' worth of a piece: what is left of it is whole.
static bool split(ShardReshardPiece *piece, int64_t size, ShardReshardPiece *outMinor) {
  if (piece->size % size)
    return false;
  int64_t minor = piece->size / size;
  if (!isWhole(piece) && piece->chunk % minor)
    return false;
  *outMinor = (ShardReshardPiece){.dim = piece->dim, .size = minor, .chunk = minor};
  piece->size = size;
  piece->chunk = isWhole(piece) ? size : piece->chunk / minor;
  return true;
}

// Joins a piece and the next, if what a rank holds of them is one interval of the product.
static bool join(const ShardReshardMesh *mesh, const ShardReshardPiece *major,
                 const ShardReshardPiece *minor, ShardReshardPiece *out) {
  ShardReshardPiece joined = *major;
  joined.size = major->size * minor->size;
  if (isWhole(minor)) {
    joined.chunk = major->chunk * minor->size;
  } else if (major->chunk == 1 && major->nAxes + minor->nAxes <= MAX_AXES &&
             minor->chunk * axesProduct(mesh, minor->nAxes, minor->axes) == minor->size) {
    memcpy(&joined.axes[joined.nAxes], minor->axes, (size_t)minor->nAxes);
    joined.nAxes += minor->nAxes;
    joined.chunk = minor->chunk;
  } else {
    return false;
  }
  *out = joined;
  return true;
}

//===----------------------------------------------------------------------===//
// Mixed pieces
//===----------------------------------------------------------------------===//

typedef struct Extent {
  int64_t begin, end;
} Extent;

static int32_t listIntervals(const Problem *problem, const MixedEnd *end, int64_t position,
                             Interval *out) {
  int64_t coordinates[MAX_AXES] = {0};
  for (int32_t k = end->nAxes - 1; k >= 0; --k) {
    coordinates[end->axes[k]] = position % problem->mesh->sizes[end->axes[k]];
    position /= problem->mesh->sizes[end->axes[k]];
  }
  Extent extents[MAX_PIECES];
  int32_t last = 0; // the most minor part that is cut
  int64_t nOuter = 1, unit = 1;
  for (int32_t k = 0; k < end->nParts; ++k) {
    const ShardReshardPiece *part = &end->parts[k];
    int64_t i = positionOf(problem->mesh, part->nAxes, part->axes, coordinates);
    extents[k] = (Extent){i * part->chunk, (i + 1) * part->chunk};
    if (extents[k].end > part->size)
      extents[k].end = part->size;
    if (extents[k].begin >= extents[k].end)
      return 0;
    last = isWhole(part) ? last : k;
  }
  for (int32_t k = 0; k < last; ++k)
    nOuter *= extents[k].end - extents[k].begin;
  for (int32_t k = last + 1; k < end->nParts; ++k)
    unit *= end->parts[k].size;
  for (int64_t outer = 0; outer < nOuter; ++outer) {
    int64_t left = outer, global = 0, local = 0, scale = 1, localScale = 1;
    for (int32_t k = last - 1; k >= 0; --k) {
      int64_t digit = left % (extents[k].end - extents[k].begin);
      left /= extents[k].end - extents[k].begin;
      global += (extents[k].begin + digit) * scale;
      local += digit * localScale;
      scale *= end->parts[k].size;
      localScale *= end->parts[k].chunk;
    }
    global *= end->parts[last].size;
    out[outer] =
        (Interval){(global + extents[last].begin) * unit, (global + extents[last].end) * unit,
                   local * end->parts[last].chunk * unit};
  }
  return (int32_t)nOuter;
}

static void fillEnd(Problem *problem, MixedEnd *end, int32_t nParts, const ShardReshardPiece *parts,
                    Cut *outCut, CutForm form) {
  end->nParts = nParts;
  end->parts = parts;
  *outCut = (Cut){.form = (uint8_t)form, .chunk = 1};
  int64_t most = 1, outer = 1; // intervals of a rank: one for each step above the last cut part
  for (int32_t k = 0; k < nParts; ++k) {
    for (int32_t a = 0; a < parts[k].nAxes; ++a)
      end->axes[end->nAxes++] = parts[k].axes[a];
    outCut->chunk *= parts[k].chunk;
    most = isWhole(&parts[k]) ? most : outer;
    outer *= parts[k].chunk;
  }
  outCut->nAxes = (uint8_t)end->nAxes;
  memcpy(outCut->axes, end->axes, sizeof(end->axes));
  int64_t n = axesProduct(problem->mesh, end->nAxes, end->axes);
  end->first = SHARD_ARENA_ARRAY(problem->arena, int32_t, n + 1);
  Interval *scratch = SHARD_ARENA_ARRAY(problem->arena, Interval, most);
  size_t count = 0, capacity = 0;
  for (int64_t i = 0; i < n; ++i) {
    int32_t more = listIntervals(problem, end, i, scratch);
    end->intervals = shardArenaGrow(problem->arena, end->intervals, count, &capacity,
                                    count + (size_t)more, sizeof(Interval));
    if (more)
      memcpy(&end->intervals[count], scratch, (size_t)more * sizeof(Interval));
    count += (size_t)more;
    end->first[i + 1] = (int32_t)count;
  }
}

int32_t shardReshardHeld(const Problem *problem, int32_t p, const Cut *cut, int64_t i,
                         Interval *one, const Interval **out) {
  if (cut->form != CUT_CHUNKS) {
    const MixedEnd *end = &problem->ends[p][cut->form - CUT_AS_SOURCE];
    *out = &end->intervals[end->first[i]];
    return end->first[i + 1] - end->first[i];
  }
  *one = (Interval){i * cut->chunk, (i + 1) * cut->chunk, 0};
  if (one->end > problem->sizes[p])
    one->end = problem->sizes[p];
  *out = one;
  return one->begin < one->end;
}

//===----------------------------------------------------------------------===//
// Alignment
//===----------------------------------------------------------------------===//

typedef struct Side {
  ShardReshardPiece pieces[2 * MAX_PIECES]; // consumed from `at`
  int32_t at, end;
} Side;

typedef struct Pair {
  ShardReshardPiece source, target;
  bool mixed;
  ShardReshardPiece *parts[2]; // of a mixed one
  int32_t nParts[2];
} Pair;

static void pushBack(Side *side, const ShardReshardPiece *minor) {
  side->pieces[side->at] = *minor;
}

// Takes pieces from both sides until they cover the same steps.
static void takeMixed(Problem *problem, Side *sides, Pair *out) {
  int64_t covered[2] = {0, 0};
  *out = (Pair){.mixed = true};
  for (int s = 0; s < 2; ++s)
    out->parts[s] = SHARD_ARENA_ARRAY(problem->arena, ShardReshardPiece, MAX_PIECES);
  do {
    int s = covered[0] <= covered[1] ? 0 : 1;
    const ShardReshardPiece *piece = &sides[s].pieces[sides[s].at++];
    covered[s] = (covered[s] ? covered[s] : 1) * piece->size;
    out->parts[s][out->nParts[s]++] = *piece;
  } while (covered[0] != covered[1]);
  out->source = out->target = out->parts[0][0];
  out->source.size = out->target.size = covered[0];
}

static void takePair(Problem *problem, Side *sides, Pair *out) {
  for (;;) {
    ShardReshardPiece *p = &sides[0].pieces[sides[0].at], *q = &sides[1].pieces[sides[1].at];
    if (p->size == q->size) {
      *out = (Pair){.source = *p, .target = *q};
      ++sides[0].at;
      ++sides[1].at;
      return;
    }
    int small = p->size < q->size ? 0 : 1;
    Side *less = &sides[small], *more = &sides[1 - small];
    ShardReshardPiece *a = &less->pieces[less->at], *b = &more->pieces[more->at], minor;
    if (split(b, a->size, &minor)) {
      *out = small == 0 ? (Pair){.source = *a, .target = *b} : (Pair){.source = *b, .target = *a};
      ++less->at;
      pushBack(more, &minor);
      return;
    }
    if (less->at + 1 < less->end &&
        join(problem->mesh, a, &less->pieces[less->at + 1], &less->pieces[less->at + 1])) {
      ++less->at;
      continue;
    }
    takeMixed(problem, sides, out);
    return;
  }
}

static void addPair(Problem *problem, Pair *pairs, int32_t *nPairs, const Pair *pair) {
  Pair *last = *nPairs ? &pairs[*nPairs - 1] : NULL;
  ShardReshardPiece source, target;
  if (last && !last->mixed && !pair->mixed && last->source.dim == pair->source.dim &&
      join(problem->mesh, &last->source, &pair->source, &source) &&
      join(problem->mesh, &last->target, &pair->target, &target)) {
    last->source = source;
    last->target = target;
    return;
  }
  pairs[(*nPairs)++] = *pair;
}

static Cut cutOf(const ShardReshardPiece *piece) {
  Cut cut = {.nAxes = (uint8_t)piece->nAxes, .chunk = piece->chunk};
  memcpy(cut.axes, piece->axes, (size_t)piece->nAxes);
  return cut;
}

static int64_t dimensionEnd(const ShardReshardPlacement *placement, int32_t begin, int32_t *end) {
  int64_t size = 1;
  for (*end = begin;
       *end < placement->nPieces && placement->pieces[*end].dim == placement->pieces[begin].dim;
       ++*end)
    size *= placement->pieces[*end].size;
  return size;
}

const char *shardReshardAlign(Problem *problem, const ShardReshardPlacement *from,
                              const ShardReshardPlacement *to) {
  ShardReshardPlacement ends[2];
  const char *message = normalise(problem->mesh, from, &ends[0]);
  if (!message)
    message = normalise(problem->mesh, to, &ends[1]);
  if (message)
    return message;
  memcpy(problem->sourcePartial, ends[0].partial, sizeof(ends[0].partial));
  memcpy(problem->targetPartial, ends[1].partial, sizeof(ends[1].partial));
  Pair *pairs = SHARD_ARENA_ARRAY(problem->arena, Pair, 2 * MAX_PIECES + 1);
  int32_t nPairs = 0, begin[2] = {0, 0};
  while (begin[0] < ends[0].nPieces && begin[1] < ends[1].nPieces) {
    Side sides[2] = {{.at = 0}, {.at = 0}};
    int64_t sizes[2];
    for (int s = 0; s < 2; ++s) {
      int32_t end;
      sizes[s] = dimensionEnd(&ends[s], begin[s], &end);
      for (; begin[s] < end; ++begin[s]) // one step that some ranks lack is still a piece
        if (ends[s].pieces[begin[s]].size > 1 || ends[s].pieces[begin[s]].nAxes)
          sides[s].pieces[sides[s].end++] = ends[s].pieces[begin[s]];
    }
    if (sizes[0] != sizes[1])
      return "the two placements are not of one shape";
    while (sides[0].at < sides[0].end || sides[1].at < sides[1].end) {
      Pair pair;
      for (int s = 0; s < 2; ++s)
        if (sides[s].at == sides[s].end)
          sides[s].pieces[sides[s].end++] = (ShardReshardPiece){
              .dim = sides[1 - s].pieces[sides[1 - s].at].dim, .size = 1, .chunk = 1};
      takePair(problem, sides, &pair);
      addPair(problem, pairs, &nPairs, &pair);
    }
  }
  if (begin[0] < ends[0].nPieces || begin[1] < ends[1].nPieces)
    return "the two placements are not of one shape";
  // One step more, over which an axis may be cut: then only ranks with coordinate 0 hold anything.
  bool enters = false;
  for (int32_t a = 0; a < problem->mesh->nAxes; ++a)
    enters |= problem->targetPartial[a] && problem->targetPartial[a] != problem->sourcePartial[a];
  if (enters) {
    ShardReshardPiece one = {
        .dim = nPairs ? pairs[nPairs - 1].source.dim : 0, .size = 1, .chunk = 1};
    pairs[nPairs++] = (Pair){.source = one, .target = one};
  }
  if (nPairs > MAX_PIECES)
    return "a placement has too many pieces";
  problem->nPieces = nPairs;
  for (int32_t p = 0; p < nPairs; ++p) {
    const Pair *pair = &pairs[p];
    problem->sizes[p] = pair->source.size;
    problem->dims[p] = pair->source.dim;
    problem->mixed[p] = pair->mixed;
    problem->source[p] = cutOf(&pair->source);
    problem->target[p] = cutOf(&pair->target);
    if (!pair->mixed)
      continue;
    fillEnd(problem, &problem->ends[p][0], pair->nParts[0], pair->parts[0], &problem->source[p],
            CUT_AS_SOURCE);
    fillEnd(problem, &problem->ends[p][1], pair->nParts[1], pair->parts[1], &problem->target[p],
            CUT_AS_TARGET);
  }
  return NULL;
}
