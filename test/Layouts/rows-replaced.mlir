// layout: the first rows replaced, the columns split
// mesh: tp4
// least: 0
// how: local
// xla: 0
// odd: 1024 -> 1023
func.func @main(%x: tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]},
                %rows: tensor<2x1024xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<1024x1024xf32> {spmd.sharding = [[], ["tp"]]}) {
  %out = tensor.insert_slice %rows into %x[0, 0] [2, 1024] [1, 1] : tensor<2x1024xf32> into tensor<1024x1024xf32>
  return %out : tensor<1024x1024xf32>
}
