// One dimension over two axes in either order, two dimensions over two axes, and a sum over both.
// AXES: dp2,tp3 dp3,tp2 dp2,tp4
// SPLIT: {"0":{"sharding":[["dp","tp"],[]]}}
// SPLIT: {"0":{"sharding":[["tp","dp"],[]]}}
// SPLIT: {"0":{"sharding":[["dp"],["tp"]]},"1":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["dp","tp"]]},"1":{"sharding":[["dp","tp"],[]]}}
// SPLIT: {"1":{"sharding":[["tp"],["dp"]]}}
func.func @main(%x: tensor<7x11xf32>, %w: tensor<11x13xf32>) -> tensor<7x13xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x13xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<7x13xf32>) -> tensor<7x13xf32>
  %s = math.sin %x : tensor<7x11xf32>
  %0 = linalg.matmul ins(%s, %w : tensor<7x11xf32>, tensor<11x13xf32>) outs(%f : tensor<7x13xf32>) -> tensor<7x13xf32>
  %1 = math.tanh %0 : tensor<7x13xf32>
  return %1 : tensor<7x13xf32>
}
