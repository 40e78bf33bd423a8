module {
  shard.grid @mesh(shape = 2x2) {spmd.axes = ["pp", "tp"]}
  func.func private @begin(%v: tensor<4x8xf32>) -> !spmd.token {
    %t = "spmd.all_gather_start"(%v) {grid = @mesh, grid_axes = array<i16: 1>, gather_axis = 0 : index} : (tensor<4x8xf32>) -> !spmd.token
    return %t : !spmd.token
  }
  func.func @main_stage0(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {spmd.stage = 0 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %t0 = func.call @begin(%x) : (tensor<4x8xf32>) -> !spmd.token
    %l = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %t0) -> (!spmd.token) {
      %u = func.call @begin(%x) : (tensor<4x8xf32>) -> !spmd.token
      %g = "spmd.all_gather_done"(%t) : (!spmd.token) -> tensor<8x8xf32>
      %s = shard.send %x on @mesh grid_axes = [0] destination = [1] {spmd.channel = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      scf.yield %u : !spmd.token
    }
    "spmd.wait"(%l) : (!spmd.token) -> ()
    %r = shard.all_reduce %x on @mesh grid_axes = [0] : tensor<4x8xf32> -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
  func.func @main_stage1(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {spmd.stage = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    scf.for %i = %c0 to %c5 step %c1 {
      %e = tensor.empty() : tensor<4x8xf32>
      %g = "spmd.recv_start"(%e) {grid = @mesh, grid_axes = array<i16: 0>, source = array<i64: 0>, spmd.channel = 1 : i64} : (tensor<4x8xf32>) -> !spmd.token
      %m = "spmd.recv_done"(%g) : (!spmd.token) -> tensor<4x8xf32>
    }
    %h = "spmd.shift_start"(%x) {grid = @mesh, grid_axes = array<i16: 1>, shift_axis = 1 : index, offset = 1 : i64, rotate} : (tensor<4x8xf32>) -> !spmd.token
    %n = "spmd.shift_done"(%h) : (!spmd.token) -> tensor<4x8xf32>
    %r = shard.all_reduce %n on @mesh grid_axes = [0] : tensor<4x8xf32> -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}
=====
{"version":1,"name":"two","devices":[{"kind":"d","memoryBytes":1e9,"memoryBytesPerSecond":1e11,"flops":{"f32":1e12}}],"links":[{"from":"device","to":"node","count":2,"bytesPerSecond":1e10,"latencySeconds":1e-6},{"from":"node","to":"pod","count":2,"bytesPerSecond":1e9,"latencySeconds":5e-6,"kind":"network"}],"nodes":[{"kind":"d","count":2}]}
