// RUN: shard-opt --auto-shard=dp2 %s -o /dev/null --quiet
// RUN: shard-opt --auto-shard=dp2 %s 2>&1 >/dev/null | FileCheck %s
// RUN: not shard-opt --auto-shard=dp2 --no-implicit-replication %s 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: shard-run --auto-shard=dp2 --check --quiet %s
// A rule of the user's own will do.
// RUN: echo 'linalg.pooling_nwc_min_unsigned : (series _ channel, _, series _ channel) -> (series _ channel)' > %t.rules
// RUN: shard-opt --auto-shard=dp2 --rules=%t.rules --no-implicit-replication %s --quiet | FileCheck %s --check-prefix=RULE
// RUN: shard-run --auto-shard=dp2 --rules=%t.rules --check --quiet %s
// RULE: linalg.pooling_nwc_min_unsigned {{.*}} -> tensor<1x4x3xi32>
// An op that the table has no row for: every rank does it on whole operands, and a remark says so.
// CHECK: no-rule.mlir:[[# @LINE + 7]]:8: remark: no dimension rule for 'linalg.pooling_nwc_min_unsigned': its operands are kept whole
// REFUSED: no-rule.mlir:[[# @LINE + 6]]:8: error: no dimension rule for 'linalg.pooling_nwc_min_unsigned': its operands would be kept whole; expected a rule in --rules, or no --no-implicit-replication
func.func @main(%series: tensor<2x8x3xi32> {spmd.role = "input", spmd.dims = ["batch", "", ""]}) -> tensor<2x4x3xi32> {
  %largest = arith.constant -1 : i32
  %window = tensor.empty() : tensor<2xi32>
  %empty = tensor.empty() : tensor<2x4x3xi32>
  %init = linalg.fill ins(%largest : i32) outs(%empty : tensor<2x4x3xi32>) -> tensor<2x4x3xi32>
  %0 = linalg.pooling_nwc_min_unsigned {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>} ins(%series, %window : tensor<2x8x3xi32>, tensor<2xi32>) outs(%init : tensor<2x4x3xi32>) -> tensor<2x4x3xi32>
  return %0 : tensor<2x4x3xi32>
}
