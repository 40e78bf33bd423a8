// A patch embedding and pooling: images, channels in and out, and rows of whole windows.
// SPLIT: {"0":{"sharding":[["tp"],[],[],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"],[],[]]},"1":{"sharding":[[],["tp"],[],[]]}}
// SPLIT: {"1":{"sharding":[["tp"],[],[],[]]}}
// SPLIT: {"2":{"sharding":[["tp"],[],[],[]]}}
// SPLIT: {"2":{"sharding":[[],[],[],["tp"]]}}
func.func @main(%image: tensor<3x5x12x8xf32>, %w: tensor<7x5x4x4xf32>, %y: tensor<3x6x6x5xf32>) -> (tensor<3x7x3x2xf32>, tensor<3x3x3x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3x7x3x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x7x3x2xf32>) -> tensor<3x7x3x2xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<4> : vector<2xi64>} ins(%image, %w : tensor<3x5x12x8xf32>, tensor<7x5x4x4xf32>) outs(%f : tensor<3x7x3x2xf32>) -> tensor<3x7x3x2xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %e1 = tensor.empty() : tensor<3x3x3x5xf32>
  %f1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf32>
  %1 = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%y, %window : tensor<3x6x6x5xf32>, tensor<2x2xf32>) outs(%f1 : tensor<3x3x3x5xf32>) -> tensor<3x3x3x5xf32>
  return %0, %1 : tensor<3x7x3x2xf32>, tensor<3x3x3x5xf32>
}
