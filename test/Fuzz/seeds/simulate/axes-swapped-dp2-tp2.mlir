#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["dp", "tp"], bytes = 3.276800e+04 : f64, calls = [{op = "linalg.generic at test/Layouts/axes-swapped.mlir:9:8", stage = 0 : i64}], cause = "split elementwise op wanted split otherwise by the function's result", from = "[[\22dp\22, \22tp\22], []]", kind = "permute", moved = 3.276800e+04 : f64, op = "linalg.generic at test/Layouts/axes-swapped.mlir:9:8", otherwise = [{bytes = 1.966080e+05 : f64, how = "made whole, then sliced"}, {bytes = 3.276800e+04 : f64, how = "elementwise op from operands brought there"}], site = 0 : i64, to = "[[\22tp\22, \22dp\22], []]", type = tensor<64x256xf32>, value = "linalg.generic at test/Layouts/axes-swapped.mlir:9:8 (@main:0)"}], spmd.stages = [array<i64: 1, 65536>]} {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
  func.func @main(%arg0: tensor<64x256xf32> {spmd.arg = 0 : i64, spmd.dims = ["batch", ""], spmd.global = tensor<256x256xf32>, spmd.role = "input", spmd.sharding = [["dp", "tp"], []]}) -> (tensor<64x256xf32> {spmd.global = tensor<256x256xf32>, spmd.result = 0 : i64, spmd.sharding = [["tp", "dp"], []]}) {
    %proc_linear_idx = shard.process_multi_index on @mesh axes = [1] : index
    %proc_linear_idx_0 = shard.process_multi_index on @mesh axes = [0] : index
    %0 = tensor.empty() : tensor<64x256xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<64x256xf32>) outs(%0 : tensor<64x256xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/axes-swapped.mlir:9:8 (@main:0)", spmd.sharding = [[["dp", "tp"], []]]} {
    ^bb0(%in: f32, %out: f32):
      %7 = math.sin %in : f32
      linalg.yield %7 : f32
    } -> tensor<64x256xf32>
    %2 = tensor.empty() : tensor<64x256xf32>
    %c2 = arith.constant 2 : index
    %3 = arith.muli %proc_linear_idx_0, %c2 : index
    %4 = arith.addi %3, %proc_linear_idx : index
    %extracted_slice = tensor.extract_slice %1[0, 0] [64, 256] [1, 1] : tensor<64x256xf32> to tensor<64x256xf32>
    %cst = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi64>
    %extracted = tensor.extract %cst[%4] : tensor<4xi64>
    %5 = arith.index_cast %extracted : i64 to index
    %cst_1 = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
    %extracted_2 = tensor.extract %cst_1[%4] : tensor<4xi64>
    %6 = arith.index_cast %extracted_2 : i64 to index
    %send = shard.send %extracted_slice on @mesh grid_axes = [0, 1] destination = [%5, %6] {spmd.channel = 0 : i64, spmd.round = 0 : i64, spmd.site = 0 : i64} : (tensor<64x256xf32>, index, index) -> tensor<64x256xf32>
    %recv = shard.recv %extracted_slice on @mesh grid_axes = [0, 1] source = [%5, %6] {spmd.channel = 0 : i64, spmd.round = 0 : i64, spmd.site = 0 : i64} : (tensor<64x256xf32>, index, index) -> tensor<64x256xf32>
    %inserted_slice = tensor.insert_slice %recv into %2[0, 0] [64, 256] [1, 1] {spmd.origin = "linalg.generic at test/Layouts/axes-swapped.mlir:9:8 (@main:0)", spmd.sharding = [[["tp", "dp"], []]]} : tensor<64x256xf32> into tensor<64x256xf32>
    return %inserted_slice : tensor<64x256xf32>
  }
}

