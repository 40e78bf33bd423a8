//===- FloatStorage.c - Floats of eight bits are stored as bytes --*- C -*-===//
// f8E4M3FN and f8E5M2 become i8 everywhere, and arith.extf and arith.truncf between them and wider
// floats bit operations on 32-bit integers: storage needs nothing more. Arithmetic in eight bits is
// refused.
//===----------------------------------------------------------------------===//
#include "Template.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <math.h>
#include <string.h>

/// A float of a sign, an exponent and `mantissa` bits, in eight.
typedef struct Format {
  const char *name; // of the type
  int mantissa, bias;
  int largest;    // bits of the largest finite number
  int overflow;   // what is larger becomes this
  int notANumber; // bits of a NaN
} Format;

static const Format e4m3 = {"f8E4M3FN", 3, 7, 0x7E, 0x7F, 0x7F};
static const Format e5m2 = {"f8E5M2", 2, 15, 0x7B, 0x7C, 0x7E};

static const Format *formatOf(MlirType type) {
  if (mlirTypeIsARankedTensor(type))
    type = mlirShapedTypeGetElementType(type);
  return mlirTypeIsAFloat8E4M3FN(type) ? &e4m3 : mlirTypeIsAFloat8E5M2(type) ? &e5m2 : NULL;
}

static MlirType withElement(MlirType type, MlirType element) {
  if (!mlirTypeIsARankedTensor(type))
    return element;
  int64_t shape[64];
  intptr_t rank = mlirShapedTypeGetRank(type);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  return mlirRankedTensorTypeGet(rank, shape, element, mlirAttributeGetNull());
}

static MlirType storageOf(MlirType type) {
  return withElement(type, mlirIntegerTypeGet(mlirTypeGetContext(type), 8));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Constants of a conversion, named as they are, in the type `type`.
static void addConstant(ShardText *text, const char *name, intptr_t value, MlirType type) {
  shardTextAdd(text,
               mlirTypeIsARankedTensor(type) ? "%$ = arith.constant dense<#> : ~\n"
                                             : "%$ = arith.constant # : ~\n",
               name, value, type);
}

/// Sign, exponent and mantissa apart; a subnormal is its mantissa times the smallest one.
static MlirLogicalResult widen(MlirOperation op, const Format *f, MlirType from, MlirType to,
                               ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirType i32 = withElement(from, mlirIntegerTypeGet(context, 32));
  MlirType i1 = withElement(from, mlirIntegerTypeGet(context, 1));
  MlirType f32 = withElement(from, mlirF32TypeGet(context));
  ShardText text = {.arena = arena};
  intptr_t low = f->mantissa;
  shardTextAdd(&text, "func.func @f(%x: ~) -> ~ {\n", from, to);
  addConstant(&text, "low", (1 << low) - 1, i32);
  addConstant(&text, "rest", 0x7F, i32);
  addConstant(&text, "shift", 23 - low, i32);
  addConstant(&text, "bias", (intptr_t)(127 - f->bias) << 23, i32);
  addConstant(&text, "smallest", (intptr_t)(127 + 1 - f->bias - low) << 23, i32);
  addConstant(&text, "first", 1 << low, i32);
  addConstant(&text, "largest", f->largest, i32);
  addConstant(&text, "overflow", f->overflow, i32);
  addConstant(&text, "infinity", 0x7F800000, i32);
  addConstant(&text, "nan", 0x7FC00000, i32);
  addConstant(&text, "top", 24, i32);
  addConstant(&text, "sign", 0x80, i32);
  shardTextAdd(&text,
               "%w = arith.extui %x : ~ to ~\n%a = arith.andi %w, %rest : ~\n"
               "%s = arith.andi %w, %sign : ~\n%s32 = arith.shli %s, %top : ~\n"
               "%n0 = arith.shli %a, %shift : ~\n%n = arith.addi %n0, %bias : ~\n"
               "%m = arith.uitofp %a : ~ to ~\n%u = arith.bitcast %smallest : ~ to ~\n"
               "%v = arith.mulf %m, %u : ~\n%b = arith.bitcast %v : ~ to ~\n",
               from, i32, i32, i32, i32, i32, i32, i32, f32, i32, f32, f32, f32, i32);
  shardTextAdd(&text,
               "%isSub = arith.cmpi ult, %a, %first : ~\n%c = arith.select %isSub, %b, %n : ~, ~\n"
               "%isOver = arith.cmpi ugt, %a, %largest : ~\n",
               i32, i1, i32, i32);
  // Above the largest: infinity where the format has one, else or beyond it not a number.
  shardTextAdd(&text, "%isInf = arith.cmpi eq, %a, %overflow : ~\n", i32);
  if (f->overflow == f->notANumber)
    shardTextAdd(&text, "%e = arith.select %isOver, %nan, %c : ~, ~\n", i1, i32);
  else
    shardTextAdd(&text,
                 "%e0 = arith.select %isOver, %nan, %c : ~, ~\n"
                 "%e = arith.select %isInf, %infinity, %e0 : ~, ~\n",
                 i1, i32, i1, i32);
  shardTextAdd(&text, "%g = arith.ori %e, %s32 : ~\n%r32 = arith.bitcast %g : ~ to ~\n", i32, i32,
               f32);
  if (mlirTypeEqual(f32, to))
    shardTextAdd(&text, "return %r32 : ~\n}\n", to);
  else
    shardTextAdd(&text, "%r = arith.$ %r32 : ~ to ~\nreturn %r : ~\n}\n",
                 mlirFloatTypeGetWidth(
                     mlirTypeIsARankedTensor(to) ? mlirShapedTypeGetElementType(to) : to) > 32
                     ? "extf"
                     : "truncf",
                 f32, to, to);
  return shardReplaceByText(op, &text);
}

/// Rounds to nearest, ties to even: on the bits where the result is normal, by adding 2^23 where it
/// is not.
static MlirLogicalResult narrow(MlirOperation op, const Format *f, MlirType from, MlirType to,
                                ShardArena *arena) {
  MlirContext context = mlirOperationGetContext(op);
  MlirType i32 = withElement(from, mlirIntegerTypeGet(context, 32));
  MlirType i1 = withElement(from, mlirIntegerTypeGet(context, 1));
  MlirType f32 = withElement(from, mlirF32TypeGet(context));
  ShardText text = {.arena = arena};
  int shift = 23 - f->mantissa;
  shardTextAdd(&text, "func.func @f(%x: ~) -> ~ {\n", from, to);
  addConstant(&text, "one", 1, i32);
  addConstant(&text, "shift", shift, i32);
  addConstant(&text, "half", (1 << (shift - 1)) - 1, i32);
  addConstant(&text, "bias", (intptr_t)(127 - f->bias) << f->mantissa, i32);
  addConstant(&text, "rest", 0x7FFFFFFF, i32);
  addConstant(&text, "scale", (intptr_t)(127 - 1 + f->bias + f->mantissa) << 23, i32);
  addConstant(&text, "magic", 0x4B000000, i32); // 2^23
  addConstant(&text, "normal", (intptr_t)(127 + 1 - f->bias) << 23, i32);
  addConstant(&text, "largest", f->largest, i32);
  addConstant(&text, "overflow", f->overflow, i32);
  addConstant(&text, "nan", f->notANumber, i32);
  addConstant(&text, "infinity", 0x7F800000, i32);
  addConstant(&text, "top", 24, i32);
  addConstant(&text, "sign", 0x80, i32);
  if (mlirTypeEqual(from, f32))
    shardTextAdd(&text, "%w = arith.bitcast %x : ~ to ~\n", f32, i32);
  else
    shardTextAdd(&text, "%x32 = arith.$ %x : ~ to ~\n%w = arith.bitcast %x32 : ~ to ~\n",
                 mlirFloatTypeGetWidth(
                     mlirTypeIsARankedTensor(from) ? mlirShapedTypeGetElementType(from) : from) > 32
                     ? "truncf"
                     : "extf",
                 from, f32, f32, i32);
  shardTextAdd(&text,
               "%a = arith.andi %w, %rest : ~\n%s0 = arith.shrui %w, %top : ~\n"
               "%s = arith.andi %s0, %sign : ~\n%o0 = arith.shrui %a, %shift : ~\n"
               "%o = arith.andi %o0, %one : ~\n%p0 = arith.addi %a, %half : ~\n"
               "%p = arith.addi %p0, %o : ~\n%q0 = arith.shrui %p, %shift : ~\n"
               "%q = arith.subi %q0, %bias : ~\n",
               i32, i32, i32, i32, i32, i32, i32, i32, i32);
  shardTextAdd(&text,
               "%af = arith.bitcast %a : ~ to ~\n%sc = arith.bitcast %scale : ~ to ~\n"
               "%mg = arith.bitcast %magic : ~ to ~\n%t = arith.mulf %af, %sc : ~\n"
               "%t1 = arith.addf %t, %mg : ~\n%t2 = arith.bitcast %t1 : ~ to ~\n"
               "%u = arith.subi %t2, %magic : ~\n",
               i32, f32, i32, f32, i32, f32, f32, f32, f32, i32, i32);
  shardTextAdd(&text,
               "%isSub = arith.cmpi ult, %a, %normal : ~\n%c = arith.select %isSub, %u, %q : ~, ~\n"
               "%isOver = arith.cmpi sgt, %c, %largest : ~\n"
               "%d = arith.select %isOver, %overflow, %c : ~, ~\n"
               "%isNan = arith.cmpi ugt, %a, %infinity : ~\n"
               "%e = arith.select %isNan, %nan, %d : ~, ~\n%g = arith.ori %e, %s : ~\n"
               "%r = arith.trunci %g : ~ to ~\nreturn %r : ~\n}\n",
               i32, i1, i32, i32, i1, i32, i32, i1, i32, i32, i32, to, to);
  return shardReplaceByText(op, &text);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Bits of a number that the format has.
static int encode(const Format *f, double value) {
  int sign = signbit(value) ? 0x80 : 0, exponent;
  if (isnan(value))
    return f->notANumber | sign;
  double a = fabs(value), fraction = frexp(a, &exponent);
  if (a == 0)
    return sign;
  if (isinf(value))
    return f->overflow | sign;
  int e = exponent - 1 + f->bias;
  if (e < 1)
    return sign | (int)nearbyint(ldexp(a, f->mantissa - 1 + f->bias));
  int bits = (e << f->mantissa) + (int)nearbyint(ldexp(2 * fraction - 1, f->mantissa));
  return sign | (bits > f->largest ? f->overflow : bits);
}

static MlirAttribute storedConstant(MlirAttribute value, const Format *f, MlirType type) {
  MlirType byte = mlirIntegerTypeGet(mlirAttributeGetContext(value), 8);
  if (mlirAttributeIsAFloat(value))
    return mlirIntegerAttrGet(byte, (int8_t)encode(f, mlirFloatAttrGetValueDouble(value)));
  if (!mlirAttributeIsADenseElements(value))
    return mlirAttributeGetNull();
  if (mlirDenseElementsAttrIsSplat(value)) {
    MlirAttribute one = mlirDenseElementsAttrGetSplatValue(value);
    return mlirDenseElementsAttrSplatGet(
        storageOf(type),
        mlirIntegerAttrGet(byte, (int8_t)encode(f, mlirFloatAttrGetValueDouble(one))));
  }
  return mlirDenseElementsAttrRawBufferGet(storageOf(type), (size_t)shardTypeElementCount(type),
                                           mlirDenseElementsAttrGetRawData(value));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

typedef struct Conversion {
  MlirOperation op;
  const Format *format;
  MlirType from, to; // of operand and result, with bytes for the eight bits
  bool widens;
} Conversion;

typedef struct Storage {
  ShardArena *arena;
  Conversion *conversions;
  size_t n, capacity;
  MlirOperation *named; // linalg ops whose bodies convert
  size_t nNamed, namedCapacity;
} Storage;

static bool isComputation(MlirOperation op) {
  MlirStringRef name = shardOpGetName(op);
  bool arith = shardNameHasDialect(name, "arith");
  bool math = shardNameHasDialect(name, "math");
  return (arith || math) && !shardStringIs(name, "arith.constant") &&
         !shardStringIs(name, "arith.select") && !shardStringIs(name, "arith.bitcast");
}

static const Format *operandFormat(MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i) {
    const Format *f = formatOf(mlirValueGetType(mlirOperationGetOperand(op, i)));
    if (f)
      return f;
  }
  return NULL;
}

static const Format *resultFormat(MlirOperation op) {
  return mlirOperationGetNumResults(op) ? formatOf(mlirValueGetType(mlirOperationGetResult(op, 0)))
                                        : NULL;
}

static MlirLogicalResult collectConversion(void *user, MlirOperation op) {
  Storage *s = user;
  const Format *in = operandFormat(op), *out = resultFormat(op);
  if (!isComputation(op) || (!in && !out))
    return mlirLogicalResultSuccess();
  bool widens = shardOpIs(op, "arith.extf") && in && !out;
  if (!widens && !(shardOpIs(op, "arith.truncf") && out && !in)) {
    MlirStringRef name = shardOpGetName(op);
    return shardEmitError(op,
                          "'%.*s' computes in floats of eight bits, which are for storage; "
                          "expected arith.extf before it and arith.truncf after it",
                          (int)name.length, name.data);
  }
  MlirType from = mlirValueGetType(mlirOperationGetOperand(op, 0));
  MlirType to = mlirValueGetType(mlirOperationGetResult(op, 0));
  s->conversions =
      shardArenaGrow(s->arena, s->conversions, s->n, &s->capacity, s->n + 1, sizeof(Conversion));
  s->conversions[s->n++] = (Conversion){op, widens ? in : out, widens ? storageOf(from) : from,
                                        widens ? to : storageOf(to), widens};
  MlirOperation parent = mlirOperationGetParentOperation(op);
  MlirStringRef name = shardOpGetName(parent);
  bool known = s->nNamed && mlirOperationEqual(s->named[s->nNamed - 1], parent);
  if (known || !shardNameHasDialect(name, "linalg") || shardStringIs(name, "linalg.generic"))
    return mlirLogicalResultSuccess();
  s->named =
      shardArenaGrow(s->arena, s->named, s->nNamed, &s->namedCapacity, s->nNamed + 1, sizeof(op));
  s->named[s->nNamed++] = parent;
  return mlirLogicalResultSuccess();
}

static void retype(MlirValue value, bool isArgument) {
  MlirType type = mlirValueGetType(value);
  if (!formatOf(type))
    return;
  if (isArgument)
    mlirBlockArgumentSetType(value, storageOf(type));
  else
    mlirValueSetType(value, storageOf(type));
}

static MlirLogicalResult retypeOp(void *user, MlirOperation op) {
  (void)user;
  const Format *f = resultFormat(op);
  if (f && shardOpIs(op, "arith.constant")) {
    MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
    MlirAttribute stored = storedConstant(shardOpGetAttribute(op, "value"), f, type);
    if (mlirAttributeIsNull(stored))
      return shardEmitError(op, "a resource of floats of eight bits is not supported; expected "
                                "'dense' or an argument");
    shardOpSetAttribute(op, "value", stored);
  }
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op); ++r)
    retype(mlirOperationGetResult(op, r), false);
  for (intptr_t g = 0; g < mlirOperationGetNumRegions(op); ++g)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, g));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
        retype(mlirBlockGetArgument(block, i), true);
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult seesFormat(void *user, MlirOperation op) {
  *(bool *)user |= operandFormat(op) || resultFormat(op);
  return mlirLogicalResultSuccess();
}

/// Files of values say which floats they hold, and what is written is to say so too.
static void markBoundary(const ShardImport *import) {
  MlirType type = mlirTypeAttrGetValue(shardOpGetAttribute(import->entry, "function_type"));
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumInputs(type); ++i) {
    const Format *f = formatOf(mlirFunctionTypeGetInput(type, i));
    if (f)
      shardFuncSetArgumentAttribute(import->entry, i, "spmd.storage",
                                    shardAttrString(import->context, f->name));
  }
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumResults(type); ++i) {
    const Format *f = formatOf(mlirFunctionTypeGetResult(type, i));
    if (f)
      shardFuncSetResultAttribute(import->entry, i, "spmd.storage",
                                  shardAttrString(import->context, f->name));
  }
}

MlirLogicalResult shardImportFloatStorage(const ShardImport *import) {
  bool any = false;
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    shardWalk(import->functions[i], NULL, seesFormat, &any);
  if (!any)
    return mlirLogicalResultSuccess();
  Storage s = {.arena = import->arena};
  for (intptr_t i = 0; i < import->nFunctions; ++i)
    if (mlirLogicalResultIsFailure(shardWalk(import->functions[i], NULL, collectConversion, &s)))
      return mlirLogicalResultFailure();
  markBoundary(import);
  for (size_t i = 0; i < s.nNamed; ++i)
    shardGeneralise(s.named[i], import->arena);
  for (intptr_t i = 0; i < import->nFunctions; ++i) {
    if (mlirLogicalResultIsFailure(shardWalk(import->functions[i], NULL, retypeOp, NULL)))
      return mlirLogicalResultFailure();
    shardFuncUpdateType(import->functions[i]);
  }
  for (size_t i = 0; i < s.n; ++i) {
    const Conversion *c = &s.conversions[i];
    MlirLogicalResult result =
        (c->widens ? widen : narrow)(c->op, c->format, c->from, c->to, import->arena);
    if (mlirLogicalResultIsFailure(result))
      return result;
  }
  return mlirLogicalResultSuccess();
}
