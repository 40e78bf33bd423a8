//===- Bounded.h - Dynamic dimensions with a bound ----------------*- C -*-===//
// A dynamic dimension of an argument that has a bound (--dim=ARG:D=..MAX) is stored at its bound,
// and its extent is a number that each run brings: an argument of the entry, tensor<i64>. What lies
// beyond the extent is padding, which may hold anything. Shapes are followed through the program
// while it still says `?`, so that nothing rests on bounds that happen to be equal; each op on
// whose valid results padding would have a say is given a mask that compares loop indices with
// extents. What is left is an ordinary program on static tensors. (XLA calls this bounded
// dynamism.)
//===----------------------------------------------------------------------===//
#ifndef SHARD_IMPORT_BOUNDED_H
#define SHARD_IMPORT_BOUNDED_H

#include "../Core/Insert.h"
#include "ImportParts.h"

/// A dynamic dimension of an argument: its extent is from `least` to `most`.
typedef struct ShardBoundedDim {
  int64_t argument, dimension, least, most;
} ShardBoundedDim;

/// A number that is linear in the extents: terms[0] + sum(terms[1 + k] * extent k).
typedef struct ShardDigit {
  int64_t bound; // its largest value: what is stored
  const int64_t *terms;
} ShardDigit;

/// The extent of a dimension: a product of digits, major first. Its elements are valid where each
/// digit of the index is below the digit here. No digit is 1, and numbers that stand side by side
/// are one.
typedef struct ShardExtent {
  int32_t n;
  const ShardDigit *digits;
  bool loose; // the digits are the factors of a product, in no order
} ShardExtent;

typedef struct ShardBounded {
  const ShardImport *import;
  ShardArena *arena;
  MlirContext context;
  int32_t nDims;
  const ShardBoundedDim *dims;
  ShardPointerMap
      *shapes; // tensor -> its extents, as an integer; tensors of static shape are not in
  ShardPointerMap *scalars; // integer that follows from extents -> ShardExtent *, 0: no such form
  ShardPointerMap *firstExtent; // function -> number of its first extent argument
  int64_t **equal;              // [nEqual][1 + nDims] sums that must be 0
  size_t nEqual, equalCapacity;
  ShardPointerMap *masked; // tensor that is masked already -> index in masks
  struct ShardMasked *masks;
  size_t nMasks, maskCapacity;
  const ShardExtent *const *arguments, *const *results; // of the entry, null: static
  intptr_t nArguments, nResults;
} ShardBounded;

/// TieDims.c: `dims` are all dynamic dimensions of the entry's arguments; `most` is 0 for one of
/// which nothing is asked. What the program makes equal to others gets their extent or bounds; what
/// is left stays as it is.
void shardImportTieDims(const ShardImport *import, int32_t nDims, ShardBoundedDim *dims);

/// Bounded.c: adds the extent arguments to the entry and what it calls, and the shapes of the
/// entry's arguments.
ShardBounded *shardBoundedCreate(const ShardImport *import, int32_t nDims,
                                 const ShardBoundedDim *dims);
/// Replaces the extent arguments of the entry by ones behind all others, and writes `spmd.dynamic`
/// on the module.
void shardBoundedFinish(const ShardImport *import);
/// A value that is handed into a function or region, or out of it, and what stands for it there:
/// the first sets what the second is known as, others must agree.
bool shardBoundedEnter(ShardBounded *b, MlirValue inside, MlirValue outside, bool isFirst);
/// The same for what a region of an scf op yields. False if the op cannot have that shape.
bool shardBoundedYield(ShardBounded *b, MlirOperation op, intptr_t result, MlirValue yielded,
                       bool isFirst);
/// A call hands on the extents.
void shardBoundedPassExtents(ShardBounded *b, MlirOperation call);
/// The extents of what the entry returns, which it does by now.
void shardBoundedSetResults(ShardBounded *b);

/// BoundedExtents.c.
bool shardDigitIsNumber(const ShardBounded *b, const ShardDigit *digit);
ShardExtent shardExtentOfNumber(const ShardBounded *b, int64_t number);
bool shardExtentIsNumber(const ShardBounded *b, const ShardExtent *extent);
bool shardExtentEqual(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y);
int64_t shardExtentBound(const ShardExtent *extent);
ShardExtent shardExtentProduct(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y);
/// x + scale * y; false if one is a product.
bool shardExtentSum(const ShardBounded *b, const ShardExtent *x, const ShardExtent *y,
                    int64_t scale, ShardExtent *out);
/// How two compare whatever the extents are.
typedef enum ShardExtentOrder {
  SHARD_EXTENTS_UNKNOWN,
  SHARD_EXTENTS_SAME,
  SHARD_EXTENTS_BELOW,
  SHARD_EXTENTS_ABOVE,
  SHARD_EXTENTS_NOT_BELOW,
  SHARD_EXTENTS_NOT_ABOVE
} ShardExtentOrder;
ShardExtentOrder shardExtentCompare(const ShardBounded *b, const ShardExtent *x,
                                    const ShardExtent *y);
/// One extent for what must have both: where they may differ, that they are equal is noted, to be
/// checked at run time. False if they cannot be compared.
bool shardExtentUnify(ShardBounded *b, const ShardExtent *x, const ShardExtent *y,
                      ShardExtent *out);
/// Cuts `source` so that its parts are `parts`, in order; `known[i]` false: what is left over.
bool shardExtentSplit(const ShardBounded *b, const ShardExtent *source, intptr_t n,
                      ShardExtent *parts, const bool *known);
/// Extent of dimension d of a tensor whose type is static by now.
ShardExtent shardBoundedExtent(const ShardBounded *b, MlirValue tensor, intptr_t d);
bool shardBoundedIsDynamic(const ShardBounded *b, MlirValue tensor); // some extent is no number
/// Notes the extents [rank] of a tensor, if any is no number.
void shardBoundedSetShape(ShardBounded *b, MlirValue tensor, const ShardExtent *extents);
/// The form of an integer scalar: a constant too. False if it has none.
bool shardBoundedScalar(const ShardBounded *b, MlirValue value, ShardExtent *out);
bool shardBoundedIsScalar(const ShardBounded *b, MlirValue value); // it follows from extents
/// The extent as an index, from `extents` [nDims], indices.
MlirValue shardExtentBuild(const ShardBounded *b, const ShardInsert *at, const ShardExtent *extent,
                           const MlirValue *extents);
MlirValue shardDigitBuild(const ShardBounded *b, const ShardInsert *at, const ShardDigit *digit,
                          const MlirValue *extents);
/// The extents of the function around `op`, as arguments tensor<i64> [nDims].
MlirValue shardBoundedArgument(const ShardBounded *b, MlirOperation op, int32_t dim);

/// BoundedShapes.c: called on each op of a function in order, before its result types become
/// static, while its operands' have: finds the extents of its results, [results][rank], null for
/// one that is static or no tensor. May put others in the op's place: `*op` is null then. Fails
/// after one diagnostic.
typedef struct ShardBoundedOp {
  ShardExtent **results;
  intptr_t nLoops;
  ShardExtent *loops;  // of a linalg op; [nLoops]
  bool joins, pads;    // what it does must be put right behind dynamic parts
  ShardExtent *filled; // of a tensor.pad: what its low padding and its operand take
} ShardBoundedOp;
MlirLogicalResult shardBoundedDescribe(ShardBounded *b, MlirOperation *op, ShardBoundedOp *out);
/// And after: the results have the extents, and the op its masks.
MlirLogicalResult shardBoundedSettle(ShardBounded *b, MlirOperation op,
                                     const ShardBoundedOp *described);

/// One error: the op cannot have dynamic dimensions here.
MlirLogicalResult shardBoundedRefuse(MlirOperation op);

/// What a slice takes along a dimension.
typedef struct ShardSliceEntry {
  bool hasOffset, hasStride; // they follow from extents
  bool whole;                // all of the dimension
  ShardExtent offset, size, stride;
  MlirValue offsetOperand; // null: a number of the op
} ShardSliceEntry;

/// BoundedMoves.c. A slice of `type` read element by element; dims[d] is the dimension of the
/// result that source dimension d becomes, or -1.
MlirValue shardBoundedSlice(ShardBounded *b, MlirOperation op, const ShardSliceEntry *entries,
                            const intptr_t *dims, MlirType type);
/// A tensor.concat of static type, with its parts where their extents put them.
void shardBoundedJoin(ShardBounded *b, MlirOperation op);
/// A tensor.insert_slice; dims[d] is the dimension of the source that lies along dimension d, or
/// -1.
MlirValue shardBoundedInsert(ShardBounded *b, MlirOperation op, const ShardSliceEntry *entries,
                             const intptr_t *dims);

/// BoundedMasks.c: masks for a linalg op whose loops have these extents.
MlirLogicalResult shardBoundedMask(ShardBounded *b, MlirOperation op, intptr_t nLoops,
                                   const ShardExtent *loops);
/// Whether an index into storage is the index in the shape along every dimension.
bool shardBoundedIsPlain(const ShardBounded *b, MlirValue tensor);
/// `value` with `number` where its index along any of its dynamic dimensions is in padding.
MlirValue shardBoundedMaskTensor(ShardBounded *b, MlirOperation before, MlirValue value,
                                 MlirAttribute number, const bool *dims);
/// Scalars of a function that follow from extents and are read in a body of a linalg op are
/// computed there.
void shardBoundedSink(ShardBounded *b, MlirOperation func);

#endif // SHARD_IMPORT_BOUNDED_H
