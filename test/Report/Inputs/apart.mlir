// Two stages of two ranks: what is started runs beside products, hidden, half hidden, and behind
// another of its axis; messages too. No two of a stage's communications meet on a link but those of
// one axis, which wait for each other.
module attributes {spmd.sites = [
    {axes = ["tp"], cause = "a partial sum", kind = "all-reduce", site = 0 : i64},
    {axes = ["tp"], cause = "another partial sum", kind = "all-reduce", site = 1 : i64},
    {axes = ["pp"], cause = "a value of the next stage", kind = "send", site = 2 : i64},
    {axes = ["tp"], cause = "rows wanted whole", kind = "all-gather", site = 3 : i64},
    {axes = ["tp"], cause = "the last sum", kind = "all-reduce", site = 4 : i64}]} {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["pp", "tp"]}
  func.func @main_stage0(%x: tensor<64x512xf32> {spmd.arg = 0 : i64}, %w: tensor<512x64xf32> {spmd.arg = 1 : i64}) attributes {spmd.stage = 0 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
    %a = linalg.matmul ins(%x, %w : tensor<64x512xf32>, tensor<512x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    %t = "spmd.all_reduce_start"(%a) {grid = @mesh, grid_axes = array<i16: 1>, spmd.site = 0 : i64} : (tensor<64x64xf32>) -> !spmd.token
    %b = linalg.matmul ins(%x, %w : tensor<64x512xf32>, tensor<512x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = "spmd.all_reduce_done"(%t, %a) : (!spmd.token, tensor<64x64xf32>) -> tensor<64x64xf32>
    %u = "spmd.all_reduce_start"(%x) {grid = @mesh, grid_axes = array<i16: 1>, spmd.site = 1 : i64} : (tensor<64x512xf32>) -> !spmd.token
    %v = "spmd.all_reduce_start"(%b) {grid = @mesh, grid_axes = array<i16: 1>, spmd.site = 0 : i64} : (tensor<64x64xf32>) -> !spmd.token
    %c = linalg.matmul ins(%r, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = "spmd.all_reduce_done"(%u, %x) : (!spmd.token, tensor<64x512xf32>) -> tensor<64x512xf32>
    %d = linalg.matmul ins(%s, %w : tensor<64x512xf32>, tensor<512x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = "spmd.all_reduce_done"(%v, %b) : (!spmd.token, tensor<64x64xf32>) -> tensor<64x64xf32>
    %m = "spmd.send_start"(%d) {destination = array<i64: 1>, grid = @mesh, grid_axes = array<i16: 0>, spmd.channel = 0 : i64, spmd.site = 2 : i64} : (tensor<64x64xf32>) -> !spmd.token
    %g = linalg.matmul ins(%q, %c : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    "spmd.wait"(%m) : (!spmd.token) -> ()
    return
  }
  func.func @main_stage1(%x: tensor<64x64xf32> {spmd.arg = 2 : i64}, %w: tensor<64x512xf32> {spmd.arg = 3 : i64}) -> (tensor<64x512xf32> {spmd.result = 0 : i64}) attributes {spmd.stage = 1 : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x512xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
    %t = "spmd.recv_start"(%x) {grid = @mesh, grid_axes = array<i16: 0>, source = array<i64: 0>, spmd.channel = 0 : i64, spmd.site = 2 : i64} : (tensor<64x64xf32>) -> !spmd.token
    %a = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x512xf32>) outs(%f : tensor<64x512xf32>) -> tensor<64x512xf32>
    %m = "spmd.recv_done"(%t) : (!spmd.token) -> tensor<64x64xf32>
    %u = "spmd.all_gather_start"(%m) {gather_axis = 0 : index, grid = @mesh, grid_axes = array<i16: 1>, spmd.site = 3 : i64} : (tensor<64x64xf32>) -> !spmd.token
    %b = linalg.matmul ins(%m, %w : tensor<64x64xf32>, tensor<64x512xf32>) outs(%a : tensor<64x512xf32>) -> tensor<64x512xf32>
    %g = "spmd.all_gather_done"(%u, %m) : (!spmd.token, tensor<64x64xf32>) -> tensor<128x64xf32>
    %r = shard.all_reduce %b on @mesh grid_axes = [1] {spmd.site = 4 : i64} : tensor<64x512xf32> -> tensor<64x512xf32>
    return %r : tensor<64x512xf32>
  }
}
