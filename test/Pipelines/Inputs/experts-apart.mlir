func.func @main(%arg0: tensor<2x5x16xf32> {spmd.role = "input"}, %arg1: tensor<3x16xf32> {spmd.role = "weight"}, %arg2: tensor<50x16xf32> {spmd.role = "weight"}, %arg3: tensor<16x50xf32> {spmd.role = "weight"}, %arg4: tensor<50xf32> {spmd.role = "weight"}, %arg5: tensor<16xf32> {spmd.role = "weight"}, %arg6: tensor<50x16xf32> {spmd.role = "weight"}, %arg7: tensor<16x50xf32> {spmd.role = "weight"}, %arg8: tensor<50xf32> {spmd.role = "weight"}, %arg9: tensor<16xf32> {spmd.role = "weight"}, %arg10: tensor<50x16xf32> {spmd.role = "weight"}, %arg11: tensor<16x50xf32> {spmd.role = "weight"}, %arg12: tensor<50xf32> {spmd.role = "weight"}, %arg13: tensor<16xf32> {spmd.role = "weight"}, %arg14: tensor<11x16xf32> {spmd.role = "weight"}) -> tensor<2x5x11xf32> {
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
  %v10 = tensor.empty() : tensor<10x3xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<10x3xf32>) -> tensor<10x3xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %arg1 : tensor<10x16xf32>, tensor<3x16xf32>) outs(%v11 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x3xf32>
  %v13 = arith.constant 0xFF800000 : f32
  %v14 = tensor.empty() : tensor<10xf32>
  %v15 = linalg.fill ins(%v13 : f32) outs(%v14 : tensor<10xf32>) -> tensor<10xf32>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v12 : tensor<10x3xf32>) outs(%v15 : tensor<10xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %q = arith.maximumf %o, %a0 : f32
    linalg.yield %q : f32
  } -> tensor<10xf32>
  %v17 = tensor.empty() : tensor<10x3xf32>
  %v18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v12, %v16 : tensor<10x3xf32>, tensor<10xf32>) outs(%v17 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.subf %a0, %a1 : f32
    %r = math.exp %s : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v19 = arith.constant 0.0 : f32
  %v20 = tensor.empty() : tensor<10xf32>
  %v21 = linalg.fill ins(%v19 : f32) outs(%v20 : tensor<10xf32>) -> tensor<10xf32>
  %v22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v18 : tensor<10x3xf32>) outs(%v21 : tensor<10xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %q = arith.addf %o, %a0 : f32
    linalg.yield %q : f32
  } -> tensor<10xf32>
  %v23 = tensor.empty() : tensor<10x3xf32>
  %v24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v18, %v22 : tensor<10x3xf32>, tensor<10xf32>) outs(%v23 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.divf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v25 = arith.constant 0xFF800000 : f32
  %v26 = tensor.empty() : tensor<10xf32>
  %v27 = linalg.fill ins(%v25 : f32) outs(%v26 : tensor<10xf32>) -> tensor<10xf32>
  %v28 = arith.constant 0 : i64
  %v29 = tensor.empty() : tensor<10xi64>
  %v30 = linalg.fill ins(%v28 : i64) outs(%v29 : tensor<10xi64>) -> tensor<10xi64>
  %v31:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v24 : tensor<10x3xf32>) outs(%v27, %v30 : tensor<10xf32>, tensor<10xi64>) {
  ^bb0(%a: f32, %v: f32, %i: i64):
    %j = linalg.index 1 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %a, %v : f32
    %nv = arith.select %g, %a, %v : f32
    %ni = arith.select %g, %jj, %i : i64
    linalg.yield %nv, %ni : f32, i64
  } -> (tensor<10xf32>, tensor<10xi64>)
  %v32 = tensor.empty() : tensor<10x3xf32>
  %v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v31#1 : tensor<10xi64>) outs(%v32 : tensor<10x3xf32>) {
  ^bb0(%a0: i64, %o: f32):
    %j = linalg.index 1 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %a0, %jj : i64
    %h = arith.uitofp %g : i1 to f32
    linalg.yield %h : f32
  } -> tensor<10x3xf32>
  %v34 = tensor.empty() : tensor<10x3xf32>
  %v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v24, %v33 : tensor<10x3xf32>, tensor<10x3xf32>) outs(%v34 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.5 : f32
    %l = arith.constant 0xFF800000 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %r = arith.select %g, %l, %a0 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v36 = arith.constant 0xFF800000 : f32
  %v37 = tensor.empty() : tensor<10xf32>
  %v38 = linalg.fill ins(%v36 : f32) outs(%v37 : tensor<10xf32>) -> tensor<10xf32>
  %v39 = arith.constant 0 : i64
  %v40 = tensor.empty() : tensor<10xi64>
  %v41 = linalg.fill ins(%v39 : i64) outs(%v40 : tensor<10xi64>) -> tensor<10xi64>
  %v42:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v35 : tensor<10x3xf32>) outs(%v38, %v41 : tensor<10xf32>, tensor<10xi64>) {
  ^bb0(%a: f32, %v: f32, %i: i64):
    %j = linalg.index 1 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %a, %v : f32
    %nv = arith.select %g, %a, %v : f32
    %ni = arith.select %g, %jj, %i : i64
    linalg.yield %nv, %ni : f32, i64
  } -> (tensor<10xf32>, tensor<10xi64>)
  %v43 = tensor.empty() : tensor<10x3xf32>
  %v44 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v42#1 : tensor<10xi64>) outs(%v43 : tensor<10x3xf32>) {
  ^bb0(%a0: i64, %o: f32):
    %j = linalg.index 1 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %a0, %jj : i64
    %h = arith.uitofp %g : i1 to f32
    linalg.yield %h : f32
  } -> tensor<10x3xf32>
  %v45 = tensor.empty() : tensor<10x3xf32>
  %v46 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v35, %v44 : tensor<10x3xf32>, tensor<10x3xf32>) outs(%v45 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.5 : f32
    %l = arith.constant 0xFF800000 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %r = arith.select %g, %l, %a0 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v47 = tensor.empty() : tensor<10xf32>
  %v48 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v31#0, %v42#0 : tensor<10xf32>, tensor<10xf32>) outs(%v47 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v49 = tensor.empty() : tensor<10xf32>
  %v50 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v31#0, %v48 : tensor<10xf32>, tensor<10xf32>) outs(%v49 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.divf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v51 = tensor.empty() : tensor<10xf32>
  %v52 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v42#0, %v48 : tensor<10xf32>, tensor<10xf32>) outs(%v51 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.divf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v53 = tensor.empty() : tensor<10x3xf32>
  %v54 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v33, %v50 : tensor<10x3xf32>, tensor<10xf32>) outs(%v53 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v55 = tensor.empty() : tensor<10x3xf32>
  %v56 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v44, %v52 : tensor<10x3xf32>, tensor<10xf32>) outs(%v55 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v57 = tensor.empty() : tensor<10x3xf32>
  %v58 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v54, %v56 : tensor<10x3xf32>, tensor<10x3xf32>) outs(%v57 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v59 = tensor.empty() : tensor<10x3xf32>
  %v60 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v33, %v44 : tensor<10x3xf32>, tensor<10x3xf32>) outs(%v59 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x3xf32>
  %v61 = arith.constant 0.0 : f32
  %v62 = tensor.empty() : tensor<10x50xf32>
  %v63 = linalg.fill ins(%v61 : f32) outs(%v62 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %arg2 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v63 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v65 = tensor.empty() : tensor<10x50xf32>
  %v66 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v64, %arg4 : tensor<10x50xf32>, tensor<50xf32>) outs(%v65 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v67 = tensor.empty() : tensor<10x50xf32>
  %v68 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v66 : tensor<10x50xf32>) outs(%v67 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v69 = arith.constant 0.0 : f32
  %v70 = tensor.empty() : tensor<10x16xf32>
  %v71 = linalg.fill ins(%v69 : f32) outs(%v70 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v68, %arg3 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v71 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v73 = tensor.empty() : tensor<10x16xf32>
  %v74 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v72, %arg5 : tensor<10x16xf32>, tensor<16xf32>) outs(%v73 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v75 = arith.constant 0.0 : f32
  %v76 = tensor.empty() : tensor<10x50xf32>
  %v77 = linalg.fill ins(%v75 : f32) outs(%v76 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %arg6 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v77 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v79 = tensor.empty() : tensor<10x50xf32>
  %v80 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v78, %arg8 : tensor<10x50xf32>, tensor<50xf32>) outs(%v79 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v81 = tensor.empty() : tensor<10x50xf32>
  %v82 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v80 : tensor<10x50xf32>) outs(%v81 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v83 = arith.constant 0.0 : f32
  %v84 = tensor.empty() : tensor<10x16xf32>
  %v85 = linalg.fill ins(%v83 : f32) outs(%v84 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v82, %arg7 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v85 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v87 = tensor.empty() : tensor<10x16xf32>
  %v88 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v86, %arg9 : tensor<10x16xf32>, tensor<16xf32>) outs(%v87 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v89 = arith.constant 0.0 : f32
  %v90 = tensor.empty() : tensor<10x50xf32>
  %v91 = linalg.fill ins(%v89 : f32) outs(%v90 : tensor<10x50xf32>) -> tensor<10x50xf32>
  %v92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %arg10 : tensor<10x16xf32>, tensor<50x16xf32>) outs(%v91 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x50xf32>
  %v93 = tensor.empty() : tensor<10x50xf32>
  %v94 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v92, %arg12 : tensor<10x50xf32>, tensor<50xf32>) outs(%v93 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v95 = tensor.empty() : tensor<10x50xf32>
  %v96 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v94 : tensor<10x50xf32>) outs(%v95 : tensor<10x50xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<10x50xf32>
  %v97 = arith.constant 0.0 : f32
  %v98 = tensor.empty() : tensor<10x16xf32>
  %v99 = linalg.fill ins(%v97 : f32) outs(%v98 : tensor<10x16xf32>) -> tensor<10x16xf32>
  %v100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v96, %arg11 : tensor<10x50xf32>, tensor<16x50xf32>) outs(%v99 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<10x16xf32>
  %v101 = tensor.empty() : tensor<10x16xf32>
  %v102 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v100, %arg13 : tensor<10x16xf32>, tensor<16xf32>) outs(%v101 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v103 = tensor.empty() : tensor<10xf32>
  %v104 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v31#1, %v50 : tensor<10xi64>, tensor<10xf32>) outs(%v103 : tensor<10xf32>) {
  ^bb0(%a0: i64, %a1: f32, %o: f32):
    %ee = arith.constant 0 : i64
    %z = arith.constant 0.0 : f32
    %g = arith.cmpi eq, %a0, %ee : i64
    %r = arith.select %g, %a1, %z : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v105 = tensor.empty() : tensor<10xf32>
  %v106 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v42#1, %v52 : tensor<10xi64>, tensor<10xf32>) outs(%v105 : tensor<10xf32>) {
  ^bb0(%a0: i64, %a1: f32, %o: f32):
    %ee = arith.constant 0 : i64
    %z = arith.constant 0.0 : f32
    %g = arith.cmpi eq, %a0, %ee : i64
    %r = arith.select %g, %a1, %z : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v107 = tensor.empty() : tensor<10xf32>
  %v108 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v104, %v106 : tensor<10xf32>, tensor<10xf32>) outs(%v107 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v109 = tensor.empty() : tensor<10x16xf32>
  %v110 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v74, %v108 : tensor<10x16xf32>, tensor<10xf32>) outs(%v109 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %m = arith.mulf %a0, %a1 : f32
    %r = arith.select %g, %m, %z : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v111 = tensor.empty() : tensor<10xf32>
  %v112 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v31#1, %v50 : tensor<10xi64>, tensor<10xf32>) outs(%v111 : tensor<10xf32>) {
  ^bb0(%a0: i64, %a1: f32, %o: f32):
    %ee = arith.constant 1 : i64
    %z = arith.constant 0.0 : f32
    %g = arith.cmpi eq, %a0, %ee : i64
    %r = arith.select %g, %a1, %z : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v113 = tensor.empty() : tensor<10xf32>
  %v114 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v42#1, %v52 : tensor<10xi64>, tensor<10xf32>) outs(%v113 : tensor<10xf32>) {
  ^bb0(%a0: i64, %a1: f32, %o: f32):
    %ee = arith.constant 1 : i64
    %z = arith.constant 0.0 : f32
    %g = arith.cmpi eq, %a0, %ee : i64
    %r = arith.select %g, %a1, %z : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v115 = tensor.empty() : tensor<10xf32>
  %v116 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v112, %v114 : tensor<10xf32>, tensor<10xf32>) outs(%v115 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v117 = tensor.empty() : tensor<10x16xf32>
  %v118 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v88, %v116 : tensor<10x16xf32>, tensor<10xf32>) outs(%v117 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %m = arith.mulf %a0, %a1 : f32
    %r = arith.select %g, %m, %z : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v119 = tensor.empty() : tensor<10x16xf32>
  %v120 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v110, %v118 : tensor<10x16xf32>, tensor<10x16xf32>) outs(%v119 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v121 = tensor.empty() : tensor<10xf32>
  %v122 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v31#1, %v50 : tensor<10xi64>, tensor<10xf32>) outs(%v121 : tensor<10xf32>) {
  ^bb0(%a0: i64, %a1: f32, %o: f32):
    %ee = arith.constant 2 : i64
    %z = arith.constant 0.0 : f32
    %g = arith.cmpi eq, %a0, %ee : i64
    %r = arith.select %g, %a1, %z : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v123 = tensor.empty() : tensor<10xf32>
  %v124 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v42#1, %v52 : tensor<10xi64>, tensor<10xf32>) outs(%v123 : tensor<10xf32>) {
  ^bb0(%a0: i64, %a1: f32, %o: f32):
    %ee = arith.constant 2 : i64
    %z = arith.constant 0.0 : f32
    %g = arith.cmpi eq, %a0, %ee : i64
    %r = arith.select %g, %a1, %z : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v125 = tensor.empty() : tensor<10xf32>
  %v126 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v122, %v124 : tensor<10xf32>, tensor<10xf32>) outs(%v125 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %v127 = tensor.empty() : tensor<10x16xf32>
  %v128 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v102, %v126 : tensor<10x16xf32>, tensor<10xf32>) outs(%v127 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %m = arith.mulf %a0, %a1 : f32
    %r = arith.select %g, %m, %z : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v129 = tensor.empty() : tensor<10x16xf32>
  %v130 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v120, %v128 : tensor<10x16xf32>, tensor<10x16xf32>) outs(%v129 : tensor<10x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x16xf32>
  %v131 = tensor.expand_shape %v130 [[0, 1], [2]] output_shape [2, 5, 16] : tensor<10x16xf32> into tensor<2x5x16xf32>
  %v132 = tensor.empty() : tensor<2x5x16xf32>
  %v133 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %v131 : tensor<2x5x16xf32>, tensor<2x5x16xf32>) outs(%v132 : tensor<2x5x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x16xf32>
  %v134 = arith.constant 0.0 : f32
  %v135 = tensor.empty() : tensor<2x5xf32>
  %v136 = linalg.fill ins(%v134 : f32) outs(%v135 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v137 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v133 : tensor<2x5x16xf32>) outs(%v136 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %p = arith.mulf %a0, %a0 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5xf32>
  %v138 = tensor.empty() : tensor<2x5xf32>
  %v139 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v137 : tensor<2x5xf32>) outs(%v138 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %c = arith.constant 0.125 : f32
    %e = arith.constant 1.0e-5 : f32
    %m = arith.mulf %a0, %c : f32
    %n = arith.addf %m, %e : f32
    %r = math.rsqrt %n : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v140 = tensor.empty() : tensor<2x5x16xf32>
  %v141 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v133, %v139 : tensor<2x5x16xf32>, tensor<2x5xf32>) outs(%v140 : tensor<2x5x16xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x16xf32>
  %v142 = arith.constant 0.0 : f32
  %v143 = tensor.empty() : tensor<2x5x11xf32>
  %v144 = linalg.fill ins(%v142 : f32) outs(%v143 : tensor<2x5x11xf32>) -> tensor<2x5x11xf32>
  %v145 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v141, %arg14 : tensor<2x5x16xf32>, tensor<11x16xf32>) outs(%v144 : tensor<2x5x11xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x11xf32>
  return %v145 : tensor<2x5x11xf32>
}
