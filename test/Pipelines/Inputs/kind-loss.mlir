func.func @main(%in_ids: tensor<3x7xi64> {spmd.role = "input"},
    %in_t: tensor<3x7xi64> {spmd.role = "target"},
    %in_e: tensor<29x12xf32> {spmd.role = "weight"},
    %in_w1: tensor<12x20xf32> {spmd.role = "weight"},
    %in_w2: tensor<20x12xf32> {spmd.role = "weight"},
    %in_w: tensor<12x29xf32> {spmd.role = "weight"}) -> (tensor<f32>) {
  %t1 = tensor.empty() : tensor<3x7x12xf32>
  %t2 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%in_ids : tensor<3x7xi64>) outs(%t1 : tensor<3x7x12xf32>) {
  ^bb0(%a: i64, %o: f32):
    %i1 = arith.index_cast %a : i64 to index
    %i2 = linalg.index 2 : index
    %x = tensor.extract %in_e[%i1, %i2] : tensor<29x12xf32>
    linalg.yield %x : f32
  } -> tensor<3x7x12xf32>
  %t3 = arith.constant 0.0 : f32
  %t4 = tensor.empty() : tensor<3x7x20xf32>
  %t5 = linalg.fill ins(%t3 : f32) outs(%t4 : tensor<3x7x20xf32>) -> tensor<3x7x20xf32>
  %t6 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t2, %in_w1 : tensor<3x7x12xf32>, tensor<12x20xf32>) outs(%t5 : tensor<3x7x20xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x7x20xf32>
  %t7 = tensor.empty() : tensor<3x7x20xf32>
  %t8 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t6 : tensor<3x7x20xf32>) outs(%t7 : tensor<3x7x20xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %e = arith.constant 1.0 : f32
    %n = arith.negf %a1 : f32
    %x = math.exp %n : f32
    %y = arith.addf %x, %e : f32
    %r = arith.divf %a1, %y : f32
    linalg.yield %r : f32
  } -> tensor<3x7x20xf32>
  %t9 = arith.constant 0.0 : f32
  %t10 = tensor.empty() : tensor<3x7x12xf32>
  %t11 = linalg.fill ins(%t9 : f32) outs(%t10 : tensor<3x7x12xf32>) -> tensor<3x7x12xf32>
  %t12 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t8, %in_w2 : tensor<3x7x20xf32>, tensor<20x12xf32>) outs(%t11 : tensor<3x7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x7x12xf32>
  %t13 = tensor.empty() : tensor<3x7x12xf32>
  %t14 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t2, %t12 : tensor<3x7x12xf32>, tensor<3x7x12xf32>) outs(%t13 : tensor<3x7x12xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.addf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<3x7x12xf32>
  %t15 = arith.constant 0.0 : f32
  %t16 = tensor.empty() : tensor<3x7x29xf32>
  %t17 = linalg.fill ins(%t15 : f32) outs(%t16 : tensor<3x7x29xf32>) -> tensor<3x7x29xf32>
  %t18 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t14, %in_w : tensor<3x7x12xf32>, tensor<12x29xf32>) outs(%t17 : tensor<3x7x29xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x7x29xf32>
  %t19 = arith.constant 0xFF800000 : f32
  %t20 = tensor.empty() : tensor<3x7xf32>
  %t21 = linalg.fill ins(%t19 : f32) outs(%t20 : tensor<3x7xf32>) -> tensor<3x7xf32>
  %t22 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>],iterator_types=["parallel","parallel","reduction"]} ins(%t18 : tensor<3x7x29xf32>) outs(%t21 : tensor<3x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.maximumf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<3x7xf32>
  %t23 = tensor.empty() : tensor<3x7x29xf32>
  %t24 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t18, %t22 : tensor<3x7x29xf32>, tensor<3x7xf32>) outs(%t23 : tensor<3x7x29xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.subf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<3x7x29xf32>
  %t25 = tensor.empty() : tensor<3x7x29xf32>
  %t26 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t24 : tensor<3x7x29xf32>) outs(%t25 : tensor<3x7x29xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %r = math.exp %a1 : f32
    linalg.yield %r : f32
  } -> tensor<3x7x29xf32>
  %t27 = arith.constant 0.0 : f32
  %t28 = tensor.empty() : tensor<3x7xf32>
  %t29 = linalg.fill ins(%t27 : f32) outs(%t28 : tensor<3x7xf32>) -> tensor<3x7xf32>
  %t30 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1)>],iterator_types=["parallel","parallel","reduction"]} ins(%t26 : tensor<3x7x29xf32>) outs(%t29 : tensor<3x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<3x7xf32>
  %t31 = tensor.empty() : tensor<3x7xf32>
  %t32 = linalg.generic {indexing_maps=[affine_map<(d0,d1)->(d0,d1)>,affine_map<(d0,d1)->(d0,d1)>],iterator_types=["parallel","parallel"]} ins(%t30 : tensor<3x7xf32>) outs(%t31 : tensor<3x7xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %r = math.log %a1 : f32
    linalg.yield %r : f32
  } -> tensor<3x7xf32>
  %t33 = tensor.empty() : tensor<3x7xf32>
  %t34 = linalg.generic {indexing_maps=[affine_map<(d0,d1)->(d0,d1)>,affine_map<(d0,d1)->(d0,d1)>],iterator_types=["parallel","parallel"]} ins(%in_t : tensor<3x7xi64>) outs(%t33 : tensor<3x7xf32>) {
  ^bb0(%a: i64, %o: f32):
    %i1 = linalg.index 0 : index
    %i2 = linalg.index 1 : index
    %i3 = arith.index_cast %a : i64 to index
    %x = tensor.extract %t24[%i1, %i2, %i3] : tensor<3x7x29xf32>
    linalg.yield %x : f32
  } -> tensor<3x7xf32>
  %t35 = tensor.empty() : tensor<3x7xf32>
  %t36 = linalg.generic {indexing_maps=[affine_map<(d0,d1)->(d0,d1)>,affine_map<(d0,d1)->(d0,d1)>,affine_map<(d0,d1)->(d0,d1)>],iterator_types=["parallel","parallel"]} ins(%t32, %t34 : tensor<3x7xf32>, tensor<3x7xf32>) outs(%t35 : tensor<3x7xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.subf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<3x7xf32>
  %t37 = arith.constant 0.0 : f32
  %t38 = tensor.empty() : tensor<f32>
  %t39 = linalg.fill ins(%t37 : f32) outs(%t38 : tensor<f32>) -> tensor<f32>
  %t40 = linalg.generic {indexing_maps=[affine_map<(d0,d1)->(d0,d1)>,affine_map<(d0,d1)->()>],iterator_types=["reduction","reduction"]} ins(%t36 : tensor<3x7xf32>) outs(%t39 : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %t40 : tensor<f32>
}
