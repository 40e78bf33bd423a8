// Slices, insertions, pads and concatenations along another dimension, transposes, broadcasts, reshapes that
// leave the split dimension alone or take it along as the major or minor part of a product.
// SPLIT: {"0":{"sharding":[["tp"],[],[]]},"1":{"sharding":[["tp"],[],[]]}}
// SPLIT: {"0":{"sharding":[[],[],["tp"]]},"1":{"sharding":[[],[],["tp"]]}}
// SPLIT: {"2":{"view":[5,3,2],"sharding":[["tp"],[],[]]}}
// SPLIT: {"2":{"sharding":[[],["tp"],[]],"view":[5,3,2]}}
func.func @main(%x: tensor<5x6x7xf32>, %y: tensor<5x2x7xf32>, %z: tensor<30xf32>)
    -> (tensor<5x3x7xf32>, tensor<5x6x7xf32>, tensor<5x9x7xf32>, tensor<5x8x7xf32>, tensor<7x6x5xf32>, tensor<35x6xf32>, tensor<30x7xf32>, tensor<5x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.extract_slice %x[0, 2, 0] [5, 3, 7] [1, 1, 1] : tensor<5x6x7xf32> to tensor<5x3x7xf32>
  %1 = tensor.insert_slice %y into %x[0, 3, 0] [5, 2, 7] [1, 1, 1] : tensor<5x2x7xf32> into tensor<5x6x7xf32>
  %2 = tensor.pad %x low[0, 1, 0] high[0, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<5x6x7xf32> to tensor<5x9x7xf32>
  %3 = tensor.concat dim(1) %x, %y : (tensor<5x6x7xf32>, tensor<5x2x7xf32>) -> tensor<5x8x7xf32>
  %e = tensor.empty() : tensor<7x6x5xf32>
  %4 = linalg.transpose ins(%x : tensor<5x6x7xf32>) outs(%e : tensor<7x6x5xf32>) permutation = [2, 1, 0]
  %e5 = tensor.empty() : tensor<5x7x6xf32>
  %t = linalg.transpose ins(%x : tensor<5x6x7xf32>) outs(%e5 : tensor<5x7x6xf32>) permutation = [0, 2, 1]
  %5 = tensor.collapse_shape %t [[0, 1], [2]] : tensor<5x7x6xf32> into tensor<35x6xf32>
  %e6 = tensor.empty() : tensor<30x7xf32>
  %6 = linalg.broadcast ins(%z : tensor<30xf32>) outs(%e6 : tensor<30x7xf32>) dimensions = [1]
  %v = tensor.expand_shape %z [[0, 1, 2]] output_shape [5, 3, 2] : tensor<30xf32> into tensor<5x3x2xf32>
  %w = tensor.collapse_shape %v [[0], [1, 2]] : tensor<5x3x2xf32> into tensor<5x6xf32>
  %7 = arith.addf %w, %w : tensor<5x6xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<5x3x7xf32>, tensor<5x6x7xf32>, tensor<5x9x7xf32>, tensor<5x8x7xf32>, tensor<7x6x5xf32>, tensor<35x6xf32>, tensor<30x7xf32>, tensor<5x6xf32>
}
