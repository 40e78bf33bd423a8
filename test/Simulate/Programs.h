//===- Programs.h - Sharded programs in text, and clusters --------*- C -*-===//
#ifndef SHARD_TEST_SIMULATE_PROGRAMS_H
#define SHARD_TEST_SIMULATE_PROGRAMS_H

#include "shard/Cost.h"
#include "shard/Simulate.h"

#include "mlir-c/IR.h"

#include <stdio.h>

/// A text that is written like a file; it must not be moved.
typedef struct Program {
  FILE *out;
  char *text;
  size_t length;
  int next; // a number for names
} Program;

/// A module with the mesh `shape` ("2x4") and `axes` ("\"pp\", \"tp\""). Ends with programEnd.
void programBegin(Program *program, const char *shape, const char *axes);
/// "  func.func @NAME(%x: tensor<MxKxf32>, %w: tensor<KxNxf32>) ... {" and the constant %zero.
/// `stage` negative: no stage; `isPrivate`: a layer.
void programFunction(Program *program, const char *name, int stage, bool isPrivate, int m, int k,
                     int n);
/// %`name` = %x x %w. Shapes as in programFunction.
void programMatmul(Program *program, const char *name, int m, int k, int n);
void programAllReduce(Program *program, const char *name, const char *of, int axis, int m, int n);
/// To or from coordinate `peer` of axis 0, on a channel.
void programSend(Program *program, const char *of, int peer, int channel, int m, int n);
void programReceive(Program *program, const char *name, int peer, int channel, int m, int n);
/// The text, to be freed with free().
char *programEnd(Program *program);

/// A cluster of a file's text; ends the process when it is none.
ShardCluster *clusterOf(const char *text);
/// Nodes of two devices in one pod. 1 Tflop/s, 100 GB/s, 1 us before each op; 10 GB/s and 1 us in a
/// node, 1 GB/s and 5 us between nodes; rings only.
ShardCluster *pairsCluster(int nNodes);

/// Null after an error, whose text is in `error` [errorBytes].
ShardSimulation *simulateText(const char *text, const ShardCluster *cluster,
                              const int64_t *placement, char *error, size_t errorBytes);
ShardSimulation *simulateTextFor(const char *text, const ShardCluster *cluster,
                                 const ShardSimulateOptions *options, char *error,
                                 size_t errorBytes);
/// The same where no error is expected: ends the process.
ShardSimulation *simulate(const char *text, const ShardCluster *cluster);

/// Picoseconds of a product on such a device, by the roofline.
int64_t matmulPs(int m, int k, int n, double flopsPerSecond);
int64_t picoseconds(double seconds);

#endif // SHARD_TEST_SIMULATE_PROGRAMS_H
