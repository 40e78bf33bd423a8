//===- Units.h - Numbers with the prefix that suits ---------------*- C -*-===//
#ifndef SHARD_CORE_UNITS_H
#define SHARD_CORE_UNITS_H

enum { SHARD_SCALED_TEXT = 48, SHARD_N_METRIC_PREFIXES = 7 };

/// "", "k", "M", ... "E".
extern const char *const shardMetricPrefixes[SHARD_N_METRIC_PREFIXES];

/// Writes `value` in `digits` figures, with the first of the `n` prefixes, each a thousand times
/// the one before, that leaves less than 1000, and `unit`: "603.98 GB". Returns `text`, which has
/// SHARD_SCALED_TEXT bytes.
const char *shardScaledText(char *text, double value, int digits, const char *const *prefixes,
                            int n, const char *unit);

/// A time, as above: "1.2345 ms".
const char *shardTimeText(char *text, double picoseconds, int digits);
/// Bytes, as above.
const char *shardBytesText(char *text, double bytes, int digits);

#endif // SHARD_CORE_UNITS_H
