// A sequence that a reshape cuts in several pieces is split in blocks, over its axis once.
// RUN: shard-opt --auto-shard=sp2 --stop-after=shard-plan %s | FileCheck %s
// RUN: shard-run --auto-shard=sp2 --check %s
// RUN: shard-run --auto-shard=sp4 --check %s
// RUN: shard-run --auto-shard=sp3 --check %s
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    spmd.sharding = {{\[\[\], \["sp"\]\]}}}
func.func @main(%x: tensor<3x16xf32> {spmd.role = "input", spmd.dims = ["", "sequence"]}) -> tensor<3x2x4x2xf32> {
  %0 = tensor.expand_shape %x [[0], [1, 2, 3]] output_shape [3, 2, 4, 2] : tensor<3x16xf32> into tensor<3x2x4x2xf32>
  %1 = math.sin %0 : tensor<3x2x4x2xf32>
  return %1 : tensor<3x2x4x2xf32>
}
