module {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func @main(%x: tensor<4x1x8xf32>) -> tensor<4x8xf32> {
    %y = tensor.collapse_shape %x [[4294967296], [1, 2]] : tensor<4x1x8xf32> into tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
