func.func @main(%x: tensor<64x4xi1>, %y: tensor<64xi1>) -> tensor<64xi1> {
  %0 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x4xi1>) outs(%y : tensor<64xi1>) {
  ^bb0(%a: i1, %b: i1):
    %m = arith.OP %a, %b : i1
    linalg.yield %m : i1
  } -> tensor<64xi1>
  return %0 : tensor<64xi1>
}
