// Two public functions: an error without a choice, and either one with it.
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import)' 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=third})' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{function=declared})' 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=first})' | FileCheck %s --check-prefix=FIRST
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{function=second})' | FileCheck %s --check-prefix=SECOND
// TWO: entry-two-public.mlir:[[#@LINE+9]]:1: error: two public functions, '@first' and '@second'; choose the entry with --function
// NONE: error: no function is named '@third'
// BODY: entry-two-public.mlir:[[#@LINE+10]]:1: error: function '@declared' has no body
// FIRST: func.func @first(
// FIRST-NOT: @second
// SECOND-NOT: @first
// SECOND: func.func @second(
// A private one may be the entry too; it is made public.
func.func @first(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
func.func @second(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }


func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
