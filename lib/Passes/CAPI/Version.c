//===- Version.c - Version of the library -------------------------*- C -*-===//
#include "shard/Version.h"

#include "llvm/Config/llvm-config.h"

const char *shardVersion(void) { return SHARD_VERSION_STRING; }

const char *shardLlvmVersion(void) { return LLVM_VERSION_STRING; }
