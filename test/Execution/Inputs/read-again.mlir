func.func @main(%x: tensor<2x2xf64>, %m: tensor<2x2x2xf64>, %v: tensor<2x2xf64>, %row: tensor<1x2xf64>)
    -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>) {
  %one = arith.constant dense<1.0> : tensor<2x2xf64>
  %twice = arith.addf %x, %x : tensor<2x2xf64>
  %raised = arith.addf %twice, %one : tensor<2x2xf64>
  %product = linalg.batch_vecmat ins(%v, %m : tensor<2x2xf64>, tensor<2x2x2xf64>) outs(%twice : tensor<2x2xf64>) -> tensor<2x2xf64>
  %0 = tensor.insert_slice %row into %twice[1, 0] [1, 2] [1, 1] : tensor<1x2xf64> into tensor<2x2xf64>
  %1 = arith.addf %x, %raised : tensor<2x2xf64>
  %2 = arith.addf %1, %raised : tensor<2x2xf64>
  return %product, %raised, %0, %raised, %product, %2 : tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>
}
