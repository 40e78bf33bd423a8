#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["tp"], bytes = 0x4130000000000000 : f64, calls = [{op = "linalg.generic at test/Layouts/axes-regrouped.mlir:10:8", stage = 0 : i64}], cause = "split elementwise op wanted split otherwise by the function's result", from = "[[\22tp\22], [], []]", kind = "all-to-all", moved = 0x4130000000000000 : f64, op = "linalg.generic at test/Layouts/axes-regrouped.mlir:10:8", otherwise = [{bytes = 0x4140000000000000 : f64, how = "made whole, then sliced"}, {bytes = 0x4130000000000000 : f64, how = "elementwise op from operands brought there"}], site = 0 : i64, to = "[[], [\22tp\22], []]", type = tensor<8x256x256xf32>, value = "linalg.generic at test/Layouts/axes-regrouped.mlir:10:8 (@main:0)"}], spmd.stages = [array<i64: 1, 1048576>]} {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%arg0: tensor<8x256x256xf32> {spmd.arg = 0 : i64, spmd.dims = ["batch", "sequence", ""], spmd.global = tensor<16x256x256xf32>, spmd.role = "input", spmd.sharding = [["tp"], [], []]}) -> (tensor<16x128x256xf32> {spmd.global = tensor<16x256x256xf32>, spmd.result = 0 : i64, spmd.sharding = [[], ["tp"], []]}) {
    %0 = tensor.empty() : tensor<8x256x256xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<8x256x256xf32>) outs(%0 : tensor<8x256x256xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/axes-regrouped.mlir:10:8 (@main:0)", spmd.sharding = [[["tp"], [], []]]} {
    ^bb0(%in: f32, %out: f32):
      %2 = math.sin %in : f32
      linalg.yield %2 : f32
    } -> tensor<8x256x256xf32>
    %all_to_all = shard.all_to_all %1 on @mesh grid_axes = [0] split_axis = 1 concat_axis = 0 {spmd.origin = "linalg.generic at test/Layouts/axes-regrouped.mlir:10:8 (@main:0)", spmd.sharding = [[[], ["tp"], []]], spmd.site = 0 : i64} : tensor<8x256x256xf32> -> tensor<16x128x256xf32>
    return %all_to_all : tensor<16x128x256xf32>
  }
}

