//===- StepCosts.c - What collectives and messages cost alone -----*- C -*-===//
#include "Engine.h"

#include <math.h>

/// The part of each sort of link that it uses at its full speed.
static const int64_t *demandsOf(const SimProgram *program, const SimStep *step, const SimUses *uses,
                                const ShardCollectiveCost *cost, double ranks) {
  double seconds = cost->nTerms ? cost->transferSeconds : cost->seconds;
  if (!(seconds > 0) || uses->nSorts == 0)
    return NULL;
  double perSecond[SHARD_CLUSTER_MAX_LINKS] = {0}; // out of a vertex
  for (int32_t link = 0; link < program->cluster->nLinks; ++link) {
    if (!cost->nTerms) // only a time is known
      perSecond[link] = simPlainBytes(step, ranks, 1) / seconds;
    for (int32_t i = 0; i < cost->nTerms; ++i)
      if (cost->terms[i].from == program->cluster->links[link].from)
        perSecond[link] = cost->terms[i].bytes / cost->terms[i].efficiency / seconds;
  }
  int64_t *demand = SHARD_ARENA_ARRAY(program->arena, int64_t, uses->nSorts);
  for (int32_t i = 0; i < uses->nSorts; ++i) {
    const SimUseSort *sort = &uses->sorts[i];
    double part = perSecond[sort->link] / sort->rails / sort->bytesPerSecond;
    demand[i] = part < 1 ? llround(part * (double)SIM_WHOLE) : SIM_WHOLE;
  }
  return demand;
}

SimCost *const *engineCosts(Engine *engine, StageRun *stage, const SimStep *step) {
  const SimProgram *program = engine->program;
  SimCalls *calls = &stage->calls[step->number];
  if (calls->costs)
    return calls->costs;
  const SimGroups *groups = stage->places->groups[step->number];
  const SimPattern *pattern = stage->places->patterns[step->number];
  const SimUses *uses = groups ? &groups->uses : &pattern->uses;
  int32_t n = groups ? shardGroupsGetProfileCount(groups->groups)
                     : shardTrafficGetProfileCount(pattern->messages);
  calls->costs = SHARD_ARENA_ARRAY(program->arena, SimCost *, n);
  calls->slowestPs = -1;
  for (int32_t i = 0; i < n; ++i) {
    ShardCollectiveCost cost;
    if (groups)
      shardCollectiveCostOf(groups->groups, i, step->collective, step->bytes, &cost);
    else
      shardTrafficCost(pattern->messages, i, step->bytes, &cost);
    SimCost *out = SHARD_ARENA_NEW(program->arena, SimCost);
    out->ps = simPicoseconds(cost.seconds);
    out->demand = demandsOf(program, step, uses, &cost, groups ? (double)groups->groupSize : 2);
    out->latencyPs = simPicoseconds(cost.nTerms ? cost.latencySeconds : 0);
    if (!out->demand || out->latencyPs > out->ps)
      out->latencyPs = out->ps;
    if (out->ps > calls->slowestPs) {
      calls->slowestPs = out->ps;
      calls->algorithm = cost.algorithm;
    }
    calls->costs[i] = out;
  }
  return calls->costs;
}
