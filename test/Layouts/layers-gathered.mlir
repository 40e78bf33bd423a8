// layout: 8 layers tanh(x W), x by rows, the stack of weights split on dimension 1
// mesh: tp8
// least: (n-1)/n * 8 * (512*512*4/n + 64*512*4)
// how: all-to-all of a layer of weights to columns, gather of its x
// xla: 7168
// odd: 512 -> 509
func.func @main(%x: tensor<64x512xf32> {spmd.sharding = [["tp"], []]},
                %w: tensor<8x512x512xf32> {spmd.sharding = [[], ["tp"], []]}) -> (tensor<64x512xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = tensor.extract_slice %w[0, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %1 = arith.constant 0.000000e+00 : f32
  %2 = tensor.empty() : tensor<64x512xf32>
  %3 = linalg.fill ins(%1 : f32) outs(%2 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %0 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%3 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %5 = tensor.empty() : tensor<64x512xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<64x512xf32>) outs(%5 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %7 = tensor.extract_slice %w[1, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %8 = arith.constant 0.000000e+00 : f32
  %9 = tensor.empty() : tensor<64x512xf32>
  %10 = linalg.fill ins(%8 : f32) outs(%9 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%6, %7 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%10 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %12 = tensor.empty() : tensor<64x512xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<64x512xf32>) outs(%12 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %14 = tensor.extract_slice %w[2, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %15 = arith.constant 0.000000e+00 : f32
  %16 = tensor.empty() : tensor<64x512xf32>
  %17 = linalg.fill ins(%15 : f32) outs(%16 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%13, %14 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%17 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %19 = tensor.empty() : tensor<64x512xf32>
  %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<64x512xf32>) outs(%19 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %21 = tensor.extract_slice %w[3, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %22 = arith.constant 0.000000e+00 : f32
  %23 = tensor.empty() : tensor<64x512xf32>
  %24 = linalg.fill ins(%22 : f32) outs(%23 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%20, %21 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%24 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %26 = tensor.empty() : tensor<64x512xf32>
  %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%25 : tensor<64x512xf32>) outs(%26 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %28 = tensor.extract_slice %w[4, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %29 = arith.constant 0.000000e+00 : f32
  %30 = tensor.empty() : tensor<64x512xf32>
  %31 = linalg.fill ins(%29 : f32) outs(%30 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%27, %28 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%31 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %33 = tensor.empty() : tensor<64x512xf32>
  %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%32 : tensor<64x512xf32>) outs(%33 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %35 = tensor.extract_slice %w[5, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %36 = arith.constant 0.000000e+00 : f32
  %37 = tensor.empty() : tensor<64x512xf32>
  %38 = linalg.fill ins(%36 : f32) outs(%37 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%34, %35 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%38 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %40 = tensor.empty() : tensor<64x512xf32>
  %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%39 : tensor<64x512xf32>) outs(%40 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %42 = tensor.extract_slice %w[6, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %43 = arith.constant 0.000000e+00 : f32
  %44 = tensor.empty() : tensor<64x512xf32>
  %45 = linalg.fill ins(%43 : f32) outs(%44 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%41, %42 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%45 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %47 = tensor.empty() : tensor<64x512xf32>
  %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%46 : tensor<64x512xf32>) outs(%47 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %49 = tensor.extract_slice %w[7, 0, 0] [1, 512, 512] [1, 1, 1] : tensor<8x512x512xf32> to tensor<512x512xf32>
  %50 = arith.constant 0.000000e+00 : f32
  %51 = tensor.empty() : tensor<64x512xf32>
  %52 = linalg.fill ins(%50 : f32) outs(%51 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%48, %49 : tensor<64x512xf32>, tensor<512x512xf32>) outs(%52 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %54 = tensor.empty() : tensor<64x512xf32>
  %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%53 : tensor<64x512xf32>) outs(%54 : tensor<64x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  return %55 : tensor<64x512xf32>
}
