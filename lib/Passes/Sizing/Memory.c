//===- Memory.c - Activations that live, and that gradients keep --*- C -*-===//
#include "../Analysis/Liveness.h"
#include "../Analysis/Work.h"
#include "Sizing.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

//===----------------------------------------------------------------------===//
// What gradients need
//===----------------------------------------------------------------------===//

/// Keeps a value where it lies in memory: seen through views, and what is made on the way again.
static void keep(Flat *flat, int32_t number, int depth) {
  enum { maxDepth = 64 };
  FlatValue *value = &flat->values[number];
  if (value->form != FLAT_ACTIVATION || value->kept)
    return;
  const FlatOp *op = value->op < 0 ? NULL : &flat->ops[value->op];
  const FlatFacts *facts = op ? &flat->facts[op->facts] : NULL;
  if (op && (facts->view || facts->folded) && depth < maxDepth) {
    int32_t n = facts->view && op->nOperands ? 1 : op->nOperands;
    for (int32_t i = 0; i < n; ++i)
      keep(flat, flat->operands[op->firstOperand + i], depth + 1);
    return;
  }
  MlirType type = value->type;
  value->kept =
      op && mlirTypeIsARankedTensor(type) && mlirTypeIsAFloat(mlirShapedTypeGetElementType(type));
}

void flatKeep(Flat *flat) {
  for (size_t i = 0; i < flat->nOps; ++i) {
    const FlatOp *op = &flat->ops[i];
    const FlatFacts *facts = &flat->facts[op->facts];
    for (int32_t k = 0; facts->keepsInputs && k < op->nOperands; ++k)
      keep(flat, flat->operands[op->firstOperand + k], 0);
    for (int32_t r = 0; facts->keepsResult && r < op->nResults; ++r)
      keep(flat, op->firstResult + r, 0);
  }
}

//===----------------------------------------------------------------------===//
// What lives at once
//===----------------------------------------------------------------------===//

typedef struct Peaks {
  Flat *flat;
  ShardPointerMap *ofBlock; // block -> peak
  ShardPointerMap *inner;   // op -> peak of what it calls or contains
} Peaks;

static int64_t peakOf(Peaks *peaks, MlirBlock block);

static int64_t innerPeak(Peaks *peaks, MlirOperation op) {
  int64_t most = 0;
  MlirAttribute callee = shardOpGetAttribute(op, "callee");
  if (shardOpIs(op, "func.call") && !mlirAttributeIsNull(callee)) {
    MlirAttribute symbol =
        mlirStringAttrGet(mlirOperationGetContext(op), mlirFlatSymbolRefAttrGetValue(callee));
    MlirOperation func = {
        (void *)(intptr_t)shardPointerMapGetOr(peaks->flat->functions, symbol.ptr, 0)};
    return mlirOperationIsNull(func) ? 0 : peakOf(peaks, shardFuncGetBody(func));
  }
  for (intptr_t g = 0;
       shardNameHasDialect(shardOpGetName(op), "scf") && g < mlirOperationGetNumRegions(op); ++g) {
    int64_t peak = peakOf(peaks, mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g)));
    most = peak > most ? peak : most;
  }
  return most;
}

static int64_t peakOf(Peaks *peaks, MlirBlock block) {
  int64_t known;
  if (mlirBlockIsNull(block))
    return 0;
  if (shardPointerMapGet(peaks->ofBlock, block.ptr, &known))
    return known;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    int64_t peak = innerPeak(peaks, op);
    if (peak > 0)
      shardPointerMapSet(peaks->inner, op.ptr, peak);
  }
  int64_t peak = shardBlockLiveBytes(block, peaks->inner, peaks->flat->arena).peakBytes;
  shardPointerMapSet(peaks->ofBlock, block.ptr, peak);
  return peak;
}

int64_t flatPeakBytes(Flat *flat) {
  Peaks peaks = {flat, shardPointerMapCreate(flat->arena, 64),
                 shardPointerMapCreate(flat->arena, 256)};
  return peakOf(&peaks, shardFuncGetBody(flat->entry));
}
