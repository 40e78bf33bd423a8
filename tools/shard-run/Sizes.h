//===- Sizes.h - Extents of a program's dynamic dimensions --------*- C -*-===//
// A program with dynamic dimensions stores values at their bounds. Here values of the true shapes
// are put into that storage, with poison in the padding, and which results are valid is found.
//===----------------------------------------------------------------------===//
#ifndef SHARD_RUN_SIZES_H
#define SHARD_RUN_SIZES_H

#include "Options.h"
#include "Values.h"

#include "shard/Program.h"

/// The runs that are asked for, each with an extent for each dynamic dimension.
typedef struct Sizes {
  int32_t nRuns;
  int64_t *dims; // [nRuns][program->nDims]; null: no dimension is dynamic
} Sizes;

/// Reads --sizes, or takes the bounds. Dimensions that must be equal to one that is given need not
/// be. Stops with a message when one is out of bounds or missing. Free dims with free().
Sizes sizesCreate(const ShardProgram *program, const Options *options);

/// "0:0=8,1:0=8", to be freed with free(): as --dim has it. `dims` null: the bounds.
char *sizesFormat(const ShardProgram *program, const int64_t *dims);
/// "0:0=1..8,1:0=1..8", likewise.
char *sizesFormatBounds(const ShardProgram *program);

/// The program's tables with the true shapes of these extents. One block, to be freed with free();
/// the program's otherwise.
ShardProgram *sizesApply(const ShardProgram *program, const int64_t *dims);

/// The program by which the values of a run with these extents lie, with the entry points that choose
/// it. One block, to be freed with free(); what it points at is the program's.
ShardProgram *sizesSelect(const ShardProgram *program, const int64_t *dims);

/// Puts the values of dynamic arguments, which have their true shapes, into storage with poison or
/// zeros in the padding.
void sizesPadValues(const ShardProgram *program, const int64_t *dims, bool zeros, ValueSet *values);

/// A value of true shape in storage, zeros in the padding; and back. To be freed with free().
void *sizesPad(const ShardProgram *program, const ShardProgramValue *value, const int64_t *dims,
               const void *whole);
void *sizesStrip(const ShardProgram *program, const ShardProgramValue *value, const int64_t *dims,
                 const void *stored);
/// Which stored elements are valid, a byte each, to be freed with free(); null: all.
unsigned char *sizesFindValid(const ShardProgram *program, const ShardProgramValue *value,
                              const int64_t *dims);

#endif // SHARD_RUN_SIZES_H
