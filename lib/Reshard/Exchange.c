//===- Exchange.c - The boxes of an exchange and their rounds -----*- C -*-===//
// What a rank wants of a piece meets what each position along the source's axes holds in runs of
// steps. Where two positions share several runs of a piece (a mixed one), both ends see the piece
// in packed order, in which what they share is one run: a box is one run of every piece, and a
// sender and a receiver have one box. Rounds are an edge colouring of the bipartite graph of
// senders and receivers, for each shape of box (Koenig 1916: as many rounds as the most boxes of
// one end).
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <stdlib.h>
#include <string.h>

// Steps of a piece that a position of the source holds and one of the target wants, side by side
// in both storages.
typedef struct Run {
  int64_t length, fromOffset, toOffset;
} Run;

typedef struct Runs {
  Run *items;
  size_t count, capacity;
} Runs;

// Part of one piece that a rank wants and one position holds.
typedef struct Part {
  int64_t position;
  int64_t length, fromOffset, toOffset;
} Part;

typedef struct Parts {
  Part *items;
  size_t count, capacity;
} Parts;

// Packed order of a piece, by position of the source (rows) and of the target (columns). Null
// where the order is that of the storage.
typedef struct Packing {
  int64_t *fromOffset, *toOffset; // [rows * columns] where what the two share begins
  int64_t *fromOrder;             // [rows][chunk of the source] the step at each packed place
  int64_t *toOrder;               // [columns][chunk of the target]
} Packing;

typedef struct Builder {
  const Problem *problem;
  ShardArena *arena;
  const Cut *from, *to;
  Group group;
  Packing packings[MAX_PIECES];
  Runs runs;
  Parts parts[MAX_PIECES]; // of the receiver at hand
  ShardReshardMove *moves;
  size_t nMoves, capacity;
} Builder;

// What position `s` of the source and `q` of the target share of piece `p`, in builder->runs.
static void listRuns(Builder *builder, int32_t p, int64_t s, int64_t q) {
  Runs *runs = &builder->runs;
  runs->count = 0;
  Interval one[2];
  const Interval *want, *held;
  int32_t n = shardReshardHeld(builder->problem, p, &builder->to[p], q, &one[0], &want);
  int32_t m = n ? shardReshardHeld(builder->problem, p, &builder->from[p], s, &one[1], &held) : 0;
  for (int32_t a = 0, b = 0; a < m && b < n;) {
    int64_t begin = held[a].begin > want[b].begin ? held[a].begin : want[b].begin;
    int64_t end = held[a].end < want[b].end ? held[a].end : want[b].end;
    Run run = {end - begin, held[a].local + begin - held[a].begin,
               want[b].local + begin - want[b].begin};
    Run *last = runs->count ? &runs->items[runs->count - 1] : NULL;
    if (begin < end && last && last->fromOffset + last->length == run.fromOffset &&
        last->toOffset + last->length == run.toOffset) {
      last->length += run.length;
    } else if (begin < end) {
      runs->items = shardArenaGrow(builder->arena, runs->items, runs->count, &runs->capacity,
                                   runs->count + 1, sizeof(Run));
      runs->items[runs->count++] = run;
    }
    if (held[a].end < want[b].end)
      ++a;
    else
      ++b;
  }
}

//===----------------------------------------------------------------------===//
// Packed order
//===----------------------------------------------------------------------===//

static bool sharesSeveralRuns(Builder *builder, int32_t p, int64_t rows, int64_t columns) {
  for (int64_t s = 0; builder->problem->mixed[p] && s < rows; ++s)
    for (int64_t q = 0; q < columns; ++q) {
      listRuns(builder, p, s, q);
      if (builder->runs.count > 1)
        return true;
    }
  return false;
}

// Steps of storage that no box has follow those that boxes have.
static void completeOrder(ShardArena *arena, int64_t chunk, int64_t filled, int64_t *order) {
  bool *used = SHARD_ARENA_ARRAY(arena, bool, chunk);
  for (int64_t k = 0; k < filled; ++k)
    used[order[k]] = true;
  for (int64_t step = 0; step < chunk; ++step)
    if (!used[step])
      order[filled++] = step;
}

static void packPiece(Builder *builder, int32_t p) {
  const Cut *from = &builder->from[p], *to = &builder->to[p];
  ShardArena *arena = builder->arena;
  int64_t rows = axesProduct(builder->problem->mesh, from->nAxes, from->axes);
  int64_t columns = axesProduct(builder->problem->mesh, to->nAxes, to->axes);
  if (!sharesSeveralRuns(builder, p, rows, columns))
    return;
  Packing packing = {.fromOffset = SHARD_ARENA_ARRAY(arena, int64_t, rows *columns),
                     .toOffset = SHARD_ARENA_ARRAY(arena, int64_t, rows *columns),
                     .fromOrder = SHARD_ARENA_ARRAY(arena, int64_t, rows * from->chunk),
                     .toOrder = SHARD_ARENA_ARRAY(arena, int64_t, columns * to->chunk)};
  int64_t *filled = SHARD_ARENA_ARRAY(arena, int64_t, columns);
  for (int64_t s = 0; s < rows; ++s) {
    int64_t at = 0;
    for (int64_t q = 0; q < columns; ++q) {
      packing.fromOffset[s * columns + q] = at;
      packing.toOffset[s * columns + q] = filled[q];
      listRuns(builder, p, s, q);
      for (size_t i = 0; i < builder->runs.count; ++i)
        for (int64_t k = 0; k < builder->runs.items[i].length; ++k) {
          packing.fromOrder[s * from->chunk + at++] = builder->runs.items[i].fromOffset + k;
          packing.toOrder[q * to->chunk + filled[q]++] = builder->runs.items[i].toOffset + k;
        }
    }
    completeOrder(arena, from->chunk, at, &packing.fromOrder[s * from->chunk]);
  }
  for (int64_t q = 0; q < columns; ++q)
    completeOrder(arena, to->chunk, filled[q], &packing.toOrder[q * to->chunk]);
  builder->packings[p] = packing;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

static void listParts(Builder *builder, int32_t p, const int64_t *coordinates) {
  const Problem *problem = builder->problem;
  const Cut *from = &builder->from[p], *to = &builder->to[p];
  const Packing *packing = &builder->packings[p];
  Parts *parts = &builder->parts[p];
  parts->count = 0;
  int64_t q = positionOf(problem->mesh, to->nAxes, to->axes, coordinates);
  int64_t rows = axesProduct(problem->mesh, from->nAxes, from->axes);
  int64_t columns = axesProduct(problem->mesh, to->nAxes, to->axes);
  for (int64_t s = 0; s < rows; ++s) {
    listRuns(builder, p, s, q);
    if (!builder->runs.count)
      continue;
    Part part = {s, 0, builder->runs.items[0].fromOffset, builder->runs.items[0].toOffset};
    for (size_t i = 0; i < builder->runs.count; ++i)
      part.length += builder->runs.items[i].length;
    if (packing->fromOrder) {
      part.fromOffset = packing->fromOffset[s * columns + q];
      part.toOffset = packing->toOffset[s * columns + q];
    }
    parts->items = shardArenaGrow(builder->arena, parts->items, parts->count, &parts->capacity,
                                  parts->count + 1, sizeof(Part));
    parts->items[parts->count++] = part;
  }
}

// Adds the boxes of one receiver: one part of every piece, pieces before `p` chosen.
static void addBoxes(Builder *builder, int32_t p, const Part **chosen, int64_t receiver,
                     const int64_t *coordinates) {
  const Problem *problem = builder->problem;
  int32_t n = problem->nPieces;
  if (p < n) {
    for (size_t i = 0; i < builder->parts[p].count; ++i) {
      chosen[p] = &builder->parts[p].items[i];
      addBoxes(builder, p + 1, chosen, receiver, coordinates);
    }
    return;
  }
  // The holder that is nearest: the receiver's own coordinate where the source is not cut.
  int64_t holder[MAX_AXES];
  memcpy(holder, coordinates, sizeof(holder));
  int64_t *numbers = SHARD_ARENA_ARRAY(builder->arena, int64_t, 3 * n);
  for (int32_t k = 0; k < n; ++k) {
    int64_t position = chosen[k]->position;
    for (int a = builder->from[k].nAxes - 1; a >= 0; --a) {
      int64_t size = problem->mesh->sizes[builder->from[k].axes[a]];
      holder[builder->from[k].axes[a]] = position % size;
      position /= size;
    }
    numbers[k] = chosen[k]->length;
    numbers[n + k] = chosen[k]->fromOffset;
    numbers[2 * n + k] = chosen[k]->toOffset;
  }
  builder->moves =
      shardArenaGrow(builder->arena, builder->moves, builder->nMoves, &builder->capacity,
                     builder->nMoves + 1, sizeof(ShardReshardMove));
  builder->moves[builder->nMoves++] = (ShardReshardMove){
      .sender = positionOf(problem->mesh, builder->group.nAxes, builder->group.axes, holder),
      .receiver = receiver,
      .shape = numbers,
      .fromOffset = numbers + n,
      .toOffset = numbers + 2 * n};
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

// Moves with what they are sorted by.
typedef struct Sorted {
  ShardReshardMove move;
  int64_t distance;
  int32_t nPieces;
  size_t order;
} Sorted;

static int compareShape(const Sorted *a, const Sorted *b) {
  for (int32_t k = 0; k < a->nPieces; ++k)
    if (a->move.shape[k] != b->move.shape[k])
      return a->move.shape[k] > b->move.shape[k] ? -1 : 1; // large ones first
  return 0;
}

static int compareForRounds(const void *left, const void *right) {
  const Sorted *a = left, *b = right;
  int shape = compareShape(a, b);
  if (shape)
    return shape;
  if (a->distance != b->distance)
    return a->distance < b->distance ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static int compareByRound(const void *left, const void *right) {
  const Sorted *a = left, *b = right;
  if (a->move.round != b->move.round)
    return a->move.round < b->move.round ? -1 : 1;
  return a->move.receiver < b->move.receiver ? -1 : 1;
}

// Colours of one shape: at[end][colour] is the move of an end (senders, then receivers), -1: free.
typedef struct Colouring {
  Sorted *moves;
  int64_t nRanks;
  int32_t nColours;
  int32_t *at; // [2 * nRanks * nColours]
} Colouring;

static int32_t *slot(const Colouring *c, int receives, int64_t rank, int32_t colour) {
  return &c->at[((receives ? c->nRanks : 0) + rank) * c->nColours + colour];
}

static int32_t freeColour(const Colouring *c, int receives, int64_t rank) {
  int32_t colour = 0;
  while (*slot(c, receives, rank, colour) >= 0)
    ++colour;
  return colour;
}

static void paint(const Colouring *c, int32_t index, int32_t colour) {
  c->moves[index].move.round = colour;
  *slot(c, 0, c->moves[index].move.sender, colour) = index;
  *slot(c, 1, c->moves[index].move.receiver, colour) = index;
}

// Swaps the colours a and b along the path that begins with colour a at a receiver, which then has
// a free.
static void flipPath(const Colouring *c, int64_t receiver, int32_t a, int32_t b, int32_t *scratch) {
  int32_t n = 0;
  int receives = 1;
  int64_t rank = receiver;
  for (int32_t colour = a, index; (index = *slot(c, receives, rank, colour)) >= 0;
       colour = colour == a ? b : a) {
    scratch[n++] = index;
    receives = !receives;
    rank = receives ? c->moves[index].move.receiver : c->moves[index].move.sender;
  }
  for (int32_t i = 0; i < n; ++i) {
    int32_t colour = c->moves[scratch[i]].move.round;
    *slot(c, 0, c->moves[scratch[i]].move.sender, colour) = -1;
    *slot(c, 1, c->moves[scratch[i]].move.receiver, colour) = -1;
  }
  for (int32_t i = 0; i < n; ++i)
    paint(c, scratch[i], c->moves[scratch[i]].move.round == a ? b : a);
}

// Rounds of moves [begin, end), which have one shape. Returns their number.
static int32_t colourShape(ShardArena *arena, int64_t nRanks, Sorted *moves, int32_t count) {
  int32_t *degrees = SHARD_ARENA_ARRAY(arena, int32_t, 2 * nRanks);
  Colouring c = {.moves = moves, .nRanks = nRanks};
  for (int32_t i = 0; i < count; ++i) {
    int32_t out = ++degrees[moves[i].move.sender], in = ++degrees[nRanks + moves[i].move.receiver];
    c.nColours = out > c.nColours ? out : c.nColours;
    c.nColours = in > c.nColours ? in : c.nColours;
  }
  c.at = SHARD_ARENA_ARRAY(arena, int32_t, 2 * nRanks * c.nColours);
  memset(c.at, -1, (size_t)(2 * nRanks * c.nColours) * sizeof(int32_t));
  int32_t *scratch = SHARD_ARENA_ARRAY(arena, int32_t, count);
  for (int32_t i = 0; i < count; ++i) {
    int64_t sender = moves[i].move.sender, receiver = moves[i].move.receiver;
    int32_t common = 0;
    while (common < c.nColours &&
           (*slot(&c, 0, sender, common) >= 0 || *slot(&c, 1, receiver, common) >= 0))
      ++common;
    if (common == c.nColours) {
      common = freeColour(&c, 0, sender);
      flipPath(&c, receiver, common, freeColour(&c, 1, receiver), scratch);
    }
    paint(&c, i, common);
  }
  return c.nColours;
}

void shardReshardSchedule(int64_t nRanks, int32_t nPieces, int64_t nMoves, ShardReshardMove *moves,
                          int32_t *outRounds) {
  ShardArena *arena = shardArenaCreate();
  Sorted *sorted = SHARD_ARENA_ARRAY(arena, Sorted, nMoves);
  for (int64_t i = 0; i < nMoves; ++i) {
    int64_t distance = (moves[i].receiver - moves[i].sender + nRanks) % nRanks;
    sorted[i] = (Sorted){moves[i], distance, nPieces, (size_t)i};
  }
  qsort(sorted, (size_t)nMoves, sizeof(Sorted), compareForRounds);
  *outRounds = 0;
  for (int64_t begin = 0, end; begin < nMoves; begin = end) {
    for (end = begin; end < nMoves && compareShape(&sorted[begin], &sorted[end]) == 0;)
      ++end;
    int32_t n = colourShape(arena, nRanks, &sorted[begin], (int32_t)(end - begin));
    for (int64_t i = begin; i < end; ++i)
      sorted[i].move.round += *outRounds;
    *outRounds += n;
  }
  qsort(sorted, (size_t)nMoves, sizeof(Sorted), compareByRound);
  for (int64_t i = 0; i < nMoves; ++i)
    moves[i] = sorted[i].move;
  shardArenaDestroy(arena);
}

ShardReshardExchange *shardReshardExchangeCreate(const ShardReshardPlan *plan, int32_t step) {
  const PlanMemory *memory = plan->memory;
  ShardArena *arena = shardArenaCreate();
  ShardReshardExchange *exchange = SHARD_ARENA_NEW(arena, ShardReshardExchange);
  int32_t nPieces = plan->nPieces;
  Builder builder = {.problem = &memory->problem,
                     .arena = arena,
                     .from = &memory->cuts[step * nPieces],
                     .to = &memory->cuts[(step + 1) * nPieces]};
  builder.group = shardReshardGroup(builder.problem, builder.from, builder.to);
  for (int32_t p = 0; p < nPieces; ++p)
    packPiece(&builder, p);
  for (int64_t r = 0; r < builder.group.nRanks; ++r) {
    int64_t coordinates[MAX_AXES];
    const Part *chosen[MAX_PIECES];
    shardReshardCoordinates(builder.problem, &builder.group, r, coordinates);
    for (int32_t p = 0; p < nPieces; ++p)
      listParts(&builder, p, coordinates);
    addBoxes(&builder, 0, chosen, r, coordinates);
  }
  shardReshardSchedule(builder.group.nRanks, nPieces, (int64_t)builder.nMoves, builder.moves,
                       &exchange->nRounds);
  int64_t *shapes = SHARD_ARENA_ARRAY(arena, int64_t, 2 * nPieces);
  const int64_t **orders = SHARD_ARENA_ARRAY(arena, const int64_t *, 2 * nPieces);
  for (int32_t p = 0; p < nPieces; ++p) {
    shapes[p] = builder.from[p].chunk;
    shapes[nPieces + p] = builder.to[p].chunk;
    orders[p] = builder.packings[p].fromOrder;
    orders[nPieces + p] = builder.packings[p].toOrder;
  }
  exchange->nRanks = builder.group.nRanks;
  exchange->nPieces = nPieces;
  exchange->nMoves = (int64_t)builder.nMoves;
  exchange->moves = builder.moves;
  exchange->operandShape = shapes;
  exchange->resultShape = shapes + nPieces;
  exchange->fromOrder = orders;
  exchange->toOrder = orders + nPieces;
  exchange->memory = arena;
  return exchange;
}

void shardReshardExchangeDestroy(ShardReshardExchange *exchange) {
  if (exchange)
    shardArenaDestroy(exchange->memory);
}
