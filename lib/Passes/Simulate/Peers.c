//===- Peers.c - Who sends to whom --------------------------------*- C -*-===//
// Peers are fixed coordinates, or index arithmetic on the rank's own and tables of constants. It is
// put in order once and run for every rank.
//===----------------------------------------------------------------------===//
#include "Simulate.h"

#include "../Core/Diagnostics.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <string.h>

enum { MAX_OPERANDS = 8 };
enum { NOT_SEEN = -1, UNDER_WAY = -2 }; // in place of a node

typedef enum NodeKind { NODE_CONSTANT, NODE_TABLE, NODE_COORDINATE, NODE_RANK, NODE_OP } NodeKind;

typedef struct Node {
  NodeKind kind;
  MlirOperation op;
  int64_t number;      // CONSTANT; the axis of a COORDINATE; the predicate of a comparison
  MlirAttribute table; // TABLE: dense elements
  int32_t which;       // OP: row of operations
  int32_t nOperands;
  int32_t operands[MAX_OPERANDS];
} Node;

typedef struct Expression {
  ShardArena *arena;
  size_t nNodes, capacity;
  Node *nodes;
  ShardPointerMap *nodeOf; // of a value; UNDER_WAY while its operands are added
} Expression;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t compare(int64_t predicate, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b, x<y, x <= y, x> y, x >= y};
  return predicate >= 0 && predicate < 10 && holds[predicate];
}

enum Operation {
  ADD,
  SUBTRACT,
  MULTIPLY,
  DIVIDE,
  DIVIDE_UNSIGNED,
  REMAINDER,
  REMAINDER_UNSIGNED,
  FLOOR_DIVIDE,
  CEIL_DIVIDE,
  CEIL_DIVIDE_UNSIGNED,
  MIN,
  MAX,
  MIN_UNSIGNED,
  MAX_UNSIGNED,
  AND,
  OR,
  XOR,
  COMPARE,
  SELECT,
  CAST
};
static const struct {
  const char *name;
  enum Operation operation;
} operations[] = {{"arith.addi", ADD},
                  {"arith.subi", SUBTRACT},
                  {"arith.muli", MULTIPLY},
                  {"arith.divsi", DIVIDE},
                  {"arith.divui", DIVIDE_UNSIGNED},
                  {"arith.remsi", REMAINDER},
                  {"arith.remui", REMAINDER_UNSIGNED},
                  {"arith.floordivsi", FLOOR_DIVIDE},
                  {"arith.ceildivsi", CEIL_DIVIDE},
                  {"arith.ceildivui", CEIL_DIVIDE_UNSIGNED},
                  {"arith.minsi", MIN},
                  {"arith.maxsi", MAX},
                  {"arith.minui", MIN_UNSIGNED},
                  {"arith.maxui", MAX_UNSIGNED},
                  {"arith.andi", AND},
                  {"arith.ori", OR},
                  {"arith.xori", XOR},
                  {"arith.cmpi", COMPARE},
                  {"arith.select", SELECT},
                  {"arith.index_cast", CAST},
                  {"arith.index_castui", CAST},
                  {"arith.extsi", CAST},
                  {"arith.extui", CAST},
                  {"arith.trunci", CAST}};
enum { nOperations = sizeof operations / sizeof operations[0] };

/// Division by zero and the like leave 0: no peer is worked out so.
static int64_t apply(const Node *node, const int64_t *v) {
  int64_t a = v[node->operands[0]], b = node->nOperands > 1 ? v[node->operands[1]] : 1;
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  bool divides = b != 0 && !(b == -1 && a == INT64_MIN);
  switch (operations[node->which].operation) {
  case ADD:
    return (int64_t)(x + y);
  case SUBTRACT:
    return (int64_t)(x - y);
  case MULTIPLY:
    return (int64_t)(x * y);
  case DIVIDE:
    return divides ? a / b : 0;
  case DIVIDE_UNSIGNED:
    return b ? (int64_t)(x / y) : 0;
  case REMAINDER:
    return divides ? a % b : 0;
  case REMAINDER_UNSIGNED:
    return b ? (int64_t)(x % y) : 0;
  case FLOOR_DIVIDE:
    return divides ? floorDivide(a, b) : 0;
  case CEIL_DIVIDE:
    return divides ? -floorDivide((int64_t)(0 - x), b) : 0;
  case CEIL_DIVIDE_UNSIGNED:
    return b ? (int64_t)(x / y + (x % y != 0)) : 0;
  case MIN:
    return a < b ? a : b;
  case MAX:
    return a > b ? a : b;
  case MIN_UNSIGNED:
    return x < y ? a : b;
  case MAX_UNSIGNED:
    return x > y ? a : b;
  case AND:
    return a & b;
  case OR:
    return a | b;
  case XOR:
    return a ^ b;
  case COMPARE:
    return compare(node->number, a, b);
  case SELECT:
    return a ? b : v[node->operands[2]];
  case CAST:
    return a;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Putting in order
//===----------------------------------------------------------------------===//

/// Whether a table has elements that tableEntry reads.
static bool isTable(MlirAttribute table) {
  if (mlirAttributeIsNull(table) || !mlirAttributeIsADenseElements(table))
    return false;
  MlirType element = mlirShapedTypeGetElementType(mlirAttributeGetType(table));
  if (!mlirTypeIsAInteger(element) || !mlirIntegerTypeIsSignless(element))
    return false;
  unsigned width = mlirIntegerTypeGetWidth(element);
  return width == 8 || width == 32 || width == 64;
}

/// What the value is, but for its operands, which are `nOperands` of the op's from `outFirst` on.
static bool describeNode(const SimProgram *program, MlirValue value, Node *node,
                         intptr_t *outFirst) {
  MlirOperation op = node->op;
  *outFirst = 0;
  MlirAttribute constant = shardOpGetAttribute(op, "value");
  if (shardOpIs(op, "arith.constant")) {
    node->kind = NODE_CONSTANT;
    return !mlirAttributeIsNull(constant) && shardAttrGetI64(constant, &node->number);
  }
  if (shardOpIs(op, "shard.process_linear_index")) {
    node->kind = NODE_RANK;
    return true;
  }
  if (shardOpIs(op, "shard.process_multi_index")) {
    MlirAttribute axes = shardOpGetAttribute(op, "axes");
    intptr_t i = mlirOpResultGetResultNumber(value);
    bool every = mlirAttributeIsNull(axes) || mlirDenseArrayGetNumElements(axes) == 0;
    node->kind = NODE_COORDINATE;
    node->number = every ? i : mlirDenseI16ArrayGetElement(axes, i);
    return node->number >= 0 && node->number < program->mesh.nAxes;
  }
  intptr_t n = mlirOperationGetNumOperands(op);
  node->kind = NODE_OP;
  if (shardOpIs(op, "tensor.extract")) {
    MlirOperation source = shardValueDefiningOp(mlirOperationGetOperand(op, 0));
    node->kind = NODE_TABLE;
    if (mlirOperationIsNull(source) || !shardOpIs(source, "arith.constant"))
      return false;
    node->table = shardOpGetAttribute(source, "value");
    if (!isTable(node->table))
      return false;
    *outFirst = 1;
  } else {
    node->which = 0;
    while (node->which < nOperations && !shardOpIs(op, operations[node->which].name))
      ++node->which;
    if (node->which == nOperations)
      return false;
    MlirAttribute predicate = shardOpGetAttribute(op, "predicate");
    if (!mlirAttributeIsNull(predicate))
      shardAttrGetI64(predicate, &node->number);
  }
  n -= *outFirst;
  node->nOperands = n <= MAX_OPERANDS ? (int32_t)n : 0;
  return n <= MAX_OPERANDS && (n || node->kind == NODE_TABLE);
}

static void addNode(Expression *e, MlirValue value, const Node *node) {
  e->nodes =
      shardArenaGrow(e->arena, e->nodes, e->nNodes, &e->capacity, e->nNodes + 1, sizeof(Node));
  e->nodes[e->nNodes] = *node;
  shardPointerMapSet(e->nodeOf, value.ptr, (int64_t)e->nNodes++);
}

/// The number of the node that holds the value; -1: it is not known when compiling. Operands are
/// first, and wait on a list: chains of ops are as long as a program likes.
static int32_t addValue(Expression *e, const SimProgram *program, MlirValue value) {
  size_t nOpen = 0, capacity = 0;
  MlirValue *open = shardArenaGrow(e->arena, NULL, 0, &capacity, 1, sizeof(MlirValue));
  open[nOpen++] = value;
  while (nOpen) {
    value = open[nOpen - 1];
    if (shardPointerMapGetOr(e->nodeOf, value.ptr, NOT_SEEN) >= 0) {
      --nOpen;
      continue;
    }
    Node node = {.op = shardValueDefiningOp(value)};
    intptr_t first;
    if (mlirOperationIsNull(node.op) || !describeNode(program, value, &node, &first))
      return -1;
    shardPointerMapSet(e->nodeOf, value.ptr, UNDER_WAY);
    size_t nBefore = nOpen;
    for (int32_t i = 0; i < node.nOperands; ++i) {
      MlirValue operand = mlirOperationGetOperand(node.op, first + i);
      int64_t known = shardPointerMapGetOr(e->nodeOf, operand.ptr, NOT_SEEN);
      if (known == UNDER_WAY)
        return -1; // it depends on itself
      node.operands[i] = (int32_t)known;
      if (known >= 0)
        continue;
      open = shardArenaGrow(e->arena, open, nOpen, &capacity, nOpen + 1, sizeof(MlirValue));
      open[nOpen++] = operand;
    }
    if (nOpen == nBefore)
      addNode(e, value, &node);
  }
  return (int32_t)shardPointerMapGetOr(e->nodeOf, value.ptr, -1);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static int64_t tableEntry(const Node *node, const int64_t *values) {
  MlirType type = mlirAttributeGetType(node->table);
  int64_t at = 0, n = mlirElementsAttrGetNumElements(node->table);
  for (int32_t i = 0; i < node->nOperands && i < mlirShapedTypeGetRank(type); ++i)
    at = at * mlirShapedTypeGetDimSize(type, i) + values[node->operands[i]];
  if (at < 0 || at >= n)
    return 0;
  unsigned width = mlirIntegerTypeGetWidth(mlirShapedTypeGetElementType(type));
  if (width == 64)
    return mlirDenseElementsAttrGetInt64Value(node->table, at);
  return width == 32 ? mlirDenseElementsAttrGetInt32Value(node->table, at)
                     : mlirDenseElementsAttrGetInt8Value(node->table, at);
}

static void evaluate(const Expression *e, int64_t rank, const int64_t *coordinates,
                     int64_t *values) {
  for (size_t i = 0; i < e->nNodes; ++i) {
    const Node *node = &e->nodes[i];
    switch (node->kind) {
    case NODE_CONSTANT:
      values[i] = node->number;
      break;
    case NODE_TABLE:
      values[i] = tableEntry(node, values);
      break;
    case NODE_COORDINATE:
      values[i] = coordinates[node->number];
      break;
    case NODE_RANK:
      values[i] = rank;
      break;
    case NODE_OP:
      values[i] = apply(node, values);
      break;
    }
  }
}

/// Where a coordinate of the peer comes from.
typedef struct PeerAxis {
  int32_t axis;
  int64_t number; // when there is no node
  int32_t node;   // -1
} PeerAxis;

/// Reads `destination` or `source`. -1 after one error.
static int32_t readPeer(Expression *e, const SimProgram *program, const SimStep *step,
                        PeerAxis *axes) {
  MlirOperation op = step->op;
  MlirAttribute along = shardOpGetAttribute(op, "grid_axes");
  MlirAttribute place = shardOpGetAttribute(op, step->kind == SIM_SEND ? "destination" : "source");
  int32_t n = mlirAttributeIsNull(along) ? 0 : (int32_t)mlirDenseArrayGetNumElements(along);
  bool known = !mlirAttributeIsNull(place) && mlirAttributeIsADenseI64Array(place) &&
               mlirDenseArrayGetNumElements(place) == n && n <= program->mesh.nAxes;
  intptr_t next = 1;
  for (int32_t i = 0; known && i < n; ++i) {
    axes[i] = (PeerAxis){mlirDenseI16ArrayGetElement(along, i),
                         mlirDenseI64ArrayGetElement(place, i), -1};
    if (axes[i].number != mlirShapedTypeGetDynamicSize())
      continue;
    known = next < mlirOperationGetNumOperands(op);
    axes[i].node = known ? addValue(e, program, mlirOperationGetOperand(op, next++)) : -1;
    known &= axes[i].node >= 0;
  }
  if (known)
    return n;
  shardEmitError(op, "the peer of this message depends on data; expected constants, the rank's "
                     "coordinates and tables of constants");
  return -1;
}

static bool shiftPeers(const SimProgram *program, const SimStage *stage, const SimStep *step,
                       int64_t *peers) {
  MlirAttribute offsetAttribute = shardOpGetAttribute(step->op, "offset"),
                axisAttribute = shardOpGetAttribute(step->op, "shift_axis");
  int64_t offset = 0, axis = -1, coordinates[SHARD_MAX_AXES], stride = 1;
  bool cyclic = !mlirAttributeIsNull(shardOpGetAttribute(step->op, "rotate"));
  if (mlirAttributeIsNull(offsetAttribute) || !shardAttrGetI64(offsetAttribute, &offset) ||
      mlirAttributeIsNull(axisAttribute) || !shardAttrGetI64(axisAttribute, &axis) || axis < 0 ||
      axis >= program->mesh.nAxes) {
    shardEmitError(step->op, "a shift without an axis of the mesh and an offset");
    return false;
  }
  for (int32_t a = program->mesh.nAxes - 1; a > axis; --a)
    stride *= program->mesh.sizes[a];
  int64_t size = program->mesh.sizes[axis];
  offset = step->kind == SIM_SEND ? offset % size : -(offset % size);
  for (int64_t i = 0; i < stage->nRanks; ++i) {
    shardMeshCoordinates(&program->mesh, stage->ranks[i], coordinates);
    int64_t at = coordinates[axis], to = at + offset;
    if (cyclic)
      to = (to + size) % size;
    peers[i] = to < 0 || to >= size ? stage->ranks[i] : stage->ranks[i] + (to - at) * stride;
  }
  return true;
}

/// A round of an exchange writes a rank that sends nothing as its own peer, and of branches that
/// are for different ranks each is evaluated for all; any other message to itself is never there.
static bool mayBeOwnPeer(MlirOperation op) {
  bool may = !mlirAttributeIsNull(shardOpGetAttribute(op, "spmd.round"));
  for (MlirOperation up = mlirOperationGetParentOperation(op); !may && !mlirOperationIsNull(up);
       up = mlirOperationGetParentOperation(up))
    may = shardOpIs(up, "scf.if") || shardOpIs(up, "scf.index_switch");
  return may;
}

bool simPeersEvaluate(const SimProgram *program, const SimStage *stage, const SimStep *step,
                      int64_t *peers) {
  if (step->collective == SHARD_COLLECTIVE_PERMUTE)
    return shiftPeers(program, stage, step, peers);
  ShardArena *scratch = shardArenaCreate();
  Expression e = {.arena = scratch, .nodeOf = shardPointerMapCreate(scratch, 16)};
  PeerAxis axes[SHARD_MAX_AXES];
  int64_t coordinates[SHARD_MAX_AXES];
  int32_t n = readPeer(&e, program, step, axes);
  int64_t *values = SHARD_ARENA_ARRAY(scratch, int64_t, e.nNodes);
  bool ok = n >= 0, alone = !mayBeOwnPeer(step->op);
  for (int64_t i = 0; ok && i < stage->nRanks; ++i) {
    shardMeshCoordinates(&program->mesh, stage->ranks[i], coordinates);
    evaluate(&e, stage->ranks[i], coordinates, values);
    for (int32_t k = 0; ok && k < n; ++k) {
      int64_t at = axes[k].node < 0 ? axes[k].number : values[axes[k].node];
      ok = at >= 0 && at < program->mesh.sizes[axes[k].axis];
      coordinates[axes[k].axis] = at;
    }
    if (!ok)
      shardEmitError(step->op, "the peer of rank %lld is outside of the mesh",
                     (long long)stage->ranks[i]);
    peers[i] = 0;
    for (int32_t a = 0; ok && a < program->mesh.nAxes; ++a)
      peers[i] = peers[i] * program->mesh.sizes[a] + coordinates[a];
    if (ok && alone && peers[i] == stage->ranks[i]) {
      ok = false;
      shardEmitError(step->op, "rank %lld is its own peer here; expected another rank",
                     (long long)stage->ranks[i]);
    }
  }
  shardArenaDestroy(scratch);
  return ok;
}
