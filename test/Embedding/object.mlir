// An object file links with a C program and the runtime alone, and runs on threads and on processes:
// columns of the weight split, rows over dp as well, and sizes that do not divide.
// RUN: rm -rf %t && mkdir -p %t
// RUN: for degrees in tp2 dp2,tp2 tp4 dp3; do \
// RUN:   shard-opt %s --auto-shard=$degrees --emit=object --quiet -o %t/p.o && \
// RUN:   %cc -std=c11 %sanitize-flags -I%shard-source/include %S/Inputs/run-object.c %t/p.o -L%shard-lib -lShardRuntime -lm -lpthread -Wl,-rpath,%shard-lib -o %t/run && \
// RUN:   %t/run && %t/run isolated || exit 1; done | FileCheck %s
// shard-run takes the shared object only, and says so.
// RUN: not shard-run %t/p.o 2>&1 | FileCheck %s --check-prefix=OBJECT
// OBJECT: shard-run: error: '{{.*}}p.o': an object is not loaded; expected what --emit=shared writes{{$}}
// CHECK:      2 ranks: status 0
// CHECK-NEXT: 2 ranks: status 0
// CHECK-NEXT: 4 ranks: status 0
// CHECK-NEXT: 4 ranks: status 0
// CHECK-NEXT: 4 ranks: status 0
// CHECK-NEXT: 4 ranks: status 0
// CHECK-NEXT: 3 ranks: status 0
// CHECK-NEXT: 3 ranks: status 0
func.func @main(%x: tensor<4x8xf32> {spmd.role = "input"}, %w: tensor<8x6xf32> {spmd.role = "weight"}) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
