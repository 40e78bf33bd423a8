module attributes {spmd.results = "whole", spmd.sites = [], spmd.stages = [array<i64: 1, 1048576>]} {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%arg0: tensor<1024x512xf32> {spmd.alias = 0 : i64, spmd.arg = 0 : i64, spmd.dims = ["batch", ""], spmd.global = tensor<1024x1024xf32>, spmd.role = "state", spmd.sharding = [[], ["tp"]]}, %arg1: tensor<2x512xf32> {spmd.arg = 1 : i64, spmd.global = tensor<2x1024xf32>, spmd.role = "weight", spmd.sharding = [[], ["tp"]]}) -> (tensor<1024x512xf32> {spmd.global = tensor<1024x1024xf32>, spmd.result = 0 : i64, spmd.sharding = [[], ["tp"]]}) {
    %inserted_slice = tensor.insert_slice %arg1 into %arg0[0, 0] [2, 512] [1, 1] {spmd.origin = "tensor.insert_slice at test/Layouts/rows-replaced.mlir:9:10 (@main:0)", spmd.sharding = [[[], ["tp"]]]} : tensor<2x512xf32> into tensor<1024x512xf32>
    return %inserted_slice : tensor<1024x512xf32>
  }
}

