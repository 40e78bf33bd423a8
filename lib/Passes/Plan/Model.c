//===- Model.c - What the planner knows of a module ---------------*- C -*-===//

#include "Model.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

MlirOperation shardModuleFindEntry(MlirOperation module) {
  MlirOperation found = {NULL};
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(module));
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && shardFuncGetBody(op).ptr && shardFuncIsPublic(op)) {
      if (found.ptr)
        return (MlirOperation){NULL};
      found = op;
    }
  return found;
}

//===----------------------------------------------------------------------===//
// Cheap ops: one copy for each user
//===----------------------------------------------------------------------===//

static bool isCheapSource(MlirOperation op) {
  if (shardOpIs(op, "tensor.empty") || shardOpIs(op, "tensor.splat"))
    return true;
  if (shardOpIs(op, "arith.constant")) {
    MlirAttribute value = shardOpGetAttribute(op, "value");
    return mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value);
  }
  if (shardOpIs(op, "linalg.fill"))
    return true;
  if (shardOpIs(op, "tensor.expand_shape") || shardOpIs(op, "tensor.collapse_shape") ||
      shardOpIs(op, "tensor.cast")) { // another shape of one
    MlirValue source = mlirOperationGetOperand(op, 0);
    return mlirValueIsAOpResult(source) && isCheapSource(mlirOpResultGetOwner(source));
  }
  if (!shardOpIs(op, "linalg.generic") || mlirOperationGetNumResults(op) != 1)
    return false;
  // An iota or a fill in general form: no tensor input but splat constants, and the body reads
  // neither its init nor a captured tensor.
  intptr_t nInputs = mlirOperationGetNumOperands(op) - 1;
  for (intptr_t i = 0; i < nInputs; ++i) {
    MlirValue input = mlirOperationGetOperand(op, i);
    if (mlirTypeIsARankedTensor(mlirValueGetType(input)) &&
        !(mlirValueIsAOpResult(input) && shardOpIs(mlirOpResultGetOwner(input), "arith.constant") &&
          isCheapSource(mlirOpResultGetOwner(input))))
      return false;
  }
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  if (!mlirOpOperandIsNull(mlirValueGetFirstUse(mlirBlockGetArgument(body, nInputs))))
    return false;
  for (MlirOperation inner = mlirBlockGetFirstOperation(body); inner.ptr;
       inner = mlirOperationGetNextInBlock(inner))
    if (shardOpIs(inner, "tensor.extract") || mlirOperationGetNumRegions(inner) > 0)
      return false;
  return true;
}

static MlirOperation topLevelUser(MlirOperation user, MlirBlock block) {
  while (user.ptr && !mlirBlockEqual(mlirOperationGetBlock(user), block))
    user = mlirOperationGetParentOperation(user);
  return user;
}

static void unshareBlock(MlirBlock block, ShardArena *arena) {
  // Backward, so that the operands of a copy are met after it (fill, then its empty).
  MlirOperation *ops = NULL;
  size_t n = 0, capacity = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    ops = shardArenaGrow(arena, ops, n, &capacity, n + 1, sizeof(MlirOperation));
    ops[n++] = op;
  }
  while (n--) {
    MlirOperation op = ops[n];
    if (!isCheapSource(op))
      continue;
    MlirValue result = mlirOperationGetResult(op, 0);
    if (!mlirTypeIsARankedTensor(mlirValueGetType(result)))
      continue;
    MlirOpOperand use = mlirValueGetFirstUse(result);
    MlirOperation first = {NULL};
    // The original serves one user; each other user gets a copy right before it.
    MlirOpOperand *uses = NULL;
    size_t nUses = 0, useCapacity = 0;
    for (; !mlirOpOperandIsNull(use); use = mlirOpOperandGetNextUse(use)) {
      uses = shardArenaGrow(arena, uses, nUses, &useCapacity, nUses + 1, sizeof(MlirOpOperand));
      uses[nUses++] = use;
    }
    typedef struct Copy {
      MlirOperation user, op;
    } Copy;
    Copy *copies = SHARD_ARENA_ARRAY(arena, Copy, nUses ? nUses : 1);
    size_t nCopies = 0;
    struct {
      MlirOperation owner;
      intptr_t number;
      MlirOperation copy;
    } *edits = shardArenaAllocateArray(arena, nUses ? nUses : 1, sizeof(*edits));
    size_t nEdits = 0;
    for (size_t u = nUses; u--;) { // uses are listed last first
      MlirOperation owner = mlirOpOperandGetOwner(uses[u]);
      MlirOperation user = topLevelUser(owner, block);
      if (!first.ptr)
        first = user;
      if (user.ptr == first.ptr)
        continue;
      MlirOperation copy = {NULL};
      for (size_t c = 0; c < nCopies; ++c)
        if (copies[c].user.ptr == user.ptr)
          copy = copies[c].op;
      if (!copy.ptr) {
        copy = mlirOperationClone(op);
        mlirBlockInsertOwnedOperationBefore(block, user, copy);
        copies[nCopies++] = (Copy){user, copy};
      }
      edits[nEdits].owner = owner;
      edits[nEdits].number = mlirOpOperandGetOperandNumber(uses[u]);
      edits[nEdits++].copy = copy;
    }
    for (size_t e = 0; e < nEdits; ++e)
      mlirOperationSetOperand(edits[e].owner, edits[e].number,
                              mlirOperationGetResult(edits[e].copy, 0));
    if (nUses == 0 && !shardOpIs(op, "arith.constant"))
      mlirOperationDestroy(op);
  }
}

void shardUnshareCheapOps(MlirOperation module, ShardArena *arena) {
  MlirBlock top = mlirModuleGetBody(mlirModuleFromOperation(module));
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "func.func") && shardFuncGetBody(op).ptr)
      unshareBlock(shardFuncGetBody(op), arena);
}

//===----------------------------------------------------------------------===//
// Weights, batch, sequence, hidden state
//===----------------------------------------------------------------------===//

static const char *stringAttribute(MlirAttribute attribute, ShardArena *arena, const char *other) {
  if (!attribute.ptr || !mlirAttributeIsAString(attribute))
    return other;
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  return shardArenaCopyString(arena, text.data, text.length);
}

static bool isInput(const ShardModel *model, int32_t argument) {
  return strcmp(model->roles[argument], "weight") != 0;
}

/// What a loop carries is no weight; what its bodies use from outside may be.
static void markBodies(const ShardModel *model, const ShardOpRule *rule, uint8_t **arguments) {
  for (int32_t g = 0; g < rule->nBodies; ++g) {
    const ShardBody *body = &rule->bodies[g];
    for (int32_t a = 0; a < model->rules->functions[body->callee].nArguments; ++a) {
      uint8_t weight = 0;
      for (int32_t p = 0; p < rule->nOperands; ++p)
        if (rule->operands[p].operandIndex < 0 && rule->operands[p].slot == body->argumentSlots[a])
          weight = model->weight[rule->operands[p].value];
      arguments[body->callee][a] &= weight;
    }
  }
}

/// Marks values that come from weights and constants only; callers before callees.
static void markWeights(ShardModel *model) {
  const ShardRules *rules = model->rules;
  uint8_t **arguments = SHARD_ARENA_ARRAY(model->arena, uint8_t *, rules->nFunctions);
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    int32_t n = rules->functions[f].nArguments;
    arguments[f] = SHARD_ARENA_ARRAY(model->arena, uint8_t, n ? n : 1);
    memset(arguments[f], 1, (size_t)n);
  }
  for (int32_t a = 0; a < model->nArguments; ++a)
    arguments[model->entry][a] = !isInput(model, a);
  for (int32_t f = rules->nFunctions - 1; f >= 0; --f) {
    const ShardFunctionInfo *info = &rules->functions[f];
    for (int32_t a = 0; a < info->nArguments; ++a)
      if (info->arguments[a] >= 0)
        model->weight[info->arguments[a]] = arguments[f][a];
    for (int32_t o = 0; o < info->nOps; ++o) {
      const ShardOpRule *rule = &info->ops[o];
      if (rule->form == SHARD_OP_CALL)
        for (int32_t p = 0; p < rule->nOperands; ++p)
          arguments[rule->callee][rule->operands[p].operandIndex] &=
              model->weight[rule->operands[p].value];
      if (rule->form == SHARD_OP_LOOP)
        markBodies(model, rule, arguments);
      bool weight = false, all = true;
      for (int32_t p = 0; p < rule->nOperands; ++p) {
        if (rule->operands[p].init && rule->unusedInit)
          continue;
        weight |= model->weight[rule->operands[p].value] == 1;
        all &= model->weight[rule->operands[p].value] != 0;
      }
      // Only moved or cast weights count: arithmetic on them makes a value of its own.
      if (rule->form == SHARD_OP_CALL || rule->form == SHARD_OP_LOOP || rule->contraction)
        weight = false;
      for (int32_t r = 0; r < rule->nResults; ++r)
        model->weight[rule->results[r].value] = weight && all && rule->movement;
    }
  }
}

static bool hasClass(const ShardValueInfo *value, int32_t klass) {
  for (int32_t a = 0; a < value->nAtoms; ++a)
    if (value->atoms[a].klass == klass)
      return true;
  return false;
}

static int32_t returnedValue(const ShardModel *model, int32_t result) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  const ShardOpRule *ret = &info->ops[info->nOps - 1];
  for (int32_t p = 0; p < ret->nOperands; ++p)
    if (ret->operands[p].operandIndex == result)
      return ret->operands[p].value;
  return -1;
}

/// Results that argue for the batch: the updated forms of states do not, where there are others.
static bool *findPlainResults(const ShardModel *model) {
  bool *plain = SHARD_ARENA_ARRAY(model->arena, bool, model->nResults + 1);
  bool any = false;
  for (int32_t r = 0; r < model->nResults; ++r) {
    plain[r] = true;
    for (int32_t a = 0; a < model->nArguments; ++a)
      plain[r] &= model->ties[a].result != r;
    any |= plain[r];
  }
  for (int32_t r = 0; r < model->nResults && !any; ++r)
    plain[r] = true;
  return plain;
}

static bool inAnInput(const ShardModel *model, int32_t klass) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  for (int32_t a = 0; a < info->nArguments; ++a)
    if (info->arguments[a] >= 0 && isInput(model, a) &&
        hasClass(&model->rules->values[info->arguments[a]], klass))
      return true;
  return false;
}

static void markUserDims(ShardModel *model) {
  // `spmd.dims = ["batch", "sequence", ""]` on an argument wins over what is inferred.
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  for (int32_t a = 0; a < info->nArguments; ++a) {
    MlirAttribute dims = shardFuncGetArgumentAttribute(info->func, a, "spmd.dims");
    if (!dims.ptr || !mlirAttributeIsAArray(dims) || info->arguments[a] < 0)
      continue;
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    for (int32_t i = 0; i < value->nAtoms; ++i) {
      if (value->atoms[i].dim >= mlirArrayAttrGetNumElements(dims))
        continue;
      MlirAttribute dim = mlirArrayAttrGetElement(dims, value->atoms[i].dim);
      if (!mlirAttributeIsAString(dim))
        continue;
      if (shardStringIs(mlirStringAttrGetValue(dim), "batch") && model->batchClass < 0)
        model->batchClass = value->atoms[i].klass;
      if (shardStringIs(mlirStringAttrGetValue(dim), "sequence"))
        model->sequence[value->atoms[i].klass] = 1;
    }
  }
}

static void findBatch(ShardModel *model) {
  if (model->batchClass >= 0)
    return;
  const bool *plain = findPlainResults(model);
  bool first = true;
  for (int32_t r = 0; r < model->nResults; ++r) {
    int32_t v = returnedValue(model, r);
    if (v < 0 || !plain[r])
      continue;
    const ShardValueInfo *value = &model->rules->values[v];
    if (value->nAtoms == 0 || value->atoms[0].dim != 0)
      return;
    int32_t klass = value->atoms[0].klass;
    if (!inAnInput(model, klass))
      return;
    if (first)
      model->batchClass = klass;
    else if (model->batchClass != klass)
      model->batchClass = -1;
    first = false;
    if (model->batchClass < 0)
      return;
  }
}

/// Marks the classes that meet themselves in one value: attention scores. A square weight is none.
static void markScores(const ShardModel *model, uint8_t *marked) {
  for (int32_t v = 0; v < model->rules->nValues; ++v) {
    const ShardValueInfo *value = &model->rules->values[v];
    for (int32_t a = 0; a < value->nAtoms && !model->weight[v]; ++a)
      for (int32_t b = a + 1; b < value->nAtoms; ++b)
        if (value->atoms[a].klass == value->atoms[b].klass)
          marked[value->atoms[a].klass] = 1;
  }
}

/// Patches and a class token: the sequence comes about inside. The longest that scores are made of.
static void findInnerSequence(ShardModel *model) {
  const ShardRules *rules = model->rules;
  uint8_t *scores = SHARD_ARENA_ARRAY(model->arena, uint8_t, rules->nClasses ? rules->nClasses : 1);
  markScores(model, scores);
  for (int32_t c = 0; c < rules->nClasses; ++c) {
    if (model->sequence[c]) {
      model->innerSequence = -1;
      return;
    }
    if (scores[c] && c != model->batchClass &&
        (model->innerSequence < 0 ||
         rules->classSizes[c] > rules->classSizes[model->innerSequence]))
      model->innerSequence = c;
  }
}

/// Heads of a cache stand in it as its positions do, but products with weights make them. Where
/// other classes are left, or of a cache, such ones are no sequence; nor is what no product runs
/// over (layers that share a cache) where one runs over another of its classes.
static void dropFeatures(ShardModel *model, const uint8_t *ofStates) {
  const ShardRules *rules = model->rules;
  uint8_t *made = SHARD_ARENA_ARRAY(model->arena, uint8_t, rules->nClasses ? rules->nClasses : 1);
  uint8_t *met = SHARD_ARENA_ARRAY(model->arena, uint8_t, rules->nClasses + 1);
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps; ++o) {
      const ShardOpRule *rule = &rules->functions[f].ops[o];
      for (int32_t p = 0; rule->contraction && p < rule->nOperands; ++p) {
        const ShardValueInfo *value = &rules->values[rule->operands[p].value];
        for (int32_t a = 0; a < value->nAtoms; ++a) {
          int32_t c = value->atoms[a].klass;
          made[c] |= model->weight[rule->operands[p].value];
          met[c] = 1;
        }
      }
    }
  bool others = false, multiplied = false;
  for (int32_t c = 0; c < rules->nClasses; ++c) {
    others |= model->sequence[c] && !made[c];
    multiplied |= model->sequence[c] && ofStates[c] && !made[c] && met[c];
  }
  for (int32_t c = 0; c < rules->nClasses; ++c) {
    model->sequence[c] &= !made[c] || !(others || ofStates[c]);
    model->sequence[c] &= !ofStates[c] || met[c] || !multiplied;
  }
}

/// Marks the classes that stand between the first and the last dimension of a value.
static void markInner(const ShardValueInfo *value, uint8_t *marked) {
  int64_t rank = mlirShapedTypeGetRank(value->type);
  for (int32_t a = 0; a < value->nAtoms; ++a)
    if (value->atoms[a].dim < rank - 1)
      marked[value->atoms[a].klass] = 1;
}

static void findSequence(ShardModel *model) {
  const ShardRules *rules = model->rules;
  for (int32_t c = 0; c < rules->nClasses; ++c)
    if (model->sequence[c])
      return; // the user said
  // A dimension of an input, not the batch, that is kept in a result behind its first dimension, or
  // meets itself in one value (attention scores).
  uint8_t *candidate =
      SHARD_ARENA_ARRAY(model->arena, uint8_t, rules->nClasses ? rules->nClasses : 1);
  uint8_t *ofStates = SHARD_ARENA_ARRAY(model->arena, uint8_t, rules->nClasses + 1);
  const bool *plain = findPlainResults(model);
  for (int32_t r = 0; r < model->nResults; ++r) {
    int32_t v = returnedValue(model, r);
    if (v < 0)
      continue;
    markInner(&rules->values[v], plain[r] ? candidate : ofStates);
  }
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  for (int32_t a = 0; a < info->nArguments; ++a) // whose rows may move up
    if (model->ties[a].result >= 0 && info->arguments[a] >= 0)
      markInner(&rules->values[info->arguments[a]], ofStates);
  for (int32_t c = 0; c < rules->nClasses; ++c) {
    ofStates[c] &= !candidate[c];
    candidate[c] |= ofStates[c];
  }
  markScores(model, candidate);
  for (int32_t c = 0; c < rules->nClasses; ++c)
    model->sequence[c] = candidate[c] && c != model->batchClass && inAnInput(model, c);
  dropFeatures(model, ofStates);
}

static void countWeightBytes(ShardModel *model) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  for (int32_t a = 0; a < info->nArguments; ++a) {
    if (info->arguments[a] < 0 || isInput(model, a))
      continue;
    const ShardValueInfo *value = &model->rules->values[info->arguments[a]];
    for (int32_t i = 0; i < value->nAtoms; ++i) {
      bool before = false;
      for (int32_t j = 0; j < i; ++j)
        before |= value->atoms[j].klass == value->atoms[i].klass;
      if (!before)
        model->weightBytes[value->atoms[i].klass] += value->bytes;
    }
  }
}

/// Whether arguments that the fold takes for equal have the same role and annotations.
static bool areFoldedAlike(const ShardModel *model, const ShardFold *fold, const int32_t *stays) {
  const ShardFunctionInfo *info = &model->rules->functions[model->entry];
  for (int32_t a = 0; a < info->nArguments; ++a) {
    int32_t other = stays[fold->argumentOf[a]];
    if (other == a)
      continue;
    if ((model->ties[a].result < 0) != (model->ties[other].result < 0) ||
        strcmp(model->roles[a], model->roles[other]) != 0 ||
        !mlirAttributeEqual(shardFuncGetArgumentAttribute(info->func, a, "spmd.sharding"),
                            shardFuncGetArgumentAttribute(info->func, other, "spmd.sharding")))
      return false;
  }
  return true;
}

/// The model with equal calls folded, where there are any.
static void foldModel(ShardModel *model) {
  ShardArena *arena = model->arena;
  ShardFold *fold = shardFoldCreate(model->rules, model->entry, arena);
  if (!fold)
    return;
  int32_t n = fold->rules->functions[model->entry].nArguments;
  int32_t *stays = SHARD_ARENA_ARRAY(arena, int32_t, n + 1);
  for (int32_t a = fold->nArguments - 1; a >= 0; --a)
    stays[fold->argumentOf[a]] = a;
  if (!areFoldedAlike(model, fold, stays))
    return;
  ShardModel *folded = SHARD_ARENA_NEW(arena, ShardModel);
  *folded = *model;
  folded->rules = fold->rules;
  folded->nArguments = n;
  folded->roles = SHARD_ARENA_ARRAY(arena, const char *, n + 1);
  folded->names = SHARD_ARENA_ARRAY(arena, const char *, n + 1);
  folded->ties = SHARD_ARENA_ARRAY(arena, ShardStateTie, n + 1);
  for (int32_t a = 0; a < n; ++a)
    folded->roles[a] = model->roles[stays[a]], folded->names[a] = model->names[stays[a]],
    folded->ties[a] = model->ties[stays[a]];
  folded->weight = SHARD_ARENA_ARRAY(arena, uint8_t, fold->rules->nValues + 1);
  memcpy(folded->weight, model->weight, (size_t)fold->firstValue);
  for (int32_t v = 0; v < fold->nValues; ++v)
    folded->weight[fold->firstValue + fold->valueOf[v]] = model->weight[fold->firstValue + v];
  for (int32_t i = 0; i < model->nHidden; ++i)
    if (model->hiddenValues[i] >= fold->firstValue)
      folded->hiddenValues[i] =
          fold->firstValue + fold->valueOf[model->hiddenValues[i] - fold->firstValue];
  fold->weight = folded->weight;
  model->fold = fold, model->folded = folded;
}

/// A grid in the model that names parts of the tensor axis (tp.0, tp.1) fixes them.
static void readParts(ShardModel *model) {
  ShardMesh mesh;
  if (!shardMeshRead(model->module, model->arena, &mesh))
    return;
  for (int32_t axis = 0; axis < mesh.nAxes; ++axis)
    if (strncmp(mesh.names[axis], "tp.", 3) == 0)
      model->parts[model->nParts++] = mesh.sizes[axis];
}

ShardModel *shardModelCreate(MlirOperation module, ShardArena *arena) {
  MlirOperation entry = shardModuleFindEntry(module);
  if (!entry.ptr) {
    shardEmitError(module, "expected one public function with a body, as shard-import leaves it");
    return NULL;
  }
  ShardRules *rules = shardRulesCreate(module, arena);
  if (!rules)
    return NULL;
  ShardModel *model = SHARD_ARENA_NEW(arena, ShardModel);
  model->module = module, model->arena = arena, model->rules = rules;
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    if (rules->functions[f].func.ptr == entry.ptr)
      model->entry = f;
  const ShardFunctionInfo *info = &rules->functions[model->entry];
  model->nArguments = info->nArguments, model->nResults = info->nResults;
  model->roles = SHARD_ARENA_ARRAY(arena, const char *, info->nArguments ? info->nArguments : 1);
  model->names = SHARD_ARENA_ARRAY(arena, const char *, info->nArguments ? info->nArguments : 1);
  model->ties = SHARD_ARENA_ARRAY(arena, ShardStateTie, info->nArguments + 1);
  for (int32_t a = 0; a < info->nArguments; ++a) {
    model->ties[a] = shardStateTieOf(entry, a);
    model->roles[a] =
        stringAttribute(shardFuncGetArgumentAttribute(entry, a, "spmd.role"), arena, "input");
    model->names[a] =
        stringAttribute(shardFuncGetArgumentAttribute(entry, a, "spmd.name"), arena, "");
  }
  int32_t nClasses = rules->nClasses ? rules->nClasses : 1;
  model->weight = SHARD_ARENA_ARRAY(arena, uint8_t, rules->nValues ? rules->nValues : 1);
  model->sequence = SHARD_ARENA_ARRAY(arena, uint8_t, nClasses);
  model->hidden = SHARD_ARENA_ARRAY(arena, uint8_t, nClasses);
  model->weightBytes = SHARD_ARENA_ARRAY(arena, int64_t, nClasses);
  model->batchClass = model->innerSequence = -1;
  readParts(model);
  markWeights(model);
  markUserDims(model);
  findBatch(model);
  findSequence(model);
  findInnerSequence(model);
  shardModelFindHidden(model);
  countWeightBytes(model);
  foldModel(model);
  return model;
}

bool shardModelIsAnnotated(const ShardModel *model) {
  const ShardRules *rules = model->rules;
  const ShardFunctionInfo *entry = &rules->functions[model->entry];
  bool any = false;
  for (int32_t a = 0; a < entry->nArguments && !any; ++a)
    any = shardFuncGetArgumentAttribute(entry->func, a, "spmd.sharding").ptr != NULL;
  for (int32_t r = 0; r < entry->nResults && !any; ++r)
    any = shardFuncGetResultAttribute(entry->func, r, "spmd.sharding").ptr != NULL;
  for (int32_t f = 0; f < rules->nFunctions; ++f)
    for (int32_t o = 0; o < rules->functions[f].nOps && !any; ++o)
      any = shardOpGetAttribute(rules->functions[f].ops[o].op, "spmd.sharding").ptr != NULL;
  return any;
}
