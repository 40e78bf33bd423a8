// What a loop starts from keeps its values for those who read it behind the loop: the two results differ.
// RUN: rm -rf %t && mkdir %t && shard-run --auto-shard=tp1 --save=%t %s && not cmp -s %t/out000.npy %t/out001.npy
// RUN: shard-run --auto-shard=tp2 --check %s
func.func @main(%g: tensor<4x8xf32>, %t: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %start = arith.addf %t, %t : tensor<4x8xf32>
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %start) -> (tensor<4x8xf32>) {
    %n = tensor.extract_slice %g[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %na = tensor.insert_slice %n into %a[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    scf.yield %na : tensor<4x8xf32>
  }
  return %s, %start : tensor<4x8xf32>, tensor<4x8xf32>
}
