//===- IR.c - Small helpers over the MLIR C API -------------------*- C -*-===//
#include "IR.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <string.h>

static MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }

MlirOperation shardOpCreate(MlirBlock block, MlirOperation before, MlirLocation location,
                            const char *name, intptr_t nResults, const MlirType *results,
                            intptr_t nOperands, const MlirValue *operands, intptr_t nAttributes,
                            const ShardNamedAttribute *attributes, intptr_t nRegions,
                            MlirRegion *ownedRegions) {
  MlirContext context = mlirLocationGetContext(location);
  MlirOperationState state = mlirOperationStateGet(ref(name), location);
  mlirOperationStateAddResults(&state, nResults, results);
  mlirOperationStateAddOperands(&state, nOperands, operands);
  for (intptr_t i = 0; i < nAttributes; ++i) {
    MlirNamedAttribute named = mlirNamedAttributeGet(
        mlirIdentifierGet(context, ref(attributes[i].name)), attributes[i].attribute);
    mlirOperationStateAddAttributes(&state, 1, &named);
  }
  mlirOperationStateAddOwnedRegions(&state, nRegions, ownedRegions);
  MlirOperation op = mlirOperationCreate(&state);
  assert(!mlirOperationIsNull(op));
#ifndef NDEBUG
  for (intptr_t i = 0; i < nAttributes; ++i)
    assert(mlirAttributeEqual(mlirOperationGetAttributeByName(op, ref(attributes[i].name)),
                              attributes[i].attribute) &&
           "an attribute was dropped: its kind is wrong for this op");
#endif
  if (!mlirOperationIsNull(before))
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(before), before, op);
  else if (!mlirBlockIsNull(block))
    mlirBlockAppendOwnedOperation(block, op);
  return op;
}

MlirStringRef shardOpGetName(MlirOperation op) {
  return mlirIdentifierStr(mlirOperationGetName(op));
}

bool shardNameHasDialect(MlirStringRef name, const char *dialect) {
  size_t n = strlen(dialect);
  return name.length > n + 1 && name.data[n] == '.' && memcmp(name.data, dialect, n) == 0;
}

bool shardOpIs(MlirOperation op, const char *name) {
  if (mlirOperationIsNull(op))
    return false;
  MlirStringRef text = shardOpGetName(op);
  size_t length = strlen(name);
  return text.length == length && memcmp(text.data, name, length) == 0;
}

MlirAttribute shardOpGetAttribute(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, ref(name));
}

bool shardOpIsBucket(MlirOperation op) {
  return mlirOperationGetNumRegions(op) == 1 && !mlirOperationGetNumResults(op) &&
         shardOpIs(op, "builtin.module") &&
         !mlirAttributeIsNull(shardOpGetAttribute(op, SHARD_BUCKET_ATTRIBUTE));
}

void shardOpSetAttribute(MlirOperation op, const char *name, MlirAttribute attribute) {
  mlirOperationSetAttributeByName(op, ref(name), attribute);
}

void shardOpRemoveAttribute(MlirOperation op, const char *name) {
  mlirOperationRemoveAttributeByName(op, ref(name));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static MlirAttribute getListAttribute(MlirOperation func, const char *list, intptr_t index,
                                      const char *name) {
  MlirAttribute none = {NULL};
  MlirAttribute all = shardOpGetAttribute(func, list);
  if (mlirAttributeIsNull(all) || !mlirAttributeIsAArray(all) || index < 0 ||
      index >= mlirArrayAttrGetNumElements(all))
    return none;
  MlirAttribute entry = mlirArrayAttrGetElement(all, index);
  return mlirAttributeIsADictionary(entry) ? mlirDictionaryAttrGetElementByName(entry, ref(name))
                                           : none;
}

// A copy of dictionary `entry` (may be null) in which `name` is `attribute`, or absent if null.
static MlirAttribute replaceInDictionary(MlirContext context, ShardArena *arena,
                                         MlirAttribute entry, const char *name,
                                         MlirAttribute attribute) {
  intptr_t n = mlirAttributeIsNull(entry) ? 0 : mlirDictionaryAttrGetNumElements(entry), kept = 0;
  MlirNamedAttribute *elements = SHARD_ARENA_ARRAY(arena, MlirNamedAttribute, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirNamedAttribute element = mlirDictionaryAttrGetElement(entry, i);
    if (!shardStringIs(mlirIdentifierStr(element.name), name))
      elements[kept++] = element;
  }
  if (!mlirAttributeIsNull(attribute))
    elements[kept++] = mlirNamedAttributeGet(mlirIdentifierGet(context, ref(name)), attribute);
  return mlirDictionaryAttrGet(context, kept, elements);
}

static MlirType functionType(MlirOperation func) {
  return mlirTypeAttrGetValue(shardOpGetAttribute(func, "function_type"));
}

static intptr_t countOf(MlirOperation func, bool results) {
  if (results)
    return mlirFunctionTypeGetNumResults(functionType(func));
  MlirBlock body = shardFuncGetBody(func);
  return mlirBlockIsNull(body) ? mlirFunctionTypeGetNumInputs(functionType(func))
                               : mlirBlockGetNumArguments(body);
}

struct ShardFuncAttributes {
  MlirOperation func;
  const char *name; // of the list
  ShardArena *arena;
  intptr_t n;
  MlirAttribute *entries; // dictionaries
};

ShardFuncAttributes *shardFuncAttributesRead(MlirOperation func, bool results, ShardArena *arena) {
  ShardFuncAttributes *list = SHARD_ARENA_NEW(arena, ShardFuncAttributes);
  *list = (ShardFuncAttributes){func, results ? "res_attrs" : "arg_attrs", arena,
                                countOf(func, results), NULL};
  list->entries = SHARD_ARENA_ARRAY(arena, MlirAttribute, list->n ? list->n : 1);
  MlirAttribute all = shardOpGetAttribute(func, list->name);
  bool fits = !mlirAttributeIsNull(all) && mlirAttributeIsAArray(all) &&
              mlirArrayAttrGetNumElements(all) == list->n;
  for (intptr_t i = 0; i < list->n; ++i)
    list->entries[i] = fits ? mlirArrayAttrGetElement(all, i)
                            : mlirDictionaryAttrGet(mlirOperationGetContext(func), 0, NULL);
  return list;
}

void shardFuncAttributesSet(ShardFuncAttributes *list, intptr_t index, const char *name,
                            MlirAttribute attribute) {
  assert(index >= 0 && index < list->n);
  list->entries[index] = replaceInDictionary(mlirOperationGetContext(list->func), list->arena,
                                             list->entries[index], name, attribute);
}

void shardFuncAttributesWrite(const ShardFuncAttributes *list) {
  bool any = false;
  for (intptr_t i = 0; i < list->n; ++i)
    any |= mlirDictionaryAttrGetNumElements(list->entries[i]) != 0;
  if (any)
    shardOpSetAttribute(
        list->func, list->name,
        mlirArrayAttrGet(mlirOperationGetContext(list->func), list->n, list->entries));
  else
    shardOpRemoveAttribute(list->func, list->name);
}

static void setListAttribute(MlirOperation func, bool results, intptr_t index, const char *name,
                             MlirAttribute attribute) {
  ShardArena *arena = shardArenaCreate();
  ShardFuncAttributes *list = shardFuncAttributesRead(func, results, arena);
  shardFuncAttributesSet(list, index, name, attribute);
  shardFuncAttributesWrite(list);
  shardArenaDestroy(arena);
}

MlirAttribute shardFuncGetArgumentAttribute(MlirOperation func, intptr_t index, const char *name) {
  return getListAttribute(func, "arg_attrs", index, name);
}

void shardFuncSetArgumentAttribute(MlirOperation func, intptr_t index, const char *name,
                                   MlirAttribute attribute) {
  setListAttribute(func, false, index, name, attribute);
}

MlirAttribute shardFuncGetResultAttribute(MlirOperation func, intptr_t index, const char *name) {
  return getListAttribute(func, "res_attrs", index, name);
}

void shardFuncSetResultAttribute(MlirOperation func, intptr_t index, const char *name,
                                 MlirAttribute attribute) {
  setListAttribute(func, true, index, name, attribute);
}

bool shardFuncArgumentIs(MlirOperation func, intptr_t index, const char *role) {
  MlirAttribute attribute = shardFuncGetArgumentAttribute(func, index, "spmd.role");
  return !mlirAttributeIsNull(attribute) && mlirAttributeIsAString(attribute) &&
         shardStringIs(mlirStringAttrGetValue(attribute), role);
}

MlirBlock shardFuncGetBody(MlirOperation func) {
  MlirBlock none = {NULL};
  if (mlirOperationGetNumRegions(func) < 1)
    return none;
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(func, 0));
}

MlirOperation shardModuleLookup(MlirOperation module, MlirStringRef symbol) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  MlirOperation op = mlirBlockGetFirstOperation(body);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute name = shardOpGetAttribute(op, "sym_name");
    if (!mlirAttributeIsNull(name) && mlirAttributeIsAString(name) &&
        mlirStringRefEqual(mlirStringAttrGetValue(name), symbol))
      return op;
  }
  return op;
}

MlirOperation shardModuleCallee(MlirOperation module, MlirOperation op) {
  MlirAttribute symbol = shardOpGetAttribute(op, "callee");
  if (!shardOpIs(op, "func.call") || mlirAttributeIsNull(symbol) ||
      !mlirAttributeIsAFlatSymbolRef(symbol))
    return (MlirOperation){NULL};
  return shardModuleLookup(module, mlirFlatSymbolRefAttrGetValue(symbol));
}

bool shardFuncIsPublic(MlirOperation func) {
  MlirAttribute visibility = shardOpGetAttribute(func, "sym_visibility");
  return mlirAttributeIsNull(visibility) || !mlirAttributeIsAString(visibility) ||
         shardStringIs(mlirStringAttrGetValue(visibility), "public");
}

void shardFuncUpdateType(MlirOperation func) {
  MlirBlock body = shardFuncGetBody(func);
  assert(!mlirBlockIsNull(body));
  ShardArena *arena = shardArenaCreate();
  intptr_t nInputs = mlirBlockGetNumArguments(body);
  MlirType *inputs = SHARD_ARENA_ARRAY(arena, MlirType, nInputs);
  for (intptr_t i = 0; i < nInputs; ++i)
    inputs[i] = mlirValueGetType(mlirBlockGetArgument(body, i));
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nResults = mlirOperationGetNumOperands(end);
  MlirType *results = SHARD_ARENA_ARRAY(arena, MlirType, nResults);
  for (intptr_t i = 0; i < nResults; ++i)
    results[i] = mlirValueGetType(mlirOperationGetOperand(end, i));
  MlirContext context = mlirOperationGetContext(func);
  shardOpSetAttribute(
      func, "function_type",
      mlirTypeAttrGet(mlirFunctionTypeGet(context, nInputs, inputs, nResults, results)));
  shardArenaDestroy(arena);
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

MlirAttribute shardAttrI64(MlirContext context, int64_t value) {
  return mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), value);
}

MlirAttribute shardAttrString(MlirContext context, const char *text) {
  return mlirStringAttrGet(context, ref(text));
}

MlirAttribute shardAttrUnit(MlirContext context) { return mlirUnitAttrGet(context); }

MlirAttribute shardAttrI64Array(MlirContext context, intptr_t n, const int64_t *values) {
  return mlirDenseI64ArrayGet(context, n, values);
}

bool shardAttrGetI64(MlirAttribute attribute, int64_t *outValue) {
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAInteger(attribute))
    return false;
  MlirType type = mlirAttributeGetType(attribute);
  if (mlirTypeIsAInteger(type)) {
    if (mlirIntegerTypeGetWidth(type) > 64)
      return false;
    if (mlirIntegerTypeIsUnsigned(type)) {
      *outValue = (int64_t)mlirIntegerAttrGetValueUInt(attribute);
      return true;
    }
    if (mlirIntegerTypeIsSigned(type)) {
      *outValue = mlirIntegerAttrGetValueSInt(attribute);
      return true;
    }
  }
  *outValue = mlirIntegerAttrGetValueInt(attribute);
  return true;
}

int64_t shardTypeElementCount(MlirType type) {
  if (!mlirTypeIsARankedTensor(type) || !mlirShapedTypeHasStaticShape(type))
    return -1;
  int64_t count = 1;
  for (intptr_t i = 0, rank = mlirShapedTypeGetRank(type); i < rank; ++i)
    if (__builtin_mul_overflow(count, mlirShapedTypeGetDimSize(type, i), &count))
      return -1;
  return count;
}

int64_t shardTypeElementBytes(MlirType elementType) {
  if (mlirTypeIsAIndex(elementType))
    return 8;
  if (mlirTypeIsAInteger(elementType))
    return (mlirIntegerTypeGetWidth(elementType) + 7) / 8;
  if (mlirTypeIsAFloat(elementType))
    return (mlirFloatTypeGetWidth(elementType) + 7) / 8;
  if (mlirTypeIsAComplex(elementType))
    return 2 * shardTypeElementBytes(mlirComplexTypeGetElementType(elementType));
  return 0;
}

MlirType shardTensorWithShape(MlirType tensorType, intptr_t rank, const int64_t *shape) {
  return mlirRankedTensorTypeGet(rank, shape, mlirShapedTypeGetElementType(tensorType),
                                 mlirRankedTensorTypeGetEncoding(tensorType));
}

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

// The first FILE:LINE:COL inside a location; null when there is none.
static MlirLocation findFileLocation(MlirLocation location, int depth) {
  MlirLocation none = {NULL};
  if (mlirLocationIsNull(location) || depth > 64)
    return none;
  if (mlirLocationIsAFileLineColRange(location))
    return location;
  if (mlirLocationIsAName(location))
    return findFileLocation(mlirLocationNameGetChildLoc(location), depth + 1);
  if (mlirLocationIsACallSite(location)) {
    MlirLocation callee = findFileLocation(mlirLocationCallSiteGetCallee(location), depth + 1);
    return mlirLocationIsNull(callee)
               ? findFileLocation(mlirLocationCallSiteGetCaller(location), depth + 1)
               : callee;
  }
  if (mlirLocationIsAFused(location)) {
    unsigned n = mlirLocationFusedGetNumLocations(location);
    ShardArena *arena = shardArenaCreate();
    MlirLocation *parts = SHARD_ARENA_ARRAY(arena, MlirLocation, n), found = none;
    mlirLocationFusedGetLocations(location, parts);
    for (unsigned i = 0; i < n && mlirLocationIsNull(found); ++i)
      found = findFileLocation(parts[i], depth + 1);
    shardArenaDestroy(arena);
    return found;
  }
  return none;
}

static MlirStringRef findName(MlirLocation location) {
  MlirStringRef none = {NULL, 0};
  if (mlirLocationIsAName(location))
    return mlirIdentifierStr(mlirLocationNameGetName(location));
  return none;
}

const char *shardLocationText(MlirLocation location, ShardArena *arena) {
  MlirLocation file = findFileLocation(location, 0);
  if (!mlirLocationIsNull(file)) {
    MlirStringRef name = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(file));
    // The module that the parser puts around a file lies at 0:0.
    int line = mlirLocationFileLineColRangeGetStartLine(file);
    int column = mlirLocationFileLineColRangeGetStartColumn(file);
    return shardArenaFormat(arena, "%.*s:%d:%d", (int)name.length, name.data, line ? line : 1,
                            column ? column : 1);
  }
  MlirStringRef name = findName(location);
  if (name.length)
    return shardArenaCopyString(arena, name.data, name.length);
  return "unknown location";
}

//===----------------------------------------------------------------------===//
// Pointer map: open addressing, linear probing; keys are never null
//===----------------------------------------------------------------------===//

typedef struct Slot {
  const void *key;
  int64_t value;
} Slot;

struct ShardPointerMap {
  ShardArena *arena;
  size_t count, capacity; // capacity is a power of two
  Slot *slots;
};

static size_t hashPointer(const void *key) {
  uint64_t x = (uint64_t)(uintptr_t)key;
  x ^= x >> 33; // the finalizer of MurmurHash3
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return (size_t)(x ^ (x >> 33));
}

static Slot *findSlot(const ShardPointerMap *map, const void *key) {
  size_t slot = hashPointer(key) & (map->capacity - 1);
  while (map->slots[slot].key && map->slots[slot].key != key)
    slot = (slot + 1) & (map->capacity - 1);
  return &map->slots[slot];
}

static void allocateSlots(ShardPointerMap *map, size_t capacity) {
  map->capacity = capacity;
  map->slots = SHARD_ARENA_ARRAY(map->arena, Slot, capacity);
}

ShardPointerMap *shardPointerMapCreate(ShardArena *arena, size_t expectedCount) {
  ShardPointerMap *map = SHARD_ARENA_NEW(arena, ShardPointerMap);
  map->arena = arena;
  size_t capacity = 16;
  while (capacity / 2 < expectedCount)
    capacity *= 2;
  allocateSlots(map, capacity);
  return map;
}

void shardPointerMapSet(ShardPointerMap *map, const void *key, int64_t value) {
  assert(key);
  if ((map->count + 1) * 2 > map->capacity) {
    ShardPointerMap old = *map;
    allocateSlots(map, old.capacity * 2);
    for (size_t i = 0; i < old.capacity; ++i)
      if (old.slots[i].key)
        *findSlot(map, old.slots[i].key) = old.slots[i];
  }
  Slot *slot = findSlot(map, key);
  map->count += !slot->key;
  *slot = (Slot){key, value};
}

bool shardPointerMapGet(const ShardPointerMap *map, const void *key, int64_t *outValue) {
  if (!key)
    return false;
  const Slot *slot = findSlot(map, key);
  if (!slot->key)
    return false;
  *outValue = slot->value;
  return true;
}

//===----------------------------------------------------------------------===//
// Clones and walks
//===----------------------------------------------------------------------===//

void shardValueMapSet(ShardPointerMap *map, MlirValue value, MlirValue other) {
  shardPointerMapSet(map, value.ptr, (int64_t)(intptr_t)other.ptr);
}

MlirValue shardValueMapGet(const ShardPointerMap *map, MlirValue value) {
  int64_t other;
  if (shardPointerMapGet(map, value.ptr, &other))
    return (MlirValue){(const void *)(intptr_t)other};
  return value;
}

static MlirWalkResult remapOperands(MlirOperation op, void *user) {
  const ShardPointerMap *map = user;
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i), other = shardValueMapGet(map, operand);
    if (!mlirValueEqual(operand, other))
      mlirOperationSetOperand(op, i, other);
  }
  return MlirWalkResultAdvance;
}

MlirOperation shardOpCloneMapped(MlirOperation op, MlirBlock block, MlirOperation before,
                                 ShardPointerMap *map) {
  MlirOperation clone = mlirOperationClone(op);
  mlirOperationWalk(clone, remapOperands, map, MlirWalkPreOrder);
  if (!mlirOperationIsNull(before))
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(before), before, clone);
  else if (!mlirBlockIsNull(block))
    mlirBlockAppendOwnedOperation(block, clone);
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
    shardValueMapSet(map, mlirOperationGetResult(op, r), mlirOperationGetResult(clone, r));
  return clone;
}

typedef struct WalkState {
  MlirOperation root;
  const char *name;
  ShardOpVisitor visit;
  void *user;
  MlirLogicalResult result;
} WalkState;

static MlirWalkResult visitOne(MlirOperation op, void *user) {
  WalkState *state = user;
  if (shardOpIsBucket(op) && !mlirOperationEqual(op, state->root))
    return MlirWalkResultSkip;
  if (state->name && !shardOpIs(op, state->name))
    return MlirWalkResultAdvance;
  state->result = state->visit(state->user, op);
  return mlirLogicalResultIsFailure(state->result) ? MlirWalkResultInterrupt
                                                   : MlirWalkResultAdvance;
}

MlirLogicalResult shardWalk(MlirOperation root, const char *name, ShardOpVisitor visit,
                            void *user) {
  WalkState state = {root, name, visit, user, mlirLogicalResultSuccess()};
  mlirOperationWalk(root, visitOne, &state, MlirWalkPreOrder);
  return state.result;
}

void shardOpListAppend(ShardOpList *list, MlirOperation op) {
  list->ops = shardArenaGrow(list->arena, list->ops, list->nOps, &list->capacity, list->nOps + 1,
                             sizeof(*list->ops));
  list->ops[list->nOps++] = op;
}

typedef struct Collection {
  ShardOpList *list;
  bool (*wanted)(MlirOperation op);
} Collection;

static MlirLogicalResult collectWanted(void *user, MlirOperation op) {
  const Collection *collection = user;
  if (!collection->wanted || collection->wanted(op))
    shardOpListAppend(collection->list, op);
  return mlirLogicalResultSuccess();
}

void shardOpListCollect(ShardOpList *list, MlirOperation root, const char *name,
                        bool (*wanted)(MlirOperation op)) {
  Collection collection = {list, wanted};
  shardWalk(root, name, collectWanted, &collection);
}
