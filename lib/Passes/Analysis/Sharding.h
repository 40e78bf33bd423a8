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

/// An ordered list of mesh axes, major first.
typedef struct ShardAxisList {
  uint8_t count;
  uint8_t axis[7];
} ShardAxisList;

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

/// Local extent of an atom: size / product of its axes' sizes (divides by construction here).
int64_t shardShardingLocalAtomSize(const ShardMesh *mesh, const ShardAtom *atom,
                                   ShardAxisList axes);
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
/// The reverse. Null attributes mean replicated / no view / not partial. On a sharding that does
/// not fit (unknown axis, too many dimensions, an axis twice, a split that is not on atoms or does
/// not divide) emits one error at `location` and returns null.
ShardSharding *shardShardingFromAttributes(const ShardMesh *mesh, MlirLocation location,
                                           MlirType type, int32_t nAtoms, const ShardAtom *atoms,
                                           MlirAttribute sharding, MlirAttribute view,
                                           MlirAttribute partial, ShardArena *arena);

#endif // SHARD_ANALYSIS_SHARDING_H
