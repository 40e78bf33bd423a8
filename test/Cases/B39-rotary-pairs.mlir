// Rotary embedding by halves pairs elements half a head apart: a split inside of the head, or a permutation of the rows
// of a weight made after cutting it, mixes wrong rows (xformers issue 572, transformers issue 48519). One head of 128
// over two ranks: the halves meet; eight heads over two ranks with the rows of the query weight permuted from pairs to
// halves first: nothing but the heads is split.
// RUN: split-file %s %t
// RUN: shard-run %t/one.mlir --auto-shard=tp2 --check | FileCheck %s
// RUN: shard-run %t/permuted.mlir --auto-shard=tp2 --check | FileCheck %s --check-prefixes=CHECK,LOCAL
// CHECK: result 0 {{.*}} against the unsharded program
// LOCAL: sent by a rank, mean, an iteration: nothing

//--- one.mlir
func.func @main(%x: tensor<2x16x128xf32> {spmd.sharding = [[], [], ["tp"]]}, %cos: tensor<16x128xf32> {spmd.sharding = [[], []]}, %sin: tensor<16x128xf32> {spmd.sharding = [[], []]}) -> (tensor<2x16x128xf32> {spmd.sharding = [[], [], ["tp"]]}) {
  %a = tensor.extract_slice %x[0, 0, 0] [2, 16, 64] [1, 1, 1] : tensor<2x16x128xf32> to tensor<2x16x64xf32>
  %b = tensor.extract_slice %x[0, 0, 64] [2, 16, 64] [1, 1, 1] : tensor<2x16x128xf32> to tensor<2x16x64xf32>
  %n = arith.negf %b : tensor<2x16x64xf32>
  %r = tensor.concat dim(2) %n, %a : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x128xf32>
  %e = tensor.empty() : tensor<2x16x128xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (s, d)>, affine_map<(b, s, d) -> (s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %r, %cos, %sin : tensor<2x16x128xf32>, tensor<2x16x128xf32>, tensor<16x128xf32>, tensor<16x128xf32>) outs(%e : tensor<2x16x128xf32>) {
  ^bb0(%v: f32, %w: f32, %c: f32, %s: f32, %o: f32):
    %p = arith.mulf %v, %c : f32
    %q = arith.mulf %w, %s : f32
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x16x128xf32>
  return %0 : tensor<2x16x128xf32>
}
//--- permuted.mlir
func.func @main(%x: tensor<16x32xf32> {spmd.sharding = [[], []]}, %w: tensor<64x32xf32> {spmd.sharding = [["tp"], []], spmd.role = "weight"}) -> (tensor<16x8x8xf32> {spmd.sharding = [[], ["tp"], []]}) {
  // Rows of the weight: 8 heads of 4 pairs become 8 heads of 2 halves.
  %pairs = tensor.expand_shape %w [[0, 1, 2], [3]] output_shape [8, 4, 2, 32] : tensor<64x32xf32> into tensor<8x4x2x32xf32>
  %e0 = tensor.empty() : tensor<8x2x4x32xf32>
  %halves = linalg.transpose ins(%pairs : tensor<8x4x2x32xf32>) outs(%e0 : tensor<8x2x4x32xf32>) permutation = [0, 2, 1, 3]
  %rows = tensor.collapse_shape %halves [[0, 1, 2], [3]] : tensor<8x2x4x32xf32> into tensor<64x32xf32>
  %e2 = tensor.empty() : tensor<32x64xf32>
  %turned = linalg.transpose ins(%rows : tensor<64x32xf32>) outs(%e2 : tensor<32x64xf32>) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<16x64xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x64xf32>) -> tensor<16x64xf32>
  %q = linalg.matmul ins(%x, %turned : tensor<16x32xf32>, tensor<32x64xf32>) outs(%z1 : tensor<16x64xf32>) -> tensor<16x64xf32>
  %h = tensor.expand_shape %q [[0], [1, 2]] output_shape [16, 8, 8] : tensor<16x64xf32> into tensor<16x8x8xf32>
  %a = tensor.extract_slice %h[0, 0, 0] [16, 8, 4] [1, 1, 1] : tensor<16x8x8xf32> to tensor<16x8x4xf32>
  %b = tensor.extract_slice %h[0, 0, 4] [16, 8, 4] [1, 1, 1] : tensor<16x8x8xf32> to tensor<16x8x4xf32>
  %n = arith.negf %b : tensor<16x8x4xf32>
  %0 = tensor.concat dim(2) %n, %a : (tensor<16x8x4xf32>, tensor<16x8x4xf32>) -> tensor<16x8x8xf32>
  return %0 : tensor<16x8x8xf32>
}
