//===- ReadProgram.h - What the readers of a program share --------*- C -*-===//
#ifndef SHARD_SIMULATE_READPROGRAM_H
#define SHARD_SIMULATE_READPROGRAM_H

#include "Simulate.h"

typedef struct SimReader {
  SimProgram *program;
  ShardPointerMap *functions; // StringAttr of a symbol -> index
  size_t nFunctions, capacity;
  MlirOperation *functionOps;
  SimBody **bodies; // [nFunctions] null: not read
  bool *open;       // [nFunctions] being read
  int32_t depth;    // of functions that are open
  ShardPointerMap *innerPeak;
  ShardPointerMap *innerOp; // where the peak of what an op calls or contains is
  ShardPointerMap *placeOf; // token -> index
  size_t nPlaces, placeCapacity;
  SimPlace *places;
} SimReader;

SimStep *simReaderAddStep(SimReader *reader, SimBody *body, SimStep step);

/// Adds an op of the shard dialect, or a start or wait of L4. False after one error.
bool simReadCollective(SimReader *reader, SimBody *body, MlirOperation op);
bool simReadScheduled(SimReader *reader, SimBody *body, MlirOperation op);

/// Gives the tokens among a block's arguments a place in its body.
void simReadTokenArguments(SimReader *reader, SimBody *body);
/// Where the tokens of a call or of control flow go: operands from `firstOperand` on are `inner`'s
/// arguments from `firstArgument` on, and what it ends with are the op's results and, of a loop,
/// the arguments again. `call` null: the loop has no turn, and what goes in comes out.
void simReadTokenMoves(SimReader *reader, SimBody *body, MlirOperation op, const SimBody *inner,
                       intptr_t firstOperand, intptr_t firstArgument, bool loops, SimStep *call);
/// Whether an op takes or gives tokens.
bool simHasTokens(MlirOperation op);
/// False after one error: control flow that tokens are not followed through.
bool simCheckNoTokens(MlirOperation op);

#endif // SHARD_SIMULATE_READPROGRAM_H
