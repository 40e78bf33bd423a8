// A program of random ops under random shardings: it must compute what it computes on one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-1: equal (largest magnitude
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%a0: tensor<2x6xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.name = "a0", spmd.sharding = [["tp"], []]}, %a1: tensor<2x6x6xf32> {spmd.arg = 1 : i64, spmd.role = "input", spmd.name = "a1", spmd.sharding = [["tp"], [], []]}) -> (tensor<12xf32> {spmd.sharding = [["tp"], []], spmd.view = array<i64: 2, 6>}) {
  %v1 = tensor.concat dim(1) %a0, %a0 {spmd.sharding = [[[], [], ["tp"]]], spmd.view = [array<i64: 2, 2, 6>]} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
  %v2 = tensor.collapse_shape %a1 [[0, 1], [2]] {spmd.sharding = [[["tp"], [], []]], spmd.view = [array<i64: 2, 6, 6>]} : tensor<2x6x6xf32> into tensor<12x6xf32>
  %v4 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<2x6xf32>
  %v5 = arith.constant 1.0 : f32
  %v6 = linalg.fill {spmd.sharding = [[[], []]]} ins(%v5 : f32) outs(%v4 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%v1, %v2 : tensor<2x12xf32>, tensor<12x6xf32>) outs(%v6 : tensor<2x6xf32>) attrs = {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %o, %s : f32
    linalg.yield %t : f32
  } -> tensor<2x6xf32>
  %v8 = tensor.empty() {spmd.sharding = [[["tp"], [], []]], spmd.view = [array<i64: 2, 6, 6>]} : tensor<12x6xf32>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v2, %v2 : tensor<12x6xf32>, tensor<12x6xf32>) outs(%v8 : tensor<12x6xf32>) attrs = {spmd.sharding = [[[], ["tp"], []]], spmd.view = [array<i64: 2, 6, 6>]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<12x6xf32>
  %v14 = func.call @layer0(%v3) {spmd.sharding = [[[], ["tp"]]], spmd.view = [array<i64: 2, 6>]} : (tensor<2x6xf32>) -> tensor<12xf32>
  %v16 = tensor.empty() {spmd.sharding = [[["tp"], [], []]], spmd.view = [array<i64: 2, 6, 6>]} : tensor<12x6xf32>
  %v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v16 : tensor<12x6xf32>) attrs = {spmd.sharding = [[[], ["tp"], []]], spmd.view = [array<i64: 2, 6, 6>]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %t = tensor.extract %v7[%i0, %i1] : tensor<12x6xf32>
    linalg.yield %t : f32
  } -> tensor<12x6xf32>
  %v18 = tensor.empty() {spmd.sharding = [[[], [], []]], spmd.view = [array<i64: 2, 6, 6>]} : tensor<12x6xf32>
  %v17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v7 : tensor<12x6xf32>) outs(%v18 : tensor<12x6xf32>) attrs = {spmd.sharding = [[[], [], ["tp"]]], spmd.view = [array<i64: 2, 6, 6>]} {
  ^bb0(%p: f32, %o: f32):
    %c = arith.constant 7.0 : f32
    %s = arith.divf %p, %c : f32
    %f = math.floor %s : f32
   %g = arith.mulf %f, %c : f32
   %h = arith.subf %p, %g : f32
    linalg.yield %h : f32
  } -> tensor<12x6xf32>
  %v20 = tensor.empty() {spmd.sharding = [[[], []]], spmd.view = [array<i64: 2, 6>]} : tensor<12xf32>
  %v19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%v20 : tensor<12xf32>) attrs = {spmd.sharding = [[[], []]], spmd.view = [array<i64: 2, 6>]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %t = tensor.extract %v14[%i0] : tensor<12xf32>
    linalg.yield %t : f32
  } -> tensor<12xf32>
  return %v19 : tensor<12xf32>
}
func.func private @layer0(%x: tensor<2x6xf32> {spmd.sharding = [[], []]}) -> (tensor<12xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 2, 6>}) {
  %v10 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<2x6xf32>
  %v9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v10 : tensor<2x6xf32>) attrs = {spmd.sharding = [[[], []]]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %t = tensor.extract %x[%i0, %i1] : tensor<2x6xf32>
    linalg.yield %t : f32
  } -> tensor<2x6xf32>
  %v11 = tensor.collapse_shape %v9 [[0, 1]] {spmd.sharding = [[["tp"], []]], spmd.view = [array<i64: 2, 6>]} : tensor<2x6xf32> into tensor<12xf32>
  %v13 = tensor.empty() {spmd.sharding = [[[], ["tp"]]], spmd.view = [array<i64: 2, 6>]} : tensor<12xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v11 : tensor<12xf32>) outs(%v13 : tensor<12xf32>) attrs = {spmd.sharding = [[[], []]], spmd.view = [array<i64: 2, 6>]} {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %f = arith.sitofp %j : i64 to f32
    %s = arith.addf %p, %f : f32
    linalg.yield %s : f32
  } -> tensor<12xf32>
  return %v12 : tensor<12xf32>
}
