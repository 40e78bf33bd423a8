#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["tp"], bytes = 7.200000e+01 : f64, calls = [{op = "linalg.generic at test/Simulate/Inputs/roll.mlir:5:8", stage = 0 : i64}], cause = "operand read in turned order along a split dimension", kind = "permute", op = "linalg.generic at test/Simulate/Inputs/roll.mlir:5:8", site = 0 : i64, type = tensor<3x6xf32>}], spmd.stages = [array<i64: 1, 72>]} {
  shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
  func.func @main(%arg0: tensor<3x6xf32> {spmd.alias = 0 : i64, spmd.arg = 0 : i64, spmd.dims = ["batch", ""], spmd.global = tensor<3x24xf32>, spmd.role = "state", spmd.sharding = [[], ["tp"]]}) -> (tensor<3x6xf32> {spmd.global = tensor<3x24xf32>, spmd.result = 0 : i64, spmd.sharding = [[], ["tp"]]}) {
    %proc_linear_idx = shard.process_multi_index on @mesh axes = [0] : index
    %0 = tensor.empty() : tensor<3x6xf32>
    %1 = tensor.empty() : tensor<3x6xf32>
    %extracted_slice = tensor.extract_slice %arg0[0, 0] [3, 6] [1, 1] : tensor<3x6xf32> to tensor<3x6xf32>
    %shift = shard.shift %extracted_slice on @mesh grid_axes = [0] shift_axis = 0 offset = 2 rotate {spmd.round = 0 : i64, spmd.site = 0 : i64} : tensor<3x6xf32> -> tensor<3x6xf32>
    %inserted_slice = tensor.insert_slice %shift into %1[0, 0] [3, 6] [1, 1] : tensor<3x6xf32> into tensor<3x6xf32>
    %c6 = arith.constant 6 : index
    %2 = arith.muli %proc_linear_idx, %c6 : index
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%inserted_slice : tensor<3x6xf32>) outs(%0 : tensor<3x6xf32>) attrs =  {spmd.origin = "linalg.generic at test/Simulate/Inputs/roll.mlir:5:8 (@main:0)", spmd.sharding = [[[], ["tp"]]]} {
    ^bb0(%in: f32, %out: f32):
      %4 = arith.negf %in : f32
      %5 = linalg.index 1 : index
      %6 = arith.addi %5, %2 : index
      %c12 = arith.constant 12 : index
      %7 = arith.cmpi ult, %6, %c12 : index
      %8 = arith.select %7, %4, %in : f32
      linalg.yield %8 : f32
    } -> tensor<3x6xf32>
    return %3 : tensor<3x6xf32>
  }
}

