//===- OwnRules.c - Rules that a user gives for ops ---------------*- C -*-===//

#include "OwnRules.h"
#include "RulesInternal.h"

#include "mlir-c/BuiltinAttributes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

typedef struct Parser {
  ShardArena *arena;
  const char *begin, *at, *end;
  const char *message;
  ShardOwnRule *rule;
  size_t capacityNames, capacitySizes;
} Parser;

static bool fail(Parser *p, const char *message) {
  if (!p->message)
    p->message = message;
  return false;
}

static void skipSpace(Parser *p) {
  while (p->at < p->end && isspace((unsigned char)*p->at))
    ++p->at;
}

static bool take(Parser *p, const char *token) {
  skipSpace(p);
  size_t n = strlen(token);
  if ((size_t)(p->end - p->at) < n || memcmp(p->at, token, n) != 0)
    return false;
  p->at += n;
  return true;
}

static bool isNameStart(char c) { return isalpha((unsigned char)c) || c == '_'; }

static MlirStringRef takeName(Parser *p) {
  skipSpace(p);
  const char *begin = p->at;
  if (p->at < p->end && isNameStart(*p->at))
    while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_'))
      ++p->at;
  return mlirStringRefCreate(begin, (size_t)(p->at - begin));
}

/// Number of a name; a new one is added if `add`, else -1.
static int32_t nameNumber(Parser *p, MlirStringRef name, bool add) {
  ShardOwnRule *rule = p->rule;
  for (int32_t i = 0; i < rule->nNames; ++i)
    if (shardStringIs(name, rule->names[i]))
      return i;
  if (!add)
    return -1;
  rule->names = shardArenaGrow(p->arena, rule->names, (size_t)rule->nNames, &p->capacityNames,
                               (size_t)rule->nNames + 1, sizeof(*rule->names));
  rule->sizes = shardArenaGrow(p->arena, rule->sizes, (size_t)rule->nNames, &p->capacitySizes,
                               (size_t)rule->nNames + 1, sizeof(*rule->sizes));
  rule->sizes[rule->nNames] = 0;
  rule->names[rule->nNames] = shardArenaCopyString(p->arena, name.data, name.length);
  return rule->nNames++;
}

static bool parseDim(Parser *p, ShardOwnDim *out) {
  int32_t *names = NULL, n = 0;
  size_t capacity = 0;
  do {
    MlirStringRef name = takeName(p);
    if (!name.length)
      return fail(p, "expected the name of a dimension, '_' or ')'");
    if (shardStringIs(name, "_")) {
      *out = (ShardOwnDim){0};
      return n == 0 || fail(p, "_ is no factor of a product");
    }
    names = shardArenaGrow(p->arena, names, (size_t)n, &capacity, (size_t)n + 1, sizeof(*names));
    names[n] = nameNumber(p, name, true);
    if (take(p, "=")) {
      int64_t size = 0;
      while (p->at < p->end && isdigit((unsigned char)*p->at) && size < INT32_MAX)
        size = 10 * size + (*p->at++ - '0');
      if (size == 0)
        return fail(p, "expected a size of at least 1");
      p->rule->sizes[names[n]] = size;
    }
    ++n;
  } while (take(p, "*"));
  *out = (ShardOwnDim){n, names};
  return true;
}

/// "(b d, d k)": ports, each a list of dimensions.
static bool parsePorts(Parser *p, int32_t *outCount, const ShardOwnPort **outPorts) {
  if (!take(p, "("))
    return fail(p, "expected '('");
  ShardOwnPort *ports = NULL;
  int32_t n = 0;
  size_t capacity = 0;
  do {
    ShardOwnDim *dims = NULL;
    int32_t rank = 0;
    size_t dimCapacity = 0;
    for (skipSpace(p); p->at < p->end && *p->at != ',' && *p->at != ')'; skipSpace(p)) {
      dims = shardArenaGrow(p->arena, dims, (size_t)rank, &dimCapacity, (size_t)rank + 1,
                            sizeof(*dims));
      if (!parseDim(p, &dims[rank++]))
        return false;
    }
    ports = shardArenaGrow(p->arena, ports, (size_t)n, &capacity, (size_t)n + 1, sizeof(*ports));
    ports[n++] = (ShardOwnPort){rank, dims};
  } while (take(p, ","));
  *outCount = n;
  *outPorts = ports;
  return take(p, ")") || fail(p, "expected ',' or ')'");
}

static ShardCombiner combinerNamed(MlirStringRef name) {
  for (int c = SHARD_COMBINER_SUM; c <= SHARD_COMBINER_OR; ++c)
    if (shardStringIs(name, shardCombinerName((ShardCombiner)c)))
      return (ShardCombiner)c;
  return SHARD_COMBINER_NONE;
}

static bool inResults(const ShardOwnRule *rule, int32_t name) {
  for (int32_t r = 0; r < rule->nResults; ++r)
    for (int32_t d = 0; d < rule->results[r].rank; ++d)
      for (int32_t k = 0; k < rule->results[r].dims[d].n; ++k)
        if (rule->results[r].dims[d].names[k] == name)
          return true;
  return false;
}

/// "sum d", "whole k", "pad 0".
static bool parseClause(Parser *p) {
  MlirStringRef word = takeName(p);
  ShardOwnRule *rule = p->rule;
  if (shardStringIs(word, "pad")) {
    char *after;
    skipSpace(p);
    char *text = shardArenaCopyString(p->arena, p->at, (size_t)(p->end - p->at));
    rule->pad = strtod(text, &after);
    rule->hasPad = after != text;
    p->at += after - text;
    return rule->hasPad || fail(p, "expected a number after 'pad'");
  }
  ShardCombiner combiner = combinerNamed(word);
  bool whole = shardStringIs(word, "whole");
  if (!whole && combiner == SHARD_COMBINER_NONE) {
    p->at = word.data;
    return fail(p, "expected sum, max, min, product, and, or, whole or pad");
  }
  MlirStringRef name = takeName(p);
  int32_t number = nameNumber(p, name, false);
  if (number < 0) {
    p->at = name.data;
    return fail(p, "expected the name of one of the dimensions");
  }
  if (whole) {
    rule->whole[number] = true;
    return true;
  }
  if (inResults(rule, number)) {
    p->at = name.data;
    return fail(p, "a dimension of a result is not reduced");
  }
  rule->combiners[number] = combiner;
  return true;
}

bool shardOwnRuleParse(MlirStringRef text, ShardArena *arena, ShardOwnRule *out,
                       const char **outMessage, size_t *outAt) {
  *out = (ShardOwnRule){0};
  Parser p = {.arena = arena, .begin = text.data, .at = text.data, .rule = out};
  p.end = text.data + text.length;
  bool ok = parsePorts(&p, &out->nOperands, &out->operands) &&
            (take(&p, "->") || fail(&p, "expected '->'")) &&
            parsePorts(&p, &out->nResults, &out->results);
  out->combiners = SHARD_ARENA_ARRAY(arena, ShardCombiner, out->nNames + 1);
  out->whole = SHARD_ARENA_ARRAY(arena, bool, out->nNames + 1);
  for (skipSpace(&p); ok && p.at < p.end; skipSpace(&p))
    ok = parseClause(&p);
  *outMessage = p.message;
  *outAt = (size_t)(p.at - p.begin);
  return ok;
}

//===----------------------------------------------------------------------===//
// An op against its rule
//===----------------------------------------------------------------------===//

const ShardOwnPort *shardOwnRulePort(const ShardOwnRule *rule, int32_t i) {
  return i < rule->nOperands ? &rule->operands[i] : &rule->results[i - rule->nOperands];
}

MlirType shardOwnRuleTypeOfPort(const ShardOwnRule *rule, MlirOperation op, int32_t i) {
  return mlirValueGetType(i < rule->nOperands ? mlirOperationGetOperand(op, i)
                                              : mlirOperationGetResult(op, i - rule->nOperands));
}

/// Sizes of single names (pass 0), then of the one unknown name of a product (pass 1); then checks.
static bool fitDim(const ShardOwnRule *rule, const ShardOwnDim *dim, int64_t size, int pass,
                   int64_t *sizes, ShardArena *arena, const char **outMessage) {
  int64_t product = 1;
  int32_t unknown = -1, nUnknown = 0;
  for (int32_t k = 0; k < dim->n; ++k) {
    if (sizes[dim->names[k]] > 0)
      product *= sizes[dim->names[k]];
    else
      unknown = dim->names[k], ++nUnknown;
  }
  if (size < 0 && !nUnknown)
    return true; // dynamic
  if (nUnknown == 1 && (pass > 0 || dim->n == 1) && size % product == 0) {
    sizes[unknown] = size / product;
    return true;
  }
  if (pass < 2 || dim->n == 0)
    return true;
  if (nUnknown) {
    *outMessage = shardArenaFormat(arena, "the size of '%s' does not follow", rule->names[unknown]);
    return false;
  }
  if (product == size)
    return true;
  *outMessage = shardArenaFormat(arena, "'%s' is %" PRId64 " and %" PRId64 " long",
                                 rule->names[dim->names[0]], product, size);
  return false;
}

bool shardOwnRuleFit(const ShardOwnRule *rule, MlirOperation op, ShardArena *arena, int64_t *sizes,
                     const char **outMessage) {
  if (mlirOperationGetNumOperands(op) != rule->nOperands ||
      mlirOperationGetNumResults(op) != rule->nResults) {
    *outMessage =
        shardArenaFormat(arena, "it has %d operands and %d results, its rule %d and %d",
                         (int)mlirOperationGetNumOperands(op), (int)mlirOperationGetNumResults(op),
                         (int)rule->nOperands, (int)rule->nResults);
    return false;
  }
  for (int32_t i = 0; i < rule->nNames; ++i)
    sizes[i] = rule->sizes[i];
  for (int pass = 0; pass < 3; ++pass)
    for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
      const ShardOwnPort *port = shardOwnRulePort(rule, i);
      MlirType type = shardOwnRuleTypeOfPort(rule, op, i);
      int64_t rank = mlirTypeIsARankedTensor(type) ? mlirShapedTypeGetRank(type) : 0;
      if (rank != port->rank) {
        *outMessage = shardArenaFormat(arena, "%s %d has %d dimensions, in its rule %d",
                                       i < rule->nOperands ? "operand" : "result",
                                       (int)(i < rule->nOperands ? i : i - rule->nOperands),
                                       (int)rank, (int)port->rank);
        return false;
      }
      for (int32_t d = 0; d < port->rank; ++d)
        if (!fitDim(rule, &port->dims[d], mlirShapedTypeGetDimSize(type, d), pass, sizes, arena,
                    outMessage))
          return false;
    }
  return true;
}

bool shardOwnRuleSplits(const ShardOwnRule *rule, int32_t name) {
  return !rule->whole[name] &&
         (inResults(rule, name) || rule->combiners[name] != SHARD_COMBINER_NONE);
}

MlirType shardOwnRuleLocalType(const ShardOwnRule *rule, int32_t port, MlirType type,
                               const int64_t *sizes, ShardArena *arena) {
  const ShardOwnPort *own = shardOwnRulePort(rule, port);
  if (!mlirTypeIsARankedTensor(type))
    return type;
  int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, own->rank + 1);
  for (int32_t d = 0; d < own->rank; ++d) {
    shape[d] = own->dims[d].n ? 1 : mlirShapedTypeGetDimSize(type, d);
    for (int32_t k = 0; k < own->dims[d].n; ++k)
      shape[d] *= sizes[own->dims[d].names[k]];
  }
  return shardTensorWithShape(type, own->rank, shape);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

static bool readRule(MlirOperation op, ShardArena *arena, ShardOwnRule *rule, int64_t **sizes) {
  MlirAttribute text = shardOpGetAttribute(op, SHARD_OWN_RULE);
  const char *message;
  size_t at;
  if (mlirAttributeIsNull(text) || !mlirAttributeIsAString(text) ||
      !shardOwnRuleParse(mlirStringAttrGetValue(text), arena, rule, &message, &at))
    return false;
  *sizes = SHARD_ARENA_ARRAY(arena, int64_t, rule->nNames + 1);
  return shardOwnRuleFit(rule, op, arena, *sizes, &message);
}

bool shardRuleIsOwn(MlirOperation op) {
  return !mlirAttributeIsNull(shardOpGetAttribute(op, SHARD_OWN_RULE));
}

bool shardOwnRuleRefine(MlirOperation op, ShardArena *arena) {
  ShardOwnRule rule;
  int64_t *sizes;
  if (!readRule(op, arena, &rule, &sizes))
    return false;
  for (int32_t r = 0; r < rule.nResults; ++r) {
    MlirValue result = mlirOperationGetResult(op, r);
    MlirType type = mlirValueGetType(result);
    int64_t *shape = SHARD_ARENA_ARRAY(arena, int64_t, rule.results[r].rank + 1);
    for (int32_t d = 0; d < rule.results[r].rank; ++d) {
      const ShardOwnDim *dim = &rule.results[r].dims[d];
      int64_t product = 1;
      bool known = dim->n > 0 && mlirShapedTypeIsDynamicDim(type, d);
      for (int32_t k = 0; k < dim->n; ++k) {
        known &= sizes[dim->names[k]] > 0;
        product *= known ? sizes[dim->names[k]] : 1;
      }
      shape[d] = known ? product : mlirShapedTypeGetDimSize(type, d);
    }
    if (rule.results[r].rank > 0)
      mlirValueSetType(result, shardTensorWithShape(type, rule.results[r].rank, shape));
  }
  return true;
}

/// A loop a name, in order.
void shardRuleDescribeOwn(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  ShardOwnRule rule;
  int64_t *sizes;
  shardRuleAddAllPorts(b, op, shape);
  if (!readRule(op, b->arena, &rule, &sizes) || rule.nNames > SHARD_MAX_LOOPS)
    return;
  for (int32_t i = 0; i < rule.nNames; ++i)
    shardRuleAddLoop(b, shape, sizes[i], rule.whole[i], true);
  for (int32_t i = 0; i < shape->nOperands + shape->nResults; ++i) {
    bool result = i >= shape->nOperands;
    ShardPortShape *port = result ? &shape->results[i - shape->nOperands] : &shape->operands[i];
    const ShardOwnPort *own =
        result ? &rule.results[port->operandIndex] : &rule.operands[port->operandIndex];
    for (int32_t d = 0; d < own->rank; ++d)
      if (own->dims[d].n)
        port->dims[d] = (ShardDimExpr){.kind = SHARD_DIM_PRODUCT,
                                       .nLoops = own->dims[d].n,
                                       .loops = (int32_t *)own->dims[d].names};
  }
}

void shardRuleAnalyseOwn(ShardRuleBuilder *b, ShardOpRule *rule) {
  ShardOwnRule own;
  int64_t *sizes;
  bool ok = readRule(rule->op, b->arena, &own, &sizes);
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    ShardFactor *factor = &rule->factors[f];
    if (factor->kind != SHARD_FACTOR_REDUCTION)
      continue;
    factor->combiner = ok && factor->loop >= 0 ? own.combiners[factor->loop] : SHARD_COMBINER_NONE;
    if (factor->combiner == SHARD_COMBINER_NONE)
      factor->kind = SHARD_FACTOR_WHOLE;
  }
}
