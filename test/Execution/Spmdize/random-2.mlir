// A program of random ops under random shardings: it must compute what it computes on one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-2: equal (largest magnitude
shard.grid @mesh(shape = 2x2) {spmd.axes = ["pp", "tp"]}
func.func @main(%a0: tensor<8x4xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.name = "a0", spmd.sharding = [[], []]}, %a1: tensor<4x4xf32> {spmd.arg = 1 : i64, spmd.role = "input", spmd.name = "a1", spmd.sharding = [["tp"], []]}) -> (tensor<4x2x4xf32> {spmd.sharding = [[], ["tp"], []]}, tensor<4x8xf32> {spmd.sharding = [["tp"], [], []], spmd.view = array<i64: 4, 2, 4>}) {
  %v2 = tensor.empty() {spmd.sharding = [[[], ["tp"]]]} : tensor<4x4xf32>
  %v1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v2 : tensor<4x4xf32>) attrs = {spmd.sharding = [[[], ["tp"]]]} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c5 = arith.constant 5 : index
    %cn = arith.constant 8 : index
    %k = arith.muli %i, %c5 : index
    %id = arith.remui %k, %cn : index
    %t = tensor.extract %a0[%id, %j] : tensor<8x4xf32>
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  %v7 = func.call @layer0(%a0) {spmd.sharding = [[["tp"], []]], spmd.stage = 0 : i64} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %v9 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<4x4xf32>
  %v10 = arith.constant 1.0 : f32
  %v11 = linalg.fill {spmd.sharding = [[[], []]]} ins(%v10 : f32) outs(%v9 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%v1, %a1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%v11 : tensor<4x4xf32>) attrs = {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]], spmd.stage = 0 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  %v13 = tensor.empty() {spmd.sharding = [[["tp"], []]]} : tensor<4x8xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v7, %v7 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%v13 : tensor<4x8xf32>) attrs = {spmd.sharding = [[[], ["tp"]]], spmd.stage = 1 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %v14 = tensor.concat dim(1) %v8, %v8 {spmd.sharding = [[[], [], []]], spmd.view = [array<i64: 4, 2, 4>], spmd.partial = [[{axes = ["tp"], kind = "sum"}]], spmd.stage = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %v18 = func.call @layer1(%v14) {spmd.sharding = [[[], [], []]], spmd.stage = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  return %v18, %v14 : tensor<4x2x4xf32>, tensor<4x8xf32>
}
func.func private @layer0(%x: tensor<8x4xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<4x8xf32> {spmd.sharding = [["tp"], []]}) {
  %v4 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<8x4xf32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%v4 : tensor<8x4xf32>) attrs = {spmd.sharding = [[["tp"], []]]} {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %f = arith.sitofp %j : i64 to f32
    %s = arith.addf %p, %f : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %v6 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<4x8xf32>
  %v5 = linalg.transpose ins(%v3 : tensor<8x4xf32>) outs(%v6 : tensor<4x8xf32>) permutation = [1, 0] {spmd.sharding = [[[], ["tp"]]]}
  return %v5 : tensor<4x8xf32>
}
func.func private @layer1(%x: tensor<4x8xf32> {spmd.sharding = [["tp"], [], []], spmd.view = array<i64: 4, 2, 4>}) -> (tensor<4x2x4xf32> {spmd.sharding = [[], [], []]}) {
  %v15 = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 4] {spmd.sharding = [[[], [], []]]} : tensor<4x8xf32> into tensor<4x2x4xf32>
  %v17 = tensor.empty() {spmd.sharding = [[["tp"], [], []]]} : tensor<4x2x4xf32>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v15, %v15 : tensor<4x2x4xf32>, tensor<4x2x4xf32>) outs(%v17 : tensor<4x2x4xf32>) attrs = {spmd.sharding = [[[], [], ["tp"]]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x2x4xf32>
  return %v16 : tensor<4x2x4xf32>
}
