//===- Sharding.c - Where a value lies ----------------------------*- C -*-===//

#include "Sharding.h"

#include "../Core/Diagnostics.h"
#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const combinerNames[] = {"none", "sum", "max", "min", "product", "and", "or"};

const char *shardCombinerName(ShardCombiner combiner) { return combinerNames[combiner]; }

ShardSharding *shardShardingCreate(ShardArena *arena, int32_t nAtoms) {
  ShardSharding *sharding = SHARD_ARENA_NEW(arena, ShardSharding);
  sharding->nAtoms = nAtoms;
  sharding->atoms = SHARD_ARENA_ARRAY(arena, ShardAxisList, nAtoms);
  return sharding;
}

ShardSharding *shardShardingCopy(ShardArena *arena, const ShardSharding *sharding) {
  ShardSharding *copy = shardShardingCreate(arena, sharding->nAtoms);
  for (int32_t i = 0; i < sharding->nAtoms; ++i)
    copy->atoms[i] = sharding->atoms[i];
  memcpy(copy->partial, sharding->partial, sizeof(copy->partial));
  return copy;
}

static bool axisListEqual(ShardAxisList a, ShardAxisList b) {
  return a.count == b.count && a.span == b.span && memcmp(a.axis, b.axis, a.count) == 0;
}

bool shardShardingEqual(const ShardSharding *a, const ShardSharding *b) {
  if (a->nAtoms != b->nAtoms || memcmp(a->partial, b->partial, sizeof(a->partial)) != 0)
    return false;
  for (int32_t i = 0; i < a->nAtoms; ++i)
    if (!axisListEqual(a->atoms[i], b->atoms[i]))
      return false;
  return true;
}

bool shardShardingIsReplicated(const ShardSharding *sharding) {
  for (int32_t i = 0; i < sharding->nAtoms; ++i)
    if (sharding->atoms[i].count)
      return false;
  for (int32_t i = 0; i < SHARD_MAX_AXES; ++i)
    if (sharding->partial[i])
      return false;
  return true;
}

int64_t shardAxisListSize(const ShardMesh *mesh, ShardAxisList axes) {
  int64_t size = 1;
  for (int i = 0; i < axes.count; ++i)
    size *= mesh->sizes[axes.axis[i]];
  return size;
}

static int64_t ceilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// What a list splits: the atom, or the block that it heads.
static int64_t splitSize(const ShardAtom *atom, ShardAxisList axes) {
  int64_t size = atom->size;
  for (int i = 1; i <= axes.span; ++i)
    size *= atom[i].size;
  return size;
}

int64_t shardShardingLocalAtomSize(const ShardMesh *mesh, const ShardAtom *atom,
                                   ShardAxisList axes) {
  if (axes.span == SHARD_SPAN_INSIDE)
    return 1;
  return ceilDivide(splitSize(atom, axes), shardAxisListSize(mesh, axes));
}

bool shardShardingIsUneven(const ShardMesh *mesh, int32_t nAtoms, const ShardAtom *atoms,
                           const ShardSharding *sharding) {
  for (int32_t i = 0; i < nAtoms; ++i)
    if (sharding->atoms[i].span != SHARD_SPAN_INSIDE &&
        splitSize(&atoms[i], sharding->atoms[i]) % shardAxisListSize(mesh, sharding->atoms[i]))
      return true;
  return false;
}

bool shardShardingSplitDimension(const ShardMesh *mesh, int32_t begin, int32_t end,
                                 const ShardAtom *atoms, int nAxes, const uint8_t *axes,
                                 ShardSharding *out) {
  ShardAxisList list = {0};
  int64_t size = 1, devices = 1;
  for (int i = 0; i < nAxes; ++i) {
    if (mesh->sizes[axes[i]] == 1)
      continue;
    if (list.count == sizeof(list.axis))
      return false;
    list.axis[list.count++] = axes[i];
    devices *= mesh->sizes[axes[i]];
  }
  if (!list.count)
    return true;
  if (begin == end)
    return false;
  for (int32_t i = begin; i < end; ++i)
    size *= atoms[i].size;
  // Atoms that every block holds whole are not cut.
  int64_t block = ceilDivide(size, devices);
  while (end - begin > 1 && block % atoms[end - 1].size == 0)
    block /= atoms[--end].size;
  // A head that the first axes split down to single steps leaves the others to the rest.
  int64_t major = 1, rest = 1;
  int n = 0;
  for (int32_t i = begin + 1; i < end; ++i)
    rest *= atoms[i].size;
  while (n < list.count && major < atoms[begin].size)
    major *= mesh->sizes[list.axis[n++]];
  if (end - begin > 1 && major == atoms[begin].size && rest % (devices / major) == 0) {
    out->atoms[begin] = (ShardAxisList){.count = (uint8_t)n};
    memcpy(out->atoms[begin].axis, list.axis, (size_t)n);
    return shardShardingSplitDimension(mesh, begin + 1, end, atoms, list.count - n, list.axis + n,
                                       out);
  }
  list.span = (uint8_t)(end - begin - 1);
  out->atoms[begin] = list;
  for (int32_t i = begin + 1; i < end; ++i)
    out->atoms[i] = (ShardAxisList){.span = SHARD_SPAN_INSIDE};
  return true;
}

MlirType shardShardingLocalType(const ShardMesh *mesh, MlirType type, int32_t nAtoms,
                                const ShardAtom *atoms, const ShardSharding *sharding) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  ShardArena *arena = shardArenaCreate();
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank ? rank : 1);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  for (int32_t i = 0; i < nAtoms; ++i)
    shape[atoms[i].dim] = shape[atoms[i].dim] / atoms[i].size *
                          shardShardingLocalAtomSize(mesh, &atoms[i], sharding->atoms[i]);
  MlirType local = shardTensorWithShape(type, rank, shape);
  shardArenaDestroy(arena);
  return local;
}

//===----------------------------------------------------------------------===//
// Axis names. Sub-axes "tp.0", "tp.1" that stand together in order are "tp".
//===----------------------------------------------------------------------===//

static size_t baseLength(const char *name) {
  const char *dot = strchr(name, '.');
  return dot ? (size_t)(dot - name) : strlen(name);
}

// The sub-axes of the base name of `name`, in mesh order, starting at `first`; their count.
static int32_t subAxes(const ShardMesh *mesh, const char *name, size_t length, int32_t *first) {
  int32_t count = 0;
  for (int32_t i = 0; i < mesh->nAxes; ++i) {
    if (baseLength(mesh->names[i]) != length || strncmp(mesh->names[i], name, length) != 0)
      continue;
    if (count++ == 0)
      *first = i;
  }
  return count;
}

static MlirAttribute axisNames(const ShardMesh *mesh, MlirContext context, int n,
                               const uint8_t *axes) {
  MlirAttribute names[SHARD_MAX_AXES];
  int nNames = 0;
  for (int i = 0; i < n;) {
    const char *name = mesh->names[axes[i]];
    size_t length = baseLength(name);
    int32_t first = -1;
    int32_t parts = subAxes(mesh, name, length, &first);
    bool all = parts > 1 && i + parts <= n;
    for (int32_t k = 0; all && k < parts; ++k)
      all = axes[i + k] == first + k;
    names[nNames++] = mlirStringAttrGet(context, all ? mlirStringRefCreate(name, length)
                                                     : mlirStringRefCreateFromCString(name));
    i += all ? parts : 1;
  }
  return mlirArrayAttrGet(context, nNames, names);
}

//===----------------------------------------------------------------------===//
// To attributes
//===----------------------------------------------------------------------===//

/// An entry of `spmd.sharding`: a dimension, or one of the view.
typedef struct Entry {
  int64_t size;
  uint8_t nAxes;
  uint8_t axes[SHARD_MAX_AXES];
} Entry;

typedef struct EntryList {
  intptr_t n;
  Entry *entries;
  bool plain; // no view
} EntryList;

static void addAxes(Entry *entry, ShardAxisList list) {
  for (int k = 0; k < list.count && entry->nAxes < SHARD_MAX_AXES; ++k)
    entry->axes[entry->nAxes++] = list.axis[k];
}

/// Whether the atoms [begin, end) of a dimension are split as the dimension as a whole would be.
static bool isPlainDimension(const ShardMesh *mesh, int32_t nAtoms, const ShardAtom *atoms,
                             const ShardSharding *sharding, int32_t begin, int32_t end,
                             ShardArena *arena) {
  Entry all = {0};
  for (int32_t i = begin; i < end; ++i)
    addAxes(&all, sharding->atoms[i]);
  ShardSharding *again = shardShardingCreate(arena, nAtoms);
  if (!shardShardingSplitDimension(mesh, begin, end, atoms, all.nAxes, all.axes, again))
    return all.nAxes == 0;
  for (int32_t i = begin; i < end; ++i)
    if (!axisListEqual(again->atoms[i], sharding->atoms[i]))
      return false;
  return true;
}

static EntryList collectEntries(const ShardMesh *mesh, MlirType type, int32_t nAtoms,
                                const ShardAtom *atoms, const ShardSharding *sharding,
                                ShardArena *arena) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  EntryList list = {0, SHARD_ARENA_ARRAY(arena, Entry, (size_t)rank + (size_t)nAtoms + 1), true};
  int32_t begin = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    int32_t end = begin;
    while (end < nAtoms && atoms[end].dim == d)
      ++end;
    bool plain = isPlainDimension(mesh, nAtoms, atoms, sharding, begin, end, arena);
    list.plain &= plain;
    if (plain)
      list.entries[list.n++].size = mlirShapedTypeGetDimSize(type, d);
    for (int32_t i = begin; i < end; ++i) {
      if (!plain && sharding->atoms[i].span != SHARD_SPAN_INSIDE)
        list.entries[list.n++].size = splitSize(&atoms[i], sharding->atoms[i]);
      addAxes(&list.entries[list.n - 1], sharding->atoms[i]);
    }
    begin = end;
  }
  return list;
}

MlirAttribute shardShardingExtentAttribute(const ShardMesh *mesh, MlirContext context,
                                           MlirType type, int32_t nAtoms, const ShardAtom *atoms,
                                           const ShardSharding *sharding) {
  if (!shardShardingIsUneven(mesh, nAtoms, atoms, sharding))
    return mlirAttributeGetNull();
  ShardArena *arena = shardArenaCreate();
  EntryList list = collectEntries(mesh, type, nAtoms, atoms, sharding, arena);
  int64_t *extents = SHARD_ARENA_ARRAY(arena, int64_t, list.n + 1);
  for (intptr_t i = 0; i < list.n; ++i)
    extents[i] = list.entries[i].size;
  MlirAttribute attribute = shardAttrI64Array(context, list.n, extents);
  shardArenaDestroy(arena);
  return attribute;
}

void shardShardingToAttributes(const ShardMesh *mesh, MlirContext context, MlirType type,
                               int32_t nAtoms, const ShardAtom *atoms,
                               const ShardSharding *sharding, MlirAttribute *outSharding,
                               MlirAttribute *outView, MlirAttribute *outPartial) {
  ShardArena *arena = shardArenaCreate();
  EntryList list = collectEntries(mesh, type, nAtoms, atoms, sharding, arena);
  MlirAttribute *entries = SHARD_ARENA_ARRAY(arena, MlirAttribute, list.n + 1);
  int64_t *view = SHARD_ARENA_ARRAY(arena, int64_t, list.n + 1);
  for (intptr_t i = 0; i < list.n; ++i) {
    view[i] = list.entries[i].size;
    entries[i] = axisNames(mesh, context, list.entries[i].nAxes, list.entries[i].axes);
  }
  *outSharding = mlirArrayAttrGet(context, list.n, entries);
  *outView = list.plain ? mlirAttributeGetNull() : shardAttrI64Array(context, list.n, view);
  shardArenaDestroy(arena);

  MlirAttribute partials[8];
  intptr_t nPartials = 0;
  for (int kind = SHARD_COMBINER_SUM; kind <= SHARD_COMBINER_OR; ++kind) {
    uint8_t axes[SHARD_MAX_AXES];
    int nAxes = 0;
    for (int32_t a = 0; a < mesh->nAxes; ++a)
      if (sharding->partial[a] == kind)
        axes[nAxes++] = (uint8_t)a;
    if (!nAxes)
      continue;
    MlirNamedAttribute fields[] = {
        mlirNamedAttributeGet(mlirIdentifierGet(context, mlirStringRefCreateFromCString("axes")),
                              axisNames(mesh, context, nAxes, axes)),
        mlirNamedAttributeGet(mlirIdentifierGet(context, mlirStringRefCreateFromCString("kind")),
                              shardAttrString(context, combinerNames[kind])),
    };
    partials[nPartials++] = mlirDictionaryAttrGet(context, 2, fields);
  }
  *outPartial = nPartials ? mlirArrayAttrGet(context, nPartials, partials) : mlirAttributeGetNull();
}

//===----------------------------------------------------------------------===//
// Attributes written before
//===----------------------------------------------------------------------===//

typedef struct Known {
  MlirType type; // null: free
  int32_t nAtoms;
  const ShardAtom *atoms;
  const ShardSharding *sharding;
  MlirAttribute text, view, partial;
} Known;

struct ShardShardingCache {
  const ShardMesh *mesh;
  MlirContext context;
  ShardArena *arena;
  Known known[16]; // by type: neighbours are mostly of few types, and split alike
};

ShardShardingCache *shardShardingCacheCreate(const ShardMesh *mesh, MlirContext context,
                                             ShardArena *arena) {
  ShardShardingCache *cache = SHARD_ARENA_NEW(arena, ShardShardingCache);
  cache->mesh = mesh, cache->context = context, cache->arena = arena;
  return cache;
}

static bool isKnown(const Known *known, MlirType type, int32_t nAtoms, const ShardAtom *atoms,
                    const ShardSharding *sharding) {
  bool same = known->type.ptr && mlirTypeEqual(known->type, type) && known->nAtoms == nAtoms &&
              shardShardingEqual(known->sharding, sharding);
  for (int32_t a = 0; same && a < nAtoms; ++a)
    same = known->atoms[a].dim == atoms[a].dim && known->atoms[a].size == atoms[a].size;
  return same;
}

void shardShardingCacheGet(ShardShardingCache *cache, MlirType type, int32_t nAtoms,
                           const ShardAtom *atoms, const ShardSharding *sharding,
                           MlirAttribute *outSharding, MlirAttribute *outView,
                           MlirAttribute *outPartial) {
  Known *known = &cache->known[((uintptr_t)type.ptr >> 4) % 16];
  if (!isKnown(known, type, nAtoms, atoms, sharding)) {
    *known = (Known){.type = type, .nAtoms = nAtoms, .atoms = atoms};
    known->sharding = shardShardingCopy(cache->arena, sharding);
    shardShardingToAttributes(cache->mesh, cache->context, type, nAtoms, atoms, sharding,
                              &known->text, &known->view, &known->partial);
  }
  *outSharding = known->text, *outView = known->view, *outPartial = known->partial;
}

//===----------------------------------------------------------------------===//
// From attributes
//===----------------------------------------------------------------------===//

static const char *axisListText(const ShardMesh *mesh, ShardArena *arena) {
  const char *text = "";
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    text = shardArenaFormat(arena, "%s%s'%s'", text, i ? ", " : "", mesh->names[i]);
  return text;
}

// Appends the mesh axes that `attribute` names. An axis of degree 1 is not in the mesh and adds
// none.
static bool appendAxes(const ShardMesh *mesh, MlirLocation location, MlirAttribute attribute,
                       ShardArena *arena, uint8_t *axes, int *nAxes) {
  if (!mlirAttributeIsAString(attribute)) {
    shardEmitErrorAt(location, "an axis of a sharding is not a string");
    return false;
  }
  MlirStringRef name = mlirStringAttrGetValue(attribute);
  const char *text = shardArenaCopyString(arena, name.data, name.length);
  int32_t first = shardMeshFindAxis(mesh, text);
  int32_t count = first >= 0 ? 1 : 0;
  if (!count && !strchr(text, '.'))
    count = subAxes(mesh, text, strlen(text), &first);
  static const char *const known[] = {"pp", "dp", "ep", "sp", "tp"};
  bool isKnown = count > 0;
  for (int i = 0; i < 5; ++i)
    isKnown |= strcmp(known[i], text) == 0;
  if (!isKnown) {
    shardEmitErrorAt(location, "mesh '@mesh' has no axis '%s'; its axes are %s", text,
                     axisListText(mesh, arena));
    return false;
  }
  for (int32_t i = 0; i < count; ++i) {
    if (*nAxes == SHARD_MAX_AXES) {
      shardEmitErrorAt(location, "a sharding names more axes than the mesh has");
      return false;
    }
    axes[(*nAxes)++] = (uint8_t)(first + i);
  }
  return true;
}

static bool readPartial(const ShardMesh *mesh, MlirLocation location, MlirAttribute partial,
                        ShardArena *arena, ShardSharding *out) {
  if (!mlirAttributeIsAArray(partial)) {
    shardEmitErrorAt(location, "'spmd.partial' is not a list of {axes, kind}");
    return false;
  }
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(partial); ++i) {
    MlirAttribute item = mlirArrayAttrGetElement(partial, i);
    MlirAttribute axes = mlirAttributeGetNull(), kind = mlirAttributeGetNull();
    if (mlirAttributeIsADictionary(item)) {
      axes = mlirDictionaryAttrGetElementByName(item, mlirStringRefCreateFromCString("axes"));
      kind = mlirDictionaryAttrGetElementByName(item, mlirStringRefCreateFromCString("kind"));
    }
    if (mlirAttributeIsNull(axes) || !mlirAttributeIsAArray(axes) || mlirAttributeIsNull(kind) ||
        !mlirAttributeIsAString(kind)) {
      shardEmitErrorAt(location, "'spmd.partial' is not a list of {axes, kind}");
      return false;
    }
    MlirStringRef name = mlirStringAttrGetValue(kind);
    int combiner = SHARD_COMBINER_NONE;
    for (int k = SHARD_COMBINER_SUM; k <= SHARD_COMBINER_OR; ++k)
      if (shardStringIs(name, combinerNames[k]))
        combiner = k;
    if (combiner == SHARD_COMBINER_NONE) {
      shardEmitErrorAt(location,
                       "'spmd.partial' has the unknown kind '%.*s'; the kinds are sum, max, min, "
                       "product, and, or",
                       (int)name.length, name.data);
      return false;
    }
    uint8_t list[SHARD_MAX_AXES];
    int n = 0;
    for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(axes); ++k)
      if (!appendAxes(mesh, location, mlirArrayAttrGetElement(axes, k), arena, list, &n))
        return false;
    for (int k = 0; k < n; ++k) {
      if (out->partial[list[k]]) {
        shardEmitErrorAt(location, "a sharding names axis '%s' twice", mesh->names[list[k]]);
        return false;
      }
      if (mesh->sizes[list[k]] > 1)
        out->partial[list[k]] = (uint8_t)combiner;
    }
  }
  return true;
}

ShardSharding *shardShardingFromAttributes(const ShardMesh *mesh, MlirLocation location,
                                           MlirType type, int32_t nAtoms, const ShardAtom *atoms,
                                           MlirAttribute sharding, MlirAttribute view,
                                           MlirAttribute partial, ShardArena *arena) {
  ShardSharding *out = shardShardingCreate(arena, nAtoms);
  if (!mlirAttributeIsNull(partial) && !mlirAttributeIsAUnit(partial) &&
      !readPartial(mesh, location, partial, arena, out))
    return NULL;
  if (mlirAttributeIsNull(sharding) || mlirAttributeIsAUnit(sharding))
    return out;
  if (!mlirAttributeIsAArray(sharding)) {
    shardEmitErrorAt(location, "'spmd.sharding' is not a list of axis lists");
    return NULL;
  }
  bool hasView = !mlirAttributeIsNull(view) && !mlirAttributeIsAUnit(view);
  if (hasView && !mlirAttributeIsADenseI64Array(view)) {
    shardEmitErrorAt(location, "'spmd.view' is not an array<i64>");
    return NULL;
  }
  intptr_t rank = mlirShapedTypeGetRank(type);
  intptr_t nView = hasView ? mlirDenseArrayGetNumElements(view) : rank;
  if (mlirArrayAttrGetNumElements(sharding) != nView) {
    shardEmitErrorAt(location, "'spmd.sharding' has %" PRIdPTR " entries for %" PRIdPTR " %s",
                     mlirArrayAttrGetNumElements(sharding), nView,
                     hasView ? "dimensions of the view" : "dimensions");
    return NULL;
  }
  intptr_t v = 0; // next view dimension
  int32_t atom = 0;
  bool used[SHARD_MAX_AXES] = {false};
  for (intptr_t d = 0; d < rank; ++d) {
    int64_t size = mlirShapedTypeGetDimSize(type, d);
    int64_t covered = 1;
    // A dimension takes view dimensions until they cover it; units after it are the next one's, or
    // the last one's.
    bool first = true;
    while (first || covered < size || (d + 1 == rank && v < nView)) {
      first = false;
      int64_t viewSize = v >= nView ? -1 : hasView ? mlirDenseI64ArrayGetElement(view, v) : size;
      int32_t begin = atom;
      int64_t product = 1;
      while (atom < nAtoms && atoms[atom].dim == d && product < viewSize)
        product *= atoms[atom++].size;
      if (viewSize < 1 || product != viewSize) {
        if (viewSize >= 1 && viewSize <= size && size % (covered * viewSize) == 0)
          shardEmitErrorAt(location,
                           "the view cuts dimension %" PRIdPTR " of %" PRId64 " at %" PRId64
                           ", where no operation does",
                           d, size, viewSize);
        else
          shardEmitErrorAt(location, "the view does not fit dimension %" PRIdPTR " of %" PRId64, d,
                           size);
        return NULL;
      }
      covered *= viewSize;
      MlirAttribute entry = mlirArrayAttrGetElement(sharding, v);
      if (!mlirAttributeIsAArray(entry)) {
        shardEmitErrorAt(location, "entry %" PRIdPTR " of 'spmd.sharding' is not a list of axes",
                         v);
        return NULL;
      }
      uint8_t axes[SHARD_MAX_AXES];
      int nAxes = 0;
      for (intptr_t k = 0; k < mlirArrayAttrGetNumElements(entry); ++k)
        if (!appendAxes(mesh, location, mlirArrayAttrGetElement(entry, k), arena, axes, &nAxes))
          return NULL;
      for (int k = 0; k < nAxes; ++k) {
        if (used[axes[k]] || out->partial[axes[k]]) {
          shardEmitErrorAt(location, "a sharding names axis '%s' twice", mesh->names[axes[k]]);
          return NULL;
        }
        used[axes[k]] = true;
      }
      if (!shardShardingSplitDimension(mesh, begin, atom, atoms, nAxes, axes, out)) {
        if (begin == atom)
          shardEmitErrorAt(location, "dimension %" PRIdPTR " of 1 cannot be split", d);
        else
          shardEmitErrorAt(location, "dimension %" PRIdPTR " is split over more than 7 axes", d);
        return NULL;
      }
      ++v;
    }
  }
  if (rank == 0 && nView != 0) {
    shardEmitErrorAt(location, "the view does not fit a scalar");
    return NULL;
  }
  return out;
}
