// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | FileCheck %s
// RUN: shard-opt %s --split-input-file --shard-spmdize=origins=false | mlir-opt --split-input-file --canonicalize --cse | FileCheck %s --check-prefix=STOCK

// Two stages of a layer function: the layer's collective is one site with a call for each layer. The
// mask is made in both stages, the tied table lives in both, an argument that nobody uses in the
// first. Every value goes straight from the stage that makes it to the one that uses it.
shard.grid @mesh(shape = 2x2) {spmd.axes = ["pp", "tp"]}
func.func @main(
    %table: tensor<8x4xf32> {spmd.role = "weight", spmd.name = "tied", spmd.sharding = [[], []]},
    %w0: tensor<4x4xf32> {spmd.role = "weight", spmd.name = "w0", spmd.sharding = [["tp"], []]},
    %w1: tensor<4x4xf32> {spmd.role = "weight", spmd.name = "w1", spmd.sharding = [["tp"], []]},
    %unused: tensor<3xf32> {spmd.role = "weight", spmd.name = "unused", spmd.sharding = [[]]},
    %x: tensor<6x8xf32> {spmd.role = "input", spmd.sharding = [[], []]})
    -> (tensor<6x8xf32> {spmd.sharding = [[], []]}, tensor<6x4xf32> {spmd.sharding = [[], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<6x4xf32>
  %f = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %me = tensor.empty() {spmd.sharding = [[[]]]} : tensor<6xf32>
  %mask = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%me : tensor<6xf32>) attrs = {spmd.sharding = [[[]]]} {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %p = arith.index_cast %i : index to i64
    %v = arith.sitofp %p : i64 to f32
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %h0 = linalg.matmul {spmd.sharding = [[[], []]], spmd.stage = 0 : i64} ins(%x, %table : tensor<6x8xf32>, tensor<8x4xf32>) outs(%f : tensor<6x4xf32>) -> tensor<6x4xf32>
  %h1 = func.call @layer(%h0, %w0, %mask) {spmd.sharding = [[[], []]], spmd.stage = 0 : i64, spmd.layer = 0 : i64} : (tensor<6x4xf32>, tensor<4x4xf32>, tensor<6xf32>) -> tensor<6x4xf32>
  %h2 = func.call @layer(%h1, %w1, %mask) {spmd.sharding = [[[], []]], spmd.stage = 1 : i64, spmd.layer = 1 : i64} : (tensor<6x4xf32>, tensor<4x4xf32>, tensor<6xf32>) -> tensor<6x4xf32>
  %te = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<4x8xf32>
  %t = linalg.transpose ins(%table : tensor<8x4xf32>) outs(%te : tensor<4x8xf32>) permutation = [1, 0] {spmd.sharding = [[[], []]]}
  %ye = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<6x8xf32>
  %yf = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%ye : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.matmul {spmd.sharding = [[[], []]], spmd.stage = 1 : i64} ins(%h2, %t : tensor<6x4xf32>, tensor<4x8xf32>) outs(%yf : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y, %h0 : tensor<6x8xf32>, tensor<6x4xf32>
}
func.func private @layer(
    %x: tensor<6x4xf32> {spmd.sharding = [[], []]}, %w: tensor<4x4xf32> {spmd.sharding = [["tp"], []]},
    %mask: tensor<6xf32> {spmd.sharding = [[]]}) -> (tensor<6x4xf32> {spmd.sharding = [[], []]}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {spmd.sharding = [[[], []]]} : tensor<6x4xf32>
  %f = linalg.fill {spmd.sharding = [[[], []]]} ins(%zero : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mask : tensor<6x4xf32>, tensor<6xf32>) outs(%e : tensor<6x4xf32>) attrs = {spmd.sharding = [[[], ["tp"]]]} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<6x4xf32>
  %0 = linalg.matmul {spmd.sharding = [[[], []]], spmd.partial = [[{axes = ["tp"], kind = "sum"}]]} ins(%m, %w : tensor<6x4xf32>, tensor<4x4xf32>) outs(%f : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
// CHECK:       spmd.sites = [{axes = ["tp"], bytes = 4.800000e+01 : f64,
// CHECK-SAME:    calls = [{layer = 0 : i64, op = "layer 0: linalg.matmul at {{[^"]*}}", stage = 0 : i64}, {layer = 1 : i64, op = "layer 1: linalg.matmul at {{[^"]*}}", stage = 1 : i64}]
// CHECK-SAME:    kind = "all-reduce"
// CHECK-SAME:    {axes = ["pp"], bytes = 4.800000e+01 : f64, calls = [{op = "{{[^"]*}}", stage = 0 : i64}], cause = "@layer of stage 0 used in stage 1", {{.*}}kind = "send"

// CHECK-LABEL: func.func @main_stage0(
// CHECK-SAME:    %[[T0:[a-z0-9]+]]: tensor<8x4xf32> {spmd.arg = 0 : i64, {{[^}]*}} spmd.name = "tied"
// CHECK-SAME:    %[[W0:[a-z0-9]+]]: tensor<2x4xf32> {spmd.arg = 1 : i64, {{[^}]*}} spmd.name = "w0"
// CHECK-SAME:    %[[UNUSED:[a-z0-9]+]]: tensor<3xf32> {spmd.arg = 3 : i64, {{[^}]*}} spmd.name = "unused"
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<6x8xf32> {spmd.arg = 4 : i64,
// CHECK-SAME:    -> (tensor<6x4xf32> {spmd.global = tensor<6x4xf32>, spmd.result = 1 : i64,
// CHECK-SAME:    attributes {spmd.stage = 0 : i64}
// CHECK:         %[[H0:.*]] = linalg.matmul ins(%[[X]], %[[T0]]
// CHECK:         %[[MASK:.*]] = linalg.generic
// CHECK:         %[[H1:.*]] = call @layer(%[[H0]], %[[W0]], %[[MASK]]) {spmd.layer = 0 : i64}
// CHECK:         shard.send %[[H1]] on @mesh grid_axes = [0] destination = [1] {spmd.channel = 0 : i64, spmd.origin = "func.call at {{[^"]*}}", spmd.site = 1 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NOT:     linalg.transpose
// CHECK:         return %[[H0]]

// CHECK-LABEL: func.func @main_stage1(
// CHECK-SAME:    %[[T1:[a-z0-9]+]]: tensor<8x4xf32> {spmd.arg = 0 : i64, {{[^}]*}} spmd.name = "tied"
// CHECK-SAME:    %[[W1:[a-z0-9]+]]: tensor<2x4xf32> {spmd.arg = 2 : i64, {{[^}]*}} spmd.name = "w1"
// CHECK-NOT:     spmd.arg
// CHECK-SAME:    -> (tensor<6x8xf32> {spmd.global = tensor<6x8xf32>, spmd.result = 0 : i64,
// CHECK-SAME:    attributes {spmd.stage = 1 : i64}
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<6x4xf32>
// CHECK:         %[[H1:.*]] = shard.recv %[[E]] on @mesh grid_axes = [0] source = [0] {spmd.channel = 0 : i64, spmd.origin = "func.call at {{[^"]*}}", spmd.site = 1 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK:         %[[MASK:.*]] = linalg.generic
// CHECK:         %[[H2:.*]] = call @layer(%[[H1]], %[[W1]], %[[MASK]]) {spmd.layer = 1 : i64}
// CHECK:         %[[TT:.*]] = linalg.transpose ins(%[[T1]] :
// CHECK:         %[[Y:.*]] = linalg.matmul ins(%[[H2]], %[[TT]]
// CHECK:         return %[[Y]]

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<6x4xf32>, %[[W:[a-z0-9]+]]: tensor<2x4xf32>, %[[MASK:[a-z0-9]+]]: tensor<6xf32>) -> tensor<6x4xf32>
// CHECK:         tensor.extract_slice %[[X]]
// CHECK:         %[[P:.*]] = linalg.matmul ins(%{{.*}}, %[[W]] : tensor<6x2xf32>, tensor<2x4xf32>)
// CHECK:         shard.all_reduce %[[P]] on @mesh grid_axes = [1] {{.*}}spmd.site = 0 : i64}

// STOCK-LABEL: func.func @main_stage0(
// STOCK:         shard.send
// STOCK-LABEL: func.func @main_stage1(
// STOCK:         shard.recv
// STOCK-LABEL: func.func private @layer(
// STOCK:         shard.all_reduce

// -----

// Three stages: a value used two stages on skips the one between; a scalar travels as one element; a
// result that is an argument stays with the last stage that uses it.
shard.grid @mesh(shape = 3) {spmd.axes = ["pp"]}
func.func @skip(%x: tensor<4xf32> {spmd.sharding = [[]]}, %y: tensor<4xf32> {spmd.sharding = [[]]})
    -> (tensor<4xf32> {spmd.sharding = [[]]}, tensor<4xf32> {spmd.sharding = [[]]}) {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() {spmd.sharding = [[]]} : tensor<f32>
  %sf = linalg.fill {spmd.sharding = [[]]} ins(%zero : f32) outs(%se : tensor<f32>) -> tensor<f32>
  %a = math.exp %x {spmd.sharding = [[[]]], spmd.stage = 0 : i64} : tensor<4xf32>
  %s = linalg.reduce {arith.addf} ins(%a : tensor<4xf32>) outs(%sf : tensor<f32>) dimensions = [0] {spmd.sharding = [[]], spmd.stage = 0 : i64}
  %b = arith.mulf %a, %y {spmd.sharding = [[[]]], spmd.stage = 1 : i64} : tensor<4xf32>
  %c = arith.addf %a, %b {spmd.sharding = [[[]]], spmd.stage = 2 : i64} : tensor<4xf32>
  %e = tensor.empty() {spmd.sharding = [[[]]]} : tensor<4xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%c, %s : tensor<4xf32>, tensor<f32>) outs(%e : tensor<4xf32>) attrs = {spmd.sharding = [[[]]], spmd.stage = 2 : i64} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.divf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %d, %y : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @skip_stage0(
// CHECK:         %[[A:.*]] = math.exp
// CHECK:         shard.send %[[A]] on @mesh grid_axes = [0] destination = [1]
// CHECK:         shard.send %[[A]] on @mesh grid_axes = [0] destination = [2]
// CHECK:         %[[S:.*]] = linalg.reduce
// CHECK:         %[[S1:.*]] = tensor.expand_shape %[[S]] [] output_shape [1] : tensor<f32> into tensor<1xf32>
// CHECK:         shard.send %[[S1]] on @mesh grid_axes = [0] destination = [2]
// CHECK:         return
// CHECK-LABEL: func.func @skip_stage1(
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: tensor<4xf32> {spmd.arg = 1
// CHECK-SAME:    -> (tensor<4xf32> {spmd.global = tensor<4xf32>, spmd.result = 1
// CHECK:         %[[A:.*]] = shard.recv {{.*}} source = [0]
// CHECK:         %[[B:.*]] = arith.mulf %[[A]], %[[Y]]
// CHECK:         shard.send %[[B]] on @mesh grid_axes = [0] destination = [2]
// CHECK:         return %[[Y]]
// CHECK-LABEL: func.func @skip_stage2(
// CHECK-NOT:     spmd.arg
// CHECK:         shard.recv {{.*}} source = [0]
// CHECK:         shard.recv {{.*}} source = [1]
// CHECK:         arith.addf
// CHECK:         %[[R:.*]] = shard.recv {{.*}} source = [0] {{.*}} : (tensor<1xf32>) -> tensor<1xf32>
// CHECK:         tensor.collapse_shape %[[R]] [] : tensor<1xf32> into tensor<f32>
