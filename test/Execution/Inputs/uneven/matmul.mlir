// The three loops of a product, a product after it, and a bias that enters the sum once.
// SPLIT: {"0":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]},"1":{"sharding":[["tp"],[]]}}
// SPLIT: {"1":{"sharding":[[],["tp"]]},"2":{"sharding":[["tp"],[]]}}
// SPLIT: {"2":{"sharding":[[],["tp"]]},"3":{"sharding":[["tp"]]}}
func.func @main(%x: tensor<5x30xf32>, %w: tensor<30x11xf32>, %v: tensor<11x9xf32>, %b: tensor<9xf32>) -> tensor<5x9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x11xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x11xf32>) -> tensor<5x11xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<5x30xf32>, tensor<30x11xf32>) outs(%f : tensor<5x11xf32>) -> tensor<5x11xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<5x11xf32>) outs(%e : tensor<5x11xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    linalg.yield %t : f32
  } -> tensor<5x11xf32>
  %e2 = tensor.empty() : tensor<5x9xf32>
  %f2 = linalg.broadcast ins(%b : tensor<9xf32>) outs(%e2 : tensor<5x9xf32>) dimensions = [0]
  %2 = linalg.matmul ins(%1, %v : tensor<5x11xf32>, tensor<11x9xf32>) outs(%f2 : tensor<5x9xf32>) -> tensor<5x9xf32>
  return %2 : tensor<5x9xf32>
}
