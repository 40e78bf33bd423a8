func.func @main(%x: tensor<3x8xf32> {spmd.role = "input"}) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.reduce ins(%x : tensor<3x8xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  return %0 : tensor<f32>
}
