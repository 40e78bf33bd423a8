// RUN: shard-run --auto-shard=tp2 --check --quiet %s
// Loops, branches and calls, for which upstream has no interface either; a declaration that nobody calls.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func private @elsewhere(tensor<8x16xf32>) -> tensor<8x16xf32>
func.func @control(%x: tensor<8x16xf32>, %n: tensor<1xi64>) -> tensor<8x16xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = shard.shard %x to %rows : tensor<8x16xf32>
  %b = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %a) -> (tensor<8x16xf32>) {
    %u = func.call @twice(%t) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    scf.yield %u : tensor<8x16xf32>
  }
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %zero = arith.constant 0 : i64
  %p = arith.cmpi sgt, %v, %zero : i64
  %0 = scf.if %p -> (tensor<8x16xf32>) {
    scf.yield %b : tensor<8x16xf32>
  } else {
    scf.yield %a : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}
func.func private @twice(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = arith.addf %x, %x : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
