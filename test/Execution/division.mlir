// A division of integers by zero, or whose quotient the type does not hold: one error at the op, where
// the CPU would end the process.
// RUN: not shard-run %s --function=zero --auto-shard=dp2 --check --quiet 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not shard-run %s --function=large --auto-shard=dp2 --check --quiet 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not shard-run %s --function=body --auto-shard=dp2 --check --quiet 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: shard-run %s --function=defined --auto-shard=dp2 --check --exact | FileCheck %s --check-prefix=DEFINED

// ZERO-NOT: {{.}}
// ZERO: shard-run: error: rank {{[01]}}: assertion failed: division by zero, or with a quotient out of range, at {{.*}}division.mlir:[[#@LINE+4]]:8{{.*}}
// ZERO-NOT: {{.}}
func.func @zero(%x: tensor<6x5xi32>) -> tensor<6x5xi32> {
  %by = arith.constant dense<[[1, 2, 0, 4, 5], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]> : tensor<6x5xi32>
  %y = arith.remsi %x, %by : tensor<6x5xi32>
  return %y : tensor<6x5xi32>
}

// LARGE: shard-run: error: rank {{[01]}}: assertion failed: division by zero, or with a quotient out of range, at {{.*}}division.mlir:[[#@LINE+5]]:8{{.*}}
// LARGE-NOT: {{.}}
func.func @large(%x: tensor<6xi64> {spmd.role = "input", spmd.dims = ["batch"]}) -> (tensor<6xi64>, tensor<6xi64>) {
  %least = arith.constant dense<[-9223372036854775808, 1, 2, 3, 4, 5]> : tensor<6xi64>
  %minus = arith.constant dense<-1> : tensor<6xi64>
  %y = arith.divsi %least, %minus : tensor<6xi64>
  return %x, %y : tensor<6xi64>, tensor<6xi64>
}

// BODY: shard-run: error: rank {{[01]}}: assertion failed: division by zero, or with a quotient out of range, at {{.*}}division.mlir:[[#@LINE+7]]:10{{.*}}
// BODY-NOT: {{.}}
func.func @body(%x: tensor<6x5xi32>) -> tensor<6x5xi32> {
  %e = tensor.empty() : tensor<6x5xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x5xi32>) outs(%e : tensor<6x5xi32>) {
  ^bb0(%a: i32, %o: i32):
    %z = arith.subi %a, %a : i32
    %q = arith.ceildivui %a, %z : i32
    linalg.yield %q : i32
  } -> tensor<6x5xi32>
  return %y : tensor<6x5xi32>
}

// Divisors that are not zero, in every form, with padding behind the seventh row.
// DEFINED: equal
func.func @defined(%x: tensor<7x5xi32> {spmd.role = "input", spmd.dims = ["batch", ""]}, %y: tensor<7x5xi32>, %n: tensor<7x5xi8>) -> (tensor<7x5xi32>, tensor<7x5xi32>, tensor<7x5xi8>) {
  %one = arith.constant dense<1> : tensor<7x5xi32>
  %by = arith.ori %y, %one : tensor<7x5xi32>
  %minus = arith.constant dense<-1> : tensor<7x5xi8>
  %a = arith.floordivsi %x, %by : tensor<7x5xi32>
  %b = arith.remui %x, %by : tensor<7x5xi32>
  %c = arith.divsi %n, %minus : tensor<7x5xi8>
  return %a, %b, %c : tensor<7x5xi32>, tensor<7x5xi32>, tensor<7x5xi8>
}
