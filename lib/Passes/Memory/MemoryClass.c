//===- MemoryClass.c - Names of what bytes are for -----------------*- C -*-===//
#include "shard/MemoryPlan.h"

#include <stddef.h>

const char *shardMemoryClassName(ShardMemoryClass class_) {
  static const char *const names[SHARD_N_MEMORY_CLASSES] = {
      [SHARD_MEMORY_WEIGHTS] = "weights",         [SHARD_MEMORY_GRADIENTS] = "gradients",
      [SHARD_MEMORY_OPTIMIZER] = "optimizer",     [SHARD_MEMORY_ACTIVATIONS] = "activations",
      [SHARD_MEMORY_TEMPORARIES] = "temporaries", [SHARD_MEMORY_COMMUNICATION] = "communication",
      [SHARD_MEMORY_STAGING] = "staging",
  };
  return (unsigned)class_ < SHARD_N_MEMORY_CLASSES ? names[class_] : NULL;
}
