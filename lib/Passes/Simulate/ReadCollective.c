//===- ReadCollective.c - Collectives, messages, starts and waits -*- C -*-===//
// At L3 a collective is start and wait in one. At L4 (share/shard/spmd.irdl.mlir) they are two ops,
// tied by a token, which may go through calls, loops and branches before it is waited for.
//===----------------------------------------------------------------------===//
#include "ReadProgram.h"

#include "../Core/Collectives.h"
#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static void matchToken(MlirStringRef part, void *user) {
  const char **rest = user;
  if (!*rest)
    return;
  size_t n = strlen(*rest);
  *rest =
      part.length <= n && memcmp(*rest, part.data, part.length) == 0 ? *rest + part.length : NULL;
}

static bool isToken(MlirValue value) {
  MlirType type = mlirValueGetType(value);
  if (mlirTypeIsATensor(type) || mlirTypeIsAIndex(type) || mlirTypeIsAInteger(type) ||
      mlirTypeIsAFloat(type))
    return false;
  const char *rest = "!spmd.token";
  mlirTypePrint(type, matchToken, &rest);
  return rest && !*rest;
}

/// A token has two slots, since a shift is two messages.
static SimPlace addPlace(SimReader *reader, SimBody *body, MlirValue token) {
  SimPlace place = {body, body->nSlots};
  body->nSlots += 2;
  reader->places = shardArenaGrow(reader->program->arena, reader->places, reader->nPlaces,
                                  &reader->placeCapacity, reader->nPlaces + 1, sizeof(SimPlace));
  shardPointerMapSet(reader->placeOf, token.ptr, (int64_t)reader->nPlaces);
  reader->places[reader->nPlaces++] = place;
  return place;
}

static SimPlace placeOf(const SimReader *reader, MlirValue token) {
  int64_t index = shardPointerMapGetOr(reader->placeOf, token.ptr, -1);
  return index < 0 ? (SimPlace){NULL, 0} : reader->places[index];
}

void simReadTokenArguments(SimReader *reader, SimBody *body) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(body->block); ++i) {
    MlirValue argument = mlirBlockGetArgument(body->block, i);
    if (isToken(argument))
      addPlace(reader, body, argument);
  }
}

static SimMove *moveList(SimReader *reader, intptr_t n) {
  return SHARD_ARENA_ARRAY(reader->program->arena, SimMove, n ? n : 1);
}

void simReadTokenMoves(SimReader *reader, SimBody *body, MlirOperation op, const SimBody *inner,
                       intptr_t firstOperand, intptr_t firstArgument, bool loops, SimStep *call) {
  MlirOperation end = mlirBlockGetTerminator(inner->block);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  intptr_t nArguments = mlirBlockGetNumArguments(inner->block);
  SimMove *in = moveList(reader, nOperands), *on = moveList(reader, nResults),
          *out = moveList(reader, nResults);
  int32_t nIn = 0, nOut = 0;
  for (intptr_t i = firstOperand; i < nOperands && i - firstOperand + firstArgument < nArguments;
       ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (isToken(operand))
      in[nIn++] = (SimMove){
          placeOf(reader, operand),
          placeOf(reader, mlirBlockGetArgument(inner->block, i - firstOperand + firstArgument))};
  }
  for (intptr_t i = 0; i < nResults && i < mlirOperationGetNumOperands(end); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    if (!isToken(result))
      continue;
    if (!call) {
      int64_t init = shardPointerMapGetOr(reader->placeOf,
                                          mlirOperationGetOperand(op, firstOperand + i).ptr, -1);
      if (init >= 0)
        shardPointerMapSet(reader->placeOf, result.ptr, init);
      continue;
    }
    SimPlace back = placeOf(reader, mlirOperationGetOperand(end, i));
    if (loops)
      on[nOut] =
          (SimMove){back, placeOf(reader, mlirBlockGetArgument(inner->block, firstArgument + i))};
    out[nOut++] = (SimMove){back, addPlace(reader, body, result)};
  }
  if (!call || (!nIn && !nOut))
    return;
  call->nMoves[0] = nIn;
  call->nMoves[1] = loops ? nOut : 0;
  call->nMoves[2] = nOut;
  call->moves[0] = in;
  call->moves[1] = on;
  call->moves[2] = out;
}

bool simHasTokens(MlirOperation op) {
  bool any = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    any |= isToken(mlirOperationGetOperand(op, i));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    any |= isToken(mlirOperationGetResult(op, i));
  return any;
}

bool simCheckNoTokens(MlirOperation op) {
  if (!simHasTokens(op))
    return true;
  MlirStringRef name = shardOpGetName(op);
  shardEmitError(op, "a token goes through '%.*s'; expected func.call, scf.for or scf.if",
                 (int)name.length, name.data);
  return false;
}

//===----------------------------------------------------------------------===//
// Collectives and messages
//===----------------------------------------------------------------------===//

static SimStep *addNumbered(SimReader *reader, SimBody *body, SimStep step) {
  SimProgram *program = reader->program;
  step.number = program->nNumbered;
  program->numbered =
      shardArenaGrow(program->arena, program->numbered, (size_t)program->nNumbered,
                     &program->numberedCapacity, (size_t)program->nNumbered + 1, sizeof(SimStep));
  program->numbered[program->nNumbered++] = step;
  body->communicates = true;
  return simReaderAddStep(reader, body, step);
}

/// The mesh axes of a collective as bits. False after one error.
static bool readAxes(const SimProgram *program, MlirOperation op, uint32_t *out) {
  MlirAttribute axes = shardOpGetAttribute(op, "grid_axes");
  *out = 0;
  if (mlirAttributeIsNull(axes))
    return true;
  if (!mlirAttributeIsADenseI16Array(axes)) {
    shardEmitError(op, "'grid_axes' is no list of axes; expected array<i16: ...>");
    return false;
  }
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(axes); ++i) {
    int16_t axis = mlirDenseI16ArrayGetElement(axes, i);
    if (axis < 0 || axis >= program->mesh.nAxes) {
      shardEmitError(op, "no axis %d in the mesh; it has %d", axis, program->mesh.nAxes);
      return false;
    }
    *out |= UINT32_C(1) << axis;
  }
  return true;
}

static bool kindOf(const char *name, ShardCollectiveKind *out) {
  for (int k = 0; k < SHARD_N_COLLECTIVE_KINDS; ++k)
    if (strcmp(shardClusterCollectiveName((ShardCollectiveKind)k), name) == 0) {
      *out = (ShardCollectiveKind)k;
      return true;
    }
  return false;
}

static bool refuseOp(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  shardEmitError(op, "'%.*s' is not a collective that programs have", (int)name.length, name.data);
  return false;
}

/// Bytes of the message, which an all-gather of L4 has no result for. -1 after one error.
static int64_t messageBytes(const SimProgram *program, const SimStep *step) {
  MlirOperation op = step->op;
  if (mlirOperationGetNumOperands(op) == 0 ||
      !mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetOperand(op, 0)))) {
    shardEmitError(op, "what is sent is no tensor");
    return -1;
  }
  int64_t bytes = shardTypeBytes(mlirValueGetType(mlirOperationGetOperand(op, 0)));
  for (int32_t a = 0; step->collective == SHARD_COLLECTIVE_ALL_GATHER && a < program->mesh.nAxes;
       ++a)
    if (step->axes >> a & 1 && __builtin_mul_overflow(bytes, program->mesh.sizes[a], &bytes))
      bytes = INT64_MAX;
  return bytes;
}

/// `receives`: the receiving half of a message; `starts`: the token, the op's first result.
static bool addCommunication(SimReader *reader, SimBody *body, SimStep step, bool receives) {
  MlirOperation op = step.op;
  if (!readAxes(reader->program, op, &step.axes))
    return false;
  step.bytes = messageBytes(reader->program, &step);
  if (step.bytes < 0)
    return false;
  step.round = simIntegerOf(op, "spmd.round", 0);
  step.channel = simIntegerOf(op, "spmd.channel", simIntegerOf(op, "spmd.site", 0));
  if (step.starts)
    step.token = addPlace(reader, body, mlirOperationGetResult(op, 0));
  if (step.collective == SHARD_COLLECTIVE_PERMUTE) {
    // Every rank sends, then receives; nobody else uses the channel.
    step.channel = -1 - reader->program->nNumbered;
    step.kind = SIM_SEND;
    addNumbered(reader, body, step);
    step.kind = SIM_RECEIVE;
    ++step.token.slot;
  } else if (step.collective == SHARD_COLLECTIVE_SEND) {
    step.kind = receives ? SIM_RECEIVE : SIM_SEND;
  }
  addNumbered(reader, body, step);
  return true;
}

bool simReadCollective(SimReader *reader, SimBody *body, MlirOperation op) {
  const char *kind = shardCollectiveKind(op);
  SimStep step = {.kind = SIM_COLLECTIVE, .op = op};
  if (!kind)
    return mlirAttributeIsNull(shardOpGetAttribute(op, "grid_axes")) ||
           shardOpIs(op, "shard.all_slice") || refuseOp(op);
  if (!kindOf(kind, &step.collective))
    return refuseOp(op);
  return addCommunication(reader, body, step, shardOpIs(op, "shard.recv"));
}

bool simReadScheduled(SimReader *reader, SimBody *body, MlirOperation op) {
  bool starts = false, receives = false;
  const char *kind = shardScheduledKind(op, &starts, &receives);
  SimStep step = {.kind = starts ? SIM_COLLECTIVE : SIM_WAIT, .op = op, .starts = starts};
  step.anyKind = shardOpIs(op, "spmd.wait");
  if (!step.anyKind && (!kind || !kindOf(kind, &step.collective)))
    return refuseOp(op);
  intptr_t nOperands = mlirOperationGetNumOperands(op), nResults = mlirOperationGetNumResults(op);
  if (starts && (nResults == 0 || !isToken(mlirOperationGetResult(op, 0)))) {
    shardEmitError(op, "a start without a token; expected '!spmd.token' as its first result");
    return false;
  }
  if (starts)
    return addCommunication(reader, body, step, receives);
  if (nOperands == 0 || !isToken(mlirOperationGetOperand(op, 0))) {
    shardEmitError(op, "a wait without a token; expected '!spmd.token' as its first operand");
    return false;
  }
  for (intptr_t i = 0; i < (step.anyKind ? nOperands : 1); ++i) {
    if (!isToken(mlirOperationGetOperand(op, i)))
      continue;
    step.token = placeOf(reader, mlirOperationGetOperand(op, i));
    step.receives = receives;
    simReaderAddStep(reader, body, step);
    SimStep second = step;
    second.secondHalf = true;
    ++second.token.slot;
    if (step.anyKind || step.collective == SHARD_COLLECTIVE_PERMUTE)
      simReaderAddStep(reader, body, second);
  }
  body->communicates = true;
  return true;
}
