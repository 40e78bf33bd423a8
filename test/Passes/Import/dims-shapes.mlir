// Every shape follows from the extents of the arguments.
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=2:0=2,2:1=6,3:0=2,3:1=6 function=main})' | FileCheck %s
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=2:0=2,2:1=6,3:0=3,3:1=6 function=main})' 2>&1 | FileCheck %s --check-prefix=ASSERT
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=2:0=2,2:1=6,3:0=2,3:1=5 function=main})' 2>&1 | FileCheck %s --check-prefix=MISFIT
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=2,1:0=2 function=tosa})' | FileCheck %s --check-prefix=TOSA
// RUN: shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=6 function=others})' | FileCheck %s --check-prefix=OTHERS
// RUN: not shard-opt %s --pass-pipeline='builtin.module(shard-import{dims=0:0=6,1:0=5 function=twice})' 2>&1 | FileCheck %s --check-prefix=TWICE
// CHECK-NOT: ?
// CHECK: func.func @main({{.*}}) -> tensor<2x6x24xf32>
// CHECK-NOT: tensor.dim
// CHECK-NOT: cf.assert
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<12x16xf32>, tensor<16x24xf32>)
// CHECK-NOT: ?
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 3] [2, 6, 24] [1, 1, 1] : tensor<2x6x48xf32> to tensor<2x6x24xf32>
// CHECK-NOT: ?
// ASSERT: error: with the extents given, this assert fails: mismatched size for broadcast
// MISFIT: dims-shapes.mlir:{{[0-9]+:[0-9]+}}: error: {{.*}}linalg.generic
// TOSA: func.func @tosa({{.*}}tensor<2x3x4xf32>{{.*}}tensor<2x4x5xf32>{{.*}}) -> tensor<2x3x5xf32>
// TOSA-NOT: ?
// OTHERS: func.func @others({{.*}}tensor<6x4xf32>{{.*}}) -> (tensor<9x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
// OTHERS-NOT: ?
// OTHERS: func.func private @scale({{.*}}: tensor<6x4xf32>) -> tensor<6x4xf32>
// TWICE: dims-shapes.mlir:{{[0-9]+:[0-9]+}}: error: '@scale' is called with two shapes of argument 0; expected one
#map = affine_map<(d0, d1) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%table: tensor<100x16xf32>, %w: tensor<16x24xf32>, %ids: tensor<?x?xi64>, %mask: tensor<?x?xi64>) -> tensor<?x?x24xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f32
  %d0 = tensor.dim %ids, %c0 : tensor<?x?xi64>
  %d1 = tensor.dim %ids, %c1 : tensor<?x?xi64>
  %m0 = tensor.dim %mask, %c0 : tensor<?x?xi64>
  %eq = arith.cmpi eq, %d0, %m0 : index
  cf.assert %eq, "mismatched size for broadcast"
  %e = tensor.empty(%d0, %d1) : tensor<?x?x16xf32>
  %x = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : tensor<?x?xi64>) outs(%e : tensor<?x?x16xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %j = linalg.index 2 : index
    %v = tensor.extract %table[%i, %j] : tensor<100x16xf32>
    linalg.yield %v : f32
  } -> tensor<?x?x16xf32>
  %mf_e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
  %mf = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<?x?xi64>) outs(%mf_e : tensor<?x?xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.sitofp %in : i64 to f32
    linalg.yield %i : f32
  } -> tensor<?x?xf32>
  %xm = linalg.generic {indexing_maps = [#map3, #map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mf : tensor<?x?x16xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %i = arith.mulf %a, %b : f32
    linalg.yield %i : f32
  } -> tensor<?x?x16xf32>
  %half = arith.divui %d1, %c1 : index
  %sl = tensor.extract_slice %xm[0, 0, 0] [%d0, %half, 16] [1, 1, 1] : tensor<?x?x16xf32> to tensor<?x?x16xf32>
  %col = tensor.collapse_shape %sl [[0, 1], [2]] : tensor<?x?x16xf32> into tensor<?x16xf32>
  %n = arith.muli %d0, %d1 : index
  %me = tensor.empty(%n) : tensor<?x24xf32>
  %mz = linalg.fill ins(%cst : f32) outs(%me : tensor<?x24xf32>) -> tensor<?x24xf32>
  %mm = linalg.matmul ins(%col, %w : tensor<?x16xf32>, tensor<16x24xf32>) outs(%mz : tensor<?x24xf32>) -> tensor<?x24xf32>
  %ex = tensor.expand_shape %mm [[0, 1], [2]] output_shape [%d0, %d1, 24] : tensor<?x24xf32> into tensor<?x?x24xf32>
  %cc = tensor.concat dim(2) %ex, %ex : (tensor<?x?x24xf32>, tensor<?x?x24xf32>) -> tensor<?x?x48xf32>
  %c2 = tensor.extract_slice %cc[0, 0, 3] [%d0, %d1, 24] [1, 1, 1] : tensor<?x?x48xf32> to tensor<?x?x24xf32>
  return %c2 : tensor<?x?x24xf32>
}
func.func @tosa(%a: tensor<?x3x4xf32>, %b: tensor<?x4x5xf32>) -> tensor<?x3x5xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.matmul %a, %b, %z, %z : (tensor<?x3x4xf32>, tensor<?x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3x5xf32>
  %1 = tosa.exp %0 : (tensor<?x3x5xf32>) -> tensor<?x3x5xf32>
  return %1 : tensor<?x3x5xf32>
}
func.func @others(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %last = arith.subi %d, %c1 : index
  %half = arith.divsi %d, %c3 : index
  %pad = tensor.pad %x low[1, 0] high[%half, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<?x4xf32> to tensor<?x4xf32>
  %row = tensor.extract_slice %x[%last, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<4xf32>
  %s = tensor.splat %one[%d] : tensor<?x4xf32>
  %sum = arith.addf %x, %s : tensor<?x4xf32>
  %0 = func.call @scale(%sum) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %more = arith.cmpi sgt, %d, %c3 : index
  %loop = scf.for %i = %c0 to %d step %c1 iter_args(%acc = %0) -> (tensor<?x4xf32>) {
    %n = arith.addf %acc, %x : tensor<?x4xf32>
    %m = tensor.insert_slice %row into %n[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<?x4xf32>
    scf.yield %m : tensor<?x4xf32>
  }
  %if = scf.if %more -> (tensor<?x4xf32>) {
    scf.yield %loop : tensor<?x4xf32>
  } else {
    scf.yield %x : tensor<?x4xf32>
  }
  return %pad, %row, %loop, %if : tensor<?x4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
func.func @twice(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = func.call @scale(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = func.call @scale(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
}
func.func private @scale(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = arith.mulf %x, %x : tensor<?x4xf32>
  %1 = tensor.cast %0 : tensor<?x4xf32> to tensor<?x?xf32>
  %2 = tensor.cast %1 : tensor<?x?xf32> to tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
