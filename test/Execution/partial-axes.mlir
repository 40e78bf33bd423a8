// What is combined away is split over the axes of both operands: one has one of them, the other both,
// in the order that it names, or the other one. A maximum cannot pass a partial operand on instead.
// RUN: shard-run %s --auto-shard=dp2,tp3 --check --exact | FileCheck %s
// CHECK-COUNT-4: against the unsharded program: equal
// CHECK: sent by a rank, mean, an iteration: all-reduce {{[0-9]+}} B, permute {{[0-9]+}} B{{$}}
func.func @main(%a: tensor<4x12xf32> {spmd.sharding = [[], ["dp"]]},
                %b: tensor<12x5xf32> {spmd.sharding = [["tp", "dp"], []]},
                %c: tensor<12x5xf32> {spmd.sharding = [["tp"], []]},
                %d: tensor<12x7xf32> {spmd.sharding = [["dp", "tp"], []]})
    -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x7xf32>, tensor<4x7xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -100.0 : f32
  %e = tensor.empty() : tensor<4x5xf32>
  %e7 = tensor.empty() : tensor<4x7xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %s7 = linalg.fill ins(%zero : f32) outs(%e7 : tensor<4x7xf32>) -> tensor<4x7xf32>
  %m7 = linalg.fill ins(%low : f32) outs(%e7 : tensor<4x7xf32>) -> tensor<4x7xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x12xf32>, tensor<12x5xf32>) outs(%s : tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = linalg.matmul ins(%a, %c : tensor<4x12xf32>, tensor<12x5xf32>) outs(%s : tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = linalg.matmul ins(%a, %d : tensor<4x12xf32>, tensor<12x7xf32>) outs(%s7 : tensor<4x7xf32>) -> tensor<4x7xf32>
  %3 = linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %d : tensor<4x12xf32>, tensor<12x7xf32>) outs(%m7 : tensor<4x7xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %sum = arith.addf %x, %y : f32
    %most = arith.maximumf %sum, %z : f32
    linalg.yield %most : f32
  } -> tensor<4x7xf32>
  return %0, %1, %2, %3 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x7xf32>, tensor<4x7xf32>
}
