// What exporters write for dimensions left open: shapes put together by tensor.from_elements, sizes divided out,
// slices clamped by arithmetic, tensor.dim inside of a body, asserts on dimensions, windows and loops. Each compiles once
// and runs with four sizes, the bound and small ones, each compared with the original compiled for that size alone.
// RUN: for layout in dp2 sp2 dp2,sp2; do shard-run %s --function=reshape --auto-shard=$layout --dim=*:0=..4 --dim=*:1=..6 --sizes=*:0=4,3,1,2 --sizes=*:1=6,5,1,3 --check --quiet || exit 1; done
// RUN: for layout in dp2 sp2; do shard-run %s --function=view --auto-shard=$layout --dim=*:0=..4 --dim=*:1=..6 --sizes=*:0=4,3,1,2 --sizes=*:1=6,5,1,3 --check --quiet || exit 1; done
// RUN: shard-run %s --function=slice --auto-shard=dp2 --dim=*:0=..4 --dim=*:1=2..6 --sizes=*:0=4,3,1,2 --sizes=*:1=6,5,2,3 --check --quiet
// RUN: shard-run %s --function=inside --auto-shard=dp2 --dim=*:0=..9 --sizes=*:0=9,8,3,1 --check --quiet
// RUN: shard-run %s --function=merge --auto-shard=dp3 --dim=*:0=..9 --sizes=*:0=9,8,3,1 --check --quiet
// RUN: shard-run %s --function=cat --auto-shard=dp2 --dim=*:1=..5 --sizes=0:1=5,4,3,1 --sizes=1:1=5,2,1,4 --check --quiet
// RUN: shard-run %s --function=cat_inserts --auto-shard=dp2 --dim=*:1=..5 --sizes=0:1=5,4,3,1 --sizes=1:1=5,2,1,4 --check --quiet
// RUN: shard-run %s --function=arange --auto-shard=dp2 --dim=*:0=..9 --sizes=*:0=9,8,3,1 --check --quiet
// RUN: for layout in dp2 sp3; do shard-run %s --function=conv --auto-shard=$layout --dim=0:2=..9 --sizes=0:2=9,8,3,1 --check --quiet || exit 1; done
// RUN: for layout in dp2 sp2; do shard-run %s --function=pool --auto-shard=$layout --dim=0:1=3..9 --sizes=0:1=9,8,3,4 --check --quiet || exit 1; done
// RUN: for layout in dp2 sp2; do shard-run %s --function=while --auto-shard=$layout --dim=*:0=..4 --dim=*:1=..9 --sizes=*:0=4,3,1,2 --sizes=*:1=9,8,1,3 --check --quiet || exit 1; done
// RUN: for layout in dp2 sp2; do shard-run %s --function=broadcast --auto-shard=$layout --dim=0:0=..4 --dim=0:1=..6 --dim=1:0=..6 --sizes=0:0=4,3,1,2 --sizes=0:1=6,5,1,3 --check --quiet || exit 1; done
// RUN: shard-run %s --function=gram --auto-shard=dp2 --dim=*:0=..5 --dim=*:1=..7 --sizes=*:0=5,4,3,1 --sizes=*:1=7,2,1,4 --check --quiet
// With fixed extents too.
// RUN: shard-run %s --function=reshape --auto-shard=dp2,sp2 --dim=*:0=3 --dim=*:1=5 --check --quiet
#id1 = affine_map<(i) -> (i)>
#id2 = affine_map<(i, j) -> (i, j)>
#id3 = affine_map<(i, j, k) -> (i, j, k)>
#id4 = affine_map<(i, j, k, l) -> (i, j, k, l)>
// view(b, s, 4, 2) and back, as tensor.reshape.
func.func @reshape(%x: tensor<?x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<?x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : i64
  %c2 = arith.constant 2 : i64
  %c8 = arith.constant 8 : i64
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %b64 = arith.index_cast %b : index to i64
  %s64 = arith.index_cast %s : index to i64
  %shape = tensor.from_elements %b64, %s64, %c4, %c2 : tensor<4xi64>
  %y = tensor.reshape %x(%shape) : (tensor<?x?x8xf32>, tensor<4xi64>) -> tensor<?x?x4x2xf32>
  %e = tensor.empty(%b, %s) : tensor<?x?x4x2xf32>
  %z = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<?x?x4x2xf32>) outs(%e : tensor<?x?x4x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x?x4x2xf32>
  %shape3 = tensor.from_elements %b64, %s64, %c8 : tensor<3xi64>
  %r = tensor.reshape %z(%shape3) : (tensor<?x?x4x2xf32>, tensor<3xi64>) -> tensor<?x?x8xf32>
  return %r : tensor<?x?x8xf32>
}
// view(-1, 8) and view(b, -1, 8), the size left over by division.
func.func @view(%x: tensor<?x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<?x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %bs = arith.muli %b, %s : index
  %all = arith.muli %bs, %c8 : index
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  %t = tensor.dim %c, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%t) : tensor<?x8xf32>
  %z = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x8xf32>
  %b8 = arith.muli %b, %c8 : index
  %s2 = arith.divsi %all, %b8 : index
  %r = tensor.expand_shape %z [[0, 1], [2]] output_shape [%b, %s2, 8] : tensor<?x8xf32> into tensor<?x?x8xf32>
  return %r : tensor<?x?x8xf32>
}
// x[:, 1:] and x[:, :-1], with all that clamps their ends.
func.func @slice(%x: tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z64 = arith.constant 0 : i64
  %o64 = arith.constant 1 : i64
  %m64 = arith.constant -1 : i64
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %s64 = arith.index_cast %s : index to i64
  %p = arith.addi %o64, %s64 : i64
  %n = arith.cmpi slt, %o64, %z64 : i64
  %q = arith.select %n, %p, %o64 : i64
  %n2 = arith.cmpi slt, %q, %z64 : i64
  %q2 = arith.select %n2, %z64, %q : i64
  %n3 = arith.cmpi sgt, %q2, %s64 : i64
  %q3 = arith.select %n3, %s64, %q2 : i64
  %start = arith.index_cast %q3 : i64 to index
  %gt = arith.cmpi sge, %s, %start : index
  %end = arith.select %gt, %s, %start : index
  %len = arith.subi %end, %start : index
  %len2 = arith.ceildivsi %len, %c1 : index
  %tail = tensor.extract_slice %x[0, %start, 0] [%b, %len2, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<?x?x8xf32>
  %e0 = arith.addi %m64, %s64 : i64
  %e1 = arith.cmpi slt, %m64, %z64 : i64
  %e2 = arith.select %e1, %e0, %m64 : i64
  %e3 = arith.cmpi slt, %e2, %z64 : i64
  %e4 = arith.select %e3, %z64, %e2 : i64
  %e5 = arith.cmpi sgt, %e4, %s64 : i64
  %e6 = arith.select %e5, %s64, %e4 : i64
  %e7 = arith.index_cast %e6 : i64 to index
  %e8 = arith.cmpi sge, %e7, %c0 : index
  %e9 = arith.select %e8, %e7, %c0 : index
  %l = arith.subi %e9, %c0 : index
  %head = tensor.extract_slice %x[0, 0, 0] [%b, %l, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<?x?x8xf32>
  return %tail, %head : tensor<?x?x8xf32>, tensor<?x?x8xf32>
}
// A body that reads an extent, as an index counted from the end does.
func.func @inside(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%s) : tensor<?x8xf32>
  %z = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %d = tensor.dim %x, %c0 : tensor<?x8xf32>
    %i = linalg.index 0 : index
    %k = arith.subi %d, %i : index
    %k32 = arith.index_cast %k : index to i32
    %f = arith.sitofp %k32 : i32 to f32
    %0 = arith.addf %a, %f : f32
    linalg.yield %0 : f32
  } -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}
// An open dimension merged with a fixed one.
func.func @merge(%x: tensor<?x4xf32>) -> tensor<?xf32> {
  %r = tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}
// A cache of keys and the new ones, as tensor.concat and as insertions into a tensor.empty.
func.func @cat(%x: tensor<2x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %y: tensor<2x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<2x?x4xf32> {
  %r = tensor.concat dim(1) %x, %y : (tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  return %r : tensor<2x?x4xf32>
}
func.func @cat_inserts(%x: tensor<2x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %y: tensor<2x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<2x?x4xf32> {
  %c1 = arith.constant 1 : index
  %a = tensor.dim %x, %c1 : tensor<2x?x4xf32>
  %b = tensor.dim %y, %c1 : tensor<2x?x4xf32>
  %n = arith.addi %a, %b : index
  %e = tensor.empty(%n) : tensor<2x?x4xf32>
  %0 = tensor.insert_slice %x into %e[0, 0, 0] [2, %a, 4] [1, 1, 1] : tensor<2x?x4xf32> into tensor<2x?x4xf32>
  %1 = tensor.insert_slice %y into %0[0, %a, 0] [2, %b, 4] [1, 1, 1] : tensor<2x?x4xf32> into tensor<2x?x4xf32>
  return %1 : tensor<2x?x4xf32>
}
// Positions counted from 0, and how many there are by arithmetic.
func.func @arange(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %z64 = arith.constant 0 : i64
  %o64 = arith.constant 1 : i64
  %s = tensor.dim %x, %c0 : tensor<?x4xf32>
  %s64 = arith.index_cast %s : index to i64
  %d = arith.subi %s64, %z64 : i64
  %l = arith.ceildivsi %d, %o64 : i64
  %li = arith.index_cast %l : i64 to index
  %e = tensor.empty(%li) : tensor<?xi64>
  %r = linalg.generic {indexing_maps = [#id1], iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %m = arith.muli %k, %o64 : i64
    %p = arith.addi %m, %z64 : i64
    linalg.yield %p : i64
  } -> tensor<?xi64>
  %ex = tensor.empty(%s) : tensor<?x4xf32>
  %y = linalg.generic {indexing_maps = [#id2, affine_map<(i, j) -> (i)>, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<?x4xf32>, tensor<?xi64>) outs(%ex : tensor<?x4xf32>) {
  ^bb0(%a: f32, %k: i64, %o: f32):
    %f = arith.sitofp %k : i64 to f32
    %0 = arith.addf %a, %f : f32
    linalg.yield %0 : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
// A convolution along the open dimension, padded by one on both sides.
func.func @conv(%x: tensor<2x3x?xf32> {spmd.role = "input", spmd.dims = ["batch", "", "sequence"]}, %w: tensor<4x3x3xf32>) -> tensor<2x4x?xf32> {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %s = tensor.dim %x, %c2 : tensor<2x3x?xf32>
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<2x3x?xf32> to tensor<2x3x?xf32>
  %e = tensor.empty(%s) : tensor<2x4x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %r = linalg.conv_1d_ncw_fcw {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>} ins(%p, %w : tensor<2x3x?xf32>, tensor<4x3x3xf32>) outs(%z : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  return %r : tensor<2x4x?xf32>
}
// A loop that carries an open value, until a counter that is carried beside it says stop.
func.func @while(%x: tensor<?x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<?x?x4xf32> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %b = tensor.dim %x, %i0 : tensor<?x?x4xf32>
  %s = tensor.dim %x, %i1 : tensor<?x?x4xf32>
  %r:2 = scf.while (%i = %c0, %v = %x) : (i64, tensor<?x?x4xf32>) -> (tensor<?x?x4xf32>, i64) {
    %go = arith.cmpi slt, %i, %c3 : i64
    scf.condition(%go) %v, %i : tensor<?x?x4xf32>, i64
  } do {
  ^bb0(%v: tensor<?x?x4xf32>, %i: i64):
    %e = tensor.empty(%b, %s) : tensor<?x?x4xf32>
    %w = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<?x?x4xf32>) outs(%e : tensor<?x?x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    } -> tensor<?x?x4xf32>
    %n = arith.addi %i, %c1 : i64
    scf.yield %n, %w : i64, tensor<?x?x4xf32>
  }
  return %r#0 : tensor<?x?x4xf32>
}
// What tells that a row fits is an assertion on dimensions.
func.func @broadcast(%x: tensor<?x?x4xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %y: tensor<?x4xf32> {spmd.role = "input", spmd.dims = ["sequence", ""]}) -> tensor<?x?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %b = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %t = tensor.dim %y, %c0 : tensor<?x4xf32>
  %eq = arith.cmpi eq, %s, %t : index
  cf.assert %eq, "mismatched size for broadcast"
  %e = tensor.empty(%b, %s) : tensor<?x?x4xf32>
  %z = linalg.generic {indexing_maps = [#id3, affine_map<(i, j, k) -> (j, k)>, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %y : tensor<?x?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x?x4xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.addf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<?x?x4xf32>
  return %z : tensor<?x?x4xf32>
}
// The largest of three steps.
func.func @pool(%x: tensor<2x?x3xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<2x?x3xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %low = arith.constant 0xFF800000 : f32
  %s = tensor.dim %x, %c1 : tensor<2x?x3xf32>
  %m = arith.subi %s, %c2 : index
  %w = tensor.empty() : tensor<3xf32>
  %e = tensor.empty(%m) : tensor<2x?x3xf32>
  %z = linalg.fill ins(%low : f32) outs(%e : tensor<2x?x3xf32>) -> tensor<2x?x3xf32>
  %r = linalg.pooling_nwc_max {dilations = dense<1> : vector<1xi64>, strides = dense<1> : vector<1xi64>} ins(%x, %w : tensor<2x?x3xf32>, tensor<3xf32>) outs(%z : tensor<2x?x3xf32>) -> tensor<2x?x3xf32>
  return %r : tensor<2x?x3xf32>
}
// Two open dimensions of one argument, one of them contracted.
func.func @gram(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%b, %b) : tensor<?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
