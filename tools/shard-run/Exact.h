//===- Exact.h - Which results have one right bit pattern ---------*- C -*-===//
// With small whole numbers as arguments, sums and products are exact in floating point, and then
// their order does not matter: a sharded program must give the same bits. What adds up other
// numbers (quotients, exponentials), or grows past the mantissa, is named with its place.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUN_EXACT_H
#define SHARD_RUN_EXACT_H

#include "Values.h"

#include "shard/Program.h"

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What is known of all elements of a value: multiples of 2^-fraction, in
/// [low, high].
typedef struct ExactFact {
  bool exact;
  double low, high; // infinite: unknown
  int32_t fraction;
  MlirOperation culprit;  // the first op after which it was not exact; null: an argument
  bool tooLarge;          // the culprit is exact on smaller numbers
  MlirOperation function; // what gave it is no number as above, but the same bits for the same bits
  int32_t line;           // along any dimension at most so many are not zero; 0: not known
} ExactFact;

/// Facts of the results of the public function of `module`, the original after shard-import, whose
/// program is `program`: by result, [*outCount], to be freed with free(). Sets
/// `options->wholeNumbers` to the largest of 3, 2, 1 with which the most results are exact, and
/// `options->nonzeroLine` if more are with it.
ExactFact *exactChoose(MlirOperation module, const ShardProgram *program, ValueOptions *options,
                       size_t *outCount);

/// "math.exp at model.mlir:12:10", to be freed with free().
char *exactReason(const ExactFact *fact);

#endif // SHARD_RUN_EXACT_H
