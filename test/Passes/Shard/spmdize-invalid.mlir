// RUN: shard-opt %s --split-input-file --verify-diagnostics --shard-spmdize

// expected-error @below {{the module has no mesh}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{the module has two public functions}}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{the module has no public function}}
module {
  shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
  func.func private @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{mesh '@mesh' has no axis 'xp'; its axes are 'tp'}}
func.func @main(%x: tensor<4xf32> {spmd.sharding = [["xp"]]}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{dimension 0 of 1 cannot be split}}
func.func @main(%x: tensor<1xf32> {spmd.sharding = [["tp"]]}) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}

// -----

// Uneven is fine: three rows on one rank, two on the other.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<5xf32> {spmd.sharding = [["tp"]]}) -> (tensor<5xf32> {spmd.sharding = [["tp"]]}) {
  return %x : tensor<5xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{a sharding names axis 'tp' twice}}
func.func @main(%x: tensor<4x6xf32> {spmd.sharding = [["tp"], ["tp"]]}) -> tensor<4x6xf32> {
  return %x : tensor<4x6xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{'spmd.sharding' has 1 entries for 2 dimensions}}
func.func @main(%x: tensor<4x6xf32> {spmd.sharding = [["tp"]]}) -> tensor<4x6xf32> {
  return %x : tensor<4x6xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{the view cuts dimension 0 of 12 at 3, where no operation does}}
func.func @main(%x: tensor<12xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 3, 4>}) -> tensor<4x3xf32> {
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [4, 3] : tensor<12xf32> into tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// A view that no operation speaks against.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<12xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 3, 4>}) -> tensor<12xf32> {
  return %x : tensor<12xf32>
}

// -----

// The nearest right view: an operation sees the dimension so.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<12xf32> {spmd.sharding = [[], ["tp"]], spmd.view = array<i64: 3, 4>}) -> tensor<3x4xf32> {
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [3, 4] {spmd.sharding = [[[], ["tp"]]]} : tensor<12xf32> into tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{result is a partial sum over axis 'tp', but no operand is one that this op passes on and no loop is split over it}}
  %0 = math.exp %x {spmd.sharding = [[[]]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4x8xf32> {spmd.sharding = [[], ["tp"]]}, %m: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{result is annotated as a partial sum over axis 'tp', but is a max}}
  %0 = linalg.reduce {arith.maximumf} ins(%x : tensor<4x8xf32>) outs(%m : tensor<4xf32>) dimensions = [1] {spmd.sharding = [[[]]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]}
  return %0 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'spmd.partial' has the unknown kind 'mean'; the kinds are sum, max, min, product, and, or}}
  %0 = math.exp %x {spmd.sharding = [[[]]], spmd.partial = [[{axes = ["tp"], kind = "mean"}]]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["pp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'spmd.stage' is not between 0 and 1}}
  %0 = math.exp %x {spmd.sharding = [[[]]], spmd.stage = 2 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["pp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {spmd.sharding = [[[]]], spmd.stage = 1 : i64} : tensor<4xf32>
  // expected-error @below {{op of stage 0 uses a value of stage 1}}
  %1 = math.exp %0 {spmd.sharding = [[[]]], spmd.stage = 0 : i64} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["pp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %0 = math.exp %x {spmd.sharding = [[[]]], spmd.stage = 0 : i64} : tensor<4xf32>
  %s = tensor.extract %0[%c0] {spmd.stage = 0 : i64} : tensor<4xf32>
  %p = arith.cmpf ogt, %s, %s : f32
  %t = scf.if %p -> f32 {
    scf.yield %s : f32
  } else {
    %u = arith.mulf %s, %s : f32
    scf.yield %u : f32
  } {spmd.stage = 0 : i64}
  // expected-error @below {{operand 0 is computed in another stage and is no tensor}}
  %1 = tensor.splat %t {spmd.sharding = [[[]]], spmd.stage = 1 : i64} : tensor<4xf32>
  %2 = arith.addf %0, %1 {spmd.sharding = [[[]]], spmd.stage = 1 : i64} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Four times three steps in the function are none of three times four outside; whole is right.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func private @turn(%a: tensor<12xf32> {spmd.sharding = [["tp"]]}) -> tensor<3x4xf32> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @main(%x: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  // expected-error @below {{operand 0 is cut in other pieces in the function called; expected it whole there}}
  %1 = func.call @turn(%0) : (tensor<12xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func private @turn(%a: tensor<12xf32>) -> tensor<3x4xf32> {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @main(%x: tensor<4x3xf32>) -> tensor<3x4xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  %1 = func.call @turn(%0) : (tensor<12xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
