// Ops of torch-mlir's own with open dimensions: the first three of twelve for any number of rows, and sums that run along
// an open dimension.
// RUN: shard-run %s --function=routing --auto-shard=dp2 --dim=*:0=..6 --sizes=0:0=6,3,1,4 --check --quiet
// RUN: shard-run %s --function=running --auto-shard=sp2 --dim=*:1=..9 --sizes=0:1=9,4,1,6 --check --quiet
func.func @routing(%x: tensor<?x12xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}) -> (tensor<?x3xf32>, tensor<?x3xi32>) {
  %c0 = arith.constant 0 : index
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %n = tensor.dim %x, %c0 : tensor<?x12xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %ei = tensor.empty(%n) : tensor<?x3xi32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  %fi = linalg.fill ins(%zero : i32) outs(%ei : tensor<?x3xi32>) -> tensor<?x3xi32>
  %s:2 = "tm_tensor.topk"(%x, %f, %fi) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf ogt, %a, %b : f32
    "tm_tensor.yield"(%p) : (i1) -> ()
  }) : (tensor<?x12xf32>, tensor<?x3xf32>, tensor<?x3xi32>) -> (tensor<?x3xf32>, tensor<?x3xi32>)
  return %s#0, %s#1 : tensor<?x3xf32>, tensor<?x3xi32>
}
func.func @running(%x: tensor<2x?xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence"]}) -> tensor<2x?xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c1 : tensor<2x?xf32>
  %e = tensor.empty(%n) : tensor<2x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?xf32>) -> tensor<2x?xf32>
  %e2 = tensor.empty() : tensor<2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %s:2 = "tm_tensor.scan"(%x, %f, %z) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    "tm_tensor.yield"(%0) : (f32) -> ()
  }) : (tensor<2x?xf32>, tensor<2x?xf32>, tensor<2xf32>) -> (tensor<2x?xf32>, tensor<2xf32>)
  return %s#0 : tensor<2x?xf32>
}

// Attention over an open sequence, without a mask and with a causal one that is added to scores, and over a cache of
// another open length, with a mask of bits. A key in padding counts for nothing.
// RUN: for layout in dp2 sp2 dp2,sp2; do shard-run %s --function=attention --auto-shard=$layout --dim=0:2=..7 --sizes=0:2=7,4,1,6 --check --quiet || exit 1; done
// RUN: for layout in dp2 sp2; do shard-run %s --function=cached --auto-shard=$layout --dim=0:0=..4 --dim=0:2=..5 --dim=1:2=..7 --sizes=0:0=4,3,1,2 --sizes=0:2=5,2,1,3 --sizes=1:2=7,4,1,6 --check --quiet || exit 1; done
#scores = affine_map<(b, h, i, j) -> (b, h, i, j)>
func.func @attention(%q: tensor<2x3x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "", "sequence", ""]}, %k: tensor<2x3x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "", "sequence", ""]}, %v: tensor<2x3x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "", "sequence", ""]}) -> tensor<2x3x?x4xf32> {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s = tensor.dim %q, %c2 : tensor<2x3x?x4xf32>
  %e = tensor.empty(%s) : tensor<2x3x?x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x?x4xf32>) -> tensor<2x3x?x4xf32>
  %em = tensor.empty(%s, %s) : tensor<2x3x?x?xf32>
  %mask = linalg.generic {indexing_maps = [#scores], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%em : tensor<2x3x?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %past = arith.cmpi ule, %j, %i : index
    %0 = arith.select %past, %zero, %low : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x?x?xf32>
  %a = "tm_tensor.attention"(%q, %k, %v, %f) <{operandSegmentSizes = array<i32: 3, 1>}> : (tensor<2x3x?x4xf32>, tensor<2x3x?x4xf32>, tensor<2x3x?x4xf32>, tensor<2x3x?x4xf32>) -> tensor<2x3x?x4xf32>
  %b = "tm_tensor.attention"(%a, %k, %v, %mask, %f) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<2x3x?x4xf32>, tensor<2x3x?x4xf32>, tensor<2x3x?x4xf32>, tensor<2x3x?x?xf32>, tensor<2x3x?x4xf32>) -> tensor<2x3x?x4xf32>
  return %b : tensor<2x3x?x4xf32>
}
func.func @cached(%q: tensor<?x3x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "", "sequence", ""]}, %k: tensor<?x3x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "", "", ""]}, %v: tensor<?x3x?x5xf32> {spmd.role = "input", spmd.dims = ["batch", "", "", ""]}, %mask: tensor<?x3x?x?xi1> {spmd.role = "input", spmd.dims = ["batch", "", "sequence", ""]}) -> tensor<?x3x?x5xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %q, %c0 : tensor<?x3x?x4xf32>
  %s = tensor.dim %q, %c2 : tensor<?x3x?x4xf32>
  %e = tensor.empty(%n, %s) : tensor<?x3x?x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x3x?x5xf32>) -> tensor<?x3x?x5xf32>
  %a = "tm_tensor.attention"(%q, %k, %v, %mask, %f) <{operandSegmentSizes = array<i32: 4, 1>}> : (tensor<?x3x?x4xf32>, tensor<?x3x?x4xf32>, tensor<?x3x?x5xf32>, tensor<?x3x?x?xi1>, tensor<?x3x?x5xf32>) -> tensor<?x3x?x5xf32>
  return %a : tensor<?x3x?x5xf32>
}
