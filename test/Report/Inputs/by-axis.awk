# Sites as --explain lists them, then the rows of `communication` of a report, one a line: bytes of a step by axes.
/^site [0-9]+: / {
  axes = $5; sub(/,$/, "", axes)
  listed[axes] += $6 * $9
  next
}
/"sentBytes":/ {
  axes = $0; sub(/.*"axes":\[/, "", axes); sub(/\].*/, "", axes); gsub(/"/, "", axes)
  bytes = $0; sub(/.*"sentBytes":/, "", bytes); sub(/,.*/, "", bytes)
  reported[axes] += bytes
}
END {
  for (axes in listed) {
    ++n
    total += listed[axes]
    if (listed[axes] != reported[axes]) {
      print "bytes over " axes " differ: " listed[axes] ", reported " reported[axes]
      bad = 1
    }
  }
  for (axes in reported)
    if (!(axes in listed)) {
      print "bytes over " axes " differ: reported, not listed"
      bad = 1
    }
  if (!bad) print n " axes, " total " bytes: the same"
}
