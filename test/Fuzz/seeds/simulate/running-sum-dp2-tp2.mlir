#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d1)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["tp"], bytes = 2.560000e+02 : f64, calls = [{op = "linalg.generic at test/Layouts/running-sum.mlir:13:12", stage = 0 : i64}], cause = "totals of a split scan wanted by the other ranks", kind = "all-gather", op = "linalg.generic at test/Layouts/running-sum.mlir:13:12", site = 0 : i64, type = tensor<1x64xf32>}], spmd.stages = [array<i64: 1, 524352>]} {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
  func.func @main(%arg0: tensor<64x4096xf32> {spmd.arg = 0 : i64, spmd.dims = ["batch", ""], spmd.global = tensor<64x8192xf32>, spmd.role = "input", spmd.sharding = [[], ["tp"]]}) -> (tensor<64x4096xf32> {spmd.global = tensor<64x8192xf32>, spmd.result = 0 : i64, spmd.sharding = [[], ["tp"]]}) {
    %proc_linear_idx = shard.process_multi_index on @mesh axes = [1] : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<64x4096xf32>
    %1 = tensor.empty() : tensor<64xf32>
    %2 = linalg.fill {spmd.origin = "linalg.fill at test/Layouts/running-sum.mlir:13:12 (@main)"} ins(%cst : f32) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
    %c4096 = arith.constant 4096 : index
    %3 = arith.muli %proc_linear_idx, %c4096 : index
    %cst_0 = arith.constant -0.000000e+00 : f32
    %4 = tensor.empty() : tensor<64xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<64xf32>) -> tensor<64xf32>
    %6:2 = linalg.generic {indexing_maps = [#map, #map, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<64x4096xf32>) outs(%0, %5 : tensor<64x4096xf32>, tensor<64xf32>) attrs =  {spmd.origin = ["", "linalg.generic at test/Layouts/running-sum.mlir:13:12 (@main:0:1)"]} {
    ^bb0(%in: f32, %out: f32, %out_1: f32):
      %10 = arith.addf %out_1, %in : f32
      linalg.yield %10, %10 : f32, f32
    } -> (tensor<64x4096xf32>, tensor<64xf32>)
    %expanded = tensor.expand_shape %6#1 [[0, 1]] output_shape [1, 64] : tensor<64xf32> into tensor<1x64xf32>
    %all_gather = shard.all_gather %expanded on @mesh grid_axes = [1] gather_axis = 0 {spmd.site = 0 : i64} : tensor<1x64xf32> -> tensor<2x64xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["reduction", "parallel"]} ins(%all_gather : tensor<2x64xf32>) outs(%2 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.addf %out, %in : f32
      %11 = linalg.index 0 : index
      %12 = arith.cmpi ult, %11, %proc_linear_idx : index
      %13 = arith.select %12, %10, %out : f32
      linalg.yield %13 : f32
    } -> tensor<64xf32>
    %8 = tensor.empty() : tensor<64x4096xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%7, %6#0 : tensor<64xf32>, tensor<64x4096xf32>) outs(%8 : tensor<64x4096xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/running-sum.mlir:13:12 (@main:0:0)", spmd.sharding = [[[], ["tp"]]]} {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.addf %in, %in_1 : f32
      linalg.yield %10 : f32
    } -> tensor<64x4096xf32>
    return %9 : tensor<64x4096xf32>
  }
}

