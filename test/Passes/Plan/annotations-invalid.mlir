// Mistakes in annotations are shown at their line of that file, in the section that they are in.
// RUN: split-file %s %t
// RUN: shard-opt --auto-shard=tp2 --annotations=%t/right.json %t/model.mlir --quiet -o /dev/null
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/axis.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: axis.json:3:5: error: 'sharding' of '1' names axis 'tpx'; expected pp, dp, ep, sp or tp
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/part.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=PART
// PART: part.json:3:5: error: 'sharding' of '1' names axis 'tp.'; expected
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/dims.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=DIMS
// DIMS: dims.json:3:5: error: 'dims' of '0' says "batch" twice
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/view.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=VIEW
// VIEW: view.json:3:5: error: 'view' of '1' has 90 elements; argument 1 has 96
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/entries.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=ENTRIES
// ENTRIES: entries.json:3:5: error: 'sharding' of '1' has 2 entries; its view has 3 dimensions
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/result.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=RESULT
// RESULT: result.json:6:5: error: 'sharding' of '0' has 3 entries; the result has 2 dimensions
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/result-view.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=RESULT-VIEW
// RESULT-VIEW: result-view.json:3:5: error: 'view' of '0' is not a list of positive sizes
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/value.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: value.json:3:5: error: 'sharding' of '*mlir:4:*' has 1 entries; the value at {{.*}}model.mlir:4:8 has 2 dimensions
// RUN: not shard-opt --auto-shard=tp2 --annotations=%t/value-view.json %t/model.mlir 2>&1 | FileCheck %s --check-prefix=VALUE-VIEW
// VALUE-VIEW: value-view.json:3:5: error: 'view' of '*mlir:4:*' has 66 elements; the value at {{.*}}model.mlir:4:8 has 72

//--- right.json
{"version": 1, "args": {
    "0": {"dims": ["batch", "sequence"]},
    "1": {"view": [8, 3, 4], "sharding": [[], ["tp"], []]}},
 "results": {
    "0": {"view": [6, 3, 4], "sharding": [[], [], []]}},
 "values": {
    "*mlir:4:*": {"view": [6, 3, 4], "sharding": [[], ["tp"], []]}}}
//--- axis.json
{"version": 1, "args": {
    "0": {"dims": ["batch", ""]},
    "1": {"sharding": [[], ["tpx"]]}}}
//--- part.json
{"version": 1, "args": {

    "1": {"sharding": [[], ["tp."]]}}}
//--- dims.json
{"version": 1, "args": {

    "0": {"dims": ["batch", "batch"]}}}
//--- view.json
{"version": 1, "args": {

    "1": {"view": [9, 10], "sharding": [[], ["tp"]]}}}
//--- entries.json
{"version": 1, "args": {

    "1": {"view": [8, 3, 4], "sharding": [[], ["tp"]]}}}
//--- result.json
{"version": 1, "args": {

    "0": {"dims": ["batch", ""]}},
 "results": {

    "0": {"sharding": [[], [], []]}}}
//--- result-view.json
{"version": 1, "results": {

    "0": {"view": [6, "12"], "sharding": [[], []]}}}
//--- value.json
{"version": 1, "values": {

    "*mlir:4:*": {"sharding": [["tp"]]}}}
//--- value-view.json
{"version": 1, "values": {

    "*mlir:4:*": {"view": [6, 11], "sharding": [[], ["tp"]]}}}
//--- model.mlir
func.func @main(%x: tensor<6x8xf32>, %w: tensor<8x12xf32>) -> tensor<6x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x12xf32>) -> tensor<6x12xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<6x8xf32>, tensor<8x12xf32>) outs(%f : tensor<6x12xf32>) -> tensor<6x12xf32>
  return %0 : tensor<6x12xf32>
}
