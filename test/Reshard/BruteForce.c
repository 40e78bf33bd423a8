//===- BruteForce.c - Fewest bytes by trying everything -----------*- C -*-===//
// Dijkstra 1959 over all placements that one move at a time leads to. The moves and what they send
// are written from their definitions (ring counting):
//   cut       a whole axis cuts a piece further                                      0
//   gather    the last axis of a piece goes                           (n - 1) x storage
//   move      the last axis of a piece cuts another instead    (n - 1) / n x padded storage
//   reduce    partial over some axes to combined              2 (n - 1) / n x storage
//   scatter   partial over an axis to cut over it              (n - 1) / n x padded storage
//   exchange  to any placement, what each rank lacks of it           elements lacking
//   enter     cut or whole to partial                                                0
// A multiple of an axis at once sends no less than one at a time, but for reduce.
//===----------------------------------------------------------------------===//

#include "Case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
  Place place;
  bool entered, done, exchanged;
  long cost;
} Entry;

typedef struct Table {
  const Case *c;
  long limit;
  int limitStorage;
  int kept, enters; // axes that stay partial; that become so
  long wanted;      // elements of the target on all ranks
  Entry *entries;
  int n, capacity;
  int *slots;
  int nSlots;
} Table;

//===----------------------------------------------------------------------===//
// What ranks hold
//===----------------------------------------------------------------------===//

static int indexAlong(const Mesh *mesh, const Piece *piece, int rank) {
  int index = 0;
  for (int k = 0; k < piece->nAxes; ++k)
    index = index * mesh->sizes[piece->axes[k]] + mesh->coordinates[rank][piece->axes[k]];
  return index;
}

static int smaller(int a, int b) { return a < b ? a : b; }

// How many elements a rank wants, and how many of them it has.
static void countHeld(const Mesh *mesh, const Place *have, const Place *want, int rank,
                      long *wanted, long *held) {
  *wanted = *held = 1;
  for (int p = 0; p < want->nPieces; ++p) {
    const Piece *w = &want->pieces[p], *h = &have->pieces[p];
    int wBegin = smaller(indexAlong(mesh, w, rank) * w->chunk, w->size);
    int wEnd = smaller(wBegin + w->chunk, w->size);
    int hBegin = smaller(indexAlong(mesh, h, rank) * h->chunk, h->size);
    int hEnd = smaller(hBegin + h->chunk, h->size);
    int begin = wBegin > hBegin ? wBegin : hBegin, end = smaller(wEnd, hEnd);
    *wanted *= wEnd - wBegin;
    *held *= end > begin ? end - begin : 0;
  }
}

static long lacking(const Mesh *mesh, const Place *have, const Place *want) {
  long total = 0;
  for (int rank = 0; rank < mesh->nRanks; ++rank) {
    long wanted, held;
    countHeld(mesh, have, want, rank, &wanted, &held);
    total += wanted - held;
  }
  return total;
}

long lackedElements(const Case *c) {
  long total = 0;
  for (int rank = 0; rank < c->mesh->nRanks; ++rank)
    for (int e = 0; e < c->count; ++e)
      total += placeOf(c->mesh, &c->to, rank, e) >= 0 && placeOf(c->mesh, &c->from, rank, e) < 0;
  return total;
}

//===----------------------------------------------------------------------===//
// The table of placements
//===----------------------------------------------------------------------===//

static unsigned hashPlace(const Place *place, bool entered) {
  unsigned hash = 17u + (unsigned)place->partial * 31u + entered;
  for (int p = 0; p < place->nPieces; ++p) {
    hash = hash * 131u + (unsigned)place->pieces[p].chunk;
    for (int k = 0; k < place->pieces[p].nAxes; ++k)
      hash = hash * 131u + 7u + (unsigned)place->pieces[p].axes[k];
    hash = hash * 131u + 3u;
  }
  return hash * 2654435761u;
}

static bool samePlace(const Place *a, const Place *b) {
  if (a->partial != b->partial)
    return false;
  for (int p = 0; p < a->nPieces; ++p) {
    const Piece *x = &a->pieces[p], *y = &b->pieces[p];
    if (x->nAxes != y->nAxes || x->chunk != y->chunk ||
        memcmp(x->axes, y->axes, (size_t)x->nAxes * sizeof(int)) != 0)
      return false;
  }
  return true;
}

static void rehash(Table *t) {
  free(t->slots);
  t->nSlots = t->nSlots ? 2 * t->nSlots : 1024;
  t->slots = malloc((size_t)t->nSlots * sizeof(int));
  memset(t->slots, -1, (size_t)t->nSlots * sizeof(int));
  for (int i = 0; i < t->n; ++i) {
    unsigned at = hashPlace(&t->entries[i].place, t->entries[i].entered) % (unsigned)t->nSlots;
    while (t->slots[at] >= 0)
      at = (at + 1) % (unsigned)t->nSlots;
    t->slots[at] = i;
  }
}

// Elements of the target that the ranks which differ on the axes of `entering` lack together, at
// the least: they may hold some twice.
static long lackingTogether(const Mesh *mesh, const Place *have, const Place *want, int entering) {
  long wanted[maxRanks] = {0}, held[maxRanks] = {0}, total = 0;
  for (int rank = 0; rank < mesh->nRanks; ++rank) {
    int first = 0;
    for (int a = 0; a < mesh->nAxes; ++a)
      first = first * mesh->sizes[a] + (entering >> a & 1 ? 0 : mesh->coordinates[rank][a]);
    long all, some;
    countHeld(mesh, have, want, rank, &all, &some);
    wanted[first] = all;
    held[first] += some;
  }
  for (int rank = 0; rank < mesh->nRanks; ++rank)
    total += wanted[rank] > held[rank] ? wanted[rank] - held[rank] : 0;
  return total;
}

static void reachBy(Table *t, const Place *place, bool entered, long cost, bool exchanged) {
  if (cost > t->limit || storageOf(place) > t->limitStorage)
    return;
  // Nothing can send less than what ranks lack, and of a partial value all that they want.
  bool reduced = place->partial == t->kept;
  if (!entered && reduced &&
      cost + lackingTogether(t->c->mesh, place, &t->c->to, t->enters) > t->limit)
    return;
  if (!reduced && !t->enters && cost + t->wanted > t->limit)
    return;
  if (2 * t->n >= t->nSlots)
    rehash(t);
  unsigned at = hashPlace(place, entered) % (unsigned)t->nSlots;
  for (; t->slots[at] >= 0; at = (at + 1) % (unsigned)t->nSlots) {
    Entry *entry = &t->entries[t->slots[at]];
    if (entry->entered != entered || !samePlace(&entry->place, place))
      continue;
    if (cost < entry->cost)
      entry->cost = cost, entry->done = false, entry->exchanged = exchanged;
    return;
  }
  if (t->n == t->capacity) {
    t->capacity = t->capacity ? 2 * t->capacity : 256;
    t->entries = realloc(t->entries, (size_t)t->capacity * sizeof(Entry));
  }
  t->slots[at] = t->n;
  t->entries[t->n++] = (Entry){*place, entered, false, exchanged, cost};
}

static void reach(Table *t, const Place *place, bool entered, long cost) {
  reachBy(t, place, entered, cost, false);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static int usedAxes(const Place *place) {
  int used = place->partial;
  for (int p = 0; p < place->nPieces; ++p)
    for (int k = 0; k < place->pieces[p].nAxes; ++k)
      used |= 1 << place->pieces[p].axes[k];
  return used;
}

// The piece cut further over an axis, in its i-th possible chunk; false: no such chunk. A whole
// piece can have any.
static bool cutFurther(const Mesh *mesh, const Piece *piece, int axis, int i, Piece *out) {
  int n = mesh->sizes[axis], least = (piece->chunk + n - 1) / n;
  *out = *piece;
  out->axes[out->nAxes++] = axis;
  out->chunk = least + i;
  if (piece->nAxes == 0)
    return out->chunk <= piece->size;
  return i == 0 && least * n == piece->chunk;
}

static void dropLast(const Mesh *mesh, const Piece *piece, Piece *out) {
  *out = *piece;
  int axis = out->axes[--out->nAxes];
  out->chunk = out->nAxes ? out->chunk * mesh->sizes[axis] : out->size;
}

static void tryCutsAndScatters(Table *t, const Entry *from) {
  const Mesh *mesh = t->c->mesh;
  int used = usedAxes(&from->place), kept = t->c->from.partial & t->c->to.partial;
  if (t->c->fromCombiner != t->c->toCombiner)
    kept = 0;
  for (int axis = 0; axis < mesh->nAxes; ++axis) {
    bool scatters = (from->place.partial & ~kept) >> axis & 1;
    if ((used >> axis & 1) && !scatters)
      continue;
    for (int p = 0; p < from->place.nPieces; ++p)
      for (int i = 0;; ++i) {
        Place next = from->place;
        if (!cutFurther(mesh, &from->place.pieces[p], axis, i, &next.pieces[p]))
          break;
        long sent = 0;
        if (scatters) {
          next.partial &= ~(1 << axis);
          sent = (long)storageOf(&next) * (mesh->sizes[axis] - 1) * mesh->nRanks;
        }
        reach(t, &next, false, from->cost + sent);
      }
  }
}

static void tryGathersAndMoves(Table *t, const Entry *from) {
  const Mesh *mesh = t->c->mesh;
  for (int p = 0; p < from->place.nPieces; ++p) {
    const Piece *piece = &from->place.pieces[p];
    if (!piece->nAxes)
      continue;
    int axis = piece->axes[piece->nAxes - 1], n = mesh->sizes[axis];
    Place next = from->place;
    dropLast(mesh, piece, &next.pieces[p]);
    reach(t, &next, false, from->cost + (long)storageOf(&from->place) * (n - 1) * mesh->nRanks);
    for (int q = 0; q < from->place.nPieces; ++q)
      for (int i = 0; q != p; ++i) {
        Place moved = next;
        if (!cutFurther(mesh, &from->place.pieces[q], axis, i, &moved.pieces[q]))
          break;
        Place sent = from->place; // a part of the padded storage
        sent.pieces[q] = moved.pieces[q];
        reach(t, &moved, false, from->cost + (long)storageOf(&sent) * (n - 1) * mesh->nRanks);
      }
  }
}

static void tryReduces(Table *t, const Entry *from) {
  const Mesh *mesh = t->c->mesh;
  int kept = t->c->fromCombiner == t->c->toCombiner ? t->c->from.partial & t->c->to.partial : 0;
  int open = from->place.partial & ~kept;
  for (int set = open; set; set = (set - 1) & open) {
    int n = 1;
    for (int a = 0; a < mesh->nAxes; ++a)
      n *= set >> a & 1 ? mesh->sizes[a] : 1;
    Place next = from->place;
    next.partial &= ~set;
    reach(t, &next, false,
          from->cost + 2L * storageOf(&from->place) * (n - 1) * (mesh->nRanks / n));
  }
}

// Every placement over the axes in `free`, in ceil chunks. Two exchanges one after the other lack
// no less than one, so that what an exchange leads to needs no further one.
static void exchangeToAll(Table *t, const Entry *from, Place *place, int free) {
  const Mesh *mesh = t->c->mesh;
  reachBy(t, place, false, from->cost + lacking(mesh, &from->place, place), true);
  for (int axis = 0; axis < mesh->nAxes; ++axis)
    for (int p = 0; p < place->nPieces && (free >> axis & 1); ++p) {
      Piece old = place->pieces[p];
      place->pieces[p].axes[place->pieces[p].nAxes++] = axis;
      int n = axesSize(mesh, place->pieces[p].nAxes, place->pieces[p].axes);
      place->pieces[p].chunk = (old.size + n - 1) / n;
      exchangeToAll(t, from, place, free & ~(1 << axis));
      place->pieces[p] = old;
    }
}

// The target, and it cut further over the axes that it is partial on.
static void exchangeToEntrances(Table *t, const Entry *from, Place *place, int free) {
  const Mesh *mesh = t->c->mesh;
  reachBy(t, place, false, from->cost + lacking(mesh, &from->place, place), true);
  for (int axis = 0; axis < mesh->nAxes; ++axis)
    for (int p = 0; p < place->nPieces && (free >> axis & 1); ++p) {
      Piece old = place->pieces[p];
      bool fits = cutFurther(mesh, &old, axis, 0, &place->pieces[p]);
      if (t->c->to.pieces[p].nAxes == 0) { // any chunks reach the end of a whole piece
        Piece *piece = &place->pieces[p];
        int n = axesSize(mesh, piece->nAxes, piece->axes);
        piece->chunk = (piece->size + n - 1) / n;
      } else if (!fits) {
        place->pieces[p] = old;
        continue;
      }
      exchangeToEntrances(t, from, place, free & ~(1 << axis));
      place->pieces[p] = old;
    }
}

static void tryEnter(Table *t, const Entry *from, int enters) {
  const Mesh *mesh = t->c->mesh;
  Place place = from->place;
  for (int p = 0; p < place.nPieces; ++p)
    while (place.pieces[p].nAxes &&
           (enters >> place.pieces[p].axes[place.pieces[p].nAxes - 1] & 1)) {
      Piece old = place.pieces[p];
      dropLast(mesh, &old, &place.pieces[p]);
    }
  if (usedAxes(&place) & enters)
    return;
  place.partial |= enters;
  if (samePlace(&place, &t->c->to))
    reach(t, &place, true, from->cost);
}

// Pieces of a dimension of which both ends cut the major one only, or cut it to single steps, are
// one: its steps are then as fine as moves can use.
static Case fold(const Case *c) {
  Case out = *c;
  Place *places[] = {&out.from, &out.to};
  for (int p = 0; p + 1 < out.from.nPieces;) {
    bool folds = out.from.pieces[p].dim == out.from.pieces[p + 1].dim;
    for (int s = 0; s < 2; ++s) {
      const Piece *major = &places[s]->pieces[p], *minor = major + 1;
      int n = axesSize(c->mesh, minor->nAxes, minor->axes);
      folds &= minor->nAxes == 0 || (major->chunk == 1 && minor->chunk * n == minor->size);
    }
    for (int s = 0; s < 2 && folds; ++s) {
      Piece *major = &places[s]->pieces[p], *minor = major + 1;
      major->chunk = minor->nAxes ? minor->chunk : major->chunk * minor->size;
      major->size *= minor->size;
      memcpy(&major->axes[major->nAxes], minor->axes, (size_t)minor->nAxes * sizeof(int));
      major->nAxes += minor->nAxes;
      --places[s]->nPieces;
      memmove(minor, minor + 1, (size_t)(places[s]->nPieces - p - 1) * sizeof(Piece));
    }
    p += !folds;
  }
  // An axis that cuts a single step leaves the value to ranks with coordinate 0.
  int kept = c->fromCombiner == c->toCombiner ? c->from.partial & c->to.partial : 0;
  for (int s = 0; s < 2 && (c->to.partial & ~kept); ++s)
    places[s]->pieces[places[s]->nPieces++] =
        (Piece){.size = 1, .chunk = 1, .dim = c->from.pieces[c->from.nPieces - 1].dim};
  return out;
}

long fewestElements(const Case *unfolded, long limit) {
  Case folded = fold(unfolded);
  const Case *c = &folded;
  Table t = {.c = c, .limit = limit};
  int kept = c->fromCombiner == c->toCombiner ? c->from.partial & c->to.partial : 0;
  int enters = c->to.partial & ~kept;
  t.kept = kept;
  t.enters = enters;
  Place nothing = c->to;
  for (int p = 0; p < nothing.nPieces; ++p)
    nothing.pieces[p].chunk = 0;
  t.wanted = lacking(c->mesh, &nothing, &c->to);
  t.limitStorage =
      storageOf(&c->from) > storageOf(&c->to) ? storageOf(&c->from) : storageOf(&c->to);
  reach(&t, &c->from, false, 0);
  long found = -1;
  while (found < 0) {
    int at = -1;
    for (int i = 0; i < t.n; ++i)
      if (!t.entries[i].done && (at < 0 || t.entries[i].cost < t.entries[at].cost))
        at = i;
    if (at < 0)
      break;
    t.entries[at].done = true;
    Entry from = t.entries[at];
    // A partial value of the source is not one of the target where their combiners differ.
    if (samePlace(&from.place, &c->to) && from.entered == (enters != 0)) {
      found = from.cost;
      break;
    }
    if (from.entered)
      continue;
    tryCutsAndScatters(&t, &from);
    tryGathersAndMoves(&t, &from);
    tryReduces(&t, &from);
    if (!from.exchanged && (from.place.partial || enters)) {
      Place place = from.place;
      int all = (1 << c->mesh->nAxes) - 1;
      for (int p = 0; p < place.nPieces; ++p) {
        place.pieces[p].nAxes = 0;
        place.pieces[p].chunk = place.pieces[p].size;
      }
      exchangeToAll(&t, &from, &place, all & ~from.place.partial);
    }
    if (from.place.partial == kept) {
      Place place = c->to;
      place.partial = kept;
      if (!from.exchanged)
        exchangeToEntrances(&t, &from, &place, enters);
      if (enters)
        tryEnter(&t, &from, enters);
    }
  }
  free(t.entries);
  free(t.slots);
  return found;
}
