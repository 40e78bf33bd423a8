# A chain of `n` additions, each read by the next alone.
BEGIN {
  t = "tensor<64x64xf32>"
  print "func.func @main(%x0: " t ", %b: " t ") -> " t " {\n  %e = tensor.empty() : " t
  for (i = 1; i <= n; ++i)
    print "  %x" i " = linalg.add ins(%x" i - 1 ", %b : " t ", " t ") outs(%e : " t ") -> " t
  print "  return %x" n " : " t "\n}"
}
