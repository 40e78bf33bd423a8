// A sum of 1024 products leaves the eight bits of bf16, unless most of them are zero.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: sed 's/%%one = arith.constant 1.0/%%one = arith.constant 1.0078125/' %s > %t.off.mlir
// RUN: not shard-run %t.off.mlir --check=%s --exact --quiet 2>&1 | FileCheck %s --check-prefix=OFF
// CHECK: exact: whole numbers up to 1, mostly zeros
// CHECK-NOT: is not exact
// CHECK: result 0 4x8xbf16 against the unsharded program: equal (largest magnitude {{[1-9]}}
// OFF: mismatch: result 0 against the unsharded program
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<4x1024xbf16>, %w: tensor<1024x8xbf16> {spmd.sharding = [["tp"], []]}) -> tensor<4x8xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4x1024xbf16>, tensor<1024x8xbf16>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = tensor.empty() : tensor<4x8xbf16>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x8xf32>) outs(%b : tensor<4x8xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %s = arith.truncf %p : f32 to bf16
    %t = arith.mulf %s, %one : bf16
    linalg.yield %t : bf16
  } -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}
