//===- Units.c - Numbers with the prefix that suits ---------------*- C -*-===//
#include "Units.h"

#include <stdio.h>

const char *const shardMetricPrefixes[SHARD_N_METRIC_PREFIXES] = {"", "k", "M", "G", "T", "P", "E"};

const char *shardScaledText(char *text, double value, int digits, const char *const *prefixes,
                            int n, const char *unit) {
  int prefix = 0;
  for (; (value >= 1000 || value <= -1000) && prefix + 1 < n; ++prefix)
    value /= 1000;
  snprintf(text, SHARD_SCALED_TEXT, "%.*g %s%s", digits, value, prefixes[prefix], unit);
  return text;
}

const char *shardBytesText(char *text, double bytes, int digits) {
  return shardScaledText(text, bytes, digits, shardMetricPrefixes, SHARD_N_METRIC_PREFIXES, "B");
}

const char *shardTimeText(char *text, double picoseconds, int digits) {
  static const char *const prefixes[] = {"p", "n", "u", "m", ""};
  return shardScaledText(text, picoseconds, digits, prefixes, 5, "s");
}
