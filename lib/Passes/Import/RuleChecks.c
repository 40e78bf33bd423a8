//===- RuleChecks.c - A program that shows whether rules hold -----*- C -*-===//
// Of every op with a rule and a body: its results, and for each clause of the rule the same results
// put together from two parts along that dimension. Written as text, which MLIR reads.
//===----------------------------------------------------------------------===//
#include "../Analysis/OwnRules.h"
#include "../Core/Insert.h"
#include "../Core/Text.h"

#include "shard/Pipelines.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct RuleChecks {
  ShardArena *arena;
  ShardText arguments, ops, results, returned, types; // results: types with attributes
  int32_t nValues, nArguments, nResults;
} RuleChecks;

/// One op that is checked.
typedef struct CheckedOp {
  MlirOperation op;
  ShardOwnRule rule;
  int64_t *sizes;    // [rule.nNames]
  int32_t *operands; // values, [rule.nOperands]
  int32_t whole;     // number of the first of its whole results
} CheckedOp;

static void say(ShardText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(ShardText *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *part = shardArenaAllocate(text->arena, (size_t)length + 1);
  vsnprintf(part, (size_t)length + 1, format, again);
  va_end(again);
  va_end(arguments);
  shardTextAppend(mlirStringRefCreate(part, (size_t)length), text);
}

static void sayList(ShardText *text, int32_t n, const int64_t *numbers) {
  say(text, "[");
  for (int32_t i = 0; i < n; ++i)
    say(text, "%s%" PRId64, i ? ", " : "", numbers[i]);
  say(text, "]");
}

//===----------------------------------------------------------------------===//
// Views: a tensor with a dimension for each name of a product
//===----------------------------------------------------------------------===//

typedef struct View {
  int32_t rank;
  int64_t *shape;
  int32_t *names; // [rank] -1: none
} View;

static View viewOf(const RuleChecks *c, const CheckedOp *checked, int32_t port,
                   const int64_t *sizes) {
  const ShardOwnPort *own = shardOwnRulePort(&checked->rule, port);
  MlirType type = shardOwnRuleTypeOfPort(&checked->rule, checked->op, port);
  View view = {0};
  for (int32_t d = 0; d < own->rank; ++d)
    view.rank += own->dims[d].n ? own->dims[d].n : 1;
  view.shape = SHARD_ARENA_ARRAY(c->arena, int64_t, view.rank + 1);
  view.names = SHARD_ARENA_ARRAY(c->arena, int32_t, view.rank + 1);
  int32_t at = 0;
  for (int32_t d = 0; d < own->rank; ++d) {
    if (!own->dims[d].n) {
      view.names[at] = -1;
      view.shape[at++] = mlirShapedTypeGetDimSize(type, d);
    }
    for (int32_t k = 0; k < own->dims[d].n; ++k) {
      view.names[at] = own->dims[d].names[k];
      view.shape[at++] = sizes[own->dims[d].names[k]];
    }
  }
  return view;
}

static const char *typeText(const RuleChecks *c, MlirType tensor, int32_t rank,
                            const int64_t *shape) {
  return shardTypeText(shardTensorWithShape(tensor, rank, shape), c->arena);
}

static void sayGroups(ShardText *text, const ShardOwnPort *own) {
  int32_t at = 0;
  say(text, "[");
  for (int32_t d = 0; d < own->rank; ++d) {
    say(text, d ? ", [" : "[");
    for (int32_t k = 0; k < (own->dims[d].n ? own->dims[d].n : 1); ++k)
      say(text, "%s%d", k ? ", " : "", (int)at++);
    say(text, "]");
  }
  say(text, "]");
}

/// A value of the port, with the names' `sizes`, seen in the view (or back).
static int32_t reshape(RuleChecks *c, const CheckedOp *checked, int32_t port, int32_t value,
                       const int64_t *sizes, bool expands) {
  const ShardOwnPort *own = shardOwnRulePort(&checked->rule, port);
  View view = viewOf(c, checked, port, sizes);
  if (view.rank == own->rank)
    return value;
  MlirType type = shardOwnRuleTypeOfPort(&checked->rule, checked->op, port);
  const char *plain =
      shardTypeText(shardOwnRuleLocalType(&checked->rule, port, type, sizes, c->arena), c->arena);
  const char *seen = typeText(c, type, view.rank, view.shape);
  say(&c->ops, "  %%v%d = tensor.%s %%v%d ", (int)c->nValues,
      expands ? "expand_shape" : "collapse_shape", (int)value);
  sayGroups(&c->ops, own);
  if (expands) {
    say(&c->ops, " output_shape ");
    sayList(&c->ops, view.rank, view.shape);
  }
  say(&c->ops, " : %s into %s\n", expands ? plain : seen, expands ? seen : plain);
  return c->nValues++;
}

//===----------------------------------------------------------------------===//
// Parts of operands
//===----------------------------------------------------------------------===//

static int32_t countName(const View *view, int32_t name) {
  int32_t n = 0;
  for (int32_t d = 0; d < view->rank; ++d)
    n += view->names[d] == name;
  return n;
}

/// `part`, but for `name` all of it, are the sizes of what is taken, from `begin` on.
static int32_t takePart(RuleChecks *c, const CheckedOp *checked, int32_t port, int32_t name,
                        int64_t begin, const int64_t *part) {
  View whole = viewOf(c, checked, port, checked->sizes), taken = viewOf(c, checked, port, part);
  int32_t value = checked->operands[port];
  if (countName(&whole, name) == 0)
    return value;
  MlirType type = shardOwnRuleTypeOfPort(&checked->rule, checked->op, port);
  int64_t *offsets = SHARD_ARENA_ARRAY(c->arena, int64_t, whole.rank);
  int64_t *strides = SHARD_ARENA_ARRAY(c->arena, int64_t, whole.rank);
  for (int32_t d = 0; d < whole.rank; ++d) {
    offsets[d] = whole.names[d] == name ? begin : 0;
    strides[d] = 1;
  }
  value = reshape(c, checked, port, value, checked->sizes, true);
  say(&c->ops, "  %%v%d = tensor.extract_slice %%v%d", (int)c->nValues, (int)value);
  sayList(&c->ops, whole.rank, offsets);
  say(&c->ops, " ");
  sayList(&c->ops, whole.rank, taken.shape);
  say(&c->ops, " ");
  sayList(&c->ops, whole.rank, strides);
  say(&c->ops, " : %s to %s\n", typeText(c, type, whole.rank, whole.shape),
      typeText(c, type, whole.rank, taken.shape));
  return reshape(c, checked, port, c->nValues++, part, false);
}

/// An operand one longer along `name`, with the rule's padding there.
static int32_t padPart(RuleChecks *c, const CheckedOp *checked, int32_t port, int32_t name,
                       const int64_t *part) {
  View whole = viewOf(c, checked, port, checked->sizes), longer = viewOf(c, checked, port, part);
  int32_t value = checked->operands[port];
  if (countName(&whole, name) == 0)
    return value;
  MlirType type = shardOwnRuleTypeOfPort(&checked->rule, checked->op, port);
  MlirType element = mlirShapedTypeGetElementType(type);
  int64_t *low = SHARD_ARENA_ARRAY(c->arena, int64_t, whole.rank);
  int64_t *high = SHARD_ARENA_ARRAY(c->arena, int64_t, whole.rank);
  for (int32_t d = 0; d < whole.rank; ++d)
    high[d] = whole.names[d] == name;
  value = reshape(c, checked, port, value, checked->sizes, true);
  int32_t number = c->nValues++;
  say(&c->ops, "  %%v%d = arith.constant %s\n", (int)number,
      shardAttributeText(shardAttrNumber(element, checked->rule.pad), c->arena));
  say(&c->ops, "  %%v%d = tensor.pad %%v%d low", (int)c->nValues, (int)value);
  sayList(&c->ops, whole.rank, low);
  say(&c->ops, " high");
  sayList(&c->ops, whole.rank, high);
  say(&c->ops, " {\n  ^bb0(");
  for (int32_t d = 0; d < whole.rank; ++d)
    say(&c->ops, "%s%%i%d: index", d ? ", " : "", (int)d);
  say(&c->ops, "):\n    tensor.yield %%v%d : %s\n  } : %s to %s\n", (int)number,
      shardTypeText(element, c->arena), typeText(c, type, whole.rank, whole.shape),
      typeText(c, type, whole.rank, longer.shape));
  return reshape(c, checked, port, c->nValues++, part, false);
}

//===----------------------------------------------------------------------===//
// The op on parts
//===----------------------------------------------------------------------===//

/// Attributes of the model and the rule, without what else the passes put there.
static const char *attributesText(const RuleChecks *c, MlirOperation op) {
  intptr_t n = mlirOperationGetNumAttributes(op), kept = 0;
  MlirNamedAttribute *list = SHARD_ARENA_ARRAY(c->arena, MlirNamedAttribute, n + 1);
  for (intptr_t i = 0; i < n; ++i) {
    MlirNamedAttribute attribute = mlirOperationGetAttribute(op, i);
    MlirStringRef name = mlirIdentifierStr(attribute.name);
    if (name.length < 5 || memcmp(name.data, "spmd.", 5) != 0 ||
        shardStringIs(name, SHARD_OWN_RULE))
      list[kept++] = attribute;
  }
  return shardAttributeText(mlirDictionaryAttrGet(mlirOperationGetContext(op), kept, list),
                            c->arena);
}

/// The op on operands whose names have `sizes`: values of its results, [rule.nResults], as tensors.
static int32_t *sayOp(RuleChecks *c, const CheckedOp *checked, const int32_t *operands,
                      const int64_t *sizes) {
  const ShardOwnRule *rule = &checked->rule;
  MlirStringRef name = shardOpGetName(checked->op);
  int32_t *results = SHARD_ARENA_ARRAY(c->arena, int32_t, rule->nResults);
  int32_t made = c->nValues++;
  say(&c->ops, "  %%v%d:%d = \"%.*s\"(", (int)made, (int)rule->nResults, (int)name.length,
      name.data);
  for (int32_t i = 0; i < rule->nOperands; ++i)
    say(&c->ops, "%s%%v%d", i ? ", " : "", (int)operands[i]);
  say(&c->ops, ") %s : (", attributesText(c, checked->op));
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
    MlirType type = shardOwnRuleTypeOfPort(rule, checked->op, i);
    say(&c->ops, "%s%s",
        i == rule->nOperands ? ") -> ("
        : i                  ? ", "
                             : "",
        shardTypeText(shardOwnRuleLocalType(rule, i, type, sizes, c->arena), c->arena));
  }
  say(&c->ops, ")\n");
  for (int32_t r = 0; r < rule->nResults; ++r) {
    MlirType type = shardOwnRuleTypeOfPort(rule, checked->op, rule->nOperands + r);
    type = shardOwnRuleLocalType(rule, rule->nOperands + r, type, sizes, c->arena);
    bool tensor = mlirTypeIsARankedTensor(type);
    const char *text = shardTypeText(type, c->arena);
    results[r] = c->nValues++;
    if (tensor) // gives the result a number of its own
      say(&c->ops, "  %%v%d = tensor.cast %%v%d#%d : %s to %s\n", (int)results[r], (int)made,
          (int)r, text, text);
    else
      say(&c->ops, "  %%v%d = tensor.from_elements %%v%d#%d : tensor<%s>\n", (int)results[r],
          (int)made, (int)r, text);
  }
  return results;
}

static const char *resultTypeText(const RuleChecks *c, const CheckedOp *checked, int32_t r) {
  MlirType type = shardOwnRuleTypeOfPort(&checked->rule, checked->op, checked->rule.nOperands + r);
  const char *text = shardTypeText(type, c->arena);
  return mlirTypeIsARankedTensor(type) ? text : shardArenaFormat(c->arena, "tensor<%s>", text);
}

/// Returns a value that must equal result `r` because of `clause`; null: it is the whole result.
static void give(RuleChecks *c, const CheckedOp *checked, int32_t r, int32_t value,
                 const char *clause) {
  MlirStringRef name = shardOpGetName(checked->op);
  const char *type = resultTypeText(c, checked, r), *comma = c->nResults++ ? ", " : "";
  say(&c->returned, "%s%%v%d", comma, (int)value);
  say(&c->types, "%s%s", comma, type);
  say(&c->results, "%s%s", comma, type);
  if (clause)
    say(&c->results,
        " {spmd.clause = \"%s\", spmd.op = \"%.*s\", spmd.op_result = %d : i64, "
        "spmd.whole = %d : i64}",
        clause, (int)name.length, name.data, (int)r, (int)(checked->whole + r));
}

static const char *combinerOp(ShardCombiner combiner, MlirType element) {
  bool whole = mlirTypeIsAInteger(element) || mlirTypeIsAIndex(element);
  switch (combiner) {
  case SHARD_COMBINER_SUM:
    return whole ? "arith.addi" : "arith.addf";
  case SHARD_COMBINER_MAX:
    return whole ? "arith.maxsi" : "arith.maximumf";
  case SHARD_COMBINER_MIN:
    return whole ? "arith.minsi" : "arith.minimumf";
  case SHARD_COMBINER_PRODUCT:
    return whole ? "arith.muli" : "arith.mulf";
  case SHARD_COMBINER_AND:
    return whole ? "arith.andi" : NULL;
  case SHARD_COMBINER_OR:
    return whole ? "arith.ori" : NULL;
  default:
    return NULL;
  }
}

/// Result r from what it is on two parts.
static void join(RuleChecks *c, const CheckedOp *checked, int32_t r, int32_t name,
                 const int32_t parts[2], int64_t *const sizes[2], const char *clause) {
  const ShardOwnRule *rule = &checked->rule;
  int32_t port = rule->nOperands + r;
  View whole = viewOf(c, checked, port, checked->sizes);
  MlirType type = shardOwnRuleTypeOfPort(rule, checked->op, port);
  MlirType element = mlirTypeIsARankedTensor(type) ? mlirShapedTypeGetElementType(type) : type;
  if (countName(&whole, name)) {
    int32_t dim = 0, seen[2];
    while (whole.names[dim] != name)
      ++dim;
    for (int p = 0; p < 2; ++p)
      seen[p] = reshape(c, checked, port, parts[p], sizes[p], true);
    View left = viewOf(c, checked, port, sizes[0]), right = viewOf(c, checked, port, sizes[1]);
    int32_t joined = c->nValues++;
    say(&c->ops, "  %%v%d = tensor.concat dim(%d) %%v%d, %%v%d : (%s, %s) -> %s\n", (int)joined,
        (int)dim, (int)seen[0], (int)seen[1], typeText(c, type, whole.rank, left.shape),
        typeText(c, type, whole.rank, right.shape), typeText(c, type, whole.rank, whole.shape));
    give(c, checked, r, reshape(c, checked, port, joined, checked->sizes, false), clause);
    return;
  }
  const char *combiner = combinerOp(rule->combiners[name], element);
  if (!combiner) { // parallel in another result: either part must give all of this one
    give(c, checked, r, parts[0], clause);
    give(c, checked, r, parts[1], clause);
    return;
  }
  say(&c->ops, "  %%v%d = %s %%v%d, %%v%d : %s\n", (int)c->nValues, combiner, (int)parts[0],
      (int)parts[1], resultTypeText(c, checked, r));
  give(c, checked, r, c->nValues++, clause);
}

static int64_t *sizesWith(const RuleChecks *c, const CheckedOp *checked, int32_t name,
                          int64_t size) {
  int64_t *sizes = SHARD_ARENA_ARRAY(c->arena, int64_t, checked->rule.nNames);
  memcpy(sizes, checked->sizes, (size_t)checked->rule.nNames * sizeof *sizes);
  sizes[name] = size;
  return sizes;
}

/// A name that stands twice in one place is not split there.
static bool standsTwice(const RuleChecks *c, const CheckedOp *checked, int32_t name) {
  bool twice = false;
  for (int32_t i = 0; i < checked->rule.nOperands + checked->rule.nResults; ++i) {
    View view = viewOf(c, checked, i, checked->sizes);
    twice |= countName(&view, name) > 1;
  }
  return twice;
}

static void checkName(RuleChecks *c, const CheckedOp *checked, int32_t name) {
  const ShardOwnRule *rule = &checked->rule;
  int64_t size = checked->sizes[name], first = (size + 1) / 2;
  if (size < 2 || !shardOwnRuleSplits(rule, name) || standsTwice(c, checked, name))
    return;
  bool reduced = rule->combiners[name] != SHARD_COMBINER_NONE;
  int64_t *sizes[2] = {sizesWith(c, checked, name, first),
                       sizesWith(c, checked, name, size - first)};
  const int32_t *results[2];
  int32_t *operands = SHARD_ARENA_ARRAY(c->arena, int32_t, rule->nOperands);
  for (int p = 0; p < 2; ++p) {
    for (int32_t i = 0; i < rule->nOperands; ++i)
      operands[i] = takePart(c, checked, i, name, p ? first : 0, sizes[p]);
    results[p] = sayOp(c, checked, operands, sizes[p]);
  }
  const char *clause =
      reduced ? shardArenaFormat(c->arena, "%s %s", shardCombinerName(rule->combiners[name]),
                                 rule->names[name])
              : rule->names[name];
  for (int32_t r = 0; r < rule->nResults; ++r) {
    int32_t parts[2] = {results[0][r], results[1][r]};
    join(c, checked, r, name, parts, sizes, clause);
  }
  if (!reduced || !rule->hasPad)
    return;
  int64_t *longer = sizesWith(c, checked, name, size + 1);
  for (int32_t i = 0; i < rule->nOperands; ++i)
    operands[i] = padPart(c, checked, i, name, longer);
  const int32_t *padded = sayOp(c, checked, operands, longer);
  for (int32_t r = 0; r < rule->nResults; ++r)
    give(c, checked, r, padded[r], shardArenaFormat(c->arena, "pad %g", rule->pad));
}

static void checkOp(RuleChecks *c, CheckedOp *checked) {
  const ShardOwnRule *rule = &checked->rule;
  checked->operands = SHARD_ARENA_ARRAY(c->arena, int32_t, rule->nOperands);
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    MlirType type = shardOwnRuleTypeOfPort(rule, checked->op, i);
    const char *text = shardTypeText(type, c->arena);
    bool tensor = mlirTypeIsARankedTensor(type);
    int32_t value = c->nValues++;
    say(&c->arguments, tensor ? "%s%%v%d: %s" : "%s%%v%d: tensor<%s>", c->nArguments++ ? ", " : "",
        (int)value, text);
    if (!tensor)
      say(&c->ops, "  %%v%d = tensor.extract %%v%d[] : tensor<%s>\n", (int)c->nValues, (int)value,
          text);
    checked->operands[i] = tensor ? value : c->nValues++;
  }
  const int32_t *results = sayOp(c, checked, checked->operands, checked->sizes);
  checked->whole = c->nResults;
  for (int32_t r = 0; r < rule->nResults; ++r)
    give(c, checked, r, results[r], NULL);
  for (int32_t n = 0; n < rule->nNames; ++n)
    checkName(c, checked, n);
}

//===----------------------------------------------------------------------===//
// The ops of a module
//===----------------------------------------------------------------------===//

static bool hasRule(MlirOperation op) {
  return !mlirAttributeIsNull(shardOpGetAttribute(op, SHARD_OWN_RULE)) &&
         mlirOperationGetNumRegions(op) == 0;
}

/// An op of the same name, types and attributes.
static bool isLike(const RuleChecks *c, const CheckedOp *a, MlirOperation b) {
  bool like = mlirStringRefEqual(shardOpGetName(a->op), shardOpGetName(b)) &&
              strcmp(attributesText(c, a->op), attributesText(c, b)) == 0;
  for (int32_t i = 0; i < a->rule.nOperands + a->rule.nResults && like; ++i)
    like = mlirTypeEqual(shardOwnRuleTypeOfPort(&a->rule, a->op, i),
                         shardOwnRuleTypeOfPort(&a->rule, b, i));
  return like;
}

/// Reads the rule of an op; false if it has no body, or there is one like it.
static bool readOp(const RuleChecks *c, MlirOperation op, MlirAttribute bodies, size_t nChecked,
                   const CheckedOp *checked, CheckedOp *out) {
  const char *message;
  size_t at;
  *out = (CheckedOp){.op = op};
  MlirAttribute text = shardOpGetAttribute(op, SHARD_OWN_RULE);
  if (mlirAttributeIsNull(mlirDictionaryAttrGetElementByName(bodies, shardOpGetName(op))) ||
      !shardOwnRuleParse(mlirStringAttrGetValue(text), c->arena, &out->rule, &message, &at))
    return false;
  out->sizes = SHARD_ARENA_ARRAY(c->arena, int64_t, out->rule.nNames + 1);
  if (!shardOwnRuleFit(&out->rule, op, c->arena, out->sizes, &message))
    return false;
  for (size_t i = 0; i < nChecked; ++i)
    if (isLike(c, &checked[i], op))
      return false;
  return true;
}

/// Each body once: several ops may have the same.
static void sayBodies(ShardText *text, MlirAttribute bodies) {
  for (intptr_t i = 0, n = mlirDictionaryAttrGetNumElements(bodies); i < n; ++i) {
    MlirAttribute body = mlirDictionaryAttrGetElement(bodies, i).attribute;
    bool said = false;
    for (intptr_t k = 0; k < i; ++k)
      said |= mlirAttributeEqual(mlirDictionaryAttrGetElement(bodies, k).attribute, body);
    if (!said)
      shardTextAppend(mlirStringAttrGetValue(body), text);
    say(text, "\n");
  }
}

MlirModule shardModuleCreateRuleChecks(MlirOperation module, const char *function) {
  RuleChecks checks = {.arena = shardArenaCreate()}, *c = &checks;
  c->arguments.arena = c->ops.arena = c->results.arena = c->arena;
  c->returned.arena = c->types.arena = c->arena;
  MlirModule none = {NULL};
  MlirAttribute bodies = shardOpGetAttribute(module, SHARD_OWN_BODIES);
  ShardOpList list = {.arena = c->arena};
  if (!mlirAttributeIsNull(bodies))
    shardOpListCollect(&list, module, NULL, hasRule);
  CheckedOp *checked = SHARD_ARENA_ARRAY(c->arena, CheckedOp, list.nOps + 1);
  size_t nChecked = 0;
  for (size_t i = 0; i < list.nOps; ++i)
    if (readOp(c, list.ops[i], bodies, nChecked, checked, &checked[nChecked]))
      checkOp(c, &checked[nChecked++]);
  if (nChecked) {
    ShardText text = {.arena = c->arena};
    say(&text, "func.func @%s(%s) -> (%s) {\n%s  return %s : %s\n}\n", function,
        c->arguments.data ? c->arguments.data : "", c->results.data, c->ops.data, c->returned.data,
        c->types.data);
    sayBodies(&text, bodies);
    none = mlirModuleCreateParse(mlirOperationGetContext(module),
                                 mlirStringRefCreate(text.data, text.length));
  }
  shardArenaDestroy(c->arena);
  return none;
}
