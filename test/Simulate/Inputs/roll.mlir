func.func @main(%x: tensor<3x24xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<3x24xf32> {spmd.sharding = [[], ["tp"]]}) {
  %a = tensor.extract_slice %x[0, 0] [3, 12] [1, 1] : tensor<3x24xf32> to tensor<3x12xf32>
  %b = tensor.extract_slice %x[0, 12] [3, 12] [1, 1] : tensor<3x24xf32> to tensor<3x12xf32>
  %n = arith.negf %b : tensor<3x12xf32>
  %0 = tensor.concat dim(1) %n, %a : (tensor<3x12xf32>, tensor<3x12xf32>) -> tensor<3x24xf32>
  return %0 : tensor<3x24xf32>
}
