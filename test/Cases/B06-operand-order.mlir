// With split inputs, pytorch/xla issue 5264 exchanged the operands of a difference and of a quotient, which sums and
// products hide. The neighbours: integers, a remainder, and one operand that is whole.
// RUN: shard-run %s --auto-shard=tp4 --results=split --check | FileCheck %s
// CHECK-DAG: result 0 {{.*}} against the unsharded program: equal
// CHECK-DAG: result 1 {{.*}} against the unsharded program: equal
// CHECK-DAG: result 2 {{.*}} against the unsharded program: equal
// CHECK-DAG: result 3 {{.*}} against the unsharded program: equal
func.func @main(%a: tensor<64x32xf32> {spmd.sharding = [[], ["tp"]]}, %b: tensor<64x32xf32> {spmd.sharding = [[], ["tp"]]},
                %i: tensor<64x32xi64> {spmd.sharding = [[], ["tp"]]}, %w: tensor<64x32xf32> {spmd.sharding = [[], []]})
    -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xi64>, tensor<64x32xf32>) {
  %0 = arith.subf %a, %b : tensor<64x32xf32>
  %1 = arith.divf %a, %b : tensor<64x32xf32>
  %seven = arith.constant dense<7> : tensor<64x32xi64>
  %three = arith.constant dense<3> : tensor<64x32xi64>
  %j = arith.addi %i, %three : tensor<64x32xi64>
  %2 = arith.remsi %seven, %j : tensor<64x32xi64>
  %3 = arith.subf %w, %a : tensor<64x32xf32>
  return %0, %1, %2, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xi64>, tensor<64x32xf32>
}
