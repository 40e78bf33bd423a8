// RUN: shard-opt %s --pass-pipeline='builtin.module(func.func(shard-check-divisible{axis-size=4}))' | FileCheck %s
// RUN: shard-opt %s --shard-check-divisible='axis-size=4' | FileCheck %s
// A program built without the sanitizer cannot load a plugin that needs it.
// RUN: %if !sanitizer %{ mlir-opt --load-pass-plugin=%shard-plugin %s --pass-pipeline='builtin.module(func.func(shard-check-divisible{axis-size=4}))' | FileCheck %s %}
// Options survive printing.
// RUN: shard-opt %s --shard-check-divisible='axis-size=4' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: func.func(
// PIPELINE-NEXT: shard-check-divisible{axis-size=4}
shard.grid @mesh(shape = 4)
// CHECK-LABEL: func.func @even(
// CHECK:         shard.shard
func.func @even(%x: tensor<8x10xf32>) -> tensor<8x10xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %0 = shard.shard %x to %rows : tensor<8x10xf32>
  return %0 : tensor<8x10xf32>
}
