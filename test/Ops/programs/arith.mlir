// arith on tensors, and the same in the body of a linalg.generic.
func.func @floats(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = arith.addf %x, %y : tensor<4x6xf32>
  %b = arith.subf %a, %y : tensor<4x6xf32>
  %c = arith.mulf %b, %y : tensor<4x6xf32>
  %d = arith.negf %c : tensor<4x6xf32>
  %two = arith.constant dense<2.5> : tensor<4x6xf32>
  %f = arith.maximumf %d, %x : tensor<4x6xf32>
  %g = arith.minimumf %f, %y : tensor<4x6xf32>
  %h = arith.maxnumf %g, %c : tensor<4x6xf32>
  %i = arith.minnumf %h, %two : tensor<4x6xf32>
  %j = arith.divf %i, %two : tensor<4x6xf32>
  %k = arith.remf %j, %two : tensor<4x6xf32>
  %p = arith.cmpf olt, %k, %x : tensor<4x6xf32>
  %r = arith.select %p, %k, %y : tensor<4x6xi1>, tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @floats_body(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %y0: f32, %o: f32):
    %a = arith.addf %x0, %y0 : f32
    %b = arith.subf %a, %y0 : f32
    %c = arith.mulf %b, %y0 : f32
    %d = arith.negf %c : f32
    %two = arith.constant 2.5 : f32
    %f = arith.maximumf %d, %x0 : f32
    %g = arith.minimumf %f, %y0 : f32
    %h = arith.maxnumf %g, %c : f32
    %i = arith.minnumf %h, %two : f32
    %j = arith.divf %i, %two : f32
    %k = arith.remf %j, %two : f32
    %p = arith.cmpf olt, %k, %x0 : f32
    %r = arith.select %p, %k, %y0 : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
// -----
func.func @integers(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %three = arith.constant dense<3> : tensor<4x6xi32>
  %one = arith.constant dense<1> : tensor<4x6xi32>
  %a = arith.addi %x, %three : tensor<4x6xi32>
  %b = arith.muli %a, %three : tensor<4x6xi32>
  %c = arith.subi %b, %y : tensor<4x6xi32>
  %d = arith.divsi %b, %three : tensor<4x6xi32>
  %f = arith.divui %b, %a : tensor<4x6xi32>
  %g = arith.remsi %c, %three : tensor<4x6xi32>
  %h = arith.remui %b, %three : tensor<4x6xi32>
  %i = arith.ceildivsi %c, %three : tensor<4x6xi32>
  %j = arith.ceildivui %b, %three : tensor<4x6xi32>
  %k = arith.floordivsi %c, %three : tensor<4x6xi32>
  %l = arith.shli %d, %one : tensor<4x6xi32>
  %m = arith.shrsi %c, %one : tensor<4x6xi32>
  %n = arith.shrui %b, %one : tensor<4x6xi32>
  %p = arith.andi %l, %m : tensor<4x6xi32>
  %q = arith.ori %p, %n : tensor<4x6xi32>
  %s = arith.xori %q, %f : tensor<4x6xi32>
  %t = arith.maxsi %s, %g : tensor<4x6xi32>
  %u = arith.maxui %t, %h : tensor<4x6xi32>
  %v = arith.minsi %u, %i : tensor<4x6xi32>
  %w = arith.minui %v, %j : tensor<4x6xi32>
  %r = arith.addi %w, %k : tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
// -----
func.func @integers_body(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %e = tensor.empty() : tensor<4x6xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) {
  ^bb0(%x0: i32, %y0: i32, %o: i32):
    %three = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    %a = arith.addi %x0, %three : i32
    %b = arith.muli %a, %three : i32
    %c = arith.subi %b, %y0 : i32
    %d = arith.divsi %b, %three : i32
    %f = arith.divui %b, %a : i32
    %g = arith.remsi %c, %three : i32
    %h = arith.remui %b, %three : i32
    %i = arith.ceildivsi %c, %three : i32
    %j = arith.ceildivui %b, %three : i32
    %k = arith.floordivsi %c, %three : i32
    %l = arith.shli %d, %one : i32
    %m = arith.shrsi %c, %one : i32
    %n = arith.shrui %b, %one : i32
    %p = arith.andi %l, %m : i32
    %q = arith.ori %p, %n : i32
    %s = arith.xori %q, %f : i32
    %t = arith.maxsi %s, %g : i32
    %u = arith.maxui %t, %h : i32
    %v = arith.minsi %u, %i : i32
    %w = arith.minui %v, %j : i32
    %r = arith.addi %w, %k : i32
    linalg.yield %r : i32
  } -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// -----
func.func @extended(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %big = arith.constant dense<1000000007> : tensor<4x6xi32>
  %a = arith.addi %x, %big : tensor<4x6xi32>
  %b, %p = arith.addui_extended %a, %big : tensor<4x6xi32>, tensor<4x6xi1>
  %c, %d = arith.mulsi_extended %a, %b : tensor<4x6xi32>
  %f, %g = arith.mului_extended %a, %b : tensor<4x6xi32>
  %q = arith.extui %p : tensor<4x6xi1> to tensor<4x6xi32>
  %h = arith.addi %c, %d : tensor<4x6xi32>
  %i = arith.addi %f, %g : tensor<4x6xi32>
  %j = arith.xori %h, %i : tensor<4x6xi32>
  %r = arith.addi %j, %q : tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
// -----
func.func @extended_body(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %e = tensor.empty() : tensor<4x6xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) {
  ^bb0(%x0: i32, %y0: i32, %o: i32):
    %big = arith.constant 1000000007 : i32
    %a = arith.addi %x0, %big : i32
    %b, %p = arith.addui_extended %a, %big : i32, i1
    %c, %d = arith.mulsi_extended %a, %b : i32
    %f, %g = arith.mului_extended %a, %b : i32
    %q = arith.extui %p : i1 to i32
    %h = arith.addi %c, %d : i32
    %i = arith.addi %f, %g : i32
    %j = arith.xori %h, %i : i32
    %r = arith.addi %j, %q : i32
    linalg.yield %r : i32
  } -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// -----
func.func @casts(%x: tensor<4x6xf32>, %n: tensor<4x6xi32>) -> tensor<4x6xf32> {
  %a = arith.truncf %x : tensor<4x6xf32> to tensor<4x6xbf16>
  %b = arith.extf %a : tensor<4x6xbf16> to tensor<4x6xf32>
  %c = arith.truncf %b : tensor<4x6xf32> to tensor<4x6xf16>
  %d = arith.extf %c : tensor<4x6xf16> to tensor<4x6xf64>
  %f = arith.truncf %d : tensor<4x6xf64> to tensor<4x6xf32>
  %four = arith.constant dense<4.0> : tensor<4x6xf32>
  %g = arith.mulf %f, %four : tensor<4x6xf32>
  %h = arith.fptosi %g : tensor<4x6xf32> to tensor<4x6xi8>
  %i = arith.extsi %h : tensor<4x6xi8> to tensor<4x6xi64>
  %j = arith.trunci %i : tensor<4x6xi64> to tensor<4x6xi16>
  %k = arith.sitofp %j : tensor<4x6xi16> to tensor<4x6xf32>
  %l = arith.mulf %g, %g : tensor<4x6xf32>
  %m = arith.fptoui %l : tensor<4x6xf32> to tensor<4x6xi32>
  %p = arith.uitofp %m : tensor<4x6xi32> to tensor<4x6xf32>
  %q = arith.index_cast %n : tensor<4x6xi32> to tensor<4x6xindex>
  %s = arith.index_castui %q : tensor<4x6xindex> to tensor<4x6xi64>
  %t = arith.extui %n : tensor<4x6xi32> to tensor<4x6xi64>
  %u = arith.cmpi ule, %s, %t : tensor<4x6xi64>
  %v = arith.uitofp %u : tensor<4x6xi1> to tensor<4x6xf32>
  %w = arith.bitcast %k : tensor<4x6xf32> to tensor<4x6xi32>
  %y = arith.bitcast %w : tensor<4x6xi32> to tensor<4x6xf32>
  %z = arith.addf %y, %p : tensor<4x6xf32>
  %r = arith.addf %z, %v : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// -----
func.func @casts_body(%x: tensor<4x6xf32>, %n: tensor<4x6xi32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %n : tensor<4x6xf32>, tensor<4x6xi32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %n0: i32, %o: f32):
    %a = arith.truncf %x0 : f32 to bf16
    %b = arith.extf %a : bf16 to f32
    %c = arith.truncf %b : f32 to f16
    %d = arith.extf %c : f16 to f64
    %f = arith.truncf %d : f64 to f32
    %four = arith.constant 4.0 : f32
    %g = arith.mulf %f, %four : f32
    %h = arith.fptosi %g : f32 to i8
    %i = arith.extsi %h : i8 to i64
    %j = arith.trunci %i : i64 to i16
    %k = arith.sitofp %j : i16 to f32
    %l = arith.mulf %g, %g : f32
    %m = arith.fptoui %l : f32 to i32
    %p = arith.uitofp %m : i32 to f32
    %q = arith.index_cast %n0 : i32 to index
    %s = arith.index_castui %q : index to i64
    %t = arith.extui %n0 : i32 to i64
    %u = arith.cmpi ule, %s, %t : i64
    %v = arith.uitofp %u : i1 to f32
    %w = arith.bitcast %k : f32 to i32
    %y = arith.bitcast %w : i32 to f32
    %z = arith.addf %y, %p : f32
    %r = arith.addf %z, %v : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
