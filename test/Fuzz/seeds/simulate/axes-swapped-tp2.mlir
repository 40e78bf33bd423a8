#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {spmd.results = "whole", spmd.sites = [], spmd.stages = [array<i64: 1, 65536>]} {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%arg0: tensor<128x256xf32> {spmd.arg = 0 : i64, spmd.dims = ["batch", ""], spmd.global = tensor<256x256xf32>, spmd.role = "input", spmd.sharding = [["tp"], []]}) -> (tensor<128x256xf32> {spmd.global = tensor<256x256xf32>, spmd.result = 0 : i64, spmd.sharding = [["tp"], []]}) {
    %0 = tensor.empty() : tensor<128x256xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<128x256xf32>) outs(%0 : tensor<128x256xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/axes-swapped.mlir:9:8 (@main:0)", spmd.sharding = [[["tp"], []]]} {
    ^bb0(%in: f32, %out: f32):
      %2 = math.sin %in : f32
      linalg.yield %2 : f32
    } -> tensor<128x256xf32>
    return %1 : tensor<128x256xf32>
  }
}

