// A running mean is a state where that is said; then it lies like its updated form, and only the other result is made whole.
// RUN: echo '{"version": 1, "args": {"2": {"role": "state"}}}' > %t.state.json
// RUN: echo '{"version": 1, "args": {"2": {"alias": 1}}}' > %t.alias.json
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.state.json | FileCheck %s
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.alias.json | FileCheck %s
// RUN: sed 's/%mean: tensor<4x6xf32>/&{spmd.role = "state"}/' %s | shard-opt --auto-shard=tp2 | FileCheck %s
// RUN: sed 's/%mean: tensor<4x6xf32>/&{spmd.alias = 1 : i64}/' %s | shard-opt --auto-shard=tp2 | FileCheck %s
// RUN: shard-run %s --auto-shard=dp2,tp2 --annotations=%t.alias.json --check
// Nothing is said: a result like any other.
// RUN: shard-opt %s --auto-shard=tp2 | FileCheck %s --check-prefix=NONE
// An annotation of one of the two is of both; of both, apart, leaves them apart.
// RUN: echo '{"version": 1, "args": {"2": {"alias": 1}}, "results": {"1": {"sharding": [["tp"], []]}}}' > %t.rows.json
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.rows.json | FileCheck %s --check-prefix=ROWS
// RUN: echo '{"version": 1, "args": {"2": {"alias": 1, "sharding": [[], []]}}, "results": {"1": {"sharding": [["tp"], []]}}}' > %t.apart.json
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.apart.json 2>&1 | FileCheck %s --check-prefix=APART
// RUN: echo '{"version": 1, "args": {"2": {"alias": 2}}}' > %t.1.json
// RUN: echo '{"version": 1, "args": {"0": {"alias": 1}}}' > %t.2.json
// RUN: echo '{"version": 1, "args": {"2": {"alias": 1}, "3": {"alias": 1}}}' > %t.3.json
// RUN: echo '{"version": 1, "args": {"2": {"alias": "1"}}}' > %t.4.json
// RUN: for i in 1 2 3 4; do not shard-opt %s --auto-shard=tp2 --annotations=%t.$i.json -o %t.out; done 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: for a in '2 : i64' '0.5 : f32'; do sed "s/%mean: tensor<4x6xf32>/&{spmd.alias = $a}/" %s | not shard-opt --auto-shard=tp2; done 2>&1 | FileCheck %s --check-prefix=TEXT
// CHECK:      func.func @main(
// CHECK-SAME: %arg2: tensor<4x3xf32> {spmd.alias = 1 : i64, {{[^}]*}}spmd.sharding = {{\[\[\], \["tp"\]\]}}}
// CHECK-SAME: tensor<4x3xf32> {spmd.global = tensor<4x6xf32>, spmd.result = 1 : i64, spmd.sharding = {{\[\[\], \["tp"\]\]}}}
// CHECK:      shard.all_gather
// CHECK-NOT:  shard.all
// NONE-NOT:   spmd.alias
// NONE-COUNT-2: shard.all_gather
// ROWS:       %arg2: tensor<2x6xf32> {spmd.alias = 1 : i64
// APART:      remark: argument 2 and result 1, its updated form, are annotated apart: they are not kept in one buffer
// APART-NOT:  spmd.alias
// WRONG:      1.json:1:{{[0-9]+}}: error: argument 2 is an alias of result 2, which does not exist; there are 2
// WRONG: 2.json:1:{{[0-9]+}}: error: argument 0 is an alias of result 1, which has another type
// WRONG: 3.json:1:{{[0-9]+}}: error: arguments 2 and 3 are aliases of result 1; expected one
// WRONG: 4.json:1:{{[0-9]+}}: error: 'alias' of '2' is not the number of a result
// TEXT:       error: argument 2 is an alias of result 2, which does not exist; there are 2
// TEXT:  error: 'spmd.alias' of argument 2 is not the number of a result
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %mean: tensor<4x6xf32>, %other: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types=["parallel","parallel"]} ins(%mean, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %k = arith.constant 0.9 : f32
    %s = arith.mulf %a, %k : f32
    %r = arith.addf %s, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %n = arith.addf %y, %other : tensor<4x6xf32>
  return %n, %m : tensor<4x6xf32>, tensor<4x6xf32>
}
