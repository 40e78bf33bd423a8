# N functions: each calls the next `calls` times, from within `loops` loops of `turns` turns (2); the last is one op, or with `sum` the sum of all rows in each.
function open(depth,  i, from) {
  from = "%x"
  for (i = 0; i < depth; ++i) {
    printf "  %%r%d = scf.for %%i%d = %%zero to %%two step %%one iter_args(%%a%d = %s) -> (%s) {\n", i, i, i, from, t
    from = "%a" i
  }
  return from
}
function close_(depth, value,  i) {
  for (i = depth - 1; i >= 0; --i) {
    printf "  scf.yield %s : %s\n  }\n", value, t
    value = "%r" i
  }
  return value
}
BEGIN {
  t = "tensor<8x16xf32>"
  for (f = 0; f < functions; ++f) {
    printf "func.func %s@f%d(%%x: %s) -> %s {\n", f ? "private " : "", f, t, t
    print "  %zero = arith.constant 0 : index\n  %one = arith.constant 1 : index\n  %two = arith.constant " (turns ? turns : 2) " : index"
    value = open(loops)
    if (f == functions - 1 && sum) {
      print "  %none = arith.constant 0.0 : f32\n  %e0 = tensor.empty() : tensor<16xf32>\n  %e1 = tensor.empty() : " t
      print "  %fill = linalg.fill ins(%none : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>"
      printf "  %%sum = linalg.reduce { arith.addf } ins(%s : %s) outs(%%fill : tensor<16xf32>) dimensions = [0]\n", value, t
      printf "  %%e = linalg.broadcast ins(%%sum : tensor<16xf32>) outs(%%e1 : %s) dimensions = [0]\n", t
      value = "%e"
    } else
    if (f == functions - 1) {
      printf "  %%e = math.exp %s : %s\n", value, t
      value = "%e"
    }
    for (c = 0; f < functions - 1 && c < calls; ++c) {
      printf "  %%c%d = func.call @f%d(%s) : (%s) -> %s\n", c, f + 1, value, t, t
      value = "%c" c
    }
    printf "  return %s : %s\n}\n", close_(loops, value), t
  }
}
