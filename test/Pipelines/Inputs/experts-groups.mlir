func.func @main(%arg0: tensor<2x5x8xf32> {spmd.role = "input"}, %arg1: tensor<3x8xf32> {spmd.role = "weight"}, %arg2: tensor<3x8x24xf32> {spmd.role = "weight"}, %arg3: tensor<3x24x8xf32> {spmd.role = "weight"}, %arg4: tensor<24x8xf32> {spmd.role = "weight"}, %arg5: tensor<8x24xf32> {spmd.role = "weight"}, %arg6: tensor<11x8xf32> {spmd.role = "weight"}) -> tensor<2x5x11xf32> {
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
  %v8 = arith.constant 0.0 : f32
  %v9 = tensor.empty() : tensor<2x5x3xf32>
  %v10 = linalg.fill ins(%v8 : f32) outs(%v9 : tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  %v11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v7, %arg1 : tensor<2x5x8xf32>, tensor<3x8xf32>) outs(%v10 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x3xf32>
  %v12 = arith.constant 0xFF800000 : f32
  %v13 = tensor.empty() : tensor<2x5xf32>
  %v14 = linalg.fill ins(%v12 : f32) outs(%v13 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v15 = arith.constant 0 : i64
  %v16 = tensor.empty() : tensor<2x5xi64>
  %v17 = linalg.fill ins(%v15 : i64) outs(%v16 : tensor<2x5xi64>) -> tensor<2x5xi64>
  %v18:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v11 : tensor<2x5x3xf32>) outs(%v14, %v17 : tensor<2x5xf32>, tensor<2x5xi64>) {
  ^bb0(%a: f32, %v: f32, %i: i64):
    %j = linalg.index 2 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %a, %v : f32
    %nv = arith.select %g, %a, %v : f32
    %ni = arith.select %g, %jj, %i : i64
    linalg.yield %nv, %ni : f32, i64
  } -> (tensor<2x5xf32>, tensor<2x5xi64>)
  %v19 = tensor.empty() : tensor<2x5x3xf32>
  %v20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v18#1 : tensor<2x5xi64>) outs(%v19 : tensor<2x5x3xf32>) {
  ^bb0(%a0: i64, %o: f32):
    %j = linalg.index 2 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %a0, %jj : i64
    %h = arith.uitofp %g : i1 to f32
    linalg.yield %h : f32
  } -> tensor<2x5x3xf32>
  %v21 = tensor.empty() : tensor<2x5x3xf32>
  %v22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v11, %v20 : tensor<2x5x3xf32>, tensor<2x5x3xf32>) outs(%v21 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.5 : f32
    %l = arith.constant 0xFF800000 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %r = arith.select %g, %l, %a0 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3xf32>
  %v23 = arith.constant 0xFF800000 : f32
  %v24 = tensor.empty() : tensor<2x5xf32>
  %v25 = linalg.fill ins(%v23 : f32) outs(%v24 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v26 = arith.constant 0 : i64
  %v27 = tensor.empty() : tensor<2x5xi64>
  %v28 = linalg.fill ins(%v26 : i64) outs(%v27 : tensor<2x5xi64>) -> tensor<2x5xi64>
  %v29:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v22 : tensor<2x5x3xf32>) outs(%v25, %v28 : tensor<2x5xf32>, tensor<2x5xi64>) {
  ^bb0(%a: f32, %v: f32, %i: i64):
    %j = linalg.index 2 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %a, %v : f32
    %nv = arith.select %g, %a, %v : f32
    %ni = arith.select %g, %jj, %i : i64
    linalg.yield %nv, %ni : f32, i64
  } -> (tensor<2x5xf32>, tensor<2x5xi64>)
  %v30 = tensor.empty() : tensor<2x5x3xf32>
  %v31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v29#1 : tensor<2x5xi64>) outs(%v30 : tensor<2x5x3xf32>) {
  ^bb0(%a0: i64, %o: f32):
    %j = linalg.index 2 : index
    %jj = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %a0, %jj : i64
    %h = arith.uitofp %g : i1 to f32
    linalg.yield %h : f32
  } -> tensor<2x5x3xf32>
  %v32 = tensor.empty() : tensor<2x5x3xf32>
  %v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v22, %v31 : tensor<2x5x3xf32>, tensor<2x5x3xf32>) outs(%v32 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.5 : f32
    %l = arith.constant 0xFF800000 : f32
    %g = arith.cmpf ogt, %a1, %z : f32
    %r = arith.select %g, %l, %a0 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3xf32>
  %v34 = tensor.empty() : tensor<2x5xf32>
  %v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v18#0, %v18#0 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%v34 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.subf %a0, %a1 : f32
    %r = math.exp %s : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v36 = tensor.empty() : tensor<2x5xf32>
  %v37 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v29#0, %v18#0 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%v36 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %s = arith.subf %a0, %a1 : f32
    %r = math.exp %s : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v38 = tensor.empty() : tensor<2x5xf32>
  %v39 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v35, %v37 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%v38 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v40 = tensor.empty() : tensor<2x5xf32>
  %v41 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v35, %v39 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%v40 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.divf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v42 = tensor.empty() : tensor<2x5xf32>
  %v43 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v37, %v39 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%v42 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.divf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v44 = tensor.empty() : tensor<2x5x3xf32>
  %v45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v20, %v41 : tensor<2x5x3xf32>, tensor<2x5xf32>) outs(%v44 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3xf32>
  %v46 = tensor.empty() : tensor<2x5x3xf32>
  %v47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v31, %v43 : tensor<2x5x3xf32>, tensor<2x5xf32>) outs(%v46 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3xf32>
  %v48 = tensor.empty() : tensor<2x5x3xf32>
  %v49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v45, %v47 : tensor<2x5x3xf32>, tensor<2x5x3xf32>) outs(%v48 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3xf32>
  %v50 = tensor.empty() : tensor<2x5x3xf32>
  %v51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v20, %v31 : tensor<2x5x3xf32>, tensor<2x5x3xf32>) outs(%v50 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3xf32>
  %v52 = arith.constant 0.0 : f32
  %v53 = tensor.empty() : tensor<2x5x3xf32>
  %v54 = linalg.fill ins(%v52 : f32) outs(%v53 : tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  %v55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v51 : tensor<2x5x3xf32>) outs(%v54 : tensor<2x5x3xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 3 : index
    %g = arith.cmpi ult, %j, %i : index
    %z = arith.constant 0.0 : f32
    %v = arith.select %g, %a0, %z : f32
    %q = arith.addf %o, %v : f32
    linalg.yield %q : f32
  } -> tensor<2x5x3xf32>
  %v56 = tensor.empty() : tensor<2x5x3x3xf32>
  %v57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v51, %v55 : tensor<2x5x3xf32>, tensor<2x5x3xf32>) outs(%v56 : tensor<2x5x3x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %c = linalg.index 3 : index
    %k = arith.index_cast %c : index to i64
    %w = arith.sitofp %k : i64 to f32
    %g = arith.cmpf oeq, %a1, %w : f32
    %z = arith.constant 0.0 : f32
    %r = arith.select %g, %a0, %z : f32
    linalg.yield %r : f32
  } -> tensor<2x5x3x3xf32>
  %v58 = arith.constant 0.0 : f32
  %v59 = tensor.empty() : tensor<2x3x3x8xf32>
  %v60 = linalg.fill ins(%v58 : f32) outs(%v59 : tensor<2x3x3x8xf32>) -> tensor<2x3x3x8xf32>
  %v61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v57, %v7 : tensor<2x5x3x3xf32>, tensor<2x5x8xf32>) outs(%v60 : tensor<2x3x3x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x3x3x8xf32>
  %v62 = arith.constant 0.0 : f32
  %v63 = tensor.empty() : tensor<2x3x3x24xf32>
  %v64 = linalg.fill ins(%v62 : f32) outs(%v63 : tensor<2x3x3x24xf32>) -> tensor<2x3x3x24xf32>
  %v65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v61, %arg2 : tensor<2x3x3x8xf32>, tensor<3x8x24xf32>) outs(%v64 : tensor<2x3x3x24xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x3x3x24xf32>
  %v66 = tensor.empty() : tensor<2x3x3x24xf32>
  %v67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v65 : tensor<2x3x3x24xf32>) outs(%v66 : tensor<2x3x3x24xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<2x3x3x24xf32>
  %v68 = arith.constant 0.0 : f32
  %v69 = tensor.empty() : tensor<2x3x3x8xf32>
  %v70 = linalg.fill ins(%v68 : f32) outs(%v69 : tensor<2x3x3x8xf32>) -> tensor<2x3x3x8xf32>
  %v71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v67, %arg3 : tensor<2x3x3x24xf32>, tensor<3x24x8xf32>) outs(%v70 : tensor<2x3x3x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x3x3x8xf32>
  %v72 = tensor.empty() : tensor<2x5x3x3xf32>
  %v73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v57, %v49 : tensor<2x5x3x3xf32>, tensor<2x5x3xf32>) outs(%v72 : tensor<2x5x3x3xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %q = arith.mulf %a0, %a1 : f32
    linalg.yield %q : f32
  } -> tensor<2x5x3x3xf32>
  %v74 = arith.constant 0.0 : f32
  %v75 = tensor.empty() : tensor<2x5x8xf32>
  %v76 = linalg.fill ins(%v74 : f32) outs(%v75 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %v77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%v73, %v71 : tensor<2x5x3x3xf32>, tensor<2x3x3x8xf32>) outs(%v76 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x8xf32>
  %v78 = arith.constant 0.0 : f32
  %v79 = tensor.empty() : tensor<2x5x24xf32>
  %v80 = linalg.fill ins(%v78 : f32) outs(%v79 : tensor<2x5x24xf32>) -> tensor<2x5x24xf32>
  %v81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v7, %arg4 : tensor<2x5x8xf32>, tensor<24x8xf32>) outs(%v80 : tensor<2x5x24xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x24xf32>
  %v82 = tensor.empty() : tensor<2x5x24xf32>
  %v83 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v81 : tensor<2x5x24xf32>) outs(%v82 : tensor<2x5x24xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %n = arith.negf %a0 : f32
    %x = math.exp %n : f32
    %1 = arith.constant 1.0 : f32
    %y = arith.addf %x, %1 : f32
    %r = arith.divf %a0, %y : f32
    linalg.yield %r : f32
  } -> tensor<2x5x24xf32>
  %v84 = arith.constant 0.0 : f32
  %v85 = tensor.empty() : tensor<2x5x8xf32>
  %v86 = linalg.fill ins(%v84 : f32) outs(%v85 : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %v87 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v83, %arg5 : tensor<2x5x24xf32>, tensor<8x24xf32>) outs(%v86 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x8xf32>
  %v88 = tensor.empty() : tensor<2x5x8xf32>
  %v89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v77, %v87 : tensor<2x5x8xf32>, tensor<2x5x8xf32>) outs(%v88 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x8xf32>
  %v90 = tensor.empty() : tensor<2x5x8xf32>
  %v91 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %v89 : tensor<2x5x8xf32>, tensor<2x5x8xf32>) outs(%v90 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.addf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x8xf32>
  %v92 = arith.constant 0.0 : f32
  %v93 = tensor.empty() : tensor<2x5xf32>
  %v94 = linalg.fill ins(%v92 : f32) outs(%v93 : tensor<2x5xf32>) -> tensor<2x5xf32>
  %v95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v91 : tensor<2x5x8xf32>) outs(%v94 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %p = arith.mulf %a0, %a0 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5xf32>
  %v96 = tensor.empty() : tensor<2x5xf32>
  %v97 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v95 : tensor<2x5xf32>) outs(%v96 : tensor<2x5xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %c = arith.constant 0.125 : f32
    %e = arith.constant 1.0e-5 : f32
    %m = arith.mulf %a0, %c : f32
    %n = arith.addf %m, %e : f32
    %r = math.rsqrt %n : f32
    linalg.yield %r : f32
  } -> tensor<2x5xf32>
  %v98 = tensor.empty() : tensor<2x5x8xf32>
  %v99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v91, %v97 : tensor<2x5x8xf32>, tensor<2x5xf32>) outs(%v98 : tensor<2x5x8xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %r = arith.mulf %a0, %a1 : f32
    linalg.yield %r : f32
  } -> tensor<2x5x8xf32>
  %v100 = arith.constant 0.0 : f32
  %v101 = tensor.empty() : tensor<2x5x11xf32>
  %v102 = linalg.fill ins(%v100 : f32) outs(%v101 : tensor<2x5x11xf32>) -> tensor<2x5x11xf32>
  %v103 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%v99, %arg6 : tensor<2x5x8xf32>, tensor<11x8xf32>) outs(%v102 : tensor<2x5x11xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %p = arith.mulf %a0, %a1 : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x5x11xf32>
  return %v103 : tensor<2x5x11xf32>
}
