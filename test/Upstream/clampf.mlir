// RUN: rm -rf %t.dir && mkdir %t.dir && shard-run --save=%t.dir --quiet %s
// RUN: cmp %t.dir/out000.npy %t.dir/out001.npy
// RUN: not cmp %t.dir/out000.npy %t.dir/out002.npy
// A clamp between two bounds: upstream's expansion takes the minimum with the lower bound and the
// maximum with the upper one, which is the upper one everywhere (the third result).
func.func @clamp(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %low = arith.constant dense<-0.25> : tensor<4x6xf32>
  %high = arith.constant dense<0.5> : tensor<4x6xf32>
  %0 = math.clampf %x to [%low, %high] : tensor<4x6xf32>
  %a = arith.maximumf %x, %low : tensor<4x6xf32>
  %1 = arith.minimumf %a, %high : tensor<4x6xf32>
  %b = arith.minimumf %x, %low : tensor<4x6xf32>
  %2 = arith.maximumf %b, %high : tensor<4x6xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
