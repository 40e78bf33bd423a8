//===- Windows.c - Dimensions along which data moves --------------*- C -*-===//
// A slice, pad or concat cuts operand and result in pieces that do not line up with shards. Split
// over the same ranks, each rank sends what lies elsewhere in the result (a halo), which is less
// than all of it.
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "../Core/Numbers.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

int64_t shardFactorWindowBytes(const ShardFactor *factor, int64_t n) {
  int64_t bytes = 0;
  for (int32_t w = 0; w < factor->nWindows; ++w) {
    const ShardWindow *window = &factor->windows[w];
    int64_t from = (window->fromSize + n - 1) / n;
    int64_t to = window->toAll ? 0 : (window->toSize + n - 1) / n;
    for (int64_t r = 0; r < n; ++r) {
      // What rank r wants of the operand, in the operand's steps, and what it holds of that.
      int64_t begin = r * to > window->to ? r * to : window->to;
      int64_t end = window->to + window->length;
      end = !window->toAll && (r + 1) * to < end ? (r + 1) * to : end;
      begin += window->from - window->to;
      end += window->from - window->to;
      if (begin >= end)
        continue;
      int64_t heldBegin = r * from > begin ? r * from : begin;
      int64_t heldEnd = (r + 1) * from < end ? (r + 1) * from : end;
      bytes += (end - begin - (heldEnd > heldBegin ? heldEnd - heldBegin : 0)) * window->stepBytes;
    }
  }
  return bytes;
}

static bool readNumber(MlirOperation op, const char *name, intptr_t d, int64_t *out) {
  MlirAttribute attribute = shardOpGetAttribute(op, name);
  if (!attribute.ptr || !mlirAttributeIsADenseI64Array(attribute) ||
      d >= mlirDenseArrayGetNumElements(attribute))
    return false;
  *out = mlirDenseI64ArrayGetElement(attribute, d);
  return *out >= 0; // a dynamic one is less
}

/// Does a pad fill in one value that is computed outside of its region?
static bool padsOneValue(MlirOperation op) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirValue value = mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
  return mlirValueIsABlockArgument(value)
             ? !mlirBlockEqual(mlirBlockArgumentGetOwner(value), body)
             : !mlirBlockEqual(mlirOperationGetBlock(mlirOpResultGetOwner(value)), body);
}

/// The window of operand `i` along dimension `d`; `*at` is where a concat has come to. False when
/// the op does not cut the dimension, or not so.
static bool readWindow(MlirOperation op, int32_t i, intptr_t d, int64_t *at, ShardWindow *out) {
  MlirValue operand = mlirOperationGetOperand(op, i);
  out->fromSize = sizeOf(operand, d);
  out->toSize = sizeOf(mlirOperationGetResult(op, 0), d);
  out->from = out->to = 0;
  out->length = out->fromSize;
  int64_t other, stride;
  if (shardOpIs(op, "tensor.extract_slice")) {
    if (!readNumber(op, "static_offsets", d, &out->from) ||
        !readNumber(op, "static_sizes", d, &out->length) ||
        !readNumber(op, "static_strides", d, &stride) || stride != 1)
      return false;
    return out->length != out->fromSize;
  }
  if (shardOpIs(op, "tensor.pad"))
    return readNumber(op, "static_low", d, &out->to) && readNumber(op, "static_high", d, &other) &&
           out->toSize != out->fromSize && padsOneValue(op);
  shardAttrGetI64(shardOpGetAttribute(op, "dim"), &other);
  out->to = *at;
  *at += out->length;
  return other == d && mlirOperationGetNumOperands(op) > 1;
}

static bool hasAtoms(const ShardRuleBuilder *b, const ShardPort *port, intptr_t d) {
  const ShardValueInfo *info = &b->rules->values[port->value];
  for (int32_t a = 0; a < info->nAtoms; ++a)
    if (info->atoms[a].dim == d)
      return true;
  return false;
}

/// The only atom of a dimension, if it is on a factor that must be whole; -1.
static int32_t wholeAtom(const ShardRuleBuilder *b, const ShardOpRule *rule, const ShardPort *port,
                         intptr_t d) {
  const ShardValueInfo *info = &b->rules->values[port->value];
  int32_t found = -1;
  for (int32_t a = 0; a < info->nAtoms; ++a) {
    if (info->atoms[a].dim != d)
      continue;
    if (found >= 0 || port->factors[a] < 0 ||
        rule->factors[port->factors[a]].kind != SHARD_FACTOR_WHOLE)
      return -1;
    found = a;
  }
  return found;
}

static void bindWindow(ShardRuleBuilder *b, ShardPort *port, int32_t atom, int32_t factor) {
  int32_t nAtoms = b->rules->values[port->value].nAtoms;
  int32_t *factors = SHARD_ARENA_ARRAY(b->arena, int32_t, nAtoms);
  memcpy(factors, port->factors, (size_t)nAtoms * sizeof(int32_t));
  factors[atom] = factor;
  port->factors = factors;
}

static void analyseDimension(ShardRuleBuilder *b, ShardOpRule *rule, intptr_t d) {
  enum { MAX_OPERANDS = 32 };
  int32_t atoms[MAX_OPERANDS], result = wholeAtom(b, rule, &rule->results[0], d);
  // One step of a split dimension goes to all ranks.
  bool toAll = !hasAtoms(b, &rule->results[0], d);
  if ((result < 0 && !toAll) || rule->nOperands > MAX_OPERANDS)
    return;
  ShardWindow *windows = SHARD_ARENA_ARRAY(b->arena, ShardWindow, rule->nOperands);
  int64_t at = 0, size = sizeOf(b->rules->values[rule->results[0].value].value, d);
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardValueInfo *info = &b->rules->values[rule->operands[i].value];
    atoms[i] = wholeAtom(b, rule, &rule->operands[i], d);
    if (rule->operands[i].operandIndex != i || atoms[i] < 0 ||
        !readWindow(rule->op, i, d, &at, &windows[i]))
      return;
    windows[i].stepBytes = info->bytes / windows[i].fromSize;
    windows[i].toAll = toAll;
    size = toAll ? windows[i].fromSize : shardGreatestDivisor(size, windows[i].fromSize);
  }
  int32_t factor = rule->nFactors;
  ShardFactor *factors = SHARD_ARENA_ARRAY(b->arena, ShardFactor, factor + 1);
  memcpy(factors, rule->factors, (size_t)factor * sizeof(ShardFactor));
  factors[factor] =
      (ShardFactor){.size = size,
                    .klass = b->rules->values[rule->operands[0].value].atoms[atoms[0]].klass,
                    .kind = SHARD_FACTOR_WINDOW,
                    .loop = -1,
                    .nWindows = rule->nOperands,
                    .windows = windows};
  rule->factors = factors;
  ++rule->nFactors;
  for (int32_t i = 0; i < rule->nOperands; ++i)
    bindWindow(b, &rule->operands[i], atoms[i], factor);
  if (!toAll)
    bindWindow(b, &rule->results[0], result, factor);
}

void shardRuleAnalyseWindows(ShardRuleBuilder *b, ShardOpRule *rule) {
  bool moves = shardOpIs(rule->op, "tensor.extract_slice") || shardOpIs(rule->op, "tensor.pad") ||
               shardOpIs(rule->op, "tensor.concat");
  if (!moves || rule->nResults != 1 || rule->nOperands < 1)
    return;
  int64_t rank = rankOf(b->rules->values[rule->results[0].value].value);
  for (int32_t i = 0; i < rule->nOperands; ++i)
    if (rankOf(b->rules->values[rule->operands[i].value].value) != rank)
      return;
  for (intptr_t d = 0; d < rank; ++d)
    analyseDimension(b, rule, d);
}
