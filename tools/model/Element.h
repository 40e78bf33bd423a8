//===- Element.h - Element types on the host ----------------------*- C -*-===//
#ifndef SHARD_MODEL_ELEMENT_H
#define SHARD_MODEL_ELEMENT_H

#include "shard/Runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes of one element; 0 for a number that is no element type.
size_t elementBytes(ShardRtElement element);
/// "f32", "i64", ...
const char *elementName(ShardRtElement element);
bool elementIsFloat(ShardRtElement element);

/// Element `index` of a dense buffer as a number. Integers beyond 2^53 lose digits: compare those
/// with elementReadInteger.
double elementRead(ShardRtElement element, const void *data, size_t index);
int64_t elementReadInteger(ShardRtElement element, const void *data, size_t index);
/// Stores `value`, rounded to nearest even for floats and cut to the type for integers.
void elementWrite(ShardRtElement element, void *data, size_t index, double value);
/// Stores what no result may depend on: NaN; for integers a large odd number or zero, in turn.
void elementPoison(ShardRtElement element, void *data, size_t index);
/// Representable numbers between two finite floats of the type; 0 when equal.
uint64_t elementUlpDistance(ShardRtElement element, const void *a, const void *b);

#endif // SHARD_MODEL_ELEMENT_H
