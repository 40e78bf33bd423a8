#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module attributes {spmd.results = "whole", spmd.sites = [], spmd.stages = [array<i64: 1, 2097152>]} {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%arg0: tensor<2x1024x8x64xf32> {spmd.alias = 0 : i64, spmd.arg = 0 : i64, spmd.dims = ["batch", "sequence", "sequence", ""], spmd.global = tensor<2x2048x8x64xf32>, spmd.role = "state", spmd.sharding = [[], ["tp"], [], []]}, %arg1: tensor<2x1x8x64xf32> {spmd.arg = 1 : i64, spmd.dims = ["batch", "", "sequence", ""], spmd.global = tensor<2x1x8x64xf32>, spmd.role = "input", spmd.sharding = [[], [], [], []]}, %arg2: tensor<i64> {spmd.arg = 2 : i64, spmd.global = tensor<i64>, spmd.role = "weight", spmd.sharding = []}) -> (tensor<2x1024x8x64xf32> {spmd.global = tensor<2x2048x8x64xf32>, spmd.result = 0 : i64, spmd.sharding = [[], ["tp"], [], []]}) {
    %proc_linear_idx = shard.process_multi_index on @mesh axes = [0] : index
    %extracted = tensor.extract %arg2[] : tensor<i64>
    %0 = arith.index_cast %extracted : i64 to index
    %c1024 = arith.constant 1024 : index
    %1 = arith.muli %proc_linear_idx, %c1024 : index
    %c0 = arith.constant 0 : index
    %2 = arith.subi %0, %1 : index
    %c0_0 = arith.constant 0 : index
    %c1023 = arith.constant 1023 : index
    %3 = arith.cmpi slt, %2, %c0_0 : index
    %4 = arith.select %3, %c0_0, %2 : index
    %5 = arith.cmpi sgt, %4, %c1023 : index
    %6 = arith.select %5, %c1023, %4 : index
    %extracted_slice = tensor.extract_slice %arg0[0, %6, 0, 0] [2, 1, 8, 64] [1, 1, 1, 1] : tensor<2x1024x8x64xf32> to tensor<2x1x8x64xf32>
    %7 = tensor.empty() : tensor<2x1x8x64xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<2x1x8x64xf32>) outs(%7 : tensor<2x1x8x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = linalg.index 0 : index
      %10 = linalg.index 1 : index
      %11 = arith.addi %10, %6 : index
      %12 = arith.addi %11, %1 : index
      %13 = arith.subi %12, %0 : index
      %c1 = arith.constant 1 : index
      %14 = arith.cmpi ult, %13, %c1 : index
      %c0_1 = arith.constant 0 : index
      %15 = arith.select %14, %13, %c0_1 : index
      %16 = linalg.index 2 : index
      %17 = linalg.index 3 : index
      %extracted_2 = tensor.extract %arg1[%9, %15, %16, %17] : tensor<2x1x8x64xf32>
      %18 = arith.select %14, %extracted_2, %in : f32
      linalg.yield %18 : f32
    } -> tensor<2x1x8x64xf32>
    %inserted_slice = tensor.insert_slice %8 into %arg0[0, %6, 0, 0] [2, 1, 8, 64] [1, 1, 1, 1] {spmd.origin = "tensor.insert_slice at test/Layouts/cache-write.mlir:12:10 (@main:1)", spmd.sharding = [[[], ["tp"], [], []]]} : tensor<2x1x8x64xf32> into tensor<2x1024x8x64xf32>
    return %inserted_slice : tensor<2x1024x8x64xf32>
  }
}

