# Takes the collective of a site out of a program in text: what used it uses its operand. -v site=N
function replaced(line, name, other,   out, at, next_) {
  out = ""
  while ((at = index(line, name)) > 0) {
    next_ = substr(line, at + length(name), 1)
    out = out substr(line, 1, at - 1) (next_ ~ /[A-Za-z0-9_$.-]/ ? name : other)
    line = substr(line, at + length(name))
  }
  return out line
}
/^ *func.func/ { name = "" }
index($0, "spmd.site = " site " : i64") && $2 == "=" { name = $1; other = $4; next }
{ print name == "" ? $0 : replaced($0, name, other) }
