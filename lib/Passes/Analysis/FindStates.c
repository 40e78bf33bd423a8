//===- FindStates.c - Arguments whose updated form is a result ----*- C -*-===//
// From a result back to the arguments that it carries on: through each op to the operands whose
// elements it keeps where they are, or moves in one piece.
//===----------------------------------------------------------------------===//
#include "FindStates.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <string.h>

/// A call whose callee is being followed.
typedef struct Frame {
  const struct Frame *caller; // null: the entry
  MlirOperation call;
} Frame;

/// What is known on the way back from a result.
typedef struct Way {
  bool changed; // some op on it writes
  bool read;    // some value on it is used by another op too
} Way;

typedef struct Search {
  MlirOperation module;
  bool arithmetic; // elementwise arithmetic carries on too
  intptr_t n;      // arguments of the entry that count
  Way *ways;       // [n]
  bool *reached;   // [n]
  int32_t budget;  // values left to look at
} Search;

static void follow(Search *s, const Frame *frame, MlirValue value, Way way);

static bool isTensor(MlirValue value) { return mlirTypeIsARankedTensor(mlirValueGetType(value)); }

static int64_t elements(MlirValue value) {
  return isTensor(value) ? shardTypeElementCount(mlirValueGetType(value)) : -1;
}

static bool isUsedTwice(MlirValue value) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
}

//===----------------------------------------------------------------------===//
// Bodies of linalg.generic
//===----------------------------------------------------------------------===//

/// Whether a value of a body depends on block argument `number`, or (-1) on anything but constants.
static bool dependsOn(MlirValue value, intptr_t number, int depth) {
  if (mlirValueIsABlockArgument(value))
    return number < 0 || mlirBlockArgumentGetArgNumber(value) == number;
  MlirOperation op = mlirOpResultGetOwner(value);
  if (depth > 16)
    return true;
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i)
    if (dependsOn(mlirOperationGetOperand(op, i), number, depth + 1))
      return true;
  return false;
}

static bool isArithmetic(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "arith") || shardNameHasDialect(name, "math");
}

/// Whether what a body yields keeps block argument `number`: as it is, where a condition that does
/// not look at it chooses something else, or (arithmetic) as a term.
static bool keeps(const Search *s, MlirValue yielded, intptr_t number, bool *changed, int depth) {
  if (mlirValueIsABlockArgument(yielded))
    return mlirBlockArgumentGetArgNumber(yielded) == number;
  MlirOperation op = mlirOpResultGetOwner(yielded);
  if (depth > 16)
    return false;
  if (shardOpIs(op, "arith.select")) {
    MlirValue branches[2] = {mlirOperationGetOperand(op, 1), mlirOperationGetOperand(op, 2)};
    for (int i = 0; i < 2; ++i)
      if (keeps(s, branches[i], number, changed, depth + 1) &&
          (s->arithmetic || (dependsOn(branches[1 - i], -1, 0) &&
                             !dependsOn(mlirOperationGetOperand(op, 0), number, 0)))) {
        *changed = true;
        return true;
      }
    return false;
  }
  if (!s->arithmetic || !isArithmetic(op))
    return false;
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i)
    if (keeps(s, mlirOperationGetOperand(op, i), number, changed, depth + 1)) {
      *changed = true;
      return true;
    }
  return false;
}

static void followGeneric(Search *s, const Frame *frame, MlirOperation op, MlirValue value,
                          Way way) {
  MlirBlock body = shardOpBody(op);
  MlirValue yielded =
      mlirOperationGetOperand(mlirBlockGetTerminator(body), mlirOpResultGetResultNumber(value));
  for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    Way next = way;
    // As many elements: a permutation of the dimensions.
    if (elements(operand) == elements(value) && keeps(s, yielded, i, &next.changed, 0))
      follow(s, frame, operand, next);
  }
}

//===----------------------------------------------------------------------===//
// Other ops
//===----------------------------------------------------------------------===//

static void followArgument(Search *s, const Frame *frame, MlirValue value, Way way) {
  MlirOperation parent = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
  intptr_t number = mlirBlockArgumentGetArgNumber(value);
  if (shardOpIs(parent, "func.func")) {
    if (frame->caller) {
      follow(s, frame->caller, mlirOperationGetOperand(frame->call, number), way);
    } else if (number < s->n) {
      s->reached[number] = true;
      s->ways[number].changed |= way.changed;
      s->ways[number].read |= way.read;
    }
  } else if (shardOpIs(parent, "scf.for") && number > 0) {
    follow(s, frame, mlirOperationGetOperand(parent, number + 2), way);
  } else if (shardOpIs(parent, "scf.while")) {
    way.changed = true; // by the body, which the condition is asked before
    follow(s, frame, mlirOperationGetOperand(parent, number), way);
  }
}

/// A result of a loop or a choice: what its regions hand on.
static void followRegions(Search *s, const Frame *frame, MlirOperation op, intptr_t number,
                          Way way) {
  bool isWhile = shardOpIs(op, "scf.while");
  for (intptr_t g = 0, n = isWhile ? 1 : mlirOperationGetNumRegions(op); g < n; ++g) {
    MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
    MlirOperation end =
        mlirBlockIsNull(body) ? (MlirOperation){NULL} : mlirBlockGetTerminator(body);
    intptr_t at = number + isWhile;
    if (!mlirOperationIsNull(end) && at < mlirOperationGetNumOperands(end))
      follow(s, frame, mlirOperationGetOperand(end, at), way);
  }
}

static void followCall(Search *s, const Frame *frame, MlirOperation op, intptr_t number, Way way) {
  MlirOperation callee = shardModuleCallee(s->module, op);
  if (mlirOperationIsNull(callee) || mlirBlockIsNull(shardFuncGetBody(callee)))
    return;
  Frame inner = {frame, op};
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(callee));
  follow(s, &inner, mlirOperationGetOperand(end, number), way);
}

/// Of what an op puts together, the operand that has most of the result; -1: none has half.
static intptr_t largestPart(MlirOperation op, intptr_t n, MlirValue whole) {
  intptr_t largest = 0;
  for (intptr_t i = 1; i < n; ++i)
    if (elements(mlirOperationGetOperand(op, i)) > elements(mlirOperationGetOperand(op, largest)))
      largest = i;
  return n && 2 * elements(mlirOperationGetOperand(op, largest)) >= elements(whole) ? largest : -1;
}

static bool isMove(MlirOperation op) {
  static const char *const moves[] = {"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast",
                                      "linalg.transpose", "tensor.bitcast"};
  bool found = false;
  for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); ++i)
    found |= shardOpIs(op, moves[i]);
  return found;
}

static void follow(Search *s, const Frame *frame, MlirValue value, Way way) {
  if (!isTensor(value) || --s->budget < 0)
    return;
  way.read |= isUsedTwice(value);
  if (mlirValueIsABlockArgument(value)) {
    followArgument(s, frame, value, way);
    return;
  }
  MlirOperation op = mlirOpResultGetOwner(value);
  intptr_t number = mlirOpResultGetResultNumber(value), next = -1;
  if (shardOpIs(op, "func.call")) {
    followCall(s, frame, op, number, way);
  } else if (shardNameHasDialect(shardOpGetName(op), "scf")) {
    followRegions(s, frame, op, number, way);
  } else if (shardOpIs(op, "linalg.generic")) {
    followGeneric(s, frame, op, value, way);
  } else if (isMove(op)) {
    next = 0;
  } else if (shardOpIs(op, "tensor.extract_slice")) { // a window that moves along
    MlirValue source = mlirOperationGetOperand(op, 0);
    next = 2 * elements(value) >= elements(source) ? 0 : -1;
  } else if (shardOpIs(op, "tensor.insert_slice")) {
    // Into a buffer that holds nothing yet, what is inserted goes on; else what is written to.
    MlirOperation to = shardValueDefiningOp(mlirOperationGetOperand(op, 1));
    bool fresh = !mlirOperationIsNull(to) &&
                 (shardOpIs(to, "tensor.empty") || shardOpIs(to, "linalg.fill") ||
                  shardOpIs(to, "tensor.splat") || shardOpIs(to, "arith.constant"));
    next = fresh ? largestPart(op, 1, value) : 1;
    way.changed = true;
  } else if (shardOpIs(op, "tensor.concat")) {
    next = largestPart(op, mlirOperationGetNumOperands(op), value);
    way.changed = true;
  } else if (s->arithmetic && isArithmetic(op)) { // on whole tensors
    way.changed = true;
    for (intptr_t i = 0, n = mlirOperationGetNumOperands(op); i < n; ++i)
      if (elements(mlirOperationGetOperand(op, i)) == elements(value))
        follow(s, frame, mlirOperationGetOperand(op, i), way);
  } else if (shardOpIs(op, "arith.select")) {
    way.changed = true;
    for (intptr_t i = 1; i < 3; ++i)
      follow(s, frame, mlirOperationGetOperand(op, i), way);
  }
  if (next >= 0)
    follow(s, frame, mlirOperationGetOperand(op, next), way);
}

//===----------------------------------------------------------------------===//
// Ties
//===----------------------------------------------------------------------===//

/// Whether `longer` is `type` but for one dimension, which is longer.
static bool growsTo(MlirType type, MlirType longer) {
  intptr_t rank = (intptr_t)mlirShapedTypeGetRank(type), different = 0;
  if (rank != mlirShapedTypeGetRank(longer) ||
      !mlirTypeEqual(mlirShapedTypeGetElementType(type), mlirShapedTypeGetElementType(longer)))
    return false;
  for (intptr_t d = 0; d < rank; ++d) {
    int64_t from = mlirShapedTypeGetDimSize(type, d), to = mlirShapedTypeGetDimSize(longer, d);
    if (to < from)
      return false;
    different += to > from;
  }
  return different == 1;
}

/// The argument that a result is the updated form of; -1 where it is none's, or several' alike.
static intptr_t chooseArgument(const Search *s, MlirOperation entry, MlirType result,
                               const char *const *roles, const ShardStateTie *ties, bool *grows) {
  intptr_t found = -1;
  bool state = false, several = false;
  for (intptr_t a = 0; a < s->n; ++a) {
    bool said = roles[a] && strcmp(roles[a], "state") == 0;
    bool maybe = !roles[a] || strcmp(roles[a], "input") == 0;
    if (!s->reached[a] || ties[a].result >= 0 || (!said && (!maybe || s->arithmetic)) ||
        (!s->ways[a].changed && !said))
      continue;
    MlirType type = mlirValueGetType(mlirBlockGetArgument(shardFuncGetBody(entry), a));
    bool same = mlirTypeEqual(type, result);
    if (!same && (!growsTo(type, result) || !(s->ways[a].read || said)))
      continue;
    if (found >= 0 && state == said)
      several = true;
    if (found < 0 || (said && !state)) {
      found = a, state = said, *grows = !same;
      several = false;
    }
  }
  return several ? -1 : found;
}

void shardStatesFind(MlirOperation module, MlirOperation entry, intptr_t n,
                     const char *const *roles, ShardStateTie *ties, ShardArena *arena) {
  MlirOperation end = mlirBlockGetTerminator(shardFuncGetBody(entry));
  intptr_t nResults = mlirOperationGetNumOperands(end);
  bool *taken = SHARD_ARENA_ARRAY(arena, bool, nResults + 1);
  for (intptr_t a = 0; a < n; ++a)
    if (ties[a].result >= 0 && ties[a].result < nResults)
      taken[ties[a].result] = true;
  Search s = {.module = module,
              .n = n,
              .ways = SHARD_ARENA_ARRAY(arena, Way, n + 1),
              .reached = SHARD_ARENA_ARRAY(arena, bool, n + 1)};
  const Frame frame = {NULL, {NULL}};
  for (int pass = 0; pass < 2; ++pass) {
    s.arithmetic = pass == 1;
    for (intptr_t r = 0; r < nResults; ++r) {
      MlirValue value = mlirOperationGetOperand(end, r);
      if (taken[r] || !isTensor(value))
        continue;
      memset(s.ways, 0, (size_t)n * sizeof(Way));
      memset(s.reached, 0, (size_t)n * sizeof(bool));
      s.budget = 4096;
      follow(&s, &frame, value, (Way){false, false});
      bool grows = false;
      intptr_t a = chooseArgument(&s, entry, mlirValueGetType(value), roles, ties, &grows);
      if (a >= 0) {
        ties[a] = (ShardStateTie){(int32_t)r, grows};
        taken[r] = true;
      }
    }
  }
}

ShardStateTie shardStateTieOf(MlirOperation entry, intptr_t argument) {
  int64_t result;
  if (shardAttrGetI64(shardFuncGetArgumentAttribute(entry, argument, "spmd.alias"), &result))
    return (ShardStateTie){(int32_t)result, false};
  if (shardAttrGetI64(shardFuncGetArgumentAttribute(entry, argument, "spmd.grows"), &result))
    return (ShardStateTie){(int32_t)result, true};
  return (ShardStateTie){-1, false};
}

void shardStateUntie(MlirOperation entry, intptr_t argument) {
  shardFuncSetArgumentAttribute(entry, argument, "spmd.alias", mlirAttributeGetNull());
  shardFuncSetArgumentAttribute(entry, argument, "spmd.grows", mlirAttributeGetNull());
}

void shardStatesFindMore(MlirOperation module, MlirOperation entry, ShardArena *arena) {
  intptr_t n = mlirBlockGetNumArguments(shardFuncGetBody(entry));
  const char **roles = SHARD_ARENA_ARRAY(arena, const char *, n + 1);
  ShardStateTie *ties = SHARD_ARENA_ARRAY(arena, ShardStateTie, n + 1);
  bool any = false;
  for (intptr_t i = 0; i < n; ++i) {
    bool state = shardFuncArgumentIs(entry, i, "state");
    ties[i] = shardStateTieOf(entry, i);
    roles[i] = state ? "state" : "";
    any |= state && ties[i].result < 0;
  }
  if (!any)
    return;
  shardStatesFind(module, entry, n, roles, ties, arena);
  for (intptr_t i = 0; i < n; ++i)
    if (ties[i].result >= 0)
      shardFuncSetArgumentAttribute(entry, i, ties[i].grows ? "spmd.grows" : "spmd.alias",
                                    shardAttrI64(mlirOperationGetContext(module), ties[i].result));
}

MlirLogicalResult shardStateCheckAlias(MlirOperation entry, intptr_t argument, int64_t result,
                                       MlirLocation location) {
  MlirBlock body = shardFuncGetBody(entry);
  MlirOperation end = mlirBlockGetTerminator(body);
  intptr_t nResults = mlirOperationGetNumOperands(end);
  if (result < 0 || result >= nResults)
    return shardEmitErrorAt(location,
                            "argument %" PRIdPTR " is an alias of result %" PRId64
                            ", which does not exist; there are %" PRIdPTR,
                            argument, result, nResults);
  if (!mlirTypeEqual(mlirValueGetType(mlirBlockGetArgument(body, argument)),
                     mlirValueGetType(mlirOperationGetOperand(end, (intptr_t)result))))
    return shardEmitErrorAt(
        location, "argument %" PRIdPTR " is an alias of result %" PRId64 ", which has another type",
        argument, result);
  for (intptr_t a = 0; a < mlirBlockGetNumArguments(body); ++a) {
    ShardStateTie tie = shardStateTieOf(entry, a);
    if (a != argument && tie.result == result && !tie.grows)
      return shardEmitErrorAt(location,
                              "arguments %" PRIdPTR " and %" PRIdPTR
                              " are aliases of result %" PRId64 "; expected one",
                              a < argument ? a : argument, a < argument ? argument : a, result);
  }
  return mlirLogicalResultSuccess();
}
