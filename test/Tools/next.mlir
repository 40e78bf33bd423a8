// The command that a summary ends in works as it stands: of two functions the one that was compiled,
// with the rule of its own op, at the extent that was given or up to the bound.
// RUN: echo 'my.scale @scale : (row column, column) -> (row column)' > %t.rules
// RUN: shard-opt %s --function=second --rules=%t.rules --dim=*:0=6 --auto-shard=tp2 -o %t.mlir 2>&1 | sed -n 's/^next: //p' > %t.sh
// RUN: FileCheck %s --check-prefix=NEXT < %t.sh
// RUN: sh -e %t.sh | FileCheck %s
// NEXT: shard-run {{.*}}.mlir --check={{.*}}next.mlir --function=second --rules={{.*}}.rules '--dim=*:0=6'{{$}}
// CHECK: result 0 6x24xf32 against the unsharded program: equal
// RUN: shard-opt %s --function=first --rules=%t.rules --dim=*:0=..5 --auto-shard=tp2 --emit=shared -o %t.so 2>&1 | sed -n 's/^next: //p' > %t.sh
// RUN: sh -e %t.sh | FileCheck %s --check-prefix=BOUND
// BOUND: result 0 5x24xf32 against the unsharded program: equal
func.func @first(%x: tensor<?x16xf32>, %w: tensor<16x24xf32>) -> tensor<?x24xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x16xf32>
  %0 = tensor.empty(%rows) : tensor<?x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x24xf32>) -> tensor<?x24xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<?x16xf32>, tensor<16x24xf32>) outs(%1 : tensor<?x24xf32>) -> tensor<?x24xf32>
  return %2 : tensor<?x24xf32>
}
func.func @second(%x: tensor<?x16xf32>, %w: tensor<16x24xf32>, %g: tensor<24xf32>) -> tensor<?x24xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x16xf32>
  %0 = tensor.empty(%rows) : tensor<?x24xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x24xf32>) -> tensor<?x24xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<?x16xf32>, tensor<16x24xf32>) outs(%1 : tensor<?x24xf32>) -> tensor<?x24xf32>
  %3 = "my.scale"(%2, %g) : (tensor<?x24xf32>, tensor<24xf32>) -> tensor<?x24xf32>
  return %3 : tensor<?x24xf32>
}
func.func private @scale(%x: tensor<?x?xf32>, %g: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
       ins(%x, %g : tensor<?x?xf32>, tensor<?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %product = arith.mulf %a, %b : f32
    linalg.yield %product : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
