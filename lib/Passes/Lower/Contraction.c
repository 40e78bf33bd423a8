//===- Contraction.c - Products of two operands summed over loops --*- C -*-===//
#include "Loops.h"

bool shardIsContraction(MlirOperation op) {
  (void)op;
  return false;
}

MlirLogicalResult shardEmitContraction(ShardBuffers *buffers, MlirOperation op) {
  return shardEmitGenericLoops(buffers, op);
}

MlirLogicalResult shardPrepareContractions(ShardLowering *lowering) {
  (void)lowering;
  return mlirLogicalResultSuccess();
}
