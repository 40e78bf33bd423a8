//===- CheckWeights.c - Each weight lies where it should -----------*- C -*-===//
#include "Count.h"

#include "ReadIr.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Ranks that hold distinct parts, from `spmd.sharding`: the product of the axes it names. And the
/// elements that one stores: each dimension of the view, or of the type, in ceil(size / ranks).
static int64_t partsOfSharding(const Count *count, MlirModule module, MlirAttribute sharding,
                               MlirAttribute view, MlirType type, double *outStored) {
  *outStored = (double)elementCount(type);
  if (mlirAttributeIsNull(sharding))
    return 1;
  MlirAttribute names = {NULL};
  MlirBlock body = mlirModuleGetBody(module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    if (is(op, "shard.grid"))
      names = attributeOf(op, "spmd.axes");
  if (mlirAttributeIsNull(names))
    die("the grid has no spmd.axes");
  int64_t parts = 1;
  for (intptr_t d = 0; d < mlirArrayAttrGetNumElements(sharding); ++d) {
    MlirAttribute axes = mlirArrayAttrGetElement(sharding, d);
    int64_t before = parts;
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(axes); ++i) {
      MlirStringRef axis = mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i));
      bool found = false;
      for (intptr_t a = 0; a < mlirArrayAttrGetNumElements(names); ++a) {
        MlirStringRef name = mlirStringAttrGetValue(mlirArrayAttrGetElement(names, a));
        // "tp" means tp.0, tp.1 together.
        bool whole = name.length > axis.length && memcmp(name.data, axis.data, axis.length) == 0 &&
                     name.data[axis.length] == '.';
        if (mlirStringRefEqual(name, axis) || whole) {
          parts *= count->gridShape[a];
          found = true;
        }
      }
      if (!found)
        fault("spmd.sharding names axis '%.*s', which the grid does not have", (int)axis.length,
              axis.data);
    }
    int64_t size = mlirAttributeIsNull(view) ? mlirShapedTypeGetDimSize(type, d)
                                             : mlirDenseI64ArrayGetElement(view, d);
    int64_t here = parts / before;
    *outStored = *outStored / (double)size * (double)(size / here + (size % here != 0));
  }
  return parts;
}

/// A weight of args.json, and what was found of it.
typedef struct Weight {
  const ShardArgsEntry *entry;
  int64_t number;
  double elements;
  double held;            // of it, over all stages
  int nArguments, nUsers; // of stages
} Weight;

/// Argument `index` of a stage is the weight, or of a fused weight a part, which is an argument of
/// its own; together they are the weight. Returns the elements of its whole.
static double checkArgument(const Count *count, MlirOperation func, intptr_t index,
                            Weight *weight) {
  const char *called = weight->entry->name;
  char *role = textOf(argumentAttribute(func, index, "spmd.role")),
       *name = textOf(argumentAttribute(func, index, "spmd.name"));
  if (!role || strcmp(role, "weight") != 0)
    fault("'%s' has role '%s'", called, role ? role : "");
  if (!name || strcmp(name, called) != 0)
    fault("'%s' is called '%s'", called, name ? name : "");
  free(role);
  free(name);
  MlirAttribute global = argumentAttribute(func, index, "spmd.global");
  bool part = !mlirAttributeIsNull(argumentAttribute(func, index, "spmd.window"));
  double mine =
      mlirAttributeIsNull(global) ? 0 : (double)elementCount(mlirTypeAttrGetValue(global));
  if (part ? mine >= weight->elements : mine != weight->elements)
    fault("'%s' has the wrong spmd.global", called);
  MlirValue value = mlirBlockGetArgument(bodyOf(func), index);
  double local = (double)elementCount(mlirValueGetType(value)), stored = 0;
  int64_t parts =
      mlirAttributeIsNull(global)
          ? 1
          : partsOfSharding(count, count->module, argumentAttribute(func, index, "spmd.sharding"),
                            argumentAttribute(func, index, "spmd.view"),
                            mlirTypeAttrGetValue(global), &stored);
  if (local != stored)
    fault("'%s' is in %" PRId64 " parts, but a rank holds %.0f of %.0f elements", called, parts,
          local, mine);
  if (count->model) {
    int64_t least, most;
    modelWeightParts(count->model, count->degrees, called, &least, &most);
    if (parts < least || parts > most || most % parts != 0)
      fault("'%s' is in %" PRId64 " parts over tp, expected %" PRId64, called, parts, least);
  }
  ++weight->nArguments;
  weight->nUsers += !mlirOpOperandIsNull(mlirValueGetFirstUse(value));
  weight->held += mine / weight->elements;
  return mine;
}

/// Returns the weight's elements over devices, divided by copies.
static double checkWeight(const Count *count, Weight *weight) {
  const char *called = weight->entry->name;
  int nHolders = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(count->module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!isPublicFunction(op))
      continue;
    double covered = 0;
    for (intptr_t i = 0; i < mlirBlockGetNumArguments(bodyOf(op)); ++i) {
      MlirAttribute number = argumentAttribute(op, i, "spmd.arg");
      if (!mlirAttributeIsNull(number) && mlirIntegerAttrGetValueInt(number) == weight->number)
        covered += checkArgument(count, op, i, weight);
    }
    if (covered != 0 && covered != weight->elements)
      fault("'%s' is in a stage with %.0f of its %.0f elements", called, covered, weight->elements);
    nHolders += covered != 0;
  }
  // A weight that nothing reads may be left out; one that is there is used.
  if (weight->nArguments != weight->nUsers)
    fault("'%s' is %d arguments of stages, of which %d are used", called, weight->nArguments,
          weight->nUsers);
  if (nHolders > 0)
    return weight->elements * weight->held / nHolders;
  fault("'%s' lies on no device", called);
  return 0;
}

void checkWeights(const Count *count, const ShardArgsJson *args) {
  double total = 0, expected = 0;
  size_t nWeights = 0;
  for (size_t w = 0; w < args->nArguments; ++w) {
    Weight weight = {.entry = &args->arguments[w], .number = (int64_t)w, .elements = 1};
    if (strcmp(weight.entry->role, "weight") != 0)
      continue;
    for (int32_t i = 0; i < weight.entry->rank; ++i)
      weight.elements *= (double)weight.entry->shape[i];
    ++nWeights;
    expected += weight.elements;
    total += checkWeight(count, &weight);
  }
  printf("weights: %zu, elements %.0f, held / copies %.0f\n", nWeights, expected, total);
  if (nWeights > 0 && fabs(total - expected) > 1e-9 * expected)
    fault("elements over devices, divided by copies, are %.0f, the model has %.0f", total,
          expected);
}
