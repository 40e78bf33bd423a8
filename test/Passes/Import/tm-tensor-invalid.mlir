// RUN: shard-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --pass-pipeline='builtin.module(shard-import)'
// Nothing has verified these ops: each fault is an error at the op. What is right is in tm-tensor.mlir.
func.func @main(%x: tensor<4x8xf32>, %a: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'tm_tensor.scan': expected a 'dimension' below the rank of the first operand}}
  %0:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 2 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    "tm_tensor.yield"(%p) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return %0#0 : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>, %a: tensor<8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'tm_tensor.scan': expected 'inclusive', a destination of the input's type and one without the scanned dimension}}
  %0:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    "tm_tensor.yield"(%p) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %0#0 : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>, %a: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  // expected-error @below {{'tm_tensor.scan': expected that nobody uses the running value of an exclusive scan}}
  %0:2 = "tm_tensor.scan"(%x, %x, %a) <{dimension = 1 : i64, inclusive = false, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    "tm_tensor.yield"(%p) : (f32) -> ()
  }) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'tm_tensor.sort': expected tensors of one shape}}
  %0:2 = "tm_tensor.sort"(%x, %y) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %p = arith.cmpf oge, %a, %b : f32
    "tm_tensor.yield"(%p) : (i1) -> ()
  }) : (tensor<4x8xf32>, tensor<4x7xf32>) -> (tensor<4x8xf32>, tensor<4x7xf32>)
  return %0#0 : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'tm_tensor.sort': expected a body of two scalars for each tensor, of its element type, that yields one scalar}}
  %0 = "tm_tensor.sort"(%x) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf oge, %a, %b : f32
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The destination is merged with the input: a zero in it would be selected.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %zeroi = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4x2xf32>
  %ei = tensor.empty() : tensor<4x2xi64>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %fi = linalg.fill ins(%zeroi : i64) outs(%ei : tensor<4x2xi64>) -> tensor<4x2xi64>
  // expected-error @below {{'tm_tensor.topk': expected a destination filled with the value that stands last in the order}}
  %0:2 = "tm_tensor.topk"(%x, %f, %fi) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf ogt, %a, %b : f32
    "tm_tensor.yield"(%p) : (i1) -> ()
  }) : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xi64>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return %0#0 : tensor<4x2xf32>
}

// -----

func.func @main(%x: tensor<4x2xf32>, %f: tensor<4x8xf32>, %fi: tensor<4x8xi64>) -> tensor<4x8xf32> {
  // expected-error @below {{'tm_tensor.topk': expected values and integer indices of the input's shape, shorter along the dimension only}}
  %0:2 = "tm_tensor.topk"(%x, %f, %fi) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf ogt, %a, %b : f32
    "tm_tensor.yield"(%p) : (i1) -> ()
  }) : (tensor<4x2xf32>, tensor<4x8xf32>, tensor<4x8xi64>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  return %0#0 : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<6x4xf32>, %u: tensor<5x3xf32>, %i: tensor<5x1xi32>) -> tensor<6x4xf32> {
  // expected-error @below {{'tm_tensor.scatter': expected updates of whole slices: 'dimension_map' names a dimension for each column of the indices, and the updates cover the others}}
  %0 = "tm_tensor.scatter"(%u, %i, %x) <{dimension_map = array<i64: 0>, operandSegmentSizes = array<i32: 2, 1>, unique_indices = false}> ({
  ^bb0(%a: f32, %b: f32):
    "tm_tensor.yield"(%a) : (f32) -> ()
  }) : (tensor<5x3xf32>, tensor<5x1xi32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// -----

func.func @main(%q: tensor<2x6x4xf32>, %k: tensor<2x5x3xf32>) -> tensor<2x6x4xf32> {
  // expected-error @below {{'tm_tensor.attention': expected query [..., m, d], key [..., n, d], value [..., n, e]}}
  %0 = "tm_tensor.attention"(%q, %k, %k, %q) <{operandSegmentSizes = array<i32: 3, 1>}> : (tensor<2x6x4xf32>, tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %0 : tensor<2x6x4xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tm_tensor.fft' is an op of dialect 'tm_tensor', which is not supported; print it in generic form}}
  %0 = "tm_tensor.fft"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
