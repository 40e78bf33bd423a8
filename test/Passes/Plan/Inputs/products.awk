# One flat function of `n` linear attentions, each of another width, so that none is a layer.
BEGIN {
  print "func.func @main(%y0: tensor<16x32xf32>) -> tensor<16x32xf32> {"
  print "  %z = arith.constant 0.0 : f32"
  print "  %e = tensor.empty() : tensor<16x32xf32>"
  print "  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>"
  for (i = 1; i <= n; ++i) {
    w = 2 * i + 6; x = "%y" (i - 1); h = "tensor<16x" w "xf32>"; t = "tensor<" w "x16xf32>"; g = "tensor<" w "x32xf32>"
    print "  %w" i " = arith.constant dense<0.5> : tensor<32x" w "xf32>"
    print "  %he" i " = tensor.empty() : " h
    print "  %hz" i " = linalg.fill ins(%z : f32) outs(%he" i " : " h ") -> " h
    print "  %h" i " = linalg.matmul ins(" x ", %w" i " : tensor<16x32xf32>, tensor<32x" w "xf32>) outs(%hz" i " : " h ") -> " h
    print "  %te" i " = tensor.empty() : " t
    print "  %t" i " = linalg.transpose ins(%h" i " : " h ") outs(%te" i " : " t ") permutation = [1, 0]"
    print "  %ge" i " = tensor.empty() : " g
    print "  %gz" i " = linalg.fill ins(%z : f32) outs(%ge" i " : " g ") -> " g
    print "  %g" i " = linalg.matmul ins(%t" i ", " x " : " t ", tensor<16x32xf32>) outs(%gz" i " : " g ") -> " g
    print "  %y" i " = linalg.matmul ins(%h" i ", %g" i " : " h ", " g ") outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>"
  }
  print "  return %y" n " : tensor<16x32xf32>"
  print "}"
}
