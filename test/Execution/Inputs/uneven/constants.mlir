// A constant of many values beside a split argument; constants of one value.
// SPLIT: {"0":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]}}
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0], [11.0, 12.0, 13.0, 14.0, 15.0]]> : tensor<3x5xf32>
  %s = arith.constant dense<0.5> : tensor<3x5xf32>
  %0 = arith.mulf %x, %c : tensor<3x5xf32>
  %1 = arith.addf %0, %s : tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}
