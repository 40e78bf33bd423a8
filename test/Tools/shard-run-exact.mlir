// Whole numbers, equal bits: sums and products are exact in any order, and a function gives the same bits for
// the same; what adds up what a function gave is not exact, and neither is what grows past the mantissa. A
// difference far below the ordinary bar is one here.
// RUN: shard-run %s --auto-shard=tp2 --check --exact | FileCheck %s
// RUN: sed 's/addf %%p, %%zero/addf %%p, %%tiny/' %s > %t.off.mlir
// RUN: shard-run %t.off.mlir --check=%s --seed=1 --quiet
// RUN: not shard-run %t.off.mlir --check=%s --exact --quiet 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not shard-run %s --exact 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not shard-run %s --auto-shard=tp2 --check --exact --integers 2>&1 | FileCheck %s --check-prefix=TWO
// CHECK: exact: whole numbers up to 3
// CHECK-NEXT: result 1 is not exact: math.exp at {{.*}}shard-run-exact.mlir:[[#@LINE+32]]:
// CHECK-NEXT: result 2 is not exact: numbers too large after arith.mulf at {{.*}}shard-run-exact.mlir:[[#@LINE+43]]:
// CHECK-NOT: is not exact
// CHECK: result 0 4x6xf32 against the unsharded program: equal
// CHECK: result 3 4x6xf32 against the unsharded program: equal
// CHECK: result 4 4x6xf32 against the unsharded program: equal
// OFF-COUNT-1: mismatch: result 0 against the unsharded program: error {{.*}} is above 0:
// OFF-NOT: mismatch
// ALONE: shard-run: error: --exact needs --check: the unsharded program says what is exact
// TWO: shard-run: error: --exact draws its values; it does not go with --integers
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>)
    -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %tiny = arith.constant 0x35800000 : f32
  %eight = arith.constant 8.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // A mean over eight: multiples of an eighth.
  %mean = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.divf %p, %eight : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %exp = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %f = math.exp %p : f32
    %s = arith.addf %f, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %sine = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.sin %p : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %power = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %2 = arith.mulf %p, %p : f32
    %4 = arith.mulf %2, %2 : f32
    %8 = arith.mulf %4, %4 : f32
    %16 = arith.mulf %8, %8 : f32
    linalg.yield %16 : f32
  } -> tensor<4x6xf32>
  return %a, %exp, %power, %mean, %sine : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
