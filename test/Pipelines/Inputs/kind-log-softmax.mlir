func.func @main(%in_x: tensor<3x7x12xf32> {spmd.role = "input"},
    %in_w: tensor<12x29xf32> {spmd.role = "weight"}) -> (tensor<3x7x29xf32>) {
  %t1 = arith.constant 0.0 : f32
  %t2 = tensor.empty() : tensor<3x7x29xf32>
  %t3 = linalg.fill ins(%t1 : f32) outs(%t2 : tensor<3x7x29xf32>) -> tensor<3x7x29xf32>
  %t4 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%in_x, %in_w : tensor<3x7x12xf32>, tensor<12x29xf32>) outs(%t3 : tensor<3x7x29xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x7x29xf32>
  %t5 = arith.constant 0xFF800000 : f32
  %t6 = tensor.empty() : tensor<3x7xf32>
  %t7 = linalg.fill ins(%t5 : f32) outs(%t6 : tensor<3x7xf32>) -> tensor<3x7xf32>
  %t8 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>],iterator_types=["parallel","parallel","reduction"]} ins(%t4 : tensor<3x7x29xf32>) outs(%t7 : tensor<3x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.maximumf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<3x7xf32>
  %t9 = tensor.empty() : tensor<3x7x29xf32>
  %t10 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t4, %t8 : tensor<3x7x29xf32>, tensor<3x7xf32>) outs(%t9 : tensor<3x7x29xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.subf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<3x7x29xf32>
  %t11 = tensor.empty() : tensor<3x7x29xf32>
  %t12 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t10 : tensor<3x7x29xf32>) outs(%t11 : tensor<3x7x29xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %r = math.exp %a1 : f32
    linalg.yield %r : f32
  } -> tensor<3x7x29xf32>
  %t13 = arith.constant 0.0 : f32
  %t14 = tensor.empty() : tensor<3x7xf32>
  %t15 = linalg.fill ins(%t13 : f32) outs(%t14 : tensor<3x7xf32>) -> tensor<3x7xf32>
  %t16 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>],iterator_types=["parallel","parallel","reduction"]} ins(%t12 : tensor<3x7x29xf32>) outs(%t15 : tensor<3x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<3x7xf32>
  %t17 = tensor.empty() : tensor<3x7xf32>
  %t18 = linalg.generic {indexing_maps=[affine_map<(d0,d1)->(d0,d1)>,affine_map<(d0,d1)->(d0,d1)>],iterator_types=["parallel","parallel"]} ins(%t16 : tensor<3x7xf32>) outs(%t17 : tensor<3x7xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %r = math.log %a1 : f32
    linalg.yield %r : f32
  } -> tensor<3x7xf32>
  %t19 = tensor.empty() : tensor<3x7x29xf32>
  %t20 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t10, %t18 : tensor<3x7x29xf32>, tensor<3x7xf32>) outs(%t19 : tensor<3x7x29xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.subf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<3x7x29xf32>
  return %t20 : tensor<3x7x29xf32>
}
