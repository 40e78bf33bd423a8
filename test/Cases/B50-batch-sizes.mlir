// A batch that is known only later: pytorch issue 152963 and autoparallel issues 418 and 427 baked a size in, or broke
// where it does not divide. Over four ranks, batches of 8 and 4 divide, 6 and 3 do not; the neighbour is 2. The sizes
// are given one a compilation.
// RUN: shard-run %s --auto-shard=dp4 --dim=0:0=8 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=dp4 --dim=0:0=6 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=dp4 --dim=0:0=4 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=dp4 --dim=0:0=3 --check | FileCheck %s
// RUN: shard-run %s --auto-shard=dp4 --dim=0:0=2 --check | FileCheck %s
// CHECK: ranks: 4 (dp 4)
// CHECK: result 0 {{[0-9]+}}x128xi64 against the unsharded program: equal
func.func @main(%x: tensor<?x128xi64> {spmd.dims = ["batch", ""], spmd.role = "input"}) -> tensor<?x128xi64> {
  %0 = arith.addi %x, %x : tensor<?x128xi64>
  return %0 : tensor<?x128xi64>
}
