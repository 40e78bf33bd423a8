func.func @main(%in_src: tensor<2x9xi64> {spmd.role = "input"},
    %in_tgt: tensor<2x7xi64> {spmd.role = "input"},
    %in_es: tensor<29x12xf32> {spmd.role = "weight"},
    %in_et: tensor<31x12xf32> {spmd.role = "weight"},
    %in_f1: tensor<12x20xf32> {spmd.role = "weight"},
    %in_f2: tensor<20x12xf32> {spmd.role = "weight"},
    %in_wq: tensor<12x12xf32> {spmd.role = "weight"},
    %in_wk: tensor<12x12xf32> {spmd.role = "weight"},
    %in_wv: tensor<12x12xf32> {spmd.role = "weight"},
    %in_wo: tensor<12x12xf32> {spmd.role = "weight"},
    %in_w: tensor<12x31xf32> {spmd.role = "weight"}) -> (tensor<2x7x31xf32>) {
  %t1 = tensor.empty() : tensor<2x9x12xf32>
  %t2 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%in_src : tensor<2x9xi64>) outs(%t1 : tensor<2x9x12xf32>) {
  ^bb0(%a: i64, %o: f32):
    %i1 = arith.index_cast %a : i64 to index
    %i2 = linalg.index 2 : index
    %x = tensor.extract %in_es[%i1, %i2] : tensor<29x12xf32>
    linalg.yield %x : f32
  } -> tensor<2x9x12xf32>
  %t3 = arith.constant 0.0 : f32
  %t4 = tensor.empty() : tensor<2x9x20xf32>
  %t5 = linalg.fill ins(%t3 : f32) outs(%t4 : tensor<2x9x20xf32>) -> tensor<2x9x20xf32>
  %t6 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t2, %in_f1 : tensor<2x9x12xf32>, tensor<12x20xf32>) outs(%t5 : tensor<2x9x20xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x9x20xf32>
  %t7 = tensor.empty() : tensor<2x9x20xf32>
  %t8 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t6 : tensor<2x9x20xf32>) outs(%t7 : tensor<2x9x20xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %e = arith.constant 1.0 : f32
    %n = arith.negf %a1 : f32
    %x = math.exp %n : f32
    %y = arith.addf %x, %e : f32
    %r = arith.divf %a1, %y : f32
    linalg.yield %r : f32
  } -> tensor<2x9x20xf32>
  %t9 = arith.constant 0.0 : f32
  %t10 = tensor.empty() : tensor<2x9x12xf32>
  %t11 = linalg.fill ins(%t9 : f32) outs(%t10 : tensor<2x9x12xf32>) -> tensor<2x9x12xf32>
  %t12 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t8, %in_f2 : tensor<2x9x20xf32>, tensor<20x12xf32>) outs(%t11 : tensor<2x9x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x9x12xf32>
  %t13 = tensor.empty() : tensor<2x9x12xf32>
  %t14 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t2, %t12 : tensor<2x9x12xf32>, tensor<2x9x12xf32>) outs(%t13 : tensor<2x9x12xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.addf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<2x9x12xf32>
  %t15 = tensor.empty() : tensor<2x7x12xf32>
  %t16 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%in_tgt : tensor<2x7xi64>) outs(%t15 : tensor<2x7x12xf32>) {
  ^bb0(%a: i64, %o: f32):
    %i1 = arith.index_cast %a : i64 to index
    %i2 = linalg.index 2 : index
    %x = tensor.extract %in_et[%i1, %i2] : tensor<31x12xf32>
    linalg.yield %x : f32
  } -> tensor<2x7x12xf32>
  %t17 = arith.constant 0.0 : f32
  %t18 = tensor.empty() : tensor<2x7x12xf32>
  %t19 = linalg.fill ins(%t17 : f32) outs(%t18 : tensor<2x7x12xf32>) -> tensor<2x7x12xf32>
  %t20 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t16, %in_wq : tensor<2x7x12xf32>, tensor<12x12xf32>) outs(%t19 : tensor<2x7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x12xf32>
  %t21 = arith.constant 0.0 : f32
  %t22 = tensor.empty() : tensor<2x9x12xf32>
  %t23 = linalg.fill ins(%t21 : f32) outs(%t22 : tensor<2x9x12xf32>) -> tensor<2x9x12xf32>
  %t24 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t14, %in_wk : tensor<2x9x12xf32>, tensor<12x12xf32>) outs(%t23 : tensor<2x9x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x9x12xf32>
  %t25 = arith.constant 0.0 : f32
  %t26 = tensor.empty() : tensor<2x9x12xf32>
  %t27 = linalg.fill ins(%t25 : f32) outs(%t26 : tensor<2x9x12xf32>) -> tensor<2x9x12xf32>
  %t28 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t14, %in_wv : tensor<2x9x12xf32>, tensor<12x12xf32>) outs(%t27 : tensor<2x9x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x9x12xf32>
  %t29 = tensor.expand_shape %t20 [[0],[1],[2,3]] output_shape [2, 7, 3, 4] : tensor<2x7x12xf32> into tensor<2x7x3x4xf32>
  %t30 = tensor.expand_shape %t24 [[0],[1],[2,3]] output_shape [2, 9, 3, 4] : tensor<2x9x12xf32> into tensor<2x9x3x4xf32>
  %t31 = tensor.expand_shape %t28 [[0],[1],[2,3]] output_shape [2, 9, 3, 4] : tensor<2x9x12xf32> into tensor<2x9x3x4xf32>
  %t32 = arith.constant 0.0 : f32
  %t33 = tensor.empty() : tensor<2x3x7x9xf32>
  %t34 = linalg.fill ins(%t32 : f32) outs(%t33 : tensor<2x3x7x9xf32>) -> tensor<2x3x7x9xf32>
  %t35 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3,d4)->(d0,d2,d1,d4)>,affine_map<(d0,d1,d2,d3,d4)->(d0,d3,d1,d4)>,affine_map<(d0,d1,d2,d3,d4)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel","reduction"]} ins(%t29, %t30 : tensor<2x7x3x4xf32>, tensor<2x9x3x4xf32>) outs(%t34 : tensor<2x3x7x9xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x3x7x9xf32>
  %t36 = arith.constant 0xFF800000 : f32
  %t37 = tensor.empty() : tensor<2x3x7xf32>
  %t38 = linalg.fill ins(%t36 : f32) outs(%t37 : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  %t39 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t35 : tensor<2x3x7x9xf32>) outs(%t38 : tensor<2x3x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.maximumf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x3x7xf32>
  %t40 = tensor.empty() : tensor<2x3x7x9xf32>
  %t41 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel"]} ins(%t35, %t39 : tensor<2x3x7x9xf32>, tensor<2x3x7xf32>) outs(%t40 : tensor<2x3x7x9xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.subf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x7x9xf32>
  %t42 = tensor.empty() : tensor<2x3x7x9xf32>
  %t43 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel"]} ins(%t41 : tensor<2x3x7x9xf32>) outs(%t42 : tensor<2x3x7x9xf32>) {
  ^bb0(%a1: f32, %o: f32):
    %r = math.exp %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x7x9xf32>
  %t44 = arith.constant 0.0 : f32
  %t45 = tensor.empty() : tensor<2x3x7xf32>
  %t46 = linalg.fill ins(%t44 : f32) outs(%t45 : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  %t47 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t43 : tensor<2x3x7x9xf32>) outs(%t46 : tensor<2x3x7xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<2x3x7xf32>
  %t48 = tensor.empty() : tensor<2x3x7x9xf32>
  %t49 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel"]} ins(%t43, %t47 : tensor<2x3x7x9xf32>, tensor<2x3x7xf32>) outs(%t48 : tensor<2x3x7x9xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.divf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<2x3x7x9xf32>
  %t50 = arith.constant 0.0 : f32
  %t51 = tensor.empty() : tensor<2x7x3x4xf32>
  %t52 = linalg.fill ins(%t50 : f32) outs(%t51 : tensor<2x7x3x4xf32>) -> tensor<2x7x3x4xf32>
  %t53 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3,d4)->(d0,d2,d1,d4)>,affine_map<(d0,d1,d2,d3,d4)->(d0,d4,d2,d3)>,affine_map<(d0,d1,d2,d3,d4)->(d0,d1,d2,d3)>],iterator_types=["parallel","parallel","parallel","parallel","reduction"]} ins(%t49, %t31 : tensor<2x3x7x9xf32>, tensor<2x9x3x4xf32>) outs(%t52 : tensor<2x7x3x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x3x4xf32>
  %t54 = tensor.collapse_shape %t53 [[0],[1],[2,3]] : tensor<2x7x3x4xf32> into tensor<2x7x12xf32>
  %t55 = arith.constant 0.0 : f32
  %t56 = tensor.empty() : tensor<2x7x12xf32>
  %t57 = linalg.fill ins(%t55 : f32) outs(%t56 : tensor<2x7x12xf32>) -> tensor<2x7x12xf32>
  %t58 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t54, %in_wo : tensor<2x7x12xf32>, tensor<12x12xf32>) outs(%t57 : tensor<2x7x12xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x12xf32>
  %t59 = tensor.empty() : tensor<2x7x12xf32>
  %t60 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>,affine_map<(d0,d1,d2)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel"]} ins(%t16, %t58 : tensor<2x7x12xf32>, tensor<2x7x12xf32>) outs(%t59 : tensor<2x7x12xf32>) {
  ^bb0(%a1: f32, %a2: f32, %o: f32):
    %r = arith.addf %a1, %a2 : f32
    linalg.yield %r : f32
  } -> tensor<2x7x12xf32>
  %t61 = arith.constant 0.0 : f32
  %t62 = tensor.empty() : tensor<2x7x31xf32>
  %t63 = linalg.fill ins(%t61 : f32) outs(%t62 : tensor<2x7x31xf32>) -> tensor<2x7x31xf32>
  %t64 = linalg.generic {indexing_maps=[affine_map<(d0,d1,d2,d3)->(d0,d1,d3)>,affine_map<(d0,d1,d2,d3)->(d3,d2)>,affine_map<(d0,d1,d2,d3)->(d0,d1,d2)>],iterator_types=["parallel","parallel","parallel","reduction"]} ins(%t60, %in_w : tensor<2x7x12xf32>, tensor<12x31xf32>) outs(%t63 : tensor<2x7x31xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x7x31xf32>
  return %t64 : tensor<2x7x31xf32>
}
