// Six heads of 64 in four blocks of 96: as 2 x 3 heads over tp.0 and tp.1 only half-heads move, to a
// neighbour and back; whole heads over four ranks would be 2, 2, 2, 0 and move three times as much.
// Two heads in eight blocks need no cut, only the axis in parts. Eight in four blocks need neither,
// and an annotation that names parts of the axis is left as it is.
// RUN: shard-opt %s --auto-shard=tp4 --stop-after=shard-plan | FileCheck %s --check-prefix=CUT
// RUN: shard-opt %s --auto-shard=tp4 | FileCheck %s --check-prefix=MOVE
// RUN: shard-run %s --auto-shard=tp4 --check
// RUN: shard-run %s --auto-shard=tp8 --check
// RUN: sed 's/384/128/g; s/x6x/x2x/g; s/, 6,/, 2,/g' %s > %t.two.mlir
// RUN: shard-opt %t.two.mlir --auto-shard=tp8 --stop-after=shard-plan | FileCheck %s --check-prefix=TWO
// RUN: shard-run %t.two.mlir --auto-shard=tp8 --check
// RUN: sed 's/384/512/g; s/x6x/x8x/g; s/, 6,/, 8,/g' %s > %t.eight.mlir
// RUN: shard-opt %t.eight.mlir --auto-shard=tp4 --stop-after=shard-plan | FileCheck %s --check-prefix=NONE
// CUT: shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp.0", "tp.1"]}
// CUT: tensor.expand_shape {{.*}} {spmd.cut = [array<i64: 0, 1, 2>]}
// MOVE: shard.send {{.*}} tensor<4x1x32xf32>
// MOVE: linalg.generic
// MOVE: shard.send {{.*}} tensor<4x1x32xf32>
// MOVE-NOT: spmd.cut
// TWO: shard.grid @mesh(shape = 2x4) {spmd.axes = ["tp.0", "tp.1"]}
// TWO-NOT: spmd.cut
// NONE: shard.grid @mesh(shape = 4) {spmd.axes = ["tp"]}
// NONE-NOT: spmd.cut
#in = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%x: tensor<4x384xf32> {spmd.sharding = [[], ["tp"]]}) -> (tensor<4x384xf32> {spmd.sharding = [[], ["tp"]]}) {
  %heads = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 6, 64] : tensor<4x384xf32> into tensor<4x6x64xf32>
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %init = linalg.fill ins(%low : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %largest = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%heads : tensor<4x6x64xf32>) outs(%init : tensor<4x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<4x6xf32>
  %w = tensor.empty() : tensor<4x6x64xf32>
  %below = linalg.generic {indexing_maps = [#in, #out, #in], iterator_types = ["parallel", "parallel", "parallel"]} ins(%heads, %largest : tensor<4x6x64xf32>, tensor<4x6xf32>) outs(%w : tensor<4x6x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<4x6x64xf32>
  %result = tensor.collapse_shape %below [[0], [1, 2]] : tensor<4x6x64xf32> into tensor<4x384xf32>
  return %result : tensor<4x384xf32>
}
