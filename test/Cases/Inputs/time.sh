# time.sh MODEL ARGS DEGREES REPORT: the least CPU time of three compilations, in milliseconds.
least=
for _ in 1 2 3; do
  before=$(awk '{ print $16 + $17 }' /proc/$$/stat)
  shard-opt "--auto-shard=$3" "$1" "--args=$2" --quiet -o /dev/null "--report=$4" || exit 1
  after=$(awk '{ print $16 + $17 }' /proc/$$/stat)
  took=$(((after - before) * 10))
  if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
done
echo "$least"
