# Input: `spmd.stages` of one module for pp = 1, 2, ... up to the number of units, a line each; in the
# last one every stage is one unit. Tries every cut of the units into contiguous stages.
function try(unit, stages, worst,   end, sum) {
  if (stages == 1) {
    for (end = unit; end <= n; ++end)
      sum += cost[end]
    worst = sum > worst ? sum : worst
    if (best < 0 || worst < best)
      best = worst
    return
  }
  for (end = unit; end <= n - stages + 1; ++end) {
    sum += cost[end]
    try(end + 1, stages - 1, sum > worst ? sum : worst)
  }
}
{
  gsub(/[^0-9]+/, " ", $0)
  sub(/^ */, "")
  line[NR] = $0
}
END {
  n = split(line[NR], part, " ") / 3 # i64, units, cost
  if (n != NR || n < 2)
    print "expected a line for each number of stages; got " NR " lines, " n " units in the last"
  for (u = 1; u <= n; ++u)
    cost[u] = part[3 * u]
  for (k = 1; k <= NR; ++k) {
    stages = split(line[k], part, " ") / 3
    largest = units = 0
    for (s = 1; s <= stages; ++s) {
      # The stage's cost is that of the units it says it has.
      sum = 0
      for (u = units + 1; u <= units + part[3 * s - 1]; ++u)
        sum += cost[u]
      if (sum != part[3 * s])
        print "pp" k ": stage " s - 1 " costs " part[3 * s] ", its units " sum
      units += part[3 * s - 1]
      largest = part[3 * s] + 0 > largest ? part[3 * s] + 0 : largest
    }
    best = -1
    try(1, k, 0)
    if (stages != k || units != n || largest != best)
      print "pp" k ": " stages " stages of " units " units, the largest " largest ", the best cut " best
  }
  print n " units, every cut tried"
}
