// layout: causal attention block, rotary, 32 query and 8 key/value heads of 32; columns, columns, columns, rows
// mesh: tp8
// least: 2*(n-1)/n * 2*255*1024*4
// how: all-reduce of the output
// xla: 3584
// odd: written out, here
func.func @main(%x: tensor<2x255x1024xf32> {spmd.sharding = [[], [], []]},
                %wq: tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]},
                %wk: tensor<1024x256xf32> {spmd.sharding = [[], ["tp"]]},
                %wv: tensor<1024x256xf32> {spmd.sharding = [[], ["tp"]]},
                %wo: tensor<1024x1024xf32> {spmd.sharding = [["tp"], []]},
                %cos: tensor<255x32xf32> {spmd.sharding = [[], []]},
                %sin: tensor<255x32xf32> {spmd.sharding = [[], []]}) -> (tensor<2x255x1024xf32> {spmd.sharding = [[], [], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<2x255x1024xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<2x255x1024xf32>) -> tensor<2x255x1024xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wq : tensor<2x255x1024xf32>, tensor<1024x1024xf32>) outs(%2 : tensor<2x255x1024xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x255x1024xf32>
  %4 = arith.constant 0.000000e+00 : f32
  %5 = tensor.empty() : tensor<2x255x256xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<2x255x256xf32>) -> tensor<2x255x256xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wk : tensor<2x255x1024xf32>, tensor<1024x256xf32>) outs(%6 : tensor<2x255x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x255x256xf32>
  %8 = arith.constant 0.000000e+00 : f32
  %9 = tensor.empty() : tensor<2x255x256xf32>
  %10 = linalg.fill ins(%8 : f32) outs(%9 : tensor<2x255x256xf32>) -> tensor<2x255x256xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wv : tensor<2x255x1024xf32>, tensor<1024x256xf32>) outs(%10 : tensor<2x255x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x255x256xf32>
  %12 = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [2, 255, 32, 32] : tensor<2x255x1024xf32> into tensor<2x255x32x32xf32>
  %13 = tensor.expand_shape %7 [[0], [1], [2, 3]] output_shape [2, 255, 8, 32] : tensor<2x255x256xf32> into tensor<2x255x8x32xf32>
  %14 = tensor.expand_shape %11 [[0], [1], [2, 3]] output_shape [2, 255, 8, 32] : tensor<2x255x256xf32> into tensor<2x255x8x32xf32>
  %15 = tensor.extract_slice %12[0, 0, 0, 0] [2, 255, 32, 16] [1, 1, 1, 1] : tensor<2x255x32x32xf32> to tensor<2x255x32x16xf32>
  %16 = tensor.extract_slice %12[0, 0, 0, 16] [2, 255, 32, 16] [1, 1, 1, 1] : tensor<2x255x32x32xf32> to tensor<2x255x32x16xf32>
  %17 = tensor.empty() : tensor<2x255x32x16xf32>
  %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x255x32x16xf32>) outs(%17 : tensor<2x255x32x16xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.negf %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x255x32x16xf32>
  %19 = tensor.concat dim(3) %18, %15 : (tensor<2x255x32x16xf32>, tensor<2x255x32x16xf32>) -> tensor<2x255x32x32xf32>
  %20 = tensor.empty() : tensor<2x255x32x32xf32>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %19, %cos, %sin : tensor<2x255x32x32xf32>, tensor<2x255x32x32xf32>, tensor<255x32xf32>, tensor<255x32xf32>) outs(%20 : tensor<2x255x32x32xf32>) {
  ^bb0(%ain: f32, %bin: f32, %cin: f32, %din: f32, %out: f32):
    %p = arith.mulf %ain, %cin : f32
    %q = arith.mulf %bin, %din : f32
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x255x32x32xf32>
  %22 = tensor.extract_slice %13[0, 0, 0, 0] [2, 255, 8, 16] [1, 1, 1, 1] : tensor<2x255x8x32xf32> to tensor<2x255x8x16xf32>
  %23 = tensor.extract_slice %13[0, 0, 0, 16] [2, 255, 8, 16] [1, 1, 1, 1] : tensor<2x255x8x32xf32> to tensor<2x255x8x16xf32>
  %24 = tensor.empty() : tensor<2x255x8x16xf32>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x255x8x16xf32>) outs(%24 : tensor<2x255x8x16xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.negf %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x255x8x16xf32>
  %26 = tensor.concat dim(3) %25, %22 : (tensor<2x255x8x16xf32>, tensor<2x255x8x16xf32>) -> tensor<2x255x8x32xf32>
  %27 = tensor.empty() : tensor<2x255x8x32xf32>
  %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %26, %cos, %sin : tensor<2x255x8x32xf32>, tensor<2x255x8x32xf32>, tensor<255x32xf32>, tensor<255x32xf32>) outs(%27 : tensor<2x255x8x32xf32>) {
  ^bb0(%ain: f32, %bin: f32, %cin: f32, %din: f32, %out: f32):
    %p = arith.mulf %ain, %cin : f32
    %q = arith.mulf %bin, %din : f32
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x255x8x32xf32>
  %29 = tensor.expand_shape %21 [[0], [1], [2, 3], [4]] output_shape [2, 255, 8, 4, 32] : tensor<2x255x32x32xf32> into tensor<2x255x8x4x32xf32>
  %30 = arith.constant 0.000000e+00 : f32
  %31 = tensor.empty() : tensor<2x8x4x255x255xf32>
  %32 = linalg.fill ins(%30 : f32) outs(%31 : tensor<2x8x4x255x255xf32>) -> tensor<2x8x4x255x255xf32>
  %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%29, %28 : tensor<2x255x8x4x32xf32>, tensor<2x255x8x32xf32>) outs(%32 : tensor<2x8x4x255x255xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x8x4x255x255xf32>
  %34 = arith.constant 0.1767766952966369 : f32
  %35 = arith.constant 0xFF800000 : f32
  %36 = tensor.empty() : tensor<2x8x4x255x255xf32>
  %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<2x8x4x255x255xf32>) outs(%36 : tensor<2x8x4x255x255xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %i = linalg.index 3 : index
    %j = linalg.index 4 : index
    %c = arith.cmpi uge, %i, %j : index
    %m = arith.mulf %ain, %34 : f32
    %r = arith.select %c, %m, %35 : f32
    linalg.yield %r : f32
  } -> tensor<2x8x4x255x255xf32>
  %38 = arith.constant 0xFF800000 : f32
  %39 = tensor.empty() : tensor<2x8x4x255xf32>
  %40 = linalg.fill ins(%38 : f32) outs(%39 : tensor<2x8x4x255xf32>) -> tensor<2x8x4x255xf32>
  %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%37 : tensor<2x8x4x255x255xf32>) outs(%40 : tensor<2x8x4x255xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x8x4x255xf32>
  %42 = tensor.empty() : tensor<2x8x4x255x255xf32>
  %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%37, %41 : tensor<2x8x4x255x255xf32>, tensor<2x8x4x255xf32>) outs(%42 : tensor<2x8x4x255x255xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %d = arith.subf %ain, %bin : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x8x4x255x255xf32>
  %44 = arith.constant 0.000000e+00 : f32
  %45 = tensor.empty() : tensor<2x8x4x255xf32>
  %46 = linalg.fill ins(%44 : f32) outs(%45 : tensor<2x8x4x255xf32>) -> tensor<2x8x4x255xf32>
  %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%43 : tensor<2x8x4x255x255xf32>) outs(%46 : tensor<2x8x4x255xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x8x4x255xf32>
  %48 = tensor.empty() : tensor<2x8x4x255x255xf32>
  %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43, %47 : tensor<2x8x4x255x255xf32>, tensor<2x8x4x255xf32>) outs(%48 : tensor<2x8x4x255x255xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.divf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<2x8x4x255x255xf32>
  %50 = arith.constant 0.000000e+00 : f32
  %51 = tensor.empty() : tensor<2x255x8x4x32xf32>
  %52 = linalg.fill ins(%50 : f32) outs(%51 : tensor<2x255x8x4x32xf32>) -> tensor<2x255x8x4x32xf32>
  %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%49, %14 : tensor<2x8x4x255x255xf32>, tensor<2x255x8x32xf32>) outs(%52 : tensor<2x255x8x4x32xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x255x8x4x32xf32>
  %54 = tensor.collapse_shape %53 [[0], [1], [2, 3, 4]] : tensor<2x255x8x4x32xf32> into tensor<2x255x1024xf32>
  %55 = arith.constant 0.000000e+00 : f32
  %56 = tensor.empty() : tensor<2x255x1024xf32>
  %57 = linalg.fill ins(%55 : f32) outs(%56 : tensor<2x255x1024xf32>) -> tensor<2x255x1024xf32>
  %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%54, %wo : tensor<2x255x1024xf32>, tensor<1024x1024xf32>) outs(%57 : tensor<2x255x1024xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x255x1024xf32>
  return %58 : tensor<2x255x1024xf32>
}
