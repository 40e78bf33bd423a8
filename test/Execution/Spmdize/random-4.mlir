// A program of random ops under random shardings: it must compute what it computes on one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-1: equal (largest magnitude
shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
func.func @main(%a0: tensor<4x2xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.name = "a0", spmd.sharding = [["tp"], []]}, %a1: tensor<4x6xf32> {spmd.arg = 1 : i64, spmd.role = "input", spmd.name = "a1", spmd.sharding = [[], []]}) -> (tensor<3x2xf32> {spmd.sharding = [[], []]}) {
  %v2 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<2x6xf32>
  %v3 = arith.constant 1.0 : f32
  %v4 = linalg.fill {spmd.sharding = [[[], []]]} ins(%v3 : f32) outs(%v2 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %v1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%a0, %a1 : tensor<4x2xf32>, tensor<4x6xf32>) outs(%v4 : tensor<2x6xf32>) attrs = {spmd.sharding = [[[], []]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  } -> tensor<2x6xf32>
  %v6 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<3x2xf32>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v6 : tensor<3x2xf32>) attrs = {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c5 = arith.constant 5 : index
    %cn = arith.constant 4 : index
    %k = arith.muli %i, %c5 : index
    %id = arith.remui %k, %cn : index
    %t = tensor.extract %a0[%id, %j] : tensor<4x2xf32>
    linalg.yield %t : f32
  } -> tensor<3x2xf32>
  %v9 = func.call @layer0(%v5) {spmd.sharding = [[[], []]]} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %v9 : tensor<3x2xf32>
}
func.func private @layer0(%x: tensor<3x2xf32> {spmd.sharding = [[], []]}) -> (tensor<3x2xf32> {spmd.sharding = [[], []]}) {
  %v8 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<3x2xf32>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x2xf32>) outs(%v8 : tensor<3x2xf32>) attrs = {spmd.sharding = [[[], []]]} {
  ^bb0(%p: f32, %o: f32):
    %c = arith.constant 7.0 : f32
    %s = arith.divf %p, %c : f32
    %f = math.floor %s : f32
   %g = arith.mulf %f, %c : f32
   %h = arith.subf %p, %g : f32
    linalg.yield %h : f32
  } -> tensor<3x2xf32>
  return %v7 : tensor<3x2xf32>
}
