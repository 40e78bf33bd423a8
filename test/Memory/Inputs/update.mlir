// One step of a training by hand: a weight, its gradient, the optimizer's momentum.
func.func @main(%w: tensor<8x20xf32> {spmd.role = "weight", spmd.alias = 0 : i64},
                %g: tensor<8x20xf32> {spmd.role = "gradient"},
                %m: tensor<8x20xf32> {spmd.role = "state", spmd.alias = 1 : i64},
                %x: tensor<3xf32> {spmd.role = "input"})
    -> (tensor<8x20xf32>, tensor<8x20xf32>, tensor<3xf32>) {
  %e = tensor.empty() : tensor<8x20xf32>
  %f = tensor.empty() : tensor<3xf32>
  %0 = linalg.add ins(%m, %g : tensor<8x20xf32>, tensor<8x20xf32>) outs(%e : tensor<8x20xf32>) -> tensor<8x20xf32>
  %1 = linalg.sub ins(%w, %0 : tensor<8x20xf32>, tensor<8x20xf32>) outs(%e : tensor<8x20xf32>) -> tensor<8x20xf32>
  %2 = linalg.exp ins(%x : tensor<3xf32>) outs(%f : tensor<3xf32>) -> tensor<3xf32>
  return %1, %0, %2 : tensor<8x20xf32>, tensor<8x20xf32>, tensor<3xf32>
}
