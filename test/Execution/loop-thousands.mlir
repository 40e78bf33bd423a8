// A loop of thousands of steps: its collectives stand in the tables once, with how often they are called.
// RUN: shard-opt %s --auto-shard=tp2 --quiet -o %t.mlir --report=%t.json --report=%t.txt
// RUN: FileCheck %s < %t.mlir && FileCheck %s --check-prefix=JSON < %t.json && FileCheck %s --check-prefix=TEXT < %t.txt
// RUN: shard-opt %s --auto-shard=tp2 --quiet -o /dev/null --explain 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: shard-run %t.mlir --check=%s | FileCheck %s --check-prefix=RAN
// RUN: shard-opt %s --auto-shard=tp2 --quiet -o /dev/null --max-comm-bytes=1280256
// RUN: not shard-opt %s --auto-shard=tp2 --quiet -o /dev/null --max-comm-bytes=1280255
// Ten thousand million steps are counted, not walked.
// RUN: sed 's/constant 5000 /constant 10000000000 /' %s > %t.long.mlir && shard-opt %t.long.mlir --auto-shard=tp2 --quiet -o /dev/null --report=%t.long.txt && FileCheck %s --check-prefix=LONG < %t.long.txt
// CHECK: spmd.sites = [{
// CHECK-SAME: calls = [{op = "linalg.matmul at {{[^"]*}}", stage = 0 : i64, times = 5000 : i64}]
// CHECK-SAME: calls = [{op = "scf.for at {{[^"]*}}", stage = 0 : i64}]
// JSON:      "count": 5000,
// JSON:      "calls": [
// JSON-NEXT:   {
// JSON-NEXT:     "stage": 0,
// JSON-NEXT:     "layer": null,
// JSON-NEXT:     "op": "linalg.matmul at
// JSON-NEXT:     "times": 5000
// JSON-NEXT:   }
// JSON-NEXT: ]
// TEXT: stage 0: 1 unit, 10.2 Mflop
// TEXT: collectives: 1250 KiB
// TEXT-NEXT: reduce-scatter tp {{ *}}x 5000
// EXPLAIN: site 0: reduce-scatter over tp, 256 bytes x 5000 calls
// EXPLAIN: call: {{ *}}linalg.matmul at {{.*}}, 5000 times
// RAN: result 0
// RAN: sent by a rank, mean, an iteration: all-gather 256 B, reduce-scatter 1.2 MiB
// LONG: reduce-scatter tp {{ *}}x 10000000000
func.func @main(%x: tensor<8x16xf32> {spmd.sharding = [[], ["tp"]]}, %w: tensor<16x16xf32> {spmd.role = "weight", spmd.sharding = [["tp"], []]}) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 5000 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<8x16xf32>) {
    %e = tensor.empty() : tensor<8x16xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %m = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
    %t = math.tanh %m : tensor<8x16xf32>
    scf.yield %t : tensor<8x16xf32>
  }
  return %r : tensor<8x16xf32>
}
