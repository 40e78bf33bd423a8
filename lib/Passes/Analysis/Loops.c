//===- Loops.c - Loops and branches as calls of their bodies ------*- C -*-===//
// shard-import makes each region of an scf.for, scf.if or scf.while a call. A slot is what has one
// placement: a carried value with its init, its argument in each body, what the body hands back and
// the op's result; or a value that a body uses from outside.
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

static MlirOperation callOf(MlirRegion region) {
  MlirOperation none = {NULL};
  MlirBlock block = mlirRegionGetFirstBlock(region);
  if (!block.ptr || mlirBlockGetNextInRegion(block).ptr)
    return none;
  MlirOperation call = mlirBlockGetFirstOperation(block);
  bool alone = call.ptr && shardOpIs(call, "func.call") &&
               mlirOperationEqual(mlirOperationGetNextInBlock(call), mlirBlockGetTerminator(block));
  return alone ? call : none;
}

/// Whether a region is a call and hands back what the call gives, in order.
static bool isCallOnly(MlirRegion region) {
  MlirOperation call = callOf(region);
  if (!call.ptr)
    return false;
  MlirOperation end = mlirOperationGetNextInBlock(call);
  if (mlirOperationGetNumOperands(end) != mlirOperationGetNumResults(call))
    return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i)
    if (!mlirValueEqual(mlirOperationGetOperand(end, i), mlirOperationGetResult(call, i)))
      return false;
  return true;
}

bool shardRuleIsLoop(MlirOperation op) {
  intptr_t n = mlirOperationGetNumRegions(op);
  if (!(shardOpIs(op, "scf.for") || shardOpIs(op, "scf.if") || shardOpIs(op, "scf.while")) ||
      n > SHARD_MAX_BODIES)
    return false;
  for (intptr_t g = 0; g < n; ++g)
    if (!isCallOnly(mlirOperationGetRegion(op, g)))
      return false;
  return true;
}

/// The number of the region's block argument that a value is, or -1.
static intptr_t blockArgument(MlirRegion region, MlirValue value) {
  return mlirValueIsABlockArgument(value) &&
                 mlirBlockEqual(mlirBlockArgumentGetOwner(value), mlirRegionGetFirstBlock(region))
             ? mlirBlockArgumentGetArgNumber(value)
             : -1;
}

/// The slot of block argument `k` of a region, or of what the region hands back; -1: a scalar's.
/// Slots of carried values come first: those of the inits, then those of scf.while's results.
typedef struct Layout {
  bool isFor, isWhile;
  intptr_t nInits, nResults;
} Layout;

static int32_t slotOfArgument(const Layout *l, intptr_t region, intptr_t k) {
  if (l->isFor)
    return (int32_t)k - 1;
  if (l->isWhile)
    return (int32_t)(region == 0 ? k : l->nInits + k);
  return -1;
}

static int32_t slotOfYield(const Layout *l, intptr_t region, intptr_t k) {
  if (l->isWhile && region == 0)
    return k == 0 ? -1 : (int32_t)(l->nInits + k - 1); // the first is the condition
  return (int32_t)k;
}

void shardRuleDescribeLoop(ShardRuleBuilder *b, MlirOperation op, ShardOpShape *shape) {
  if (!shardRuleIsLoop(op)) {
    shardRuleDescribeWhole(b, op, shape);
    return;
  }
  Layout l = {.isFor = shardOpIs(op, "scf.for"), .isWhile = shardOpIs(op, "scf.while")};
  intptr_t firstInit = l.isFor ? 3 : 0, nRegions = mlirOperationGetNumRegions(op);
  l.nResults = mlirOperationGetNumResults(op);
  l.nInits = l.isFor || l.isWhile ? mlirOperationGetNumOperands(op) - firstInit : l.nResults;
  int32_t nSlots = (int32_t)(l.nInits + (l.isWhile ? l.nResults : 0));
  shardRuleAddAllPorts(b, op, shape);
  for (int32_t p = 0; p < shape->nOperands; ++p)
    shape->operands[p].slot = (int32_t)(shape->operands[p].operandIndex - firstInit);
  for (int32_t r = 0; r < shape->nResults; ++r)
    shape->results[r].slot = (int32_t)(shape->results[r].operandIndex + (l.isWhile ? l.nInits : 0));
  shape->nBodies = (int32_t)nRegions;
  for (intptr_t g = 0; g < nRegions; ++g) {
    MlirRegion region = mlirOperationGetRegion(op, g);
    ShardBody *body = &shape->bodies[g];
    body->call = callOf(region);
    intptr_t n = mlirOperationGetNumOperands(body->call);
    intptr_t nBack = mlirOperationGetNumResults(body->call);
    body->argumentSlots = SHARD_ARENA_ARRAY(b->arena, int32_t, n ? n : 1);
    body->resultSlots = SHARD_ARENA_ARRAY(b->arena, int32_t, nBack ? nBack : 1);
    for (intptr_t i = 0; i < n; ++i) {
      MlirValue value = mlirOperationGetOperand(body->call, i);
      intptr_t k = blockArgument(region, value);
      body->argumentSlots[i] = -1;
      if (!isTensor(value))
        continue;
      body->argumentSlots[i] = k >= 0 ? slotOfArgument(&l, g, k) : nSlots;
      if (k >= 0)
        continue;
      ShardPortShape *port = shardRuleAddPort(b, shape, false, value, -1, body->call);
      port->userOperand = (int32_t)i;
      port->slot = nSlots++;
    }
    for (intptr_t i = 0; i < nBack; ++i)
      body->resultSlots[i] =
          isTensor(mlirOperationGetResult(body->call, i)) ? slotOfYield(&l, g, i) : -1;
  }
  shape->nSlots = nSlots;
}

bool shardLoopHasTrips(MlirOperation op, int64_t *outTrips) {
  int64_t bounds[3];
  *outTrips = 1;
  if (!shardOpIs(op, "scf.for"))
    return !shardOpIs(op, "scf.while") && !shardOpIs(op, "scf.parallel") &&
           !shardOpIs(op, "scf.forall");
  for (intptr_t i = 0; i < 3; ++i) {
    MlirOperation constant = shardValueDefiningOp(mlirOperationGetOperand(op, i));
    if (!constant.ptr || !shardOpIs(constant, "arith.constant") ||
        !shardAttrGetI64(shardOpGetAttribute(constant, "value"), &bounds[i]))
      return false;
  }
  if (bounds[2] <= 0)
    return false;
  *outTrips = 0;
  if (bounds[1] <= bounds[0])
    return true;
  uint64_t range = (uint64_t)bounds[1] - (uint64_t)bounds[0];
  uint64_t trips = (range - 1) / (uint64_t)bounds[2] + 1;
  *outTrips = trips < INT64_MAX ? (int64_t)trips : INT64_MAX;
  return true;
}

int64_t shardLoopTrips(MlirOperation op) {
  int64_t trips;
  shardLoopHasTrips(op, &trips);
  return trips;
}

static void tieSlot(ShardRuleBuilder *b, int32_t *first, int32_t slot, int32_t value) {
  if (slot < 0 || value < 0)
    return;
  if (first[slot] < 0)
    first[slot] = value;
  else
    shardRuleTieValues(b, first[slot], value);
}

void shardRuleBindLoop(ShardRuleBuilder *b, int32_t nFunctions, const ShardOpShape *shape,
                       ShardOpRule *rule) {
  rule->nBodies = shape->nBodies;
  rule->nSlots = shape->nSlots;
  rule->trips = shardLoopTrips(rule->op);
  int32_t *first = SHARD_ARENA_ARRAY(b->arena, int32_t, rule->nSlots + 1);
  for (int32_t s = 0; s < rule->nSlots; ++s)
    first[s] = -1;
  for (int32_t i = 0; i < shape->nOperands + shape->nResults; ++i) {
    const ShardPortShape *port =
        i < shape->nOperands ? &shape->operands[i] : &shape->results[i - shape->nOperands];
    tieSlot(b, first, port->slot, shardRuleFindValue(b, port->value));
  }
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    ShardBody *body = &rule->bodies[g];
    *body = shape->bodies[g];
    MlirOperation callee = shardModuleCallee(b->rules->module, body->call);
    for (int32_t f = 0; f < nFunctions; ++f)
      if (b->rules->functions[f].func.ptr == callee.ptr)
        body->callee = f;
    const ShardFunctionInfo *info = &b->rules->functions[body->callee];
    ++b->rules->functions[body->callee].nCalls;
    MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(info->func));
    for (int32_t a = 0; a < info->nArguments; ++a)
      tieSlot(b, first, body->argumentSlots[a], info->arguments[a]);
    for (intptr_t r = 0; r < mlirOperationGetNumOperands(end); ++r)
      tieSlot(b, first, body->resultSlots[r],
              shardRuleFindValue(b, mlirOperationGetOperand(end, r)));
  }
}

//===----------------------------------------------------------------------===//
// Where the two sides do not line up
//===----------------------------------------------------------------------===//

static bool sameAtoms(const ShardRules *rules, int32_t x, int32_t y) {
  const ShardValueInfo *a = &rules->values[x], *c = &rules->values[y];
  bool same = a->nAtoms == c->nAtoms;
  for (int32_t i = 0; same && i < a->nAtoms; ++i)
    same = a->atoms[i].klass == c->atoms[i].klass && a->atoms[i].dim == c->atoms[i].dim;
  return same;
}

/// Value of result `r` of a function; -1: no tensor.
static int32_t returnedValue(ShardRuleBuilder *b, const ShardFunctionInfo *info, intptr_t r) {
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(info->func));
  return shardRuleFindValue(b, mlirOperationGetOperand(end, r));
}

static void markSlot(ShardRuleBuilder *b, int32_t *first, bool *apart, int32_t slot,
                     int32_t value) {
  if (slot < 0 || value < 0)
    return;
  if (first[slot] < 0)
    first[slot] = value;
  else if (!sameAtoms(b->rules, first[slot], value))
    apart[slot] = true;
}

static void markLoop(ShardRuleBuilder *b, ShardOpRule *rule) {
  int32_t *first = SHARD_ARENA_ARRAY(b->arena, int32_t, rule->nSlots + 1);
  bool *apart = SHARD_ARENA_ARRAY(b->arena, bool, rule->nSlots + 1);
  for (int32_t s = 0; s < rule->nSlots; ++s)
    first[s] = -1;
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i) {
    const ShardPort *port = shardRulePort(rule, i);
    markSlot(b, first, apart, port->slot, port->value);
  }
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    const ShardBody *body = &rule->bodies[g];
    const ShardFunctionInfo *info = &b->rules->functions[body->callee];
    for (int32_t a = 0; a < info->nArguments; ++a)
      markSlot(b, first, apart, body->argumentSlots[a], info->arguments[a]);
    for (int32_t r = 0; r < info->nResults; ++r)
      markSlot(b, first, apart, body->resultSlots[r], returnedValue(b, info, r));
  }
  rule->apart = apart;
  for (int32_t i = 0; i < rule->nOperands + rule->nResults; ++i)
    shardRulePort(rule, i)->apart = apart[shardRulePort(rule, i)->slot];
}

void shardRuleMarkApart(ShardRuleBuilder *b, ShardOpRule *rule) {
  if (rule->form == SHARD_OP_LOOP)
    markLoop(b, rule);
  if (rule->form != SHARD_OP_CALL)
    return;
  const ShardFunctionInfo *callee = &b->rules->functions[rule->callee];
  for (int32_t p = 0; p < rule->nOperands; ++p)
    rule->operands[p].apart = !sameAtoms(b->rules, rule->operands[p].value,
                                         callee->arguments[rule->operands[p].operandIndex]);
  for (int32_t r = 0; r < rule->nResults; ++r)
    rule->results[r].apart = !sameAtoms(b->rules, rule->results[r].value,
                                        returnedValue(b, callee, rule->results[r].operandIndex));
}
