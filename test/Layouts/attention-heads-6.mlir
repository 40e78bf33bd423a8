// layout: the same with 6 heads of 64: a head lies across two devices
// mesh: tp4
// least: 2*(n-1)/n * 2*256*384*4 + 4 * 384*32*4 / 2
// least-doubled: 2*(n-1)/n * 2*256*384*4 + 4 * 384*(16+32+48)*4 / 4
// how: all-reduce of the output; half-heads of the weights, smaller than those of q, k, v and o, to a neighbour
// xla: 1728
// odd: 256 -> 255
// flops: 1.34: six heads on four devices are 2, 1, 2, 1
func.func @main(%x: tensor<2x256x384xf32> {spmd.sharding = [[], [], []]},
                %wq: tensor<384x384xf32> {spmd.sharding = [[], ["tp"]]},
                %wk: tensor<384x384xf32> {spmd.sharding = [[], ["tp"]]},
                %wv: tensor<384x384xf32> {spmd.sharding = [[], ["tp"]]},
                %wo: tensor<384x384xf32> {spmd.sharding = [["tp"], []]},
                %cos: tensor<256x64xf32> {spmd.sharding = [[], []]},
                %sin: tensor<256x64xf32> {spmd.sharding = [[], []]}) -> (tensor<2x256x384xf32> {spmd.sharding = [[], [], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<2x256x384xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<2x256x384xf32>) -> tensor<2x256x384xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wq : tensor<2x256x384xf32>, tensor<384x384xf32>) outs(%2 : tensor<2x256x384xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x384xf32>
  %4 = arith.constant 0.000000e+00 : f32
  %5 = tensor.empty() : tensor<2x256x384xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<2x256x384xf32>) -> tensor<2x256x384xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wk : tensor<2x256x384xf32>, tensor<384x384xf32>) outs(%6 : tensor<2x256x384xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x384xf32>
  %8 = arith.constant 0.000000e+00 : f32
  %9 = tensor.empty() : tensor<2x256x384xf32>
  %10 = linalg.fill ins(%8 : f32) outs(%9 : tensor<2x256x384xf32>) -> tensor<2x256x384xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %wv : tensor<2x256x384xf32>, tensor<384x384xf32>) outs(%10 : tensor<2x256x384xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x384xf32>
  %12 = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [2, 256, 6, 64] : tensor<2x256x384xf32> into tensor<2x256x6x64xf32>
  %13 = tensor.expand_shape %7 [[0], [1], [2, 3]] output_shape [2, 256, 6, 64] : tensor<2x256x384xf32> into tensor<2x256x6x64xf32>
  %14 = tensor.expand_shape %11 [[0], [1], [2, 3]] output_shape [2, 256, 6, 64] : tensor<2x256x384xf32> into tensor<2x256x6x64xf32>
  %15 = tensor.extract_slice %12[0, 0, 0, 0] [2, 256, 6, 32] [1, 1, 1, 1] : tensor<2x256x6x64xf32> to tensor<2x256x6x32xf32>
  %16 = tensor.extract_slice %12[0, 0, 0, 32] [2, 256, 6, 32] [1, 1, 1, 1] : tensor<2x256x6x64xf32> to tensor<2x256x6x32xf32>
  %17 = tensor.empty() : tensor<2x256x6x32xf32>
  %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x256x6x32xf32>) outs(%17 : tensor<2x256x6x32xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.negf %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x256x6x32xf32>
  %19 = tensor.concat dim(3) %18, %15 : (tensor<2x256x6x32xf32>, tensor<2x256x6x32xf32>) -> tensor<2x256x6x64xf32>
  %20 = tensor.empty() : tensor<2x256x6x64xf32>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %19, %cos, %sin : tensor<2x256x6x64xf32>, tensor<2x256x6x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>) outs(%20 : tensor<2x256x6x64xf32>) {
  ^bb0(%ain: f32, %bin: f32, %cin: f32, %din: f32, %out: f32):
    %p = arith.mulf %ain, %cin : f32
    %q = arith.mulf %bin, %din : f32
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x256x6x64xf32>
  %22 = tensor.extract_slice %13[0, 0, 0, 0] [2, 256, 6, 32] [1, 1, 1, 1] : tensor<2x256x6x64xf32> to tensor<2x256x6x32xf32>
  %23 = tensor.extract_slice %13[0, 0, 0, 32] [2, 256, 6, 32] [1, 1, 1, 1] : tensor<2x256x6x64xf32> to tensor<2x256x6x32xf32>
  %24 = tensor.empty() : tensor<2x256x6x32xf32>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x256x6x32xf32>) outs(%24 : tensor<2x256x6x32xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.negf %ain : f32
    linalg.yield %r : f32
  } -> tensor<2x256x6x32xf32>
  %26 = tensor.concat dim(3) %25, %22 : (tensor<2x256x6x32xf32>, tensor<2x256x6x32xf32>) -> tensor<2x256x6x64xf32>
  %27 = tensor.empty() : tensor<2x256x6x64xf32>
  %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %26, %cos, %sin : tensor<2x256x6x64xf32>, tensor<2x256x6x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>) outs(%27 : tensor<2x256x6x64xf32>) {
  ^bb0(%ain: f32, %bin: f32, %cin: f32, %din: f32, %out: f32):
    %p = arith.mulf %ain, %cin : f32
    %q = arith.mulf %bin, %din : f32
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<2x256x6x64xf32>
  %29 = arith.constant 0.000000e+00 : f32
  %30 = tensor.empty() : tensor<2x6x256x256xf32>
  %31 = linalg.fill ins(%29 : f32) outs(%30 : tensor<2x6x256x256xf32>) -> tensor<2x6x256x256xf32>
  %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%21, %28 : tensor<2x256x6x64xf32>, tensor<2x256x6x64xf32>) outs(%31 : tensor<2x6x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x6x256x256xf32>
  %33 = arith.constant 0.125 : f32
  %34 = arith.constant 0xFF800000 : f32
  %35 = tensor.empty() : tensor<2x6x256x256xf32>
  %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<2x6x256x256xf32>) outs(%35 : tensor<2x6x256x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %c = arith.cmpi uge, %i, %j : index
    %m = arith.mulf %ain, %33 : f32
    %r = arith.select %c, %m, %34 : f32
    linalg.yield %r : f32
  } -> tensor<2x6x256x256xf32>
  %37 = arith.constant 0xFF800000 : f32
  %38 = tensor.empty() : tensor<2x6x256xf32>
  %39 = linalg.fill ins(%37 : f32) outs(%38 : tensor<2x6x256xf32>) -> tensor<2x6x256xf32>
  %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x6x256x256xf32>) outs(%39 : tensor<2x6x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x6x256xf32>
  %41 = tensor.empty() : tensor<2x6x256x256xf32>
  %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %40 : tensor<2x6x256x256xf32>, tensor<2x6x256xf32>) outs(%41 : tensor<2x6x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %d = arith.subf %ain, %bin : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x6x256x256xf32>
  %43 = arith.constant 0.000000e+00 : f32
  %44 = tensor.empty() : tensor<2x6x256xf32>
  %45 = linalg.fill ins(%43 : f32) outs(%44 : tensor<2x6x256xf32>) -> tensor<2x6x256xf32>
  %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%42 : tensor<2x6x256x256xf32>) outs(%45 : tensor<2x6x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x6x256xf32>
  %47 = tensor.empty() : tensor<2x6x256x256xf32>
  %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42, %46 : tensor<2x6x256x256xf32>, tensor<2x6x256xf32>) outs(%47 : tensor<2x6x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.divf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<2x6x256x256xf32>
  %49 = arith.constant 0.000000e+00 : f32
  %50 = tensor.empty() : tensor<2x256x6x64xf32>
  %51 = linalg.fill ins(%49 : f32) outs(%50 : tensor<2x256x6x64xf32>) -> tensor<2x256x6x64xf32>
  %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%48, %14 : tensor<2x6x256x256xf32>, tensor<2x256x6x64xf32>) outs(%51 : tensor<2x256x6x64xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x6x64xf32>
  %53 = tensor.collapse_shape %52 [[0], [1], [2, 3]] : tensor<2x256x6x64xf32> into tensor<2x256x384xf32>
  %54 = arith.constant 0.000000e+00 : f32
  %55 = tensor.empty() : tensor<2x256x384xf32>
  %56 = linalg.fill ins(%54 : f32) outs(%55 : tensor<2x256x384xf32>) -> tensor<2x256x384xf32>
  %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%53, %wo : tensor<2x256x384xf32>, tensor<384x384xf32>) outs(%56 : tensor<2x256x384xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x384xf32>
  return %57 : tensor<2x256x384xf32>
}
