//===- ExactNumbers.h - Exact arithmetic on intervals -------------*- C -*-===//
// A sum or product of multiples of 2^-f is one again, and is exact while magnitude * 2^f fits the
// mantissa; so is every partial sum on the way, in any order.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUN_EXACTNUMBERS_H
#define SHARD_RUN_EXACTNUMBERS_H

#include "Exact.h"

enum { EXACT_MAX_FRACTION = 60 };

ExactFact exactRange(double low, double high); // whole numbers
ExactFact exactWhole(double bound);            // of at most this magnitude
ExactFact exactOfData(ShardRtElement element, const void *data, size_t count);
ExactFact exactOfDrawn(const ValueSource *source);
/// What `op` makes is not exact.
ExactFact exactNot(MlirOperation op, bool tooLarge);
/// `fact` as a value of `type` that `op` makes: does it fit the mantissa? A sum or product of what
/// a function gave is rounded, and then its order counts.
ExactFact exactFit(ExactFact fact, MlirType type, MlirOperation op);

ExactFact exactJoin(ExactFact x, ExactFact y); // one or the other
ExactFact exactNegative(ExactFact x);
ExactFact exactSum(ExactFact x, ExactFact y);
ExactFact exactProduct(ExactFact x, ExactFact y);
double exactTimes(double x, double y); // zero times infinity is zero

/// Result of an op without regions and with one result. `facts` [n] are its operands'.
ExactFact exactOfOp(MlirOperation op, intptr_t n, const ExactFact *facts);
/// How an op that a body combines with treats its two operands.
bool exactIsSum(MlirOperation op); // or difference
bool exactIsProduct(MlirOperation op);
bool exactIsChoice(MlirOperation op); // gives one of its operands, or one with the sign changed

bool exactIsFloat(MlirValue value); // or a tensor of floats

#endif // SHARD_RUN_EXACTNUMBERS_H
