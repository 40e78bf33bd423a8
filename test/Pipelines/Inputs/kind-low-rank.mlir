func.func @main(%in_x: tensor<2x7x12xf32> {spmd.role = "input"},
    %in_w: tensor<12x20xf32> {spmd.role = "weight"},
    %in_a: tensor<12x2xf32> {spmd.role = "weight"},
    %in_b: tensor<2x20xf32> {spmd.role = "weight"},
    %in_w2: tensor<20x12xf32> {spmd.role = "weight"},
    %in_a2: tensor<20x2xf32> {spmd.role = "weight"},
    %in_b2: tensor<2x12xf32> {spmd.role = "weight"}) -> (tensor<2x7x12xf32>) {
  %t1 = arith.constant 0.0 : f32
  %t2 = tensor.empty() : tensor<2x7x20xf32>
  %t3 = linalg.fill ins(%t1 : f32) outs(%t2 : tensor<2x7x20xf32>) -> tensor<2x7x20xf32>
  %t4 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%in_x, %in_w : tensor<2x7x12xf32>, tensor<12x20xf32>) outs(%t3 : tensor<2x7x20xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x20xf32>
  %t5 = arith.constant 0.0 : f32
  %t6 = tensor.empty() : tensor<2x7x2xf32>
  %t7 = linalg.fill ins(%t5 : f32) outs(%t6 : tensor<2x7x2xf32>) -> tensor<2x7x2xf32>
  %t8 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%in_x, %in_a : tensor<2x7x12xf32>, tensor<12x2xf32>) outs(%t7 : tensor<2x7x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x2xf32>
  %t9 = arith.constant 0.0 : f32
  %t10 = tensor.empty() : tensor<2x7x20xf32>
  %t11 = linalg.fill ins(%t9 : f32) outs(%t10 : tensor<2x7x20xf32>) -> tensor<2x7x20xf32>
  %t12 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t8, %in_b : tensor<2x7x2xf32>, tensor<2x20xf32>) outs(%t11 : tensor<2x7x20xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x20xf32>
  %t13 = tensor.empty() : tensor<2x7x20xf32>
  %t14 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t12 : tensor<2x7x20xf32>) outs(%t13 : tensor<2x7x20xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %e = arith.constant 2.0 : f32
    %r = arith.mulf %a1, %e : f32
    linalg.yield %r : f32
  } -> tensor<2x7x20xf32>
  %t15 = tensor.empty() : tensor<2x7x20xf32>
  %t16 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t4, %t14 : tensor<2x7x20xf32>, tensor<2x7x20xf32>) outs(%t15 : tensor<2x7x20xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.addf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<2x7x20xf32>
  %t17 = tensor.empty() : tensor<2x7x20xf32>
  %t18 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t16 : tensor<2x7x20xf32>) outs(%t17 : tensor<2x7x20xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %e = arith.constant 1.0 : f32
    %n = arith.negf %a1 : f32
    %x = math.exp %n : f32
    %y = arith.addf %x, %e : f32
    %r = arith.divf %a1, %y : f32
    linalg.yield %r : f32
  } -> tensor<2x7x20xf32>
  %t19 = arith.constant 0.0 : f32
  %t20 = tensor.empty() : tensor<2x7x12xf32>
  %t21 = linalg.fill ins(%t19 : f32) outs(%t20 : tensor<2x7x12xf32>) -> tensor<2x7x12xf32>
  %t22 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t18, %in_w2 : tensor<2x7x20xf32>, tensor<20x12xf32>) outs(%t21 : tensor<2x7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x12xf32>
  %t23 = arith.constant 0.0 : f32
  %t24 = tensor.empty() : tensor<2x7x2xf32>
  %t25 = linalg.fill ins(%t23 : f32) outs(%t24 : tensor<2x7x2xf32>) -> tensor<2x7x2xf32>
  %t26 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t18, %in_a2 : tensor<2x7x20xf32>, tensor<20x2xf32>) outs(%t25 : tensor<2x7x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x2xf32>
  %t27 = arith.constant 0.0 : f32
  %t28 = tensor.empty() : tensor<2x7x12xf32>
  %t29 = linalg.fill ins(%t27 : f32) outs(%t28 : tensor<2x7x12xf32>) -> tensor<2x7x12xf32>
  %t30 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t26, %in_b2 : tensor<2x7x2xf32>, tensor<2x12xf32>) outs(%t29 : tensor<2x7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x12xf32>
  %t31 = tensor.empty() : tensor<2x7x12xf32>
  %t32 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t22, %t30 : tensor<2x7x12xf32>, tensor<2x7x12xf32>) outs(%t31 : tensor<2x7x12xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.addf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<2x7x12xf32>
  return %t32 : tensor<2x7x12xf32>
}
