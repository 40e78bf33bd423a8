// Two sums that are on the same links take longer than one alone: `ps` is the time alone, `sharedPs` what the other
// added, and ranks stand still (`exposedPs`) for the sum of the two at most.
// RUN: shard-opt --quiet --cluster=laptop --report=%t.json %s -o %t.mlir && tr -d ' ",' < %t.json | awk -F: '$1 == "communication" { on = 1 } !on { next } $1 == "ps" { ps = $2 } $1 == "exposedPs" { exposed = $2 } $1 == "sharedPs" { print (exposed > ps ? "longer" : "alone"), (exposed <= ps + $2 + 1 ? "within" : "beyond") } $1 == "values" { exit }' | FileCheck %s
// CHECK: longer within
// CHECK-NEXT: alone within
// CHECK-NOT: {{.}}
module {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["dp", "tp"]}
  func.func @main(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> (tensor<64x512xf32>, tensor<64x512xf32>) {
    %s = "spmd.all_reduce_start"(%x) {grid = @mesh, grid_axes = array<i16: 0>, spmd.site = 0 : i64} : (tensor<64x512xf32>) -> !spmd.token
    %t = "spmd.all_reduce_start"(%y) {grid = @mesh, grid_axes = array<i16: 1>, spmd.site = 1 : i64} : (tensor<64x512xf32>) -> !spmd.token
    %0 = "spmd.all_reduce_done"(%s, %x) : (!spmd.token, tensor<64x512xf32>) -> tensor<64x512xf32>
    %1 = "spmd.all_reduce_done"(%t, %y) : (!spmd.token, tensor<64x512xf32>) -> tensor<64x512xf32>
    return %0, %1 : tensor<64x512xf32>, tensor<64x512xf32>
  }
}
