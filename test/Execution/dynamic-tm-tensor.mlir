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
