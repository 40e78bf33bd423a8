// One weight for queries, keys and values by groups: columns [2 groups][4 queries | key | value][4]. A view of it
// splits the groups, so that nothing moves and a rank holds its share; unevenly too.
// RUN: shard-opt %s --auto-shard=tp2 --quiet -o %t.mlir --report=%t.txt
// RUN: FileCheck %s --check-prefix=TP2 < %t.txt
// RUN: shard-run %t.mlir --check=%s | FileCheck %s
// RUN: shard-run %s --auto-shard=tp3 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=tp4 --check | FileCheck %s
// TP2:     all-reduce tp {{ *}}x 1
// TP2-NOT: all-gather
// TP2:     1 weight 24x48xf32 {{ *}}[] [tp]
// CHECK: result 0 2x8x24xf32 against the unsharded program: {{equal|error .*e-0[78] }}
func.func @main(%x: tensor<2x8x24xf32>, %w: tensor<24x48xf32>, %wo: tensor<32x24xf32>) -> tensor<2x8x24xf32> {
  %z = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x8x48xf32>
  %i0 = linalg.fill ins(%z : f32) outs(%e0 : tensor<2x8x48xf32>) -> tensor<2x8x48xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b,s,n,k) -> (b,s,k)>, affine_map<(b,s,n,k) -> (k,n)>, affine_map<(b,s,n,k) -> (b,s,n)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%x, %w : tensor<2x8x24xf32>, tensor<24x48xf32>) outs(%i0 : tensor<2x8x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x8x48xf32>
  %g = tensor.expand_shape %p [[0],[1],[2,3,4]] output_shape [2,8,2,6,4] : tensor<2x8x48xf32> into tensor<2x8x2x6x4xf32>
  %q = tensor.extract_slice %g[0,0,0,0,0][2,8,2,4,4][1,1,1,1,1] : tensor<2x8x2x6x4xf32> to tensor<2x8x2x4x4xf32>
  %k = tensor.extract_slice %g[0,0,0,4,0][2,8,2,1,4][1,1,1,1,1] : tensor<2x8x2x6x4xf32> to tensor<2x8x2x1x4xf32>
  %v = tensor.extract_slice %g[0,0,0,5,0][2,8,2,1,4][1,1,1,1,1] : tensor<2x8x2x6x4xf32> to tensor<2x8x2x1x4xf32>
  %kc = tensor.collapse_shape %k [[0],[1],[2,3],[4]] : tensor<2x8x2x1x4xf32> into tensor<2x8x2x4xf32>
  %vc = tensor.collapse_shape %v [[0],[1],[2,3],[4]] : tensor<2x8x2x1x4xf32> into tensor<2x8x2x4xf32>
  %e1 = tensor.empty() : tensor<2x2x4x8x8xf32>
  %i1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<2x2x4x8x8xf32>) -> tensor<2x2x4x8x8xf32>
  %sc = linalg.generic {indexing_maps = [affine_map<(b,h,g,s,t,d) -> (b,s,h,g,d)>, affine_map<(b,h,g,s,t,d) -> (b,t,h,d)>, affine_map<(b,h,g,s,t,d) -> (b,h,g,s,t)>], iterator_types = ["parallel","parallel","parallel","parallel","parallel","reduction"]} ins(%q, %kc : tensor<2x8x2x4x4xf32>, tensor<2x8x2x4xf32>) outs(%i1 : tensor<2x2x4x8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x2x4x8x8xf32>
  %th = math.tanh %sc : tensor<2x2x4x8x8xf32>
  %e2 = tensor.empty() : tensor<2x8x2x4x4xf32>
  %i2 = linalg.fill ins(%z : f32) outs(%e2 : tensor<2x8x2x4x4xf32>) -> tensor<2x8x2x4x4xf32>
  %at = linalg.generic {indexing_maps = [affine_map<(b,s,h,g,d,t) -> (b,h,g,s,t)>, affine_map<(b,s,h,g,d,t) -> (b,t,h,d)>, affine_map<(b,s,h,g,d,t) -> (b,s,h,g,d)>], iterator_types = ["parallel","parallel","parallel","parallel","parallel","reduction"]} ins(%th, %vc : tensor<2x2x4x8x8xf32>, tensor<2x8x2x4xf32>) outs(%i2 : tensor<2x8x2x4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x8x2x4x4xf32>
  %fl = tensor.collapse_shape %at [[0],[1],[2,3,4]] : tensor<2x8x2x4x4xf32> into tensor<2x8x32xf32>
  %e3 = tensor.empty() : tensor<2x8x24xf32>
  %i3 = linalg.fill ins(%z : f32) outs(%e3 : tensor<2x8x24xf32>) -> tensor<2x8x24xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b,s,n,k) -> (b,s,k)>, affine_map<(b,s,n,k) -> (k,n)>, affine_map<(b,s,n,k) -> (b,s,n)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%fl, %wo : tensor<2x8x32xf32>, tensor<32x24xf32>) outs(%i3 : tensor<2x8x24xf32>) {
  ^bb0(%a: f32, %b: f32, %oo: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %oo : f32
    linalg.yield %s : f32
  } -> tensor<2x8x24xf32>
  %r = arith.addf %o, %x : tensor<2x8x24xf32>
  return %r : tensor<2x8x24xf32>
}
