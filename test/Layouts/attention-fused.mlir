// layout: causal attention, one weight for q, k and v by columns, cut after the matmul; 16 heads of 64
// mesh: tp8
// least: 2*(n-1)/n * 2*256*1024*4 + 2*256*(3072-4*1024/n)/n*4
// how: all-reduce of the output; the columns of q, k and v that are not in place (four of 3 n pieces are)
// xla: 7680
// odd: 256 -> 255
func.func @main(%x: tensor<2x256x1024xf32> {spmd.sharding = [[], [], []]},
                %w: tensor<1024x3072xf32> {spmd.sharding = [[], ["tp"]]},
                %wo: tensor<1024x1024xf32> {spmd.sharding = [["tp"], []]}) -> (tensor<2x256x1024xf32> {spmd.sharding = [[], [], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<2x256x3072xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<2x256x3072xf32>) -> tensor<2x256x3072xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x256x1024xf32>, tensor<1024x3072xf32>) outs(%2 : tensor<2x256x3072xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x3072xf32>
  %4 = tensor.extract_slice %3[0, 0, 0] [2, 256, 1024] [1, 1, 1] : tensor<2x256x3072xf32> to tensor<2x256x1024xf32>
  %5 = tensor.extract_slice %3[0, 0, 1024] [2, 256, 1024] [1, 1, 1] : tensor<2x256x3072xf32> to tensor<2x256x1024xf32>
  %6 = tensor.extract_slice %3[0, 0, 2048] [2, 256, 1024] [1, 1, 1] : tensor<2x256x3072xf32> to tensor<2x256x1024xf32>
  %7 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [2, 256, 16, 64] : tensor<2x256x1024xf32> into tensor<2x256x16x64xf32>
  %8 = tensor.expand_shape %5 [[0], [1], [2, 3]] output_shape [2, 256, 16, 64] : tensor<2x256x1024xf32> into tensor<2x256x16x64xf32>
  %9 = tensor.expand_shape %6 [[0], [1], [2, 3]] output_shape [2, 256, 16, 64] : tensor<2x256x1024xf32> into tensor<2x256x16x64xf32>
  %10 = arith.constant 0.000000e+00 : f32
  %11 = tensor.empty() : tensor<2x16x256x256xf32>
  %12 = linalg.fill ins(%10 : f32) outs(%11 : tensor<2x16x256x256xf32>) -> tensor<2x16x256x256xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%7, %8 : tensor<2x256x16x64xf32>, tensor<2x256x16x64xf32>) outs(%12 : tensor<2x16x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x16x256x256xf32>
  %14 = arith.constant 0.125 : f32
  %15 = arith.constant 0xFF800000 : f32
  %16 = tensor.empty() : tensor<2x16x256x256xf32>
  %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x16x256x256xf32>) outs(%16 : tensor<2x16x256x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %c = arith.cmpi uge, %i, %j : index
    %m = arith.mulf %ain, %14 : f32
    %r = arith.select %c, %m, %15 : f32
    linalg.yield %r : f32
  } -> tensor<2x16x256x256xf32>
  %18 = arith.constant 0xFF800000 : f32
  %19 = tensor.empty() : tensor<2x16x256xf32>
  %20 = linalg.fill ins(%18 : f32) outs(%19 : tensor<2x16x256xf32>) -> tensor<2x16x256xf32>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x16x256x256xf32>) outs(%20 : tensor<2x16x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x16x256xf32>
  %22 = tensor.empty() : tensor<2x16x256x256xf32>
  %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %21 : tensor<2x16x256x256xf32>, tensor<2x16x256xf32>) outs(%22 : tensor<2x16x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %d = arith.subf %ain, %bin : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<2x16x256x256xf32>
  %24 = arith.constant 0.000000e+00 : f32
  %25 = tensor.empty() : tensor<2x16x256xf32>
  %26 = linalg.fill ins(%24 : f32) outs(%25 : tensor<2x16x256xf32>) -> tensor<2x16x256xf32>
  %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<2x16x256x256xf32>) outs(%26 : tensor<2x16x256xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<2x16x256xf32>
  %28 = tensor.empty() : tensor<2x16x256x256xf32>
  %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %27 : tensor<2x16x256x256xf32>, tensor<2x16x256xf32>) outs(%28 : tensor<2x16x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.divf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<2x16x256x256xf32>
  %30 = arith.constant 0.000000e+00 : f32
  %31 = tensor.empty() : tensor<2x256x16x64xf32>
  %32 = linalg.fill ins(%30 : f32) outs(%31 : tensor<2x256x16x64xf32>) -> tensor<2x256x16x64xf32>
  %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%29, %9 : tensor<2x16x256x256xf32>, tensor<2x256x16x64xf32>) outs(%32 : tensor<2x256x16x64xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x16x64xf32>
  %34 = tensor.collapse_shape %33 [[0], [1], [2, 3]] : tensor<2x256x16x64xf32> into tensor<2x256x1024xf32>
  %35 = arith.constant 0.000000e+00 : f32
  %36 = tensor.empty() : tensor<2x256x1024xf32>
  %37 = linalg.fill ins(%35 : f32) outs(%36 : tensor<2x256x1024xf32>) -> tensor<2x256x1024xf32>
  %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%34, %wo : tensor<2x256x1024xf32>, tensor<1024x1024xf32>) outs(%37 : tensor<2x256x1024xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x256x1024xf32>
  return %38 : tensor<2x256x1024xf32>
}
