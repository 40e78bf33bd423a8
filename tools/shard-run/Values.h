//===- Values.h - Where the arguments' values come from -----------*- C -*-===//
#ifndef SHARD_RUN_VALUES_H
#define SHARD_RUN_VALUES_H

#include "../model/Placement.h"
#include "Initialize.h"

#include "../model/ModelData.h"
#include "shard/Program.h"

/// One argument's whole value: read from a file, part of the program, or drawn.
typedef struct ValueSource {
  const void *data; // whole value, row-major; null: drawn element by element
  ShardNpyArray file;
  Distribution distribution;
  uint64_t key;      // of the generator: seed and argument
  int64_t rowLength; // last dimension
  int32_t whole;     // whole numbers only, up to this one; 0: any
  void *padded;      // data, when it is in storage with padding of dynamic dimensions
  int32_t line;      // with `whole`: at most so many along any dimension are not zero; 0: any
  int64_t period;    // with `line`: the sum of an element's indices divides by it, or it is zero
  const ShardProgramValue *shape;
} ValueSource;

typedef struct ValueSet {
  size_t count;
  ValueSource *sources; // [count], indexed by the original argument
  size_t fileBytes;     // held by the files read
  bool fromFiles, random;
  ModelData *stored; // null: none
} ValueSet;

typedef struct ValueOptions {
  const char *dataPath; // folder or .safetensors; null: drawn
  bool seeded;          // --seed was given
  uint64_t seed;
  int32_t wholeNumbers; // whole numbers only, up to this one; 0: any
  int32_t nonzeroLine;  // with whole numbers: of a line, at most these are not 0; 0: any
  const Distribution *distributions; // [nDistributions] by argument; may be null
  size_t nDistributions;
  const ShardProgram *describing; // whose roles decide; null: the program's own
} ValueOptions;

/// Finds a source for every argument of `program`; stops with a message when there is none.
/// Values of equal argument number are equal for every program of the same set of options: drawn
/// ones depend on seed, argument and element only. Release with valuesRelease.
void valuesCreate(const ShardProgram *program, const ValueOptions *options, ValueSet *out);
void valuesRelease(ValueSet *values);

/// Writes a rank's part of an argument to `local` [placement->localCount]; padding is poisoned, so
/// that what reads it shows.
void valuesFill(const ValueSource *source, ShardRtElement element, const Placement *placement,
                void *local);

/// Writes all `count` elements of an argument to `out`.
void valuesDraw(const ValueSource *source, ShardRtElement element, size_t count, void *out);

/// Text such as "2x37xi64" in `text`.
void valuesFormatType(const ShardProgramValue *value, char *text, size_t textSize);
/// Element number of the whole value as indices, "[0, 3, 17]".
void valuesFormatPlace(const ShardProgramValue *value, size_t at, char *text, size_t textSize);
/// The indices themselves, into out [value->rank].
void valuesIndicesOf(const ShardProgramValue *value, size_t at, int64_t *out);

#endif // SHARD_RUN_VALUES_H
