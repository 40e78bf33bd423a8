// Functions of one op or idea each, whose dimensions `?` are left open up to a bound: one compilation, then four sizes,
// even and not, the bound and 1, each compared with the original compiled for that size alone.
// RUN: shard-run %s --function=attention --auto-shard=sp2 --dim=*:1=..12 --sizes=0:1=12,7,8,1 --check --quiet
// RUN: shard-run %s --function=attention --auto-shard=dp2,sp3 --dim=*:1=..12 --sizes=0:1=12,7,8,1 --check --quiet
// RUN: shard-run %s --function=norm --auto-shard=dp2,sp2 --dim=0:1=..12 --sizes=0:1=12,7,8,1 --check --quiet
// RUN: shard-run %s --function=reductions --auto-shard=dp4 --dim=*:0=..8 --sizes=*:0=8,6,3,1 --check --quiet
// RUN: shard-run %s --function=reductions --auto-shard=dp3 --dim=*:0=..8 --sizes=*:0=8,6,3,1 --check --quiet
// RUN: shard-run %s --function=last --auto-shard=sp2 --dim=0:1=2..12 --sizes=0:1=12,7,8,2 --check --quiet
// RUN: shard-run %s --function=cache --auto-shard=sp2 --dim=0:2=..7 --dim=2:2=..5 --sizes=0:2=7,3,1,4 --sizes=2:2=5,1,2,4 --check --quiet
// RUN: shard-run %s --function=cache --auto-shard=dp2 --dim=0:2=..7 --dim=2:2=..5 --sizes=0:2=7,3,1,4 --sizes=2:2=5,1,2,4 --check --quiet
// RUN: shard-run %s --function=place --auto-shard=sp2 --dim=1:1=..10 --sizes=1:1=10,7,1,4 --check --quiet
// RUN: shard-run %s --function=merged --auto-shard=dp2,sp2 --dim=0:0=..4 --dim=0:1=..5 --sizes=0:0=4,3,1,2 --sizes=0:1=5,2,3,1 --check --quiet
// RUN: shard-run %s --function=merged --auto-shard=tp2 --dim=0:0=..4 --dim=0:1=..5 --sizes=0:0=4,3,1,2 --sizes=0:1=5,2,3,1 --check --quiet
// RUN: shard-run %s --function=control --auto-shard=dp2 --dim=0:0=..8 --sizes=0:0=8,3,1,5 --check --quiet
// RUN: shard-run %s --function=control --auto-shard=pp2 --dim=0:0=..8 --sizes=0:0=8,3,1,5 --check --quiet
// RUN: shard-run %s --function=traps --auto-shard=dp3 --dim=0:0=..8 --sizes=0:0=8,3,1,5 --check --quiet
// RUN: shard-run %s --function=clamped --auto-shard=dp2 --dim=0:0=2..8 --sizes=0:0=8,6,3,2 --check --quiet
// RUN: shard-run %s --function=backwards --auto-shard=dp3 --dim=0:0=..8 --sizes=0:0=8,6,3,1 --check --quiet
#id1 = affine_map<(i) -> (i)>
#id2 = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#tr = affine_map<(i, j) -> (j, i)>

// Attention with a causal mask from positions, over an open sequence.
func.func @attention(%q: tensor<2x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %k: tensor<2x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}, %v: tensor<2x?x8xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> tensor<2x?x8xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %s = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %es = tensor.empty(%s, %s) : tensor<2x?x?xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %scores = linalg.generic {indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%zs : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x?x?xf32>
  %masked = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scores : tensor<2x?x?xf32>) outs(%es : tensor<2x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %0 = arith.cmpi ule, %j, %i : index
    %1 = arith.select %0, %a, %low : f32
    linalg.yield %1 : f32
  } -> tensor<2x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%masked : tensor<2x?x?xf32>) outs(%es : tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %e = tensor.empty(%s) : tensor<2x?x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<2x?x?xf32>, tensor<2x?x8xf32>) outs(%z : tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// Normalisation along the open dimension: mean, variance, and what divides is a number of the run.
func.func @norm(%x: tensor<6x?xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence"]}) -> tensor<6x?xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %n = tensor.dim %x, %c1 : tensor<6x?xf32>
  %ni = arith.index_cast %n : index to i32
  %nf = arith.sitofp %ni : i32 to f32
  %e6 = tensor.empty() : tensor<6xf32>
  %z6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x?xf32>) outs(%z6 : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<6xf32>
  %e = tensor.empty(%n) : tensor<6x?xf32>
  %d = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<6x?xf32>, tensor<6xf32>) outs(%e : tensor<6x?xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.divf %m, %nf : f32
    %1 = arith.subf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x?xf32>
  %sq = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]} ins(%d : tensor<6x?xf32>) outs(%z6 : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %o : f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  %y = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]} ins(%d, %sq : tensor<6x?xf32>, tensor<6xf32>) outs(%e : tensor<6x?xf32>) {
  ^bb0(%a: f32, %v: f32, %o: f32):
    %0 = arith.divf %v, %nf : f32
    %1 = arith.addf %0, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<6x?xf32>
  return %y : tensor<6x?xf32>
}

// The largest, and where it stands; sums, products, and, or of whole numbers.
func.func @reductions(%x: tensor<?x6xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}, %i: tensor<?x6xi64> {spmd.role = "input", spmd.dims = ["batch", ""]}) -> (tensor<6xf32>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %i0 = arith.constant 0 : i64
  %i1 = arith.constant 1 : i64
  %im1 = arith.constant -1 : i64
  %ilow = arith.constant -9223372036854775808 : i64
  %e = tensor.empty() : tensor<6xf32>
  %ei = tensor.empty() : tensor<6xi64>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %z = linalg.fill ins(%i0 : i64) outs(%ei : tensor<6xi64>) -> tensor<6xi64>
  %o = linalg.fill ins(%i1 : i64) outs(%ei : tensor<6xi64>) -> tensor<6xi64>
  %a = linalg.fill ins(%im1 : i64) outs(%ei : tensor<6xi64>) -> tensor<6xi64>
  %l = linalg.fill ins(%ilow : i64) outs(%ei : tensor<6xi64>) -> tensor<6xi64>
  %m:2 = linalg.generic {indexing_maps = [#tr, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x6xf32>) outs(%f, %z : tensor<6xf32>, tensor<6xi64>) {
  ^bb0(%in: f32, %acc: f32, %at: i64):
    %p = linalg.index 1 : index
    %p64 = arith.index_cast %p : index to i64
    %g = arith.cmpf ogt, %in, %acc : f32
    %v = arith.select %g, %in, %acc : f32
    %w = arith.select %g, %p64, %at : i64
    linalg.yield %v, %w : f32, i64
  } -> (tensor<6xf32>, tensor<6xi64>)
  %s = linalg.generic {indexing_maps = [#tr, #row], iterator_types = ["parallel", "reduction"]} ins(%i : tensor<?x6xi64>) outs(%z : tensor<6xi64>) {
  ^bb0(%in: i64, %acc: i64):
    %0 = arith.addi %in, %acc : i64
    linalg.yield %0 : i64
  } -> tensor<6xi64>
  %mx = linalg.reduce ins(%i : tensor<?x6xi64>) outs(%l : tensor<6xi64>) dimensions = [0] (%in: i64, %acc: i64) {
    %0 = arith.maxsi %in, %acc : i64
    linalg.yield %0 : i64
  }
  %an = linalg.reduce { arith.andi } ins(%i : tensor<?x6xi64>) outs(%a : tensor<6xi64>) dimensions = [0]
  %odd = linalg.generic {indexing_maps = [#tr, #row], iterator_types = ["parallel", "reduction"]} ins(%i : tensor<?x6xi64>) outs(%o : tensor<6xi64>) {
  ^bb0(%in: i64, %acc: i64):
    %0 = arith.ori %in, %i1 : i64
    %1 = arith.muli %0, %acc : i64
    linalg.yield %1 : i64
  } -> tensor<6xi64>
  return %m#0, %m#1, %s, %mx, %an, %odd : tensor<6xf32>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>
}

// The last row of an open sequence, and what lies behind the first.
func.func @last(%x: tensor<2x?x6xf32> {spmd.role = "input", spmd.dims = ["batch", "sequence", ""]}) -> (tensor<2x6xf32>, tensor<2x?x6xf32>) {
  %c1 = arith.constant 1 : index
  %s = tensor.dim %x, %c1 : tensor<2x?x6xf32>
  %l = arith.subi %s, %c1 : index
  %y = tensor.extract_slice %x[0, %l, 0] [2, 1, 6] [1, 1, 1] : tensor<2x?x6xf32> to tensor<2x6xf32>
  %z = tensor.extract_slice %x[0, 1, 0] [2, %l, 6] [1, 1, 1] : tensor<2x?x6xf32> to tensor<2x?x6xf32>
  return %y, %z : tensor<2x6xf32>, tensor<2x?x6xf32>
}

// A cache grows by a step: what is new stands where the old ends.
func.func @cache(%past: tensor<2x4x?x6xf32> {spmd.role = "input"}, %new: tensor<2x4x1x6xf32> {spmd.role = "input"}, %more: tensor<2x4x?x6xf32> {spmd.role = "input"}) -> (tensor<2x4x?x6xf32>, tensor<2x4x?x6xf32>, tensor<2x4x6xf32>) {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %0 = tensor.concat dim(2) %past, %new : (tensor<2x4x?x6xf32>, tensor<2x4x1x6xf32>) -> tensor<2x4x?x6xf32>
  %1 = tensor.concat dim(2) %more, %past, %new : (tensor<2x4x?x6xf32>, tensor<2x4x?x6xf32>, tensor<2x4x1x6xf32>) -> tensor<2x4x?x6xf32>
  %e = tensor.empty() : tensor<2x4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %s = linalg.reduce { arith.addf } ins(%1 : tensor<2x4x?x6xf32>) outs(%z : tensor<2x4x6xf32>) dimensions = [2]
  return %0, %1, %s : tensor<2x4x?x6xf32>, tensor<2x4x?x6xf32>, tensor<2x4x6xf32>
}

// New rows are written into a cache of fixed size, or padded on both sides.
func.func @place(%c: tensor<2x16x6xf32> {spmd.role = "input"}, %new: tensor<2x?x6xf32> {spmd.role = "input"}) -> (tensor<2x16x6xf32>, tensor<2x?x6xf32>, tensor<2x6xf32>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s = tensor.dim %new, %c1 : tensor<2x?x6xf32>
  %0 = tensor.insert_slice %new into %c[0, 3, 0] [2, %s, 6] [1, 1, 1] : tensor<2x?x6xf32> into tensor<2x16x6xf32>
  %1 = tensor.pad %new low[0, 1, 0] high[0, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %one : f32
  } : tensor<2x?x6xf32> to tensor<2x?x6xf32>
  %e = tensor.empty() : tensor<2x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6xf32>) -> tensor<2x6xf32>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<2x?x6xf32>) outs(%z : tensor<2x6xf32>) dimensions = [1]
  return %0, %1, %2 : tensor<2x16x6xf32>, tensor<2x?x6xf32>, tensor<2x6xf32>
}

// Two open dimensions that are one for a while: numbers of its steps are those of the shape.
func.func @merged(%x: tensor<?x?x4xf32> {spmd.role = "input"}, %w: tensor<4x6xf32>) -> (tensor<?x?x6xf32>, tensor<?xi64>, tensor<i64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %i0 = arith.constant 0 : i64
  %b = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4xf32> into tensor<?x4xf32>
  %n = arith.muli %b, %s : index
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %m = linalg.matmul ins(%flat, %w : tensor<?x4xf32>, tensor<4x6xf32>) outs(%z : tensor<?x6xf32>) -> tensor<?x6xf32>
  %y = tensor.expand_shape %m [[0, 1], [2]] output_shape [%b, %s, 6] : tensor<?x6xf32> into tensor<?x?x6xf32>
  %n2 = tensor.dim %flat, %c0 : tensor<?x4xf32>
  %ei = tensor.empty(%n2) : tensor<?xi64>
  %iota = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, #row], iterator_types = ["parallel", "reduction"]} ins(%flat : tensor<?x4xf32>) outs(%ei : tensor<?xi64>) {
  ^bb0(%a: f32, %o: i64):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i64
    linalg.yield %0 : i64
  } -> tensor<?xi64>
  %es = tensor.empty() : tensor<i64>
  %zs = linalg.fill ins(%i0 : i64) outs(%es : tensor<i64>) -> tensor<i64>
  %sum = linalg.reduce { arith.addi } ins(%iota : tensor<?xi64>) outs(%zs : tensor<i64>) dimensions = [0]
  return %y, %iota, %sum : tensor<?x?x6xf32>, tensor<?xi64>, tensor<i64>
}

// A function that is called, a loop over the open dimension, a branch on it.
func.func private @scale(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %ni = arith.index_cast %n : index to i32
  %nf = arith.sitofp %ni : i32 to f32
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.mulf %a, %nf : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
func.func @control(%x: tensor<?x4xf32> {spmd.role = "input"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %0 = func.call @scale(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %loop = scf.for %i = %c0 to %d step %c1 iter_args(%acc = %0) -> (tensor<?x4xf32>) {
    %n = arith.addf %acc, %x : tensor<?x4xf32>
    scf.yield %n : tensor<?x4xf32>
  }
  %more = arith.cmpi sgt, %d, %c3 : index
  %if = scf.if %more -> (tensor<?x4xf32>) {
    scf.yield %loop : tensor<?x4xf32>
  } else {
    scf.yield %x : tensor<?x4xf32>
  }
  return %0, %loop, %if : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// What may fail on padding: a table read by data, whole numbers that are divided, an assertion.
func.func @traps(%ids: tensor<?xi64> {spmd.role = "input"}, %table: tensor<10x4xf32>) -> (tensor<?x4xf32>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %i0 = arith.constant 0 : i64
  %i10 = arith.constant 10 : i64
  %i100 = arith.constant 100 : i64
  %i1 = arith.constant 1 : i64
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [#row, #id2], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<?xi64>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: i64, %o: f32):
    %ok = arith.cmpi slt, %a, %i10 : i64
    cf.assert %ok, "index must be smaller than dim size"
    %i = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<10x4xf32>
    linalg.yield %v : f32
  } -> tensor<?x4xf32>
  %ei = tensor.empty(%n) : tensor<?xi64>
  %1 = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]} ins(%ids : tensor<?xi64>) outs(%ei : tensor<?xi64>) {
  ^bb0(%a: i64, %o: i64):
    %b = arith.addi %a, %i1 : i64
    %q = arith.divsi %i100, %b : i64
    linalg.yield %q : i64
  } -> tensor<?xi64>
  return %0, %1 : tensor<?x4xf32>, tensor<?xi64>
}
// A slice as torch-mlir spells it: bounds made positive and kept inside, which extents decide.
func.func @clamped(%x: tensor<?x4xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cm2 = arith.constant -2 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %neg = arith.cmpi slt, %cm2, %c0 : index
  %sum = arith.addi %d, %cm2 : index
  %b = arith.select %neg, %sum, %cm2 : index
  %low = arith.cmpi slt, %b, %c0 : index
  %b0 = arith.select %low, %c0, %b : index
  %high = arith.cmpi sgt, %b0, %d : index
  %b1 = arith.select %high, %d, %b0 : index
  %n = arith.subi %d, %b1 : index
  %n0 = arith.maxsi %n, %c0 : index
  %y = tensor.extract_slice %x[%b1, 0] [%n0, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  %g = tensor.generate %d {
  ^bb0(%i: index, %j: index):
    %r = arith.subi %d, %i : index
    %r64 = arith.index_cast %r : index to i64
    %f = arith.sitofp %r64 : i64 to f32
    tensor.yield %f : f32
  } : tensor<?x4xf32>
  return %y, %g : tensor<?x4xf32>, tensor<?x4xf32>
}
// Rows read from the end by numbers of the run; a table of whole numbers that count to the extent.
func.func @backwards(%x: tensor<?x4xf32> {spmd.role = "input", spmd.dims = ["batch", ""]}) -> (tensor<?x4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%d) : tensor<?x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %l = arith.subi %d, %c1 : index
    %k = arith.subi %l, %i : index
    %v = tensor.extract %x[%k, %j] : tensor<?x4xf32>
    linalg.yield %v : f32
  } -> tensor<?x4xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%y : tensor<?x4xf32>) outs(%z4 : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %i64 = arith.index_cast %i : index to i64
    %f = arith.sitofp %i64 : i64 to f32
    %0 = arith.mulf %a, %f : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %y, %s : tensor<?x4xf32>, tensor<4xf32>
}
