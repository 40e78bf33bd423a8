// A layer called twice: hidden features padded inside of it, a sum crosses the call.
// SPLIT: {"1":{"sharding":[[],["tp"]]},"2":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]}}
func.func private @layer(%x: tensor<5x7xf32>, %w: tensor<7x11xf32>, %v: tensor<11x7xf32>) -> tensor<5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x11xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x11xf32>) -> tensor<5x11xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<5x7xf32>, tensor<7x11xf32>) outs(%f : tensor<5x11xf32>) -> tensor<5x11xf32>
  %1 = math.tanh %0 : tensor<5x11xf32>
  %e2 = tensor.empty() : tensor<5x7xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = linalg.matmul ins(%1, %v : tensor<5x11xf32>, tensor<11x7xf32>) outs(%f2 : tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = arith.addf %2, %x : tensor<5x7xf32>
  return %3 : tensor<5x7xf32>
}
func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x11xf32>, %v: tensor<11x7xf32>) -> tensor<5x7xf32> {
  %0 = func.call @layer(%x, %w, %v) : (tensor<5x7xf32>, tensor<7x11xf32>, tensor<11x7xf32>) -> tensor<5x7xf32>
  %1 = func.call @layer(%0, %w, %v) : (tensor<5x7xf32>, tensor<7x11xf32>, tensor<11x7xf32>) -> tensor<5x7xf32>
  return %1 : tensor<5x7xf32>
}
