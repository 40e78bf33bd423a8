// Six steps that a reshape sees as 3x2 are summed over halves of them, blocks of 3x2, as the second operand
// has them: what the first is split on is in use for the result. And over both axes, where both have blocks.
// RUN: shard-run %s --auto-shard=dp2,sp2 --check --exact | FileCheck %s
// CHECK-COUNT-3: against the unsharded program: equal
shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "sp"]}
func.func @main(%a: tensor<4x6xi8> {spmd.sharding = [[], ["dp"]]}, %b: tensor<6x5xi8> {spmd.sharding = [["sp"], []]})
    -> (tensor<4x5xi32>, tensor<4x5xi32>, tensor<3x2x5xi8>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %e = tensor.empty() : tensor<4x5xi32>
  %s = linalg.fill ins(%zero : i32) outs(%e : tensor<4x5xi32>) -> tensor<4x5xi32>
  %0 = linalg.quantized_matmul ins(%a, %b, %one, %one : tensor<4x6xi8>, tensor<6x5xi8>, i32, i32) outs(%s : tensor<4x5xi32>) -> tensor<4x5xi32>
  %rows = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
  %placed = shard.shard %0 to %rows : tensor<4x5xi32>
  %1 = linalg.quantized_matmul ins(%a, %b, %one, %zero : tensor<4x6xi8>, tensor<6x5xi8>, i32, i32) outs(%s : tensor<4x5xi32>) -> tensor<4x5xi32>
  %2 = tensor.expand_shape %b [[0, 1], [2]] output_shape [3, 2, 5] : tensor<6x5xi8> into tensor<3x2x5xi8>
  return %0, %1, %2 : tensor<4x5xi32>, tensor<4x5xi32>, tensor<3x2x5xi8>
}
