#!/bin/sh
# DIR LLVM_PREFIX: see ../f8.test.
set -eu
cd "$1"
mkdir folded expected
for type in f8E4M3FN f8E5M2; do
  case $type in f8E4M3FN) top=448 least=0.0009765625 ;; f8E5M2) top=57344 least=0.00000762939453125 ;; esac
  awk -v type=$type 'BEGIN {
    for (i = 0; i < 256; ++i) list = list (i ? ", " : "") sprintf("0x%02X", i);
    printf "func.func @main(%%x: tensor<1xf32>) -> tensor<256xf32> {\n  %%c = arith.constant dense<[%s]> : tensor<256x%s>\n", list, type;
    printf "  %%0 = arith.extf %%c : tensor<256x%s> to tensor<256xf32>\n  return %%0 : tensor<256xf32>\n}\n", type }' >all.mlir
  "$2/bin/mlir-opt" --canonicalize all.mlir >folded.mlir
  ! grep -q arith.extf folded.mlir
  shard-run --auto-shard=tp1 folded.mlir --save=folded --quiet
  shard-run --auto-shard=tp1 all.mlir --expect=folded --rtol=0 --quiet
  # Steps of a third, of ties, and powers of two, over all magnitudes and both signs.
  awk -v type=$type -v top=$top -v least=$least 'BEGIN {
    for (v = least / 4; v <= top; v *= 1.0625) { list[n++] = v; list[n++] = -v * 1.25 }
    for (v = least; v <= top / 4; v *= 2) for (k = 0; k < 16; ++k) list[n++] = v * (1 + k / 16);
    for (i = 0; i < n; ++i) { if (list[i] < -top || list[i] > top) list[i] = 0; text = text (i ? ", " : "") sprintf("%.20e", list[i]) }
    for (file = 0; file < 2; ++file) {
      name = file ? "expected.mlir" : "rounded.mlir"; from = file ? type : "f32";
      printf "func.func @main(%%x: tensor<1xf32>) -> tensor<%dxf32> {\n  %%c = arith.constant dense<[%s]> : tensor<%dx%s>\n", n, text, n, from >name;
      if (!file) printf "  %%n = arith.truncf %%c : tensor<%dxf32> to tensor<%dx%s>\n", n, n, type >name;
      printf "  %%0 = arith.extf %s : tensor<%dx%s> to tensor<%dxf32>\n  return %%0 : tensor<%dxf32>\n}\n", file ? "%c" : "%n", n, type, n, n >name } }'
  shard-run --auto-shard=tp1 expected.mlir --save=expected --quiet
  shard-run --auto-shard=tp1 rounded.mlir --expect=expected --rtol=0 --quiet
done
