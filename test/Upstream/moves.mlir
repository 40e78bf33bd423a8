// RUN: shard-run --auto-shard=tp2 --check --quiet %s
// Ops for which upstream has no interface.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @moves(%x: tensor<8x16xf32>, %ids: tensor<4x1xi64>) -> (tensor<8x16xf32>, tensor<8x24xf32>, tensor<4x16xf32>, tensor<8x16xf32>, tensor<8xf32>) {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %zero = arith.constant 0.0 : f32
  %a = shard.shard %x to %rows : tensor<8x16xf32>
  %b = tensor.expand_shape %a [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %c = tensor.collapse_shape %b [[0], [1, 2]] : tensor<8x4x4xf32> into tensor<8x16xf32>
  %d = tensor.extract_slice %c[0, 8] [8, 8] [1, 1] : tensor<8x16xf32> to tensor<8x8xf32>
  %f = tensor.insert_slice %d into %a[0, 0] [8, 8] [1, 1] : tensor<8x8xf32> into tensor<8x16xf32>
  %g = tensor.concat dim(1) %f, %d : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<8x24xf32>
  %h = tensor.pad %d low[0, 4] high[0, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x8xf32> to tensor<8x16xf32>
  %k = tensor.gather %c[%ids] gather_dims([0]) : (tensor<8x16xf32>, tensor<4x1xi64>) -> tensor<4x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %l = linalg.softmax dimension(1) ins(%h : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %m = tosa.transpose %l {perms = array<i32: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %n = tosa.reduce_sum %m {axis = 0 : i32} : (tensor<16x8xf32>) -> tensor<1x8xf32>
  %s = tosa.const_shape {values = dense<8> : tensor<1xindex>} : () -> !tosa.shape<1>
  %o = tosa.reshape %n, %s : (tensor<1x8xf32>, !tosa.shape<1>) -> tensor<8xf32>
  return %f, %g, %k, %l, %o : tensor<8x16xf32>, tensor<8x24xf32>, tensor<4x16xf32>, tensor<8x16xf32>, tensor<8xf32>
}
