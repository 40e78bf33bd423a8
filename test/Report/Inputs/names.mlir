// Names that would end a script, an attribute or a text of HTML, and some that are not ASCII.
func.func @main(%x: tensor<8x16xf32> {spmd.name = "x</script><script>alert(1)</script><!--", spmd.role = "input"},
                %a: tensor<16x32xf32> {spmd.name = "a\22' onload='x' & <b>&amp;", spmd.role = "weight"},
                %b: tensor<32x16xf32> {spmd.name = "Gewichte größer ≥ 重み \\ \E2\80\A8 end", spmd.role = "weight"}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<8x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x, %a : tensor<8x16xf32>, tensor<16x32xf32>) outs(%f0 : tensor<8x32xf32>) -> tensor<8x32xf32> loc("</SCRIPT>'\22&")
  %e1 = tensor.empty() : tensor<8x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%h, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
