//===- MlirOpt.h - Everything that stock mlir-opt does ------------*- C -*-===//
#ifndef SHARD_OPT_MLIROPT_H
#define SHARD_OPT_MLIROPT_H

#ifdef __cplusplus
extern "C" {
#endif

struct ShardInputFile;

/// mlir-opt with the passes of this project; inputs may be packed by gzip, the output appears only
/// on success. `input`: the input when it has been read before, else null. Returns the exit status.
int shardMlirOptMain(int argc, char **argv, struct ShardInputFile *input);

/// Whether the command line reads as mlir-opt's. If not, says why on stderr and returns the exit
/// status, else -1. Not to be followed by shardMlirOptMain in one process.
int shardMlirOptCheck(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif // SHARD_OPT_MLIROPT_H
