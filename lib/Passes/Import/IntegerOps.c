//===- IntegerOps.c - Integer arithmetic of arith, on arrays ------*- C -*-===//
#include "IntegerOps.h"

#include "mlir-c/BuiltinTypes.h"

#include <string.h>

unsigned shardIntegerWidth(MlirType type) {
  if (mlirTypeIsAShaped(type))
    type = mlirShapedTypeGetElementType(type);
  if (mlirTypeIsAIndex(type))
    return 64;
  if (!mlirTypeIsAInteger(type))
    return 0;
  unsigned width = mlirIntegerTypeGetWidth(type);
  return width <= 64 ? width : 0;
}

int64_t shardIntegerWrap(uint64_t value, unsigned width) {
  if (width == 1)
    return (int64_t)(value & 1);
  if (width == 64)
    return (int64_t)value;
  unsigned shift = 64 - width;
  return (int64_t)(value << shift) >> shift;
}

static uint64_t asUnsigned(int64_t value, unsigned width) {
  return width == 64 ? (uint64_t)value : (uint64_t)value & ((UINT64_C(1) << width) - 1);
}

typedef enum ScalarOp {
  OP_NONE,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIVS,
  OP_DIVU,
  OP_REMS,
  OP_REMU,
  OP_FLOORDIV,
  OP_CEILDIV,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_SHL,
  OP_SHRS,
  OP_SHRU,
  OP_MAXS,
  OP_MINS,
  OP_MAXU,
  OP_MINU,
  OP_CMP,
  OP_SELECT,
  OP_SIGNED_CAST,
  OP_UNSIGNED_CAST
} ScalarOp;

static ScalarOp scalarOp(MlirOperation op) {
  static const struct {
    const char *name;
    ScalarOp op;
  } table[] = {
      {"addi", OP_ADD},
      {"subi", OP_SUB},
      {"muli", OP_MUL},
      {"divsi", OP_DIVS},
      {"divui", OP_DIVU},
      {"remsi", OP_REMS},
      {"remui", OP_REMU},
      {"floordivsi", OP_FLOORDIV},
      {"ceildivsi", OP_CEILDIV},
      {"andi", OP_AND},
      {"ori", OP_OR},
      {"xori", OP_XOR},
      {"shli", OP_SHL},
      {"shrsi", OP_SHRS},
      {"shrui", OP_SHRU},
      {"maxsi", OP_MAXS},
      {"minsi", OP_MINS},
      {"maxui", OP_MAXU},
      {"minui", OP_MINU},
      {"cmpi", OP_CMP},
      {"select", OP_SELECT},
      {"index_cast", OP_SIGNED_CAST},
      {"extsi", OP_SIGNED_CAST},
      {"trunci", OP_SIGNED_CAST},
      {"extui", OP_UNSIGNED_CAST},
      {"index_castui", OP_UNSIGNED_CAST},
  };
  MlirStringRef name = shardOpGetName(op);
  if (!shardNameHasDialect(name, "arith"))
    return OP_NONE;
  MlirStringRef rest = mlirStringRefCreate(name.data + 6, name.length - 6);
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i)
    if (shardStringIs(rest, table[i].name))
      return table[i].op;
  return OP_NONE;
}

static bool compare(int64_t predicate, int64_t a, int64_t b, unsigned width) {
  if (width == 1) { // signed i1 is 0 or -1
    if (predicate >= 2 && predicate <= 5) {
      a = -a;
      b = -b;
    }
  }
  uint64_t ua = asUnsigned(a, width), ub = asUnsigned(b, width);
  switch (predicate) { // arith::CmpIPredicate
  case 0:
    return a == b;
  case 1:
    return a != b;
  case 2:
    return a < b;
  case 3:
    return a <= b;
  case 4:
    return a > b;
  case 5:
    return a >= b;
  case 6:
    return ua < ub;
  case 7:
    return ua <= ub;
  case 8:
    return ua > ub;
  default:
    return ua >= ub;
  }
}

/// One element; false where the op is undefined.
static bool computeElement(ScalarOp op, int64_t a, int64_t b, int64_t c, unsigned fromWidth,
                           unsigned width, int64_t predicate, int64_t *out) {
  uint64_t ua = asUnsigned(a, fromWidth), ub = asUnsigned(b, fromWidth);
  int64_t sa = fromWidth == 1 ? -a : a, sb = fromWidth == 1 ? -b : b;
  uint64_t r;
  switch (op) {
  case OP_ADD:
    r = ua + ub;
    break;
  case OP_SUB:
    r = ua - ub;
    break;
  case OP_MUL:
    r = ua * ub;
    break;
  case OP_DIVS:
  case OP_REMS:
  case OP_FLOORDIV:
  case OP_CEILDIV: {
    if (sb == 0 || (sb == -1 && sa == INT64_MIN))
      return false;
    int64_t quotient = sa / sb, remainder = sa % sb;
    if (op == OP_REMS)
      quotient = remainder;
    else if (op == OP_FLOORDIV && remainder != 0 && (remainder < 0) != (sb < 0))
      --quotient;
    else if (op == OP_CEILDIV && remainder != 0 && (remainder < 0) == (sb < 0))
      ++quotient;
    r = (uint64_t)quotient;
    break;
  }
  case OP_DIVU:
  case OP_REMU:
    if (ub == 0)
      return false;
    r = op == OP_DIVU ? ua / ub : ua % ub;
    break;
  case OP_AND:
    r = ua & ub;
    break;
  case OP_OR:
    r = ua | ub;
    break;
  case OP_XOR:
    r = ua ^ ub;
    break;
  case OP_SHL:
  case OP_SHRU:
  case OP_SHRS:
    if (ub >= fromWidth)
      return false;
    r = op == OP_SHL ? ua << ub : op == OP_SHRU ? ua >> ub : (uint64_t)(sa >> ub);
    break;
  case OP_MAXS:
    r = (uint64_t)(sa > sb ? sa : sb);
    break;
  case OP_MINS:
    r = (uint64_t)(sa < sb ? sa : sb);
    break;
  case OP_MAXU:
    r = ua > ub ? ua : ub;
    break;
  case OP_MINU:
    r = ua < ub ? ua : ub;
    break;
  case OP_CMP:
    r = compare(predicate, a, b, fromWidth);
    break;
  case OP_SELECT:
    r = (uint64_t)(a ? b : c);
    break;
  case OP_SIGNED_CAST:
    r = (uint64_t)sa;
    break;
  case OP_UNSIGNED_CAST:
    r = ua;
    break;
  default:
    return false;
  }
  *out = shardIntegerWrap(r, width);
  return true;
}

bool shardIsIntegerOp(MlirOperation op) { return scalarOp(op) != OP_NONE; }

bool shardIntegerOpApply(MlirOperation op, int64_t count, const int64_t *const *operands,
                         int64_t *out) {
  ScalarOp kind = scalarOp(op);
  unsigned width = shardIntegerWidth(mlirValueGetType(mlirOperationGetResult(op, 0)));
  unsigned fromWidth = shardIntegerWidth(mlirValueGetType(mlirOperationGetOperand(op, 0)));
  int64_t predicate = 0;
  if (kind == OP_CMP && !shardAttrGetI64(shardOpGetAttribute(op, "predicate"), &predicate))
    return false;
  if (kind == OP_NONE || width == 0 || fromWidth == 0)
    return false;
  intptr_t n = mlirOperationGetNumOperands(op);
  for (int64_t i = 0; i < count; ++i)
    if (!computeElement(kind, operands[0][i], n > 1 ? operands[1][i] : 0,
                        n > 2 ? operands[2][i] : 0, fromWidth, width, predicate, &out[i]))
      return false;
  return true;
}
