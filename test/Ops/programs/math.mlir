// math on tensors, and the same in the body of a linalg.generic.
func.func @smooth(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = math.absf %x : tensor<4x6xf32>
  %b = math.exp %y : tensor<4x6xf32>
  %c = math.log %b : tensor<4x6xf32>
  %d = math.sqrt %a : tensor<4x6xf32>
  %f = math.rsqrt %b : tensor<4x6xf32>
  %g = math.tanh %c : tensor<4x6xf32>
  %h = math.erf %d : tensor<4x6xf32>
  %i = math.sin %f : tensor<4x6xf32>
  %j = math.cos %g : tensor<4x6xf32>
  %k = math.powf %b, %j : tensor<4x6xf32>
  %l = math.exp2 %i : tensor<4x6xf32>
  %m = math.expm1 %h : tensor<4x6xf32>
  %n = math.log1p %a : tensor<4x6xf32>
  %p = math.log2 %b : tensor<4x6xf32>
  %q = math.log10 %b : tensor<4x6xf32>
  %s = math.fma %k, %l, %m : tensor<4x6xf32>
  %t = arith.addf %n, %p : tensor<4x6xf32>
  %u = arith.addf %t, %q : tensor<4x6xf32>
  %r = arith.addf %s, %u : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @smooth_body(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %y0: f32, %o: f32):
    %a = math.absf %x0 : f32
    %b = math.exp %y0 : f32
    %c = math.log %b : f32
    %d = math.sqrt %a : f32
    %f = math.rsqrt %b : f32
    %g = math.tanh %c : f32
    %h = math.erf %d : f32
    %i = math.sin %f : f32
    %j = math.cos %g : f32
    %k = math.powf %b, %j : f32
    %l = math.exp2 %i : f32
    %m = math.expm1 %h : f32
    %n = math.log1p %a : f32
    %p = math.log2 %b : f32
    %q = math.log10 %b : f32
    %s = math.fma %k, %l, %m : f32
    %t = arith.addf %n, %p : f32
    %u = arith.addf %t, %q : f32
    %r = arith.addf %s, %u : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @angles(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = math.tanh %x : tensor<4x6xf32>
  %half = arith.constant dense<0.5> : tensor<4x6xf32>
  %b = arith.mulf %a, %half : tensor<4x6xf32>
  %c = math.acos %b : tensor<4x6xf32>
  %d = math.asin %b : tensor<4x6xf32>
  %f = math.atan %b : tensor<4x6xf32>
  %g = math.atanh %b : tensor<4x6xf32>
  %h = math.asinh %y : tensor<4x6xf32>
  %i = math.cosh %b : tensor<4x6xf32>
  %j = math.acosh %i : tensor<4x6xf32>
  %k = math.sinh %b : tensor<4x6xf32>
  %l = math.tan %b : tensor<4x6xf32>
  %m = math.atan2 %x, %i : tensor<4x6xf32>
  %n = math.cbrt %y : tensor<4x6xf32>
  %p = math.erfc %y : tensor<4x6xf32>
  %s, %t = math.sincos %y : tensor<4x6xf32>
  %a1 = arith.addf %c, %d : tensor<4x6xf32>
  %a2 = arith.addf %f, %g : tensor<4x6xf32>
  %a3 = arith.addf %h, %j : tensor<4x6xf32>
  %a4 = arith.addf %k, %l : tensor<4x6xf32>
  %a5 = arith.addf %m, %n : tensor<4x6xf32>
  %a6 = arith.addf %p, %s : tensor<4x6xf32>
  %b1 = arith.addf %a1, %a2 : tensor<4x6xf32>
  %b2 = arith.addf %a3, %a4 : tensor<4x6xf32>
  %b3 = arith.addf %a5, %a6 : tensor<4x6xf32>
  %c1 = arith.addf %b1, %b2 : tensor<4x6xf32>
  %c2 = arith.addf %b3, %t : tensor<4x6xf32>
  %r = arith.addf %c1, %c2 : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @angles_body(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %y0: f32, %o: f32):
    %a = math.tanh %x0 : f32
    %half = arith.constant 0.5 : f32
    %b = arith.mulf %a, %half : f32
    %c = math.acos %b : f32
    %d = math.asin %b : f32
    %f = math.atan %b : f32
    %g = math.atanh %b : f32
    %h = math.asinh %y0 : f32
    %i = math.cosh %b : f32
    %j = math.acosh %i : f32
    %k = math.sinh %b : f32
    %l = math.tan %b : f32
    %m = math.atan2 %x0, %i : f32
    %n = math.cbrt %y0 : f32
    %p = math.erfc %y0 : f32
    %s, %t = math.sincos %y0 : f32
    %a1 = arith.addf %c, %d : f32
    %a2 = arith.addf %f, %g : f32
    %a3 = arith.addf %h, %j : f32
    %a4 = arith.addf %k, %l : f32
    %a5 = arith.addf %m, %n : f32
    %a6 = arith.addf %p, %s : f32
    %b1 = arith.addf %a1, %a2 : f32
    %b2 = arith.addf %a3, %a4 : f32
    %b3 = arith.addf %a5, %a6 : f32
    %c1 = arith.addf %b1, %b2 : f32
    %c2 = arith.addf %b3, %t : f32
    %r = arith.addf %c1, %c2 : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @clamp(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %high = arith.constant dense<0.5> : tensor<4x6xf32>
  %low = arith.constant dense<-0.75> : tensor<4x6xf32>
  %r = math.clampf %x to [%low, %high] : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @clamp_body(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %o: f32):
    %high = arith.constant 0.5 : f32
    %low = arith.constant -0.75 : f32
    %r = math.clampf %x0 to [%low, %high] : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @rounding(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %four = arith.constant dense<4.0> : tensor<4x6xf32>
  %w = arith.mulf %x, %four : tensor<4x6xf32>
  %a = math.ceil %w : tensor<4x6xf32>
  %b = math.floor %w : tensor<4x6xf32>
  %c = math.round %w : tensor<4x6xf32>
  %d = math.roundeven %w : tensor<4x6xf32>
  %f = math.trunc %w : tensor<4x6xf32>
  %g = math.copysign %a, %y : tensor<4x6xf32>
  %i = arith.addf %g, %b : tensor<4x6xf32>
  %j = arith.addf %c, %d : tensor<4x6xf32>
  %k = arith.addf %f, %w : tensor<4x6xf32>
  %l = arith.mulf %i, %j : tensor<4x6xf32>
  %r = arith.addf %l, %k : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @rounding_body(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %y0: f32, %o: f32):
    %four = arith.constant 4.0 : f32
    %w = arith.mulf %x0, %four : f32
    %a = math.ceil %w : f32
    %b = math.floor %w : f32
    %c = math.round %w : f32
    %d = math.roundeven %w : f32
    %f = math.trunc %w : f32
    %g = math.copysign %a, %y0 : f32
    %i = arith.addf %g, %b : f32
    %j = arith.addf %c, %d : f32
    %k = arith.addf %f, %w : f32
    %l = arith.mulf %i, %j : f32
    %r = arith.addf %l, %k : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @classes(%x: tensor<4x6xf32>) -> tensor<4x6xi1> {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %q = arith.divf %zero, %x : tensor<4x6xf32>
  %a = math.isfinite %q : tensor<4x6xf32>
  %b = math.isinf %x : tensor<4x6xf32>
  %c = math.isnan %q : tensor<4x6xf32>
  %d = math.isnormal %x : tensor<4x6xf32>
  %f = arith.ori %a, %b : tensor<4x6xi1>
  %g = arith.ori %c, %d : tensor<4x6xi1>
  %r = arith.xori %f, %g : tensor<4x6xi1>
  return %r : tensor<4x6xi1>
}
// -----
func.func @classes_body(%x: tensor<4x6xf32>) -> tensor<4x6xi1> {
  %e = tensor.empty() : tensor<4x6xi1>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xi1>) {
  ^bb0(%x0: f32, %o: i1):
    %zero = arith.constant 0.0 : f32
    %q = arith.divf %zero, %x0 : f32
    %a = math.isfinite %q : f32
    %b = math.isinf %x0 : f32
    %c = math.isnan %q : f32
    %d = math.isnormal %x0 : f32
    %f = arith.ori %a, %b : i1
    %g = arith.ori %c, %d : i1
    %r = arith.xori %f, %g : i1
    linalg.yield %r : i1
  } -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
// -----
func.func @bits(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %k = arith.constant dense<-1000> : tensor<4x6xi32>
  %a = arith.muli %x, %k : tensor<4x6xi32>
  %b = math.absi %a : tensor<4x6xi32>
  %c = math.ctlz %b : tensor<4x6xi32>
  %d = math.cttz %b : tensor<4x6xi32>
  %f = math.ctpop %a : tensor<4x6xi32>
  %three = arith.constant dense<3> : tensor<4x6xi32>
  %g = arith.addi %y, %three : tensor<4x6xi32>
  %h = math.ipowi %g, %three : tensor<4x6xi32>
  %i = arith.addi %c, %d : tensor<4x6xi32>
  %j = arith.addi %f, %h : tensor<4x6xi32>
  %r = arith.addi %i, %j : tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
// -----
func.func @bits_body(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %e = tensor.empty() : tensor<4x6xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) {
  ^bb0(%x0: i32, %y0: i32, %o: i32):
    %k = arith.constant -1000 : i32
    %a = arith.muli %x0, %k : i32
    %b = math.absi %a : i32
    %c = math.ctlz %b : i32
    %d = math.cttz %b : i32
    %f = math.ctpop %a : i32
    %three = arith.constant 3 : i32
    %g = arith.addi %y0, %three : i32
    %h = math.ipowi %g, %three : i32
    %i = arith.addi %c, %d : i32
    %j = arith.addi %f, %h : i32
    %r = arith.addi %i, %j : i32
    linalg.yield %r : i32
  } -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// -----
func.func @powers(%x: tensor<4x6xf32>, %n: tensor<4x6xi32>) -> tensor<4x6xf32> {
  %r = math.fpowi %x, %n : tensor<4x6xf32>, tensor<4x6xi32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @powers_body(%x: tensor<4x6xf32>, %n: tensor<4x6xi32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %n : tensor<4x6xf32>, tensor<4x6xi32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %n0: i32, %o: f32):
    %r = math.fpowi %x0, %n0 : f32, i32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
