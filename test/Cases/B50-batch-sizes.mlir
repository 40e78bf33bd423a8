// A batch that is known only later: pytorch issue 152963 and autoparallel issues 418 and 427 baked a size in, compiled
// each size again, or broke where it does not divide. One compilation, for up to 8 rows over four ranks: 8 and 4 divide,
// 6 and 3 do not; the neighbours are 2 and 1. Each is compared with the original compiled for that size alone.
// RUN: shard-run %s --auto-shard=dp4 --dim=0:0=..8 --sizes=0:0=8,6,4,3,2,1 --check | FileCheck %s
// CHECK: sizes: 0:0=8
// CHECK: ranks: 4 (dp 4)
// CHECK: result 0 8x128xi64 against the unsharded program: equal
// CHECK: result 0 6x128xi64 against the unsharded program: equal
// CHECK: result 0 4x128xi64 against the unsharded program: equal
// CHECK: result 0 3x128xi64 against the unsharded program: equal
// CHECK: result 0 2x128xi64 against the unsharded program: equal
// CHECK: result 0 1x128xi64 against the unsharded program: equal
// A size that it was not compiled for:
// RUN: not shard-run %s --auto-shard=dp4 --dim=0:0=..8 --sizes=0:0=9 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: shard-run: error: --sizes=0:0=9: 9 is out of bounds; dimension 0 of argument 0 is compiled for 1 to 8
func.func @main(%x: tensor<?x128xi64> {spmd.dims = ["batch", ""], spmd.role = "input"}) -> tensor<?x128xi64> {
  %0 = arith.addi %x, %x : tensor<?x128xi64>
  return %0 : tensor<?x128xi64>
}
