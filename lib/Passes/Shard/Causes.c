//===- Causes.c - Why a collective stands there -------------------*- C -*-===//
#include "Causes.h"

#include "mlir-c/BuiltinAttributes.h"

// What makes a value, seen through reshapes.
static int32_t sourceOf(const ShardSpmd *spmd, int32_t value) {
  const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
  while (definition && definition->form == SHARD_OP_RESHAPE) {
    value = definition->operands[0].value;
    definition = shardSpmdDefinition(spmd, value);
  }
  return value;
}

// The op that first makes a sum over `axis` what it is: others only pass it on.
static int32_t partialSourceOf(const ShardSpmd *spmd, int32_t value, uint8_t axis) {
  for (;;) {
    const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
    int32_t from = -1;
    for (int32_t i = 0; definition && from < 0 && i < definition->nOperands; ++i)
      if (spmd->own[definition->operands[i].value]->partial[axis])
        from = definition->operands[i].value;
    if (from < 0)
      return value;
    value = from;
  }
}

// What uses a value, seen through reshapes that have one user.
static MlirOperation sinkOf(MlirOperation consumer) {
  while (shardOpIs(consumer, "tensor.expand_shape") ||
         shardOpIs(consumer, "tensor.collapse_shape")) {
    MlirOpOperand use = mlirValueGetFirstUse(mlirOperationGetResult(consumer, 0));
    if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)))
      break;
    consumer = mlirOpOperandGetOwner(use);
  }
  return consumer;
}

// An op in words. A linalg.generic is called by what it does, a call by its callee.
static const char *opText(const ShardSpmd *spmd, MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  const char *at = "";
  if (shardOpIs(op, "func.call")) {
    name = mlirFlatSymbolRefAttrGetValue(shardOpGetAttribute(op, "callee"));
    at = "@";
  }
  int64_t rule;
  if (shardOpIs(op, "linalg.generic") && shardPointerMapGet(spmd->ruleOf, op.ptr, &rule)) {
    const ShardOpRule *known = (const ShardOpRule *)(intptr_t)rule;
    bool gathers = false, reduces = false;
    for (int32_t f = 0; f < known->nFactors; ++f) {
      gathers |= known->factors[f].kind == SHARD_FACTOR_GATHER;
      reduces |= known->factors[f].kind == SHARD_FACTOR_REDUCTION;
    }
    return known->contraction ? "contraction"
           : gathers          ? "table lookup"
           : reduces          ? "reduction"
                              : "elementwise op";
  }
  return shardArenaFormat(spmd->arena, "%s%.*s", at, (int)name.length, name.data);
}

const char *shardSpmdProducerText(const ShardSpmd *spmd, int32_t value) {
  value = sourceOf(spmd, value);
  const ShardValueInfo *info = &spmd->rules->values[value];
  const ShardOpRule *definition = shardSpmdDefinition(spmd, value);
  if (!definition) {
    MlirAttribute name = shardFuncGetArgumentAttribute(spmd->rules->functions[info->function].func,
                                                       info->number, "spmd.name");
    MlirStringRef text = mlirAttributeIsNull(name) || !mlirAttributeIsAString(name)
                             ? mlirStringRefCreate("", 0)
                             : mlirStringAttrGetValue(name);
    if (text.length)
      return shardArenaFormat(spmd->arena, "argument %d '%.*s'", info->number, (int)text.length,
                              text.data);
    return shardArenaFormat(spmd->arena, "argument %d", info->number);
  }
  return opText(spmd, definition->op);
}

static const char *consumerText(const ShardSpmd *spmd, MlirOperation consumer) {
  consumer = sinkOf(consumer);
  return shardOpIs(consumer, "func.return") ? "the function's result" : opText(spmd, consumer);
}

ShardCause shardCauseOf(const ShardSpmd *spmd, const ShardReshardPlan *plan, int32_t index,
                        int32_t value, MlirOperation consumer) {
  const ShardReshardStep *step = &plan->steps[index];
  bool endsWhole = true;
  for (int32_t p = 0; p < plan->nPieces; ++p)
    endsWhole &= plan->states[index + 1].pieces[p].nAxes == 0;
  bool sums = step->kind == SHARD_RESHARD_ALL_REDUCE || step->kind == SHARD_RESHARD_REDUCE_SCATTER;
  int32_t maker = sums ? partialSourceOf(spmd, value, step->axes[0]) : value;
  const char *producer = shardSpmdProducerText(spmd, maker), *user = consumerText(spmd, consumer);
  const char *combiner = shardCombinerName((ShardCombiner)step->combiner);
  ShardCause cause = {0};
  switch (step->kind) {
  case SHARD_RESHARD_ALL_REDUCE:
    cause.kind = SHARD_RT_ALL_REDUCE;
    cause.text = shardArenaFormat(spmd->arena, "partial %s of %s wanted whole by %s", combiner,
                                  producer, user);
    break;
  case SHARD_RESHARD_REDUCE_SCATTER:
    cause.kind = SHARD_RT_REDUCE_SCATTER;
    cause.text = shardArenaFormat(spmd->arena, "partial %s of %s wanted split by %s", combiner,
                                  producer, user);
    break;
  case SHARD_RESHARD_ALL_GATHER:
    cause.kind = SHARD_RT_ALL_GATHER;
    cause.text = shardArenaFormat(spmd->arena, "split %s wanted whole by %s", producer, user);
    break;
  case SHARD_RESHARD_EXCHANGE:
    cause.kind = SHARD_RT_PERMUTE;
    cause.text = shardArenaFormat(spmd->arena, "split %s wanted %s by %s", producer,
                                  endsWhole ? "whole" : "split otherwise", user);
    break;
  default:
    cause.kind = SHARD_RT_ALL_TO_ALL;
    cause.text =
        shardArenaFormat(spmd->arena, "split %s wanted split otherwise by %s", producer, user);
    break;
  }
  // A sum belongs to the op that makes it, a gather to the one that asks for it.
  const ShardOpRule *definition = shardSpmdDefinition(spmd, sourceOf(spmd, maker));
  bool own = sums || shardOpIs(sinkOf(consumer), "func.return");
  cause.op = own && definition ? definition->op : sinkOf(consumer);
  return cause;
}
