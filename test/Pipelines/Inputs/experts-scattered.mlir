func.func @main(%arg0: tensor<2x5x8xf32> {spmd.role = "input"}, %arg1: tensor<3x8xf32> {spmd.role = "weight"}, %arg2: tensor<3x8x24xf32> {spmd.role = "weight"}, %arg3: tensor<3x24x8xf32> {spmd.role = "weight"}, %arg4: tensor<11x8xf32> {spmd.role = "weight"}) -> tensor<2x5x11xf32> {
  %v0 = arith.constant 0.0 : f32
  %v1 = tensor.empty() : tensor<2x5xf32>
  %v2 = linalg.fill ins(%v0 : f32) outs(%v1 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<2x5x8xf32>) outs(%v2 : tensor<2x5xf32>) {
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
  %v6 = tensor.empty() : tensor<2x5x8xf32>
  %v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %v5 : tensor<2x5x8xf32>, tensor<2x5xf32>) outs(%v6 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x8xf32>
  %v8 = tensor.collapse_shape %v7 [[0, 1], [2]] : tensor<2x5x8xf32> into tensor<10x8xf32>
  %v9 = arith.constant 0.0 : f32
  %v10 = tensor.empty() : tensor<10x3xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<10x3xf32>) -> tensor<10x3xf32>
  %v12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v8, %arg1 : tensor<10x8xf32>, tensor<3x8xf32>) outs(%v11 : tensor<10x3xf32>) {
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
  %v62 = tensor.empty() : tensor<10x3xf32>
  %v63 = linalg.fill ins(%v61 : f32) outs(%v62 : tensor<10x3xf32>) -> tensor<10x3xf32>
  %v64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v60 : tensor<10x3xf32>) outs(%v63 : tensor<10x3xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 2 : index
    %g = arith.cmpi ult, %j, %i : index
    %z = arith.constant 0.0 : f32
    %v = arith.select %g, %a0, %z : f32
    %q = arith.addf %o, %v : f32
    linalg.yield %q : f32
  } -> tensor<10x3xf32>
  %v65 = arith.constant 0.0 : f32
  %v66 = tensor.empty() : tensor<30x8xf32>
  %v67 = linalg.fill ins(%v65 : f32) outs(%v66 : tensor<30x8xf32>) -> tensor<30x8xf32>
  %v68 = tensor.expand_shape %v67 [[0, 1], [2]] output_shape [1, 30, 8] : tensor<30x8xf32> into tensor<1x30x8xf32>
  %v69 = tensor.expand_shape %v8 [[0, 1], [2]] output_shape [1, 10, 8] : tensor<10x8xf32> into tensor<1x10x8xf32>
  %v70 = arith.constant 0.0 : f32
  %v71 = tensor.empty() : tensor<10xf32>
  %v72 = linalg.fill ins(%v70 : f32) outs(%v71 : tensor<10xf32>) -> tensor<10xf32>
  %v73 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v33, %v64 : tensor<10x3xf32>, tensor<10x3xf32>) outs(%v72 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %m : f32
    linalg.yield %q : f32
  } -> tensor<10xf32>
  %v74 = tensor.empty() : tensor<10xi32>
  %v75 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v31#1, %v73 : tensor<10xi64>, tensor<10xf32>) outs(%v74 : tensor<10xi32>) {
  ^bb0(%a0: i64, %a1: f32, %o: i32):
    %u = arith.fptosi %a1 : f32 to i64
    %cc = arith.constant 10 : i64
    %w = arith.muli %a0, %cc : i64
    %q = arith.addi %w, %u : i64
    %r = arith.trunci %q : i64 to i32
    linalg.yield %r : i32
  } -> tensor<10xi32>
  %v76 = tensor.expand_shape %v75 [[0, 1]] output_shape [1, 10] : tensor<10xi32> into tensor<1x10xi32>
  %v77 = tosa.scatter %v68, %v76, %v69 : (tensor<1x30x8xf32>, tensor<1x10xi32>, tensor<1x10x8xf32>) -> tensor<1x30x8xf32>
  %v78 = arith.constant 0.0 : f32
  %v79 = tensor.empty() : tensor<10xf32>
  %v80 = linalg.fill ins(%v78 : f32) outs(%v79 : tensor<10xf32>) -> tensor<10xf32>
  %v81 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v44, %v64 : tensor<10x3xf32>, tensor<10x3xf32>) outs(%v80 : tensor<10xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %m = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %m : f32
    linalg.yield %q : f32
  } -> tensor<10xf32>
  %v82 = tensor.empty() : tensor<10xi32>
  %v83 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v42#1, %v81 : tensor<10xi64>, tensor<10xf32>) outs(%v82 : tensor<10xi32>) {
  ^bb0(%a0: i64, %a1: f32, %o: i32):
    %u = arith.fptosi %a1 : f32 to i64
    %cc = arith.constant 10 : i64
    %w = arith.muli %a0, %cc : i64
    %q = arith.addi %w, %u : i64
    %r = arith.trunci %q : i64 to i32
    linalg.yield %r : i32
  } -> tensor<10xi32>
  %v84 = tensor.expand_shape %v83 [[0, 1]] output_shape [1, 10] : tensor<10xi32> into tensor<1x10xi32>
  %v85 = tosa.scatter %v77, %v84, %v69 : (tensor<1x30x8xf32>, tensor<1x10xi32>, tensor<1x10x8xf32>) -> tensor<1x30x8xf32>
  %v86 = tensor.expand_shape %v85 [[0], [1, 2], [3]] output_shape [1, 3, 10, 8] : tensor<1x30x8xf32> into tensor<1x3x10x8xf32>
  %v87 = tensor.collapse_shape %v86 [[0, 1], [2], [3]] : tensor<1x3x10x8xf32> into tensor<3x10x8xf32>
  %v88 = arith.constant 0.0 : f32
  %v89 = tensor.empty() : tensor<3x10x24xf32>
  %v90 = linalg.fill ins(%v88 : f32) outs(%v89 : tensor<3x10x24xf32>) -> tensor<3x10x24xf32>
  %v91 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v87, %arg2 : tensor<3x10x8xf32>, tensor<3x8x24xf32>) outs(%v90 : tensor<3x10x24xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<3x10x24xf32>
  %v92 = tensor.empty() : tensor<3x10x24xf32>
  %v93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v91 : tensor<3x10x24xf32>) outs(%v92 : tensor<3x10x24xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<3x10x24xf32>
  %v94 = arith.constant 0.0 : f32
  %v95 = tensor.empty() : tensor<3x10x8xf32>
  %v96 = linalg.fill ins(%v94 : f32) outs(%v95 : tensor<3x10x8xf32>) -> tensor<3x10x8xf32>
  %v97 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v93, %arg3 : tensor<3x10x24xf32>, tensor<3x24x8xf32>) outs(%v96 : tensor<3x10x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<3x10x8xf32>
  %v98 = tensor.collapse_shape %v97 [[0, 1], [2]] : tensor<3x10x8xf32> into tensor<30x8xf32>
  %v99 = tensor.empty() : tensor<10x8xf32>
  %v100 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v75, %v50 : tensor<10xi32>, tensor<10xf32>) outs(%v99 : tensor<10x8xf32>) {
  ^bb0(%a0: i32, %a1: f32, %o: f32):
    %i = arith.index_cast %a0 : i32 to index
    %j = linalg.index 1 : index
    %g = tensor.extract %v98[%i, %j] : tensor<30x8xf32>
    %r = arith.mulf %g, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x8xf32>
  %v101 = tensor.empty() : tensor<10x8xf32>
  %v102 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v83, %v52 : tensor<10xi32>, tensor<10xf32>) outs(%v101 : tensor<10x8xf32>) {
  ^bb0(%a0: i32, %a1: f32, %o: f32):
    %i = arith.index_cast %a0 : i32 to index
    %j = linalg.index 1 : index
    %g = tensor.extract %v98[%i, %j] : tensor<30x8xf32>
    %r = arith.mulf %g, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x8xf32>
  %v103 = tensor.empty() : tensor<10x8xf32>
  %v104 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v100, %v102 : tensor<10x8xf32>, tensor<10x8xf32>) outs(%v103 : tensor<10x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<10x8xf32>
  %v105 = tensor.expand_shape %v104 [[0, 1], [2]] output_shape [2, 5, 8] : tensor<10x8xf32> into tensor<2x5x8xf32>
  %v106 = tensor.empty() : tensor<2x5x8xf32>
  %v107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %v105 : tensor<2x5x8xf32>, tensor<2x5x8xf32>) outs(%v106 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x8xf32>
  %v108 = arith.constant 0.0 : f32
  %v109 = tensor.empty() : tensor<2x5xf32>
  %v110 = linalg.fill ins(%v108 : f32) outs(%v109 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v111 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v107 : tensor<2x5x8xf32>) outs(%v110 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %p = arith.mulf %a0, %a0 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5xf32>
  %v112 = tensor.empty() : tensor<2x5xf32>
  %v113 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v111 : tensor<2x5xf32>) outs(%v112 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %c = arith.constant 0.125 : f32
    %e = arith.constant 1.0e-5 : f32
    %m = arith.mulf %a0, %c : f32
    %n = arith.addf %m, %e : f32
    %r = math.rsqrt %n : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v114 = tensor.empty() : tensor<2x5x8xf32>
  %v115 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v107, %v113 : tensor<2x5x8xf32>, tensor<2x5xf32>) outs(%v114 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x8xf32>
  %v116 = arith.constant 0.0 : f32
  %v117 = tensor.empty() : tensor<2x5x11xf32>
  %v118 = linalg.fill ins(%v116 : f32) outs(%v117 : tensor<2x5x11xf32>) -> tensor<2x5x11xf32>
  %v119 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v115, %arg4 : tensor<2x5x8xf32>, tensor<11x8xf32>) outs(%v118 : tensor<2x5x11xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x11xf32>
  return %v119 : tensor<2x5x11xf32>
}
