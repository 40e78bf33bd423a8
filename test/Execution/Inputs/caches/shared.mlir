// Keys and values of one layer share a cache of 16 positions: dimension 0 tells them apart and is no sequence.
func.func @main(%x: tensor<3x24xf32>, %kc: tensor<2x3x4x16x6xf32>, %w0: tensor<24x24xf32>, %w1: tensor<24x24xf32>, %wo: tensor<24x24xf32>) -> (tensor<3x24xf32>, tensor<2x3x4x16x6xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x24xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x24xf32>) -> tensor<3x24xf32>
  %k = linalg.matmul ins(%x, %w0 : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %v = linalg.matmul ins(%x, %w1 : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  %k4 = tensor.expand_shape %k [[0,1],[2,3,4]] output_shape [1,3,4,1,6] : tensor<3x24xf32> into tensor<1x3x4x1x6xf32>
  %v4 = tensor.expand_shape %v [[0,1],[2,3,4]] output_shape [1,3,4,1,6] : tensor<3x24xf32> into tensor<1x3x4x1x6xf32>
  %a = tensor.insert_slice %k4 into %kc[0,0,0,3,0][1,3,4,1,6][1,1,1,1,1] : tensor<1x3x4x1x6xf32> into tensor<2x3x4x16x6xf32>
  %b = tensor.insert_slice %v4 into %a[1,0,0,3,0][1,3,4,1,6][1,1,1,1,1] : tensor<1x3x4x1x6xf32> into tensor<2x3x4x16x6xf32>
  %l0 = tensor.extract_slice %b[0,0,0,0,0][1,3,4,16,6][1,1,1,1,1] : tensor<2x3x4x16x6xf32> to tensor<3x4x16x6xf32>
  %l1 = tensor.extract_slice %b[1,0,0,0,0][1,3,4,16,6][1,1,1,1,1] : tensor<2x3x4x16x6xf32> to tensor<3x4x16x6xf32>
  %eo = tensor.empty() : tensor<3x4x6xf32>
  %fo = linalg.fill ins(%z : f32) outs(%eo : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b,h,d,t)->(b,h,t,d)>, affine_map<(b,h,d,t)->(b,h,t,d)>, affine_map<(b,h,d,t)->(b,h,d)>], iterator_types=["parallel","parallel","parallel","reduction"]} ins(%l0, %l1 : tensor<3x4x16x6xf32>, tensor<3x4x16x6xf32>) outs(%fo : tensor<3x4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %c: f32):
    %m = arith.mulf %p, %q : f32
    %r = arith.addf %m, %c : f32
    linalg.yield %r : f32
  } -> tensor<3x4x6xf32>
  %o2 = tensor.collapse_shape %o [[0],[1,2]] : tensor<3x4x6xf32> into tensor<3x24xf32>
  %y = linalg.matmul ins(%o2, %wo : tensor<3x24xf32>, tensor<24x24xf32>) outs(%f : tensor<3x24xf32>) -> tensor<3x24xf32>
  return %y, %b : tensor<3x24xf32>, tensor<2x3x4x16x6xf32>
}
