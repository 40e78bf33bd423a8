//===- Localize.c - Local forms of ops ----------------------------*- C -*-===//
// An op is cloned with local operands and local result types. What more an op needs is here: shard
// origins for loop indices and data indices, local sizes of slices and reshapes, local constants.
//===----------------------------------------------------------------------===//

#include "Spmd.h"

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

const ShardOpRule *shardSpmdDefinition(const ShardSpmd *spmd, int32_t value) {
  const ShardValueInfo *info = &spmd->rules->values[value];
  return info->definition < 0 ? NULL
                              : &spmd->rules->functions[info->function].ops[info->definition];
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

// Ops outside linalg, arith and math whose result type alone decides their extent, or that have a
// local form below.
static bool hasLocalForm(MlirOperation op) {
  static const char *const names[] = {
      "tensor.empty",        "tensor.splat",         "tensor.cast",
      "tensor.expand_shape", "tensor.collapse_shape", "tensor.extract_slice",
      "tensor.insert_slice", "tensor.pad",           "tensor.concat",
      "tensor.extract",      "shard.shard"};
  MlirStringRef name = shardOpGetName(op);
  if (name.length > 7 && memcmp(name.data, "linalg.", 7) == 0)
    return true;
  if (name.length > 6 && memcmp(name.data, "arith.", 6) == 0)
    return true;
  if (name.length > 5 && memcmp(name.data, "math.", 5) == 0)
    return true;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (shardStringIs(name, names[i]))
      return true;
  return false;
}

static bool isWhole(const ShardOpRule *rule) {
  if (rule->form == SHARD_OP_WHOLE || !hasLocalForm(rule->op))
    return true;
  if (!shardOpIs(rule->op, "arith.constant"))
    return false;
  MlirAttribute value = shardOpGetAttribute(rule->op, "value");
  return !mlirAttributeIsADenseElements(value) || !mlirDenseElementsAttrIsSplat(value);
}

static bool isCombined(const ShardFactor *factor) {
  return factor->kind == SHARD_FACTOR_REDUCTION || factor->kind == SHARD_FACTOR_GATHER;
}

static bool isUsed(const ShardOpPlan *plan, uint8_t axis) {
  for (int32_t f = 0; f < plan->rule->nFactors; ++f)
    for (int k = 0; k < plan->factors[f].count; ++k)
      if (plan->factors[f].axis[k] == axis)
        return true;
  return false;
}

static void splitFactor(ShardOpPlan *plan, int32_t factor, const ShardAxisList *axes,
                        const uint8_t *onlyPartial) {
  if (plan->factors[factor].count)
    return;
  ShardAxisList list = {0};
  for (int k = 0; k < axes->count; ++k)
    if (!isUsed(plan, axes->axis[k]) && (!onlyPartial || onlyPartial[axes->axis[k]]))
      list.axis[list.count++] = axes->axis[k];
  plan->factors[factor] = list;
}

static ShardSharding *placePort(const ShardSpmd *spmd, const ShardOpPlan *plan,
                                const ShardPort *port) {
  int32_t nAtoms = spmd->rules->values[port->value].nAtoms;
  ShardSharding *sharding = shardShardingCreate(spmd->arena, nAtoms);
  for (int32_t i = 0; i < nAtoms; ++i)
    if (port->factors && port->factors[i] >= 0)
      sharding->atoms[i] = plan->factors[port->factors[i]];
  return sharding;
}

// The rule of partial results (PLAN of L2: see Rules.h, `linear`): an axis that no split factor
// explains is passed on from partial operands.
static bool passPartial(ShardSpmd *spmd, ShardOpPlan *plan, uint8_t axis, ShardCombiner combiner) {
  const ShardOpRule *rule = plan->rule;
  uint32_t mask = 0;
  for (int32_t i = 0; i < rule->nOperands && i < 32; ++i)
    if (spmd->own[rule->operands[i].value]->partial[axis] == combiner)
      mask |= UINT32_C(1) << i;
  uint32_t set =
      combiner == SHARD_COMBINER_SUM || rule->movement ? shardOpLinearSet(rule, mask) : 0;
  if (!set) {
    shardEmitError(rule->op,
                   "result is a partial %s over axis '%s', but no operand is one that this op "
                   "passes on and no loop is split over it",
                   shardCombinerName(combiner), spmd->mesh.names[axis]);
    return false;
  }
  for (int32_t i = 0; i < rule->nOperands && i < 32; ++i)
    if (set & (UINT32_C(1) << i))
      plan->operands[i]->partial[axis] = (uint8_t)combiner;
  for (int32_t r = 0; r < rule->nResults; ++r)
    plan->results[r]->partial[axis] = (uint8_t)combiner;
  return true;
}

static bool planSignature(ShardSpmd *spmd, ShardOpPlan *plan) {
  const ShardOpRule *rule = plan->rule;
  const ShardFunctionInfo *callee =
      rule->form == SHARD_OP_CALL ? &spmd->rules->functions[rule->callee] : NULL;
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    int32_t index = port->operandIndex;
    const ShardSharding *there =
        callee ? spmd->own[callee->arguments[index]]
               : spmd->results[spmd->rules->values[port->value].function][index];
    if (there->nAtoms != spmd->rules->values[port->value].nAtoms) {
      shardEmitError(rule->op, "operand %d is cut otherwise than the %s it meets", index,
                     callee ? "argument" : "result");
      return false;
    }
    plan->operands[i] = shardShardingCopy(spmd->arena, there);
  }
  for (int32_t r = 0; r < rule->nResults; ++r) {
    const ShardSharding *there = spmd->results[rule->callee][rule->results[r].operandIndex];
    if (there->nAtoms != spmd->rules->values[rule->results[r].value].nAtoms) {
      shardEmitError(rule->op, "result %d is cut otherwise than the callee's",
                     rule->results[r].operandIndex);
      return false;
    }
    plan->results[r] = shardShardingCopy(spmd->arena, there);
  }
  return true;
}

ShardOpPlan *shardOpPlanCreate(ShardSpmd *spmd, const ShardOpRule *rule,
                               ShardSharding *const *wanted) {
  ShardArena *arena = spmd->arena;
  ShardOpPlan *plan = SHARD_ARENA_NEW(arena, ShardOpPlan);
  plan->rule = rule;
  plan->factors = SHARD_ARENA_ARRAY(arena, ShardAxisList, rule->nFactors);
  plan->operands = SHARD_ARENA_ARRAY(arena, ShardSharding *, rule->nOperands);
  plan->results = SHARD_ARENA_ARRAY(arena, ShardSharding *, rule->nResults);
  if (rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_RETURN)
    return planSignature(spmd, plan) ? plan : NULL;
  if (isWhole(rule)) {
    for (int32_t i = 0; i < rule->nOperands; ++i)
      plan->operands[i] =
          shardShardingCreate(arena, spmd->rules->values[rule->operands[i].value].nAtoms);
    for (int32_t r = 0; r < rule->nResults; ++r)
      plan->results[r] =
          shardShardingCreate(arena, spmd->rules->values[rule->results[r].value].nAtoms);
    return plan;
  }

  uint8_t partial[SHARD_MAX_AXES] = {0};
  for (int32_t r = 0; r < rule->nResults; ++r) {
    const ShardPort *port = &rule->results[r];
    for (int32_t i = 0; i < wanted[r]->nAtoms; ++i) {
      int32_t factor = port->factors ? port->factors[i] : -1;
      if (factor >= 0 && rule->factors[factor].kind != SHARD_FACTOR_WHOLE)
        splitFactor(plan, factor, &wanted[r]->atoms[i], NULL);
    }
    for (int a = 0; a < SHARD_MAX_AXES; ++a)
      if (wanted[r]->partial[a])
        partial[a] = wanted[r]->partial[a];
  }
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    const ShardPort *port = &rule->operands[i];
    const ShardSharding *own = spmd->own[port->value];
    for (int32_t k = 0; k < own->nAtoms; ++k) {
      int32_t factor = port->factors ? port->factors[k] : -1;
      if (factor >= 0 && isCombined(&rule->factors[factor]))
        splitFactor(plan, factor, &own->atoms[k], partial);
    }
  }
  for (int32_t i = 0; i < rule->nOperands; ++i)
    plan->operands[i] = placePort(spmd, plan, &rule->operands[i]);
  for (int32_t r = 0; r < rule->nResults; ++r)
    plan->results[r] = placePort(spmd, plan, &rule->results[r]);
  bool explained[SHARD_MAX_AXES] = {false};
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (!isCombined(&rule->factors[f]))
      continue;
    for (int k = 0; k < plan->factors[f].count; ++k) {
      uint8_t axis = plan->factors[f].axis[k];
      if (partial[axis] != rule->factors[f].combiner) {
        shardEmitError(rule->op, "result is annotated as a partial %s over axis '%s', but is a %s",
                       shardCombinerName(partial[axis]), spmd->mesh.names[axis],
                       shardCombinerName(rule->factors[f].combiner));
        return NULL;
      }
      explained[axis] = true;
      for (int32_t r = 0; r < rule->nResults; ++r)
        plan->results[r]->partial[axis] = partial[axis];
    }
  }
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    if (partial[a] && !explained[a] && !passPartial(spmd, plan, (uint8_t)a, partial[a]))
      return NULL;
  // A destination that is read enters the sum once.
  int32_t nInits = 0;
  for (int32_t i = 0; i < rule->nOperands; ++i) {
    if (!rule->operands[i].init)
      continue;
    if (!rule->unusedInit && nInits < rule->nResults)
      memcpy(plan->operands[i]->partial, plan->results[nInits]->partial,
             sizeof(plan->operands[i]->partial));
    ++nInits;
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Versions
//===----------------------------------------------------------------------===//

static ShardVersion *findVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding) {
  for (ShardVersion *v = build->versions[value]; v; v = v->next)
    if (shardShardingEqual(v->sharding, sharding))
      return v;
  return NULL;
}

void shardBuildAddVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                          MlirValue local) {
  if (findVersion(build, value, sharding))
    return;
  ShardVersion *version = SHARD_ARENA_NEW(build->spmd->arena, ShardVersion);
  version->sharding = sharding;
  version->value = local;
  ShardVersion **end = &build->versions[value];
  while (*end)
    end = &(*end)->next;
  *end = version;
}

void shardBuildMapScalar(ShardBuild *build, MlirValue old, MlirValue replacement) {
  build->scalarValues =
      shardArenaGrow(build->spmd->arena, build->scalarValues, build->nScalars,
                     &build->capacityScalars, build->nScalars + 1, sizeof(MlirValue));
  build->scalarValues[build->nScalars] = replacement;
  shardPointerMapSet(build->scalars, old.ptr, (int64_t)build->nScalars++);
}

static bool findScalar(ShardBuild *build, MlirValue old, MlirValue *out) {
  int64_t index;
  if (!shardPointerMapGet(build->scalars, old.ptr, &index))
    return false;
  *out = build->scalarValues[index];
  return true;
}

static bool isConstantIdentity(MlirAttribute value, ShardCombiner combiner) {
  if (mlirAttributeIsADenseElements(value)) {
    if (!mlirDenseElementsAttrIsSplat(value))
      return false;
    value = mlirDenseElementsAttrGetSplatValue(value);
  }
  double number;
  if (mlirAttributeIsAFloat(value))
    number = mlirFloatAttrGetValueDouble(value);
  else if (mlirAttributeIsAInteger(value)) {
    int64_t integer;
    if (!shardAttrGetI64(value, &integer))
      return false;
    number = (double)integer;
  } else
    return false;
  return number == (combiner == SHARD_COMBINER_PRODUCT ? 1.0 : 0.0);
}

// Whether every element of an L2 value is the combiner's identity, or may be combined repeatedly.
static bool mayRepeat(const ShardOpRule *definition, ShardCombiner combiner) {
  if (combiner != SHARD_COMBINER_SUM && combiner != SHARD_COMBINER_PRODUCT)
    return true;
  MlirOperation op = definition->op;
  if (shardOpIs(op, "linalg.fill") || shardOpIs(op, "tensor.splat")) {
    MlirValue scalar = mlirOperationGetOperand(op, 0);
    if (!mlirValueIsAOpResult(scalar))
      return false;
    op = mlirOpResultGetOwner(scalar);
  }
  return shardOpIs(op, "arith.constant") &&
         isConstantIdentity(shardOpGetAttribute(op, "value"), combiner);
}

static bool isPartial(const ShardSharding *sharding) {
  for (int a = 0; a < SHARD_MAX_AXES; ++a)
    if (sharding->partial[a])
      return true;
  return false;
}

// A value without operand data is made again rather than moved.
static bool remake(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                   const ShardOpRule *definition, MlirOperation consumer) {
  ShardSpmd *spmd = build->spmd;
  if (isPartial(sharding)) {
    ShardSharding *plain = shardShardingCopy(spmd->arena, sharding);
    memset(plain->partial, 0, sizeof(plain->partial));
    MlirValue local = shardBuildGetVersion(build, value, plain, consumer);
    if (mlirValueIsNull(local))
      return false;
    bool repeats = true;
    for (int a = 0; a < SHARD_MAX_AXES; ++a)
      if (sharding->partial[a])
        repeats &= mayRepeat(definition, sharding->partial[a]);
    if (repeats)
      shardBuildAddVersion(build, value, sharding, local);
    return true;
  }
  ShardSharding *wanted = shardShardingCopy(spmd->arena, sharding);
  ShardOpPlan *plan = shardOpPlanCreate(spmd, definition, &wanted);
  return plan && mlirLogicalResultIsSuccess(shardLocalize(build, definition->op, plan));
}

MlirValue shardBuildGetVersion(ShardBuild *build, int32_t value, const ShardSharding *sharding,
                               MlirOperation consumer) {
  MlirValue none = {NULL};
  ShardVersion *version = findVersion(build, value, sharding);
  if (version)
    return version->value;
  const ShardOpRule *definition = shardSpmdDefinition(build->spmd, value);
  if (definition && definition->cheap && definition->nResults == 1) {
    if (!remake(build, value, sharding, definition, consumer))
      return none;
    version = findVersion(build, value, sharding);
    if (version)
      return version->value;
  }
  if (!build->versions[value] && (!build->fetch || !build->fetch(build, value, consumer)))
    return none;
  const ShardVersion *best = NULL;
  ShardReshardCost bestCost = {0};
  for (const ShardVersion *v = build->versions[value]; v; v = v->next) {
    ShardReshardCost cost = shardReshardFindCost(build->spmd, value, v->sharding, sharding);
    if (!best || cost.sent < bestCost.sent ||
        (cost.sent == bestCost.sent && cost.nCollectives < bestCost.nCollectives)) {
      best = v;
      bestCost = cost;
    }
  }
  assert(best);
  if (shardShardingEqual(best->sharding, sharding))
    return best->value;
  // Right after the definition; an argument's at its first use.
  ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(consumer)};
  if (mlirValueIsAOpResult(best->value))
    place.before = mlirOperationGetNextInBlock(mlirOpResultGetOwner(best->value));
  return shardReshard(build, value, best->value, best->sharding, sharding, place, consumer);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

// An index is a mixed-radix number over atoms. Each group is a split atom and the whole ones below
// it; `origin` is where this rank's part of the group begins, null for a group that is whole.
typedef struct RadixGroup {
  int64_t global, local;
  ShardAxisList axes;
  MlirValue origin;
} RadixGroup;

typedef struct Radix {
  int32_t nGroups;
  RadixGroup *groups; // major first
  bool split, gather;
} Radix;

static void radixAppend(const ShardSpmd *spmd, Radix *radix, int64_t size, ShardAxisList axes) {
  int64_t local = size;
  for (int k = 0; k < axes.count; ++k)
    local /= spmd->mesh.sizes[axes.axis[k]];
  radix->split |= axes.count != 0;
  if (axes.count == 0 && radix->nGroups) {
    radix->groups[radix->nGroups - 1].global *= size;
    radix->groups[radix->nGroups - 1].local *= size;
    return;
  }
  radix->groups[radix->nGroups++] = (RadixGroup){size, local, axes, {NULL}};
}

static Radix loopRadix(const ShardSpmd *spmd, const ShardOpPlan *plan, int64_t loop) {
  Radix radix = {.groups = SHARD_ARENA_ARRAY(spmd->arena, RadixGroup, plan->rule->nFactors)};
  for (int32_t f = 0; f < plan->rule->nFactors; ++f)
    if (plan->rule->factors[f].loop == loop)
      radixAppend(spmd, &radix, plan->rule->factors[f].size, plan->factors[f]);
  return radix;
}

static Radix dimensionRadix(const ShardSpmd *spmd, const ShardOpPlan *plan, const ShardPort *port,
                            const ShardSharding *sharding, intptr_t dim) {
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  Radix radix = {.groups = SHARD_ARENA_ARRAY(spmd->arena, RadixGroup, info->nAtoms)};
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    if (info->atoms[i].dim != dim)
      continue;
    radixAppend(spmd, &radix, info->atoms[i].size, sharding->atoms[i]);
    int32_t factor = port->factors[i];
    radix.gather |= factor >= 0 && plan->rule->factors[factor].kind == SHARD_FACTOR_GATHER;
  }
  return radix;
}

static void buildOrigins(ShardBuild *build, ShardPlace place, Radix *radix) {
  for (int32_t g = 0; g < radix->nGroups; ++g) {
    RadixGroup *group = &radix->groups[g];
    if (!group->axes.count)
      continue;
    group->origin = shardBuildCoordinate(build, place, group->axes);
    if (group->local != 1)
      group->origin = shardBuildBinary(place, "arith.muli", group->origin,
                                       shardBuildIndex(build, place, group->local));
  }
}

// The global index of a local one.
static MlirValue buildGlobalIndex(ShardBuild *build, ShardPlace place, const Radix *radix,
                                  MlirValue local) {
  MlirValue sum = {NULL}, rest = local;
  int64_t stride = 1;
  for (int32_t g = radix->nGroups - 1; g >= 0; --g) {
    const RadixGroup *group = &radix->groups[g];
    MlirValue digit = rest;
    if (g > 0) {
      MlirValue size = shardBuildIndex(build, place, group->local);
      digit = shardBuildBinary(place, "arith.remui", rest, size);
      rest = shardBuildBinary(place, "arith.divui", rest, size);
    }
    if (!mlirValueIsNull(group->origin))
      digit = shardBuildBinary(place, "arith.addi", digit, group->origin);
    if (stride != 1)
      digit = shardBuildBinary(place, "arith.muli", digit, shardBuildIndex(build, place, stride));
    sum = mlirValueIsNull(sum) ? digit : shardBuildBinary(place, "arith.addi", sum, digit);
    stride *= group->global;
  }
  return sum;
}

static MlirValue buildCompareUlt(ShardPlace place, MlirValue a, MlirValue b) {
  MlirContext context = mlirLocationGetContext(place.location);
  MlirType i1 = mlirIntegerTypeGet(context, 1);
  ShardNamedAttribute less = {"predicate", mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), 6)};
  MlirValue operands[] = {a, b};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.cmpi", 1, &i1, 2, operands, 1, &less, 0, NULL),
                                0);
}

static MlirValue buildSelect(ShardPlace place, MlirValue condition, MlirValue a, MlirValue b) {
  MlirType type = mlirValueGetType(a);
  MlirValue operands[] = {condition, a, b};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.select", 1, &type, 3, operands, 0, NULL, 0,
                                              NULL),
                                0);
}

// The local index of a global one; 0 in a group that it misses. `*inRange` is and-ed with whether
// this rank holds it, when the index is data.
static MlirValue buildLocalIndex(ShardBuild *build, ShardPlace place, const Radix *radix,
                                 MlirValue global, MlirValue *inRange) {
  MlirValue sum = {NULL}, rest = global;
  int64_t stride = 1;
  for (int32_t g = radix->nGroups - 1; g >= 0; --g) {
    const RadixGroup *group = &radix->groups[g];
    MlirValue digit = rest;
    if (g > 0) {
      MlirValue size = shardBuildIndex(build, place, group->global);
      digit = shardBuildBinary(place, "arith.remui", rest, size);
      rest = shardBuildBinary(place, "arith.divui", rest, size);
    }
    if (!mlirValueIsNull(group->origin)) {
      digit = shardBuildBinary(place, "arith.subi", digit, group->origin);
      if (radix->gather) {
        MlirValue inside =
            buildCompareUlt(place, digit, shardBuildIndex(build, place, group->local));
        digit = buildSelect(place, inside, digit, shardBuildIndex(build, place, 0));
        *inRange = mlirValueIsNull(*inRange)
                       ? inside
                       : shardBuildBinary(place, "arith.andi", *inRange, inside);
      }
    }
    if (stride != 1)
      digit = shardBuildBinary(place, "arith.muli", digit, shardBuildIndex(build, place, stride));
    sum = mlirValueIsNull(sum) ? digit : shardBuildBinary(place, "arith.addi", sum, digit);
    stride *= group->local;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Cloning
//===----------------------------------------------------------------------===//

typedef struct Capture {
  const ShardPort *port;
  int32_t portIndex;
  MlirOperation extract; // in the clone
} Capture;

typedef struct Clone {
  ShardBuild *build;
  MlirOperation source;
  const ShardOpPlan *plan; // may be null
  bool failed;
  Capture *captures;
  size_t nCaptures, capacityCaptures;
  MlirOperation *indices; // linalg.index of the clone
  size_t nIndices, capacityIndices;
} Clone;

static int32_t findPort(const ShardOpPlan *plan, MlirOperation user, intptr_t operand,
                        bool nested) {
  if (plan)
    for (int32_t i = 0; i < plan->rule->nOperands; ++i) {
      const ShardPort *port = &plan->rule->operands[i];
      if (nested ? port->operandIndex < 0 && mlirOperationEqual(port->user, user)
                 : port->operandIndex == operand)
        return i;
    }
  return -1;
}

static MlirValue localOperand(Clone *clone, MlirOperation user, intptr_t operand, bool nested,
                              MlirValue old) {
  ShardBuild *build = clone->build;
  int32_t value = shardRulesFindValue(build->spmd->rules, old);
  MlirValue replacement = old;
  if (value < 0) {
    if (!findScalar(build, old, &replacement) && !nested) {
      shardEmitError(clone->source, "operand %" PRIdPTR " is computed in another stage and is no tensor",
                     operand);
      clone->failed = true;
    }
    return replacement;
  }
  int32_t port = findPort(clone->plan, user, operand, nested);
  ShardSharding *sharding = port >= 0
                                ? clone->plan->operands[port]
                                : shardShardingCreate(build->spmd->arena,
                                                      build->spmd->rules->values[value].nAtoms);
  bool shapeOnly = port >= 0 && clone->plan->rule->operands[port].init &&
                   clone->plan->rule->unusedInit;
  const ShardOpRule *definition = shardSpmdDefinition(build->spmd, value);
  if (shapeOnly && !(definition && shardOpIs(definition->op, "tensor.empty")) &&
      !findVersion(build, value, sharding)) {
    const ShardValueInfo *info = &build->spmd->rules->values[value];
    ShardPlace place = {.block = build->block, .location = mlirOperationGetLocation(clone->source)};
    return shardBuildEmpty(place, shardShardingLocalType(&build->spmd->mesh, info->type,
                                                         info->nAtoms, info->atoms, sharding));
  }
  replacement = shardBuildGetVersion(build, value, sharding, clone->source);
  clone->failed |= mlirValueIsNull(replacement);
  return replacement;
}

static void cloneNested(Clone *clone, MlirOperation old, MlirOperation copy) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(old); ++r) {
    MlirBlock a = mlirRegionGetFirstBlock(mlirOperationGetRegion(old, r));
    MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, r));
    for (; !mlirBlockIsNull(a); a = mlirBlockGetNextInRegion(a), b = mlirBlockGetNextInRegion(b)) {
      MlirOperation x = mlirBlockGetFirstOperation(a), y = mlirBlockGetFirstOperation(b);
      for (; !mlirOperationIsNull(x);
           x = mlirOperationGetNextInBlock(x), y = mlirOperationGetNextInBlock(y)) {
        for (intptr_t k = 0; k < mlirOperationGetNumOperands(x); ++k) {
          MlirValue operand = mlirOperationGetOperand(x, k);
          MlirValue local = localOperand(clone, x, k, true, operand);
          if (clone->failed)
            return;
          if (mlirValueEqual(operand, local))
            continue;
          mlirOperationSetOperand(y, k, local);
        }
        int32_t port = findPort(clone->plan, x, 0, true);
        if (port >= 0) {
          clone->captures = shardArenaGrow(clone->build->spmd->arena, clone->captures,
                                           clone->nCaptures, &clone->capacityCaptures,
                                           clone->nCaptures + 1, sizeof(Capture));
          clone->captures[clone->nCaptures++] =
              (Capture){&clone->plan->rule->operands[port], port, y};
        }
        if (shardOpIs(x, "linalg.index")) {
          clone->indices = shardArenaGrow(clone->build->spmd->arena, clone->indices,
                                          clone->nIndices, &clone->capacityIndices,
                                          clone->nIndices + 1, sizeof(MlirOperation));
          clone->indices[clone->nIndices++] = y;
        }
        cloneNested(clone, x, y);
        if (clone->failed)
          return;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

// Every loop index becomes global, so that what the body computes from it stays right.
static void localizeIndex(Clone *clone, MlirOperation index, ShardPlace outside) {
  ShardBuild *build = clone->build;
  int64_t loop = 0;
  shardAttrGetI64(shardOpGetAttribute(index, "dim"), &loop);
  Radix radix = loopRadix(build->spmd, clone->plan, loop);
  if (!radix.split)
    return;
  buildOrigins(build, outside, &radix);
  MlirOperation after = mlirOperationGetNextInBlock(index);
  ShardPlace inside = {mlirOperationGetBlock(index), after, outside.location};
  MlirValue local = mlirOperationGetResult(index, 0);
  MlirValue global = buildGlobalIndex(build, inside, &radix, local);
  MlirOperation made[512];
  intptr_t n = 0;
  for (MlirOperation op = mlirOperationGetNextInBlock(index);
       !mlirOperationEqual(op, after) && n < 512; op = mlirOperationGetNextInBlock(op))
    made[n++] = op;
  mlirValueReplaceAllUsesExcept(local, global, n, made);
}

// The captured tensor is local: its indices are made so, and what another rank holds counts as zero.
static MlirLogicalResult localizeCapture(Clone *clone, MlirOperation copy, const Capture *capture,
                                         ShardPlace outside) {
  ShardBuild *build = clone->build;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, 0));
  MlirOperation extract = capture->extract;
  ShardPlace inside = {mlirOperationGetBlock(extract), extract, outside.location};
  MlirValue inRange = {NULL};
  intptr_t rank = mlirOperationGetNumOperands(extract) - 1;
  for (intptr_t d = 0; d < rank; ++d) {
    Radix radix = dimensionRadix(build->spmd, clone->plan, capture->port,
                                 clone->plan->operands[capture->portIndex], d);
    if (!radix.split)
      continue;
    buildOrigins(build, outside, &radix);
    MlirValue index = mlirOperationGetOperand(extract, d + 1);
    mlirOperationSetOperand(extract, d + 1,
                            buildLocalIndex(build, inside, &radix, index, &inRange));
  }
  if (mlirValueIsNull(inRange))
    return mlirLogicalResultSuccess();
  if (!mlirBlockEqual(mlirOperationGetBlock(extract), body))
    return shardEmitError(clone->source,
                          "a table read under a condition cannot be split on the indexed dimension");
  bool reduces = false;
  for (int32_t f = 0; f < clone->plan->rule->nFactors; ++f)
    reduces |= clone->plan->rule->factors[f].kind == SHARD_FACTOR_REDUCTION;
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nMasked = reduces ? 1 : mlirOperationGetNumOperands(end);
  for (intptr_t k = 0; k < nMasked; ++k) {
    MlirValue value =
        reduces ? mlirOperationGetResult(extract, 0) : mlirOperationGetOperand(end, k);
    MlirType element = mlirValueGetType(value);
    ShardPlace place = {body, reduces ? mlirOperationGetNextInBlock(extract) : end,
                        outside.location};
    MlirAttribute number = mlirTypeIsAFloat(element)
                               ? mlirFloatAttrDoubleGet(build->spmd->context, element, 0)
                               : mlirIntegerAttrGet(element, 0);
    ShardNamedAttribute attribute = {"value", number};
    MlirValue zero =
        mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                             "arith.constant", 1, &element, 0, NULL, 1, &attribute,
                                             0, NULL),
                               0);
    MlirValue masked = buildSelect(place, inRange, value, zero);
    if (reduces) {
      MlirOperation self = mlirOpResultGetOwner(masked);
      mlirValueReplaceAllUsesExcept(value, masked, 1, &self);
    } else
      mlirOperationSetOperand(end, k, masked);
  }
  return mlirLogicalResultSuccess();
}

// The product of the minor atoms of a list that is `unit` globally, as a local product; -1 if none is.
static int64_t localUnit(int64_t unit, const int64_t *sizes, const int64_t *locals, int32_t n) {
  int64_t global = 1, local = 1;
  for (int32_t i = n - 1; i >= 0 && global < unit; --i) {
    global *= sizes[i];
    local *= locals[i];
  }
  return global == unit ? local : -1;
}

typedef struct MapRewrite {
  const ShardSpmd *spmd;
  const ShardOpPlan *plan;
  const ShardPort *port;
  const ShardSharding *sharding;
  intptr_t dim; // of the operand
  bool failed;
} MapRewrite;

static int64_t loopUnit(const MapRewrite *rewrite, int64_t loop, int64_t unit) {
  const ShardOpRule *rule = rewrite->plan->rule;
  int64_t *sizes = SHARD_ARENA_ARRAY(rewrite->spmd->arena, int64_t, 2 * rule->nFactors);
  int64_t *locals = sizes + rule->nFactors;
  int32_t n = 0;
  for (int32_t f = 0; f < rule->nFactors; ++f) {
    if (rule->factors[f].loop != loop)
      continue;
    ShardAtom atom = {.size = rule->factors[f].size};
    sizes[n] = atom.size;
    locals[n++] =
        shardShardingLocalAtomSize(&rewrite->spmd->mesh, &atom, rewrite->plan->factors[f]);
  }
  bool split = false;
  for (int32_t i = 0; i < n; ++i)
    split |= sizes[i] != locals[i];
  return split ? localUnit(unit, sizes, locals, n) : unit;
}

static int64_t dimensionUnit(const MapRewrite *rewrite, int64_t unit) {
  const ShardValueInfo *info = &rewrite->spmd->rules->values[rewrite->port->value];
  int64_t *sizes = SHARD_ARENA_ARRAY(rewrite->spmd->arena, int64_t, 2 * info->nAtoms);
  int64_t *locals = sizes + info->nAtoms;
  int32_t n = 0;
  bool split = false;
  for (int32_t i = 0; i < info->nAtoms; ++i) {
    if (info->atoms[i].dim != rewrite->dim)
      continue;
    sizes[n] = info->atoms[i].size;
    locals[n] = shardShardingLocalAtomSize(&rewrite->spmd->mesh, &info->atoms[i],
                                           rewrite->sharding->atoms[i]);
    split |= sizes[n] != locals[n];
    ++n;
  }
  return split ? localUnit(unit, sizes, locals, n) : unit;
}

// Local form of a result of an indexing map that is no plain loop: `d1 floordiv 4`, `d0 * 16 + d1`.
static MlirAffineExpr rewriteExpr(MapRewrite *rewrite, MlirAffineExpr expr) {
  if (!mlirAffineExprIsABinary(expr))
    return expr;
  MlirAffineExpr left = mlirAffineBinaryOpExprGetLHS(expr);
  MlirAffineExpr right = mlirAffineBinaryOpExprGetRHS(expr);
  if (mlirAffineExprIsAAdd(expr))
    return mlirAffineAddExprGet(rewriteExpr(rewrite, left), rewriteExpr(rewrite, right));
  if (!mlirAffineExprIsAConstant(right)) {
    rewrite->failed = true;
    return expr;
  }
  int64_t unit = mlirAffineConstantExprGetValue(right), local;
  if (mlirAffineExprIsAMul(expr))
    local = dimensionUnit(rewrite, unit);
  else if (mlirAffineExprIsADim(left))
    local = loopUnit(rewrite, mlirAffineDimExprGetPosition(left), unit);
  else
    local = -1;
  if (local < 1) {
    rewrite->failed = true;
    return expr;
  }
  if (local == unit)
    return expr;
  MlirAffineExpr constant = mlirAffineConstantExprGet(rewrite->spmd->context, local);
  if (mlirAffineExprIsAMul(expr))
    return mlirAffineMulExprGet(left, constant);
  return mlirAffineExprIsAMod(expr) ? mlirAffineModExprGet(left, constant)
                                    : mlirAffineFloorDivExprGet(left, constant);
}

static MlirLogicalResult localizeMaps(Clone *clone, MlirOperation copy) {
  const ShardSpmd *spmd = clone->build->spmd;
  MlirAttribute maps = shardOpGetAttribute(copy, "indexing_maps");
  if (mlirAttributeIsNull(maps))
    return mlirLogicalResultSuccess();
  intptr_t nMaps = mlirArrayAttrGetNumElements(maps);
  MlirAttribute *local = SHARD_ARENA_ARRAY(spmd->arena, MlirAttribute, nMaps);
  bool changed = false;
  for (intptr_t m = 0; m < nMaps; ++m) {
    local[m] = mlirArrayAttrGetElement(maps, m);
    MlirAffineMap map = mlirAffineMapAttrGetValue(local[m]);
    int32_t port = findPort(clone->plan, clone->source, m, false);
    if (port < 0 || mlirAffineMapIsProjectedPermutation(map))
      continue;
    intptr_t n = mlirAffineMapGetNumResults(map);
    MlirAffineExpr *exprs = SHARD_ARENA_ARRAY(spmd->arena, MlirAffineExpr, n);
    bool mapChanged = false;
    for (intptr_t k = 0; k < n; ++k) {
      MlirAffineExpr old = mlirAffineMapGetResult(map, k);
      MapRewrite rewrite = {spmd, clone->plan, &clone->plan->rule->operands[port],
                            clone->plan->operands[port], k, false};
      exprs[k] = rewriteExpr(&rewrite, old);
      if (rewrite.failed)
        return shardEmitError(clone->source,
                              "operand %" PRIdPTR " is indexed by a product of loops that cannot be "
                              "split as annotated",
                              m);
      mapChanged |= !mlirAffineExprEqual(exprs[k], old);
    }
    if (!mapChanged)
      continue;
    changed = true;
    local[m] = mlirAffineMapAttrGet(mlirAffineMapGet(
        spmd->context, mlirAffineMapGetNumDims(map), mlirAffineMapGetNumSymbols(map), n, exprs));
  }
  if (changed)
    shardOpSetAttribute(copy, "indexing_maps", mlirArrayAttrGet(spmd->context, nMaps, local));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizeBody(Clone *clone, MlirOperation copy) {
  ShardPlace outside = {.block = clone->build->block,
                        .location = mlirOperationGetLocation(clone->source)};
  if (mlirLogicalResultIsFailure(localizeMaps(clone, copy)))
    return mlirLogicalResultFailure();
  for (size_t i = 0; i < clone->nIndices; ++i)
    localizeIndex(clone, clone->indices[i], outside);
  for (size_t i = 0; i < clone->nCaptures; ++i)
    if (mlirLogicalResultIsFailure(
            localizeCapture(clone, copy, &clone->captures[i], outside)))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}

//===----------------------------------------------------------------------===//
// Slices and constants
//===----------------------------------------------------------------------===//

// One dimension of a slice, in elements of a tensor whose dimension has these atoms. Rewrites the
// window to local elements; false when the window cuts what is split.
static bool localizeWindow(int32_t n, const int64_t *sizes, const int64_t *locals, int64_t *offset,
                           int64_t *size, int64_t *stride) {
  int32_t first = -1, last = -1;
  for (int32_t i = 0; i < n; ++i)
    if (sizes[i] != locals[i]) {
      if (first < 0)
        first = i;
      last = i;
    }
  if (first < 0)
    return true;
  int64_t dynamic = mlirShapedTypeGetDynamicStrideOrOffset();
  if (*offset == dynamic || *stride == dynamic || mlirShapedTypeIsDynamicSize(*size))
    return false;
  if (*stride == 1) {
    // Whole steps of the atoms above the first split one.
    int64_t unit = 1, localUnits = 1;
    for (int32_t i = first; i < n; ++i) {
      unit *= sizes[i];
      localUnits *= locals[i];
    }
    if (*offset % unit || *size % unit)
      return false;
    *offset = *offset / unit * localUnits;
    *size = *size / unit * localUnits;
    return true;
  }
  // One step of the atoms below the last split one, in each step of all above.
  int64_t above = 1, below = 1, localAbove = 1;
  int32_t at = n;
  while (at > 0 && below < *stride)
    below *= sizes[--at];
  for (int32_t i = 0; i < at; ++i) {
    above *= sizes[i];
    localAbove *= locals[i];
  }
  if (below != *stride || at <= last || *offset >= *stride || *size != above)
    return false;
  *size = localAbove;
  return true;
}

static MlirLogicalResult localizeSlice(Clone *clone, MlirOperation copy, intptr_t containerOperand) {
  const ShardSpmd *spmd = clone->build->spmd;
  int32_t portIndex = findPort(clone->plan, clone->source, containerOperand, false);
  assert(portIndex >= 0);
  const ShardPort *port = &clone->plan->rule->operands[portIndex];
  const ShardSharding *sharding = clone->plan->operands[portIndex];
  const ShardValueInfo *info = &spmd->rules->values[port->value];
  intptr_t rank = mlirShapedTypeGetRank(info->type);
  static const char *const names[] = {"static_offsets", "static_sizes", "static_strides"};
  int64_t *parts[3];
  for (int k = 0; k < 3; ++k) {
    MlirAttribute attribute = shardOpGetAttribute(copy, names[k]);
    parts[k] = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
    for (intptr_t d = 0; d < rank; ++d)
      parts[k][d] = mlirDenseI64ArrayGetElement(attribute, d);
  }
  int64_t *sizes = SHARD_ARENA_ARRAY(spmd->arena, int64_t, info->nAtoms);
  int64_t *locals = SHARD_ARENA_ARRAY(spmd->arena, int64_t, info->nAtoms);
  for (intptr_t d = 0; d < rank; ++d) {
    int32_t n = 0;
    for (int32_t i = 0; i < info->nAtoms; ++i)
      if (info->atoms[i].dim == d) {
        sizes[n] = info->atoms[i].size;
        locals[n++] =
            shardShardingLocalAtomSize(&spmd->mesh, &info->atoms[i], sharding->atoms[i]);
      }
    if (!localizeWindow(n, sizes, locals, &parts[0][d], &parts[1][d], &parts[2][d]))
      return shardEmitError(clone->source, "the slice cuts dimension %" PRIdPTR
                                           " where it is split over devices", d);
  }
  for (int k = 0; k < 3; ++k)
    shardOpSetAttribute(copy, names[k], shardAttrI64Array(spmd->context, rank, parts[k]));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizePad(Clone *clone, MlirOperation copy) {
  const ShardSpmd *spmd = clone->build->spmd;
  MlirType global = mlirValueGetType(mlirOperationGetResult(clone->source, 0));
  MlirType local = shardShardingLocalType(
      &spmd->mesh, global, clone->plan->results[0]->nAtoms,
      spmd->rules->values[clone->plan->rule->results[0].value].atoms, clone->plan->results[0]);
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(global); ++d) {
    bool padded = mlirDenseI64ArrayGetElement(shardOpGetAttribute(copy, "static_low"), d) != 0 ||
                  mlirDenseI64ArrayGetElement(shardOpGetAttribute(copy, "static_high"), d) != 0;
    if (padded && mlirShapedTypeGetDimSize(global, d) != mlirShapedTypeGetDimSize(local, d))
      return shardEmitError(clone->source,
                            "dimension %" PRIdPTR " is padded and split over devices", d);
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizeConstant(Clone *clone, MlirOperation copy, MlirType local) {
  MlirAttribute value = shardOpGetAttribute(clone->source, "value");
  if (mlirTypeEqual(mlirAttributeGetType(value), local))
    return mlirLogicalResultSuccess();
  shardOpSetAttribute(
      copy, "value",
      mlirDenseElementsAttrSplatGet(local, mlirDenseElementsAttrGetSplatValue(value)));
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult localizeForm(Clone *clone, MlirOperation copy) {
  const ShardOpPlan *plan = clone->plan;
  const ShardSpmd *spmd = clone->build->spmd;
  for (int32_t r = 0; r < plan->rule->nResults; ++r) {
    const ShardPort *port = &plan->rule->results[r];
    const ShardValueInfo *info = &spmd->rules->values[port->value];
    MlirType local = shardShardingLocalType(&spmd->mesh, info->type, info->nAtoms, info->atoms,
                                            plan->results[r]);
    if (shardOpIs(copy, "arith.constant") &&
        mlirLogicalResultIsFailure(localizeConstant(clone, copy, local)))
      return mlirLogicalResultFailure();
    mlirValueSetType(mlirOperationGetResult(copy, port->operandIndex), local);
    if (shardOpIs(copy, "tensor.expand_shape")) {
      intptr_t rank = mlirShapedTypeGetRank(local);
      int64_t *shape = SHARD_ARENA_ARRAY(spmd->arena, int64_t, rank);
      for (intptr_t d = 0; d < rank; ++d)
        shape[d] = mlirShapedTypeGetDimSize(local, d);
      shardOpSetAttribute(copy, "static_output_shape",
                          shardAttrI64Array(spmd->context, rank, shape));
    }
  }
  if (shardOpIs(copy, "tensor.extract_slice"))
    return localizeSlice(clone, copy, 0);
  if (shardOpIs(copy, "tensor.insert_slice"))
    return localizeSlice(clone, copy, 1);
  if (shardOpIs(copy, "tensor.pad"))
    return localizePad(clone, copy);
  if (plan->rule->form == SHARD_OP_COMPUTE && mlirOperationGetNumRegions(copy) > 0)
    return localizeBody(clone, copy);
  return mlirLogicalResultSuccess();
}

static void removeAnnotations(MlirOperation op) {
  static const char *const names[] = {"spmd.sharding", "spmd.view", "spmd.partial", "spmd.extent",
                                      "spmd.stage"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    shardOpRemoveAttribute(op, names[i]);
}

MlirLogicalResult shardLocalize(ShardBuild *build, MlirOperation op, const ShardOpPlan *plan) {
  if (shardOpIs(op, "shard.sharding"))
    return mlirLogicalResultSuccess();
  Clone clone = {.build = build, .source = op, .plan = plan};
  MlirOperation copy = mlirOperationClone(op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && !clone.failed; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    MlirValue local = localOperand(&clone, op, i, false, operand);
    if (!clone.failed)
      mlirOperationSetOperand(copy, i, local);
  }
  if (!clone.failed)
    cloneNested(&clone, op, copy);
  bool local = plan && (plan->rule->form == SHARD_OP_CALL || !isWhole(plan->rule));
  if (clone.failed || (local && mlirLogicalResultIsFailure(localizeForm(&clone, copy)))) {
    mlirOperationDestroy(copy);
    return mlirLogicalResultFailure();
  }
  removeAnnotations(copy);
  mlirBlockAppendOwnedOperation(build->block, copy);
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r) {
    MlirValue old = mlirOperationGetResult(op, r);
    if (shardRulesFindValue(build->spmd->rules, old) < 0)
      shardBuildMapScalar(build, old, mlirOperationGetResult(copy, r));
  }
  for (int32_t r = 0; plan && r < plan->rule->nResults; ++r) {
    const ShardPort *port = &plan->rule->results[r];
    shardBuildAddVersion(build, port->value, plan->results[r],
                         mlirOperationGetResult(copy, port->operandIndex));
  }
  return mlirLogicalResultSuccess();
}
