// One step of a decoder with a cache: its heads are made by weights, so they are tp's and no sequence
// of sp's; where the cache may stay split, all that is sent is the sum after attention.
// RUN: shard-opt %s --auto-shard=tp2 --results=split | FileCheck %s
// RUN: shard-run %s --auto-shard=tp2 --results=split --check
// RUN: shard-run %s --auto-shard=dp2,tp3 --check
// RUN: shard-run %s --auto-shard=tp2,sp3 --check
// CHECK-LABEL: func.func @decode(
// CHECK-SAME:  %arg4: tensor<24x12xf32> {{[^}]*}}spmd.sharding = {{\[\[\], \["tp"\]\]}}}
// CHECK-SAME:  %arg7: tensor<12x24xf32> {{[^}]*}}spmd.sharding = {{\[\["tp"\], \[\]\]}}}
// CHECK:       shard.all_reduce {{.*}} : tensor<3x24xf32>
// CHECK-NOT:   shard.all
// Annotated, the cache comes and goes by heads; nothing else moves either.
// RUN: echo '{"version": 1, "args": {"2": {"sharding": [[], [], ["tp"], []]}, "3": {"sharding": [[], [], ["tp"], []]}}, "results": {"1": {"sharding": [[], [], ["tp"], []]}, "2": {"sharding": [[], [], ["tp"], []]}}}' > %t.json
// RUN: shard-opt %s --auto-shard=tp2 --annotations=%t.json | FileCheck %s
// RUN: not shard-opt %s --auto-shard=pp9 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FIT
// FIT: sp 1, 2, 4, 8, 16; tp 1, 2, 3, 4
func.func @decode(%x: tensor<3x24xf32>, %pos: tensor<i64>, %kc: tensor<3x16x4x6xf32>, %vc: tensor<3x16x4x6xf32>, %wq: tensor<24x24xf32>, %wk: tensor<24x24xf32>, %wv: tensor<24x24xf32>, %wo: tensor<24x24xf32>) -> (tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>) {
  %z = arith.constant 0.0 : f32
  %ninf = arith.constant -1.0e30 : f32
  %p64 = tensor.extract %pos[] : tensor<i64>
  %c16 = arith.constant 16 : i64
  %pm = arith.remui %p64, %c16 : i64
  %p = arith.index_cast %pm : i64 to index
  %e = tensor.empty() : tensor<3x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x24xf32>) -> tensor<3x24xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %qh = tensor.expand_shape %q [[0],[1,2]] output_shape [3,4,6] : tensor<3x24xf32> into tensor<3x4x6xf32>
  %k4 = tensor.expand_shape %k [[0],[1,2,3]] output_shape [3,1,4,6] : tensor<3x24xf32> into tensor<3x1x4x6xf32>
  %v4 = tensor.expand_shape %v [[0],[1,2,3]] output_shape [3,1,4,6] : tensor<3x24xf32> into tensor<3x1x4x6xf32>
  %kn = tensor.insert_slice %k4 into %kc[0, %p, 0, 0][3,1,4,6][1,1,1,1] : tensor<3x1x4x6xf32> into tensor<3x16x4x6xf32>
  %vn = tensor.insert_slice %v4 into %vc[0, %p, 0, 0][3,1,4,6][1,1,1,1] : tensor<3x1x4x6xf32> into tensor<3x16x4x6xf32>
  %es = tensor.empty() : tensor<3x4x16xf32>
  %fs = linalg.fill ins(%z : f32) outs(%es : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b,h,t,d)->(b,h,d)>, affine_map<(b,h,t,d)->(b,t,h,d)>, affine_map<(b,h,t,d)->(b,h,t)>], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%qh, %kn : tensor<3x4x6xf32>, tensor<3x16x4x6xf32>) outs(%fs : tensor<3x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %m, %c : f32
    linalg.yield %r : f32
  } -> tensor<3x4x16xf32>
  %sm = linalg.generic {indexing_maps = [affine_map<(b,h,t)->(b,h,t)>, affine_map<(b,h,t)->(b,h,t)>], iterator_types=["parallel","parallel","parallel"]} ins(%s : tensor<3x4x16xf32>) outs(%es : tensor<3x4x16xf32>) {
  ^bb0(%a: f32, %c: f32):
    %t = linalg.index 2 : index
    %ok = arith.cmpi ule, %t, %p : index
    %r = arith.select %ok, %a, %ninf : f32
    linalg.yield %r : f32
  } -> tensor<3x4x16xf32>
  %pr = linalg.softmax dimension(2) ins(%sm : tensor<3x4x16xf32>) outs(%es : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  %eo = tensor.empty() : tensor<3x4x6xf32>
  %fo = linalg.fill ins(%z : f32) outs(%eo : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b,h,d,t)->(b,h,t)>, affine_map<(b,h,d,t)->(b,t,h,d)>, affine_map<(b,h,d,t)->(b,h,d)>], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%pr, %vn : tensor<3x4x16xf32>, tensor<3x16x4x6xf32>) outs(%fo : tensor<3x4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %m, %c : f32
    linalg.yield %r : f32
  } -> tensor<3x4x6xf32>
  %o2 = tensor.collapse_shape %o [[0],[1,2]] : tensor<3x4x6xf32> into tensor<3x24xf32>
  %y = linalg.matmul ins(%o2, %wo : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %yy = arith.addf %y, %x : tensor<3x24xf32>
  return %yy, %kn, %vn : tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>
}
