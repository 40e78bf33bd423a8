func.func @main(%arg0: tensor<2x5x16xf32> {spmd.role = "input"}, %arg1: tensor<5x16xf32> {spmd.role = "weight"}, %arg2: tensor<5x50x16xf32> {spmd.role = "weight"}, %arg3: tensor<5x16x50xf32> {spmd.role = "weight"}, %arg4: tensor<11x16xf32> {spmd.role = "weight"}) -> tensor<2x5x11xf32> {
  %v0 = arith.constant 0.0 : f32
  %v1 = tensor.empty() : tensor<2x5xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<2x5x16xf32>) outs(%v2 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %p = arith.mulf %a0, %a0 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5xf32>
  %v4 = tensor.empty() : tensor<2x5xf32>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v3 : tensor<2x5xf32>) outs(%v4 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %c = arith.constant 0.125 : f32
    %e = arith.constant 1.0e-5 : f32
    %m = arith.mulf %a0, %c : f32
    %n = arith.addf %m, %e : f32
    %r = math.rsqrt %n : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v6 = tensor.empty() : tensor<2x5x16xf32>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %v5 : tensor<2x5x16xf32>, tensor<2x5xf32>) outs(%v6 : tensor<2x5x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x16xf32>
  %v8 = tensor.collapse_shape %v7 [[0, 1], [2]] : tensor<2x5x16xf32> into tensor<10x16xf32>
  %v9 = arith.constant 0.0 : f32
  %v10 = tensor.empty() : tensor<10x5xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<10x5xf32>) -> tensor<10x5xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %arg1 : tensor<10x16xf32>, tensor<5x16xf32>) outs(%v11 : tensor<10x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x5xf32>
  %v13 = tensor.empty() : tensor<10x5xf32>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v12 : tensor<10x5xf32>) outs(%v13 : tensor<10x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %1, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x5xf32>
  %v15 = arith.constant 0xFF800000 : f32
  %v16 = tensor.empty() : tensor<10xf32>
  %v17 = linalg.fill ins(%v15 : f32) outs(%v16 : tensor<10xf32>) -> tensor<10xf32>
  %v18 = arith.constant 0 : i64
  %v19 = tensor.empty() : tensor<10xi64>
  %v20 = linalg.fill ins(%v18 : i64) outs(%v19 : tensor<10xi64>) -> tensor<10xi64>
  %v21:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v14 : tensor<10x5xf32>) outs(%v17, %v20 : tensor<10xf32>, tensor<10xi64>) {
  ^bb0(%a: f32, %v: f32, %i: i64):
    %j = linalg.index 1 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %a, %v : f32
    %nv = arith.select %g, %a, %v : f32
    %ni = arith.select %g, %jj, %i : i64
    linalg.yield %nv, %ni : f32, i64
  } -> (tensor<10xf32>, tensor<10xi64>)
  %v22 = tensor.empty() : tensor<10x5xf32>
  %v23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v21#1 : tensor<10xi64>) outs(%v22 : tensor<10x5xf32>) {
  ^bb0(%a0: i64, %o: f32):
    %j = linalg.index 1 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %a0, %jj : i64
    %h = arith.uitofp %g : i1 to f32
    linalg.yield %h : f32
  } -> tensor<10x5xf32>
  %v24 = tensor.empty() : tensor<10x5xf32>
  %v25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v14, %v23 : tensor<10x5xf32>, tensor<10x5xf32>) outs(%v24 : tensor<10x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.5 : f32
    %l = arith.constant 0xFF800000 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %r = arith.select %g, %l, %a0 : f32
    linalg.yield %r : f32
  } -> tensor<10x5xf32>
  %v26 = tensor.empty() : tensor<10x5xf32>
  %v27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v23, %v21#0 : tensor<10x5xf32>, tensor<10xf32>) outs(%v26 : tensor<10x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x5xf32>
  %v28 = tensor.extract_slice %arg2[0, 0, 0] [1, 50, 16] [1, 1, 1] : tensor<5x50x16xf32> to tensor<50x16xf32>
  %v29 = tensor.extract_slice %arg3[0, 0, 0] [1, 16, 50] [1, 1, 1] : tensor<5x16x50xf32> to tensor<16x50xf32>
  %v30 = arith.constant 0.0 : f32
  %v31 = tensor.empty() : tensor<10x50xf32>
  %v32 = linalg.fill ins(%v30 : f32) outs(%v31 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %v28 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v32 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v34 = tensor.empty() : tensor<10x50xf32>
  %v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v33 : tensor<10x50xf32>) outs(%v34 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v36 = arith.constant 0.0 : f32
  %v37 = tensor.empty() : tensor<10x16xf32>
  %v38 = linalg.fill ins(%v36 : f32) outs(%v37 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v35, %v29 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v38 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v40 = tensor.extract_slice %v27[0, 0] [10, 1] [1, 1] : tensor<10x5xf32> to tensor<10xf32>
  %v41 = tensor.empty() : tensor<10x16xf32>
  %v42 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v39, %v40 : tensor<10x16xf32>, tensor<10xf32>) outs(%v41 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v43 = tensor.extract_slice %arg2[1, 0, 0] [1, 50, 16] [1, 1, 1] : tensor<5x50x16xf32> to tensor<50x16xf32>
  %v44 = tensor.extract_slice %arg3[1, 0, 0] [1, 16, 50] [1, 1, 1] : tensor<5x16x50xf32> to tensor<16x50xf32>
  %v45 = arith.constant 0.0 : f32
  %v46 = tensor.empty() : tensor<10x50xf32>
  %v47 = linalg.fill ins(%v45 : f32) outs(%v46 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %v43 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v47 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v49 = tensor.empty() : tensor<10x50xf32>
  %v50 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v48 : tensor<10x50xf32>) outs(%v49 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v51 = arith.constant 0.0 : f32
  %v52 = tensor.empty() : tensor<10x16xf32>
  %v53 = linalg.fill ins(%v51 : f32) outs(%v52 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v50, %v44 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v53 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v55 = tensor.extract_slice %v27[0, 1] [10, 1] [1, 1] : tensor<10x5xf32> to tensor<10xf32>
  %v56 = tensor.empty() : tensor<10x16xf32>
  %v57 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v54, %v55 : tensor<10x16xf32>, tensor<10xf32>) outs(%v56 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v58 = tensor.empty() : tensor<10x16xf32>
  %v59 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v42, %v57 : tensor<10x16xf32>, tensor<10x16xf32>) outs(%v58 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v60 = tensor.extract_slice %arg2[2, 0, 0] [1, 50, 16] [1, 1, 1] : tensor<5x50x16xf32> to tensor<50x16xf32>
  %v61 = tensor.extract_slice %arg3[2, 0, 0] [1, 16, 50] [1, 1, 1] : tensor<5x16x50xf32> to tensor<16x50xf32>
  %v62 = arith.constant 0.0 : f32
  %v63 = tensor.empty() : tensor<10x50xf32>
  %v64 = linalg.fill ins(%v62 : f32) outs(%v63 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %v60 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v64 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v66 = tensor.empty() : tensor<10x50xf32>
  %v67 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v65 : tensor<10x50xf32>) outs(%v66 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v68 = arith.constant 0.0 : f32
  %v69 = tensor.empty() : tensor<10x16xf32>
  %v70 = linalg.fill ins(%v68 : f32) outs(%v69 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v67, %v61 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v70 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v72 = tensor.extract_slice %v27[0, 2] [10, 1] [1, 1] : tensor<10x5xf32> to tensor<10xf32>
  %v73 = tensor.empty() : tensor<10x16xf32>
  %v74 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v71, %v72 : tensor<10x16xf32>, tensor<10xf32>) outs(%v73 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v75 = tensor.empty() : tensor<10x16xf32>
  %v76 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v59, %v74 : tensor<10x16xf32>, tensor<10x16xf32>) outs(%v75 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v77 = tensor.extract_slice %arg2[3, 0, 0] [1, 50, 16] [1, 1, 1] : tensor<5x50x16xf32> to tensor<50x16xf32>
  %v78 = tensor.extract_slice %arg3[3, 0, 0] [1, 16, 50] [1, 1, 1] : tensor<5x16x50xf32> to tensor<16x50xf32>
  %v79 = arith.constant 0.0 : f32
  %v80 = tensor.empty() : tensor<10x50xf32>
  %v81 = linalg.fill ins(%v79 : f32) outs(%v80 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v82 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %v77 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v81 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v83 = tensor.empty() : tensor<10x50xf32>
  %v84 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v82 : tensor<10x50xf32>) outs(%v83 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v85 = arith.constant 0.0 : f32
  %v86 = tensor.empty() : tensor<10x16xf32>
  %v87 = linalg.fill ins(%v85 : f32) outs(%v86 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v88 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v84, %v78 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v87 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v89 = tensor.extract_slice %v27[0, 3] [10, 1] [1, 1] : tensor<10x5xf32> to tensor<10xf32>
  %v90 = tensor.empty() : tensor<10x16xf32>
  %v91 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v88, %v89 : tensor<10x16xf32>, tensor<10xf32>) outs(%v90 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v92 = tensor.empty() : tensor<10x16xf32>
  %v93 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v76, %v91 : tensor<10x16xf32>, tensor<10x16xf32>) outs(%v92 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v94 = tensor.extract_slice %arg2[4, 0, 0] [1, 50, 16] [1, 1, 1] : tensor<5x50x16xf32> to tensor<50x16xf32>
  %v95 = tensor.extract_slice %arg3[4, 0, 0] [1, 16, 50] [1, 1, 1] : tensor<5x16x50xf32> to tensor<16x50xf32>
  %v96 = arith.constant 0.0 : f32
  %v97 = tensor.empty() : tensor<10x50xf32>
  %v98 = linalg.fill ins(%v96 : f32) outs(%v97 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %v94 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v98 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v100 = tensor.empty() : tensor<10x50xf32>
  %v101 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v99 : tensor<10x50xf32>) outs(%v100 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v102 = arith.constant 0.0 : f32
  %v103 = tensor.empty() : tensor<10x16xf32>
  %v104 = linalg.fill ins(%v102 : f32) outs(%v103 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v105 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v101, %v95 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v104 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v106 = tensor.extract_slice %v27[0, 4] [10, 1] [1, 1] : tensor<10x5xf32> to tensor<10xf32>
  %v107 = tensor.empty() : tensor<10x16xf32>
  %v108 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v105, %v106 : tensor<10x16xf32>, tensor<10xf32>) outs(%v107 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v109 = tensor.empty() : tensor<10x16xf32>
  %v110 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v93, %v108 : tensor<10x16xf32>, tensor<10x16xf32>) outs(%v109 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v111 = tensor.expand_shape %v110 [[0, 1], [2]] output_shape [2, 5, 16] : tensor<10x16xf32> into tensor<2x5x16xf32>
  %v112 = tensor.empty() : tensor<2x5x16xf32>
  %v113 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %v111 : tensor<2x5x16xf32>, tensor<2x5x16xf32>) outs(%v112 : tensor<2x5x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x16xf32>
  %v114 = arith.constant 0.0 : f32
  %v115 = tensor.empty() : tensor<2x5xf32>
  %v116 = linalg.fill ins(%v114 : f32) outs(%v115 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v117 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v113 : tensor<2x5x16xf32>) outs(%v116 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %p = arith.mulf %a0, %a0 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5xf32>
  %v118 = tensor.empty() : tensor<2x5xf32>
  %v119 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v117 : tensor<2x5xf32>) outs(%v118 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %c = arith.constant 0.125 : f32
    %e = arith.constant 1.0e-5 : f32
    %m = arith.mulf %a0, %c : f32
    %n = arith.addf %m, %e : f32
    %r = math.rsqrt %n : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v120 = tensor.empty() : tensor<2x5x16xf32>
  %v121 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v113, %v119 : tensor<2x5x16xf32>, tensor<2x5xf32>) outs(%v120 : tensor<2x5x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x16xf32>
  %v122 = arith.constant 0.0 : f32
  %v123 = tensor.empty() : tensor<2x5x11xf32>
  %v124 = linalg.fill ins(%v122 : f32) outs(%v123 : tensor<2x5x11xf32>) -> tensor<2x5x11xf32>
  %v125 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v121, %arg4 : tensor<2x5x16xf32>, tensor<11x16xf32>) outs(%v124 : tensor<2x5x11xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x11xf32>
  return %v125 : tensor<2x5x11xf32>
}
