//===- shard/Compress.h - Values in fewer bits --------------------*- C -*-===//
// What compressed gradients cost and save, and two ways to compress: by sign with error feedback,
// and by levels of b bits. Plain C, no MLIR. How the textbook's forms differ:
// python-free-docs/design/cost.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_COMPRESS_H
#define SHARD_COMPRESS_H

#include "shard/Cost.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Gradients that each rank of a group compresses before all ranks get their sum.
typedef struct ShardCompression {
  double bytes;             // of a rank's gradients as they are
  double compressedBytes;   // of the same, with indices and scales
  double compressSeconds;   // before they are sent
  double decompressSeconds; // of all that a rank gets
} ShardCompression;

typedef struct ShardCompressionCost {
  double plainSeconds;      // an all-reduce of what is not compressed
  double compressedSeconds; // compression, an all-gather, decompression
  double gain;              // the former over the latter: above 1 it is worth it
} ShardCompressionCost;

/// Numbers in few bits, or at places of their own, cannot be added on the way: those of each rank
/// go to every other (all-gather) where others are all-reduced, so that more ranks gain less.
/// Byte counts are rounded to whole ones. One rank: nothing is sent, gain 1. Cannot fail.
/// Thread-safe.
SHARD_EXPORTED void shardCompressionCost(const ShardGroups *groups,
                                         const ShardCompression *compression,
                                         ShardCompressionCost *out);

/// The textbook's: one message over one link of `bytesPerSecond`, N/BW over
/// T_comp + N'/BW + T_decomp. Right for two ranks that send one way.
SHARD_EXPORTED double shardTextbookCompressionGain(const ShardCompression *compression,
                                                   double bytesPerSecond);

/// How much shorter a step gets of which the part `share` is communication, when that takes
/// ratio x (1 - overhead) times less: 1 / (1 - share + share / (ratio (1 - overhead))) (Amdahl
/// 1967).
SHARD_EXPORTED double shardCompressionSpeedUp(double share, double ratio, double overhead);

/// Bytes of `count` numbers as shardQuantize writes them, in blocks of `block` (the last shorter):
/// codes of `bits` bits in whole bytes, and each block's two limits of 4 bytes. `bits` 1 to 16,
/// `block` at least 1.
SHARD_EXPORTED int64_t shardQuantizedBytes(int64_t count, int32_t bits, int64_t block);
/// The textbook's ratio of 32-bit numbers to k levels, 32 / (1 + log2 k): a sign and k magnitudes,
/// without any scale.
SHARD_EXPORTED double shardTextbookLevelRatio(double levels);

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// The nearest of 2^bits levels from the least to the greatest value: round((x - min) / (max - min)
/// (2^bits - 1)). Off by half a level at most; equal values, 0 of range, come back exactly.
///   values  [count], all finite. Borrowed.
///   bits    1 to 16.
///   codes   [ceil(count * bits / 8)] bytes, least bits first; written whole.
///   limits  The least and the greatest value, the scale of the codes.
/// False, and nothing written: a NaN or an infinity, bits out of range, no values. Thread-safe.
SHARD_EXPORTED bool shardQuantize(int64_t count, const float *values, int32_t bits, uint8_t *codes,
                                  float limits[2]);
/// The inverse: `values` [count] are written.
SHARD_EXPORTED void shardDequantize(int64_t count, const uint8_t *codes, int32_t bits,
                                    const float limits[2], float *values);

//===----------------------------------------------------------------------===//
// Signs, with error feedback
//===----------------------------------------------------------------------===//

/// Sends each value above the threshold as its sign times one scale, and keeps what was not sent
/// for the next call (Seide et al. 2014; Karimireddy et al., Error feedback fixes SignSGD, 2019):
/// what was sent, and what is kept, add up to all gradients, exactly.
/// The scale is the mean magnitude of what is sent. (The textbook's, the vector's 2-norm, is larger
/// than any of them, and what is kept then grows without end.)
///   gradient   [count], all finite. Borrowed.
///   threshold  Values of less or equal magnitude, with what was kept, are not sent; at least 0.
///   kept       [2 * count], zeros before the first call: two numbers a value, whose sum it is.
///   codes      [ceil(count / 4)] bytes, two bits a value, least first: 0 nothing, 1 plus, 2 minus.
///   outScale   0: nothing is sent.
/// Returns how many additions were rounded all the same, for want of the 106 bits of two doubles: 0
/// unless gradients of one value are more than 2^80 apart. -1, and nothing changed: a value is not
/// finite. Thread-safe on its own arrays.
SHARD_EXPORTED int64_t shardSignCompress(int64_t count, const float *gradient, float threshold,
                                         double *kept, uint8_t *codes, float *outScale);
/// Adds what one rank sent to `sum` [count].
SHARD_EXPORTED void shardSignAdd(int64_t count, const uint8_t *codes, float scale, double *sum);

#ifdef __cplusplus
}
#endif
#endif // SHARD_COMPRESS_H
