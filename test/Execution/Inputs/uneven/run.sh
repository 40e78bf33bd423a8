#!/bin/sh
# run.sh PROGRAM... : each program on 2, 3, 4 and 8 ranks (or as its line `// AXES: dp2,tp3 dp3,tp2` says)
# for each of its splits, compared with the unsharded program. A split is a line
# `// SPLIT: {"0":{"sharding":[["tp"]]}}`: annotations of arguments. The padding of arguments is poisoned, so
# that a result that reads it is seen. Fails when a program has no split, when nothing was padded on any
# rank, and when a comparison fails.
set -u
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
failed=0 count=0
for program in "$@"; do
  grep -q '^// SPLIT: ' "$program" || { echo "$program: no split"; failed=1; }
  grep '^// SPLIT: ' "$program" | sed 's/^[^:]*: //' > "$temporary/splits"
  while read -r split; do
    echo "{\"version\":1,\"args\":$split}" > "$temporary/split.json"
    padded=0
    layouts=$(sed -n 's/^.. AXES: //p' "$program")
    for layout in ${LAYOUTS:-${layouts:-tp2 tp3 tp4 tp8}}; do
      # Results as they come, and whole.
      case $layout in *3 | *8) results=whole ;; *) results=split ;; esac
      for results in ${RESULTS:-$results}; do
        what="$(basename "$program") $split $layout $results"
        shard-opt --quiet --auto-shard=$layout --results=$results --annotations="$temporary/split.json" \
            "$program" -o "$temporary/l3.mlir" 2> "$temporary/error" ||
          { echo "$what: $(head -n 1 "$temporary/error")"; failed=1; continue; }
        grep -q 'func.func.*spmd.extent' "$temporary/l3.mlir" && padded=1
        shard-run "$temporary/l3.mlir" --check="$program" ${RUN_OPTIONS:-} > "$temporary/out" 2>&1 ||
          { echo "$what: $(grep -E 'mismatch|error' "$temporary/out" | head -n 1)"; failed=1; }
        count=$((count + 1))
      done
    done
    [ $padded = 1 ] || { echo "$(basename "$program") $split: nothing was padded"; failed=1; }
  done < "$temporary/splits"
done
[ $failed = 0 ] && echo "held: $count runs"
exit $failed
