//===- Rules.c - Dimension rules of a module ----------------------*- C -*-===//
// Collects every op's shape and ties dimensions over the whole module.
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"

#include <string.h>

static int32_t addValue(ShardRuleBuilder *b, MlirValue value, int32_t function, int32_t definition,
                        int32_t number) {
  MlirType type = mlirValueGetType(value);
  if (!mlirTypeIsARankedTensor(type))
    return -1;
  ShardRules *rules = b->rules;
  int32_t id = rules->nValues;
  rules->values = shardArenaGrow(b->arena, rules->values, (size_t)id, &b->valueCapacity,
                                 (size_t)id + 1, sizeof(ShardValueInfo));
  b->valueNodes = shardArenaGrow(b->arena, b->valueNodes, (size_t)id, &b->valueNodeCapacity,
                                 (size_t)id + 1, sizeof(int32_t *));
  ++rules->nValues;
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type);
  int32_t *nodes = SHARD_ARENA_ARRAY(b->arena, int32_t, rank ? rank : 1);
  for (intptr_t d = 0; d < rank; ++d)
    nodes[d] = shardNodeCreate(b, mlirShapedTypeGetDimSize(type, d));
  b->valueNodes[id] = nodes;
  int64_t elements = shardTypeElementCount(type);
  rules->values[id] = (ShardValueInfo){
      .value = value,
      .type = type,
      .function = function,
      .definition = definition,
      .number = number,
      .count = 1,
      .bytes = elements * shardTypeElementBytes(mlirShapedTypeGetElementType(type))};
  shardPointerMapSet(rules->valueIndex, value.ptr, id);
  return id;
}

typedef struct FunctionOrder {
  MlirOperation *functions;
  int32_t n;
  size_t capacity;
  ShardPointerMap *state; // 1 in progress, 2 done
} FunctionOrder;

typedef struct OrderWalk {
  ShardRuleBuilder *b;
  FunctionOrder *order;
} OrderWalk;

static MlirLogicalResult orderFunction(ShardRuleBuilder *b, FunctionOrder *order,
                                       MlirOperation func);

static MlirLogicalResult orderCallee(void *user, MlirOperation op) {
  OrderWalk *walk = user;
  MlirOperation callee = shardModuleCallee(walk->b->rules->module, op);
  if (!callee.ptr || !shardFuncGetBody(callee).ptr)
    return shardEmitError(op, "call of a function without a body");
  return orderFunction(walk->b, walk->order, callee);
}

static MlirLogicalResult orderFunction(ShardRuleBuilder *b, FunctionOrder *order,
                                       MlirOperation func) {
  int64_t state = shardPointerMapGetOr(order->state, func.ptr, 0);
  if (state == 2)
    return mlirLogicalResultSuccess();
  if (state == 1)
    return shardEmitError(func, "recursive function: a program must call its layers in one order");
  shardPointerMapSet(order->state, func.ptr, 1);
  OrderWalk walk = {b, order};
  if (mlirLogicalResultIsFailure(shardWalk(func, "func.call", orderCallee, &walk)))
    return mlirLogicalResultFailure();
  shardPointerMapSet(order->state, func.ptr, 2);
  order->functions = shardArenaGrow(b->arena, order->functions, (size_t)order->n, &order->capacity,
                                    (size_t)order->n + 1, sizeof(MlirOperation));
  order->functions[order->n++] = func;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult checkStatic(MlirOperation op, MlirValue value) {
  MlirType type = mlirValueGetType(value);
  if (mlirTypeIsAUnrankedTensor(type) ||
      (mlirTypeIsARankedTensor(type) && !mlirShapedTypeHasStaticShape(type)))
    return shardEmitError(op, "a dynamic shape is left; set it with --dim=ARG:D=N");
  return mlirLogicalResultSuccess();
}

static bool hasTensors(MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (isTensor(mlirOperationGetResult(op, i)))
      return true;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (isTensor(mlirOperationGetOperand(op, i)))
      return true;
  return mlirOperationGetNumRegions(op) > 0 || shardOpIs(op, "func.return");
}

bool shardOpHasNoRule(MlirOperation op) { return hasTensors(op) && !shardOpEntryOf(op); }

static void tiePorts(ShardRuleBuilder *b, const ShardOpShape *shape) {
  for (int32_t i = 0; i < shape->nOperands + shape->nResults; ++i) {
    const ShardPortShape *port =
        i < shape->nOperands ? &shape->operands[i] : &shape->results[i - shape->nOperands];
    int32_t value = shardRuleFindValue(b, port->value);
    for (intptr_t d = 0; d < rankOf(port->value); ++d) {
      const ShardDimExpr *expr = &port->dims[d];
      int32_t node = b->valueNodes[value][d];
      if (expr->kind == SHARD_DIM_PRODUCT) {
        int32_t nodes[SHARD_MAX_LOOPS];
        for (int32_t k = 0; k < expr->nLoops; ++k)
          nodes[k] = shape->loops[expr->loops[k]].node;
        shardNodeTie(b, shardNodeProduct(b, expr->nLoops, nodes), node);
      } else if (expr->kind == SHARD_DIM_PREFIX) {
        int64_t size = shape->loops[expr->loops[0]].size;
        int32_t nodes[2] = {node, shardNodeCreate(b, size / sizeOf(port->value, d))};
        shardNodeTie(b, shardNodeProduct(b, 2, nodes), shape->loops[expr->loops[0]].node);
      }
    }
  }
}

void shardRuleTieValues(ShardRuleBuilder *b, int32_t x, int32_t y) {
  if (x < 0 || y < 0)
    return;
  int64_t rank = mlirShapedTypeGetRank(b->rules->values[x].type);
  if (rank != mlirShapedTypeGetRank(b->rules->values[y].type))
    return;
  for (int64_t d = 0; d < rank; ++d)
    shardNodeTie(b, b->valueNodes[x][d], b->valueNodes[y][d]);
}

/// Ties a call's operands and results to the callee's arguments and returned values.
static void tieCall(ShardRuleBuilder *b, const ShardOpRule *rule) {
  const ShardFunctionInfo *callee = &b->rules->functions[rule->callee];
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(rule->op); ++i)
    shardRuleTieValues(b, shardRuleFindValue(b, mlirOperationGetOperand(rule->op, i)),
                       callee->arguments[i]);
  MlirOperation ret = mlirBlockGetTerminator(shardFuncGetBody(callee->func));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(rule->op); ++i)
    shardRuleTieValues(b, shardRuleFindValue(b, mlirOperationGetResult(rule->op, i)),
                       shardRuleFindValue(b, mlirOperationGetOperand(ret, i)));
}

/// The row of an op; a name is looked up once.
static const ShardOpEntry *entryOf(ShardRuleBuilder *b, MlirOperation op) {
  if (shardRuleIsOwn(op))
    return shardOpEntryOf(op);
  const void *name = mlirOperationGetName(op).ptr;
  int64_t known;
  if (shardPointerMapGet(b->entries, name, &known))
    return (const ShardOpEntry *)(intptr_t)known;
  const ShardOpEntry *entry = shardOpEntryOf(op);
  shardPointerMapSet(b->entries, name, (int64_t)(intptr_t)entry);
  return entry;
}

static MlirLogicalResult collectFunction(ShardRuleBuilder *b, int32_t index,
                                         ShardOpShape **shapes) {
  ShardFunctionInfo *info = &b->rules->functions[index];
  MlirBlock body = shardFuncGetBody(info->func);
  if (mlirBlockGetNextInRegion(body).ptr)
    return shardEmitError(info->func, "function with more than one block");
  info->nArguments = (int32_t)mlirBlockGetNumArguments(body);
  int32_t *arguments =
      SHARD_ARENA_ARRAY(b->arena, int32_t, info->nArguments ? info->nArguments : 1);
  for (int32_t i = 0; i < info->nArguments; ++i) {
    MlirValue argument = mlirBlockGetArgument(body, i);
    if (mlirLogicalResultIsFailure(checkStatic(info->func, argument)))
      return mlirLogicalResultFailure();
    arguments[i] = addValue(b, argument, index, -1, i);
  }
  info->arguments = arguments;
  int32_t n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    n += hasTensors(op);
  info->ops = SHARD_ARENA_ARRAY(b->arena, ShardOpRule, n ? n : 1);
  *shapes = SHARD_ARENA_ARRAY(b->arena, ShardOpShape, n ? n : 1);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!hasTensors(op))
      continue;
    int32_t number = info->nOps++;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
      if (mlirLogicalResultIsFailure(checkStatic(op, mlirOperationGetResult(op, r))))
        return mlirLogicalResultFailure();
      addValue(b, mlirOperationGetResult(op, r), index, number, (int32_t)r);
    }
    ShardOpShape *shape = &(*shapes)[number];
    ShardOpRule *rule = &info->ops[number];
    shape->entry = rule->entry = entryOf(b, op);
    rule->op = op;
    rule->callee = -1;
    rule->count = 1;
    rule->form = shape->entry ? shape->entry->form : SHARD_OP_WHOLE;
    ShardLoop loops[SHARD_MAX_LOOPS];
    shape->loops = loops;
    if (rule->form == SHARD_OP_LOOP && !shardRuleIsLoop(op))
      rule->form = SHARD_OP_WHOLE;
    if (shape->entry)
      shape->entry->describe(b, op, shape);
    else
      shardRuleDescribeWhole(b, op, shape);
    shape->loops = SHARD_ARENA_ARRAY(b->arena, ShardLoop, shape->nLoops ? shape->nLoops : 1);
    memcpy(shape->loops, loops, (size_t)shape->nLoops * sizeof(ShardLoop));
    if (rule->form == SHARD_OP_CALL) {
      MlirOperation callee = shardModuleCallee(b->rules->module, op);
      for (int32_t f = 0; f < index; ++f)
        if (b->rules->functions[f].func.ptr == callee.ptr) {
          rule->callee = f;
          ++b->rules->functions[f].nCalls;
        }
      tieCall(b, rule);
    } else if (rule->form == SHARD_OP_LOOP) {
      shardRuleBindLoop(b, index, shape, rule);
    } else if (rule->form == SHARD_OP_RETURN) {
      info->nResults = (int32_t)mlirOperationGetNumOperands(op);
    } else {
      tiePorts(b, shape);
    }
  }
  return mlirLogicalResultSuccess();
}

static void numberAtoms(ShardRuleBuilder *b, ShardValueInfo *info, const int32_t *nodes) {
  int64_t rank = mlirShapedTypeGetRank(info->type);
  ShardAtom *atoms = NULL;
  int32_t n = 0;
  size_t capacity = 0;
  for (int64_t d = 0; d < rank; ++d) {
    int32_t *leaves = NULL, nLeaves = 0;
    size_t leafCapacity = 0;
    shardNodeAppendLeaves(b, nodes[d], &leaves, &nLeaves, &leafCapacity);
    for (int32_t i = 0; i < nLeaves; ++i) {
      atoms =
          shardArenaGrow(b->arena, atoms, (size_t)n, &capacity, (size_t)n + 1, sizeof(ShardAtom));
      atoms[n++] = (ShardAtom){.dim = (int32_t)d,
                               .klass = shardRuleClassOf(b, leaves[i]),
                               .size = b->nodes[shardNodeFind(b, leaves[i])].size};
    }
  }
  info->atoms = atoms;
  info->nAtoms = n;
}

int32_t shardRulesFindValue(const ShardRules *rules, MlirValue value) {
  return (int32_t)shardPointerMapGetOr(rules->valueIndex, value.ptr, -1);
}

ShardRules *shardRulesCreate(MlirOperation module, ShardArena *arena) {
  ShardRules *rules = SHARD_ARENA_NEW(arena, ShardRules);
  rules->module = module;
  rules->arena = arena;
  rules->valueIndex = shardPointerMapCreate(arena, 1024);
  ShardRuleBuilder builder = {
      .rules = rules, .arena = arena, .entries = shardPointerMapCreate(arena, 64)};
  FunctionOrder order = {.state = shardPointerMapCreate(arena, 64)};
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(module));
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && shardFuncGetBody(op).ptr)
      if (mlirLogicalResultIsFailure(orderFunction(&builder, &order, op)))
        return NULL;
  rules->nFunctions = order.n;
  rules->functions = SHARD_ARENA_ARRAY(arena, ShardFunctionInfo, order.n ? order.n : 1);
  ShardOpShape **shapes = SHARD_ARENA_ARRAY(arena, ShardOpShape *, order.n ? order.n : 1);
  for (int32_t f = 0; f < order.n; ++f) {
    rules->functions[f].func = order.functions[f];
    if (mlirLogicalResultIsFailure(collectFunction(&builder, f, &shapes[f])))
      return NULL;
  }
  shardRuleTieViews(&builder);
  for (int32_t v = 0; v < rules->nValues; ++v)
    numberAtoms(&builder, &rules->values[v], builder.valueNodes[v]);
  for (int32_t f = 0; f < order.n; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
      shardRuleBindOp(&builder, &shapes[f][o], &rules->functions[f].ops[o]);
      shardRuleMarkApart(&builder, &rules->functions[f].ops[o]);
      shardRuleAnalyseOp(&builder, &shapes[f][o], &rules->functions[f].ops[o]);
      shardRuleAnalyseSequence(&builder, &rules->functions[f].ops[o]);
      shardRuleAnalyseWindows(&builder, &rules->functions[f].ops[o]);
      shardRuleAnalyseRolls(&builder, &rules->functions[f].ops[o]);
    }
  int64_t *sizes = SHARD_ARENA_ARRAY(arena, int64_t, rules->nClasses ? rules->nClasses : 1);
  for (size_t i = 0; i < builder.nNodes; ++i)
    if (builder.nodes[i].klass >= 0)
      sizes[builder.nodes[i].klass] = builder.nodes[i].size;
  rules->classSizes = sizes;
  return rules;
}
