//===- CpuShim.h - Whether LLVM knows a CPU -----------------------*- C -*-===//
#ifndef SHARD_LOWER_CPUSHIM_H
#define SHARD_LOWER_CPUSHIM_H

#ifdef __cplusplus
extern "C" {
#endif

/// Whether `cpu` names a CPU that runs code of target triple `triple`. Its target must be
/// initialized. Thread-safe.
int shardCpuIsKnown(const char *triple, const char *cpu);

#ifdef __cplusplus
}
#endif
#endif // SHARD_LOWER_CPUSHIM_H
