# Leaves the batch (2) and the sequence (37) of test/Models/llama-gqa/model.linalg.mlir open, as an exporter
# with dynamic shapes writes it: `?` in types, the extents from tensor.dim, products by arith.muli.
function dims(type, parts, n, i, open) { # sets `operands`; returns the type with ?
  n = split(substr(type, 8, length(type) - 8), parts, "x")
  open = type ~ /37|<74x/ || type ~ /^tensor<2x(1x1x1x)?i64>/
  operands = ""
  for (i = 1; i < n && open; ++i) {
    name = parts[i] == "37" ? "%s" : i > 1 ? "" : parts[i] == "74" ? "%bs" : parts[i] == "16" ? "%b8" : parts[i] == "2" ? "%b" : ""
    if (name != "") {
      operands = operands (operands == "" ? "" : ", ") name
      parts[i] = "?"
    }
  }
  type = "tensor<"
  for (i = 1; i <= n; ++i)
    type = type parts[i] (i < n ? "x" : ">")
  return type
}
function sizes(list, parts, n, i) { # of a slice or a reshape
  n = split(list, parts, ", ")
  list = ""
  for (i = 1; i <= n; ++i)
    list = list (i > 1 ? ", " : "") (parts[i] == "37" ? "%s" : i == 1 && parts[i] == "2" ? "%b" : parts[i])
  return list
}
{
  out = ""
  rest = $0
  while (match(rest, /tensor<[^>]*>/)) {
    out = out substr(rest, 1, RSTART - 1) dims(substr(rest, RSTART, RLENGTH))
    rest = substr(rest, RSTART + RLENGTH)
  }
  line = out rest
  if (line ~ /tensor.empty\(\)/)
    sub(/tensor.empty\(\)/, "tensor.empty(" operands ")", line)
  if (match(line, /output_shape \[[^]]*\]/))
    line = substr(line, 1, RSTART + 13) sizes(substr(line, RSTART + 14, RLENGTH - 15)) substr(line, RSTART + RLENGTH - 1)
  if (line ~ /tensor.extract_slice/ && match(line, /\] \[[^]]*\]/))
    line = substr(line, 1, RSTART + 2) sizes(substr(line, RSTART + 3, RLENGTH - 4)) substr(line, RSTART + RLENGTH - 1)
  if (line ~ /arith.addi/) {
    sub(/%c2_i64/, "%b64", line)
    sub(/%c37_i64/, "%s64", line)
  }
  print line
  if (line ~ /func.func @main/) {
    match(line, /%arg[0-9]*: tensor<\?x\?xi64>/)
    ids = substr(line, RSTART, index(substr(line, RSTART), ":") - 1)
    print "    %open0 = arith.constant 0 : index\n    %open1 = arith.constant 1 : index\n    %open8 = arith.constant 8 : index"
    print "    %b = tensor.dim " ids ", %open0 : tensor<?x?xi64>\n    %s = tensor.dim " ids ", %open1 : tensor<?x?xi64>"
    print "    %bs = arith.muli %b, %s : index\n    %b8 = arith.muli %b, %open8 : index"
    print "    %b64 = arith.index_cast %b : index to i64\n    %s64 = arith.index_cast %s : index to i64"
  }
}
