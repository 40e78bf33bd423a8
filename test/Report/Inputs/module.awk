# Bytes of weights and flops of contractions of each stage, from the text of a program of f32 that contracts by
# linalg.matmul and linalg.batch_matmul; then the same of its report.
function elements(type,  sizes, n, i, all) {
  n = split(type, sizes, "x")
  all = 1
  for (i = 1; i < n; ++i) all *= sizes[i]
  return all
}
/^  func\.func / {
  match($0, /@[a-z_0-9]+/)
  func_name = substr($0, RSTART, RLENGTH)
  if (func_name !~ /^@main/) next
  stage[nStages++] = func_name
  sub(/\) -> .*/, "")
  nArguments = split($0, arguments, /%arg[0-9]+: tensor</)
  for (a = 2; a <= nArguments; ++a)
    if (arguments[a] ~ /spmd\.role = "weight"/) {
      type = arguments[a]
      sub(/>.*/, "", type)
      weights[func_name] += 4 * elements(type)
    }
}
/ linalg\.(batch_)?matmul / {
  result = $0; sub(/.*-> tensor</, "", result); sub(/>.*/, "", result)
  first = $0; sub(/.* ins\([^:]*: tensor</, "", first); sub(/>.*/, "", first)
  n = split(first, sizes, "x")
  flops[func_name] += 2 * elements(result) * sizes[n - 1]
}
/ call @/ {
  match($0, /call @[a-z_0-9]+/)
  calls[func_name, substr($0, RSTART + 5, RLENGTH - 5)] += 1
}
/^   "cost": / { cost[nCosts++] = $2 + 0 }
/^    "weight": / { held[nHeld++] = $2 + 0 }
END {
  for (i = 0; i < nStages; ++i) {
    all = flops[stage[i]]
    for (pair in calls) {
      split(pair, names, SUBSEP)
      if (names[1] == stage[i]) all += calls[pair] * flops[names[2]]
    }
    print "stage " i ": " weights[stage[i]] " bytes, " all " flop " \
      (weights[stage[i]] == held[i] && all == cost[i] ? "as reported" : "differ: reported " held[i] ", " cost[i])
  }
}
