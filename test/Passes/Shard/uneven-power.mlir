// RUN: shard-opt --auto-shard=dp2 %s | FileCheck %s
// RUN: shard-run --auto-shard=dp2 --check %s
// A power of a float never fails, so that its exponent stays a constant where rows are padding: code
// for it is then a product, and not a call of libm.
// CHECK-LABEL: func.func @main(
// CHECK:         linalg.generic
// CHECK-NOT:     arith.select
// CHECK:         math.fpowi {{%.*}}, %c2_i64
func.func @main(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %two = arith.constant 2 : i64
  %0 = tensor.empty() : tensor<3x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x8xf32>) outs(%0 : tensor<3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = math.fpowi %in, %two : f32, i64
    linalg.yield %p : f32
  } -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}
