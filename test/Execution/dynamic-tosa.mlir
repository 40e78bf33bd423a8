// TOSA with open dimensions: attention of queries on keys of another length, a table, an arg-max over an open batch, shapes
// with -1. One compilation, four sizes.
// RUN: shard-run %s --function=attention --auto-shard=dp2,sp2 --dim=*:0=..4 --dim=*:1=..7 --sizes=0:0=4,3,1,2 --sizes=0:1=7,3,1,4 --sizes=1:1=5,7,2,1 --check --quiet
// RUN: shard-run %s --function=mlp --auto-shard=dp4 --dim=0:0=..6 --sizes=0:0=6,3,1,4 --check --quiet
// RUN: shard-run %s --function=mlp --auto-shard=tp2 --dim=0:0=..6 --sizes=0:0=6,3,1,4 --check --quiet
func.func @attention(%q: tensor<?x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %k: tensor<?x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %v: tensor<?x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<?x?x8xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %t = tosa.transpose %k {perms = array<i32: 0, 2, 1>} : (tensor<?x?x8xf32>) -> tensor<?x8x?xf32>
  %s = tosa.matmul %q, %t, %z, %z : (tensor<?x?x8xf32>, tensor<?x8x?xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x?x?xf32>
  %m = tosa.reduce_max %s {axis = 2 : i32} : (tensor<?x?x?xf32>) -> tensor<?x?x1xf32>
  %d = tosa.sub %s, %m : (tensor<?x?x?xf32>, tensor<?x?x1xf32>) -> tensor<?x?x?xf32>
  %e = tosa.exp %d : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %n = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<?x?x?xf32>) -> tensor<?x?x1xf32>
  %r = tosa.reciprocal %n : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %p = tosa.mul %e, %r, %shift : (tensor<?x?x?xf32>, tensor<?x?x1xf32>, tensor<1xi8>) -> tensor<?x?x?xf32>
  %y = tosa.matmul %p, %v, %z, %z : (tensor<?x?x?xf32>, tensor<?x?x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
func.func @mlp(%ids: tensor<?x5xi32> {spmd.role = "input", spmd.dims = ["batch", "sequence"]}, %table: tensor<1x20x8xf32>, %w: tensor<1x8x12xf32>) -> (tensor<?x5x12xf32>, tensor<5x12xi32>, tensor<?x60xf32>) {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %flat = tosa.const_shape {values = dense<[1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %back = tosa.const_shape {values = dense<[-1, 5, 12]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %wide = tosa.const_shape {values = dense<[-1, 60]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %i = tosa.reshape %ids, %flat : (tensor<?x5xi32>, !tosa.shape<2>) -> tensor<1x?xi32>
  %x = tosa.gather %table, %i : (tensor<1x20x8xf32>, tensor<1x?xi32>) -> tensor<1x?x8xf32>
  %h = tosa.matmul %x, %w, %z, %z : (tensor<1x?x8xf32>, tensor<1x8x12xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x?x12xf32>
  %y = tosa.reshape %h, %back : (tensor<1x?x12xf32>, !tosa.shape<3>) -> tensor<?x5x12xf32>
  %a = tosa.argmax %y {axis = 0 : i32} : (tensor<?x5x12xf32>) -> tensor<5x12xi32>
  %u = tosa.reshape %y, %wide : (tensor<?x5x12xf32>, !tosa.shape<2>) -> tensor<?x60xf32>
  return %y, %a, %u : tensor<?x5x12xf32>, tensor<5x12xi32>, tensor<?x60xf32>
}
