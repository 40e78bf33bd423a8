# A chain of `n` functions, each of which calls the next twice: the last one runs 2^(n - 1) times.
BEGIN {
  t = "tensor<8x8xf32>"
  for (i = 0; i < n; ++i) {
    print "func.func private @f" i "(%x: " t ") -> " t " {"
    if (i + 1 < n) {
      print "  %a = func.call @f" i + 1 "(%x) : (" t ") -> " t
      print "  %r = func.call @f" i + 1 "(%a) : (" t ") -> " t
    } else {
      print "  %z = arith.constant 0.0 : f32\n  %e = tensor.empty() : " t
      print "  %f = linalg.fill ins(%z : f32) outs(%e : " t ") -> " t
      print "  %a = linalg.matmul ins(%x, %x : " t ", " t ") outs(%f : " t ") -> " t
      print "  %r = linalg.matmul ins(%a, %x : " t ", " t ") outs(%f : " t ") -> " t
    }
    print "  return %r : " t "\n}"
  }
  print "func.func @main(%x: " t ") -> " t " {\n  %r = func.call @f0(%x) : (" t ") -> " t "\n  return %r : " t "\n}"
}
