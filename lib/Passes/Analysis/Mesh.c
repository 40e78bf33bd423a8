//===- Mesh.c - The device mesh -----------------------------------*- C -*-===//

#include "Mesh.h"

#include "../Core/Diagnostics.h"
#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

// A degree above this is a mistake, and its products would leave int64.
#define MAX_DEGREE 1048576

bool shardDegreesParse(const char *text, size_t length, ShardArena *arena, ShardDegrees *out,
                       const char **outMessage) {
  static const char *const names[] = {"pp", "dp", "ep", "sp", "tp", "mb"};
  int64_t *const fields[] = {&out->pp, &out->dp, &out->ep, &out->sp, &out->tp, &out->mb};
  bool seen[6] = {false};
  for (int i = 0; i < 6; ++i)
    *fields[i] = 1;
  *outMessage = NULL;
  size_t at = 0;
  for (;;) {
    size_t end = at;
    while (end < length && text[end] != ',')
      ++end;
    const char *item = shardArenaCopyString(arena, text + at, end - at);
    size_t letters = 0;
    while (item[letters] >= 'a' && item[letters] <= 'z')
      ++letters;
    int which = -1;
    for (int i = 0; i < 6; ++i)
      if (letters == 2 && strncmp(names[i], item, 2) == 0)
        which = i;
    if (item[0] == '\0') {
      *outMessage = length == 0
                        ? "the list of degrees is empty; expected for example 'tp2,pp2'"
                        : shardArenaFormat(arena, "empty degree in '%.*s'", (int)length, text);
      return false;
    }
    if (which < 0) {
      *outMessage = shardArenaFormat(
          arena, "unknown axis in degree '%s'; the axes are pp, dp, ep, sp, tp, and mb", item);
      return false;
    }
    const char *digits = item + letters;
    int64_t value = 0;
    size_t nDigits = strspn(digits, "0123456789");
    bool huge = false;
    for (size_t i = 0; i < nDigits && !huge; ++i) {
      value = value * 10 + (digits[i] - '0');
      huge = value > MAX_DEGREE;
    }
    if (nDigits == 0 || digits[nDigits] != '\0') {
      *outMessage = shardArenaFormat(
          arena, "degree '%s' is not an axis and a positive whole number, as in '%s2'", item,
          names[which]);
      return false;
    }
    if (huge || value == 0) {
      *outMessage = shardArenaFormat(arena, "degree '%s' is out of range; expected 1 to %d", item,
                                     MAX_DEGREE);
      return false;
    }
    if (seen[which]) {
      *outMessage = shardArenaFormat(arena, "axis '%s' is given twice", names[which]);
      return false;
    }
    seen[which] = true;
    *fields[which] = value;
    if (end == length)
      break;
    at = end + 1;
  }
  int64_t devices = out->pp;
  const int64_t others[] = {out->dp, out->ep, out->sp, out->tp};
  for (int i = 0; i < 4; ++i) {
    devices *= others[i];
    if (devices > MAX_DEGREE) {
      *outMessage = shardArenaFormat(arena, "degrees '%.*s' ask for more than %d devices",
                                     (int)length, text, MAX_DEGREE);
      return false;
    }
  }
  return true;
}

int32_t shardMeshFindAxis(const ShardMesh *mesh, const char *name) {
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    if (strcmp(mesh->names[i], name) == 0)
      return i;
  return -1;
}

int64_t shardMeshDeviceCount(const ShardMesh *mesh) {
  int64_t count = 1;
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    count *= mesh->sizes[i];
  return count;
}

void shardMeshCoordinates(const ShardMesh *mesh, int64_t rank, int64_t *coordinates) {
  for (int32_t i = mesh->nAxes - 1; i >= 0; --i) {
    coordinates[i] = rank % mesh->sizes[i];
    rank /= mesh->sizes[i];
  }
}

static MlirOperation findGrid(MlirOperation module) {
  MlirOperation found = shardModuleLookup(module, mlirStringRefCreateFromCString("mesh"));
  if (mlirOperationIsNull(found))
    return found;
  MlirAttribute shape = shardOpGetAttribute(found, "shape");
  if (!shardOpIs(found, "shard.grid") || mlirAttributeIsNull(shape) ||
      !mlirAttributeIsADenseI64Array(shape))
    found.ptr = NULL;
  return found;
}

static bool repeatsAxis(const ShardMesh *mesh, int32_t axis) {
  return shardMeshFindAxis(mesh, mesh->names[axis]) < axis;
}

/// What keeps a grid from being read.
typedef enum GridFault {
  GRID_IS_READ,
  GRID_UNNAMED,
  GRID_OPEN,
  GRID_LARGE,
  GRID_REPEATS
} GridFault;

/// `*outAxis` is the axis that the fault is of.
static GridFault readGrid(MlirOperation grid, ShardArena *arena, ShardMesh *out, int32_t *outAxis) {
  MlirAttribute shape = shardOpGetAttribute(grid, "shape");
  MlirAttribute axes = shardOpGetAttribute(grid, "spmd.axes");
  intptr_t n = mlirDenseArrayGetNumElements(shape);
  int64_t devices = 1;
  *outAxis = 0;
  if (mlirAttributeIsNull(axes) || !mlirAttributeIsAArray(axes) ||
      mlirArrayAttrGetNumElements(axes) != n)
    return GRID_UNNAMED;
  if (n > SHARD_MAX_AXES)
    return GRID_LARGE;
  *out = (ShardMesh){.nAxes = (int32_t)n};
  for (int32_t i = 0; i < n; ++i) {
    MlirAttribute name = mlirArrayAttrGetElement(axes, i);
    *outAxis = i;
    out->sizes[i] = mlirDenseI64ArrayGetElement(shape, i);
    if (!mlirAttributeIsAString(name))
      return GRID_UNNAMED;
    if (out->sizes[i] < 1)
      return GRID_OPEN;
    if (out->sizes[i] > MAX_DEGREE / devices)
      return GRID_LARGE;
    devices *= out->sizes[i];
    MlirStringRef text = mlirStringAttrGetValue(name);
    out->names[i] = shardArenaCopyString(arena, text.data, text.length);
    if (repeatsAxis(out, i))
      return GRID_REPEATS;
  }
  return n ? GRID_IS_READ : GRID_OPEN;
}

bool shardMeshRead(MlirOperation module, ShardArena *arena, ShardMesh *out) {
  MlirOperation grid = findGrid(module);
  ShardMesh mesh;
  int32_t axis;
  if (mlirOperationIsNull(grid) || readGrid(grid, arena, &mesh, &axis) != GRID_IS_READ)
    return false;
  *out = mesh;
  return true;
}

void shardEmitGridUnnamed(MlirOperation grid, MlirStringRef symbol, intptr_t nAxes) {
  shardEmitError(grid,
                 "grid '@%.*s' does not name its axes; expected spmd.axes = [...] with %td names "
                 "out of pp, dp, ep, sp, tp",
                 (int)symbol.length, symbol.data, nAxes);
}

static ShardGridState refuseGrid(MlirOperation grid, GridFault fault, const ShardMesh *mesh,
                                 int32_t axis) {
  if (fault == GRID_UNNAMED)
    shardEmitGridUnnamed(grid, mlirStringRefCreateFromCString("mesh"),
                         mlirDenseArrayGetNumElements(shardOpGetAttribute(grid, "shape")));
  else if (fault == GRID_LARGE)
    shardEmitError(grid, "grid '@mesh' has more than %d devices or more than %d axes", MAX_DEGREE,
                   SHARD_MAX_AXES);
  else if (fault == GRID_OPEN)
    shardEmitError(grid, "axis %d of grid '@mesh' has no size; expected a number of devices", axis);
  else
    shardEmitError(grid, "grid '@mesh' has two axes named '%s'", mesh->names[axis]);
  return SHARD_GRID_REFUSED;
}

ShardGridState shardMeshReadChecked(MlirOperation module, ShardArena *arena, ShardMesh *out) {
  MlirOperation grid = findGrid(module);
  if (mlirOperationIsNull(grid) || mlirAttributeIsNull(shardOpGetAttribute(grid, "spmd.axes")))
    return SHARD_GRID_NONE;
  ShardMesh mesh;
  int32_t axis;
  GridFault fault = readGrid(grid, arena, &mesh, &axis);
  if (fault != GRID_IS_READ)
    return refuseGrid(grid, fault, &mesh, axis);
  *out = mesh;
  return SHARD_GRID_READ;
}

bool shardMeshReadProgram(MlirOperation module, ShardArena *arena, ShardMesh *out) {
  ShardGridState state = shardMeshReadChecked(module, arena, out);
  MlirOperation grid = findGrid(module);
  if (state == SHARD_GRID_NONE && !mlirOperationIsNull(grid))
    refuseGrid(grid, GRID_UNNAMED, NULL, 0);
  else if (state == SHARD_GRID_NONE)
    shardEmitError(
        module,
        "the module has no 'shard.grid': it is no sharded program; --auto-shard=LIST makes one");
  return state == SHARD_GRID_READ;
}

void shardMeshWrite(MlirOperation module, const ShardMesh *mesh) {
  MlirContext context = mlirOperationGetContext(module);
  MlirOperation old = findGrid(module);
  if (!mlirOperationIsNull(old))
    mlirOperationDestroy(old);
  MlirAttribute names[SHARD_MAX_AXES];
  for (int32_t i = 0; i < mesh->nAxes; ++i)
    names[i] = shardAttrString(context, mesh->names[i]);
  const ShardNamedAttribute attributes[] = {
      {"sym_name", shardAttrString(context, "mesh")},
      {"shape", shardAttrI64Array(context, mesh->nAxes, mesh->sizes)},
      {"spmd.axes", mlirArrayAttrGet(context, mesh->nAxes, names)},
  };
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  shardOpCreate(body, mlirBlockGetFirstOperation(body), mlirOperationGetLocation(module),
                "shard.grid", 0, NULL, 0, NULL, 3, attributes, 0, NULL);
}

bool shardStagesFind(MlirOperation module, int32_t nStages, MlirOperation *functions) {
  memset(functions, 0, (size_t)nStages * sizeof(*functions));
  for (MlirOperation op = mlirBlockGetFirstOperation(shardOpBody(module)); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    if (!shardOpIs(op, "func.func") || !shardFuncIsPublic(op) ||
        mlirBlockIsNull(shardFuncGetBody(op)))
      continue;
    int64_t stage = 0;
    MlirAttribute attribute = shardOpGetAttribute(op, "spmd.stage");
    bool numbered = !mlirAttributeIsNull(attribute) && shardAttrGetI64(attribute, &stage);
    if (stage < 0 || stage >= nStages)
      continue;
    if (mlirOperationIsNull(functions[stage])) {
      functions[stage] = op;
      continue;
    }
    if (numbered)
      shardEmitError(op, "a second public function of stage %" PRId64, stage);
    else
      shardEmitError(op, "a second public function; expected one, or stages with 'spmd.stage'");
    return false;
  }
  for (int32_t i = 0; i < nStages; ++i)
    if (mlirOperationIsNull(functions[i])) {
      shardEmitError(module, "the module has no function of stage %d", i);
      return false;
    }
  return true;
}
