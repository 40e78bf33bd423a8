// Parts of an argument are told apart wherever they begin, and by the argument.
// RUN: shard-opt --quiet --report=%t.json %s -o %t.mlir && tr -d ' \n' < %t.json | FileCheck %s
// CHECK: "arguments":[{"index":0,{{[^}]*}}"bytesPerDevice":32,"window":[0,0,4294967296]},{"index":0,{{[^}]*}}"bytesPerDevice":16,"window":[0,2147483648,4294967296]},{"index":1,{{[^}]*}}"bytesPerDevice":8},{"index":1,{{[^}]*}}"bytesPerDevice":4,"window":[0,4294967295,4294967296]}],
shard.grid @mesh(shape = 1) {spmd.axes = ["tp"]}
func.func @main(%a: tensor<8xf32> {spmd.arg = 0 : i64, spmd.name = "w", spmd.role = "weight", spmd.window = array<i64: 0, 0, 4294967296>},
                %b: tensor<4xf32> {spmd.arg = 0 : i64, spmd.name = "w", spmd.role = "weight", spmd.window = array<i64: 0, 2147483648, 4294967296>},
                %c: tensor<2xf32> {spmd.arg = 1 : i64, spmd.name = "v", spmd.role = "weight"},
                %d: tensor<1xf32> {spmd.arg = 1 : i64, spmd.name = "v", spmd.role = "weight", spmd.window = array<i64: 0, 4294967295, 4294967296>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
