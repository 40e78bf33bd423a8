// What stock mlir-opt does, shard-opt does: the same bytes.
// RUN: shard-opt %s --split-input-file --canonicalize --cse > %t.ours && mlir-opt %s --split-input-file --canonicalize --cse | cmp - %t.ours
// RUN: shard-opt %s --split-input-file --pass-pipeline 'builtin.module(func.func(canonicalize),cse)' | cmp - %t.ours
// RUN: shard-opt --split-input-file -canonicalize -cse -o %t.out %s && cmp %t.out %t.ours
// RUN: shard-opt --split-input-file --canonicalize --cse < %s | cmp - %t.ours
// RUN: gzip -c %s > %t.gz && shard-opt --split-input-file --canonicalize --cse %t.gz | cmp - %t.ours
// RUN: shard-opt %s --split-input-file --verify-diagnostics --shard-check-divisible=axis-size=4
// RUN: shard-opt %s --split-input-file --mlir-print-ir-after-all --cse -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER
// AFTER: IR Dump After CSE
// RUN: shard-opt %s --split-input-file --mlir-timing --shard-check-divisible=axis-size=2 -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIMING
// TIMING: shard-check-divisible
// RUN: split-file %s %t && shard-opt --emit-bytecode %t/one.mlir > %t/one.mlirbc && shard-opt %t/one.mlirbc | FileCheck %s --check-prefix=ONE
// ONE: func.func @one
// RUN: shard-opt %t/one.mlir --show-dialects | grep -x shard
// RUN: shard-opt --help-list | FileCheck %s --check-prefix=HELP
// HELP: --shard-auto
// HELP: --shard-check-divisible
// --auto-shard among mlir-opt's options is the pipeline shard-auto.
// RUN: shard-opt %S/Inputs/mlp.mlir --canonicalize --auto-shard=tp2 --cse --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: canonicalize
// PIPELINE: shard-plan{degrees={tp2}}
// PIPELINE: shard-spmdize
// PIPELINE-NOT: shard-lower
// PIPELINE: cse
// RUN: shard-opt %S/Inputs/mlp.mlir --shard-auto-cpu=degrees=tp2 --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: shard-spmdize
// CPU: shard-lower-cpu
// A mistake in a pass's options.
// RUN: not shard-opt %t/one.mlir --shard-check-divisible=axis-size=0 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: option 'axis-size' of 'shard-check-divisible' is 0, outside 1..
// RUN: not shard-opt %t/one.mlir --shard-check-divisible=axis-size=two 2>&1 | FileCheck %s --check-prefix=INTEGER
// INTEGER: error: option 'axis-size' of 'shard-check-divisible' takes an integer, not 'two'
// RUN: not shard-opt %t/one.mlir --shard-check-divisible=axes=2 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: pass 'shard-check-divisible' has no option 'axes'; its options are 'axis-size'
// RUN: not shard-opt %t/one.mlir --pass-pipeline='builtin.module(shard-auto{colour=red})' 2>&1 | FileCheck %s --check-prefix=PIPELINE-OPTION
// PIPELINE-OPTION: error: no pass of 'shard-auto' has an option 'colour'
// RUN: not shard-opt %t/one.mlir --pass-pipeline='builtin.module(shard-auto{stop-after=cse})' 2>&1 | FileCheck %s --check-prefix=PIPELINE-STOP
// PIPELINE-STOP: error: 'cse' is no pass of 'shard-auto'; its passes are {{.*}}'shard-plan'
// RUN: not shard-opt %t/one.mlir --pass-pipeline="builtin.module(shard-auto{degrees='tp2})" 2>&1 | FileCheck %s --check-prefix=QUOTE
// QUOTE: error: {{.*}}

//--- one.mlir
shard.grid @mesh(shape = 4)
func.func @one(%x: tensor<10x8xf32>) -> tensor<10x8xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  // expected-error @below {{dimension 0 is 10}}
  %0 = shard.shard %x to %rows : tensor<10x8xf32>
  return %0 : tensor<10x8xf32>
}

// -----

func.func @fold() -> i32 {
  %a = arith.constant 3 : i32
  %b = arith.constant 3 : i32
  %c = arith.addi %a, %b : i32
  return %c : i32
}
