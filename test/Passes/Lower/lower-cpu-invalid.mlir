// RUN: shard-opt %s --split-input-file --verify-diagnostics --shard-lower-cpu

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a shift that is not cyclic has no lowering; expected 'rotate'}}
  %0 = shard.shift %x on @mesh grid_axes = [0] shift_axis = 0 offset = 1 : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Accepted: the same, cyclic.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = shard.shift %x on @mesh grid_axes = [0] shift_axis = 0 offset = 1 rotate : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{this reduction cannot be run; expected sum, max, min, product, bitwise_and or bitwise_or}}
  %0 = shard.all_reduce %x on @mesh grid_axes = [0] reduction = average : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @below {{a second public function; expected one, or stages with 'spmd.stage'}}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'spmd.stage' is 1, expected 0: stages stand in order}}
func.func @main_stage1(%x: tensor<4xf32>) -> tensor<4xf32> attributes {spmd.stage = 1 : i64} {
  return %x : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{'spmd.sharding' names 'dp', which the mesh has not}}
func.func @main(%x: tensor<4xf32> {spmd.sharding = [["dp"]]}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 has no static shape}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{argument 0 has an element type without a lowering}}
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  return %x : tensor<4xcomplex<f32>>
}

// -----

func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a recursive call has no lowering}}
  %0 = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 3) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4x3xf32>) -> tensor<12x1xf32> {
  // expected-error @below {{dimension 0 is 4, not a multiple of the group's 3}}
  %0 = shard.all_to_all %x on @mesh grid_axes = [0] split_axis = 0 concat_axis = 1 : tensor<4x3xf32> -> tensor<?x?xf32>
  %1 = tensor.cast %0 : tensor<?x?xf32> to tensor<12x1xf32>
  return %1 : tensor<12x1xf32>
}

// -----

// Attributes that a hand changed: a table of shapes that disagree would make a wrong program.
shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{argument 0: 'spmd.global' and 'spmd.sharding' do not give its local shape}}
func.func @main(%x: tensor<4x6xf32> {spmd.global = tensor<8x6xf32>, spmd.sharding = [[], ["tp"]]}) -> tensor<4x6xf32> {
  return %x : tensor<4x6xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{argument 0 has an 'spmd.global' that is no static tensor of its rank and element type}}
func.func @main(%x: tensor<4xf32> {spmd.global = tensor<8xf64>, spmd.sharding = [["tp"]]}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2) {spmd.axes = ["tp"]}
// expected-error @below {{argument 0 has an 'spmd.sharding' that is not a list of axis names for each dimension}}
func.func @main(%x: tensor<4xf32> {spmd.global = tensor<8xf32>, spmd.sharding = 3}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 has a name or role that is not a string}}
func.func @main(%x: tensor<4xf32> {spmd.role = 7}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 has an 'spmd.value' of another type}}
func.func @main(%x: tensor<4xf32> {spmd.value = dense<1.0> : tensor<3xf32>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Accepted: parts of a dimension over an axis each.
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp.0", "tp.1"]}
func.func @main(%x: tensor<6x1xf32> {spmd.global = tensor<24x1xf32>, spmd.sharding = [["tp.0"], ["tp.1"], []], spmd.view = array<i64: 6, 4, 1>}) -> tensor<6x1xf32> {
  return %x : tensor<6x1xf32>
}

// -----

// Sizes that leave 64 bits, in a program that did not come through shard-import.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{the buffers of this function are too large to count}}
  %wide = tensor.empty() : tensor<4294967296x1073741824x8xf32>
  %0 = linalg.broadcast ins(%x : tensor<8xf32>) outs(%wide : tensor<4294967296x1073741824x8xf32>) dimensions = [0, 1]
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.reduce ins(%0 : tensor<4294967296x1073741824x8xf32>) outs(%init : tensor<8xf32>) dimensions = [0, 1]
    (%in: f32, %sum: f32) {
      %2 = arith.addf %in, %sum : f32
      linalg.yield %2 : f32
    }
  return %1 : tensor<8xf32>
}

// -----

// expected-error @below {{argument 0 has more than 2^48 elements}}
func.func @main(%x: tensor<4294967296x1073741824xf32>) -> tensor<4294967296x1073741824xf32> {
  return %x : tensor<4294967296x1073741824xf32>
}

// -----

// A grid that cannot be read is not none: the program would run on one rank. 64 bits do not count this one's devices.
// expected-error @below {{grid '@mesh' has more than 1048576 devices or more than 16 axes}}
shard.grid @mesh(shape = 1048576x1048576x1048576x1048576) {spmd.axes = ["dp", "ep", "sp", "tp"]}
func.func @main(%x: tensor<4x8xf32> {spmd.global = tensor<4x8xf32>, spmd.sharding = [["dp", "ep", "sp", "tp"], []]}) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}

// -----

// expected-error @below {{grid '@mesh' has more than 1048576 devices or more than 16 axes}}
shard.grid @mesh(shape = 2000000000) {spmd.axes = ["pp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{grid '@mesh' does not name its axes; expected spmd.axes = [...] with 2 names out of pp, dp, ep, sp, tp}}
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{axis 1 of grid '@mesh' has no size; expected a number of devices}}
shard.grid @mesh(shape = 2x?) {spmd.axes = ["dp", "tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{grid '@mesh' has two axes named 'tp'}}
shard.grid @mesh(shape = 2x2) {spmd.axes = ["tp", "tp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
