// A program of random ops under random shardings: it must compute what it computes on one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-2: equal (largest magnitude
shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
func.func @main(%a0: tensor<12x4x6xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.name = "a0", spmd.sharding = [[], [], ["dp"]]}) -> (tensor<4x6xf32> {spmd.sharding = [["tp"], []]}, tensor<4x6xf32> {spmd.sharding = [[], []]}) {
  %v2 = tensor.empty() {spmd.sharding = [[[], ["tp"]]]} : tensor<4x6xf32>
  %v3 = arith.constant 0.0 : f32
  %v4 = linalg.fill {spmd.sharding = [[[], ["dp"]]]} ins(%v3 : f32) outs(%v2 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %v1 = linalg.reduce { arith.addf } ins(%a0 : tensor<12x4x6xf32>) outs(%v4 : tensor<4x6xf32>) dimensions = [0] {spmd.sharding = [[["dp"], []]]}
  %v6 = tensor.empty() {spmd.sharding = [[["tp", "dp"], []]]} : tensor<4x6xf32>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v1 : tensor<4x6xf32>) outs(%v6 : tensor<4x6xf32>) attrs = {spmd.sharding = [[["tp"], []]]} {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %f = arith.sitofp %j : i64 to f32
    %s = arith.addf %p, %f : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %v8 = tensor.empty() {spmd.sharding = [[[], ["tp"], []]]} : tensor<12x6x4xf32>
  %v7 = linalg.transpose ins(%a0 : tensor<12x4x6xf32>) outs(%v8 : tensor<12x6x4xf32>) permutation = [0, 2, 1] {spmd.sharding = [[["tp"], [], []]]}
  %v10 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<4x6xf32>
  %v9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v10 : tensor<4x6xf32>) attrs = {spmd.sharding = [[["tp"], []]], spmd.partial = [[{axes = ["dp"], kind = "sum"}]]} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c5 = arith.constant 5 : index
    %cn = arith.constant 4 : index
    %k = arith.muli %i, %c5 : index
    %id = arith.remui %k, %cn : index
    %t = tensor.extract %v1[%id, %j] : tensor<4x6xf32>
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  %v12 = tensor.empty() {spmd.sharding = [[[], ["dp"]]]} : tensor<4x6xf32>
  %v11 = linalg.transpose ins(%v9 : tensor<4x6xf32>) outs(%v12 : tensor<4x6xf32>) permutation = [0, 1] {spmd.sharding = [[["dp"], []]]}
  %v14 = tensor.empty() {spmd.sharding = [[["dp", "tp"], []]]} : tensor<4x6xf32>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v14 : tensor<4x6xf32>) attrs = {spmd.sharding = [[["tp"], []]]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %t = tensor.extract %v11[%i0, %i1] : tensor<4x6xf32>
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  return %v9, %v13 : tensor<4x6xf32>, tensor<4x6xf32>
}
