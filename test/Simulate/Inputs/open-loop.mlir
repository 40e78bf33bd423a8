func.func @main(%x: tensor<8x16xf32>, %n: tensor<index>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bound = tensor.extract %n[] : tensor<index>
  %0 = scf.for %i = %c0 to %bound step %c1 iter_args(%v = %x) -> (tensor<8x16xf32>) {
    %e = math.exp %v : tensor<8x16xf32>
    scf.yield %e : tensor<8x16xf32>
  }
  return %0 : tensor<8x16xf32>
}
