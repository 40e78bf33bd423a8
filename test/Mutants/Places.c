//===- Places.c - Mistakes with ranks, pieces, masks, placements --*- C -*-===//
#define _GNU_SOURCE
#include "Mutation.h"

//===----------------------------------------------------------------------===//
// Which rank, which piece
//===----------------------------------------------------------------------===//

/// Every rank takes itself for the first; for the next one, in a circle; counts from the end.
static void rankZero(Mutation *m, MlirOperation op) { bypass(m, op, indexConstant(m, op, 0)); }

static MlirValue rankCount(const Mutation *m, MlirOperation op, int64_t *out) {
  MlirAttribute axes = shardOpGetAttribute(op, "axes");
  *out = gridSize(m, mlirDenseI16ArrayGetElement(axes, 0));
  return indexConstant(m, op, *out);
}

static void rankNext(Mutation *m, MlirOperation op) {
  int64_t n;
  MlirValue count = rankCount(m, op, &n), rank = resultOf(op);
  MlirValue one = indexConstant(m, definition(count), 1), pair[2] = {rank, one};
  MlirOperation last = definition(one);
  MlirValue next = make(last, "arith.addi", typeOf(rank), 2, pair, 0, NULL);
  MlirValue wrapped[2] = {next, count};
  MlirValue result = make(definition(next), "arith.remui", typeOf(rank), 2, wrapped, 0, NULL);
  replaceUses(rank, result, (MlirOperation){NULL});
  mlirOperationSetOperand(definition(next), 0, rank);
  ++m->nDone;
}

static void rankReversed(Mutation *m, MlirOperation op) {
  int64_t n;
  (void)rankCount(m, op, &n);
  MlirValue last = indexConstant(m, op, n - 1), rank = resultOf(op), pair[2] = {last, rank};
  MlirValue result = make(definition(last), "arith.subi", typeOf(rank), 2, pair, 0, NULL);
  replaceUses(rank, result, definition(result));
  ++m->nDone;
}

static void rankOtherAxis(Mutation *m, MlirOperation op) {
  MlirAttribute axes = shardOpGetAttribute(op, "axes");
  int16_t axis = mlirDenseI16ArrayGetElement(axes, 0);
  for (int16_t other = 0; other < gridRank(m); ++other)
    if (other != axis && gridSize(m, other) == gridSize(m, axis)) {
      shardOpSetAttribute(op, "axes", mlirDenseI16ArrayGet(m->context, 1, &other));
      ++m->nDone;
      return;
    }
}

/// offset = rank x size: the product forgotten.
static void offsetUnscaled(Mutation *m, MlirOperation op) {
  for (intptr_t i = 0; i < 2; ++i)
    if (isDefinedBy(mlirOperationGetOperand(op, i), "shard.process_multi_index") &&
        isDefinedBy(mlirOperationGetOperand(op, 1 - i), "arith.constant")) {
      bypass(m, op, mlirOperationGetOperand(op, i));
      return;
    }
}

/// Every second element of what should be a block.
static void sliceStrided(Mutation *m, MlirOperation op) {
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes"),
                strides = shardOpGetAttribute(op, "static_strides"),
                offsets = shardOpGetAttribute(op, "static_offsets");
  int64_t n = mlirDenseArrayGetNumElements(sizes), out[16];
  bool done = false;
  for (int64_t i = 0; i < n; ++i) {
    int64_t size = mlirDenseI64ArrayGetElement(sizes, i),
            offset = mlirDenseI64ArrayGetElement(offsets, i);
    int64_t whole = mlirShapedTypeGetDimSize(typeOf(operandOf(op)), i);
    out[i] = mlirDenseI64ArrayGetElement(strides, i);
    if (!done && out[i] == 1 && size > 1 && offset >= 0 && offset + 2 * (size - 1) < whole)
      out[i] = 2, done = true;
  }
  if (!done)
    return;
  shardOpSetAttribute(op, "static_strides", mlirDenseI64ArrayGet(m->context, n, out));
  ++m->nDone;
}

/// A constant offset that is one too large or too small.
static void offsetByOne(Mutation *m, MlirOperation op) {
  MlirAttribute sizes = shardOpGetAttribute(op, "static_sizes"),
                offsets = shardOpGetAttribute(op, "static_offsets");
  bool insert = shardOpIs(op, "tensor.insert_slice");
  MlirValue whole = mlirOperationGetOperand(op, insert ? 1 : 0);
  int64_t n = mlirDenseArrayGetNumElements(sizes), out[16];
  bool done = false;
  for (int64_t i = 0; i < n; ++i) {
    int64_t size = mlirDenseI64ArrayGetElement(sizes, i),
            full = mlirShapedTypeGetDimSize(typeOf(whole), i);
    out[i] = mlirDenseI64ArrayGetElement(offsets, i);
    if (done || out[i] < 0 || size < 0 || size == full)
      continue;
    out[i] += out[i] + size < full ? 1 : -1;
    done = true;
  }
  if (!done)
    return;
  shardOpSetAttribute(op, "static_offsets", mlirDenseI64ArrayGet(m->context, n, out));
  ++m->nDone;
}

static void padSwapped(Mutation *m, MlirOperation op) {
  MlirAttribute low = shardOpGetAttribute(op, "static_low"),
                high = shardOpGetAttribute(op, "static_high");
  if (mlirAttributeEqual(low, high))
    return;
  shardOpSetAttribute(op, "static_low", high);
  shardOpSetAttribute(op, "static_high", low);
  ++m->nDone;
}

static void concatSwapped(Mutation *m, MlirOperation op) {
  intptr_t n = mlirOperationGetNumOperands(op);
  if (n > 1)
    swapOperands(m, op, 0, n - 1);
}

//===----------------------------------------------------------------------===//
// Masks, indices and bodies
//===----------------------------------------------------------------------===//

static bool inBody(MlirOperation op) {
  MlirOperation parent = mlirOperationGetParentOperation(op);
  return !mlirOperationIsNull(parent) && !shardOpIs(parent, "func.func");
}

/// Whether the value is made of the rank's number, within a few ops.
static bool comesFromRank(MlirValue value, int depth) {
  MlirOperation op = definition(value);
  if (mlirOperationIsNull(op) || depth > 8)
    return false;
  if (shardOpIs(op, "shard.process_multi_index"))
    return true;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (comesFromRank(mlirOperationGetOperand(op, i), depth + 1))
      return true;
  return false;
}

static bool isMask(MlirOperation op) {
  return inBody(op) && comesFromRank(operandOf(op), 0) && isDefinedBy(operandOf(op), "arith.cmpi");
}

static void maskMissing(Mutation *m, MlirOperation op) {
  if (isMask(op) && !mlirTypeIsAIndex(typeOf(resultOf(op)))) // an index would leave the table
    bypass(m, op, mlirOperationGetOperand(op, 1));
}

static void maskInverted(Mutation *m, MlirOperation op) {
  if (isMask(op) && !mlirTypeIsAIndex(typeOf(resultOf(op))))
    swapOperands(m, op, 1, 2);
}

/// `<` as `<=`: one element of padding too many.
static void maskByOne(Mutation *m, MlirOperation op) {
  int64_t predicate = -1;
  shardAttrGetI64(shardOpGetAttribute(op, "predicate"), &predicate);
  if (!inBody(op) || !comesFromRank(resultOf(op), 0) || predicate != 6) // ult
    return;
  shardOpSetAttribute(op, "predicate", shardAttrI64(m->context, 7)); // ule
  ++m->nDone;
}

/// min(offset, size) forgotten: the count of the last rank's rows.
static void extentUnclamped(Mutation *m, MlirOperation op) {
  if (!inBody(op) && comesFromRank(resultOf(op), 0) &&
      isDefinedBy(mlirOperationGetOperand(op, 1), "arith.constant") &&
      isDefinedBy(operandOf(op), "arith.subi"))
    bypass(m, op, mlirOperationGetOperand(op, 1));
}

/// `linalg.index` + origin of the shard: the origin forgotten, or taken away.
static void indexLocal(Mutation *m, MlirOperation op) {
  if (inBody(op) && comesFromRank(mlirOperationGetOperand(op, 1), 0) &&
      isDefinedBy(operandOf(op), "linalg.index"))
    bypass(m, op, operandOf(op));
}

static void indexTwice(Mutation *m, MlirOperation op) {
  if (!inBody(op) || !comesFromRank(mlirOperationGetOperand(op, 1), 0) ||
      !isDefinedBy(operandOf(op), "linalg.index"))
    return;
  MlirValue pair[2] = {resultOf(op), mlirOperationGetOperand(op, 1)};
  MlirValue again = make(op, "arith.addi", typeOf(pair[0]), 2, pair, 0, NULL);
  replaceUses(pair[0], again, definition(again));
  ++m->nDone;
}

/// What another rank's rows give is not zero.
static void lookupUnmasked(Mutation *m, MlirOperation op) {
  if (isMask(op) && isDefinedBy(mlirOperationGetOperand(op, 1), "tensor.extract"))
    bypass(m, op, mlirOperationGetOperand(op, 1));
}

/// A row past the first is read as the first.
static void lookupClamped(Mutation *m, MlirOperation op) {
  if (isMask(op) && isDefinedBy(mlirOperationGetOperand(op, 2), "arith.constant") &&
      mlirTypeIsAIndex(typeOf(resultOf(op))))
    bypass(m, op, mlirOperationGetOperand(op, 2));
}

static void identityLost(Mutation *m, MlirOperation op) {
  // What a reduction starts from is whatever was there.
  bypass(m, op, mlirOperationGetOperand(op, mlirOperationGetNumOperands(op) - 1));
}

static void subtractSwapped(Mutation *m, MlirOperation op) {
  if (!mlirTypeIsAIndex(typeOf(resultOf(op))))
    swapOperands(m, op, 0, 1);
}

/// The sum over a shard is its maximum.
static void localSumAsMax(Mutation *m, MlirOperation op) {
  if (!inBody(op) || !shardOpIs(mlirOperationGetParentOperation(op), "linalg.reduce"))
    return;
  MlirValue pair[2] = {operandOf(op), mlirOperationGetOperand(op, 1)};
  bypass(m, op, make(op, "arith.maximumf", typeOf(resultOf(op)), 2, pair, 0, NULL));
}

static void permutationLost(Mutation *m, MlirOperation op) {
  MlirValue in = operandOf(op);
  if (sameType(in, resultOf(op)))
    bypass(m, op, in);
}

//===----------------------------------------------------------------------===//
// Functions and stages
//===----------------------------------------------------------------------===//

/// Two operands of the same type the wrong way round.
static void callSwapped(Mutation *m, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    for (intptr_t k = i + 1; k < mlirOperationGetNumOperands(op); ++k)
      if (sameType(mlirOperationGetOperand(op, i), mlirOperationGetOperand(op, k))) {
        swapOperands(m, op, i, k);
        return;
      }
}

static void callSkipped(Mutation *m, MlirOperation op) {
  if (mlirOperationGetNumResults(op) == 1 && sameType(operandOf(op), resultOf(op)))
    bypass(m, op, operandOf(op));
}

static void callTwice(Mutation *m, MlirOperation op) {
  if (mlirOperationGetNumResults(op) != 1 || !sameType(operandOf(op), resultOf(op)))
    return;
  MlirOperation again = repeat(op, op);
  replaceUses(resultOf(op), resultOf(again), (MlirOperation){NULL});
  mlirOperationSetOperand(again, 0, resultOf(op));
  ++m->nDone;
}

static void returnSwapped(Mutation *m, MlirOperation op) { callSwapped(m, op); }

/// A weight of another layer: the call before has it.
static void weightOfBefore(Mutation *m, MlirOperation op) {
  MlirOperation before = {NULL};
  for (int i = 0; i < m->nOps && !mlirOperationEqual(m->ops[i], op); ++i)
    if (shardOpIs(m->ops[i], "func.call") &&
        mlirBlockEqual(mlirOperationGetBlock(m->ops[i]), mlirOperationGetBlock(op)))
      before = m->ops[i];
  if (mlirOperationIsNull(before) ||
      mlirOperationGetNumOperands(before) != mlirOperationGetNumOperands(op))
    return;
  mlirOperationSetOperand(op, 1, mlirOperationGetOperand(before, 1));
  ++m->nDone;
}

/// What a stage sends is its input.
static void sendOther(Mutation *m, MlirOperation op) {
  MlirBlock block = mlirOperationGetBlock(op);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
    MlirValue argument = mlirBlockGetArgument(block, i);
    if (sameType(argument, operandOf(op))) {
      mlirOperationSetOperand(op, 0, argument);
      ++m->nDone;
      return;
    }
  }
}

/// What comes is not looked at: the buffer's own contents, here zeros.
static void receiveIgnored(Mutation *m, MlirOperation op) {
  MlirType type = typeOf(resultOf(op));
  MlirType element = mlirShapedTypeGetElementType(type);
  MlirAttribute zero = mlirTypeIsAFloat(element) ? mlirFloatAttrDoubleGet(m->context, element, 0)
                                                 : mlirIntegerAttrGet(element, 0);
  ShardNamedAttribute value = {"value", mlirDenseElementsAttrSplatGet(type, zero)};
  MlirValue zeros = make(op, "arith.constant", type, 0, NULL, 1, &value);
  mlirValueReplaceAllUsesOfWith(resultOf(op), zeros);
  ++m->nDone;
}

/// The pieces of two rounds of an exchange in each other's place.
static void receivesSwapped(Mutation *m, MlirOperation op) {
  for (int i = 0; i + 1 < m->nOps; ++i)
    if (mlirOperationEqual(m->ops[i], op))
      for (int k = i + 1; k < m->nOps; ++k)
        if (shardOpIs(m->ops[k], "tensor.insert_slice") &&
            mlirBlockEqual(mlirOperationGetBlock(m->ops[k]), mlirOperationGetBlock(op)) &&
            isDefinedBy(operandOf(m->ops[k]), "shard.recv") &&
            isDefinedBy(operandOf(op), "shard.recv") &&
            sameType(operandOf(m->ops[k]), operandOf(op))) {
          // The earlier insertion takes the piece that the same round's buffer had.
          mlirOperationSetOperand(m->ops[k], 0, operandOf(op));
          ++m->nDone;
          return;
        }
}

/// Whether a value says which rank to send to or hear from, within a few ops.
static bool namesPeer(MlirValue value, int depth) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (shardOpIs(user, "shard.send") || shardOpIs(user, "shard.recv"))
      return mlirOpOperandGetOperandNumber(use) > 0;
    if (depth < 6 && mlirOperationGetNumResults(user) == 1 &&
        !mlirTypeIsARankedTensor(typeOf(resultOf(user))) && namesPeer(resultOf(user), depth + 1))
      return true;
  }
  return false;
}

/// Tables of an exchange: where a piece goes, off by one entry.
static void tableByOne(Mutation *m, MlirOperation op) {
  MlirAttribute value = shardOpGetAttribute(op, "value");
  if (namesPeer(resultOf(op), 0))
    return; // ranks would wait for each other
  if (!mlirAttributeIsADenseElements(value) || mlirDenseElementsAttrIsSplat(value) ||
      mlirShapedTypeGetRank(typeOf(resultOf(op))) != 1)
    return;
  MlirType type = typeOf(resultOf(op));
  int64_t n = mlirElementsAttrGetNumElements(value);
  if (n > 64 || !mlirTypeIsAInteger(mlirShapedTypeGetElementType(type)))
    return;
  MlirAttribute entries[64];
  for (int64_t i = 0; i < n; ++i) {
    uint64_t at = (uint64_t)((i + 1) % n);
    entries[i] = mlirElementsAttrGetValue(value, 1, &at);
  }
  shardOpSetAttribute(op, "value", mlirDenseElementsAttrGet(type, n, entries));
  ++m->nDone;
}

//===----------------------------------------------------------------------===//
// Placements of arguments and results
//===----------------------------------------------------------------------===//

/// Axes of a dimension in the other order: ranks hold each other's parts.
static bool reverseAxes(const Mutation *m, MlirAttribute sharding, MlirAttribute *out) {
  MlirAttribute dims[16];
  bool done = false;
  intptr_t n = mlirArrayAttrGetNumElements(sharding);
  for (intptr_t d = 0; d < n && d < 16; ++d) {
    MlirAttribute axes = mlirArrayAttrGetElement(sharding, d);
    dims[d] = axes;
    if (!mlirAttributeIsAArray(axes) || mlirArrayAttrGetNumElements(axes) != 2)
      continue;
    MlirAttribute pair[2] = {mlirArrayAttrGetElement(axes, 1), mlirArrayAttrGetElement(axes, 0)};
    dims[d] = mlirArrayAttrGet(m->context, 2, pair);
    done = true;
  }
  *out = mlirArrayAttrGet(m->context, n, dims);
  return done;
}

static void argumentAxes(Mutation *m, MlirOperation func) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(shardFuncGetBody(func)); ++i) {
    MlirAttribute sharding = shardFuncGetArgumentAttribute(func, i, "spmd.sharding"), other;
    if (!mlirAttributeIsNull(sharding) && reverseAxes(m, sharding, &other)) {
      shardFuncSetArgumentAttribute(func, i, "spmd.sharding", other);
      ++m->nDone;
    }
  }
}

static void resultAxes(Mutation *m, MlirOperation func) {
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(func));
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i) {
    MlirAttribute sharding = shardFuncGetResultAttribute(func, i, "spmd.sharding"), other;
    if (!mlirAttributeIsNull(sharding) && reverseAxes(m, sharding, &other)) {
      shardFuncSetResultAttribute(func, i, "spmd.sharding", other);
      ++m->nDone;
    }
  }
}

/// Axis names of equal size exchanged in every placement.
static void argumentAxesExchanged(Mutation *m, MlirOperation func) {
  if (gridRank(m) != 2 || gridSize(m, 0) != gridSize(m, 1))
    return;
  MlirAttribute names = shardOpGetAttribute(m->grid, "spmd.axes");
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(shardFuncGetBody(func)); ++i) {
    MlirAttribute sharding = shardFuncGetArgumentAttribute(func, i, "spmd.sharding"), dims[16];
    if (mlirAttributeIsNull(sharding))
      continue;
    intptr_t n = mlirArrayAttrGetNumElements(sharding);
    bool done = false;
    for (intptr_t d = 0; d < n && d < 16; ++d) {
      dims[d] = mlirArrayAttrGetElement(sharding, d);
      if (mlirArrayAttrGetNumElements(dims[d]) != 1)
        continue;
      MlirAttribute axis = mlirArrayAttrGetElement(dims[d], 0);
      MlirAttribute other = mlirArrayAttrGetElement(
          names, mlirAttributeEqual(axis, mlirArrayAttrGetElement(names, 0)) ? 1 : 0);
      dims[d] = mlirArrayAttrGet(m->context, 1, &other);
      done = true;
    }
    if (!done)
      continue;
    shardFuncSetArgumentAttribute(func, i, "spmd.sharding", mlirArrayAttrGet(m->context, n, dims));
    ++m->nDone;
  }
}

/// Two arguments of the same type and placement are each other's.
static void argumentsSwapped(Mutation *m, MlirOperation func) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(func));
  for (intptr_t i = 0; i < n; ++i)
    for (intptr_t k = i + 1; k < n; ++k) {
      MlirAttribute a = shardFuncGetArgumentAttribute(func, i, "spmd.arg"),
                    b = shardFuncGetArgumentAttribute(func, k, "spmd.arg");
      MlirAttribute x = shardFuncGetArgumentAttribute(func, i, "spmd.sharding"),
                    y = shardFuncGetArgumentAttribute(func, k, "spmd.sharding");
      if (mlirAttributeIsNull(a) || mlirAttributeIsNull(b) || !mlirAttributeEqual(x, y) ||
          !sameType(mlirBlockGetArgument(shardFuncGetBody(func), i),
                    mlirBlockGetArgument(shardFuncGetBody(func), k)))
        continue;
      shardFuncSetArgumentAttribute(func, i, "spmd.arg", b);
      shardFuncSetArgumentAttribute(func, k, "spmd.arg", a);
      ++m->nDone;
      return;
    }
}

/// A view forgotten: what is split inside of a dimension is taken for blocks of it.
static void argumentViewLost(Mutation *m, MlirOperation func) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(shardFuncGetBody(func)); ++i) {
    MlirAttribute sharding = shardFuncGetArgumentAttribute(func, i, "spmd.sharding");
    MlirAttribute view = shardFuncGetArgumentAttribute(func, i, "spmd.view"), split = {NULL};
    if (mlirAttributeIsNull(view) ||
        mlirShapedTypeGetRank(typeOf(mlirBlockGetArgument(shardFuncGetBody(func), i))) != 1)
      continue;
    for (intptr_t d = 0; d < mlirArrayAttrGetNumElements(sharding); ++d)
      if (mlirArrayAttrGetNumElements(mlirArrayAttrGetElement(sharding, d)) > 0)
        split = mlirArrayAttrGetElement(sharding, d);
    if (mlirAttributeIsNull(split))
      continue;
    shardFuncSetArgumentAttribute(func, i, "spmd.view", (MlirAttribute){NULL});
    shardFuncSetArgumentAttribute(func, i, "spmd.sharding",
                                  mlirArrayAttrGet(m->context, 1, &split));
    ++m->nDone;
  }
}

const Mutant placeMutants[] = {
    {"send-other-value", "shard.send", sendOther},
    {"receive-ignored", "shard.recv", receiveIgnored},
    {"receives-swapped", "tensor.insert_slice", receivesSwapped},
    {"exchange-table-shifted", "arith.constant", tableByOne},
    {"rank-always-first", "shard.process_multi_index", rankZero},
    {"rank-of-next", "shard.process_multi_index", rankNext},
    {"rank-from-the-end", "shard.process_multi_index", rankReversed},
    {"rank-on-other-axis", "shard.process_multi_index", rankOtherAxis},
    {"offset-unscaled", "arith.muli", offsetUnscaled},
    {"slice-strided", "tensor.extract_slice", sliceStrided},
    {"slice-off-by-one", "tensor.extract_slice", offsetByOne},
    {"insert-off-by-one", "tensor.insert_slice", offsetByOne},
    {"pad-swapped", "tensor.pad", padSwapped},
    {"concat-swapped", "tensor.concat", concatSwapped},
    {"mask-missing", "arith.select", maskMissing},
    {"mask-inverted", "arith.select", maskInverted},
    {"mask-off-by-one", "arith.cmpi", maskByOne},
    {"extent-unclamped", "arith.minui", extentUnclamped},
    {"index-local", "arith.addi", indexLocal},
    {"index-shifted-twice", "arith.addi", indexTwice},
    {"lookup-unmasked", "arith.select", lookupUnmasked},
    {"lookup-first-row", "arith.select", lookupClamped},
    {"identity-lost", "linalg.fill", identityLost},
    {"subtract-swapped", "arith.subf", subtractSwapped},
    {"local-sum-as-max", "arith.addf", localSumAsMax},
    {"permutation-lost", "linalg.transpose", permutationLost},
    {"call-operands-swapped", "func.call", callSwapped},
    {"call-skipped", "func.call", callSkipped},
    {"call-doubled", "func.call", callTwice},
    {"call-weight-of-before", "func.call", weightOfBefore},
    {"results-swapped", "func.return", returnSwapped},
    {"argument-axes-reversed", "func.func", argumentAxes},
    {"argument-axes-exchanged", "func.func", argumentAxesExchanged},
    {"result-axes-reversed", "func.func", resultAxes},
    {"arguments-swapped", "func.func", argumentsSwapped},
    {"argument-view-lost", "func.func", argumentViewLost},
    {NULL, NULL, NULL},
};
