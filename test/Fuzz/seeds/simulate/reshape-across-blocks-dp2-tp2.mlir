#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["tp"], bytes = 1.843200e+05 : f64, calls = [{op = "linalg.generic at test/Layouts/reshape-across-blocks.mlir:9:8", stage = 0 : i64}], cause = "split elementwise op wanted whole by the function's result", from = "[[], [\22tp\22]]", implicit, kind = "all-gather", moved = 1.843200e+05 : f64, op = "linalg.generic at test/Layouts/reshape-across-blocks.mlir:9:8", otherwise = [{bytes = 1.843200e+05 : f64, how = "elementwise op from operands brought there"}, {bytes = 1.843200e+05 : f64, how = "taken as it is, and what is made of it brought back"}], site = 0 : i64, to = "whole", type = tensor<3x15360xf32>, value = "linalg.generic at test/Layouts/reshape-across-blocks.mlir:9:8 (@main:0)"}], spmd.stages = [array<i64: 1, 92160>]} {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
  func.func @main(%arg0: tensor<3x15360xf32> {spmd.arg = 0 : i64, spmd.dims = ["batch", "sequence"], spmd.global = tensor<3x30720xf32>, spmd.role = "input", spmd.sharding = [[], ["tp"]]}) -> (tensor<3x6x5120xf32> {spmd.global = tensor<3x6x5120xf32>, spmd.result = 0 : i64, spmd.sharding = [[], [], []]}) {
    %0 = tensor.empty() : tensor<3x15360xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<3x15360xf32>) outs(%0 : tensor<3x15360xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/reshape-across-blocks.mlir:9:8 (@main:0)", spmd.sharding = [[[], ["tp"]]]} {
    ^bb0(%in: f32, %out: f32):
      %2 = math.sin %in : f32
      linalg.yield %2 : f32
    } -> tensor<3x15360xf32>
    %all_gather = shard.all_gather %1 on @mesh grid_axes = [1] gather_axis = 1 {spmd.origin = "linalg.generic at test/Layouts/reshape-across-blocks.mlir:9:8 (@main:0)", spmd.site = 0 : i64} : tensor<3x15360xf32> -> tensor<3x30720xf32>
    %expanded = tensor.expand_shape %all_gather [[0], [1, 2]] output_shape [3, 6, 5120] {spmd.origin = "tensor.expand_shape at test/Layouts/reshape-across-blocks.mlir:14:8 (@main:1)"} : tensor<3x30720xf32> into tensor<3x6x5120xf32>
    return %expanded : tensor<3x6x5120xf32>
  }
}

