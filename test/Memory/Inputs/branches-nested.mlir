// A branch in a branch. Each hands out a buffer of its own, made before larger temporaries of the other
// branches: what is in use in one is not in the others.
func.func @main(%x: tensor<8x64xf32>, %c: tensor<1xf32>) -> tensor<8x64xf32> {
  %i0 = arith.constant 0 : index
  %zero = arith.constant -1.0e6 : f32
  %one = arith.constant 1.0e6 : f32
  %first = tensor.extract %c[%i0] : tensor<1xf32>
  %less = arith.cmpf olt, %first, %zero : f32
  %more = arith.cmpf ogt, %first, %one : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %kept = linalg.exp ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %r:2 = scf.if %less -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %a = linalg.tanh ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = linalg.exp ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
  } else {
    %q:2 = scf.if %more -> (tensor<8x64xf32>, tensor<8x64xf32>) {
      %a = linalg.add ins(%x, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      %b = linalg.tanh ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
    } else {
      %a = linalg.exp ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      %t = linalg.mul ins(%a, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      %b = linalg.tanh ins(%t : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
    }
    scf.yield %q#0, %q#1 : tensor<8x64xf32>, tensor<8x64xf32>
  }
  %s = linalg.add ins(%r#0, %r#1 : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %s : tensor<8x64xf32>
}
