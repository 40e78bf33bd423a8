// The second half of twelve rows, six that a reshape sees as 3x2, is replaced: over two axes the halves
// lie on one, and three rows each, a block of 3x2, on the other.
// RUN: shard-opt %s --shard-spmdize --quiet -o %t
// RUN: FileCheck %s < %t
// CHECK: tensor.insert_slice {{.*}} : tensor<3x5xf32> into tensor<3x5xf32>
// RUN: shard-run %t --check=%s --exact | FileCheck %s --check-prefix=RAN
// RAN-COUNT-2: against the unsharded program: equal
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp.0", "tp.1"]}
func.func @main(%x: tensor<12x5xf32> {spmd.sharding = [["tp"], []]}, %y: tensor<6x5xf32>)
    -> (tensor<12x5xf32> {spmd.sharding = [["tp"], []]}, tensor<3x2x5xf32>) {
  %0 = tensor.insert_slice %y into %x[6, 0] [6, 5] [1, 1] {spmd.sharding = [[["tp"], []]]} : tensor<6x5xf32> into tensor<12x5xf32>
  %1 = tensor.expand_shape %y [[0, 1], [2]] output_shape [3, 2, 5] : tensor<6x5xf32> into tensor<3x2x5xf32>
  return %0, %1 : tensor<12x5xf32>, tensor<3x2x5xf32>
}
