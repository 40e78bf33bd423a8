// Numbers among a model's arguments and results, as exporters write lengths, factors and losses: every rank has them.
// RUN: shard-run %s --function=factors --auto-shard=dp2,tp2 --check | FileCheck %s --check-prefix=FACTORS
// RUN: shard-run %s --function=branch --auto-shard=sp2 --check | FileCheck %s --check-prefix=BRANCH
// RUN: shard-run %s --function=branch --auto-shard=sp4 --check | FileCheck %s --check-prefix=BRANCH
// RUN: shard-opt %s --shard-import=function=branch | FileCheck %s --check-prefix=IMPORT
// FACTORS: ranks: 4 (dp 2 x tp 2)
// FACTORS: result 0 6x24xf32 against the unsharded program:
// BRANCH: result 0 6x16xf32 against the unsharded program: equal
// BRANCH: result 1 f32 against the unsharded program: equal
// BRANCH: result 2 i64 against the unsharded program: equal
// IMPORT: func.func @branch(%{{.*}}: tensor<6x16xf32> {{.*}}, %[[FLAG:.*]]: tensor<i1> {{.*}}, %{{.*}}: tensor<index> {{.*}}, %{{.*}}: tensor<i64>
// IMPORT-SAME: {{.*}}-> (tensor<6x16xf32>, tensor<f32>, tensor<index>)
// IMPORT: tensor.extract %[[FLAG]][] : tensor<i1>
func.func @factors(%x: tensor<6x16xf32>, %w: tensor<16x24xf32>, %alpha: f32, %n: i64) -> tensor<6x24xf32> {
  %z = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<6x24xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<6x24xf32>) -> tensor<6x24xf32>
  %u = linalg.matmul ins(%x, %w : tensor<6x16xf32>, tensor<16x24xf32>) outs(%f1 : tensor<6x24xf32>) -> tensor<6x24xf32>
  %nf = arith.sitofp %n : i64 to f32
  %g = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<6x24xf32>) outs(%e1 : tensor<6x24xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %alpha : f32
    %p = arith.addf %m, %nf : f32
    linalg.yield %p : f32
  } -> tensor<6x24xf32>
  return %g : tensor<6x24xf32>
}
func.func @branch(%x: tensor<6x16xf32>, %flag: i1, %k: index, %n: i64, %h: bf16) -> (tensor<6x16xf32>, f32, index) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %r = scf.if %flag -> tensor<6x16xf32> {
    %e = tensor.empty() : tensor<6x16xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x16xf32>) outs(%e : tensor<6x16xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 1 : index
      %c = arith.cmpi slt, %i, %k : index
      %nf = arith.sitofp %n : i64 to f32
      %m = arith.mulf %a, %nf : f32
      %s = arith.select %c, %m, %a : f32
      linalg.yield %s : f32
    } -> tensor<6x16xf32>
    scf.yield %g : tensor<6x16xf32>
  } else {
    scf.yield %x : tensor<6x16xf32>
  }
  %f = arith.extf %h : bf16 to f32
  %q = arith.addf %f, %z : f32
  %k2 = arith.addi %k, %c0 : index
  return %r, %q, %k2 : tensor<6x16xf32>, f32, index
}
