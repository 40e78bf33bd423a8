// A program of random ops under random shardings: it must compute what it computes on one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-2: equal (largest magnitude
shard.grid @mesh(shape = 2x2) {spmd.axes = ["pp", "tp"]}
func.func @main(%a0: tensor<8x2xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.name = "a0", spmd.sharding = [[], []]}) -> (tensor<6x2xf32> {spmd.sharding = [["tp"], []]}, tensor<16xf32> {spmd.sharding = [[], []], spmd.view = array<i64: 8, 2>}) {
  %v2 = tensor.empty() {spmd.sharding = [[["tp"], []]]} : tensor<8x2xf32>
  %v1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<8x2xf32>) outs(%v2 : tensor<8x2xf32>) attrs = {spmd.sharding = [[["tp"], []]], spmd.stage = 0 : i64} {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %f = arith.sitofp %j : i64 to f32
    %s = arith.addf %p, %f : f32
    linalg.yield %s : f32
  } -> tensor<8x2xf32>
  %v3 = tensor.collapse_shape %v1 [[0, 1]] {spmd.sharding = [[["tp"], []]], spmd.view = [array<i64: 8, 2>], spmd.stage = 0 : i64} : tensor<8x2xf32> into tensor<16xf32>
  %v4 = tensor.collapse_shape %a0 [[0, 1]] {spmd.sharding = [[[], []]], spmd.view = [array<i64: 8, 2>], spmd.stage = 0 : i64} : tensor<8x2xf32> into tensor<16xf32>
  %v6 = tensor.empty() {spmd.sharding = [[[], ["tp"]]]} : tensor<8x2xf32>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v1, %a0 : tensor<8x2xf32>, tensor<8x2xf32>) outs(%v6 : tensor<8x2xf32>) attrs = {spmd.sharding = [[[], []]], spmd.stage = 0 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x2xf32>
  %v9 = func.call @layer0(%v3) {spmd.sharding = [[[], []]], spmd.view = [array<i64: 8, 2>], spmd.stage = 1 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  %v11 = tensor.empty() {spmd.sharding = [[["tp"], []]]} : tensor<6x2xf32>
  %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v11 : tensor<6x2xf32>) attrs = {spmd.sharding = [[["tp"], []]], spmd.stage = 1 : i64} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c5 = arith.constant 5 : index
    %cn = arith.constant 8 : index
    %k = arith.muli %i, %c5 : index
    %id = arith.remui %k, %cn : index
    %t = tensor.extract %v5[%id, %j] : tensor<8x2xf32>
    linalg.yield %t : f32
  } -> tensor<6x2xf32>
  %v13 = tensor.empty() {spmd.sharding = [[[], []]], spmd.view = [array<i64: 8, 2>]} : tensor<16xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v9, %v4 : tensor<16xf32>, tensor<16xf32>) outs(%v13 : tensor<16xf32>) attrs = {spmd.sharding = [[["tp"], []]], spmd.view = [array<i64: 8, 2>], spmd.stage = 1 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %v15 = tensor.empty() {spmd.sharding = [[[], []]], spmd.view = [array<i64: 8, 2>]} : tensor<16xf32>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v9, %v3 : tensor<16xf32>, tensor<16xf32>) outs(%v15 : tensor<16xf32>) attrs = {spmd.sharding = [[[], []]], spmd.view = [array<i64: 8, 2>], spmd.stage = 1 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %v17 = tensor.empty() {spmd.sharding = [[["tp"], []]], spmd.view = [array<i64: 8, 2>]} : tensor<16xf32>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%v17 : tensor<16xf32>) attrs = {spmd.sharding = [[[], []]], spmd.view = [array<i64: 8, 2>], spmd.stage = 1 : i64} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %t = tensor.extract %v12[%i0] : tensor<16xf32>
    linalg.yield %t : f32
  } -> tensor<16xf32>
  return %v10, %v16 : tensor<6x2xf32>, tensor<16xf32>
}
func.func private @layer0(%x: tensor<16xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 8, 2>}) -> (tensor<16xf32> {spmd.sharding = [[], []], spmd.view = array<i64: 8, 2>}) {
  %v8 = tensor.empty() {spmd.sharding = [[["tp"], []]], spmd.view = [array<i64: 8, 2>]} : tensor<16xf32>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %x : tensor<16xf32>, tensor<16xf32>) outs(%v8 : tensor<16xf32>) attrs = {spmd.sharding = [[["tp"], []]], spmd.view = [array<i64: 8, 2>]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %v7 : tensor<16xf32>
}
