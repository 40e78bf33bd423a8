# A message to and from the rank that n additions of 1 give, of two.
BEGIN {
  print "module attributes {spmd.sites = [], spmd.results = \"whole\"} {"
  print "  shard.grid @mesh(shape = 2) {spmd.axes = [\"tp\"]}"
  print "  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {"
  print "    %c1 = arith.constant 1 : index"
  print "    %c2 = arith.constant 2 : index"
  print "    %v0 = shard.process_multi_index on @mesh axes = [0] : index"
  for (i = 1; i <= n; ++i) printf "    %%v%d = arith.addi %%v%d, %%c1 : index\n", i, i - 1
  printf "    %%to = arith.remui %%v%d, %%c2 : index\n", n
  print "    shard.send %x on @mesh grid_axes = [0] destination = [%to] {spmd.site = 0 : i64} : (tensor<64xf32>, index) -> tensor<64xf32>"
  print "    %r = shard.recv %x on @mesh grid_axes = [0] source = [%to] {spmd.site = 0 : i64} : (tensor<64xf32>, index) -> tensor<64xf32>"
  print "    return %r : tensor<64xf32>\n  }\n}"
}
