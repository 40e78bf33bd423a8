#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module attributes {spmd.results = "whole", spmd.sites = [{axes = ["tp"], bytes = 0x4130000000000000 : f64, calls = [{op = "linalg.generic at test/Layouts/table-rows-32003.mlir:10:8", stage = 0 : i64}], cause = "partial sum of table lookup wanted whole by the function's result", from = "whole, a partial sum over tp", kind = "all-reduce", moved = 0x4130000000000000 : f64, op = "linalg.generic at test/Layouts/table-rows-32003.mlir:10:8", otherwise = [{bytes = 0x4130000000000000 : f64, how = "scattered as it is summed, then gathered"}, {bytes = 0x417F410000000000 : f64, how = "table lookup from operands brought there"}], site = 0 : i64, to = "whole", type = tensor<2x256x512xf32>, value = "linalg.generic at test/Layouts/table-rows-32003.mlir:10:8 (@main:0)"}], spmd.stages = [array<i64: 1, 262144>]} {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
  func.func @main(%arg0: tensor<2x256xi64> {spmd.arg = 0 : i64, spmd.dims = ["batch", "sequence"], spmd.global = tensor<2x256xi64>, spmd.role = "input", spmd.sharding = [[], []]}, %arg1: tensor<16002x512xf32> {spmd.arg = 1 : i64, spmd.extent = array<i64: 32003, 512>, spmd.global = tensor<32003x512xf32>, spmd.role = "weight", spmd.sharding = [["tp"], []]}) -> (tensor<2x256x512xf32> {spmd.global = tensor<2x256x512xf32>, spmd.result = 0 : i64, spmd.sharding = [[], [], []]}) {
    %proc_linear_idx = shard.process_multi_index on @mesh axes = [1] : index
    %0 = tensor.empty() : tensor<2x256x512xf32>
    %c16002 = arith.constant 16002 : index
    %1 = arith.muli %proc_linear_idx, %c16002 : index
    %c32003 = arith.constant 32003 : index
    %2 = arith.minui %1, %c32003 : index
    %3 = arith.subi %c32003, %2 : index
    %c16002_0 = arith.constant 16002 : index
    %4 = arith.minui %3, %c16002_0 : index
    %5 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x256xi64>) outs(%0 : tensor<2x256x512xf32>) attrs =  {spmd.origin = "linalg.generic at test/Layouts/table-rows-32003.mlir:10:8 (@main:0)", spmd.partial = [[{axes = ["tp"], kind = "sum"}]], spmd.sharding = [[[], [], []]]} {
    ^bb0(%in: i64, %out: f32):
      %6 = arith.index_cast %in : i64 to index
      %7 = linalg.index 2 : index
      %8 = arith.subi %6, %1 : index
      %c16002_1 = arith.constant 16002 : index
      %9 = arith.cmpi ult, %8, %c16002_1 : index
      %c0 = arith.constant 0 : index
      %10 = arith.select %9, %8, %c0 : index
      %extracted = tensor.extract %arg1[%10, %7] : tensor<16002x512xf32>
      %cst = arith.constant -0.000000e+00 : f32
      %11 = arith.select %9, %extracted, %cst : f32
      linalg.yield %11 : f32
    } -> tensor<2x256x512xf32>
    %all_reduce = shard.all_reduce %5 on @mesh grid_axes = [1] {spmd.origin = "linalg.generic at test/Layouts/table-rows-32003.mlir:10:8 (@main:0)", spmd.site = 0 : i64} : tensor<2x256x512xf32> -> tensor<2x256x512xf32>
    return %all_reduce : tensor<2x256x512xf32>
  }
}

