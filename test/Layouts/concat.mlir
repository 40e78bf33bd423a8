// layout: concat along the split dimension
// mesh: tp8
// least: (2*n-2)/n * 256*1024/n*4
// how: each shard sent once, but for the first and the last, which are in place
// xla: 448
// odd: 1024 -> 1023, 2048 -> 2046
func.func @main(%a: tensor<256x1024xf32> {spmd.sharding = [[], ["tp"]]},
                %b: tensor<256x1024xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<256x2048xf32> {spmd.sharding = [[], ["tp"]]}) {
  %0 = tensor.concat dim(1) %a, %b : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<256x2048xf32>
  return %0 : tensor<256x2048xf32>
}
