//===- Alternatives.c - Why a collective, and what else there was -*- C -*-===//
// For the move that a collective belongs to: the value of L1, its placement before and after,
// whether a user asked for it, and what other ways there were, each with the bytes that it would
// send. The others are those that differ by one decision: another chain of collectives, the value
// made as it is wanted from operands brought there, the user of it made as the value is and brought
// back.
//===----------------------------------------------------------------------===//

#include "Spmd.h"

#include "../Core/Text.h"

#include "mlir-c/BuiltinAttributes.h"

#include <stdio.h>
#include <string.h>

static bool isPartial(const ShardSharding *sharding) {
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    if (sharding->partial[a])
      return true;
  return false;
}

static ShardSharding *withoutPartial(const ShardSpmd *spmd, const ShardSharding *sharding) {
  ShardSharding *plain = shardShardingCopy(spmd->arena, sharding);
  memset(plain->partial, 0, sizeof plain->partial);
  return plain;
}

const char *shardSpmdShardingText(const ShardSpmd *spmd, int32_t value,
                                  const ShardSharding *sharding) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  MlirAttribute entry, view, partial;
  shardShardingToAttributes(&spmd->mesh, spmd->context, info->type, info->nAtoms, info->atoms,
                            sharding, &entry, &view, &partial);
  const char *text = shardShardingIsReplicated(withoutPartial(spmd, sharding))
                         ? "whole"
                         : shardShardingAttributeText(entry, view, spmd->arena);
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    if (sharding->partial[a])
      text = shardArenaFormat(spmd->arena, "%s, a partial %s over %s", text,
                              shardCombinerName(sharding->partial[a]), spmd->mesh.names[a]);
  return text;
}

/// Whether an annotation of the user places what `op` makes (shard-propagate notes it).
static bool isFixed(MlirOperation op) {
  return !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.fixed"));
}

static bool isAsked(const ShardSpmd *spmd, const ShardMove *move) {
  const ShardOpRule *definition = shardSpmdDefinition(spmd, move->value);
  if ((definition && isFixed(definition->op)) || isFixed(move->consumer))
    return true;
  if (!shardOpIs(move->consumer, "func.return"))
    return false;
  const ShardValueInfo *info = &spmd->rules->values[move->value];
  MlirOperation func = spmd->rules->functions[info->function].func;
  for (intptr_t r = 0; r < mlirOperationGetNumOperands(move->consumer); ++r)
    if (mlirValueEqual(mlirOperationGetOperand(move->consumer, r), info->value) &&
        !mlirAttributeIsNull(shardFuncGetResultAttribute(func, r, "spmd.fixed")))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Other ways
//===----------------------------------------------------------------------===//

typedef struct Ways {
  ShardSpmd *spmd;
  ShardSite *site;
} Ways;

enum { NO_COST = -1 };

static void addWay(Ways *ways, const char *how, int64_t sent) {
  ShardSite *site = ways->site;
  if (site->nWays == SHARD_MAX_WAYS || sent < 0)
    return;
  site->ways[site->nWays].how = how;
  site->ways[site->nWays++].bytes = (double)sent / (double)shardMeshDeviceCount(&ways->spmd->mesh);
}

static bool hasBlocks(const ShardSharding *sharding) {
  for (int32_t i = 0; i < sharding->nAtoms; ++i)
    if (sharding->atoms[i].span)
      return true;
  return false;
}

/// Bytes of a move; NO_COST for one that is not there.
static int64_t costOf(const ShardSpmd *spmd, int32_t value, const ShardSharding *from,
                      const ShardSharding *to) {
  int64_t sent =
      shardShardingEqual(from, to) ? 0 : shardReshardFindCost(spmd, value, from, to).sent;
  return sent == INT64_MAX ? NO_COST : sent;
}

static int64_t sum(int64_t a, int64_t b) { return a < 0 || b < 0 ? NO_COST : a + b; }

/// Over a placement on the way that the cheapest chain did not pass.
static void addChains(Ways *ways, const ShardMove *move) {
  ShardSpmd *spmd = ways->spmd;
  ShardSharding *whole = shardShardingCreate(spmd->arena, move->from->nAtoms);
  if (!shardShardingIsReplicated(move->to))
    addWay(ways, "made whole, then sliced",
           sum(costOf(spmd, move->value, move->from, whole),
               costOf(spmd, move->value, whole, move->to)));
  if (!isPartial(move->from) || !shardShardingEqual(move->to, whole) || hasBlocks(move->from))
    return;
  // A sum that is wanted whole may be scattered first, where the pieces are equal.
  const ShardValueInfo *info = &spmd->rules->values[move->value];
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    ShardSharding *scattered = withoutPartial(spmd, move->from);
    ShardAxisList *axes = &scattered->atoms[i];
    int64_t parts = 1;
    for (int a = 0; a < spmd->mesh.nAxes; ++a)
      if (move->from->partial[a] && axes->count < sizeof axes->axis) {
        axes->axis[axes->count++] = (uint8_t)a;
        parts *= spmd->mesh.sizes[a];
      }
    if (move->from->atoms[i].count || info->atoms[i].size % parts)
      continue;
    addWay(ways, "scattered as it is summed, then gathered",
           sum(costOf(spmd, move->value, move->from, scattered),
               costOf(spmd, move->value, scattered, whole)));
    return;
  }
}

static int64_t operandCost(const ShardSpmd *spmd, const ShardOpPlan *plan, int32_t except) {
  int64_t sent = 0;
  for (int32_t i = 0; i < plan->rule->nOperands; ++i) {
    const ShardPort *port = &plan->rule->operands[i];
    const ShardOpRule *maker = shardSpmdDefinition(spmd, port->value);
    bool free = (port->init && plan->rule->unusedInit) || (maker && maker->cheap);
    if (!free && port->value != except)
      sent = sum(sent, costOf(spmd, port->value, spmd->own[port->value], plan->operands[i]));
  }
  return sent;
}

static bool canPlan(const ShardOpRule *rule) {
  return rule && rule->form != SHARD_OP_CALL && rule->form != SHARD_OP_RETURN && !rule->cheap &&
         rule->nResults == 1 && !shardOpIsWhole(rule);
}

/// The op that makes the value, made as it is wanted. A reshape only passes that on.
static void addMaker(Ways *ways, const ShardMove *move) {
  ShardSpmd *spmd = ways->spmd;
  int32_t value = move->value;
  const ShardSharding *to = move->to;
  if (isPartial(to) || hasBlocks(to))
    return;
  for (;;) {
    const ShardOpRule *rule = shardSpmdDefinition(spmd, value);
    if (!canPlan(rule))
      return;
    ShardSharding *wanted = shardShardingCopy(spmd->arena, to);
    const ShardOpPlan *plan = shardOpPlanCreate(spmd, rule, &wanted);
    if (!plan)
      return;
    if (rule->form == SHARD_OP_RESHAPE && shardShardingEqual(plan->results[0], to)) {
      value = rule->operands[0].value;
      to = plan->operands[0];
      continue;
    }
    addWay(ways,
           shardArenaFormat(spmd->arena, "%s from operands brought there%s",
                            shardSpmdProducerText(spmd, value),
                            rule->contraction ? ", which repeats its work" : ""),
           sum(operandCost(spmd, plan, -1), costOf(spmd, value, plan->results[0], to)));
    return;
  }
}

/// The op that wants the value takes it as it is; what it makes is brought where that belongs.
static void addConsumer(Ways *ways, const ShardMove *move) {
  ShardSpmd *spmd = ways->spmd;
  const ShardOpRule *rule =
      (const ShardOpRule *)(intptr_t)shardPointerMapGetOr(spmd->ruleOf, move->consumer.ptr, 0);
  if (!canPlan(rule) || isPartial(move->from) || hasBlocks(move->from))
    return;
  const ShardPort *result = &rule->results[0];
  const ShardValueInfo *made = &spmd->rules->values[result->value];
  ShardSharding *wanted = shardShardingCreate(spmd->arena, made->nAtoms);
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    if (port->value != move->value || !port->factors || !result->factors)
      continue;
    for (int32_t k = 0; k < move->from->nAtoms; ++k) {
      if (!move->from->atoms[k].count)
        continue;
      bool found = false;
      for (int32_t r = 0; r < made->nAtoms; ++r)
        if (port->factors[k] >= 0 && result->factors[r] == port->factors[k]) {
          wanted->atoms[r] = move->from->atoms[k];
          found = true;
        }
      if (!found)
        return; // it would be a partial result
    }
    const ShardOpPlan *plan = shardOpPlanCreate(spmd, rule, &wanted);
    if (!plan || !shardShardingEqual(plan->operands[i], move->from))
      return;
    addWay(ways, "taken as it is, and what is made of it brought back",
           sum(operandCost(spmd, plan, move->value),
               costOf(spmd, result->value, plan->results[0], spmd->own[result->value])));
    return;
  }
}

void shardSiteDescribeMove(ShardSpmd *spmd, ShardSite *site, const ShardMove *move) {
  site->value = shardSpmdOriginText(spmd, move->value);
  site->from = shardSpmdShardingText(spmd, move->value, move->from);
  site->to = shardSpmdShardingText(spmd, move->value, move->to);
  site->asked = isAsked(spmd, move);
  int64_t moved = costOf(spmd, move->value, move->from, move->to);
  site->moved = moved < 0 ? 0 : (double)moved / (double)shardMeshDeviceCount(&spmd->mesh);
  Ways ways = {spmd, site};
  addChains(&ways, move);
  addMaker(&ways, move);
  addConsumer(&ways, move);
}
