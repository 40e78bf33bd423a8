// A branch in each step of a loop: one needs more room than the other, and what only one of them makes is not in use
// in the other; what lies before it is read behind it.
func.func @main(%x: tensor<8x64xf32>, %c: tensor<4xf32>) -> tensor<8x64xf32> {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i4 = arith.constant 4 : index
  %zero = arith.constant -1.0e6 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %r = scf.for %i = %i0 to %i4 step %i1 iter_args(%s = %x) -> tensor<8x64xf32> {
    %ci = tensor.extract %c[%i] : tensor<4xf32>
    %less = arith.cmpf olt, %ci, %zero : f32
    %kept = linalg.tanh ins(%s : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %q:2 = scf.if %less -> (tensor<8x64xf32>, tensor<8x64xf32>) {
      %a = linalg.exp ins(%kept : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      %b = linalg.exp ins(%a : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
    } else {
      %a = linalg.add ins(%s, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      %t = linalg.mul ins(%a, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      %b = linalg.sub ins(%t, %a : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
      scf.yield %a, %b : tensor<8x64xf32>, tensor<8x64xf32>
    }
    %m = linalg.add ins(%q#0, %q#1 : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %n = linalg.mul ins(%m, %kept : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %n : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
