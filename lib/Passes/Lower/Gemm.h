//===- Gemm.h - The matrix product that contractions call ----------*- C -*-===//
#ifndef SHARD_LOWER_GEMM_H
#define SHARD_LOWER_GEMM_H

#include "Lower.h"

/// Whether there is a product of these element types.
bool shardGemmSupports(MlirType a, MlirType b, MlirType c);

/// Name of @shard_gemm_TA_TB_TC, added to the module at first use:
///   (A, row stride, column stride, B, .., .., C, .., .., M, N, K, KC, accumulate: i1, scratch)
/// Strides and sizes are i64 elements; scratch has shardGemmScratchBytes.
const char *shardGemmGet(ShardLowering *lowering, MlirType a, MlirType b, MlirType c);

/// The block of K to pass as KC.
int64_t shardGemmBlockK(MlirType c, int64_t k);
int64_t shardGemmScratchBytes(const ShardLowering *lowering, MlirType c, int64_t k);

#endif // SHARD_LOWER_GEMM_H
