// A row that the table does not have: one error at the lookup, in place of a read from elsewhere.
// RUN: not shard-run %s --auto-shard=dp2 --quiet 2>&1 | FileCheck %s
// CHECK-NOT: {{.}}
// CHECK: shard-run: error: rank {{[01]}}: assertion failed: index out of range, at {{.*}}index-range.mlir:[[@LINE+10]]:10{{.*}}
// CHECK-NOT: {{.}}
func.func @main(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %ids = arith.constant dense<[1, 7, 8, 8]> : tensor<4xi64>
  %empty = tensor.empty() : tensor<4x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids, %x : tensor<4xi64>, tensor<4x16xf32>) outs(%empty : tensor<4x16xf32>) {
  ^bb0(%id: i64, %a: f32, %b: f32):
    %column = linalg.index 1 : index
    %row = arith.index_cast %id : i64 to index
    %v = tensor.extract %w[%row, %column] : tensor<8x16xf32>
    %s = arith.addf %v, %a : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
