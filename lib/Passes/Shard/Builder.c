//===- Builder.c - Small ops of L3 --------------------------------*- C -*-===//

#include "Spmd.h"

#include "../Core/Insert.h"

#include "mlir-c/AffineMap.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

MlirValue shardBuildIndex(ShardBuild *build, ShardPlace place, int64_t value) {
  MlirType type = mlirIndexTypeGet(build->spmd->context);
  ShardNamedAttribute attribute = {"value", mlirIntegerAttrGet(type, value)};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.constant", 1, &type, 0, NULL, 1, &attribute, 0,
                                              NULL),
                                0);
}

MlirValue shardBuildBinary(ShardPlace place, const char *name, MlirValue a, MlirValue b) {
  MlirType type = mlirValueGetType(a);
  MlirValue operands[] = {a, b};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location, name, 1,
                                              &type, 2, operands, 0, NULL, 0, NULL),
                                0);
}

static MlirValue axisCoordinate(ShardBuild *build, uint8_t axis) {
  if (!mlirValueIsNull(build->coordinates[axis]))
    return build->coordinates[axis];
  MlirContext context = build->spmd->context;
  MlirType type = mlirIndexTypeGet(context);
  int16_t axes[] = {axis};
  const ShardNamedAttribute attributes[] = {
      {"grid", mlirFlatSymbolRefAttrGet(context, mlirStringRefCreateFromCString("mesh"))},
      {"axes", mlirDenseI16ArrayGet(context, 1, axes)},
  };
  MlirOperation op = shardOpCreate(build->block, mlirBlockGetFirstOperation(build->block),
                                   mlirLocationUnknownGet(context), "shard.process_multi_index", 1,
                                   &type, 0, NULL, 2, attributes, 0, NULL);
  return build->coordinates[axis] = mlirOperationGetResult(op, 0);
}

MlirValue shardBuildCoordinate(ShardBuild *build, ShardPlace place, ShardAxisList axes) {
  MlirValue linear = axisCoordinate(build, axes.axis[0]);
  for (int i = 1; i < axes.count; ++i) {
    MlirValue size = shardBuildIndex(build, place, build->spmd->mesh.sizes[axes.axis[i]]);
    linear = shardBuildBinary(place, "arith.muli", linear, size);
    linear = shardBuildBinary(place, "arith.addi", linear, axisCoordinate(build, axes.axis[i]));
  }
  return linear;
}

MlirValue shardBuildEmpty(ShardPlace place, MlirType type) {
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "tensor.empty", 1, &type, 0, NULL, 0, NULL, 0, NULL),
                                0);
}

MlirValue shardBuildExpand(ShardPlace place, MlirValue value, MlirAttribute reassociation,
                           MlirType type) {
  MlirContext context = mlirLocationGetContext(place.location);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t *shape = NULL;
  ShardArena *arena = shardArenaCreate();
  shape = SHARD_ARENA_ARRAY(arena, int64_t, rank);
  for (intptr_t d = 0; d < rank; ++d)
    shape[d] = mlirShapedTypeGetDimSize(type, d);
  const ShardNamedAttribute attributes[] = {
      {"reassociation", reassociation},
      {"static_output_shape", shardAttrI64Array(context, rank, shape)},
  };
  shardArenaDestroy(arena);
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "tensor.expand_shape", 1, &type, 1, &value, 2,
                                              attributes, 0, NULL),
                                0);
}

MlirValue shardBuildCollapse(ShardPlace place, MlirValue value, MlirAttribute reassociation,
                             MlirType type) {
  ShardNamedAttribute attribute = {"reassociation", reassociation};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "tensor.collapse_shape", 1, &type, 1, &value, 1,
                                              &attribute, 0, NULL),
                                0);
}

MlirValue shardBuildSelect(ShardPlace place, MlirValue condition, MlirValue a, MlirValue b) {
  MlirType type = mlirValueGetType(a);
  MlirValue operands[] = {condition, a, b};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.select", 1, &type, 3, operands, 0, NULL, 0,
                                              NULL),
                                0);
}

MlirValue shardBuildCompareUlt(ShardPlace place, MlirValue a, MlirValue b) {
  MlirContext context = mlirLocationGetContext(place.location);
  MlirType i1 = mlirIntegerTypeGet(context, 1);
  ShardNamedAttribute less = {"predicate", mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), 6)};
  MlirValue operands[] = {a, b};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.cmpi", 1, &i1, 2, operands, 1, &less, 0, NULL),
                                0);
}

MlirValue shardBuildValidCount(ShardBuild *build, ShardPlace place, MlirValue origin,
                               int64_t global, int64_t local) {
  MlirValue size = shardBuildIndex(build, place, global);
  MlirValue begin = shardBuildBinary(place, "arith.minui", origin, size);
  MlirValue left = shardBuildBinary(place, "arith.subi", size, begin);
  return shardBuildBinary(place, "arith.minui", left, shardBuildIndex(build, place, local));
}

MlirValue shardBuildNumber(ShardPlace place, MlirType type, double number) {
  MlirAttribute value =
      mlirTypeIsAFloat(type)
          ? mlirFloatAttrDoubleGet(mlirLocationGetContext(place.location), type, number)
          : mlirIntegerAttrGet(type, (int64_t)number);
  ShardNamedAttribute attribute = {"value", value};
  return mlirOperationGetResult(shardOpCreate(place.block, place.before, place.location,
                                              "arith.constant", 1, &type, 0, NULL, 1, &attribute, 0,
                                              NULL),
                                0);
}

MlirOperation shardBuildElementwise(ShardBuild *build, ShardPlace place, MlirValue source) {
  MlirContext context = build->spmd->context;
  MlirType type = mlirValueGetType(source);
  intptr_t rank = mlirShapedTypeGetRank(type);
  MlirAttribute map = mlirAffineMapAttrGet(mlirAffineMapMultiDimIdentityGet(context, rank));
  MlirAttribute maps[] = {map, map};
  MlirAttribute parallel = mlirAttributeParseGet(
      context, mlirStringRefCreateFromCString("#linalg.iterator_type<parallel>"));
  MlirAttribute *iterators = SHARD_ARENA_ARRAY(build->spmd->arena, MlirAttribute, rank);
  for (intptr_t d = 0; d < rank; ++d)
    iterators[d] = parallel;
  int32_t segments[] = {1, 1};
  const ShardNamedAttribute attributes[] = {
      {"indexing_maps", mlirArrayAttrGet(context, 2, maps)},
      {"iterator_types", mlirArrayAttrGet(context, rank, iterators)},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(context, 2, segments)},
  };
  MlirType element = mlirShapedTypeGetElementType(type), elements[] = {element, element};
  MlirLocation locations[] = {place.location, place.location};
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, mlirBlockCreate(2, elements, locations));
  MlirValue inputs[] = {source, shardBuildEmpty(place, type)};
  return shardOpCreate(place.block, place.before, place.location, "linalg.generic", 1, &type, 2,
                       inputs, 3, attributes, 1, &region);
}

void shardBuildYield(MlirOperation elementwise, MlirValue value) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(elementwise, 0));
  MlirOperation none = {NULL};
  shardOpCreate(body, none, mlirOperationGetLocation(elementwise), "linalg.yield", 0, NULL, 1,
                &value, 0, NULL, 0, NULL);
}

MlirValue shardBuildFill(ShardPlace place, MlirValue scalar, MlirValue dest) {
  return shardCreateFilled(place.block, place.before, place.location, "linalg.fill", scalar, dest);
}
