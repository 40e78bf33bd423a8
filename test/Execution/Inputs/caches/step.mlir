// A step of a decoder of two layers with caches of 16 positions; @update writes one.
func.func @main(%x: tensor<3x24xf32>, %pos: tensor<i64>, %kc0: tensor<3x16x4x6xf32>, %vc0: tensor<3x16x4x6xf32>, %kc1: tensor<3x16x4x6xf32>, %vc1: tensor<3x16x4x6xf32>, %wq0: tensor<24x24xf32>, %wk0: tensor<24x24xf32>, %wv0: tensor<24x24xf32>, %wo0: tensor<24x24xf32>, %wq1: tensor<24x24xf32>, %wk1: tensor<24x24xf32>, %wv1: tensor<24x24xf32>, %wo1: tensor<24x24xf32>) -> (tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>) {
  %p64 = tensor.extract %pos[] : tensor<i64>
  %c16 = arith.constant 16 : i64
  %pm = arith.remui %p64, %c16 : i64
  %p = tensor.from_elements %pm : tensor<1xi64>
  %0:3 = call @layer(%x, %p, %kc0, %vc0, %wq0, %wk0, %wv0, %wo0) : (tensor<3x24xf32>, tensor<1xi64>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>) -> (tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>)
  %1:3 = call @layer(%0#0, %p, %kc1, %vc1, %wq1, %wk1, %wv1, %wo1) : (tensor<3x24xf32>, tensor<1xi64>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>) -> (tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>)
  return %1#0, %0#1, %0#2, %1#1, %1#2 : tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>
}
func.func private @layer(%x: tensor<3x24xf32>, %pos: tensor<1xi64>, %kc: tensor<3x16x4x6xf32>, %vc: tensor<3x16x4x6xf32>, %wq: tensor<24x24xf32>, %wk: tensor<24x24xf32>, %wv: tensor<24x24xf32>, %wo: tensor<24x24xf32>) -> (tensor<3x24xf32>, tensor<3x16x4x6xf32>, tensor<3x16x4x6xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x24xf32>) -> tensor<3x24xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %qh = tensor.expand_shape %q [[0],[1,2]] output_shape [3,4,6] : tensor<3x24xf32> into tensor<3x4x6xf32>
  %k4 = tensor.expand_shape %k [[0],[1,2,3]] output_shape [3,1,4,6] : tensor<3x24xf32> into tensor<3x1x4x6xf32>
  %v4 = tensor.expand_shape %v [[0],[1,2,3]] output_shape [3,1,4,6] : tensor<3x24xf32> into tensor<3x1x4x6xf32>
  %kn = call @update(%k4, %kc, %pos) : (tensor<3x1x4x6xf32>, tensor<3x16x4x6xf32>, tensor<1xi64>) -> tensor<3x16x4x6xf32>
  %vn = call @update(%v4, %vc, %pos) : (tensor<3x1x4x6xf32>, tensor<3x16x4x6xf32>, tensor<1xi64>) -> tensor<3x16x4x6xf32>
  %es = tensor.empty() : tensor<3x4x16xf32>
  %fs = linalg.fill ins(%z : f32) outs(%es : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b,h,t,d)->(b,h,d)>, affine_map<(b,h,t,d)->(b,t,h,d)>, affine_map<(b,h,t,d)->(b,h,t)>], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%qh, %kn : tensor<3x4x6xf32>, tensor<3x16x4x6xf32>) outs(%fs : tensor<3x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %m, %c : f32
    linalg.yield %r : f32
  } -> tensor<3x4x16xf32>
  %pr = linalg.softmax dimension(2) ins(%s : tensor<3x4x16xf32>) outs(%es : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
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
