//===- Sharding.h - Where a value lies ----------------------------*- C -*-===//
// A value's dimensions are ordered products of atoms (Rules.h). A sharding gives each atom an
// ordered list of mesh axes, and a set of axes on which the value is still to be reduced.
//===----------------------------------------------------------------------===//
#ifndef SHARD_ANALYSIS_SHARDING_H
#define SHARD_ANALYSIS_SHARDING_H

#include "Mesh.h"

#include "mlir-c/IR.h"

typedef enum ShardCombiner {
  SHARD_COMBINER_NONE,
  SHARD_COMBINER_SUM,
  SHARD_COMBINER_MAX,
  SHARD_COMBINER_MIN,
  SHARD_COMBINER_PRODUCT,
  SHARD_COMBINER_AND,
  SHARD_COMBINER_OR
} ShardCombiner;
const char *shardCombinerName(ShardCombiner combiner); // "sum", "max", ...

/// An ordered list of mesh axes, major first. In a sharding, a list may split a *block*: a run of
/// adjacent atoms of one dimension taken as one. Then `span` counts the atoms of the run after its
/// head, which has the list; the others are empty and have the span SHARD_SPAN_INSIDE. A run stands
/// only where no lists on its atoms say the same (384 = 6 x 64 in four blocks of 96).
typedef struct ShardAxisList {
  uint8_t count;
  uint8_t axis[7];
  uint8_t span;
} ShardAxisList;
enum { SHARD_SPAN_INSIDE = 255 };

/// One atom of a value: `size` consecutive steps of dimension `dim`. Atoms of a dimension stand
/// major first; their sizes multiply to the dimension. Unit dimensions have no atom.
typedef struct ShardAtom {
  int32_t dim;
  int32_t klass; // equal for atoms that rules tie together anywhere in the module
  int64_t size;
} ShardAtom;

typedef struct ShardSharding {
  int32_t nAtoms;
  ShardAxisList *atoms;            // [nAtoms]
  uint8_t partial[SHARD_MAX_AXES]; // ShardCombiner on each mesh axis; NONE: not partial
} ShardSharding;

ShardSharding *shardShardingCreate(ShardArena *arena, int32_t nAtoms); // replicated
ShardSharding *shardShardingCopy(ShardArena *arena, const ShardSharding *sharding);
bool shardShardingEqual(const ShardSharding *a, const ShardSharding *b);
bool shardShardingIsReplicated(const ShardSharding *sharding);

/// Product of the sizes of the axes of a list.
int64_t shardAxisListSize(const ShardMesh *mesh, ShardAxisList axes);
/// Local storage of an atom of size s over axes with product n: c = ceil(s / n). The rank with
/// linear coordinate i (major axis first) holds steps [i c, min((i + 1) c, s)), maybe none; the
/// rest of the storage is padding. For the head of a block `atom` is in its value's array, and s is
/// the size of the block; of the others in the block the storage is 1.
int64_t shardShardingLocalAtomSize(const ShardMesh *mesh, const ShardAtom *atom,
                                   ShardAxisList axes);
/// Whether some rank's storage of the value is not filled.
bool shardShardingIsUneven(const ShardMesh *mesh, int32_t nAtoms, const ShardAtom *atoms,
                           const ShardSharding *sharding);
/// Gives the dimension of the atoms [begin, end) to `axes` in blocks of ceil(size / devices), in
/// the one normal form: on as few atoms as say it, as a block where no atoms do. False when an atom
/// would get more axes than a list holds.
bool shardShardingSplitDimension(const ShardMesh *mesh, int32_t begin, int32_t end,
                                 const ShardAtom *atoms, int nAxes, const uint8_t *axes,
                                 ShardSharding *out);
/// Local tensor type of a value of `type` with these atoms.
MlirType shardShardingLocalType(const ShardMesh *mesh, MlirType type, int32_t nAtoms,
                                const ShardAtom *atoms, const ShardSharding *sharding);

/// The attributes of FORMATS for one value. `outView` is null when each split dimension is split on
/// its major atom only (the plain case); else array<i64> of the view's shape and `outSharding` has
/// an entry per view dimension. `outPartial` is null when not partial. Sub-axes that together make
/// "tp" in order are written "tp".
void shardShardingToAttributes(const ShardMesh *mesh, MlirContext context, MlirType type,
                               int32_t nAtoms, const ShardAtom *atoms,
                               const ShardSharding *sharding, MlirAttribute *outSharding,
                               MlirAttribute *outView, MlirAttribute *outPartial);
/// The same for many values: what was written for one is there for the next of its type that is
/// split alike. `atoms` live as long as the cache.
typedef struct ShardShardingCache ShardShardingCache;
ShardShardingCache *shardShardingCacheCreate(const ShardMesh *mesh, MlirContext context,
                                             ShardArena *arena);
void shardShardingCacheGet(ShardShardingCache *cache, MlirType type, int32_t nAtoms,
                           const ShardAtom *atoms, const ShardSharding *sharding,
                           MlirAttribute *outSharding, MlirAttribute *outView,
                           MlirAttribute *outPartial);
/// `spmd.extent` beside them: the true size of each entry of `spmd.sharding`, where the storage of
/// some entry times its devices is more; null where all are filled.
MlirAttribute shardShardingExtentAttribute(const ShardMesh *mesh, MlirContext context,
                                           MlirType type, int32_t nAtoms, const ShardAtom *atoms,
                                           const ShardSharding *sharding);
/// The reverse. Null attributes mean replicated / no view / not partial. On a sharding that does
/// not fit (unknown axis, too many dimensions, an axis twice, a view that cuts where no operation
/// does) emits one error at `location` and returns null.
ShardSharding *shardShardingFromAttributes(const ShardMesh *mesh, MlirLocation location,
                                           MlirType type, int32_t nAtoms, const ShardAtom *atoms,
                                           MlirAttribute sharding, MlirAttribute view,
                                           MlirAttribute partial, ShardArena *arena);

#endif // SHARD_ANALYSIS_SHARDING_H
