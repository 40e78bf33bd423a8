# A program of one rank and n functions, each of which calls the next.
BEGIN {
  type = "tensor<4x8xf32>"
  print "shard.grid @mesh(shape = 1) {spmd.axes = [\"tp\"]}"
  printf "func.func @main(%%x: %s) -> %s attributes {spmd.stage = 0 : i64} {\n", type, type
  printf "  %%0 = func.call @f1(%%x) : (%s) -> %s\n  return %%0 : %s\n}\n", type, type, type
  for (i = 1; i <= n; i++) {
    printf "func.func private @f%d(%%x: %s) -> %s {\n", i, type, type
    if (i < n)
      printf "  %%0 = func.call @f%d(%%x) : (%s) -> %s\n  return %%0 : %s\n}\n", i + 1, type, type, type
    else
      printf "  return %%x : %s\n}\n", type
  }
}
