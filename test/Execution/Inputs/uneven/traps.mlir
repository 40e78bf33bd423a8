// What would stop the program on the padding's zeros: divisions and remainders of whole numbers in a body,
// on tensors and in a named op, powers, loops as long as the data says.
// SPLIT: {"0":{"sharding":[["tp"],[]]},"1":{"sharding":[["tp"],[]]}}
// SPLIT: {"0":{"sharding":[[],["tp"]]},"1":{"sharding":[[],["tp"]]}}
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<5x13xi32>, %m: tensor<5x13xi32>) -> (tensor<5x13xi32>, tensor<5x13xi32>, tensor<5x13xi32>, tensor<5xi32>, tensor<5x13xi32>) {
  %one = arith.constant dense<1> : tensor<5x13xi32>
  %b = arith.addi %m, %one : tensor<5x13xi32>
  %e = tensor.empty() : tensor<5x13xi32>
  %0 = linalg.generic {indexing_maps = [#x, #x, #x], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<5x13xi32>, tensor<5x13xi32>) outs(%e : tensor<5x13xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %d = arith.divsi %p, %q : i32
    %t = arith.remsi %p, %q : i32
    %u = arith.floordivsi %d, %q : i32
    %s = arith.addi %t, %u : i32
    linalg.yield %s : i32
  } -> tensor<5x13xi32>
  %1 = arith.divsi %a, %b : tensor<5x13xi32>
  %2 = linalg.div ins(%a, %b : tensor<5x13xi32>, tensor<5x13xi32>) outs(%e : tensor<5x13xi32>) -> tensor<5x13xi32>
  %c0 = arith.constant 0 : i32
  %er = tensor.empty() : tensor<5xi32>
  %f = linalg.fill ins(%c0 : i32) outs(%er : tensor<5xi32>) -> tensor<5xi32>
  %3 = linalg.generic {indexing_maps = [#x, #x, #r], iterator_types = ["parallel", "reduction"]} ins(%a, %b : tensor<5x13xi32>, tensor<5x13xi32>) outs(%f : tensor<5xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %d = arith.remsi %p, %q : i32
    %s = arith.addi %o, %d : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %4 = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<5x13xi32>) outs(%e : tensor<5x13xi32>) {
  ^bb0(%q: i32, %o: i32):
    %from = arith.constant 0 : index
    %step = arith.constant 1 : index
    %n = arith.index_cast %q : i32 to index
    %start = arith.constant 1 : i32
    %s = scf.for %k = %from to %n step %step iter_args(%v = %start) -> (i32) {
      %w = arith.addi %v, %v : i32
      scf.yield %w : i32
    }
    linalg.yield %s : i32
  } -> tensor<5x13xi32>
  return %0, %1, %2, %3, %4 : tensor<5x13xi32>, tensor<5x13xi32>, tensor<5x13xi32>, tensor<5xi32>, tensor<5x13xi32>
}
