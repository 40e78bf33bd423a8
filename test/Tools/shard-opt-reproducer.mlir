// A failing run writes a reproducer that fails in the same way; a run can also ask for one.
// RUN: rm -rf %t && mkdir %t
// RUN: not shard-opt %s --shard-check-divisible=axis-size=4 --mlir-pass-pipeline-crash-reproducer=%t/crash.mlir 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: dimension 0 is 10, not a multiple of axis size 4
// RUN: FileCheck %s --check-prefix=FILE < %t/crash.mlir
// FILE: pipeline: "builtin.module(func.func(shard-check-divisible{axis-size=4}))"
// RUN: not shard-opt %t/crash.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: %if !sanitizer %{ not mlir-opt --load-pass-plugin=%shard-plugin %t/crash.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=ERROR %}
// Options of every pass survive in one that is asked for.
// RUN: shard-opt %S/Inputs/mlp.mlir --auto-shard=tp2 --results=split --mlir-generate-reproducer=%t/good.mlir -o %t/o.mlir
// RUN: FileCheck %s --check-prefix=GOOD < %t/good.mlir
// GOOD: pipeline: "builtin.module({{.*}}shard-plan{degrees={tp2} results={split}},shard-propagate,shard-spmdize)"
shard.grid @mesh(shape = 4)
func.func @one(%x: tensor<10x8xf32>) -> tensor<10x8xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<10x8xf32>
  return %0 : tensor<10x8xf32>
}
