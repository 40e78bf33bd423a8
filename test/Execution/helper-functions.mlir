// A function that multiplies by no weight is no layer: beside norms and activations called by name, and a scan of
// steps that are cut out of a product, the weights of the entry's own products are split as without them.
// RUN: split-file %s %t
// One sum of the hidden state is all that is sent.
// RUN: shard-run --auto-shard=tp2 --check %t/named.mlir | FileCheck %s --check-prefix=NAMED
// RUN: shard-run --auto-shard=tp3,dp2 --check %t/named.mlir
// NAMED: sent by a rank, mean, an iteration: all-reduce 768 B{{$}}
// A slice that leaves out the step's dimension carries the batch on; the state is split with the columns.
// RUN: shard-run --auto-shard=tp2 --check %t/scan.mlir | FileCheck %s --check-prefix=SCAN
// RUN: shard-run --auto-shard=dp2 --check %t/scan.mlir | FileCheck %s --check-prefix=SCAN
// RUN: shard-run --auto-shard=dp3,tp3 --check %t/scan.mlir
// SCAN: sent by a rank, mean, an iteration: all-gather 64 B{{$}}

//--- named.mlir
func.func private @norm(%x: tensor<4x6x8xf32>, %g: tensor<8xf32>) -> tensor<4x6x8xf32> {
  %e = tensor.empty() : tensor<4x6x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b,s,d)->(b,s,d)>, affine_map<(b,s,d)->(d)>, affine_map<(b,s,d)->(b,s,d)>], iterator_types = ["parallel","parallel","parallel"]} ins(%x, %g : tensor<4x6x8xf32>, tensor<8xf32>) outs(%e : tensor<4x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x6x8xf32>
  return %r : tensor<4x6x8xf32>
}
func.func private @gelu(%x: tensor<24x16xf32>) -> tensor<24x16xf32> {
  %e = tensor.empty() : tensor<24x16xf32>
  %r = linalg.tanh ins(%x : tensor<24x16xf32>) outs(%e : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
}
func.func @main(%x: tensor<4x6x8xf32>, %w1: tensor<8x16xf32>, %w2: tensor<16x8xf32>, %g: tensor<8xf32>, %h: tensor<8xf32>) -> tensor<4x6x8xf32> {
  %n = func.call @norm(%x, %g) : (tensor<4x6x8xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  %nf = tensor.collapse_shape %n [[0,1],[2]] : tensor<4x6x8xf32> into tensor<24x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<24x16xf32>) -> tensor<24x16xf32>
  %m = linalg.matmul ins(%nf, %w1 : tensor<24x8xf32>, tensor<8x16xf32>) outs(%f : tensor<24x16xf32>) -> tensor<24x16xf32>
  %t = func.call @gelu(%m) : (tensor<24x16xf32>) -> tensor<24x16xf32>
  %e2 = tensor.empty() : tensor<24x8xf32>
  %f2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<24x8xf32>) -> tensor<24x8xf32>
  %o = linalg.matmul ins(%t, %w2 : tensor<24x16xf32>, tensor<16x8xf32>) outs(%f2 : tensor<24x8xf32>) -> tensor<24x8xf32>
  %o3 = tensor.expand_shape %o [[0,1],[2]] output_shape [4,6,8] : tensor<24x8xf32> into tensor<4x6x8xf32>
  %e3 = tensor.empty() : tensor<4x6x8xf32>
  %y = linalg.add ins(%o3, %x : tensor<4x6x8xf32>, tensor<4x6x8xf32>) outs(%e3 : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %y2 = func.call @norm(%y, %h) : (tensor<4x6x8xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  return %y2 : tensor<4x6x8xf32>
}

//--- scan.mlir
func.func @main(%x: tensor<4x9x6xf32>, %w: tensor<6x8xf32>) -> (tensor<4x8xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x9x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x9x8xf32>) -> tensor<4x9x8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(b,s,e,d) -> (b,s,d)>, affine_map<(b,s,e,d) -> (d,e)>, affine_map<(b,s,e,d) -> (b,s,e)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%x, %w : tensor<4x9x6xf32>, tensor<6x8xf32>) outs(%f : tensor<4x9x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %c : f32
    linalg.yield %q : f32
  } -> tensor<4x9x8xf32>
  %he = tensor.empty() : tensor<4x8xf32>
  %h0 = linalg.fill ins(%z : f32) outs(%he : tensor<4x8xf32>) -> tensor<4x8xf32>
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %k9 = arith.constant 9 : index
  %h = scf.for %i = %k0 to %k9 step %k1 iter_args(%a = %h0) -> (tensor<4x8xf32>) {
    %s = tensor.extract_slice %m[0, %i, 0] [4, 1, 8] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4x8xf32>
    %n = linalg.add ins(%a, %s : tensor<4x8xf32>, tensor<4x8xf32>) outs(%he : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %n : tensor<4x8xf32>
  }
  return %h : tensor<4x8xf32>
}
