//===- Scalars.c - Assertions and elementary functions -------------*- C -*-===//
// exp, tanh and erf of f32 become polynomials in arith, since LLVM does not vectorise libm calls;
// f16 and bf16 go through f32; powers by a constant integer become products. cf.assert becomes a
// call of the runtime that does not return.
//   exp    Cody and Waite reduction by ln 2 in two steps, degree 6; below 2 ulp.
//   tanh   rational in x^2 of degrees 13 and 6 (Eigen's); erf likewise of 13 and 8.
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Functions as text
//===----------------------------------------------------------------------===//

static const char expText[] =
    "func.func private @shard_exp_f32(%x: f32) -> f32 {\n"
    "  %low = arith.constant -104.0 : f32\n"
    "  %high = arith.constant 89.0 : f32\n"
    "  %log2e = arith.constant 1.44269504088896341 : f32\n"
    "  %ln2hi = arith.constant 0.693359375 : f32\n"
    "  %ln2lo = arith.constant -2.12194440e-4 : f32\n"
    "  %one = arith.constant 1.0 : f32\n"
    "  %half = arith.constant 0.5 : f32\n"
    "  %c0 = arith.constant 1.9875691500e-4 : f32\n"
    "  %c1 = arith.constant 1.3981999507e-3 : f32\n"
    "  %c2 = arith.constant 8.3334519073e-3 : f32\n"
    "  %c3 = arith.constant 4.1665795894e-2 : f32\n"
    "  %c4 = arith.constant 1.6666665459e-1 : f32\n"
    "  %c5 = arith.constant 5.0000001201e-1 : f32\n"
    "  %i1 = arith.constant 1 : i32\n"
    "  %i23 = arith.constant 23 : i32\n"
    "  %bias = arith.constant 127 : i32\n"
    "  %tooLow = arith.cmpf olt, %x, %low : f32\n"
    "  %a = arith.select %tooLow, %low, %x : f32\n"
    "  %tooHigh = arith.cmpf ogt, %a, %high : f32\n"
    "  %b = arith.select %tooHigh, %high, %a : f32\n"
    "  %isnan = arith.cmpf uno, %x, %x : f32\n"
    "  %v = arith.select %isnan, %one, %b : f32\n"
    "  %s = arith.mulf %v, %log2e : f32\n"
    "  %n = math.roundeven %s : f32\n"
    "  %t0 = arith.mulf %n, %ln2hi : f32\n"
    "  %r0 = arith.subf %v, %t0 fastmath<contract> : f32\n"
    "  %t1 = arith.mulf %n, %ln2lo fastmath<contract> : f32\n"
    "  %r = arith.subf %r0, %t1 fastmath<contract> : f32\n"
    "  %p0 = arith.mulf %c0, %r fastmath<contract> : f32\n"
    "  %q0 = arith.addf %p0, %c1 fastmath<contract> : f32\n"
    "  %p1 = arith.mulf %q0, %r fastmath<contract> : f32\n"
    "  %q1 = arith.addf %p1, %c2 fastmath<contract> : f32\n"
    "  %p2 = arith.mulf %q1, %r fastmath<contract> : f32\n"
    "  %q2 = arith.addf %p2, %c3 fastmath<contract> : f32\n"
    "  %p3 = arith.mulf %q2, %r fastmath<contract> : f32\n"
    "  %q3 = arith.addf %p3, %c4 fastmath<contract> : f32\n"
    "  %p4 = arith.mulf %q3, %r fastmath<contract> : f32\n"
    "  %q4 = arith.addf %p4, %c5 fastmath<contract> : f32\n"
    "  %rr = arith.mulf %r, %r : f32\n"
    "  %p5 = arith.mulf %q4, %rr fastmath<contract> : f32\n"
    "  %q5 = arith.addf %p5, %r fastmath<contract> : f32\n"
    "  %q6 = arith.addf %q5, %one : f32\n"
    // 2^n in two factors, so that n of a denormal or of the last octave does not overflow.
    "  %ni = arith.fptosi %n : f32 to i32\n"
    "  %n1 = arith.shrsi %ni, %i1 : i32\n"
    "  %n2 = arith.subi %ni, %n1 : i32\n"
    "  %e1 = arith.addi %n1, %bias : i32\n"
    "  %e2 = arith.addi %n2, %bias : i32\n"
    "  %b1 = arith.shli %e1, %i23 : i32\n"
    "  %b2 = arith.shli %e2, %i23 : i32\n"
    "  %f1 = arith.bitcast %b1 : i32 to f32\n"
    "  %f2 = arith.bitcast %b2 : i32 to f32\n"
    "  %y1 = arith.mulf %q6, %f1 : f32\n"
    "  %y2 = arith.mulf %y1, %f2 : f32\n"
    "  %y = arith.select %isnan, %x, %y2 : f32\n"
    "  func.return %y : f32\n"
    "}\n";

/// %p, odd in x: v (a1 + z a3 + ... + z^6 a13) with v = x held between %low and %high, and z = v^2.
#define ODD_POLYNOMIAL                                                                             \
  "  %tooLow = arith.cmpf olt, %x, %low : f32\n"                                                   \
  "  %u = arith.select %tooLow, %low, %x : f32\n"                                                  \
  "  %tooHigh = arith.cmpf ogt, %u, %high : f32\n"                                                 \
  "  %v = arith.select %tooHigh, %high, %u : f32\n"                                                \
  "  %z = arith.mulf %v, %v : f32\n"                                                               \
  "  %p0 = arith.mulf %z, %a13 fastmath<contract> : f32\n"                                         \
  "  %q0 = arith.addf %p0, %a11 fastmath<contract> : f32\n"                                        \
  "  %p1 = arith.mulf %z, %q0 fastmath<contract> : f32\n"                                          \
  "  %q1 = arith.addf %p1, %a9 fastmath<contract> : f32\n"                                         \
  "  %p2 = arith.mulf %z, %q1 fastmath<contract> : f32\n"                                          \
  "  %q2 = arith.addf %p2, %a7 fastmath<contract> : f32\n"                                         \
  "  %p3 = arith.mulf %z, %q2 fastmath<contract> : f32\n"                                          \
  "  %q3 = arith.addf %p3, %a5 fastmath<contract> : f32\n"                                         \
  "  %p4 = arith.mulf %z, %q3 fastmath<contract> : f32\n"                                          \
  "  %q4 = arith.addf %p4, %a3 fastmath<contract> : f32\n"                                         \
  "  %p5 = arith.mulf %z, %q4 fastmath<contract> : f32\n"                                          \
  "  %q5 = arith.addf %p5, %a1 fastmath<contract> : f32\n"                                         \
  "  %p = arith.mulf %v, %q5 : f32\n"

static const char tanhText[] = "func.func private @shard_tanh_f32(%x: f32) -> f32 {\n"
                               "  %low = arith.constant -7.90531110763549805 : f32\n"
                               "  %high = arith.constant 7.90531110763549805 : f32\n"
                               "  %tiny = arith.constant 4.0e-4 : f32\n"
                               "  %a1 = arith.constant 4.89352455891786e-03 : f32\n"
                               "  %a3 = arith.constant 6.37261928875436e-04 : f32\n"
                               "  %a5 = arith.constant 1.48572235717979e-05 : f32\n"
                               "  %a7 = arith.constant 5.12229709037114e-08 : f32\n"
                               "  %a9 = arith.constant -8.60467152213735e-11 : f32\n"
                               "  %a11 = arith.constant 2.00018790482477e-13 : f32\n"
                               "  %a13 = arith.constant -2.76076847742355e-16 : f32\n"
                               "  %b0 = arith.constant 4.89352518554385e-03 : f32\n"
                               "  %b2 = arith.constant 2.26843463243900e-03 : f32\n"
                               "  %b4 = arith.constant 1.18534705686654e-04 : f32\n"
                               "  %b6 = arith.constant 1.19825839466702e-06 : f32\n" ODD_POLYNOMIAL
                               "  %s0 = arith.mulf %z, %b6 fastmath<contract> : f32\n"
                               "  %t0 = arith.addf %s0, %b4 fastmath<contract> : f32\n"
                               "  %s1 = arith.mulf %z, %t0 fastmath<contract> : f32\n"
                               "  %t1 = arith.addf %s1, %b2 fastmath<contract> : f32\n"
                               "  %s2 = arith.mulf %z, %t1 fastmath<contract> : f32\n"
                               "  %q = arith.addf %s2, %b0 fastmath<contract> : f32\n"
                               "  %d = arith.divf %p, %q : f32\n"
                               "  %m = math.absf %x : f32\n"
                               "  %isTiny = arith.cmpf olt, %m, %tiny : f32\n"
                               "  %w = arith.select %isTiny, %x, %d : f32\n"
                               "  %saturates = arith.constant 9.01 : f32\n"
                               "  %one = arith.constant 1.0 : f32\n"
                               "  %isBig = arith.cmpf oge, %m, %saturates : f32\n"
                               "  %sign = math.copysign %one, %x : f32\n"
                               "  %y = arith.select %isBig, %sign, %w : f32\n"
                               "  func.return %y : f32\n"
                               "}\n";

static const char erfText[] = "func.func private @shard_erf_f32(%x: f32) -> f32 {\n"
                              "  %low = arith.constant -4.0 : f32\n"
                              "  %high = arith.constant 4.0 : f32\n"
                              "  %a1 = arith.constant -1.60960333262415e-02 : f32\n"
                              "  %a3 = arith.constant -2.95459980854025e-03 : f32\n"
                              "  %a5 = arith.constant -7.34990630326855e-04 : f32\n"
                              "  %a7 = arith.constant -5.69250639462346e-05 : f32\n"
                              "  %a9 = arith.constant -2.10102402082508e-06 : f32\n"
                              "  %a11 = arith.constant 2.77068142495902e-08 : f32\n"
                              "  %a13 = arith.constant -2.72614225801306e-10 : f32\n"
                              "  %b0 = arith.constant -1.42647390514189e-02 : f32\n"
                              "  %b2 = arith.constant -7.37332916720468e-03 : f32\n"
                              "  %b4 = arith.constant -1.68282697438203e-03 : f32\n"
                              "  %b6 = arith.constant -2.13374055278905e-04 : f32\n"
                              "  %b8 = arith.constant -1.45660718464996e-05 : f32\n" ODD_POLYNOMIAL
                              "  %s0 = arith.mulf %z, %b8 fastmath<contract> : f32\n"
                              "  %t0 = arith.addf %s0, %b6 fastmath<contract> : f32\n"
                              "  %s1 = arith.mulf %z, %t0 fastmath<contract> : f32\n"
                              "  %t1 = arith.addf %s1, %b4 fastmath<contract> : f32\n"
                              "  %s2 = arith.mulf %z, %t1 fastmath<contract> : f32\n"
                              "  %t2 = arith.addf %s2, %b2 fastmath<contract> : f32\n"
                              "  %s3 = arith.mulf %z, %t2 fastmath<contract> : f32\n"
                              "  %q = arith.addf %s3, %b0 fastmath<contract> : f32\n"
                              "  %w = arith.divf %p, %q : f32\n"
                              "  %one = arith.constant 1.0 : f32\n"
                              "  %m = math.absf %x : f32\n"
                              "  %isBig = arith.cmpf oge, %m, %high : f32\n"
                              "  %sign = math.copysign %one, %x : f32\n"
                              "  %y = arith.select %isBig, %sign, %w : f32\n"
                              "  func.return %y : f32\n"
                              "}\n";

static const struct {
  const char *op, *callee, *text;
} functionTable[] = {{"math.exp", "shard_exp_f32", expText},
                     {"math.tanh", "shard_tanh_f32", tanhText},
                     {"math.erf", "shard_erf_f32", erfText}};

static MlirType elementOf(MlirType type) {
  return mlirTypeIsAVector(type) ? mlirShapedTypeGetElementType(type) : type;
}

/// `type` with another element type: a scalar or a vector.
static MlirType withElement(MlirType type, MlirType element) {
  if (!mlirTypeIsAVector(type))
    return element;
  int64_t width = mlirShapedTypeGetDimSize(type, 0);
  return mlirVectorTypeGet(1, &width, element);
}

static MlirValue constantFloat(ShardLowerBuilder *b, MlirType type, double value) {
  MlirAttribute attribute = mlirFloatAttrDoubleGet(b->lowering->context, elementOf(type), value);
  return shardMakeConstant(b, type,
                           mlirTypeIsAVector(type) ? mlirDenseElementsAttrSplatGet(type, attribute)
                                                   : attribute);
}

/// The text of a function of f32 for vectors of `width`; `name` gets the suffix _vN.
static char *vectorText(ShardArena *arena, const char *text, const char *name, int64_t width) {
  size_t capacity = 0, n = 0;
  char *out = NULL;
  size_t nameLength = strlen(name);
  bool inSelect = false; // whose condition is a vector too, and must then be named
#define PUT(string, length)                                                                        \
  do {                                                                                             \
    out = shardArenaGrow(arena, out, n, &capacity, n + (length) + 1, 1);                           \
    memcpy(out + n, (string), (length));                                                           \
    n += (length);                                                                                 \
    out[n] = 0;                                                                                    \
  } while (0)
  for (const char *p = text; *p;) {
    char piece[64];
    int length = 0;
    if (!strncmp(p, name, nameLength)) {
      length = snprintf(piece, sizeof(piece), "%s_v%" PRId64, name, width);
      p += nameLength;
    } else if ((!strncmp(p, "f32", 3) || !strncmp(p, "i32", 3)) && p[-1] == ' ') {
      char condition[32] = "";
      if (inSelect)
        snprintf(condition, sizeof(condition), "vector<%" PRId64 "xi1>, ", width);
      inSelect = false;
      length = snprintf(piece, sizeof(piece), "%svector<%" PRId64 "x%.3s>", condition, width, p);
      p += 3;
    } else if (!strncmp(p, "arith.constant ", 15)) {
      size_t value = strcspn(p + 15, " ");
      length = snprintf(piece, sizeof(piece), "arith.constant dense<%.*s>", (int)value, p + 15);
      p += 15 + value;
    }
    inSelect |= !strncmp(p, "arith.select", 12);
    if (length) {
      PUT(piece, (size_t)length);
    } else {
      PUT(p, 1);
      ++p;
    }
  }
#undef PUT
  return out;
}

static MlirValue callFunction(ShardLowerBuilder *b, size_t function, MlirValue operand) {
  const char *callee = functionTable[function].callee, *text = functionTable[function].text;
  MlirType type = mlirValueGetType(operand);
  ShardArena *arena = b->lowering->arena;
  if (mlirTypeIsAVector(type)) {
    int64_t width = mlirShapedTypeGetDimSize(type, 0);
    text = vectorText(arena, text, callee, width);
    callee = shardArenaFormat(arena, "%s_v%" PRId64, callee, width);
  }
  if (mlirOperationIsNull(
          shardModuleLookup(b->lowering->module, mlirStringRefCreateFromCString(callee))))
    shardParseIntoModule(b->lowering, text);
  return mlirOperationGetResult(shardMakeRuntimeCall(b, callee, 1, &type, 1, &operand), 0);
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

static MlirValue constantString(ShardLowerBuilder *b, const char *text, size_t length) {
  ShardLowering *lowering = b->lowering;
  MlirContext context = lowering->context;
  char *copy = shardArenaAllocate(lowering->arena, length + 1);
  memcpy(copy, text, length);
  MlirAttribute value =
      mlirStringAttrGet(context, mlirStringRefCreate(copy, length + 1)); // with its zero
  // The same text is one global.
  MlirBlock top = shardOpBody(lowering->module);
  MlirAttribute name = mlirAttributeGetNull();
  for (MlirOperation op = mlirBlockGetFirstOperation(top); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (shardOpIs(op, "llvm.mlir.global") &&
        mlirAttributeEqual(shardOpGetAttribute(op, "value"), value))
      name = shardOpGetAttribute(op, "sym_name");
  if (mlirAttributeIsNull(name)) {
    name = shardAttrString(
        context, shardArenaFormat(lowering->arena, "shard_text_%" PRIdPTR, lowering->nGlobals++));
    char type[64];
    snprintf(type, sizeof(type), "!llvm.array<%zu x i8>", length + 1);
    MlirRegion region = mlirRegionCreate();
    ShardNamedAttribute attributes[] = {
        {"global_type", mlirTypeAttrGet(shardParseType(lowering, type))},
        {"sym_name", name},
        {"linkage", shardParseAttribute(lowering, "#llvm.linkage<internal>")},
        {"constant", shardAttrUnit(context)},
        {"value", value}};
    shardOpCreate(top, (MlirOperation){NULL}, b->location, "llvm.mlir.global", 0, NULL, 0, NULL, 5,
                  attributes, 1, &region);
  }
  return shardMakeAddress(b, name);
}

MlirValue shardMakeAddress(ShardLowerBuilder *b, MlirAttribute name) {
  ShardNamedAttribute attribute = {
      "global_name", mlirFlatSymbolRefAttrGet(b->lowering->context, mlirStringAttrGetValue(name))};
  return mlirOperationGetResult(
      shardMakeOp(b, "llvm.mlir.addressof", 1, &b->lowering->pointer, 0, NULL, 1, &attribute), 0);
}

void shardMakeAssert(ShardLowering *lowering, MlirOperation func, MlirOperation op,
                     MlirValue condition, MlirStringRef message) {
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirValue operands[] = {condition,
                          shardMakeConstant(&b, lowering->i1, mlirIntegerAttrGet(lowering->i1, 1))};
  MlirValue failed = shardMakeValue(&b, "arith.xori", lowering->i1, 2, operands);
  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  mlirRegionAppendOwnedBlock(regions[0], mlirBlockCreate(0, NULL, NULL));
  MlirOperation branch = shardOpCreate(b.block, b.before, b.location, "scf.if", 0, NULL, 1, &failed,
                                       0, NULL, 2, regions);
  ShardLowerBuilder inner = shardLowerBuilderAtEnd(lowering, shardOpBody(branch), b.location);
  const char *location = shardLocationText(b.location, lowering->arena);
  MlirValue arguments[] = {mlirBlockGetArgument(shardFuncGetBody(func), 0),
                           constantString(&inner, message.data, message.length),
                           constantString(&inner, location, strlen(location))};
  shardMakeRuntimeCall(&inner, "shardRtAssertFailed", 0, NULL, 3, arguments);
  shardMakeYield(&inner, 0, NULL);
}

bool shardScalarGetConstant(MlirValue value, int64_t *out) {
  while (mlirValueIsAOpResult(value)) {
    MlirOperation op = mlirOpResultGetOwner(value);
    if (shardOpIs(op, "arith.constant")) {
      MlirAttribute attribute = shardOpGetAttribute(op, "value");
      return mlirAttributeIsAInteger(attribute) && shardAttrGetI64(attribute, out);
    }
    if (!shardOpIs(op, "arith.extsi") && !shardOpIs(op, "arith.trunci") &&
        !shardOpIs(op, "arith.index_cast"))
      return false;
    value = mlirOperationGetOperand(op, 0);
  }
  return false;
}

static void replaceOp(MlirOperation op, MlirValue by) {
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), by);
  mlirOperationDestroy(op);
}

static MlirValue buildBinary(ShardLowerBuilder *b, const char *name, MlirValue left,
                             MlirValue right) {
  MlirValue operands[] = {left, right};
  return shardMakeValue(b, name, mlirValueGetType(left), 2, operands);
}

static MlirValue buildProductPower(ShardLowerBuilder *b, MlirValue base, int64_t exponent) {
  MlirValue one = constantFloat(b, mlirValueGetType(base), 1), square = base, result = {NULL};
  for (int64_t rest = exponent < 0 ? -exponent : exponent; rest; rest >>= 1) {
    if (rest & 1)
      result = mlirValueIsNull(result) ? square : buildBinary(b, "arith.mulf", result, square);
    if (rest > 1)
      square = buildBinary(b, "arith.mulf", square, square);
  }
  if (mlirValueIsNull(result))
    return one;
  return exponent < 0 ? buildBinary(b, "arith.divf", one, result) : result;
}

/// math.fpowi.
static MlirValue lowerPower(ShardLowerBuilder *b, MlirValue base, MlirValue power) {
  MlirType type = mlirValueGetType(base), f64 = b->lowering->f64;
  int64_t exponent;
  if (shardScalarGetConstant(power, &exponent) && exponent >= -64 && exponent <= 64)
    return buildProductPower(b, base, exponent);
  // In double, where every exponent that matters is exact.
  power = shardMakeValue(b, "arith.sitofp", withElement(mlirValueGetType(power), f64), 1, &power);
  bool isDouble = mlirTypeIsAF64(elementOf(type));
  if (!isDouble)
    base = shardMakeValue(b, "arith.extf", withElement(type, f64), 1, &base);
  MlirValue result = buildBinary(b, "math.powf", base, power);
  return isDouble ? result : shardMakeValue(b, "arith.truncf", type, 1, &result);
}

static bool isNarrowFloat(MlirType type) {
  type = elementOf(type);
  return mlirTypeIsABF16(type) || mlirTypeIsAF16(type);
}

/// Functions that LLVM has no intrinsic for: libm's, of f64, with suffix f of f32.
static const struct {
  const char *op, *callee;
} libmTable[] = {{"math.acosh", "acosh"}, {"math.asinh", "asinh"}, {"math.atanh", "atanh"},
                 {"math.cbrt", "cbrt"},   {"math.erf", "erf"},     {"math.erfc", "erfc"}};

static MlirValue callLibm(ShardLowerBuilder *b, const char *callee, MlirValue operand) {
  MlirType type = mlirValueGetType(operand);
  const char *name =
      mlirTypeIsAF64(type) ? callee : shardArenaFormat(b->lowering->arena, "%sf", callee);
  return mlirOperationGetResult(shardMakeRuntimeCall(b, name, 1, &type, 1, &operand), 0);
}

static MlirValue buildCompare(ShardLowerBuilder *b, const char *name, int64_t predicate,
                              MlirValue left, MlirValue right) {
  MlirValue operands[] = {left, right};
  MlirType type = withElement(mlirValueGetType(left), b->lowering->i1);
  ShardNamedAttribute attribute = {"predicate", mlirIntegerAttrGet(b->lowering->i64, predicate)};
  return mlirOperationGetResult(shardMakeOp(b, name, 1, &type, 2, operands, 1, &attribute), 0);
}

/// math.isinf and math.isnormal.
static MlirValue classify(ShardLowerBuilder *b, MlirValue operand, bool isNormal) {
  enum { OEQ = 1, OGE = 3, OLT = 4 };
  MlirType type = mlirValueGetType(operand);
  double least = mlirTypeIsAF64(elementOf(type))   ? 0x1p-1022
                 : mlirTypeIsAF16(elementOf(type)) ? 0x1p-14
                                                   : 0x1p-126;
  if (isNarrowFloat(type)) {
    type = withElement(type, b->lowering->f32);
    operand = shardMakeValue(b, "arith.extf", type, 1, &operand);
  }
  MlirValue magnitude = shardMakeValue(b, "math.absf", type, 1, &operand);
  MlirValue infinity = constantFloat(b, type, __builtin_inf());
  if (!isNormal)
    return buildCompare(b, "arith.cmpf", OEQ, magnitude, infinity);
  MlirValue both[] = {buildCompare(b, "arith.cmpf", OLT, magnitude, infinity),
                      buildCompare(b, "arith.cmpf", OGE, magnitude, constantFloat(b, type, least))};
  return shardMakeValue(b, "arith.andi", mlirValueGetType(both[0]), 2, both);
}

/// math.ipowi: by squaring; a negative exponent gives 1 / power, truncated.
static MlirValue integerPower(ShardLowerBuilder *b, MlirValue base, MlirValue exponent) {
  MlirType type = mlirValueGetType(base);
  unsigned w = mlirIntegerTypeGetWidth(type);
  ShardArena *arena = b->lowering->arena;
  const char *callee = shardArenaFormat(arena, "shard_ipowi_i%u", w);
  if (mlirOperationIsNull(
          shardModuleLookup(b->lowering->module, mlirStringRefCreateFromCString(callee))))
    shardParseIntoModule(
        b->lowering,
        shardArenaFormat(
            arena,
            "func.func private @%s(%%b: i%u, %%e: i%u) -> i%u {\n"
            "%%c0 = arith.constant 0 : i%u\n%%c1 = arith.constant 1 : i%u\n"
            "%%cm = arith.constant -1 : i%u\n%%neg = arith.cmpi slt, %%e, %%c0 : i%u\n"
            "%%opposite = arith.subi %%c0, %%e : i%u\n"
            "%%abs = arith.select %%neg, %%opposite, %%e : i%u\n"
            "%%r:3 = scf.while (%%n = %%abs, %%p = %%b, %%a = %%c1) : (i%u, i%u, i%u) -> (i%u, "
            "i%u, "
            "i%u) {\n%%go = arith.cmpi ne, %%n, %%c0 : i%u\n"
            "scf.condition(%%go) %%n, %%p, %%a : i%u, i%u, i%u\n} do {\n"
            "^bb0(%%n: i%u, %%p: i%u, %%a: i%u):\n%%bit = arith.andi %%n, %%c1 : i%u\n"
            "%%odd = arith.cmpi ne, %%bit, %%c0 : i%u\n%%m = arith.muli %%a, %%p : i%u\n"
            "%%a2 = arith.select %%odd, %%m, %%a : i%u\n%%p2 = arith.muli %%p, %%p : i%u\n"
            "%%n2 = arith.shrui %%n, %%c1 : i%u\nscf.yield %%n2, %%p2, %%a2 : i%u, i%u, i%u\n}\n"
            "%%one = arith.cmpi eq, %%r#2, %%c1 : i%u\n%%minus = arith.cmpi eq, %%r#2, %%cm : i%u\n"
            "%%unit = arith.ori %%one, %%minus : i1\n"
            "%%inverse = arith.select %%unit, %%r#2, %%c0 : i%u\n"
            "%%y = arith.select %%neg, %%inverse, %%r#2 : i%u\nfunc.return %%y : i%u\n}\n",
            callee, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w, w,
            w, w, w, w, w, w, w, w, w));
  MlirValue operands[] = {base, exponent};
  return mlirOperationGetResult(shardMakeRuntimeCall(b, callee, 1, &type, 2, operands), 0);
}

/// An op on f16 or bf16 as the same op on f32. Returns the new op.
static MlirOperation widen(ShardLowering *lowering, MlirOperation op) {
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirOperation clone = mlirOperationClone(op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    MlirType type = mlirValueGetType(operand);
    if (isNarrowFloat(type))
      mlirOperationSetOperand(
          clone, i,
          shardMakeValue(&b, "arith.extf", withElement(type, lowering->f32), 1, &operand));
  }
  mlirBlockInsertOwnedOperationBefore(b.block, op, clone);
  MlirValue result = mlirOperationGetResult(clone, 0);
  MlirType type = mlirValueGetType(result);
  if (isNarrowFloat(type)) {
    mlirValueSetType(result, withElement(type, lowering->f32));
    MlirValue narrow = shardMakeValue(&b, "arith.truncf", type, 1, &result);
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), narrow);
  } else {
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), result);
  }
  mlirOperationDestroy(op);
  return clone;
}

/// Conversions between f16 or bf16 and anything but f32, in two steps: one step is a call into
/// compiler-rt or libgcc, which a process need not have. Returns whether `op` was one.
static bool convertThroughF32(ShardLowering *lowering, MlirOperation op) {
  bool narrows = shardOpIs(op, "arith.truncf") || shardOpIs(op, "arith.sitofp") ||
                 shardOpIs(op, "arith.uitofp");
  bool widens =
      shardOpIs(op, "arith.extf") || shardOpIs(op, "arith.fptosi") || shardOpIs(op, "arith.fptoui");
  if (!narrows && !widens)
    return false;
  MlirValue operand = mlirOperationGetOperand(op, 0);
  MlirType from = mlirValueGetType(operand), to = mlirValueGetType(mlirOperationGetResult(op, 0));
  if (!isNarrowFloat(narrows ? to : from) || mlirTypeIsAF32(elementOf(narrows ? from : to)))
    return false;
  MlirStringRef text = shardOpGetName(op);
  char name[32];
  snprintf(name, sizeof(name), "%.*s", (int)text.length, text.data);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirType middle = withElement(to, lowering->f32);
  MlirValue value = shardMakeValue(&b, narrows ? name : "arith.extf", middle, 1, &operand);
  replaceOp(op, shardMakeValue(&b, narrows ? "arith.truncf" : name, to, 1, &value));
  return true;
}

/// Whether it computes in its operands' type, so that f16 and bf16 go through f32.
static bool isComputation(MlirStringRef name) {
  static const char *const arithmetic[] = {"arith.addf",     "arith.subf",     "arith.mulf",
                                           "arith.divf",     "arith.negf",     "arith.remf",
                                           "arith.maximumf", "arith.minimumf", "arith.maxnumf",
                                           "arith.minnumf",  "arith.cmpf"};
  bool computes = shardNameHasDialect(name, "math");
  for (size_t i = 0; i < sizeof(arithmetic) / sizeof(arithmetic[0]); ++i)
    computes |= shardStringIs(name, arithmetic[i]);
  return computes;
}

/// What a function of `math` becomes; null if LLVM lowers it.
static MlirValue lowerFunction(ShardLowerBuilder *b, MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  MlirValue none = {NULL};
  if (!shardNameHasDialect(name, "math"))
    return none;
  MlirValue operand = mlirOperationGetOperand(op, 0);
  if (shardStringIs(name, "math.fpowi"))
    return lowerPower(b, operand, mlirOperationGetOperand(op, 1));
  if (shardStringIs(name, "math.ipowi"))
    return integerPower(b, operand, mlirOperationGetOperand(op, 1));
  bool single = mlirTypeIsAF32(elementOf(mlirValueGetType(operand)));
  for (size_t i = 0; single && i < sizeof(functionTable) / sizeof(functionTable[0]); ++i)
    if (shardStringIs(name, functionTable[i].op))
      return callFunction(b, i, operand);
  for (size_t i = 0; i < sizeof(libmTable) / sizeof(libmTable[0]); ++i)
    if (shardStringIs(name, libmTable[i].op))
      return callLibm(b, libmTable[i].callee, operand);
  return none;
}

static MlirLogicalResult lowerScalar(ShardLowering *lowering, MlirOperation func,
                                     MlirOperation op) {
  if (shardOpIs(op, "cf.assert")) {
    shardMakeAssert(lowering, func, op, mlirOperationGetOperand(op, 0),
                    mlirStringAttrGetValue(shardOpGetAttribute(op, "msg")));
    mlirOperationDestroy(op);
    return mlirLogicalResultSuccess();
  }
  if (shardDivisionMayFail(op))
    shardCheckDivision(lowering, func, op);
  if (convertThroughF32(lowering, op))
    return mlirLogicalResultSuccess();
  bool isNormal = shardOpIs(op, "math.isnormal");
  if (isNormal || shardOpIs(op, "math.isinf")) {
    ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
    replaceOp(op, classify(&b, mlirOperationGetOperand(op, 0), isNormal));
    return mlirLogicalResultSuccess();
  }
  if (isComputation(shardOpGetName(op)) && mlirOperationGetNumOperands(op) &&
      mlirOperationGetNumResults(op) == 1 &&
      isNarrowFloat(mlirValueGetType(mlirOperationGetOperand(op, 0))))
    op = widen(lowering, op);
  ShardLowerBuilder b = shardLowerBuilderBefore(lowering, op);
  MlirValue result = lowerFunction(&b, op);
  if (!mlirValueIsNull(result))
    replaceOp(op, result);
  return mlirLogicalResultSuccess();
}

static bool isScalarOp(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  return shardNameHasDialect(name, "math") || shardNameHasDialect(name, "arith") ||
         shardStringIs(name, "cf.assert");
}

MlirLogicalResult shardLowerScalars(ShardLowering *lowering, MlirOperation func) {
  ShardOpList list = {.arena = lowering->arena};
  shardOpListCollect(&list, func, NULL, isScalarOp);
  for (size_t i = 0; i < list.nOps; ++i)
    if (mlirLogicalResultIsFailure(lowerScalar(lowering, func, list.ops[i])))
      return mlirLogicalResultFailure();
  return mlirLogicalResultSuccess();
}
