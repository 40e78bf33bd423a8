# Parameters by class from the names of an args.json, which the analysis never sees; and those of
# --analyse=json after it. Prints each class of both, so that the two lists are equal or a test fails.
function classOf(name) {
  if (name ~ /norm|ln_|\.ln|LayerNorm|layernorm/) return "norm"
  if (name ~ /gate\.weight|router/ && name !~ /gate_proj/) return "router"
  if (name ~ /experts/) return "expert"
  if (name ~ /embed|wte|wpe|cls_token|position/ && name !~ /lm_head/) return "embedding"
  if (name ~ /attn|attention/) return "attention"
  if (name ~ /mlp|intermediate|output\.dense|layer\.[0-9]+\.output/) return "mlp"
  return "head"
}
{ gsub(/[",]/, "") }
FNR == 1 { ++file }
file == 1 && $1 == "name:" { name = $2; elements = 1; inShape = 0 }
file == 1 && $1 == "shape:" { inShape = 1; next }
file == 1 && inShape && $1 == "]" { inShape = 0 }
file == 1 && inShape { elements *= $1 }
file == 1 && $1 == "role:" && $2 == "weight" { named[classOf(name)] += elements }
file == 2 && $1 == "class:" { class = $2 }
file == 2 && $1 == "parameters:" && class != "" && class != "total" { found[class] = $2; class = "" }
END {
  for (class in found)
    if (found[class] != named[class] + 0 && class != "other")
      print class, "is", found[class], "by its use,", named[class] + 0, "by its name"
  for (class in named)
    total += named[class]
  printf "%.0f parameters by name\n", total
}
