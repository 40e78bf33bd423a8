module attributes {spmd.results = "whole", spmd.sites = [], spmd.stages = [array<i64: 1, 2097152>]} {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%arg0: tensor<2x2048x4x64xf32> {spmd.alias = 0 : i64, spmd.arg = 0 : i64, spmd.dims = ["batch", "sequence", "sequence", ""], spmd.global = tensor<2x2048x8x64xf32>, spmd.role = "state", spmd.sharding = [[], [], ["tp"], []]}, %arg1: tensor<2x1x4x64xf32> {spmd.arg = 1 : i64, spmd.dims = ["batch", "", "sequence", ""], spmd.global = tensor<2x1x8x64xf32>, spmd.role = "input", spmd.sharding = [[], [], ["tp"], []]}, %arg2: tensor<i64> {spmd.arg = 2 : i64, spmd.global = tensor<i64>, spmd.role = "weight", spmd.sharding = []}) -> (tensor<2x2048x4x64xf32> {spmd.global = tensor<2x2048x8x64xf32>, spmd.result = 0 : i64, spmd.sharding = [[], [], ["tp"], []]}) {
    %extracted = tensor.extract %arg2[] : tensor<i64>
    %0 = arith.index_cast %extracted : i64 to index
    %inserted_slice = tensor.insert_slice %arg1 into %arg0[0, %0, 0, 0] [2, 1, 4, 64] [1, 1, 1, 1] {spmd.origin = "tensor.insert_slice at test/Layouts/cache-write-heads.mlir:12:10 (@main:1)", spmd.sharding = [[[], [], ["tp"], []]]} : tensor<2x1x4x64xf32> into tensor<2x2048x4x64xf32>
    return %inserted_slice : tensor<2x2048x4x64xf32>
  }
}

