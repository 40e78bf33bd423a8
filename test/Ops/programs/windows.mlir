// Convolutions and poolings.
func.func @conv_1d(%x: tensor<6xf32>, %w: tensor<3xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.conv_1d ins(%x, %w : tensor<6xf32>, tensor<3xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @conv_1d_ncw_fcw(%x: tensor<2x4x6xf32>, %w: tensor<6x4x3xf32>) -> tensor<2x6x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %0 = linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<2x4x6xf32>, tensor<6x4x3xf32>) outs(%i : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %0 : tensor<2x6x4xf32>
}
// -----
func.func @conv_1d_nwc_wcf(%x: tensor<2x6x4xf32>, %w: tensor<3x4x6xf32>) -> tensor<2x4x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %0 = linalg.conv_1d_nwc_wcf ins(%x, %w : tensor<2x6x4xf32>, tensor<3x4x6xf32>) outs(%i : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}
// -----
func.func @conv_2d(%x: tensor<6x6xf32>, %w: tensor<3x3xf32>) -> tensor<4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.conv_2d ins(%x, %w : tensor<6x6xf32>, tensor<3x3xf32>) outs(%i : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
// -----
func.func @conv_2d_nchw_fchw(%x: tensor<2x4x6x6xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<2x6x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
  %0 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x4x6x6xf32>, tensor<6x4x3x3xf32>) outs(%i : tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
  return %0 : tensor<2x6x4x4xf32>
}
// -----
func.func @conv_2d_nchw_fchw_q(%x: tensor<2x4x6x6xi8>, %w: tensor<6x4x3x3xi8>) -> tensor<2x6x4x4xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x6x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x6x4x4xi32>) -> tensor<2x6x4x4xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.conv_2d_nchw_fchw_q ins(%x, %w, %p, %q : tensor<2x4x6x6xi8>, tensor<6x4x3x3xi8>, i32, i32) outs(%i : tensor<2x6x4x4xi32>) -> tensor<2x6x4x4xi32>
  return %0 : tensor<2x6x4x4xi32>
}
// -----
func.func @conv_2d_ngchw_fgchw(%x: tensor<2x2x4x6x6xf32>, %w: tensor<6x2x4x3x3xf32>) -> tensor<2x2x6x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x6x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2x6x4x4xf32>) -> tensor<2x2x6x4x4xf32>
  %0 = linalg.conv_2d_ngchw_fgchw ins(%x, %w : tensor<2x2x4x6x6xf32>, tensor<6x2x4x3x3xf32>) outs(%i : tensor<2x2x6x4x4xf32>) -> tensor<2x2x6x4x4xf32>
  return %0 : tensor<2x2x6x4x4xf32>
}
// -----
func.func @conv_2d_ngchw_gfchw(%x: tensor<2x2x4x6x6xf32>, %w: tensor<2x6x4x3x3xf32>) -> tensor<2x2x6x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x6x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2x6x4x4xf32>) -> tensor<2x2x6x4x4xf32>
  %0 = linalg.conv_2d_ngchw_gfchw ins(%x, %w : tensor<2x2x4x6x6xf32>, tensor<2x6x4x3x3xf32>) outs(%i : tensor<2x2x6x4x4xf32>) -> tensor<2x2x6x4x4xf32>
  return %0 : tensor<2x2x6x4x4xf32>
}
// -----
func.func @conv_2d_ngchw_gfchw_q(%x: tensor<2x2x4x6x6xi8>, %w: tensor<2x6x4x3x3xi8>) -> tensor<2x2x6x4x4xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x2x6x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x2x6x4x4xi32>) -> tensor<2x2x6x4x4xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.conv_2d_ngchw_gfchw_q ins(%x, %w, %p, %q : tensor<2x2x4x6x6xi8>, tensor<2x6x4x3x3xi8>, i32, i32) outs(%i : tensor<2x2x6x4x4xi32>) -> tensor<2x2x6x4x4xi32>
  return %0 : tensor<2x2x6x4x4xi32>
}
// -----
func.func @conv_2d_nhwc_fhwc(%x: tensor<2x6x6x4xf32>, %w: tensor<6x3x3x4xf32>) -> tensor<2x4x4x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %0 = linalg.conv_2d_nhwc_fhwc ins(%x, %w : tensor<2x6x6x4xf32>, tensor<6x3x3x4xf32>) outs(%i : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  return %0 : tensor<2x4x4x6xf32>
}
// -----
func.func @conv_2d_nhwc_fhwc_q(%x: tensor<2x6x6x4xi8>, %w: tensor<6x3x3x4xi8>) -> tensor<2x4x4x6xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4x6xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x6xi32>) -> tensor<2x4x4x6xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.conv_2d_nhwc_fhwc_q ins(%x, %w, %p, %q : tensor<2x6x6x4xi8>, tensor<6x3x3x4xi8>, i32, i32) outs(%i : tensor<2x4x4x6xi32>) -> tensor<2x4x4x6xi32>
  return %0 : tensor<2x4x4x6xi32>
}
// -----
func.func @conv_2d_nhwc_hwcf(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x6xf32>) -> tensor<2x4x4x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<2x6x6x4xf32>, tensor<3x3x4x6xf32>) outs(%i : tensor<2x4x4x6xf32>) -> tensor<2x4x4x6xf32>
  return %0 : tensor<2x4x4x6xf32>
}
// -----
func.func @conv_2d_nhwc_hwcf_q(%x: tensor<2x6x6x4xi8>, %w: tensor<3x3x4x6xi8>) -> tensor<2x4x4x6xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4x6xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x6xi32>) -> tensor<2x4x4x6xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.conv_2d_nhwc_hwcf_q ins(%x, %w, %p, %q : tensor<2x6x6x4xi8>, tensor<3x3x4x6xi8>, i32, i32) outs(%i : tensor<2x4x4x6xi32>) -> tensor<2x4x4x6xi32>
  return %0 : tensor<2x4x4x6xi32>
}
// -----
func.func @conv_2d_nhwgc_gfhwc(%x: tensor<2x6x6x2x4xf32>, %w: tensor<2x6x3x3x4xf32>) -> tensor<2x4x4x2x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x2x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x2x6xf32>) -> tensor<2x4x4x2x6xf32>
  %0 = linalg.conv_2d_nhwgc_gfhwc ins(%x, %w : tensor<2x6x6x2x4xf32>, tensor<2x6x3x3x4xf32>) outs(%i : tensor<2x4x4x2x6xf32>) -> tensor<2x4x4x2x6xf32>
  return %0 : tensor<2x4x4x2x6xf32>
}
// -----
func.func @conv_2d_nhwgc_gfhwc_q(%x: tensor<2x6x6x2x4xi8>, %w: tensor<2x6x3x3x4xi8>) -> tensor<2x4x4x2x6xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4x2x6xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x2x6xi32>) -> tensor<2x4x4x2x6xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.conv_2d_nhwgc_gfhwc_q ins(%x, %w, %p, %q : tensor<2x6x6x2x4xi8>, tensor<2x6x3x3x4xi8>, i32, i32) outs(%i : tensor<2x4x4x2x6xi32>) -> tensor<2x4x4x2x6xi32>
  return %0 : tensor<2x4x4x2x6xi32>
}
// -----
func.func @conv_3d(%x: tensor<4x6x6xf32>, %w: tensor<3x3x3xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %0 = linalg.conv_3d ins(%x, %w : tensor<4x6x6xf32>, tensor<3x3x3xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @conv_3d_ncdhw_fcdhw(%x: tensor<2x4x4x6x6xf32>, %w: tensor<6x4x3x3x3xf32>) -> tensor<2x6x2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x2x4x4xf32>) -> tensor<2x6x2x4x4xf32>
  %0 = linalg.conv_3d_ncdhw_fcdhw ins(%x, %w : tensor<2x4x4x6x6xf32>, tensor<6x4x3x3x3xf32>) outs(%i : tensor<2x6x2x4x4xf32>) -> tensor<2x6x2x4x4xf32>
  return %0 : tensor<2x6x2x4x4xf32>
}
// -----
func.func @conv_3d_ndhwc_dhwcf(%x: tensor<2x4x6x6x4xf32>, %w: tensor<3x3x3x4x6xf32>) -> tensor<2x2x4x4x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x4x4x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2x4x4x6xf32>) -> tensor<2x2x4x4x6xf32>
  %0 = linalg.conv_3d_ndhwc_dhwcf ins(%x, %w : tensor<2x4x6x6x4xf32>, tensor<3x3x3x4x6xf32>) outs(%i : tensor<2x2x4x4x6xf32>) -> tensor<2x2x4x4x6xf32>
  return %0 : tensor<2x2x4x4x6xf32>
}
// -----
func.func @conv_3d_ndhwc_dhwcf_q(%x: tensor<2x4x6x6x4xi8>, %w: tensor<3x3x3x4x6xi8>) -> tensor<2x2x4x4x6xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x2x4x4x6xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x2x4x4x6xi32>) -> tensor<2x2x4x4x6xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.conv_3d_ndhwc_dhwcf_q ins(%x, %w, %p, %q : tensor<2x4x6x6x4xi8>, tensor<3x3x3x4x6xi8>, i32, i32) outs(%i : tensor<2x2x4x4x6xi32>) -> tensor<2x2x4x4x6xi32>
  return %0 : tensor<2x2x4x4x6xi32>
}
// -----
func.func @depthwise_conv_1d_ncw_cw(%x: tensor<2x4x6xf32>, %w: tensor<4x3xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %0 = linalg.depthwise_conv_1d_ncw_cw ins(%x, %w : tensor<2x4x6xf32>, tensor<4x3xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @depthwise_conv_1d_nwc_wc(%x: tensor<2x6x4xf32>, %w: tensor<3x4xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %0 = linalg.depthwise_conv_1d_nwc_wc ins(%x, %w : tensor<2x6x4xf32>, tensor<3x4xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @depthwise_conv_1d_nwc_wcm(%x: tensor<2x6x4xf32>, %w: tensor<3x4x3xf32>) -> tensor<2x4x4x3xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x3xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32>
  %0 = linalg.depthwise_conv_1d_nwc_wcm ins(%x, %w : tensor<2x6x4xf32>, tensor<3x4x3xf32>) outs(%i : tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32>
  return %0 : tensor<2x4x4x3xf32>
}
// -----
func.func @depthwise_conv_2d_nchw_chw(%x: tensor<2x4x6x6xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %0 = linalg.depthwise_conv_2d_nchw_chw ins(%x, %w : tensor<2x4x6x6xf32>, tensor<4x3x3xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @depthwise_conv_2d_nhwc_hwc(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %w : tensor<2x6x6x4xf32>, tensor<3x3x4xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @depthwise_conv_2d_nhwc_hwc_q(%x: tensor<2x6x6x4xi8>, %w: tensor<3x3x4xi8>) -> tensor<2x4x4x4xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.depthwise_conv_2d_nhwc_hwc_q ins(%x, %w, %p, %q : tensor<2x6x6x4xi8>, tensor<3x3x4xi8>, i32, i32) outs(%i : tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi32>
  return %0 : tensor<2x4x4x4xi32>
}
// -----
func.func @depthwise_conv_2d_nhwc_hwcm(%x: tensor<2x6x6x4xf32>, %w: tensor<3x3x4x3xf32>) -> tensor<2x4x4x4x3xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4x3xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4x3xf32>) -> tensor<2x4x4x4x3xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwcm ins(%x, %w : tensor<2x6x6x4xf32>, tensor<3x3x4x3xf32>) outs(%i : tensor<2x4x4x4x3xf32>) -> tensor<2x4x4x4x3xf32>
  return %0 : tensor<2x4x4x4x3xf32>
}
// -----
func.func @depthwise_conv_2d_nhwc_hwcm_q(%x: tensor<2x6x6x4xi8>, %w: tensor<3x3x4x3xi8>) -> tensor<2x4x4x4x3xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4x4x3xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x4x3xi32>) -> tensor<2x4x4x4x3xi32>
  %p = arith.constant 3 : i32
  %q = arith.constant -2 : i32
  %0 = linalg.depthwise_conv_2d_nhwc_hwcm_q ins(%x, %w, %p, %q : tensor<2x6x6x4xi8>, tensor<3x3x4x3xi8>, i32, i32) outs(%i : tensor<2x4x4x4x3xi32>) -> tensor<2x4x4x4x3xi32>
  return %0 : tensor<2x4x4x4x3xi32>
}
// -----
func.func @depthwise_conv_3d_ncdhw_cdhw(%x: tensor<2x4x4x6x6xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x2x4x4xf32>) -> tensor<2x4x2x4x4xf32>
  %0 = linalg.depthwise_conv_3d_ncdhw_cdhw ins(%x, %w : tensor<2x4x4x6x6xf32>, tensor<4x3x3x3xf32>) outs(%i : tensor<2x4x2x4x4xf32>) -> tensor<2x4x2x4x4xf32>
  return %0 : tensor<2x4x2x4x4xf32>
}
// -----
func.func @depthwise_conv_3d_ndhwc_dhwc(%x: tensor<2x4x6x6x4xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<2x2x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2x4x4x4xf32>) -> tensor<2x2x4x4x4xf32>
  %0 = linalg.depthwise_conv_3d_ndhwc_dhwc ins(%x, %w : tensor<2x4x6x6x4xf32>, tensor<3x3x3x4xf32>) outs(%i : tensor<2x2x4x4x4xf32>) -> tensor<2x2x4x4x4xf32>
  return %0 : tensor<2x2x4x4x4xf32>
}
// -----
func.func @depthwise_conv_3d_ndhwc_dhwcm(%x: tensor<2x4x6x6x4xf32>, %w: tensor<3x3x3x4x3xf32>) -> tensor<2x2x4x4x4x3xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x4x4x4x3xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x2x4x4x4x3xf32>) -> tensor<2x2x4x4x4x3xf32>
  %0 = linalg.depthwise_conv_3d_ndhwc_dhwcm ins(%x, %w : tensor<2x4x6x6x4xf32>, tensor<3x3x3x4x3xf32>) outs(%i : tensor<2x2x4x4x4x3xf32>) -> tensor<2x2x4x4x4x3xf32>
  return %0 : tensor<2x2x4x4x4x3xf32>
}
// -----
func.func @pooling_nchw_max(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x4x8x8xf32>, tensor<2x2xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @pooling_nchw_sum(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nchw_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x4x8x8xf32>, tensor<2x2xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @pooling_ncw_max(%x: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %0 = linalg.pooling_ncw_max {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x4x8xf32>, tensor<2xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @pooling_ncw_sum(%x: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %0 = linalg.pooling_ncw_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x4x8xf32>, tensor<2xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @pooling_ndhwc_max(%x: tensor<2x8x8x8x4xf32>) -> tensor<2x4x4x4x4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x4x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4x4xf32>) -> tensor<2x4x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2x2xf32>
  %0 = linalg.pooling_ndhwc_max {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%x, %k : tensor<2x8x8x8x4xf32>, tensor<2x2x2xf32>) outs(%i : tensor<2x4x4x4x4xf32>) -> tensor<2x4x4x4x4xf32>
  return %0 : tensor<2x4x4x4x4xf32>
}
// -----
func.func @pooling_ndhwc_min(%x: tensor<2x8x8x8x4xf32>) -> tensor<2x4x4x4x4xf32> {
  %z = arith.constant 0x7F800000 : f32
  %e = tensor.empty() : tensor<2x4x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4x4xf32>) -> tensor<2x4x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2x2xf32>
  %0 = linalg.pooling_ndhwc_min {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%x, %k : tensor<2x8x8x8x4xf32>, tensor<2x2x2xf32>) outs(%i : tensor<2x4x4x4x4xf32>) -> tensor<2x4x4x4x4xf32>
  return %0 : tensor<2x4x4x4x4xf32>
}
// -----
func.func @pooling_ndhwc_sum(%x: tensor<2x8x8x8x4xf32>) -> tensor<2x4x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4x4xf32>) -> tensor<2x4x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2x2xf32>
  %0 = linalg.pooling_ndhwc_sum {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%x, %k : tensor<2x8x8x8x4xf32>, tensor<2x2x2xf32>) outs(%i : tensor<2x4x4x4x4xf32>) -> tensor<2x4x4x4x4xf32>
  return %0 : tensor<2x4x4x4x4xf32>
}
// -----
func.func @pooling_nhwc_max(%x: tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x8x8x4xf32>, tensor<2x2xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @pooling_nhwc_max_unsigned(%x: tensor<2x8x8x4xi32>) -> tensor<2x4x4x4xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi32>
  %k = tensor.empty() : tensor<2x2xi32>
  %0 = linalg.pooling_nhwc_max_unsigned {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x8x8x4xi32>, tensor<2x2xi32>) outs(%i : tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi32>
  return %0 : tensor<2x4x4x4xi32>
}
// -----
func.func @pooling_nhwc_min(%x: tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0x7F800000 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nhwc_min {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x8x8x4xf32>, tensor<2x2xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @pooling_nhwc_min_unsigned(%x: tensor<2x8x8x4xi32>) -> tensor<2x4x4x4xi32> {
  %z = arith.constant -1 : i32
  %e = tensor.empty() : tensor<2x4x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi32>
  %k = tensor.empty() : tensor<2x2xi32>
  %0 = linalg.pooling_nhwc_min_unsigned {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x8x8x4xi32>, tensor<2x2xi32>) outs(%i : tensor<2x4x4x4xi32>) -> tensor<2x4x4x4xi32>
  return %0 : tensor<2x4x4x4xi32>
}
// -----
func.func @pooling_nhwc_sum(%x: tensor<2x8x8x4xf32>) -> tensor<2x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  %k = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<2x8x8x4xf32>, tensor<2x2xf32>) outs(%i : tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
// -----
func.func @pooling_nwc_max(%x: tensor<2x8x4xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %0 = linalg.pooling_nwc_max {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x8x4xf32>, tensor<2xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @pooling_nwc_max_unsigned(%x: tensor<2x8x4xi32>) -> tensor<2x4x4xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4xi32>) -> tensor<2x4x4xi32>
  %k = tensor.empty() : tensor<2xi32>
  %0 = linalg.pooling_nwc_max_unsigned {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x8x4xi32>, tensor<2xi32>) outs(%i : tensor<2x4x4xi32>) -> tensor<2x4x4xi32>
  return %0 : tensor<2x4x4xi32>
}
// -----
func.func @pooling_nwc_min(%x: tensor<2x8x4xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0x7F800000 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %0 = linalg.pooling_nwc_min {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x8x4xf32>, tensor<2xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
func.func @pooling_nwc_min_unsigned(%x: tensor<2x8x4xi32>) -> tensor<2x4x4xi32> {
  %z = arith.constant -1 : i32
  %e = tensor.empty() : tensor<2x4x4xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<2x4x4xi32>) -> tensor<2x4x4xi32>
  %k = tensor.empty() : tensor<2xi32>
  %0 = linalg.pooling_nwc_min_unsigned {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x8x4xi32>, tensor<2xi32>) outs(%i : tensor<2x4x4xi32>) -> tensor<2x4x4xi32>
  return %0 : tensor<2x4x4xi32>
}
// -----
func.func @pooling_nwc_sum(%x: tensor<2x8x4xf32>) -> tensor<2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %0 = linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%x, %k : tensor<2x8x4xf32>, tensor<2xf32>) outs(%i : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}
// -----
// A patch embedding: windows that tile.
func.func @patches(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x4x4xf32>) -> tensor<2x6x2x2xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x2x2xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x2x2xf32>) -> tensor<2x6x2x2xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<4> : tensor<2xi64>} ins(%x, %w : tensor<2x4x8x8xf32>, tensor<6x4x4x4xf32>) outs(%i : tensor<2x6x2x2xf32>) -> tensor<2x6x2x2xf32>
  return %0 : tensor<2x6x2x2xf32>
}
// -----
// Windows with holes that overlap.
func.func @dilated(%x: tensor<2x8x8x4xf32>, %w: tensor<2x2x4x6xf32>) -> tensor<2x3x3x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x3x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<2x3x3x6xf32>) -> tensor<2x3x3x6xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<3> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<2x8x8x4xf32>, tensor<2x2x4x6xf32>) outs(%i : tensor<2x3x3x6xf32>) -> tensor<2x3x3x6xf32>
  return %0 : tensor<2x3x3x6xf32>
}
