// Annotations that need every kind of collective: gathers over one axis and two, exchanges of the
// split dimension, scattered sums, maxima and minima over ranks.
func.func @main(%x: tensor<8x8xf32> {spmd.role = "input", spmd.dims = ["batch", ""], spmd.sharding = [["dp", "tp"], []]}, %y: tensor<8x8xf32> {spmd.sharding = [["tp"], ["dp"]]},
                %z: tensor<8x8xf32> {spmd.sharding = [[], ["tp"]]}, %u: tensor<4x8x4xf32> {spmd.sharding = [["dp"], ["tp"], []]})
    -> (tensor<8x8xf32> {spmd.sharding = [[], ["tp"]]}, tensor<8x8xf32> {spmd.sharding = [["dp"], ["tp"]]}, tensor<8x8xf32> {spmd.sharding = [["tp"], []]},
        tensor<8xf32>, tensor<8xf32> {spmd.sharding = [["dp", "tp"]]}, tensor<8xf32> {spmd.sharding = [["tp"]]}, tensor<8x16xf32> {spmd.sharding = [[], ["tp"]]}, tensor<4x8x4xf32> {spmd.sharding = [[], [], ["tp", "dp"]]}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -4096.0 : f32
  %high = arith.constant 4096.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = arith.subf %x, %y : tensor<8x8xf32>
  %m = linalg.matmul ins(%z, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = linalg.transpose ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<8xf32>
  %l = linalg.fill ins(%low : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %h = linalg.fill ins(%high : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<8x8xf32>) outs(%l : tensor<8xf32>) dimensions = [0]
  %min = linalg.reduce { arith.minimumf } ins(%y : tensor<8x8xf32>) outs(%h : tensor<8xf32>) dimensions = [0]
  %sum = linalg.reduce { arith.addf } ins(%z : tensor<8x8xf32>) outs(%s0 : tensor<8xf32>) dimensions = [1]
  %c = tensor.concat dim(1) %a, %m : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
  %n = arith.negf %u : tensor<4x8x4xf32>
  return %a, %m, %t, %max, %min, %sum, %c, %n : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<4x8x4xf32>
}
