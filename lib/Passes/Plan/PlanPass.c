//===- PlanPass.c - Choose mesh, argument shardings and stages ----*- C -*-===//
// Reads: L1 with its layers outlined; user's spmd.sharding and spmd.dims on arguments. Writes:
// shard.grid, spmd.sharding / spmd.view / spmd.dims on the entry's arguments, spmd.stage on its
// ops. Fails: degrees with nothing to split or too many stages, with those that need no padding.
//===----------------------------------------------------------------------===//

#include "../Analysis/Count.h"
#include "../Core/Pass.h"
#include "../Core/Registry.h"

#include "Model.h"
#include "Plan.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"

#include <inttypes.h>
#include <string.h>

typedef struct PlanOptions {
  const char *degrees; // "tp2,pp2"
  const char *results; // "whole" or "split"
} PlanOptions;
static const ShardOption optionTable[] = {
    SHARD_OPTION(PlanOptions, degrees, "degrees", "tp1", "", "Degrees of parallelism, as tp2,pp2"),
    SHARD_OPTION(
        PlanOptions, results, "results", "whole", "whole|split",
        "Results but states whole on every rank of their stage, or as the last op leaves them"),
};

//===----------------------------------------------------------------------===//
// Degrees without padding
//===----------------------------------------------------------------------===//

static int64_t batchSize(const ShardModel *model) {
  return model->batchClass < 0 ? 1 : model->rules->classSizes[model->batchClass];
}

static bool sequenceFits(const ShardModel *model, int64_t degree, bool *outAny) {
  bool fits =
      model->innerSequence < 0 || model->rules->classSizes[model->innerSequence] % degree == 0;
  *outAny = model->innerSequence >= 0;
  for (int32_t c = 0; c < model->rules->nClasses; ++c)
    if (model->sequence[c]) {
      *outAny = true;
      fits &= model->rules->classSizes[c] % degree == 0;
    }
  return fits;
}

static const char *describeFits(const ShardModel *model, ShardArena *arena) {
  const char *text = "dp";
  const char *separator = " ";
  int64_t batch = batchSize(model);
  for (int64_t d = 1; d <= batch && d <= 4096; ++d)
    if (batch % d == 0)
      text = shardArenaFormat(arena, "%s%s%" PRId64, text, separator, d), separator = ", ";
  text = shardArenaFormat(arena, "%s; sp", text), separator = " ";
  bool any;
  int64_t longest = 1;
  for (int32_t c = 0; c < model->rules->nClasses; ++c)
    if ((model->sequence[c] || c == model->innerSequence) && model->rules->classSizes[c] > longest)
      longest = model->rules->classSizes[c];
  for (int64_t d = 1; d <= longest && d <= 4096; ++d)
    if (sequenceFits(model, d, &any))
      text = shardArenaFormat(arena, "%s%s%" PRId64, text, separator, d), separator = ", ";
  text = shardArenaFormat(arena, "%s; tp 1", text);
  int64_t widest = 1;
  for (int32_t c = 0; c < model->rules->nClasses; ++c)
    if (model->weightBytes[c] && model->rules->classSizes[c] > widest)
      widest = model->rules->classSizes[c];
  for (int64_t d = 2; d <= widest && d <= 256; ++d) {
    bool divides = false;
    for (int32_t c = 0; c < model->rules->nClasses; ++c)
      divides |= model->weightBytes[c] && model->rules->classSizes[c] % d == 0;
    const char *message;
    ShardArena *scratch = shardArenaCreate();
    ShardTensorPlan *plan = divides ? shardPlanTensor(model, d, scratch, &message) : NULL;
    if (plan && !plan->uneven)
      text = shardArenaFormat(arena, "%s, %" PRId64, text, d);
    shardArenaDestroy(scratch);
  }
  ShardUnits *units = shardModelFindUnits(model, arena);
  return units->nUnits == 1 ? shardArenaFormat(arena, "%s; pp 1", text)
                            : shardArenaFormat(arena, "%s; pp 1 to %d", text, units->nUnits);
}

const char *shardPlanFittingDegrees(MlirOperation module, ShardArena *arena) {
  // On a copy: a tensor.empty shared by ops of different meaning would tie their dimensions.
  MlirOperation copy = mlirOperationClone(module);
  shardUnshareCheapOps(copy, arena);
  ShardModel *model = shardModelCreate(copy, arena);
  const char *text = model ? describeFits(model, arena) : NULL;
  mlirOperationDestroy(copy);
  return text;
}

static MlirLogicalResult misfit(ShardPassRun *run, const ShardModel *model, const char *message) {
  return shardEmitError(model->rules->functions[model->entry].func,
                        "%s; degrees without padding: %s", message,
                        describeFits(model, run->arena));
}

//===----------------------------------------------------------------------===//
// Writing the plan
//===----------------------------------------------------------------------===//

/// The degree of an axis in one piece; 0 for other names.
static int64_t degreeOf(const ShardDegrees *degrees, const char *axis) {
  const struct {
    const char *name;
    int64_t size;
  } axes[] = {{"pp", degrees->pp},
              {"dp", degrees->dp},
              {"ep", degrees->ep},
              {"sp", degrees->sp},
              {"tp", degrees->tp}};
  for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); ++i)
    if (strcmp(axis, axes[i].name) == 0)
      return axes[i].size;
  return 0;
}

static ShardMesh makeMesh(const ShardDegrees *degrees, const ShardTensorPlan *tensor,
                          ShardArena *arena, int32_t *outFirstTensor) {
  ShardMesh mesh = {0};
  static const char *const plain[] = {"pp", "dp", "ep", "sp"};
  for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); ++i)
    if (degreeOf(degrees, plain[i]) > 1)
      mesh.names[mesh.nAxes] = plain[i], mesh.sizes[mesh.nAxes++] = degreeOf(degrees, plain[i]);
  *outFirstTensor = mesh.nAxes;
  if (degrees->tp > 1 || mesh.nAxes == 0)
    for (int32_t i = 0; i < tensor->nSubAxes; ++i) {
      mesh.names[mesh.nAxes] = tensor->nSubAxes == 1 ? "tp" : shardArenaFormat(arena, "tp.%d", i);
      mesh.sizes[mesh.nAxes++] = tensor->sizes[i];
    }
  return mesh;
}

static void appendAxis(ShardAxisList *list, int32_t axis) {
  list->axis[list->count++] = (uint8_t)axis;
}

static void writeDims(const ShardModel *model, ShardFuncAttributes *arguments, int32_t argument,
                      MlirContext context, ShardArena *arena) {
  MlirOperation func = model->rules->functions[model->entry].func;
  const ShardValueInfo *value =
      &model->rules->values[model->rules->functions[model->entry].arguments[argument]];
  if (strcmp(model->roles[argument], "weight") == 0 ||
      shardFuncGetArgumentAttribute(func, argument, "spmd.dims").ptr)
    return;
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(value->type);
  MlirAttribute *names = SHARD_ARENA_ARRAY(arena, MlirAttribute, rank ? rank : 1);
  bool any = false;
  for (intptr_t d = 0; d < rank; ++d) {
    const char *name = "";
    for (int32_t a = 0; a < value->nAtoms; ++a)
      if (value->atoms[a].dim == d) {
        if (value->atoms[a].klass == model->batchClass)
          name = "batch";
        else if (model->sequence[value->atoms[a].klass] && !name[0])
          name = "sequence";
      }
    any |= name[0] != 0;
    names[d] = shardAttrString(context, name);
  }
  if (any)
    shardFuncAttributesSet(arguments, argument, "spmd.dims",
                           mlirArrayAttrGet(context, rank, names));
}

/// Splits a sequence that comes about inside where it first does: on the first op, fed by an input,
/// that runs along it. A fixed point, as a user's would be.
static void writeInnerSequence(ShardPassRun *run, const ShardModel *model, const ShardMesh *mesh) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  int32_t dp = shardMeshFindAxis(mesh, "dp"), sp = shardMeshFindAxis(mesh, "sp");
  bool *fed = SHARD_ARENA_ARRAY(run->arena, bool, rules->nValues);
  for (int32_t a = 0; a < info->nArguments; ++a)
    if (info->arguments[a] >= 0)
      fed[info->arguments[a]] = strcmp(model->roles[a], "weight") != 0;
  for (int32_t o = 0; sp >= 0 && model->innerSequence >= 0 && o < info->nOps; ++o) {
    const ShardOpRule *rule = &info->ops[o];
    bool any = false;
    for (int32_t p = 0; p < rule->nOperands; ++p)
      any |= fed[rule->operands[p].value];
    for (int32_t r = 0; r < rule->nResults; ++r)
      fed[rule->results[r].value] = any;
    if (!any || rule->form != SHARD_OP_COMPUTE || rule->nResults != 1)
      continue;
    const ShardPort *port = &rule->results[0];
    const ShardValueInfo *value = &rules->values[port->value];
    ShardSharding *sharding = shardShardingCreate(run->arena, value->nAtoms);
    bool splits = false;
    for (int32_t i = 0; i < value->nAtoms; ++i) {
      if (dp >= 0 && value->atoms[i].klass == model->batchClass)
        appendAxis(&sharding->atoms[i], dp);
      bool here = !splits && value->atoms[i].klass == model->innerSequence &&
                  port->factors[i] >= 0 &&
                  rule->factors[port->factors[i]].kind == SHARD_FACTOR_PARALLEL;
      if (here)
        appendAxis(&sharding->atoms[i], sp);
      splits |= here;
    }
    if (!splits)
      continue;
    MlirAttribute text, view, partial;
    shardShardingToAttributes(mesh, run->context, value->type, value->nAtoms, value->atoms,
                              sharding, &text, &view, &partial);
    shardOpSetAttribute(rule->op, "spmd.sharding", mlirArrayAttrGet(run->context, 1, &text));
    if (view.ptr)
      shardOpSetAttribute(rule->op, "spmd.view", mlirArrayAttrGet(run->context, 1, &view));
    return;
  }
}

// Cuts a sequence, whose first atom is `begin`, in blocks: its dimension may be cut in several
// atoms.
static bool splitSequence(const ShardModel *model, const ShardMesh *mesh,
                          const ShardValueInfo *value, int32_t begin, uint8_t sp,
                          ShardSharding *sharding) {
  int32_t end = begin + 1;
  while (end < value->nAtoms && value->atoms[end].dim == value->atoms[begin].dim &&
         model->sequence[value->atoms[end].klass])
    ++end;
  if (sharding->atoms[begin].count) {
    appendAxis(&sharding->atoms[begin], sp);
    return true;
  }
  return shardShardingSplitDimension(mesh, begin, end, value->atoms, 1, &sp, sharding);
}

/// An annotation of a state or of its updated form is one of both; two that differ leave them
/// apart.
static void tieAnnotations(MlirOperation entry) {
  static const char *const names[] = {"spmd.sharding", "spmd.view"};
  for (intptr_t a = 0, n = mlirBlockGetNumArguments(shardFuncGetBody(entry)); a < n; ++a) {
    ShardStateTie tie = shardStateTieOf(entry, a);
    if (tie.result < 0)
      continue;
    MlirAttribute result = shardFuncGetResultAttribute(entry, tie.result, names[0]);
    if (!result.ptr)
      continue;
    bool fresh = !shardFuncGetArgumentAttribute(entry, a, names[0]).ptr;
    bool differ = false;
    for (int i = 0; i < 2; ++i) {
      MlirAttribute there = shardFuncGetResultAttribute(entry, tie.result, names[i]);
      if (fresh && !tie.grows)
        shardFuncSetArgumentAttribute(entry, a, names[i], there);
      differ |= !mlirAttributeEqual(shardFuncGetArgumentAttribute(entry, a, names[i]), there);
    }
    if (differ) {
      shardEmitRemark(entry,
                      "argument %" PRIdPTR " and result %d, its updated form, are annotated apart: "
                      "they are not kept in one buffer",
                      a, tie.result);
      shardStateUntie(entry, a);
    }
  }
}

static MlirLogicalResult writeArguments(ShardPassRun *run, const ShardModel *model,
                                        const ShardMesh *mesh, const ShardTensorPlan *tensor,
                                        int32_t firstTensor) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  int32_t dp = shardMeshFindAxis(mesh, "dp"), sp = shardMeshFindAxis(mesh, "sp");
  int32_t ep = shardMeshFindAxis(mesh, "ep");
  const bool *expertClasses = ep >= 0 ? shardModelExpertClasses(model, run->arena) : NULL;
  int32_t *atoms[SHARD_MAX_AXES];
  for (int32_t axis = 0; axis < tensor->nSubAxes; ++axis)
    atoms[axis] = shardTensorPlanAtoms(model, tensor, axis, run->arena);
  ShardFuncAttributes *arguments = shardFuncAttributesRead(info->func, false, run->arena);
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0)
      continue;
    writeDims(model, arguments, a, run->context, run->arena);
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    MlirAttribute user = shardFuncGetArgumentAttribute(info->func, a, "spmd.sharding");
    if (user.ptr) { // a fixed point: checked here, kept as it is
      if (!shardShardingFromAttributes(mesh, mlirOperationGetLocation(info->func), value->type,
                                       value->nAtoms, value->atoms, user,
                                       shardFuncGetArgumentAttribute(info->func, a, "spmd.view"),
                                       (MlirAttribute){NULL}, run->arena))
        return mlirLogicalResultFailure();
      continue;
    }
    ShardSharding *sharding = shardShardingCreate(run->arena, value->nAtoms);
    bool weight = strcmp(model->roles[a], "weight") == 0;
    bool hasBatch = false, hasExperts = false, hasSequence = false; // each axis once
    for (int32_t i = 0; i < value->nAtoms; ++i) {
      int32_t c = value->atoms[i].klass;
      bool batch = !weight && !hasBatch && c == model->batchClass;
      hasBatch |= batch;
      if (batch && dp >= 0)
        appendAxis(&sharding->atoms[i], dp);
      // Outside the experts the batch is split over dp and ep together.
      bool experts = ep >= 0 && !hasExperts && (weight ? expertClasses && expertClasses[c] : batch);
      hasExperts |= experts;
      if (experts)
        appendAxis(&sharding->atoms[i], ep);
      if (!weight && sp >= 0 && !hasSequence && model->sequence[c])
        hasSequence = splitSequence(model, mesh, value, i, (uint8_t)sp, sharding);
    }
    if (weight || model->ties[a].result >= 0)
      for (int32_t axis = 0; axis < tensor->nSubAxes; ++axis) {
        int32_t atom = atoms[axis][a];
        if (atom >= 0 && sharding->atoms[atom].span == 0)
          appendAxis(&sharding->atoms[atom], firstTensor + axis);
      }
    MlirAttribute text, view, partial;
    shardShardingToAttributes(mesh, run->context, value->type, value->nAtoms, value->atoms,
                              sharding, &text, &view, &partial);
    shardFuncAttributesSet(arguments, a, "spmd.sharding", text);
    if (view.ptr)
      shardFuncAttributesSet(arguments, a, "spmd.view", view);
  }
  shardFuncAttributesWrite(arguments);
  return mlirLogicalResultSuccess();
}

static void writeStages(const ShardModel *model, const ShardUnits *units, int64_t pp,
                        ShardArena *arena) {
  MlirOperation module = model->module;
  MlirContext context = mlirOperationGetContext(module);
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  int32_t *stages = SHARD_ARENA_ARRAY(arena, int32_t, units->nUnits);
  shardPartitionUnits(units->nUnits, units->costs, (int32_t)pp, stages, arena);
  for (int32_t o = 0; o < info->nOps; ++o)
    if (pp > 1 && units->unitOf[o] >= 0)
      shardOpSetAttribute(info->ops[o].op, "spmd.stage",
                          shardAttrI64(context, stages[units->unitOf[o]]));
  // The plan itself, for the report: units and costs of each stage.
  MlirAttribute *entries = SHARD_ARENA_ARRAY(arena, MlirAttribute, (size_t)pp);
  for (int64_t k = 0; k < pp; ++k) {
    int64_t count = 0, cost = 0;
    for (int32_t u = 0; u < units->nUnits; ++u)
      if (stages[u] == k)
        ++count, cost += units->costs[u];
    int64_t pair[2] = {count, cost};
    entries[k] = shardAttrI64Array(context, 2, pair);
  }
  shardOpSetAttribute(module, "spmd.stages", mlirArrayAttrGet(context, (intptr_t)pp, entries));
}

/// Is the batch one? Such a dimension has no atom: it is the batch where every result begins so.
static bool batchIsOne(const ShardModel *model) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  MlirOperation ret = info->ops[info->nOps - 1].op;
  bool one = model->batchClass < 0 && model->nResults > 0;
  for (int32_t r = 0; r < model->nResults && one; ++r) {
    MlirType type = mlirValueGetType(mlirOperationGetOperand(ret, r));
    one = mlirTypeIsARankedTensor(type) && mlirShapedTypeGetRank(type) > 0 &&
          mlirShapedTypeGetDimSize(type, 0) == 1;
  }
  return one || model->batchClass >= 0;
}

static MlirLogicalResult checkDegrees(ShardPassRun *run, const ShardModel *model,
                                      const ShardDegrees *degrees, const ShardUnits *units) {
  int64_t batch = batchSize(model);
  bool annotated = shardModelIsAnnotated(model); // the user says what an axis is for
  if (degrees->ep > 1 && !annotated && !shardModelExpertClasses(model, run->arena))
    return misfit(run, model,
                  shardArenaFormat(run->arena,
                                   "ep%" PRId64
                                   " does not fit: no weight has a dimension of experts",
                                   degrees->ep));
  if (degrees->mb > 1)
    return misfit(run, model, "mb needs a microbatch schedule, which is not part of this version");
  bool any;
  sequenceFits(model, degrees->sp, &any);
  if (degrees->sp > 1 && !any && !annotated)
    return misfit(run, model,
                  shardArenaFormat(run->arena,
                                   "sp%" PRId64 " does not fit: the model has no sequence; "
                                   "\"dims\" of --annotations names it",
                                   degrees->sp));
  if (degrees->dp > 1 && batch == 1 && !annotated)
    return misfit(
        run, model,
        shardArenaFormat(run->arena,
                         batchIsOne(model)
                             ? "dp%" PRId64 " does not fit: the batch is 1"
                             : "dp%" PRId64 " does not fit: no dimension of an input leads every "
                               "result, so none is the batch; \"dims\" of --annotations names it",
                         degrees->dp));
  if (degrees->pp > units->nUnits)
    return misfit(
        run, model,
        shardArenaFormat(run->arena,
                         "pp%" PRId64
                         " does not fit: the model has %d unit%s (embedding, layers, head)",
                         degrees->pp, units->nUnits, units->nUnits == 1 ? "" : "s"));
  return mlirLogicalResultSuccess();
}

/// Axes of a grid in the model are as large as the degrees say, unless those ask for one device;
/// parts of the tensor axis are numbered in order, and make up its degree.
static MlirLogicalResult checkGrid(ShardPassRun *run, const ShardModel *model,
                                   const ShardDegrees *degrees) {
  ShardMesh mesh;
  if (!shardMeshRead(model->module, run->arena, &mesh))
    return mlirLogicalResultSuccess();
  MlirOperation grid = shardModuleLookup(model->module, mlirStringRefCreateFromCString("mesh"));
  bool isOne = degrees->pp * degrees->dp * degrees->ep * degrees->sp * degrees->tp == 1;
  int64_t product = 1;
  for (int32_t axis = 0, part = 0; axis < mesh.nAxes; ++axis) {
    int64_t degree = degreeOf(degrees, mesh.names[axis]);
    if (degree && degree != mesh.sizes[axis] && !isOne)
      return shardEmitError(
          grid, "grid '@mesh' has %" PRId64 " ranks along '%s', --auto-shard gives it %" PRId64,
          mesh.sizes[axis], mesh.names[axis], degree);
    if (strncmp(mesh.names[axis], "tp.", 3) != 0)
      continue;
    const char *expected = shardArenaFormat(run->arena, "tp.%d", (int)part);
    if (strcmp(mesh.names[axis], expected) != 0)
      return shardEmitError(grid, "grid '@mesh' has axis '%s'; expected '%s', parts in order",
                            mesh.names[axis], expected);
    product *= model->parts[part++];
  }
  if (model->nParts == 0 || isOne || product == degrees->tp)
    return mlirLogicalResultSuccess();
  return shardEmitError(
      grid, "grid '@mesh' cuts tp in parts of %" PRId64 " ranks together, not tp%" PRId64, product,
      degrees->tp);
}

/// The plan of a module whose atoms are as they are to be, its tensor axis cut at `boundary` too
/// (1: nowhere).
static MlirLogicalResult planModule(ShardPassRun *run, const ShardModel *model,
                                    const ShardDegrees *degrees, int64_t boundary) {
  const PlanOptions *options = run->options;
  const char *message;
  ShardUnits *units = shardModelFindUnits(model, run->arena);
  if (mlirLogicalResultIsFailure(checkGrid(run, model, degrees)) ||
      mlirLogicalResultIsFailure(checkDegrees(run, model, degrees, units)))
    return mlirLogicalResultFailure();
  ShardTensorPlan *tensor = shardPlanTensor(model, degrees->tp, run->arena, &message);
  if (!tensor)
    return misfit(run, model, message);
  shardTensorPlanCut(model, tensor, boundary);
  int32_t firstTensor;
  ShardMesh mesh = makeMesh(degrees, tensor, run->arena, &firstTensor);
  if (mlirLogicalResultIsFailure(writeArguments(run, model, &mesh, tensor, firstTensor)))
    return mlirLogicalResultFailure();
  writeInnerSequence(run, model, &mesh);
  shardOpSetAttribute(run->op, "spmd.results", shardAttrString(run->context, options->results));
  writeStages(model, units, degrees->pp, run->arena);
  shardMeshWrite(run->op, &mesh);
  return mlirLogicalResultSuccess();
}

/// The mesh with the tensor axis in one piece, as annotations name it.
static ShardMesh plainMesh(const ShardDegrees *degrees, ShardArena *arena, int32_t *outFirst) {
  return makeMesh(degrees, &(ShardTensorPlan){.nSubAxes = 1, .sizes = {degrees->tp}}, arena,
                  outFirst);
}

/// Cuts the blocks of annotations at `boundary` and gives the model as it is then; null after one
/// diagnostic.
static const ShardModel *cutModel(ShardPassRun *run, const ShardDegrees *degrees,
                                  int64_t boundary) {
  const ShardModel *model = shardModelCreate(run->op, run->arena);
  int32_t first;
  ShardMesh mesh = plainMesh(degrees, run->arena, &first);
  if (!model || boundary == 1)
    return model;
  return mlirLogicalResultIsSuccess(shardMarkBlockCuts(model, &mesh, first, boundary, run->arena))
             ? shardModelCreate(run->op, run->arena)
             : NULL;
}

/// What a program costs, as a report counts it.
typedef struct TrialCost {
  double flops; // of one device's contractions
  double bytes; // sent by a rank, mean over ranks
} TrialCost;

static MlirLogicalResult runDefault(const char *pass, MlirOperation module, ShardArena *arena) {
  const ShardPassInfo *info = shardPassInfoFind(mlirStringRefCreateFromCString(pass));
  void *options = shardArenaAllocate(arena, info->optionsSize);
  const char *message;
  shardPassOptionsParse(info, mlirStringRefCreate("", 0), options, arena, &message);
  ShardPassRun run = {mlirOperationGetContext(module), module, options, arena};
  return info->run(&run);
}

static bool countTrial(MlirOperation module, ShardArena *arena, TrialCost *out) {
  const ShardCount *count = shardCountCreate(module, arena);
  *out = (TrialCost){0};
  for (int32_t s = 0; count && s < count->nStages; ++s)
    out->flops += (double)count->stages[s].cost;
  for (intptr_t i = 0; count && i < count->nSites; ++i)
    out->bytes += count->sites[i].bytes * (double)count->sites[i].nTimes;
  return count != NULL;
}

static MlirLogicalResult swallow(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic, (void)user;
  return mlirLogicalResultSuccess();
}

/// Shards a copy with the blocks of annotations cut at `boundary`, and counts. False where that
/// fails; what the plan is taken for says why then.
static bool tryBoundary(const ShardPassRun *run, const ShardDegrees *degrees, int64_t boundary,
                        TrialCost *out) {
  MlirDiagnosticHandlerID handler =
      mlirContextAttachDiagnosticHandler(run->context, swallow, NULL, NULL);
  MlirOperation copy = mlirOperationClone(run->op);
  ShardPassRun trial = {run->context, copy, run->options, shardArenaCreate()};
  const ShardModel *model = cutModel(&trial, degrees, boundary);
  bool held = model && mlirLogicalResultIsSuccess(planModule(&trial, model, degrees, boundary)) &&
              mlirLogicalResultIsSuccess(runDefault("shard-propagate", copy, trial.arena)) &&
              mlirLogicalResultIsSuccess(runDefault("shard-spmdize", copy, trial.arena)) &&
              countTrial(copy, trial.arena, out);
  shardArenaDestroy(trial.arena);
  mlirOperationDestroy(copy);
  mlirContextDetachDiagnosticHandler(run->context, handler);
  return held;
}

/// Whether the first of two programs is taken, where `least` are the flops of the one that does
/// least.
static bool isBetter(const TrialCost *a, const TrialCost *b, double least) {
  double most = least + least / SHARD_FLOP_SLACK;
  if ((a->flops <= most) != (b->flops <= most))
    return a->flops <= most;
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->flops < b->flops;
}

/// Where annotations cut dimensions across their atoms, the tensor axis is cut where that sends
/// less: `*outBoundary`, 1 if nowhere.
static MlirLogicalResult chooseBoundary(ShardPassRun *run, const ShardModel *model,
                                        const ShardDegrees *degrees, int64_t *outBoundary) {
  *outBoundary = 1;
  ShardBoundaries boundaries;
  int32_t firstTensor;
  if (degrees->tp == 1 || !shardModelIsAnnotated(model))
    return mlirLogicalResultSuccess();
  ShardMesh mesh = plainMesh(degrees, run->arena, &firstTensor);
  if (mlirLogicalResultIsFailure(
          shardFindBlockBoundaries(model, &mesh, firstTensor, run->arena, &boundaries)))
    return mlirLogicalResultFailure();
  if (boundaries.n == 0)
    return mlirLogicalResultSuccess();
  TrialCost costs[SHARD_MAX_BOUNDARIES + 1];
  bool held[SHARD_MAX_BOUNDARIES + 1];
  if (!tryBoundary(run, degrees, 1, &costs[0]))
    return mlirLogicalResultSuccess();
  double least = costs[0].flops;
  for (int32_t i = 1; i <= boundaries.n; ++i) {
    held[i] = tryBoundary(run, degrees, boundaries.at[i - 1], &costs[i]);
    least = held[i] && costs[i].flops < least ? costs[i].flops : least;
  }
  int32_t best = 0;
  for (int32_t i = 1; i <= boundaries.n; ++i)
    if (held[i] && isBetter(&costs[i], &costs[best], least))
      best = i;
  *outBoundary = best ? boundaries.at[best - 1] : 1;
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult runPlan(ShardPassRun *run) {
  const PlanOptions *options = run->options;
  ShardDegrees degrees;
  const char *message;
  if (!options->degrees[0] || strcmp(options->degrees, "auto") == 0) {
    const char *fits = shardPlanFittingDegrees(run->op, run->arena);
    return fits ? shardEmitError(run->op, "no degrees are given; those without padding: %s", fits)
                : mlirLogicalResultFailure();
  }
  if (!shardDegreesParse(options->degrees, strlen(options->degrees), run->arena, &degrees,
                         &message))
    return shardEmitError(run->op, "%s", message);
  MlirOperation entry = shardModuleFindEntry(run->op);
  if (entry.ptr)
    tieAnnotations(entry);
  if (entry.ptr && degrees.tp > 1 &&
      mlirLogicalResultIsFailure(shardSplitFusedWeights(run->op, entry, run->arena)))
    return mlirLogicalResultFailure();
  shardUnshareCheapOps(run->op, run->arena);
  const ShardModel *model = shardModelCreate(run->op, run->arena);
  int64_t boundary;
  if (!model || mlirLogicalResultIsFailure(chooseBoundary(run, model, &degrees, &boundary)))
    return mlirLogicalResultFailure();
  if (boundary > 1)
    model = cutModel(run, &degrees, boundary);
  return model ? planModule(run, model, &degrees, boundary) : mlirLogicalResultFailure();
}

const ShardPassInfo shardPlanPass = {
    .argument = "shard-plan",
    .summary = "Choose the mesh, the shardings of arguments and the pipeline stages",
    .anchor = "builtin.module",
    SHARD_PASS_OPTIONS(PlanOptions, optionTable),
    .run = runPlan,
};
