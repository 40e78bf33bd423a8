#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["tp"], bytes = 0x4130000000000000 : f64, calls = [{op = "linalg.generic at test/Layouts/table-rows.mlir:10:8", stage = 0 : i64}], cause = "partial sum of table lookup wanted whole by the function's result", from = "whole, a partial sum over tp", kind = "all-reduce", moved = 0x4130000000000000 : f64, op = "linalg.generic at test/Layouts/table-rows.mlir:10:8", otherwise = [{bytes = 0x4130000000000000 : f64, how = "scattered as it is summed, then gathered"}, {bytes = 3.276800e+07 : f64, how = "table lookup from operands brought there"}], site = 0 : i64, to = "whole", type = tensor<2x256x512xf32>, value = "linalg.generic at test/Layouts/table-rows.mlir:10:8 (@main:0)"}], spmd.stages = [array<i64: 1, 262144>]} {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
  func.func @main(%arg0: tensor<2x256xi64> {spmd.arg = 0 : i64, spmd.dims = ["batch", "sequence"], spmd.global = tensor<2x256xi64>, spmd.role = "input", spmd.sharding = [[], []]}, %arg1: tensor<16000x512xf32> {spmd.arg = 1 : i64, spmd.global = tensor<32000x512xf32>, spmd.role = "weight", spmd.sharding = [["tp"], []]}) -> (tensor<2x256x512xf32> {spmd.global = tensor<2x256x512xf32>, spmd.result = 0 : i64, spmd.sharding = [[], [], []]}) {
    %proc_linear_idx = shard.process_multi_index on @mesh axes = [1] : index
    %0 = tensor.empty() : tensor<2x256x512xf32>
    %c16000 = arith.constant 16000 : index
    %1 = arith.muli %proc_linear_idx, %c16000 : index
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x256xi64>) outs(%0 : tensor<2x256x512xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/table-rows.mlir:10:8 (@main:0)", spmd.partial = [[{axes = ["tp"], kind = "sum"}]], spmd.sharding = [[[], [], []]]} {
    ^bb0(%in: i64, %out: f32):
      %3 = arith.index_cast %in : i64 to index
      %4 = linalg.index 2 : index
      %5 = arith.subi %3, %1 : index
      %c16000_0 = arith.constant 16000 : index
      %6 = arith.cmpi ult, %5, %c16000_0 : index
      %c0 = arith.constant 0 : index
      %7 = arith.select %6, %5, %c0 : index
      %extracted = tensor.extract %arg1[%7, %4] : tensor<16000x512xf32>
      %cst = arith.constant -0.000000e+00 : f32
      %8 = arith.select %6, %extracted, %cst : f32
      linalg.yield %8 : f32
    } -> tensor<2x256x512xf32>
    %all_reduce = shard.all_reduce %2 on @mesh grid_axes = [1] {spmd.origin = "linalg.generic at test/Layouts/table-rows.mlir:10:8 (@main:0)", spmd.site = 0 : i64} : tensor<2x256x512xf32> -> tensor<2x256x512xf32>
    return %all_reduce : tensor<2x256x512xf32>
  }
}

