func.func @main(%in_x: tensor<2x3x9x9xf32> {spmd.role = "input"},
    %in_c1: tensor<6x3x3x3xf32> {spmd.role = "weight"},
    %in_c2: tensor<10x6x3x3xf32> {spmd.role = "weight"}) -> (tensor<2x10x3x3xf32>) {
  %t1 = arith.constant 0.0 : f32
  %t2 = tensor.empty() : tensor<2x6x7x7xf32>
  %t3 = linalg.fill ins(%t1 : f32) outs(%t2 : tensor<2x6x7x7xf32>) -> tensor<2x6x7x7xf32>
  %t4 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%in_x, %in_c1 : tensor<2x3x9x9xf32>, tensor<6x3x3x3xf32>) outs(%t3 : tensor<2x6x7x7xf32>) -> tensor<2x6x7x7xf32>
  %t5 = tensor.empty() : tensor<2x6x7x7xf32>
  %t6 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel"]} ins(%t4 : tensor<2x6x7x7xf32>) outs(%t5 : tensor<2x6x7x7xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %e = arith.constant 0.0 : f32
    %r = arith.maximumf %a1, %e : f32
    linalg.yield %r : f32
  } -> tensor<2x6x7x7xf32>
  %t7 = arith.constant 0.0 : f32
  %t8 = tensor.empty() : tensor<2x10x3x3xf32>
  %t9 = linalg.fill ins(%t7 : f32) outs(%t8 : tensor<2x10x3x3xf32>) -> tensor<2x10x3x3xf32>
  %t10 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%t6, %in_c2 : tensor<2x6x7x7xf32>, tensor<10x6x3x3xf32>) outs(%t9 : tensor<2x10x3x3xf32>) -> tensor<2x10x3x3xf32>
  %t11 = tensor.empty() : tensor<2x10x3x3xf32>
  %t12 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel"]} ins(%t10 : tensor<2x10x3x3xf32>) outs(%t11 : tensor<2x10x3x3xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %e = arith.constant 0.0 : f32
    %r = arith.maximumf %a1, %e : f32
    linalg.yield %r : f32
  } -> tensor<2x10x3x3xf32>
  return %t12 : tensor<2x10x3x3xf32>
}
