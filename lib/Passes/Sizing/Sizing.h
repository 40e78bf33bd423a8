//===- Sizing.h - What the parts of the size analysis share -------*- C -*-===//
#ifndef SHARD_SIZING_SIZING_H
#define SHARD_SIZING_SIZING_H

#include "shard/Analyse.h"

#include "../Core/IR.h"

/// What a value is made of.
typedef enum FlatForm {
  FLAT_CONSTANT,  // no argument at all
  FLAT_WEIGHT,    // weights and constants alone
  FLAT_ACTIVATION // anything else
} FlatForm;

/// Facts of a value that travel with it. A projection (a product with a weight) starts afresh, but
/// for the first.
enum {
  FLAT_PROJECTED = 1,   // comes from some projection
  FLAT_SCORE = 2,       // from a product of activations
  FLAT_ATTENDED = 4,    // from a product with such a product: the core of attention
  FLAT_NORMED = 8,      // scaled by a root
  FLAT_SELECTED = 16,   // from whole numbers or bits that projections decide
  FLAT_JOINED = 32,     // a sum of values of different sources: the residual stream
  FLAT_GATHERED = 64,   // rows of a weight that data chooses
  FLAT_LOOKED_UP = 128, // from such rows
  FLAT_CURVED = 256,    // a WEIGHT: through functions such as a cosine; a table, no bias
  FLAT_SPREAD = 512,    // from a product with a weight for each of many: experts, or heads
  FLAT_KEPT_BITS = FLAT_PROJECTED
};

/// And of what becomes of it, before the next projection.
enum {
  FLAT_TO_ATTENTION = 1, // operand of the core of attention
  FLAT_TO_SELECTION = 2, // decides a choice
  FLAT_TO_RESULT = 4,    // a result of the model, by itself
  FLAT_TO_EXPERT = 8,    // goes into an expert, by itself
  FLAT_TO_HEAD = 16,     // the same, a head
  FLAT_TO_OTHER = 32,    // the same, another projection
  FLAT_GATED = 64,       // meets a choice
  FLAT_ALONE_BITS = FLAT_TO_RESULT | FLAT_TO_EXPERT | FLAT_TO_HEAD | FLAT_TO_OTHER
};

/// No one source: several, or none at all.
enum { FLAT_SEVERAL = -2, FLAT_NONE = -1 };

typedef struct FlatWeights {
  int32_t n;
  const int32_t *numbers; // ascending
} FlatWeights;

typedef struct FlatValue {
  MlirType type;
  int32_t op; // that makes it; -1: an argument
  FlatForm form;
  FlatWeights weights; // of a WEIGHT, or a GATHERED
  uint32_t from, to;   // facts
  int32_t source;      // of sources, where it comes from one alone
  bool kept;           // for gradients
} FlatValue;

typedef enum FlatKind {
  FLAT_PLAIN,
  FLAT_PRODUCT, // sums products of two inputs
  FLAT_LOOKUP,  // reads a table, operand 0, where the others say
} FlatKind;

/// What an op is, whichever call it is in.
typedef struct FlatFacts {
  FlatKind kind;
  intptr_t nInputs;  // the rest are destinations, or captured tables
  bool adds, roots;  // sums two of its inputs; takes a root
  bool window;       // a convolution
  bool batch;        // PRODUCT: a loop is in both inputs and the result
  bool sumsFirst[2]; // PRODUCT: the first dimension of an input is summed over
  bool keepsInputs;  // gradients need what it reads
  bool keepsResult;  // or what it makes
  bool curves;       // computes functions of the math dialect
  bool moves, view, folded;
  double flops, vectorFlops, bytes;
  double computeSeconds, memorySeconds, launchSeconds; // on the cluster
} FlatFacts;

typedef struct FlatOp {
  MlirOperation op;
  int32_t facts;
  int32_t layer;                   // of layers; -1: outside
  double trips;                    // of the loops around it; 2^64 and more too
  int32_t firstOperand, nOperands; // of operands
  int32_t firstResult, nResults;   // values
  int32_t source;                  // that its result is; FLAT_NONE: none of its own
  bool projection;                 // a product with a weight
  bool core;                       // of attention
  bool weighs;                     // sums what experts give, each by its weight
} FlatOp;

/// A call of a layer.
typedef struct FlatLayer {
  MlirOperation callee;
  int64_t number;
  double boundaryBytes;
} FlatLayer;

/// Where values come from: projections, lookups, arguments, cores of attention.
typedef struct FlatSource {
  int32_t op; // -1: an argument
  ShardWeightClass class_;
  bool known;
} FlatSource;

/// Weights of the model: arguments.
typedef struct FlatWeight {
  MlirValue value;
  int32_t flat;  // value
  uint32_t uses; // bit of each ShardWeightClass
  bool inHead;
} FlatWeight;

/// The program with every call written out.
typedef struct Flat {
  MlirOperation module, entry;
  ShardArena *arena;
  const ShardCluster *cluster; // null: none
  const char *untimed;         // a type that the cluster has no rate for; null: none
  ShardPointerMap *functions;  // symbol attribute -> op
  ShardPointerMap *valueOf;    // MLIR value -> number, in the call that is written out
  ShardPointerMap *factsOf;    // op -> number
  size_t nValues, valueCapacity, nOps, opCapacity, nOperands, operandCapacity;
  FlatValue *values;
  FlatOp *ops;
  int32_t *operands;
  size_t nFacts, factsCapacity, nLayers, layerCapacity, nSources, sourceCapacity, nWeights,
      weightCapacity;
  FlatFacts *facts;
  FlatLayer *layers;
  FlatSource *sources;
  FlatWeight *weights;
  size_t nResults;
  int32_t *results;    // values
  int32_t lastInLayer; // op; -1: no layers
  int64_t nSteps;      // that were written out
  int32_t depth;       // of blocks
  bool failed;         // after an error
} Flat;

/// Writes the program out. False after one error.
bool flatRead(Flat *flat);
/// Finds what each weight is used for, into `uses`.
void flatClassify(Flat *flat);
/// Marks the values that gradients need.
void flatKeep(Flat *flat);
/// The most bytes that live at once, arguments and results apart.
int64_t flatPeakBytes(Flat *flat);

#endif // SHARD_SIZING_SIZING_H
