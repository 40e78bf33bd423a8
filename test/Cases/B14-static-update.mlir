// A fixed small window written along a dimension that is whole: jax issue 23052 gathered the array for it, though not
// when the position was known only at run time. Neither sends anything; the neighbours: that position, and a window
// along the split dimension.
// RUN: split-file %s %t
// RUN: shard-run %t/fixed.mlir --auto-shard=tp4 --check | FileCheck %s
// RUN: shard-run %t/dynamic.mlir --auto-shard=tp4 --check | FileCheck %s
// RUN: shard-run %t/along.mlir --auto-shard=tp4 --check | FileCheck %s
// CHECK: result 0 1024x1024xf32 against the unsharded program: equal
// CHECK: sent by a rank, mean, an iteration: nothing

//--- fixed.mlir
func.func @main(%x: tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]}, %rows: tensor<2x1024xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]}) {
  %0 = tensor.insert_slice %rows into %x[0, 0] [2, 1024] [1, 1] : tensor<2x1024xf32> into tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
//--- dynamic.mlir
func.func @main(%x: tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]}, %rows: tensor<2x1024xf32> {spmd.sharding = [[], ["tp"]]}, %position: tensor<i64>) -> (tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]}) {
  %p = tensor.extract %position[] : tensor<i64>
  %at = arith.index_cast %p : i64 to index
  %0 = tensor.insert_slice %rows into %x[%at, 0] [2, 1024] [1, 1] : tensor<2x1024xf32> into tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
//--- along.mlir
func.func @main(%x: tensor<1024x1024xf32> {spmd.sharding = [["tp"], []]}, %rows: tensor<3x1024xf32> {spmd.sharding = [[], []]}) -> (tensor<1024x1024xf32> {spmd.sharding = [["tp"], []]}) {
  %0 = tensor.insert_slice %rows into %x[510, 0] [3, 1024] [1, 1] : tensor<3x1024xf32> into tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
