// A branch in a function that is called twice.
func.func private @block(%x: tensor<8x64xf32>, %c: tensor<1xf32>) -> tensor<8x64xf32> {
  %i0 = arith.constant 0 : index
  %zero = arith.constant -1.0e6 : f32
  %first = tensor.extract %c[%i0] : tensor<1xf32>
  %less = arith.cmpf olt, %first, %zero : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %kept = linalg.tanh ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %q:2 = scf.if %less -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %a = linalg.exp ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = linalg.exp ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
  } else {
    %a = linalg.add ins(%x, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %t = linalg.mul ins(%a, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %b = linalg.sub ins(%t, %a : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
  }
  %s = linalg.add ins(%q#0, %q#1 : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %s : tensor<8x64xf32>
}
func.func @main(%x: tensor<8x64xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<8x64xf32>
  %0 = call @block(%x, %c) : (tensor<8x64xf32>, tensor<1xf32>) -> tensor<8x64xf32>
  %1 = linalg.exp ins(%0 : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = call @block(%1, %d) : (tensor<8x64xf32>, tensor<1xf32>) -> tensor<8x64xf32>
  %3 = linalg.add ins(%0, %2 : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
