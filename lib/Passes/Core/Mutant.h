//===- Mutant.h - Seeded bugs, in a test build alone --------------*- C -*-===//
// SHARD_MUTANT("name") is whether the environment's SHARD_MUTANT is that name, in a build with
// -DSHARD_MUTANTS=ON; elsewhere it is false at compile time and the name is not in the library.
// test/Mutants lists the names.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CORE_MUTANT_H
#define SHARD_CORE_MUTANT_H

#ifdef SHARD_MUTANTS
#include "mlir-c/IR.h"

#include <stdbool.h>

bool shardMutantIs(const char *name);
/// Applies the mutant to a module between passes, after shard-spmdize, if it is one of those.
void shardMutantApply(MlirOperation module);
#define SHARD_MUTANT(name) shardMutantIs(name)
#else
#define SHARD_MUTANT(name) false
#endif

#endif // SHARD_CORE_MUTANT_H
