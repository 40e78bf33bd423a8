// RUN: shard-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --pass-pipeline='builtin.module(shard-import)'

// expected-error @below {{no public function with a body}}
module {
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----

// An op of a dialect that no exporter is known for: the dialects that are taken.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant 1.0 : f32
  // expected-error @below {{'vector.print' is not supported; expected ops of func, linalg, tensor, arith, math, tosa, scf, or cf.assert, or a rule in --rules}}
  vector.print %c : f32
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'stablehlo.negate' is an op of dialect 'stablehlo', which is not supported; export from PyTorch with torch-mlir's OutputType.LINALG_ON_TENSORS}}
  %0 = "stablehlo.negate"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'torch.aten.neg' is an op of dialect 'torch', which is not supported; export with torch-mlir's OutputType.LINALG_ON_TENSORS or OutputType.TOSA}}
  %0 = "torch.aten.neg"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tm_tensor.scan': expected as many results as destinations, and the operands that torch-mlir writes}}
  %0 = "tm_tensor.scan"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Beside functions too.
// expected-error @below {{'sdy.mesh' is an op of dialect 'sdy', which is not supported; export without Shardy (jax_use_shardy_partitioner=False)}}
"sdy.mesh"() {sym_name = "mesh"} : () -> ()
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }

// -----

// In the body of a loop, and in a function that is called.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    // expected-error @below {{'complex.constant' is not supported}}
    %1 = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
    linalg.yield %in : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// TOSA that upstream has no lowering for.
func.func @main(%v: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tosa.custom' is not supported: what it computes is not known; expected the op spelled out in others}}
  %0 = tosa.custom %v {operator_name = "mine", domain_name = "mine", implementation_attrs = ""} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func private @clock() -> f64
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'func.call' of '@clock', which has no body}}
  %0 = func.call @clock() : () -> f64
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{recursive call of '@f'}}
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'cf.br' is not supported}}
  cf.br ^next
^next:
  return %x : tensor<8xf32>
}

// -----

// expected-error @below {{argument 1 has type 'memref<8xf32>', which is not supported; expected ranked tensors of at most 32 dimensions, of integers, index, f8E4M3FN, f8E5M2, f16, bf16, f32 or f64}}
func.func @main(%x: tensor<8xf32>, %m: memref<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }

// -----

// expected-error @below {{argument 0 has type 'tensor<8xcomplex<f32>>', which is not supported}}
func.func @main(%x: tensor<8xcomplex<f32>>, %y: tensor<8xf32>) -> tensor<8xf32> { return %y : tensor<8xf32> }

// -----

// expected-error @below {{argument 0 has type 'complex<f32>', which is not supported}}
func.func @main(%s: complex<f32>, %y: tensor<8xf32>) -> tensor<8xf32> { return %y : tensor<8xf32> }

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<*xf32> {
  // expected-error @below {{result has type 'tensor<*xf32>', which is not supported}}
  %0 = tensor.cast %x : tensor<8xf32> to tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

shard.grid @mesh(shape = 2)
func.func @main(%x: tensor<8xf32>) -> !shard.sharding {
  %c = shard.sharding @mesh split_axes = [[]] : !shard.sharding
  // expected-error @below {{result 0 has type '!shard.sharding', which is not supported}}
  return %c : !shard.sharding
}

// -----

// A role that is none.
// expected-error @below {{argument 0 has spmd.role = "parameter"; expected weight, input, target or state}}
func.func @main(%x: tensor<8xf32> {spmd.role = "parameter"}) -> tensor<8xf32> { return %x : tensor<8xf32> }

// -----

// Shapes that depend on data.
func.func @main(%x: tensor<8xf32>, %n: tensor<1xindex>) -> tensor<8xf32> {
  %c = arith.constant 0 : index
  %s = tensor.extract %n[%c] : tensor<1xindex>
  // expected-error @below {{dimension 0 of the result of 'tensor.extract_slice' is dynamic, and no argument sets it; expected static shapes}}
  %0 = tensor.extract_slice %x[0] [%s] [1] : tensor<8xf32> to tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// One dimension too many; with 32 it would do.
// expected-error @below {{argument 0 has type 'tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>', which is not supported; expected ranked tensors of at most 32 dimensions}}
func.func @main(%x: tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {
  return %x : tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
}

// -----

func.func @main(%x: tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {
  %0 = arith.addf %x, %x : tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  return %0 : tensor<2x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
}

// -----

// A resource of 4 bytes for 8.
// expected-error @below {{resource 'short' does not have as many bytes as its type needs}}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = arith.constant dense_resource<short> : tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.add ins(%x, %w : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
{-#
  dialect_resources: { builtin: { short: "0x040000000000803F" } }
#-}

// -----

func.func @main(%x: tensor<8xf8E5M2>) -> tensor<8xf8E5M2> {
  // expected-error @below {{'arith.addf' computes in floats of eight bits, which are for storage; expected arith.extf before it and arith.truncf after it}}
  %0 = arith.addf %x, %x : tensor<8xf8E5M2>
  return %0 : tensor<8xf8E5M2>
}

// -----

// Converted before and after it is taken, and so is what only moves.
func.func @main(%x: tensor<8xf8E5M2>) -> tensor<4xf8E5M2> {
  %w = arith.extf %x : tensor<8xf8E5M2> to tensor<8xf32>
  %0 = arith.addf %w, %w : tensor<8xf32>
  %1 = arith.truncf %0 : tensor<8xf32> to tensor<8xf8E5M2>
  %2 = tensor.extract_slice %1[4] [4] [1] : tensor<8xf8E5M2> to tensor<4xf8E5M2>
  return %2 : tensor<4xf8E5M2>
}

// -----

// expected-error @below {{argument 0 has type 'tensor<3x0xf32>', which has no elements; expected extents of at least 1}}
func.func @main(%x: tensor<3x0xf32>, %w: tensor<4x9xf32>) -> (tensor<3x0xf32>, tensor<4x9xf32>) {
  %0 = math.tanh %x : tensor<3x0xf32>
  %1 = math.tanh %w : tensor<4x9xf32>
  return %0, %1 : tensor<3x0xf32>, tensor<4x9xf32>
}

// -----

func.func @main(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x0xf32>) {
  // expected-error @below {{result has type 'tensor<3x0xf32>', which has no elements; expected extents of at least 1}}
  %s = tensor.extract_slice %x[0, 0] [3, 0] [1, 1] : tensor<3x4xf32> to tensor<3x0xf32>
  %0 = math.tanh %x : tensor<3x4xf32>
  return %0, %s : tensor<3x4xf32>, tensor<3x0xf32>
}

// -----

// expected-error @below {{argument 0 has type 'tensor<4x4294967296x4294967296xf32>', which has more than 2^48 elements}}
func.func @main(%x: tensor<4x4294967296x4294967296xf32>) -> tensor<4x4294967296x4294967296xf32> {
  %0 = arith.addf %x, %x : tensor<4x4294967296x4294967296xf32>
  return %0 : tensor<4x4294967296x4294967296xf32>
}
