# Parameters by class from the names of an args.json, which the analysis never sees, against those of
# --analyse=json after it: prints every class in which the two differ, then the sum by names.
function classOf(name) {
  if (name ~ /norm|ln_|\.ln|LayerNorm|layernorm/) return "norm"
  if (name ~ /gate\.weight|router/ && name !~ /gate_proj/) return "router"
  if (name ~ /experts/) return "expert"
  if (name ~ /embed|wte|wpe|cls_token|position/ && name !~ /lm_head/) return "embedding"
  if (name ~ /attn|attention/) return "attention"
  if (name ~ /mlp|intermediate|output\.dense|layer\.[0-9]+\.output/) return "mlp"
  return "head"
}
function field(key,    text) { # of the object that the record is
  if (!match($0, "\"" key "\":(\\[[^]]*\\]|[^,}]*)"))
    return ""
  text = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
  gsub(/["\[\]]/, "", text)
  return text
}
BEGIN { RS = "{" }
{ gsub(/[ \n]/, "") }
FNR == 1 { ++file }
file == 1 && field("role") == "weight" {
  n = split(field("shape"), sizes, ",")
  elements = 1
  for (i = 1; i <= n; ++i)
    elements *= sizes[i]
  named[classOf(field("name"))] += elements
}
file == 2 && field("class") != "" && field("class") != "total" { found[field("class")] = field("parameters") }
file == 2 && field("class") == "total" { all = field("parameters") }
END {
  for (class in found)
    if (found[class] + 0 != named[class] + 0 && class != "other")
      printf "%s is %.0f by its use, %.0f by its name\n", class, found[class], named[class]
  for (class in named)
    total += named[class]
  for (class in found)
    sum += found[class]
  # Tables of constants are in no argument.
  if (sum != all + 0 || sum != total + found["other"])
    printf "%.0f in all, %.0f in classes, %.0f in arguments\n", all, sum, total
  printf "%.0f parameters by name\n", total
}
