// Square layers, each added to what it reads: the hidden state's is the only dimension that weights have, and tensor parallelism splits it.
// RUN: shard-run %s --auto-shard=tp2 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=tp3 --check | FileCheck %s --check-prefix=UNEVEN
// RUN: shard-run %s --auto-shard=dp2,tp2 --check | FileCheck %s --check-prefix=BATCH
// RUN: shard-run %s --auto-shard=tp2,pp3 --check | FileCheck %s --check-prefix=STAGES
// RUN: shard-opt %s --auto-shard=tp2 --stop-after=shard-plan | FileCheck %s --check-prefix=PLAN
// An all-reduce of the state for each of three layers would be 384 bytes.
// CHECK: result 0 4x8xf32 against the unsharded program:
// CHECK: all-gather 64 B, reduce-scatter 128 B, all-to-all 64 B
// UNEVEN: ranks: 3 (tp 3)
// UNEVEN: result 0 4x8xf32 against the unsharded program:
// BATCH: ranks: 4 (dp 2 x tp 2)
// BATCH: result 0 4x8xf32 against the unsharded program:
// STAGES: ranks: 6 (pp 3 x tp 2)
// STAGES: result 0 4x8xf32 against the unsharded program:
// PLAN-COUNT-3: spmd.role = "weight", spmd.sharding = {{\[\["tp"\], \[\]\]}}
func.func @chain(%x: tensor<4x8xf32>, %w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul ins(%x, %w0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = math.tanh %a : tensor<4x8xf32>
  %c = arith.addf %b, %x : tensor<4x8xf32>
  %d = linalg.matmul ins(%c, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = math.tanh %d : tensor<4x8xf32>
  %h = arith.addf %g, %c : tensor<4x8xf32>
  %i = linalg.matmul ins(%h, %w2 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %j = math.tanh %i : tensor<4x8xf32>
  %k = arith.addf %j, %h : tensor<4x8xf32>
  return %k : tensor<4x8xf32>
}
