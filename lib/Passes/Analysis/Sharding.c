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
  return a.count == b.count && memcmp(a.axis, b.axis, a.count) == 0;
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

int64_t shardShardingLocalAtomSize(const ShardMesh *mesh, const ShardAtom *atom,
                                   ShardAxisList axes) {
  int64_t size = atom->size;
  for (int i = 0; i < axes.count; ++i)
    size /= mesh->sizes[axes.axis[i]];
  return size;
}

MlirType shardShardingLocalType(const ShardMesh *mesh, MlirType type, int32_t nAtoms,
                                const ShardAtom *atoms, const ShardSharding *sharding) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  ShardArena *arena = shardArenaCreate();
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rank ? rank : 1);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  for (int32_t i = 0; i < nAtoms; ++i)
    for (int k = 0; k < sharding->atoms[i].count; ++k)
      shape[atoms[i].dim] /= mesh->sizes[sharding->atoms[i].axis[k]];
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

// Whether the split atoms of the dimension whose atoms are [begin, end) make contiguous blocks: an
// atom is split only if every more major one is split down to one step.
static bool isPlainDimension(const ShardMesh *mesh, const ShardAtom *atoms,
                             const ShardSharding *sharding, int32_t begin, int32_t end) {
  int64_t major = 1;
  for (int32_t i = begin; i < end; ++i) {
    if (sharding->atoms[i].count && major != 1)
      return false;
    major *= shardShardingLocalAtomSize(mesh, &atoms[i], sharding->atoms[i]);
  }
  return true;
}

void shardShardingToAttributes(const ShardMesh *mesh, MlirContext context, MlirType type,
                               int32_t nAtoms, const ShardAtom *atoms,
                               const ShardSharding *sharding, MlirAttribute *outSharding,
                               MlirAttribute *outView, MlirAttribute *outPartial) {
  intptr_t rank = mlirShapedTypeGetRank(type);
  size_t bound = (size_t)rank + (size_t)nAtoms;
  ShardArena *arena = shardArenaCreate();
  MlirAttribute *entries = SHARD_ARENA_ARRAY(arena, MlirAttribute, bound + 1);
  int64_t *view = SHARD_ARENA_ARRAY(arena, int64_t, bound + 1);
  intptr_t n = 0;
  bool plain = true;
  int32_t begin = 0;
  for (intptr_t d = 0; d < rank; ++d) {
    int32_t end = begin;
    while (end < nAtoms && atoms[end].dim == d)
      ++end;
    if (isPlainDimension(mesh, atoms, sharding, begin, end)) {
      uint8_t axes[SHARD_MAX_AXES];
      int nAxes = 0;
      for (int32_t i = begin; i < end; ++i)
        for (int k = 0; k < sharding->atoms[i].count; ++k)
          axes[nAxes++] = sharding->atoms[i].axis[k];
      view[n] = mlirShapedTypeGetDimSize(type, d);
      entries[n++] = axisNames(mesh, context, nAxes, axes);
    } else {
      plain = false;
      for (int32_t i = begin; i < end; ++i) {
        view[n] = atoms[i].size;
        entries[n++] = axisNames(mesh, context, sharding->atoms[i].count, sharding->atoms[i].axis);
      }
    }
    begin = end;
  }
  *outSharding = mlirArrayAttrGet(context, n, entries);
  *outView = plain ? mlirAttributeGetNull() : shardAttrI64Array(context, n, view);
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

// Gives `axes`, major first, to the atoms [begin, end) of one view dimension.
static bool distributeAxes(const ShardMesh *mesh, MlirLocation location, int32_t begin, int32_t end,
                           const ShardAtom *atoms, int nAxes, const uint8_t *axes, int64_t size,
                           ShardSharding *out) {
  int32_t at = begin;
  int64_t left = at < end ? atoms[at].size : 1;
  for (int i = 0; i < nAxes; ++i) {
    int64_t degree = mesh->sizes[axes[i]];
    while (left == 1 && at + 1 < end)
      left = atoms[++at].size;
    if (degree == 1)
      continue;
    if (at >= end || left % degree != 0 || out->atoms[at].count == 7) {
      int64_t total = 1;
      for (int k = 0; k < nAxes; ++k)
        total *= mesh->sizes[axes[k]];
      if (size % total != 0)
        shardEmitErrorAt(location,
                         "a dimension of %" PRId64 " does not divide by the %" PRId64
                         " devices of its axes",
                         size, total);
      else
        shardEmitErrorAt(location,
                         "a dimension of %" PRId64 " cannot be split over %" PRId64
                         " devices of axis '%s': the operations on it need pieces of %" PRId64,
                         size, degree, mesh->names[axes[i]], left);
      return false;
    }
    left /= degree;
    ShardAxisList *list = &out->atoms[at];
    list->axis[list->count++] = axes[i];
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
      if (!distributeAxes(mesh, location, begin, atom, atoms, nAxes, axes, viewSize, out))
        return NULL;
      ++v;
    }
  }
  if (rank == 0 && nView != 0) {
    shardEmitErrorAt(location, "the view does not fit a scalar");
    return NULL;
  }
  return out;
}
