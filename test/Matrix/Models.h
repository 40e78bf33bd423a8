//===- Models.h - What the matrix expects of each model -----------*- C -*-===//
// The sizes of the models in test/Models and, from them, what a program laid out by hand would send
// and hold. Written from the models' own configurations, not from what the compiler does.
//===----------------------------------------------------------------------===//
#ifndef SHARD_MATRIX_MODELS_H
#define SHARD_MATRIX_MODELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Degrees {
  int64_t pp, dp, ep, sp, tp;
} Degrees;

typedef struct Model {
  const char *name;
  int64_t batch, sequence, hidden, layers;
  int64_t heads, keyValueHeads, headSize, mlp;
  int64_t vocabulary;   // 0: no token embedding
  bool logits;          // the result is [batch, sequence, vocabulary]
  bool hiddenResult;    // the result is [batch, sequence, hidden]; also [batch, hidden]
  int64_t classes;      // the result is [batch, classes]
  int64_t sumsPerLayer; // residual sums that split blocks feed
  int64_t capacity;     // slots of an expert that tokens are moved into; 0: none
  bool expertsTravel;   // looked up by each token: an expert goes to the tokens
  bool mixesRows;  // capacity routing: an op mixes tokens; under dp and sp bytes are only printed
  bool embedded;   // embedded.linalg.mlir is there
  bool rawLinalg;  // raw.linalg.generic.mlir is there
  bool rawTosa;    // raw.tosa.mlir is there
  int64_t experts; // 0: no experts
  bool fused; // one weight for queries, keys and values, of as many heads: one layout for the three
  bool unevenFused; // one weight for queries, keys and values with fewer keys than queries: no view
                    // cuts it evenly, so that every rank may hold it whole
} Model;

extern const Model models[];
extern const int nModels;

const Model *modelFind(const char *name); // null if none
/// Reads what gen-decoder prints of a decoder it wrote: "family=llama heads=8 kv-heads=2 ...".
/// False on anything else.
bool modelParse(const char *text, Model *out);
/// Parses "tp2,pp2"; missing degrees are 1. False on anything else.
bool degreesParse(const char *text, Degrees *out);
int64_t degreesRanks(Degrees degrees);
/// Whether the model has a unit for each stage and more than one row to split; a cell that has not
/// may be refused.
bool modelFits(const Model *model, Degrees degrees);

/// Bytes that one rank sends in one step, mean over all ranks: least and most that are accepted,
/// before the 5 % of tolerance.
typedef struct ByteRange {
  double least, most;
} ByteRange;
ByteRange modelBytes(const Model *model, Degrees degrees);

/// How many flops all ranks do for one of the unsharded program's, by the uneven parts that a
/// layout by hand may have: more than 1 where parts are padded. The last two are of one
/// contraction.
typedef struct FlopsRange {
  double least, most;
} FlopsRange;
FlopsRange modelRowsFlops(const Model *model, Degrees degrees);      // whatever its weight
FlopsRange modelAttentionFlops(const Model *model, Degrees degrees); // scores, weighted values
FlopsRange modelWeightFlops(const Model *model, Degrees degrees, const char *weightName);

/// What a contraction is, by the weight it multiplies ("" for a product of two activations).
typedef enum ContractionClass {
  CONTRACTION_SPLIT,     // counted: its flops over all ranks sum to the unsharded program's
  CONTRACTION_ATTENTION, // counted too: the scores and the weighted values
  CONTRACTION_WHOLE,     // kept whole by the layout: left out on both sides
  CONTRACTION_ROUTER,    // left out, and so is what is computed from it (dispatch and combine)
  CONTRACTION_UNKNOWN
} ContractionClass;
ContractionClass modelClassify(const Model *model, Degrees degrees, const char *weightName);
/// Whether a product with this weight gives queries, keys or values.
bool weightFeedsAttention(const char *weightName);

/// How many parts a weight is cut in over tp: [*least, *most]. Equal but for what goes by cost.
void modelWeightParts(const Model *model, Degrees degrees, const char *weightName, int64_t *least,
                      int64_t *most);

#endif // SHARD_MATRIX_MODELS_H
