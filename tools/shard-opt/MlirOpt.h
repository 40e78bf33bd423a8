//===- MlirOpt.h - Everything that stock mlir-opt does ------------*- C -*-===//
#ifndef SHARD_OPT_MLIROPT_H
#define SHARD_OPT_MLIROPT_H

#ifdef __cplusplus
extern "C" {
#endif

/// mlir-opt with the passes of this project. Returns the exit status.
int shardMlirOptMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif // SHARD_OPT_MLIROPT_H
