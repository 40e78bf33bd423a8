//===- Mesh.h - The device mesh -----------------------------------*- C -*-===//
#ifndef SHARD_ANALYSIS_MESH_H
#define SHARD_ANALYSIS_MESH_H

#include "../Core/Arena.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARD_MAX_AXES 16

/// Grid dimensions in the order pp, dp, ep, sp, tp, major first; degree 1 is left out (one device
/// is shape 1, axis "tp"). "tp" split in sub-axes appears as "tp.0", "tp.1" (FORMATS, Mesh).
typedef struct ShardMesh {
  int32_t nAxes;
  const char *names[SHARD_MAX_AXES];
  int64_t sizes[SHARD_MAX_AXES];
} ShardMesh;

/// Degrees of `--auto-shard=dpN,tpN,...`; 1 when left out.
typedef struct ShardDegrees {
  int64_t pp, dp, ep, sp, tp, mb;
} ShardDegrees;

/// Parses "tp8,pp16". On failure returns false and a message (in `arena`) that names the bad part.
bool shardDegreesParse(const char *text, size_t length, ShardArena *arena, ShardDegrees *out,
                       const char **outMessage);

int32_t shardMeshFindAxis(const ShardMesh *mesh, const char *name); // -1 if none; exact name
int64_t shardMeshDeviceCount(const ShardMesh *mesh);
/// Coordinates of a rank, major first. `coordinates` has [nAxes].
void shardMeshCoordinates(const ShardMesh *mesh, int64_t rank, int64_t *coordinates);
/// Reads `shard.grid @mesh` of the module. False, without a diagnostic, when there is none that
/// names its axes, each once, or it has more devices than degrees can ask for (2^20).
bool shardMeshRead(MlirOperation module, ShardArena *arena, ShardMesh *out);

typedef enum ShardGridState { SHARD_GRID_NONE, SHARD_GRID_READ, SHARD_GRID_REFUSED } ShardGridState;

/// As shardMeshRead; refused, after one error at the grid, where it has `spmd.axes` and cannot be
/// read. A grid without `spmd.axes` is none: nothing in the module is split by names.
ShardGridState shardMeshReadChecked(MlirOperation module, ShardArena *arena, ShardMesh *out);
/// The mesh of a sharded program; false after one error.
bool shardMeshReadProgram(MlirOperation module, ShardArena *arena, ShardMesh *out);
/// The error of a grid whose `nAxes` axes have no names.
void shardEmitGridUnnamed(MlirOperation grid, MlirStringRef symbol, intptr_t nAxes);
/// Writes (or replaces) `shard.grid @mesh(shape = ...) {spmd.axes = [...]}` at the module's top.
void shardMeshWrite(MlirOperation module, const ShardMesh *mesh);

/// The function of each of the stages 0 to nStages - 1, in `functions` [nStages]: the one public
/// function with a body that has this `spmd.stage`; without the attribute it is 0. False after one
/// error: a stage has none, or two.
bool shardStagesFind(MlirOperation module, int32_t nStages, MlirOperation *functions);

#endif // SHARD_ANALYSIS_MESH_H
