//===- Measure.h - What this machine reaches, as a cluster file ----*- C -*-===//
#ifndef SHARD_RUN_MEASURE_H
#define SHARD_RUN_MEASURE_H

#include "Options.h"

#include <jansson.h>

/// Measures this machine and writes options->output. Stops with a message on a failure.
void measureMachine(const Options *options);

/// Times each collective among 2 ranks, 3, ... up to `nRanks`, as rows of a link's "measured".
/// `outLatency`, `outRate`: of a message from rank to rank. A new reference.
json_t *measureCollectives(int32_t nRanks, bool quick, double *outLatency, double *outRate);

/// A number of the file: four digits say all that a measurement knows.
json_t *measureNumber(double value);
/// The same as a figure that was measured.
json_t *measureRate(double value);

#endif // SHARD_RUN_MEASURE_H
