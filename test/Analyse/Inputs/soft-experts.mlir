// Attention with weights a head, keys and values that all heads share; then all experts, each by its weight.
func.func @main(%x: tensor<7x8xf32> {spmd.role = "input"},
    %wq: tensor<2x8x4xf32> {spmd.role = "weight"}, %wk: tensor<8x4xf32> {spmd.role = "weight"},
    %wv: tensor<8x4xf32> {spmd.role = "weight"}, %wo: tensor<2x4x8xf32> {spmd.role = "weight"},
    %g: tensor<8x5xf32> {spmd.role = "weight"}, %w1: tensor<5x8x12xf32> {spmd.role = "weight"},
    %w2: tensor<5x12x8xf32> {spmd.role = "weight"}, %head: tensor<8x11xf32> {spmd.role = "weight"}) -> tensor<7x11xf32> {
  %z = arith.constant 0.0 : f32
  %e278 = tensor.empty() : tensor<2x7x8xf32>
  %xh = linalg.broadcast ins(%x : tensor<7x8xf32>) outs(%e278 : tensor<2x7x8xf32>) dimensions = [0]
  %e274 = tensor.empty() : tensor<2x7x4xf32>
  %f274 = linalg.fill ins(%z : f32) outs(%e274 : tensor<2x7x4xf32>) -> tensor<2x7x4xf32>
  %q = linalg.batch_matmul ins(%xh, %wq : tensor<2x7x8xf32>, tensor<2x8x4xf32>) outs(%f274 : tensor<2x7x4xf32>) -> tensor<2x7x4xf32>
  %e74 = tensor.empty() : tensor<7x4xf32>
  %f74 = linalg.fill ins(%z : f32) outs(%e74 : tensor<7x4xf32>) -> tensor<7x4xf32>
  %k = linalg.matmul ins(%x, %wk : tensor<7x8xf32>, tensor<8x4xf32>) outs(%f74 : tensor<7x4xf32>) -> tensor<7x4xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<7x8xf32>, tensor<8x4xf32>) outs(%f74 : tensor<7x4xf32>) -> tensor<7x4xf32>
  %e277 = tensor.empty() : tensor<2x7x7xf32>
  %f277 = linalg.fill ins(%z : f32) outs(%e277 : tensor<2x7x7xf32>) -> tensor<2x7x7xf32>
  %s = linalg.contract indexing_maps = [affine_map<(h,s,t,e)->(h,s,e)>, affine_map<(h,s,t,e)->(t,e)>, affine_map<(h,s,t,e)->(h,s,t)>] ins(%q, %k : tensor<2x7x4xf32>, tensor<7x4xf32>) outs(%f277 : tensor<2x7x7xf32>) -> tensor<2x7x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x7x7xf32>) outs(%e277 : tensor<2x7x7xf32>) -> tensor<2x7x7xf32>
  %c = linalg.contract indexing_maps = [affine_map<(h,s,e,t)->(h,s,t)>, affine_map<(h,s,e,t)->(t,e)>, affine_map<(h,s,e,t)->(h,s,e)>] ins(%p, %v : tensor<2x7x7xf32>, tensor<7x4xf32>) outs(%f274 : tensor<2x7x4xf32>) -> tensor<2x7x4xf32>
  %e78 = tensor.empty() : tensor<7x8xf32>
  %f78 = linalg.fill ins(%z : f32) outs(%e78 : tensor<7x8xf32>) -> tensor<7x8xf32>
  %a = linalg.contract indexing_maps = [affine_map<(s,d,h,e)->(h,s,e)>, affine_map<(s,d,h,e)->(h,e,d)>, affine_map<(s,d,h,e)->(s,d)>] ins(%c, %wo : tensor<2x7x4xf32>, tensor<2x4x8xf32>) outs(%f78 : tensor<7x8xf32>) -> tensor<7x8xf32>
  %r = linalg.add ins(%x, %a : tensor<7x8xf32>, tensor<7x8xf32>) outs(%e78 : tensor<7x8xf32>) -> tensor<7x8xf32>
  %e75 = tensor.empty() : tensor<7x5xf32>
  %f75 = linalg.fill ins(%z : f32) outs(%e75 : tensor<7x5xf32>) -> tensor<7x5xf32>
  %gl = linalg.matmul ins(%r, %g : tensor<7x8xf32>, tensor<8x5xf32>) outs(%f75 : tensor<7x5xf32>) -> tensor<7x5xf32>
  %gp = linalg.softmax dimension(1) ins(%gl : tensor<7x5xf32>) outs(%e75 : tensor<7x5xf32>) -> tensor<7x5xf32>
  %e578 = tensor.empty() : tensor<5x7x8xf32>
  %xe = linalg.broadcast ins(%r : tensor<7x8xf32>) outs(%e578 : tensor<5x7x8xf32>) dimensions = [0]
  %e5712 = tensor.empty() : tensor<5x7x12xf32>
  %f5712 = linalg.fill ins(%z : f32) outs(%e5712 : tensor<5x7x12xf32>) -> tensor<5x7x12xf32>
  %h1 = linalg.batch_matmul ins(%xe, %w1 : tensor<5x7x8xf32>, tensor<5x8x12xf32>) outs(%f5712 : tensor<5x7x12xf32>) -> tensor<5x7x12xf32>
  %h2 = math.tanh %h1 : tensor<5x7x12xf32>
  %f578 = linalg.fill ins(%z : f32) outs(%e578 : tensor<5x7x8xf32>) -> tensor<5x7x8xf32>
  %o = linalg.batch_matmul ins(%h2, %w2 : tensor<5x7x12xf32>, tensor<5x12x8xf32>) outs(%f578 : tensor<5x7x8xf32>) -> tensor<5x7x8xf32>
  %y = linalg.contract indexing_maps = [affine_map<(t,d,e)->(t,e)>, affine_map<(t,d,e)->(e,t,d)>, affine_map<(t,d,e)->(t,d)>] ins(%gp, %o : tensor<7x5xf32>, tensor<5x7x8xf32>) outs(%f78 : tensor<7x8xf32>) -> tensor<7x8xf32>
  %r2 = linalg.add ins(%r, %y : tensor<7x8xf32>, tensor<7x8xf32>) outs(%e78 : tensor<7x8xf32>) -> tensor<7x8xf32>
  %e711 = tensor.empty() : tensor<7x11xf32>
  %f711 = linalg.fill ins(%z : f32) outs(%e711 : tensor<7x11xf32>) -> tensor<7x11xf32>
  %l = linalg.matmul ins(%r2, %head : tensor<7x8xf32>, tensor<8x11xf32>) outs(%f711 : tensor<7x11xf32>) -> tensor<7x11xf32>
  return %l : tensor<7x11xf32>
}
