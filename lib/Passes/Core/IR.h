//===- IR.h - Small helpers over the MLIR C API -------------------*- C -*-===//
// Everything that the C API lacks and several passes need. Add here rather than write it again.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CORE_IR_H
#define SHARD_CORE_IR_H

#include "Arena.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A named attribute for shardOpCreate.
typedef struct ShardNamedAttribute {
  const char *name;
  MlirAttribute attribute;
} ShardNamedAttribute;
/// Whether the name of an op or attribute is "DIALECT.something".
bool shardNameHasDialect(MlirStringRef name, const char *dialect);

/// Creates an op and inserts it before `before` (or at the end of `block` when `before` is null).
/// Types of results, operands, attributes and owned regions. Asserts that each attribute reads back
/// equal (facts: a wrong-kind inherent attribute is dropped silently).
MlirOperation shardOpCreate(MlirBlock block, MlirOperation before, MlirLocation location,
                            const char *name, intptr_t nResults, const MlirType *results,
                            intptr_t nOperands, const MlirValue *operands, intptr_t nAttributes,
                            const ShardNamedAttribute *attributes, intptr_t nRegions,
                            MlirRegion *ownedRegions);

bool shardOpIs(MlirOperation op, const char *name); // by full name, "linalg.generic"
MlirStringRef shardOpGetName(MlirOperation op);
static inline bool shardStringIs(MlirStringRef text, const char *other) {
  return mlirStringRefEqual(text, mlirStringRefCreateFromCString(other));
}

MlirAttribute shardOpGetAttribute(MlirOperation op, const char *name); // null if absent
void shardOpSetAttribute(MlirOperation op, const char *name, MlirAttribute attribute);
void shardOpRemoveAttribute(MlirOperation op, const char *name);

/// Whether `op` is a version of a program for smaller extents (Buckets.h).
#define SHARD_BUCKET_ATTRIBUTE "spmd.bucket"
bool shardOpIsBucket(MlirOperation op);

/// Attributes of function arguments and results (arg_attrs, res_attrs). Get: null if absent.
MlirAttribute shardFuncGetArgumentAttribute(MlirOperation func, intptr_t index, const char *name);
void shardFuncSetArgumentAttribute(MlirOperation func, intptr_t index, const char *name,
                                   MlirAttribute attribute); // null attribute removes
MlirAttribute shardFuncGetResultAttribute(MlirOperation func, intptr_t index, const char *name);
void shardFuncSetResultAttribute(MlirOperation func, intptr_t index, const char *name,
                                 MlirAttribute attribute);
/// The same for many arguments or results at once: read, set any, write back. Lives in `arena`.
typedef struct ShardFuncAttributes ShardFuncAttributes;
ShardFuncAttributes *shardFuncAttributesRead(MlirOperation func, bool results, ShardArena *arena);
void shardFuncAttributesSet(ShardFuncAttributes *list, intptr_t index, const char *name,
                            MlirAttribute attribute); // null attribute removes
void shardFuncAttributesWrite(const ShardFuncAttributes *list);
/// The first block of the op's first region.
static inline MlirBlock shardOpBody(MlirOperation op) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
}
/// The op that defines the value; null for a block argument.
static inline MlirOperation shardValueDefiningOp(MlirValue value) {
  return mlirValueIsAOpResult(value) ? mlirOpResultGetOwner(value) : (MlirOperation){NULL};
}
static inline bool shardValueIsUnused(MlirValue value) {
  return mlirOpOperandIsNull(mlirValueGetFirstUse(value));
}
/// Whether `spmd.role` of an argument is `role`.
bool shardFuncArgumentIs(MlirOperation func, intptr_t index, const char *role);
MlirBlock shardFuncGetBody(MlirOperation func); // null for a declaration
MlirOperation shardModuleLookup(MlirOperation module, MlirStringRef symbol); // linear; null if none
/// The function that a func.call names; null: `op` is none, or there is no such function.
MlirOperation shardModuleCallee(MlirOperation module, MlirOperation op);
bool shardFuncIsPublic(MlirOperation func);
/// Sets function_type from the entry block's argument types and the return's operand types.
void shardFuncUpdateType(MlirOperation func);

/// Attribute constructors and readers.
MlirAttribute shardAttrI64(MlirContext context, int64_t value); // "4 : i64"
MlirAttribute shardAttrString(MlirContext context, const char *text);
MlirAttribute shardAttrUnit(MlirContext context);
MlirAttribute shardAttrI64Array(MlirContext context, intptr_t n,
                                const int64_t *values);           // array<i64: ..>
bool shardAttrGetI64(MlirAttribute attribute, int64_t *outValue); // integer attribute of any width

/// Static shape of a ranked tensor: element count; -1 when not a static ranked tensor.
int64_t shardTypeElementCount(MlirType type);
int64_t shardTypeElementBytes(MlirType elementType); // f32 4, bf16 2, i1 1, index 8; 0 unknown
MlirType shardTensorWithShape(MlirType tensorType, intptr_t rank, const int64_t *shape);

/// A location in the form FILE:LINE:COL (or a name), for reports. Allocated in `arena`.
const char *shardLocationText(MlirLocation location, ShardArena *arena);

/// Pointer map from any MLIR pointer (value.ptr, operation.ptr) to an int64. Insertion overwrites.
typedef struct ShardPointerMap ShardPointerMap;
ShardPointerMap *shardPointerMapCreate(ShardArena *arena, size_t expectedCount);
void shardPointerMapSet(ShardPointerMap *map, const void *key, int64_t value);
bool shardPointerMapGet(const ShardPointerMap *map, const void *key, int64_t *outValue);
static inline int64_t shardPointerMapGetOr(const ShardPointerMap *map, const void *key,
                                           int64_t other) {
  int64_t value;
  return shardPointerMapGet(map, key, &value) ? value : other;
}

/// What stands for a value in a clone: the map's entry of the value; itself where there is none.
void shardValueMapSet(ShardPointerMap *map, MlirValue value, MlirValue other);
MlirValue shardValueMapGet(const ShardPointerMap *map, MlirValue value);

/// Clones `op` (regions included) before `before`, or at the end of `block` if that is null. Every
/// operand in it, nested ones too, becomes what stands for it in `map`; from now on the results of
/// the clone stand for those of `op`.
MlirOperation shardOpCloneMapped(MlirOperation op, MlirBlock block, MlirOperation before,
                                 ShardPointerMap *map);

/// Ops in the order in which they were appended; lives in `arena`. Start it with the arena alone.
typedef struct ShardOpList {
  ShardArena *arena;
  MlirOperation *ops;
  size_t nOps, capacity;
} ShardOpList;
void shardOpListAppend(ShardOpList *list, MlirOperation op);
/// Appends the ops under `root`, itself included, in pre-order: those named `name` (null: all) of
/// which `wanted` (null: always) is true. The list may then be worked off while the IR changes.
void shardOpListCollect(ShardOpList *list, MlirOperation root, const char *name,
                        bool (*wanted)(MlirOperation op));

/// Visits every op named `name` (or every op when null) under `root` in pre-order; versions for
/// smaller extents inside of it are left out.
typedef MlirLogicalResult (*ShardOpVisitor)(void *user, MlirOperation op);
MlirLogicalResult shardWalk(MlirOperation root, const char *name, ShardOpVisitor visit, void *user);

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_IR_H
