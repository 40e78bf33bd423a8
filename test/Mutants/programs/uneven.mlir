// 10 rows, 7 columns over the axes: padding in sums, maxima, contractions.
func.func @main(%x: tensor<10x7xf32> {spmd.role = "input", spmd.dims = ["batch", ""], spmd.sharding = [["dp"], ["tp"]]}, %w: tensor<7x5xf32> {spmd.sharding = [["tp"], []]}, %v: tensor<10x6xf32> {spmd.sharding = [["dp"], []]})
    -> (tensor<10x5xf32>, tensor<7xf32>, tensor<7xf32>, tensor<10xf32>, tensor<7x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -4096.0 : f32
  %e = tensor.empty() : tensor<10x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<10x5xf32>) -> tensor<10x5xf32>
  %m = linalg.matmul ins(%x, %w : tensor<10x7xf32>, tensor<7x5xf32>) outs(%z : tensor<10x5xf32>) -> tensor<10x5xf32>
  %e7 = tensor.empty() : tensor<7xf32>
  %z7 = linalg.fill ins(%zero : f32) outs(%e7 : tensor<7xf32>) -> tensor<7xf32>
  %l7 = linalg.fill ins(%low : f32) outs(%e7 : tensor<7xf32>) -> tensor<7xf32>
  %e10 = tensor.empty() : tensor<10xf32>
  %z10 = linalg.fill ins(%zero : f32) outs(%e10 : tensor<10xf32>) -> tensor<10xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<10x7xf32>) outs(%z7 : tensor<7xf32>) dimensions = [0]
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<10x7xf32>) outs(%l7 : tensor<7xf32>) dimensions = [0]
  %rows = linalg.reduce { arith.addf } ins(%x : tensor<10x7xf32>) outs(%z10 : tensor<10xf32>) dimensions = [1]
  %e76 = tensor.empty() : tensor<7x6xf32>
  %z76 = linalg.fill ins(%zero : f32) outs(%e76 : tensor<7x6xf32>) -> tensor<7x6xf32>
  %g = linalg.contract indexing_maps = [affine_map<(r, c, k) -> (k, r)>, affine_map<(r, c, k) -> (k, c)>, affine_map<(r, c, k) -> (r, c)>] ins(%x, %v : tensor<10x7xf32>, tensor<10x6xf32>) outs(%z76 : tensor<7x6xf32>) -> tensor<7x6xf32>
  return %m, %sum, %max, %rows, %g : tensor<10x5xf32>, tensor<7xf32>, tensor<7xf32>, tensor<10xf32>, tensor<7x6xf32>
}
