//===- Factors.c - Binding atoms to factors -----------------------*- C -*-===//
// Once dimensions are tied over the whole module, an op's loops become factors of the atoms that
// its ports have.
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "Roll.h"
#include "Sequence.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

typedef struct AtomRef {
  int32_t klass;
  int64_t size;
  int32_t factor;
} AtomRef;

int32_t shardRuleClassOf(ShardRuleBuilder *b, int32_t leaf) {
  leaf = shardNodeFind(b, leaf);
  if (b->nodes[leaf].klass < 0)
    b->nodes[leaf].klass = b->rules->nClasses++;
  return b->nodes[leaf].klass;
}

typedef struct FactorList {
  ShardFactor *factors;
  int32_t n;
  size_t capacity;
} FactorList;

static int32_t addFactor(ShardRuleBuilder *b, FactorList *list, ShardFactor factor) {
  list->factors = shardArenaGrow(b->arena, list->factors, (size_t)list->n, &list->capacity,
                                 (size_t)list->n + 1, sizeof(ShardFactor));
  list->factors[list->n] = factor;
  return list->n++;
}

/// Binds a dimension's atoms to the factors that `expected` lists. Atoms that do not line up are
/// bound to new WHOLE factors, and factors that they would need become WHOLE.
static void bindAtoms(ShardRuleBuilder *b, FactorList *list, int32_t nExpected,
                      const AtomRef *expected, int32_t nAtoms, const ShardAtom *atoms,
                      int32_t *outFactors) {
  int32_t i = 0, j = 0;
  int64_t left = 1, right = 1; // products so far
  while (i < nAtoms || j < nExpected) {
    if (i < nAtoms && j < nExpected && left == right && atoms[i].klass == expected[j].klass) {
      outFactors[i] = expected[j].factor;
      left *= atoms[i++].size;
      right *= expected[j++].size;
    } else if (i < nAtoms && (j == nExpected || left <= right)) {
      outFactors[i] = addFactor(b, list,
                                (ShardFactor){.size = atoms[i].size,
                                              .klass = atoms[i].klass,
                                              .kind = SHARD_FACTOR_WHOLE,
                                              .loop = -1});
      left *= atoms[i++].size;
    } else {
      list->factors[expected[j].factor].kind = SHARD_FACTOR_WHOLE;
      right *= expected[j++].size;
    }
  }
}

static void bindPort(ShardRuleBuilder *b, FactorList *list, const ShardOpShape *shape,
                     const ShardPortShape *source, AtomRef *const *loopAtoms,
                     const int32_t *nLoopAtoms, ShardPort *port) {
  *port = (ShardPort){.value = shardRuleFindValue(b, source->value),
                      .operandIndex = source->operandIndex,
                      .user = source->user,
                      .userOperand = source->userOperand,
                      .slot = source->slot,
                      .init = source->init};
  const ShardValueInfo *info = &b->rules->values[port->value];
  int32_t *factors = SHARD_ARENA_ARRAY(b->arena, int32_t, info->nAtoms ? info->nAtoms : 1);
  for (int32_t a = 0; a < info->nAtoms; ++a)
    factors[a] = -1;
  port->factors = factors;
  if (shape->entry && (shape->entry->form == SHARD_OP_CALL || shape->entry->form == SHARD_OP_LOOP ||
                       shape->entry->form == SHARD_OP_RETURN))
    return;
  int32_t begin = 0;
  while (begin < info->nAtoms) {
    int32_t dim = info->atoms[begin].dim, end = begin;
    int64_t size = 1;
    while (end < info->nAtoms && info->atoms[end].dim == dim)
      size *= info->atoms[end++].size;
    const ShardDimExpr *expr = &source->dims[dim];
    AtomRef expected[SHARD_MAX_LOOPS];
    int32_t n = 0;
    if (expr->kind == SHARD_DIM_PRODUCT) {
      for (int32_t k = 0; k < expr->nLoops; ++k)
        for (int32_t a = 0; a < nLoopAtoms[expr->loops[k]] && n < SHARD_MAX_LOOPS; ++a)
          expected[n++] = loopAtoms[expr->loops[k]][a];
    } else if (expr->kind == SHARD_DIM_PREFIX) {
      int64_t product = 1;
      for (int32_t a = 0; a < nLoopAtoms[expr->loops[0]] && product < size; ++a) {
        expected[n] = loopAtoms[expr->loops[0]][a];
        product *= expected[n++].size;
      }
    }
    if (expr->kind == SHARD_DIM_GATHER) {
      for (int32_t a = begin; a < end; ++a) // only the major part of a table splits by rows
        factors[a] =
            addFactor(b, list,
                      (ShardFactor){.size = info->atoms[a].size,
                                    .klass = info->atoms[a].klass,
                                    .kind = a == begin ? SHARD_FACTOR_GATHER : SHARD_FACTOR_WHOLE,
                                    .combiner = SHARD_COMBINER_SUM,
                                    .loop = -1});
    } else {
      bindAtoms(b, list, n, expected, end - begin, info->atoms + begin, factors + begin);
    }
    begin = end;
  }
}

/// A factor may be split only if every port sees each of its loops' factors at most once and
/// results agree: in all results (parallel) or in none (reduction).
void shardRuleBindOp(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule) {
  FactorList list = {0};
  AtomRef *loopAtoms[SHARD_MAX_LOOPS];
  int32_t nLoopAtoms[SHARD_MAX_LOOPS];
  for (int32_t l = 0; l < shape->nLoops; ++l) {
    int32_t *leaves = NULL, n = 0;
    size_t capacity = 0;
    shardNodeAppendLeaves(b, shape->loops[l].node, &leaves, &n, &capacity);
    loopAtoms[l] = SHARD_ARENA_ARRAY(b->arena, AtomRef, n ? n : 1);
    nLoopAtoms[l] = n;
    for (int32_t a = 0; a < n; ++a) {
      int32_t klass = shardRuleClassOf(b, leaves[a]);
      int64_t size = b->nodes[shardNodeFind(b, leaves[a])].size;
      int32_t factor = addFactor(
          b, &list,
          (ShardFactor){.size = size,
                        .klass = klass,
                        .kind = shape->loops[l].whole ? SHARD_FACTOR_WHOLE : SHARD_FACTOR_PARALLEL,
                        .loop = shape->loops[l].real ? l : -1});
      loopAtoms[l][a] = (AtomRef){.klass = klass, .size = size, .factor = factor};
    }
  }
  rule->nOperands = shape->nOperands, rule->nResults = shape->nResults;
  rule->operands = SHARD_ARENA_ARRAY(b->arena, ShardPort, rule->nOperands ? rule->nOperands : 1);
  rule->results = SHARD_ARENA_ARRAY(b->arena, ShardPort, rule->nResults ? rule->nResults : 1);
  for (int32_t i = 0; i < shape->nOperands; ++i)
    bindPort(b, &list, shape, &shape->operands[i], loopAtoms, nLoopAtoms, &rule->operands[i]);
  for (int32_t i = 0; i < shape->nResults; ++i)
    bindPort(b, &list, shape, &shape->results[i], loopAtoms, nLoopAtoms, &rule->results[i]);
  rule->factors = list.factors, rule->nFactors = list.n;

  int32_t nLoopFactors = 0;
  for (int32_t l = 0; l < shape->nLoops; ++l)
    nLoopFactors += nLoopAtoms[l];
  if (rule->form != SHARD_OP_COMPUTE && rule->form != SHARD_OP_RESHAPE &&
      rule->form != SHARD_OP_SLICE)
    return;
  for (int32_t f = 0; f < nLoopFactors; ++f) {
    ShardFactor *factor = &rule->factors[f];
    if (factor->kind != SHARD_FACTOR_PARALLEL)
      continue;
    int32_t in = 0;
    for (int32_t r = 0; r < rule->nResults; ++r)
      for (int32_t a = 0; a < b->rules->values[rule->results[r].value].nAtoms; ++a)
        in += rule->results[r].factors[a] == f;
    if (in == 0)
      factor->kind = SHARD_FACTOR_REDUCTION;
    else if (in != rule->nResults)
      factor->kind = SHARD_FACTOR_WHOLE;
    if (in == 0 && factor->loop < 0)
      factor->kind = SHARD_FACTOR_WHOLE;
  }
  // A diagonal (a factor twice in one port) cannot be cut along both of its dimensions.
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
    const ShardPort *port = shardRulePort(rule, i);
    int32_t nAtoms = b->rules->values[port->value].nAtoms;
    for (int32_t a = 0; a < nAtoms; ++a)
      for (int32_t c = a + 1; c < nAtoms; ++c)
        if (port->factors[a] >= 0 && port->factors[a] == port->factors[c])
          rule->factors[port->factors[a]].kind = SHARD_FACTOR_WHOLE;
  }
}

static bool isLinalgBody(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "linalg") && mlirOperationGetNumRegions(op) == 1 &&
         mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)).ptr;
}

void shardRuleAnalyseOp(ShardRuleBuilder *b, const ShardOpShape *shape, ShardOpRule *rule) {
  MlirOperation op = rule->op;
  if (rule->form == SHARD_OP_RESHAPE || rule->form == SHARD_OP_SLICE) {
    rule->movement = true;
    uint32_t mask = 0;
    for (int32_t i = 0; i < rule->nOperands && i < 32; ++i)
      mask |= 1u << i;
    if (!shardOpIs(op, "tensor.pad") && rule->nOperands <= 32)
      shardRuleAddLinear(b, rule, mask);
    return;
  }
  if (rule->form != SHARD_OP_COMPUTE)
    return;
  if (isLinalgBody(op)) {
    shardRuleAnalyseBody(b, shape, rule);
  } else if (shardRuleIsOwn(op)) {
    shardRuleAnalyseOwn(b, rule);
  } else {
    for (int32_t f = 0; f < rule->nFactors; ++f)
      if (rule->factors[f].kind == SHARD_FACTOR_REDUCTION)
        rule->factors[f].kind = SHARD_FACTOR_WHOLE;
    if (shardOpIs(op, "arith.addf") || shardOpIs(op, "arith.subf"))
      shardRuleAddLinear(b, rule, 3);
    if (shardOpIs(op, "arith.mulf"))
      shardRuleAddLinear(b, rule, 1), shardRuleAddLinear(b, rule, 2);
    if (shardOpIs(op, "arith.negf") || shardOpIs(op, "arith.divf") || shardOpIs(op, "tensor.cast"))
      shardRuleAddLinear(b, rule, 1);
  }
  // Rows that a shard does not hold count as zero: right only where the element enters linearly.
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    bool linear = i < 32 && shardOpLinearSet(rule, 1u << i) == 1u << i;
    for (int32_t a = 0; a < b->rules->values[port->value].nAtoms; ++a)
      if (port->factors[a] >= 0 && rule->factors[port->factors[a]].kind == SHARD_FACTOR_GATHER &&
          !linear)
        rule->factors[port->factors[a]].kind = SHARD_FACTOR_WHOLE;
  }
  bool data = false;
  for (int32_t i = 0; i < rule->nOperands; ++i)
    data |= !(rule->operands[i].init && rule->unusedInit);
  bool whole = false;
  for (int32_t f = 0; f < rule->nFactors; ++f)
    whole |= rule->factors[f].kind == SHARD_FACTOR_WHOLE;
  rule->cheap = !data && !whole;
}

/// A loop by which an operand is read in turned order may be split on its major part only.
void shardRuleAnalyseRolls(ShardRuleBuilder *b, ShardOpRule *rule) {
  MlirAttribute maps = shardOpGetAttribute(rule->op, "indexing_maps");
  if (rule->form != SHARD_OP_COMPUTE || mlirAttributeIsNull(maps) ||
      !shardOpIs(rule->op, "linalg.generic"))
    return;
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    if (port->operandIndex < 0)
      continue;
    MlirAffineMap map =
        mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, port->operandIndex));
    for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
      ShardRoll roll;
      if (!shardRollRead(mlirAffineMapGetResult(map, d), &roll))
        continue;
      bool head = true;
      int64_t below = roll.extent;
      for (int32_t f = 0; f < rule->nFactors; ++f) {
        ShardFactor *factor = &rule->factors[f];
        if (factor->loop != roll.loop)
          continue;
        if (!head) {
          factor->kind = SHARD_FACTOR_WHOLE;
          continue;
        }
        head = false;
        below /= factor->size;
        int64_t least =
            roll.shift < roll.extent - roll.shift ? roll.shift : roll.extent - roll.shift;
        int64_t steps = (least + below - 1) / below; // of the major part
        factor->rolled += b->rules->values[port->value].bytes;
        factor->rollShift = steps > factor->rollShift ? steps : factor->rollShift;
      }
    }
  }
}

/// Whether every operand and result that the op indexes by the loop has the factor as the major
/// part of that dimension.
static bool headsEachDimension(ShardRuleBuilder *b, const ShardOpRule *rule, int32_t loop,
                               int32_t factor) {
  MlirAttribute maps = shardOpGetAttribute(rule->op, "indexing_maps");
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
    bool result = i >= rule->nOperands;
    const ShardPort *port = result ? &rule->results[i - rule->nOperands] : &rule->operands[i];
    if (port->operandIndex < 0)
      return false;
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(
        maps, result ? nMaps - rule->nResults + port->operandIndex : port->operandIndex));
    const ShardValueInfo *info = &b->rules->values[port->value];
    for (intptr_t d = 0; d < mlirAffineMapGetNumResults(map); ++d) {
      MlirAffineExpr expr = mlirAffineMapGetResult(map, d);
      if (!mlirAffineExprIsFunctionOfDim(expr, loop))
        continue;
      int32_t head = 0;
      while (head < info->nAtoms && info->atoms[head].dim != d)
        ++head;
      if (!mlirAffineExprIsADim(expr) || head == info->nAtoms || port->factors[head] != factor)
        return false;
    }
  }
  return true;
}

/// What runs along a dimension in order is whole in it, but for what Sequence.h knows to split.
void shardRuleAnalyseSequence(ShardRuleBuilder *b, ShardOpRule *rule) {
  ShardSequence sequence;
  if (rule->form != SHARD_OP_COMPUTE || rule->nResults != mlirOperationGetNumResults(rule->op) ||
      !shardSequenceRead(rule->op, b->arena, &sequence))
    return;
  int32_t head = 0;
  while (head < rule->nFactors && rule->factors[head].loop != sequence.loop)
    ++head;
  if (head == rule->nFactors || !headsEachDimension(b, rule, sequence.loop, head))
    return;
  ShardFactor *factor = &rule->factors[head];
  for (int32_t r = 0; r < rule->nResults; ++r) {
    const ShardValueInfo *info = &b->rules->values[rule->results[r].value];
    int64_t elementBytes = shardTypeElementBytes(mlirShapedTypeGetElementType(info->type));
    // Places are told in 32 bits.
    bool isPlace = sequence.kind == SHARD_SEQUENCE_CHOICE      ? sequence.isPlace[r]
                   : sequence.kind == SHARD_SEQUENCE_SELECTION ? r == sequence.selection.nTensors
                                                               : false;
    bool told = sequence.kind == SHARD_SEQUENCE_SCAN        ? r == sequence.running
                : sequence.kind == SHARD_SEQUENCE_SELECTION ? r <= sequence.selection.nTensors
                                                            : true;
    if (told)
      factor->exchange +=
          isPlace && elementBytes > 4 ? info->bytes / elementBytes * 4 : info->bytes;
  }
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    bool along = false;
    for (int32_t a = 0; a < b->rules->values[port->value].nAtoms; ++a)
      along |= port->factors[a] == head;
    if (along && !port->init)
      factor->whole += b->rules->values[port->value].bytes;
  }
  factor->kind = sequence.kind == SHARD_SEQUENCE_SCAN ? SHARD_FACTOR_SCAN : SHARD_FACTOR_SELECT;
  factor->combiner = SHARD_COMBINER_NONE;
}
