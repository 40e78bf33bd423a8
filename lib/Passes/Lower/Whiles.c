//===- Whiles.c - scf.while whose regions carry different values -*- C -*-===//
// Bufferization takes an scf.while only where operand k of scf.condition lies in the buffer of
// argument k of the first region. Sharding gives the two regions placements of their own, and users
// pass on what they like: such a loop is rebuilt to carry both regions' values.
//===----------------------------------------------------------------------===//

#include "Lower.h"

static bool isTensor(MlirValue value) { return mlirTypeIsARankedTensor(mlirValueGetType(value)); }

/// Whether every tensor that the first region passes on can lie in the argument at its own place,
/// and every tensor that the second yields as well.
static bool isAligned(MlirOperation condition, MlirOperation yield) {
  MlirBlock before = mlirOperationGetBlock(condition), after = mlirOperationGetBlock(yield);
  for (intptr_t k = 1; k < mlirOperationGetNumOperands(condition); ++k) {
    MlirValue passed = mlirOperationGetOperand(condition, k);
    if (!isTensor(passed))
      continue;
    if (k > mlirBlockGetNumArguments(before))
      return false;
    MlirValue argument = mlirBlockGetArgument(before, k - 1);
    bool moved = mlirValueIsABlockArgument(passed) &&
                 mlirBlockEqual(mlirBlockArgumentGetOwner(passed), before) &&
                 !mlirValueEqual(passed, argument);
    if (moved || !mlirTypeEqual(mlirValueGetType(passed), mlirValueGetType(argument)))
      return false;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); ++i) {
    MlirValue yielded = mlirOperationGetOperand(yield, i);
    if (!isTensor(yielded))
      continue;
    if (i >= mlirBlockGetNumArguments(after))
      return false;
    MlirValue argument = mlirBlockGetArgument(after, i);
    bool moved = mlirValueIsABlockArgument(yielded) &&
                 mlirBlockEqual(mlirBlockArgumentGetOwner(yielded), after) &&
                 !mlirValueEqual(yielded, argument);
    if (moved || !mlirTypeEqual(mlirValueGetType(yielded), mlirValueGetType(argument)))
      return false;
  }
  return true;
}

static MlirValue makeStorage(ShardLowerBuilder *b, MlirType type) {
  ShardNamedAttribute none = {
      "operandSegmentSizes",
      mlirDenseI32ArrayGet(b->lowering->context, 3, (const int32_t[]){0, 0, 0})};
  return mlirOperationGetResult(
      shardMakeOp(b, "bufferization.alloc_tensor", 1, &type, 0, NULL, 1, &none), 0);
}

/// while (a...) { c, r... } do { next a... } carries (a..., s...) with storage s for each tensor
/// of r: the first region passes on (a..., s with r, the numbers of r), and the second yields
/// (next a, s).
static void carryBoth(ShardLowering *lowering, MlirOperation op) {
  ShardArena *arena = lowering->arena;
  MlirBlock before = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirBlock after = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 1));
  MlirOperation condition = mlirBlockGetTerminator(before), yield = mlirBlockGetTerminator(after);
  intptr_t nCarried = mlirBlockGetNumArguments(before), nPassed = mlirOperationGetNumResults(op);
  intptr_t n = nCarried + nPassed, nInits = nCarried, nYielded = nCarried, at = nCarried;
  MlirValue *inits = SHARD_ARENA_ARRAY(arena, MlirValue, n + 1);
  MlirValue *passed = SHARD_ARENA_ARRAY(arena, MlirValue, n + 1);
  MlirValue *yielded = SHARD_ARENA_ARRAY(arena, MlirValue, n + 1);
  MlirType *types = SHARD_ARENA_ARRAY(arena, MlirType, n + 1);
  intptr_t *places = SHARD_ARENA_ARRAY(arena, intptr_t, nPassed + 1);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  ShardLowerBuilder atCondition = shardLowerBuilderBefore(lowering, condition);
  MlirLocation location = mlirOperationGetLocation(op);
  passed[0] = mlirOperationGetOperand(condition, 0);
  for (intptr_t i = 0; i < nCarried; ++i) {
    inits[i] = mlirOperationGetOperand(op, i);
    yielded[i] = mlirOperationGetOperand(yield, i);
    passed[1 + i] = mlirBlockGetArgument(before, i);
    types[i] = mlirValueGetType(inits[i]);
  }
  // Tensors first, so that each stands at the place of its storage.
  for (int number = 0; number < 2; ++number)
    for (intptr_t k = 0; k < nPassed; ++k) {
      MlirValue value = mlirOperationGetOperand(condition, k + 1);
      if (isTensor(value) == (number == 1))
        continue;
      types[at] = mlirValueGetType(value);
      if (!number) {
        inits[nInits++] = makeStorage(&b, types[at]);
        MlirValue operands[] = {value, mlirBlockAddArgument(before, types[at], location)};
        value = shardMakeValue(&atCondition, "bufferization.materialize_in_destination", types[at],
                               2, operands);
      }
      passed[1 + at] = value;
      places[k] = at++;
    }
  mlirOperationSetOperands(condition, n + 1, passed);

  // The second region's arguments, in the new order, before its old ones.
  for (intptr_t i = 0; i < n; ++i)
    mlirBlockInsertArgument(after, i, types[i], location);
  for (intptr_t k = 0; k < nPassed; ++k)
    mlirValueReplaceAllUsesOfWith(mlirBlockGetArgument(after, n + k),
                                  mlirBlockGetArgument(after, places[k]));
  // A yield that passes on an argument does so by its new place.
  for (intptr_t i = 0; i < nCarried; ++i)
    yielded[i] = mlirOperationGetOperand(yield, i);
  for (intptr_t k = nPassed; k-- > 0;)
    mlirBlockEraseArgument(after, (unsigned)(n + k));
  while (nYielded < nInits) {
    yielded[nYielded] = mlirBlockGetArgument(after, nYielded);
    ++nYielded;
  }
  mlirOperationSetOperands(yield, nYielded, yielded);

  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  for (intptr_t r = 0; r < 2; ++r)
    mlirRegionTakeBody(regions[r], mlirOperationGetRegion(op, r));
  MlirOperation both = shardOpCreate(b.block, op, location, "scf.while", n, types, nInits, inits, 0,
                                     NULL, 2, regions);
  for (intptr_t k = 0; k < nPassed; ++k)
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, k),
                                  mlirOperationGetResult(both, places[k]));
  mlirOperationDestroy(op);
}

void shardAlignWhiles(ShardLowering *lowering) {
  ShardOpList found = {.arena = lowering->arena};
  shardOpListCollect(&found, lowering->module, "scf.while", NULL);
  for (size_t i = 0; i < found.nOps; ++i) {
    MlirOperation op = found.ops[i];
    MlirBlock before = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
    MlirBlock after = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 1));
    if (!isAligned(mlirBlockGetTerminator(before), mlirBlockGetTerminator(after)))
      carryBoth(lowering, op);
  }
}
