# Leaves the batch `b` and the sequence `s` of a model open, as an exporter with dynamic shapes writes it: `?` in types,
# the extents from tensor.dim of argument `ids`, products by arith.muli: of both, and of batch and `heads`. Types without
# the sequence are open where they match `alone`.
function dims(type, parts, n, i, open) { # sets `operands`; returns the type with ?
  n = split(substr(type, 8, length(type) - 8), parts, "x")
  open = type ~ ("[<x]" s "x") || type ~ alone
  operands = ""
  for (i = 1; i < n && open; ++i) {
    name = parts[i] == s ? "%s" : i > 1 ? "" : parts[i] == b * s ? "%bs" : parts[i] == b * heads ? "%bh" : parts[i] == b ? "%b" : ""
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
    list = list (i > 1 ? ", " : "") (parts[i] == s ? "%s" : i == 1 && parts[i] == b ? "%b" : parts[i])
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
    sub("%c" b "_i64", "%b64", line)
    sub("%c" s "_i64", "%s64", line)
  }
  print line
  if (line ~ /func.func @main/) {
    print "    %open0 = arith.constant 0 : index\n    %open1 = arith.constant 1 : index\n    %openh = arith.constant " heads " : index"
    print "    %b = tensor.dim " ids ", %open0 : tensor<?x?xi64>\n    %s = tensor.dim " ids ", %open1 : tensor<?x?xi64>"
    print "    %bs = arith.muli %b, %s : index\n    %bh = arith.muli %b, %openh : index"
    print "    %b64 = arith.index_cast %b : index to i64\n    %s64 = arith.index_cast %s : index to i64"
  }
}
