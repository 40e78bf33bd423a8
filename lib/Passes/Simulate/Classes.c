//===- Classes.c - Ranks that do the same at the same time --------*- C -*-===//
// Colours of ranks and of links are refined until they are stable (Paige and Tarjan, Three
// partition refinement algorithms, 1987, by rounds): ranks of one colour have the same program and
// kind of device, their collectives cost the same, meet the same colours and use the same colours
// of links, their messages too; links of one colour are used by as many of each colour. By
// induction over the events such ranks have the same clocks and such links the same load, so that
// one of each colour stands for all. A signature is a 128-bit hash of all that.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include "../Core/Diagnostics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIRECTIONS (INT64_C(1) << 27)

typedef struct Hash {
  uint64_t a, b;
} Hash;

static uint64_t mix(uint64_t x) { // SplitMix64
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static void hashAdd(Hash *hash, int64_t value) {
  hash->a = mix(hash->a ^ (uint64_t)value);
  hash->b = mix(hash->b + (uint64_t)value * UINT64_C(0xd1342543de82ef95));
}

/// Whatever the order.
static void hashAddMember(Hash *hash, int64_t value) {
  hash->a += mix((uint64_t)value);
  hash->b += mix((uint64_t)value ^ UINT64_C(0xa0761d6478bd642f));
}

static bool hashEqual(Hash x, Hash y) { return x.a == y.a && x.b == y.b; }

/// Things with signatures, and the colours of those.
typedef struct Colouring {
  int64_t nThings;
  int32_t *colours;
  int32_t nColours;
  Hash *signatures;
  // A table of signatures and their colours.
  size_t nSlots;
  int32_t *slots; // -1: free
  Hash *known;    // [nThings]
} Colouring;

static Colouring createColouring(ShardArena *arena, int64_t nThings) {
  Colouring c = {.nThings = nThings, .nSlots = 16};
  while ((int64_t)c.nSlots < 2 * nThings)
    c.nSlots *= 2;
  c.colours = SHARD_ARENA_ARRAY(arena, int32_t, nThings);
  c.signatures = SHARD_ARENA_ARRAY(arena, Hash, nThings);
  c.known = SHARD_ARENA_ARRAY(arena, Hash, nThings);
  c.slots = SHARD_ARENA_ARRAY(arena, int32_t, c.nSlots);
  return c;
}

static int32_t colourOf(Colouring *c, Hash hash) {
  size_t at = (size_t)hash.a & (c->nSlots - 1);
  while (c->slots[at] >= 0 && !hashEqual(c->known[c->slots[at]], hash))
    at = (at + 1) & (c->nSlots - 1);
  if (c->slots[at] < 0) {
    c->known[c->nColours] = hash;
    c->slots[at] = c->nColours++;
  }
  return c->slots[at];
}

static int32_t clearColours(Colouring *c) {
  int32_t before = c->nColours;
  c->nColours = 0;
  memset(c->slots, -1, c->nSlots * sizeof(*c->slots));
  return before;
}

/// A signature begins with the colour that there was.
static void startRound(Colouring *c) {
  for (int64_t i = 0; i < c->nThings; ++i) {
    c->signatures[i] = (Hash){0};
    hashAdd(&c->signatures[i], c->colours[i]);
  }
}

typedef struct Partition {
  const SimProgram *program;
  SimClasses *out;
  Colouring ranks; // of the program
  Colouring links; // directions that are used; others have no number
  int32_t *linkOf; // [directions] -1: not used
  int64_t *places; // [nRanks] number in its stage
} Partition;

//===----------------------------------------------------------------------===//
// Refinement
//===----------------------------------------------------------------------===//

/// Adds the colours of the links that a user uses to its signature.
static void hashUses(const Partition *p, const SimUses *uses, int64_t user, Hash *hash) {
  for (int64_t i = uses->first[user]; i < uses->first[user + 1]; ++i) {
    const SimUse *use = &uses->uses[i];
    int64_t colour = p->links.colours[p->linkOf[use->direction]];
    hashAddMember(hash, (int64_t)mix((uint64_t)(colour << 16 | use->sort)));
  }
}

/// Adds a user to the signatures of the links that it uses.
static void signLinks(Partition *p, const SimUses *uses, int64_t user, Hash hash, int64_t id) {
  for (int64_t i = uses->first[user]; i < uses->first[user + 1]; ++i) {
    const SimUse *use = &uses->uses[i];
    Hash own = hash;
    hashAdd(&own, id);
    hashAdd(&own, use->sort);
    hashAddMember(&p->links.signatures[p->linkOf[use->direction]], (int64_t)own.a);
  }
}

static void signGroups(Partition *p, const SimGroups *groups) {
  for (int64_t g = 0; g < groups->nGroups; ++g) {
    Hash hash = {0};
    const int64_t *members = groups->members + g * groups->groupSize;
    hashAddMember(&hash, -1 - (int64_t)shardGroupsGetProfile(groups->groups, g));
    for (int64_t k = 0; k < groups->groupSize; ++k)
      hashAddMember(&hash, p->ranks.colours[groups->ranks[members[k]]]);
    hashUses(p, &groups->uses, g, &hash);
    for (int64_t k = 0; k < groups->groupSize; ++k) {
      Hash *signature = &p->ranks.signatures[groups->ranks[members[k]]];
      hashAdd(signature, (int64_t)hash.a);
      hashAdd(signature, (int64_t)hash.b);
    }
    signLinks(p, &groups->uses, g, hash, groups->id);
  }
}

static void signPattern(Partition *p, const SimStage *stage, const SimPattern *pattern,
                        int64_t id) {
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    int64_t rank = stage->ranks[i], peer = pattern->peers[i];
    Hash hash = {0};
    hashAdd(&hash, peer == rank ? -1 : p->ranks.colours[peer]);
    if (pattern->messages) {
      hashAdd(&hash, p->ranks.colours[rank]);
      hashAdd(&hash, shardTrafficGetProfile(pattern->messages, i));
      hashUses(p, &pattern->uses, i, &hash);
      signLinks(p, &pattern->uses, i, hash, id);
    }
    hashAdd(&p->ranks.signatures[rank], (int64_t)hash.a);
    hashAdd(&p->ranks.signatures[rank], (int64_t)hash.b);
  }
}

/// New colours, those of ranks numbered by stage, then first rank. Whether there are more than
/// before.
static bool recolour(Partition *p) {
  bool more = false;
  int32_t before = clearColours(&p->ranks);
  for (int32_t s = 0; s < p->program->nStages; ++s) {
    const SimStage *stage = &p->program->stages[s];
    for (int64_t i = 0; i < stage->nRanks; ++i)
      p->ranks.colours[stage->ranks[i]] = colourOf(&p->ranks, p->ranks.signatures[stage->ranks[i]]);
  }
  more |= p->ranks.nColours > before;
  before = clearColours(&p->links);
  for (int64_t i = 0; i < p->links.nThings; ++i)
    p->links.colours[i] = colourOf(&p->links, p->links.signatures[i]);
  return more | (p->links.nColours > before);
}

static void startColours(Partition *p) {
  const SimProgram *program = p->program;
  for (int32_t s = 0; s < program->nStages; ++s)
    for (int64_t i = 0; i < program->stages[s].nRanks; ++i) {
      int64_t rank = program->stages[s].ranks[i];
      const ShardDeviceKind *kind =
          shardClusterDeviceKind(program->cluster, simDeviceOf(program, rank));
      p->places[rank] = i;
      hashAdd(&p->ranks.signatures[rank], s);
      hashAdd(&p->ranks.signatures[rank], kind - program->cluster->deviceKinds);
    }
}

static void refine(Partition *p) {
  const SimProgram *program = p->program;
  startColours(p);
  while (recolour(p)) {
    startRound(&p->ranks);
    startRound(&p->links);
    for (int32_t i = 0; i < p->out->nSpanning; ++i)
      signGroups(p, p->out->spanning[i]);
    for (int32_t s = 0; s < program->nStages; ++s) {
      const SimPlaces *places = &p->out->places[s];
      for (int32_t i = 0; i < places->nDistinct; ++i)
        signGroups(p, places->distinct[i]);
      for (int32_t i = 0; i < program->nNumbered; ++i)
        if (places->patterns[i])
          signPattern(p, &program->stages[s], places->patterns[i],
                      -1 - ((int64_t)s * program->nNumbered + i));
    }
  }
}

//===----------------------------------------------------------------------===//
// All groups and patterns
//===----------------------------------------------------------------------===//

typedef void (*UsesVisitor)(Partition *p, const SimGroups *groups, const SimStage *stage,
                            const SimPattern *pattern, SimUses *uses);

static void visitUses(Partition *p, UsesVisitor visit) {
  for (int32_t i = 0; i < p->out->nSpanning; ++i)
    visit(p, p->out->spanning[i], NULL, NULL, &p->out->spanning[i]->uses);
  for (int32_t s = 0; s < p->program->nStages; ++s) {
    const SimPlaces *places = &p->out->places[s];
    for (int32_t i = 0; i < places->nDistinct; ++i)
      visit(p, places->distinct[i], NULL, NULL, &places->distinct[i]->uses);
    for (int32_t i = 0; i < p->program->nNumbered; ++i)
      if (places->patterns[i] && places->patterns[i]->messages)
        visit(p, NULL, &p->program->stages[s], places->patterns[i], &places->patterns[i]->uses);
  }
}

/// Numbers the directions of links that are used.
static void numberLinks(Partition *p, const SimGroups *groups, const SimStage *stage,
                        const SimPattern *pattern, SimUses *uses) {
  (void)groups, (void)stage, (void)pattern;
  for (int64_t i = 0; i < uses->first[uses->nUsers]; ++i) {
    int32_t *number = &p->linkOf[uses->uses[i].direction];
    if (*number < 0)
      *number = (int32_t)p->links.nThings++;
  }
}

//===----------------------------------------------------------------------===//
// What a class stands for
//===----------------------------------------------------------------------===//

static void listClasses(Partition *p) {
  const SimProgram *program = p->program;
  SimClasses *out = p->out;
  out->nClasses = p->ranks.nColours;
  out->nLinkClasses = p->links.nColours;
  out->classes = SHARD_ARENA_ARRAY(program->arena, SimClass, out->nClasses);
  for (int32_t s = 0; s < program->nStages; ++s) {
    SimPlaces *places = &out->places[s];
    places->firstClass = INT32_MAX;
    for (int64_t i = 0; i < program->stages[s].nRanks; ++i) {
      int64_t rank = program->stages[s].ranks[i];
      int32_t colour = p->ranks.colours[rank];
      SimClass *class = &out->classes[colour];
      if (colour < places->firstClass)
        places->firstClass = colour;
      if (class->nRanks++)
        continue;
      const ShardDeviceKind *kind =
          shardClusterDeviceKind(program->cluster, simDeviceOf(program, rank));
      class->stage = s;
      class->firstRank = rank;
      class->kind = (int32_t)(kind - program->cluster->deviceKinds);
      ++places->nClasses;
    }
  }
}

/// Classes that meet in a group of these groups, for each sort of group.
static void listSets(Partition *p, SimGroups *groups) {
  ShardArena *arena = p->program->arena;
  int32_t n = groups->nClasses;
  int32_t *profiles = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t *sizes = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t **sets = SHARD_ARENA_ARRAY(arena, int32_t *, n);
  int32_t *setOf = SHARD_ARENA_ARRAY(arena, int32_t, n);
  memset(setOf, -1, (size_t)n * sizeof(*setOf));
  for (int32_t c = 0; c < n; ++c) {
    if (setOf[c] >= 0)
      continue;
    int64_t first = p->out->classes[groups->firstClass + c].firstRank;
    int64_t group = groups->groupOf[groups->spansStages ? first : p->places[first]];
    int32_t *set = SHARD_ARENA_ARRAY(arena, int32_t, groups->groupSize < n ? groups->groupSize : n);
    int32_t size = 0;
    for (int64_t k = 0; k < groups->groupSize; ++k) {
      int64_t rank = groups->ranks[groups->members[group * groups->groupSize + k]];
      int32_t class = p->ranks.colours[rank];
      if (setOf[class - groups->firstClass] >= 0)
        continue;
      setOf[class - groups->firstClass] = groups->nSets;
      set[size++] = class;
    }
    profiles[groups->nSets] = shardGroupsGetProfile(groups->groups, group);
    sizes[groups->nSets] = size;
    sets[groups->nSets++] = set;
  }
  groups->setOf = setOf;
  groups->profiles = profiles;
  groups->setSizes = sizes;
  groups->sets = sets;
}

static void listPeers(Partition *p, const SimPlaces *places, SimPattern *pattern) {
  ShardArena *arena = p->program->arena;
  int32_t *peerOf = SHARD_ARENA_ARRAY(arena, int32_t, places->nClasses);
  int32_t *profiles = SHARD_ARENA_ARRAY(arena, int32_t, places->nClasses);
  for (int32_t c = 0; c < places->nClasses; ++c) {
    int64_t rank = p->out->classes[places->firstClass + c].firstRank, at = p->places[rank];
    int64_t peer = pattern->peers[at];
    peerOf[c] = peer == rank ? -1 : p->ranks.colours[peer];
    profiles[c] =
        peer == rank || !pattern->messages ? -1 : shardTrafficGetProfile(pattern->messages, at);
  }
  pattern->peerOf = peerOf;
  pattern->profiles = profiles;
}

//===----------------------------------------------------------------------===//
// What sets do to classes of links
//===----------------------------------------------------------------------===//

/// The set of a group, or the class of a message's sender.
static int32_t setOfUser(const Partition *p, const SimGroups *groups, const SimStage *stage,
                         int64_t user) {
  if (!groups)
    return p->ranks.colours[stage->ranks[user]];
  int64_t rank = groups->ranks[groups->members[user * groups->groupSize]];
  return groups->setOf[p->ranks.colours[rank] - groups->firstClass];
}

static int compareEntries(const void *a, const void *b) {
  const SimEntry *x = a, *y = b;
  return x->linkClass != y->linkClass
             ? (x->linkClass > y->linkClass) - (x->linkClass < y->linkClass)
             : (x->sort > y->sort) - (x->sort < y->sort);
}

/// Counts the users of each set on the first link of each class. Links of a class have all that is
/// on any of them, so that nothing is left out.
static void listEntries(Partition *p, const SimGroups *groups, const SimStage *stage,
                        const SimPattern *pattern, SimUses *uses) {
  (void)pattern;
  int32_t base = groups ? 0 : p->out->places[stage - p->program->stages].firstClass;
  int32_t nSets = groups ? groups->nSets : p->out->places[stage - p->program->stages].nClasses;
  ShardArena *scratch = shardArenaCreate();
  int64_t *fill = SHARD_ARENA_ARRAY(scratch, int64_t, nSets + 2);
  SimEntry *entries = NULL;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t user = 0; user < uses->nUsers; ++user)
      for (int64_t i = uses->first[user]; i < uses->first[user + 1]; ++i) {
        int32_t link = p->linkOf[uses->uses[i].direction];
        int32_t class = p->links.colours[link];
        if (p->links.slots[class] != link) // the first of its class
          continue;
        int32_t set = setOfUser(p, groups, stage, user) - base;
        if (pass)
          entries[fill[set + 1]++] = (SimEntry){class, uses->uses[i].sort, 1};
        else
          ++fill[set + 2];
      }
    for (int32_t s = 0; !pass && s < nSets; ++s)
      fill[s + 2] += fill[s + 1];
    if (!pass)
      entries = SHARD_ARENA_ARRAY(p->program->arena, SimEntry, fill[nSets + 1]);
  }
  int64_t *first = SHARD_ARENA_ARRAY(p->program->arena, int64_t, nSets + 1), n = 0;
  for (int32_t s = 0; s < nSets; ++s) {
    int64_t begin = s ? fill[s] : 0, end = fill[s + 1];
    qsort(entries + begin, (size_t)(end - begin), sizeof(SimEntry), compareEntries);
    first[s] = n;
    for (int64_t i = begin; i < end; ++i) {
      if (n > first[s] && compareEntries(&entries[n - 1], &entries[i]) == 0)
        ++entries[n - 1].count;
      else
        entries[n++] = entries[i];
    }
  }
  first[nSets] = n;
  uses->firstEntry = first;
  uses->entries = entries;
  shardArenaDestroy(scratch);
}

/// From here on the table of links holds the first link of each class.
static void firstLinks(Colouring *links) {
  memset(links->slots, -1, links->nSlots * sizeof(*links->slots));
  for (int64_t i = links->nThings; i-- > 0;)
    links->slots[links->colours[i]] = (int32_t)i;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static void describeClasses(Partition *p) {
  listClasses(p);
  for (int32_t i = 0; i < p->out->nSpanning; ++i) {
    p->out->spanning[i]->nClasses = p->out->nClasses;
    listSets(p, p->out->spanning[i]);
  }
  for (int32_t s = 0; s < p->program->nStages; ++s) {
    SimPlaces *places = &p->out->places[s];
    for (int32_t i = 0; i < places->nDistinct; ++i) {
      places->distinct[i]->firstClass = places->firstClass;
      places->distinct[i]->nClasses = places->nClasses;
      listSets(p, places->distinct[i]);
    }
    for (int32_t i = 0; i < p->program->nNumbered; ++i)
      if (places->patterns[i])
        listPeers(p, places, places->patterns[i]);
  }
  firstLinks(&p->links);
  visitUses(p, listEntries);
}

/// Each direction of a link has a number and a place in some tables.
static bool checkDirections(const SimProgram *program) {
  int64_t n = simDirectionCount(program->cluster);
  if (n <= MAX_DIRECTIONS)
    return true;
  shardEmitError(program->module,
                 "the cluster '%s' has %" PRId64 " links, each direction one; a simulation takes "
                 "%" PRId64,
                 program->cluster->name, n, MAX_DIRECTIONS);
  return false;
}

bool simClassesCreate(SimProgram *program, SimClasses *out) {
  *out = (SimClasses){0};
  if (!checkDirections(program) || !simPlacesCreate(program, out))
    return false;
  ShardArena *scratch = shardArenaCreate();
  int64_t nDirections = simDirectionCount(program->cluster);
  Partition p = {.program = program, .out = out};
  p.places = SHARD_ARENA_ARRAY(scratch, int64_t, program->nRanks);
  p.linkOf = SHARD_ARENA_ARRAY(scratch, int32_t, nDirections);
  memset(p.linkOf, -1, (size_t)nDirections * sizeof(*p.linkOf));
  visitUses(&p, numberLinks);
  p.ranks = createColouring(scratch, program->nRanks);
  p.links = createColouring(scratch, p.links.nThings);
  refine(&p);
  describeClasses(&p);
  shardArenaDestroy(scratch);
  return true;
}

void simClassesRelease(const SimProgram *program, SimClasses *classes) {
  for (int32_t i = 0; i < classes->nSpanning; ++i)
    shardGroupsDestroy(classes->spanning[i]->groups);
  for (int32_t s = 0; classes->places && s < program->nStages; ++s) {
    const SimPlaces *places = &classes->places[s];
    for (int32_t i = 0; i < places->nDistinct; ++i)
      shardGroupsDestroy(places->distinct[i]->groups);
    for (int32_t i = 0; places->patterns && i < program->nNumbered; ++i)
      if (places->patterns[i])
        shardTrafficDestroy(places->patterns[i]->messages);
  }
}
