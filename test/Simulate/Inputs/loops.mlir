module attributes {spmd.sites = [], spmd.results = "whole"} {
  shard.grid @mesh(shape = 1) {spmd.axes = ["tp"]}
  // Bounds from an argument, a while, and constant bounds: two loops whose turns nobody knows.
  func.func @main(%x: tensor<1000xf32>, %n: tensor<index>) -> (tensor<1000xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %bound = tensor.extract %n[] : tensor<index>
    %0 = scf.for %i = %c0 to %bound step %c1 iter_args(%v = %x) -> (tensor<1000xf32>) {
      %e = math.exp %v : tensor<1000xf32>
      scf.yield %e : tensor<1000xf32>
    }
    %1 = scf.while (%v = %0) : (tensor<1000xf32>) -> tensor<1000xf32> {
      %s = tensor.extract %v[%c0] : tensor<1000xf32>
      %more = arith.cmpf olt, %s, %s : f32
      scf.condition(%more) %v : tensor<1000xf32>
    } do {
    ^bb0(%v: tensor<1000xf32>):
      %e = math.exp %v : tensor<1000xf32>
      scf.yield %e : tensor<1000xf32>
    }
    %2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %1) -> (tensor<1000xf32>) {
      %e = math.exp %v : tensor<1000xf32>
      scf.yield %e : tensor<1000xf32>
    }
    return %2 : tensor<1000xf32>
  }
}
