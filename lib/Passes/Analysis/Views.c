//===- Views.c - Dimensions that annotations take apart -----------*- C -*-===//
// A view names pieces of a dimension (Sharding.h). Most are pieces that ops tell apart; those that
// no op does are told apart by the view itself: a user's, or one that was chosen before a function
// was cloned and its callers no longer share what they cut. The plan cuts pieces too (`spmd.cut`).
//===----------------------------------------------------------------------===//

#include "RulesInternal.h"

#include "mlir-c/BuiltinAttributes.h"

static void tieView(ShardRuleBuilder *b, int32_t value, MlirAttribute view) {
  if (value < 0 || mlirAttributeIsNull(view) || !mlirAttributeIsADenseI64Array(view))
    return;
  intptr_t nView = mlirDenseArrayGetNumElements(view), v = 0;
  MlirType type = b->rules->values[value].type;
  for (int64_t d = 0; d < mlirShapedTypeGetRank(type); ++d) {
    int64_t size = mlirShapedTypeGetDimSize(type, d), covered = 1;
    int32_t nodes[SHARD_MAX_LOOPS], n = 0;
    do {
      int64_t piece = v < nView ? mlirDenseI64ArrayGetElement(view, v++) : 0;
      if (piece < 1 || size % (covered * piece) != 0 || n == SHARD_MAX_LOOPS)
        return; // it does not fit, which its reader says
      nodes[n++] = shardNodeCreate(b, piece);
      covered *= piece;
    } while (covered < size);
    shardNodeTie(b, b->valueNodes[value][d], shardNodeProduct(b, n, nodes));
  }
}

static MlirAttribute entryOf(MlirOperation op, intptr_t number) {
  MlirAttribute list = shardOpGetAttribute(op, "spmd.view");
  bool fits = list.ptr && mlirAttributeIsAArray(list) && number < mlirArrayAttrGetNumElements(list);
  return fits ? mlirArrayAttrGetElement(list, number) : mlirAttributeGetNull();
}

/// Cuts that the plan notes on an op: a list of [result, dimension, size of the major part].
static void cutAtoms(ShardRuleBuilder *b, int32_t value, MlirOperation op) {
  const ShardValueInfo *info = &b->rules->values[value];
  MlirAttribute list = shardOpGetAttribute(op, "spmd.cut");
  intptr_t n = list.ptr && mlirAttributeIsAArray(list) ? mlirArrayAttrGetNumElements(list) : 0;
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute cut = mlirArrayAttrGetElement(list, i);
    if (!mlirAttributeIsADenseI64Array(cut) || mlirDenseArrayGetNumElements(cut) != 3 ||
        mlirDenseI64ArrayGetElement(cut, 0) != info->number)
      continue;
    int64_t dim = mlirDenseI64ArrayGetElement(cut, 1);
    if (dim >= 0 && dim < mlirShapedTypeGetRank(info->type))
      shardNodeCut(b, b->valueNodes[value][dim], mlirDenseI64ArrayGetElement(cut, 2));
  }
}

void shardRuleTieViews(ShardRuleBuilder *b) {
  const ShardRules *rules = b->rules;
  for (int32_t v = 0; v < rules->nValues; ++v) {
    const ShardValueInfo *value = &rules->values[v];
    const ShardFunctionInfo *info = &rules->functions[value->function];
    if (value->definition >= 0)
      cutAtoms(b, v, info->ops[value->definition].op);
    tieView(b, v,
            value->definition < 0
                ? shardFuncGetArgumentAttribute(info->func, value->number, "spmd.view")
                : entryOf(info->ops[value->definition].op, value->number));
  }
  for (int32_t f = 0; f < rules->nFunctions; ++f) {
    MlirOperation func = rules->functions[f].func;
    MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(func));
    for (intptr_t r = 0; r < mlirOperationGetNumOperands(end); ++r)
      tieView(b, shardRuleFindValue(b, mlirOperationGetOperand(end, r)),
              shardFuncGetResultAttribute(func, r, "spmd.view"));
  }
}
