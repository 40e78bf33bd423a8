// layout: 512 tokens, top 2 of 8 experts, dense dispatch of capacity 256; tokens and experts split
// mesh: ep8
// least: (n-1)/n * (2 * (512*256*4 + 8*256*256*4) / n + 512*8*4)
// how: all-to-all of the tokens by features, each rank puts its features of all tokens in place, all-to-all by
// how: experts, and the same way back; gather of the router's weights. Gathers and reduce-scatters of tokens are 910
// xla: 5418
// odd: 512 -> 511
// flops-doubled: 2: eight experts are on eight of sixteen devices, the others are idle
func.func @main(%x: tensor<512x256xf32> {spmd.role = "input", spmd.sharding = [["ep"], []]},
                %router: tensor<256x8xf32> {spmd.sharding = [[], []]},
                %w1: tensor<8x256x512xf32> {spmd.sharding = [["ep"], [], []]},
                %w2: tensor<8x512x256xf32> {spmd.sharding = [["ep"], [], []]}) -> (tensor<512x256xf32> {spmd.sharding = [["ep"], []]}) {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.empty() : tensor<512x8xf32>
  %2 = linalg.fill ins(%0 : f32) outs(%1 : tensor<512x8xf32>) -> tensor<512x8xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %router : tensor<512x256xf32>, tensor<256x8xf32>) outs(%2 : tensor<512x8xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<512x8xf32>
  %4 = arith.constant 0xFF800000 : f32
  %5 = tensor.empty() : tensor<512xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<512xf32>) -> tensor<512xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<512x8xf32>) outs(%6 : tensor<512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.maximumf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  %8 = tensor.empty() : tensor<512x8xf32>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3, %7 : tensor<512x8xf32>, tensor<512xf32>) outs(%8 : tensor<512x8xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %d = arith.subf %ain, %bin : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<512x8xf32>
  %10 = arith.constant 0.000000e+00 : f32
  %11 = tensor.empty() : tensor<512xf32>
  %12 = linalg.fill ins(%10 : f32) outs(%11 : tensor<512xf32>) -> tensor<512xf32>
  %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%9 : tensor<512x8xf32>) outs(%12 : tensor<512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = arith.addf %ain, %out : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  %14 = tensor.empty() : tensor<512x8xf32>
  %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9, %13 : tensor<512x8xf32>, tensor<512xf32>) outs(%14 : tensor<512x8xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.divf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<512x8xf32>
  %low = arith.constant 0xFF800000 : f32
  %zi = arith.constant 0 : i64
  %one = arith.constant 1.000000e+00 : f32
  %zf = arith.constant 0.000000e+00 : f32
  %20 = tensor.empty() : tensor<512xf32>
  %21 = linalg.fill ins(%low : f32) outs(%20 : tensor<512xf32>) -> tensor<512xf32>
  %22 = tensor.empty() : tensor<512xi64>
  %23 = linalg.fill ins(%zi : i64) outs(%22 : tensor<512xi64>) -> tensor<512xi64>
  %24:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%15 : tensor<512x8xf32>) outs(%21, %23 : tensor<512xf32>, tensor<512xi64>) {
  ^bb0(%ain: f32, %out0: f32, %out1: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %ain, %out0 : f32
    %v = arith.select %g, %ain, %out0 : f32
    %w = arith.select %g, %k, %out1 : i64
    linalg.yield %v, %w : f32, i64
  } -> (tensor<512xf32>, tensor<512xi64>)
  %25 = tensor.empty() : tensor<512x8xf32>
  %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24#1 : tensor<512xi64>) outs(%25 : tensor<512x8xf32>) {
  ^bb0(%ain: i64, %out: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %ain, %k : i64
    %r = arith.select %g, %one, %zf : f32
    linalg.yield %r : f32
  } -> tensor<512x8xf32>
  %27 = tensor.empty() : tensor<512x8xf32>
  %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15, %26 : tensor<512x8xf32>, tensor<512x8xf32>) outs(%27 : tensor<512x8xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %g = arith.cmpf ogt, %bin, %zf : f32
    %r = arith.select %g, %low, %ain : f32
    linalg.yield %r : f32
  } -> tensor<512x8xf32>
  %29 = tensor.empty() : tensor<512xf32>
  %30 = linalg.fill ins(%low : f32) outs(%29 : tensor<512xf32>) -> tensor<512xf32>
  %31 = tensor.empty() : tensor<512xi64>
  %32 = linalg.fill ins(%zi : i64) outs(%31 : tensor<512xi64>) -> tensor<512xi64>
  %33:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%28 : tensor<512x8xf32>) outs(%30, %32 : tensor<512xf32>, tensor<512xi64>) {
  ^bb0(%ain: f32, %out0: f32, %out1: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %g = arith.cmpf ogt, %ain, %out0 : f32
    %v = arith.select %g, %ain, %out0 : f32
    %w = arith.select %g, %k, %out1 : i64
    linalg.yield %v, %w : f32, i64
  } -> (tensor<512xf32>, tensor<512xi64>)
  %34 = tensor.empty() : tensor<512x8xf32>
  %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%33#1 : tensor<512xi64>) outs(%34 : tensor<512x8xf32>) {
  ^bb0(%ain: i64, %out: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %g = arith.cmpi eq, %ain, %k : i64
    %r = arith.select %g, %one, %zf : f32
    linalg.yield %r : f32
  } -> tensor<512x8xf32>
  %36 = tensor.empty() : tensor<512x8xf32>
  %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%26, %35 : tensor<512x8xf32>, tensor<512x8xf32>) outs(%36 : tensor<512x8xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.addf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<512x8xf32>
  %38 = tensor.empty() : tensor<512x8xf32>
  %39 = linalg.fill ins(%zf : f32) outs(%38 : tensor<512x8xf32>) -> tensor<512x8xf32>
  %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%37 : tensor<512x8xf32>) outs(%39 : tensor<512x8xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 2 : index
    %g = arith.cmpi ult, %j, %i : index
    %v = arith.select %g, %ain, %zf : f32
    %s = arith.addf %v, %out : f32
    linalg.yield %s : f32
  } -> tensor<512x8xf32>
  %41 = tensor.empty() : tensor<512x8x256xf32>
  %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%37, %40 : tensor<512x8xf32>, tensor<512x8xf32>) outs(%41 : tensor<512x8x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %c = linalg.index 2 : index
    %k = arith.index_cast %c : index to i64
    %w = arith.sitofp %k : i64 to f32
    %g = arith.cmpf oeq, %bin, %w : f32
    %r = arith.select %g, %ain, %zf : f32
    linalg.yield %r : f32
  } -> tensor<512x8x256xf32>
  %43 = arith.constant 0.000000e+00 : f32
  %44 = tensor.empty() : tensor<8x256x256xf32>
  %45 = linalg.fill ins(%43 : f32) outs(%44 : tensor<8x256x256xf32>) -> tensor<8x256x256xf32>
  %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%42, %x : tensor<512x8x256xf32>, tensor<512x256xf32>) outs(%45 : tensor<8x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x256x256xf32>
  %47 = arith.constant 0.000000e+00 : f32
  %48 = tensor.empty() : tensor<8x256x512xf32>
  %49 = linalg.fill ins(%47 : f32) outs(%48 : tensor<8x256x512xf32>) -> tensor<8x256x512xf32>
  %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%46, %w1 : tensor<8x256x256xf32>, tensor<8x256x512xf32>) outs(%49 : tensor<8x256x512xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x256x512xf32>
  %51 = tensor.empty() : tensor<8x256x512xf32>
  %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%50 : tensor<8x256x512xf32>) outs(%51 : tensor<8x256x512xf32>) {
  ^bb0(%ain: f32, %out: f32):
    %r = math.tanh %ain : f32
    linalg.yield %r : f32
  } -> tensor<8x256x512xf32>
  %53 = arith.constant 0.000000e+00 : f32
  %54 = tensor.empty() : tensor<8x256x256xf32>
  %55 = linalg.fill ins(%53 : f32) outs(%54 : tensor<8x256x256xf32>) -> tensor<8x256x256xf32>
  %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%52, %w2 : tensor<8x256x512xf32>, tensor<8x512x256xf32>) outs(%55 : tensor<8x256x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x256x256xf32>
  %57 = tensor.empty() : tensor<512x8x256xf32>
  %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%42, %15 : tensor<512x8x256xf32>, tensor<512x8xf32>) outs(%57 : tensor<512x8x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %r = arith.mulf %ain, %bin : f32
    linalg.yield %r : f32
  } -> tensor<512x8x256xf32>
  %59 = arith.constant 0.000000e+00 : f32
  %60 = tensor.empty() : tensor<512x256xf32>
  %61 = linalg.fill ins(%59 : f32) outs(%60 : tensor<512x256xf32>) -> tensor<512x256xf32>
  %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%58, %56 : tensor<512x8x256xf32>, tensor<8x256x256xf32>) outs(%61 : tensor<512x256xf32>) {
  ^bb0(%ain: f32, %bin: f32, %out: f32):
    %p = arith.mulf %ain, %bin : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<512x256xf32>
  return %62 : tensor<512x256xf32>
}
