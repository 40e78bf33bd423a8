// A step of a loop that replaces a row of the table it carries does so in place: the row's 32 bytes are copied, the
// table's 20480 never.
// RUN: shard-opt --auto-shard=tp1 --quiet %s --emit=llvm -o %t.ll
// RUN: FileCheck %s < %t.ll
// CHECK-NOT: memcpy{{.*}}dereferenceable(20480)
// CHECK:     memcpy{{.*}}dereferenceable(32)
// CHECK-NOT: memcpy{{.*}}dereferenceable(20480)
// RUN: shard-run --auto-shard=tp2 --check %s
func.func @main(%rows: tensor<7x8xf32>, %ids: tensor<7xi64>) -> tensor<640x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %empty = tensor.empty() : tensor<640x8xf32>
  %table = linalg.fill ins(%zero : f32) outs(%empty : tensor<640x8xf32>) -> tensor<640x8xf32>
  %0 = scf.for %k = %c0 to %c7 step %c1 iter_args(%t = %table) -> (tensor<640x8xf32>) {
    %id64 = tensor.extract %ids[%k] : tensor<7xi64>
    %id = arith.index_cast %id64 : i64 to index
    %row = tensor.extract_slice %rows[%k, 0] [1, 8] [1, 1] : tensor<7x8xf32> to tensor<1x8xf32>
    %next = tensor.insert_slice %row into %t[%id, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<640x8xf32>
    scf.yield %next : tensor<640x8xf32>
  }
  return %0 : tensor<640x8xf32>
}
