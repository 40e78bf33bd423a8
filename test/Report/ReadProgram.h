//===- ReadProgram.h - An emitted program in tests ----------------*- C -*-===//
// Shapes, meshes and contractions of a text, by code that shares nothing with the compiler's
// counts.
//===----------------------------------------------------------------------===//
#ifndef SHARD_TEST_REPORT_READ_PROGRAM_H
#define SHARD_TEST_REPORT_READ_PROGRAM_H

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Linalg.h"
#include "mlir-c/IR.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STAGES = 64, MAX_AXES = 8, MAX_CHANNELS = 256, MAX_SETS = 1 << MAX_AXES };

typedef struct ProgramMesh {
  int nAxes, ppAxis; // -1: one stage
  int64_t sizes[MAX_AXES];
  char names[MAX_AXES][16];
  int nStages;
} ProgramMesh;

static _Noreturn inline void stop(const char *why) {
  fprintf(stderr, "a program or report: %s\n", why);
  exit(2);
}

static inline MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }

static inline bool isOp(MlirOperation op, const char *name) {
  return mlirStringRefEqual(mlirIdentifierStr(mlirOperationGetName(op)), ref(name));
}

static inline MlirAttribute attributeOf(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, ref(name));
}

static inline double elementsOf(MlirType type) {
  double n = 1;
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); ++i)
    n *= (double)mlirShapedTypeGetDimSize(type, i);
  return n;
}

static inline double bytesOf(MlirType type) {
  if (!mlirTypeIsARankedTensor(type))
    return 0;
  MlirType element = mlirShapedTypeGetElementType(type);
  int bits = mlirTypeIsAInteger(element) ? (int)mlirIntegerTypeGetWidth(element)
             : mlirTypeIsAF64(element)   ? 64
             : mlirTypeIsAF32(element)   ? 32
                                         : 16;
  return elementsOf(type) * (bits < 8 ? 1 : bits / 8);
}

static inline MlirBlock blockOf(MlirOperation op) {
  return mlirOperationGetNumRegions(op) ? mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0))
                                        : (MlirBlock){NULL};
}

/// Of the module's `shard.grid`.
static inline ProgramMesh readMesh(MlirOperation module) {
  ProgramMesh mesh = {.ppAxis = -1};
  MlirOperation grid = mlirBlockGetFirstOperation(blockOf(module));
  while (!mlirOperationIsNull(grid) && !isOp(grid, "shard.grid"))
    grid = mlirOperationGetNextInBlock(grid);
  if (mlirOperationIsNull(grid))
    stop("no mesh");
  MlirAttribute shape = attributeOf(grid, "shape"), axes = attributeOf(grid, "spmd.axes");
  mesh.nAxes = (int)mlirDenseArrayGetNumElements(shape);
  if (mesh.nAxes > MAX_AXES)
    stop("more axes than there are");
  for (int a = 0; a < mesh.nAxes; ++a) {
    MlirStringRef name = mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, a));
    mesh.sizes[a] = mlirDenseI64ArrayGetElement(shape, a);
    snprintf(mesh.names[a], sizeof(mesh.names[a]), "%.*s", (int)name.length, name.data);
    mesh.ppAxis = strcmp(mesh.names[a], "pp") == 0 ? a : mesh.ppAxis;
  }
  mesh.nStages = mesh.ppAxis < 0 ? 1 : (int)mesh.sizes[mesh.ppAxis];
  return mesh;
}

static inline MlirOperation findFunction(MlirOperation module, MlirStringRef name) {
  MlirBlock block = blockOf(module);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (isOp(op, "func.func") &&
        mlirStringRefEqual(mlirStringAttrGetValue(attributeOf(op, "sym_name")), name))
      return op;
  stop("a function is called that there is not");
}

/// The function of a stage.
static inline MlirOperation stageFunction(MlirOperation module, const ProgramMesh *mesh,
                                          int stage) {
  char name[32] = "main";
  if (mesh->nStages > 1)
    snprintf(name, sizeof(name), "main_stage%d", stage);
  return findFunction(module, ref(name));
}

static inline bool isMade(MlirValue value, const char *by, MlirOperation *out) {
  if (!mlirValueIsAOpResult(value))
    return false;
  *out = mlirOpResultGetOwner(value);
  return isOp(*out, by);
}

/// Whether the body of an op adds a product to what was there.
static inline bool addsProduct(MlirOperation op) {
  MlirBlock block = blockOf(op);
  MlirOperation end =
      mlirBlockIsNull(block) ? (MlirOperation){NULL} : mlirBlockGetTerminator(block);
  MlirOperation add, multiply;
  if (mlirOperationIsNull(end) || mlirOperationGetNumOperands(end) != 1 ||
      !isMade(mlirOperationGetOperand(end, 0), "arith.addf", &add))
    return false;
  return isMade(mlirOperationGetOperand(add, 0), "arith.mulf", &multiply) ||
         isMade(mlirOperationGetOperand(add, 1), "arith.mulf", &multiply);
}

/// Two for each point of the loops, which the operands' extents say.
static inline double flopsOf(MlirOperation op) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  if (name.length < 7 || memcmp(name.data, "linalg.", 7) != 0 || !addsProduct(op))
    return 0;
  double extents[16], all = 2;
  int nLoops = 0;
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(op);
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(maps); ++i) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
    MlirType type = mlirValueGetType(mlirOperationGetOperand(op, i));
    nLoops = (int)mlirAffineMapGetNumDims(map);
    for (intptr_t k = 0; nLoops <= 16 && k < mlirAffineMapGetNumResults(map); ++k) {
      MlirAffineExpr place = mlirAffineMapGetResult(map, k);
      if (mlirAffineExprIsADim(place))
        extents[mlirAffineDimExprGetPosition(place)] = (double)mlirShapedTypeGetDimSize(type, k);
    }
  }
  for (int k = 0; k < nLoops; ++k)
    all *= extents[k];
  return all;
}

static inline double picoseconds(double seconds) { return round(seconds * 1e12); }

/// Bytes of a collective that one of n ranks sends around a ring, and that a ring's time is of.
/// `dialect`: "shard.", or "spmd." with `end` "_start".
static inline double ringBytes(MlirOperation op, double n, const char *dialect, const char *end) {
  static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  double operand = bytesOf(mlirValueGetType(mlirOperationGetOperand(op, 0)));
  const double parts[] = {2 * (n - 1) / n, n - 1, (n - 1) / n, (n - 1) / n};
  for (int i = 0; i < 4; ++i) {
    char name[64];
    snprintf(name, sizeof(name), "%s%s%s", dialect, kinds[i], end);
    if (isOp(op, name))
      return parts[i] * operand;
  }
  stop("a collective that is not counted here");
}

static inline int64_t integerOf(MlirOperation op, const char *name) {
  MlirAttribute attribute = attributeOf(op, name);
  if (mlirAttributeIsNull(attribute))
    stop("an attribute is missing");
  return mlirIntegerAttrGetValueInt(attribute);
}

#endif // SHARD_TEST_REPORT_READ_PROGRAM_H
