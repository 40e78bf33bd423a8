// Grouped heads as `h floordiv 4`, patches as `p * 4 + i`, every second column, halves inserted and
// padded: local forms against one device.
// RUN: shard-opt %s --shard-spmdize -o %t.mlir
// RUN: sed -E '/^shard.grid/s/[0-9]+(x|\))/1\1/g' %s | shard-opt - --shard-spmdize -o %t.whole.mlir
// RUN: rm -rf %t.results && mkdir %t.results
// RUN: shard-run %t.whole.mlir --integers --save=%t.results
// RUN: shard-run %t.mlir --integers --expect=%t.results | FileCheck %s
// CHECK-COUNT-6: equal (largest magnitude
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp.0", "tp.1"]}
func.func @main(%k: tensor<2x5xf32> {spmd.sharding = [["tp.0"], []]}, %q: tensor<8x5xf32> {spmd.sharding = [["tp"], []]}, %img: tensor<24xf32> {spmd.sharding = [["tp.0"],["tp.1"]], spmd.view = array<i64: 6, 4>}, %w: tensor<4x5xf32> {spmd.sharding=[["tp.1"],[]]}, %x: tensor<3x16xf32> {spmd.sharding=[[],["tp"]]}) 
    -> (tensor<8x5xf32>, tensor<6x5xf32> {spmd.sharding = [["tp.1"], []]}, tensor<3x8xf32>, tensor<3x8x2xf32>,
        tensor<8x5xf32>, tensor<8x9xf32> {spmd.sharding = [["tp"], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[["tp"], []]]} : tensor<8x5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(h, s) -> (h floordiv 4, s)>, affine_map<(h, s) -> (h, s)>, affine_map<(h, s) -> (h, s)>], iterator_types = ["parallel", "parallel"]}
      ins(%k, %q : tensor<2x5xf32>, tensor<8x5xf32>) outs(%e : tensor<8x5xf32>) attrs = {spmd.sharding = [[["tp"], []]]} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<8x5xf32>
  %e2 = tensor.empty() {spmd.sharding = [[["tp.0"], []]]} : tensor<6x5xf32>
  %f2 = linalg.fill {spmd.sharding = [[["tp.0"], []]]} ins(%zero : f32) outs(%e2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(p, c, i) -> (p * 4 + i)>, affine_map<(p, c, i) -> (i, c)>, affine_map<(p, c, i) -> (p, c)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%img, %w : tensor<24xf32>, tensor<4x5xf32>) outs(%f2 : tensor<6x5xf32>) attrs = {spmd.sharding = [[["tp.0"], []]], spmd.partial = [[{axes = ["tp.1"], kind = "sum"}]]} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %m, %o : f32
    linalg.yield %n : f32
  } -> tensor<6x5xf32>
  %ev = tensor.extract_slice %x[0, 1] [3, 8] [1, 2] {spmd.sharding = [[[], ["tp"]]]} : tensor<3x16xf32> to tensor<3x8xf32>
  %ex = tensor.expand_shape %x [[0], [1, 2]] output_shape [3, 8, 2] {spmd.sharding = [[[], ["tp"],[]]]} : tensor<3x16xf32> into tensor<3x8x2xf32>
  %half = tensor.extract_slice %0[0, 2] [8, 2] [1, 1] {spmd.sharding = [[["tp"], []]]} : tensor<8x5xf32> to tensor<8x2xf32>
  %in = tensor.insert_slice %half into %q[0, 1] [8, 2] [1, 1] {spmd.sharding = [[["tp.0"], []]]} : tensor<8x2xf32> into tensor<8x5xf32>
  %pad = tensor.pad %in low[0, 3] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {spmd.sharding = [[["tp"], []]]} : tensor<8x5xf32> to tensor<8x9xf32>
  return %0, %1, %ev, %ex, %in, %pad : tensor<8x5xf32>, tensor<6x5xf32>, tensor<3x8xf32>, tensor<3x8x2xf32>, tensor<8x5xf32>, tensor<8x9xf32>
}
