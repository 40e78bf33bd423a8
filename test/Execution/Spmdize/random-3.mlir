// A program of random ops under random shardings: it must compute what it computes on one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-2: equal (largest magnitude
shard.grid @mesh(shape = 2x2x2) {spmd.axes = ["sp", "tp.0", "tp.1"]}
func.func @main(%a0: tensor<2x4x4xf32> {spmd.arg = 0 : i64, spmd.role = "input", spmd.name = "a0", spmd.sharding = [["tp.1"], ["sp"], []]}) -> (tensor<6x4xf32> {spmd.sharding = [["tp.0"], ["tp.1"]]}, tensor<24xf32> {spmd.sharding = [["tp.0"], []], spmd.view = array<i64: 6, 4>}) {
  %v1 = tensor.concat dim(1) %a0, %a0 {spmd.sharding = [[["tp.1"], [], [], []]], spmd.view = [array<i64: 2, 2, 4, 4>]} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
  %v3 = tensor.empty() {spmd.sharding = [[["tp.0"], []]]} : tensor<2x4xf32>
  %v4 = arith.constant 0xFF800000 : f32
  %v5 = linalg.fill {spmd.sharding = [[["tp.1"], []]]} ins(%v4 : f32) outs(%v3 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %v2 = linalg.reduce { arith.maximumf } ins(%a0 : tensor<2x4x4xf32>) outs(%v5 : tensor<2x4xf32>) dimensions = [1] {spmd.sharding = [[["tp.1"], []]], spmd.partial = [[{axes = ["sp"], kind = "max"}]]}
  %v7 = tensor.empty() {spmd.sharding = [[["tp.1"], ["sp"]]]} : tensor<2x4xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v2, %v2 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%v7 : tensor<2x4xf32>) attrs = {spmd.sharding = [[["tp.0"], ["tp.1", "sp"]]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x4xf32>
  %v9 = tensor.empty() {spmd.sharding = [[[], ["sp"]]]} : tensor<2x4xf32>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v9 : tensor<2x4xf32>) attrs = {spmd.sharding = [[["tp.0"], []]]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %t = tensor.extract %v6[%i0, %i1] : tensor<2x4xf32>
    linalg.yield %t : f32
  } -> tensor<2x4xf32>
  %v10 = tensor.collapse_shape %v2 [[0, 1]] {spmd.sharding = [[["tp.1"], ["sp"]]], spmd.view = [array<i64: 2, 4>]} : tensor<2x4xf32> into tensor<8xf32>
  %v12 = tensor.empty() {spmd.sharding = [[[], ["tp.0"]]]} : tensor<6x4xf32>
  %v11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v12 : tensor<6x4xf32>) attrs = {spmd.sharding = [[[], ["tp.1"]]], spmd.partial = [[{axes = ["tp.0"], kind = "sum"}]]} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c5 = arith.constant 5 : index
    %cn = arith.constant 2 : index
    %k = arith.muli %i, %c5 : index
    %id = arith.remui %k, %cn : index
    %t = tensor.extract %v6[%id, %j] : tensor<2x4xf32>
    linalg.yield %t : f32
  } -> tensor<6x4xf32>
  %v14 = tensor.empty() {spmd.sharding = [[["tp.1"], ["tp.0", "sp"]]]} : tensor<6x4xf32>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v14 : tensor<6x4xf32>) attrs = {spmd.sharding = [[["tp.1"], ["sp", "tp.0"]]]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %t = tensor.extract %v11[%i0, %i1] : tensor<6x4xf32>
    linalg.yield %t : f32
  } -> tensor<6x4xf32>
  %v20 = func.call @layer0(%v11) {spmd.sharding = [[["tp.1"], []]], spmd.view = [array<i64: 6, 4>]} : (tensor<6x4xf32>) -> tensor<24xf32>
  return %v11, %v20 : tensor<6x4xf32>, tensor<24xf32>
}
func.func private @layer0(%x: tensor<6x4xf32> {spmd.sharding = [["tp.0"], ["sp"]]}) -> (tensor<24xf32> {spmd.sharding = [["tp.1"], []], spmd.view = array<i64: 6, 4>}) {
  %v16 = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<6x4xf32>
  %v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %x : tensor<6x4xf32>, tensor<6x4xf32>) outs(%v16 : tensor<6x4xf32>) attrs = {spmd.sharding = [[["tp.0"], ["sp"]]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<6x4xf32>
  %v18 = tensor.empty() {spmd.sharding = [[["tp.1"], []]]} : tensor<6x4xf32>
  %v17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%v18 : tensor<6x4xf32>) attrs = {spmd.sharding = [[["tp.1"], ["sp"]]]} {
  ^bb0(%o: f32):
    %i0 = linalg.index 0 : index
    %i1 = linalg.index 1 : index
    %t = tensor.extract %v15[%i0, %i1] : tensor<6x4xf32>
    linalg.yield %t : f32
  } -> tensor<6x4xf32>
  %v19 = tensor.collapse_shape %v17 [[0, 1]] {spmd.sharding = [[["tp.1"], ["tp.0"]]], spmd.view = [array<i64: 6, 4>]} : tensor<6x4xf32> into tensor<24xf32>
  return %v19 : tensor<24xf32>
}
