//===- Gemm.h - The matrix product that contractions call ----------*- C -*-===//
#ifndef SHARD_LOWER_GEMM_H
#define SHARD_LOWER_GEMM_H

#include "Lower.h"

/// Loops of a contraction, at most.
enum { MAX_CONTRACTION_DIMS = 24 };

/// Whether there is a product of these element types.
bool shardGemmSupports(MlirType a, MlirType b, MlirType c);

/// Name of @shard_gemm_TA_TB_TC, added to the module at first use:
///   (A, row stride, column stride, B, .., .., C, .., .., M, N, K, KC, accumulate: i1, scratch,
///   tile)
/// Strides and sizes are i64 elements; scratch and tile: shardGemmGetScratch.
const char *shardGemmGet(ShardLowering *lowering, MlirType a, MlirType b, MlirType c);

/// The block of K to pass as KC.
int64_t shardGemmBlockK(MlirType c, int64_t k);

/// What the memory that a product needs depends on: element types, sizes, strides of columns.
typedef struct ShardGemmSizes {
  MlirType b, c;
  int64_t m, n, k, columnB, columnC;
} ShardGemmSizes;
/// A packed panel of B, then a tile of C; either only if the product has use for it. All of it is
/// written.
typedef struct ShardGemmScratch {
  int64_t bytes, tileOffset;
} ShardGemmScratch;
ShardGemmScratch shardGemmGetScratch(const ShardLowering *lowering, const ShardGemmSizes *sizes);

#endif // SHARD_LOWER_GEMM_H
