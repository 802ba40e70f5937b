#!/bin/sh
# The files of a module call each other in layers: no cycle between the objects
# of an archive, by the symbols that they define and need.
# Usage: call_cycles_test.sh ARCHIVE...
command -v nm >/dev/null && command -v tsort >/dev/null || {
  echo "skipped: nm or tsort is missing"
  exit 77
}
failures=0
for archive; do
  arcs=$(nm -A "$archive" | awk '
    { file = $1; sub(/:[0-9a-fA-F]*$/, "", file); sub(/.*:/, "", file)
      kind = $(NF - 1); name = $NF }
    kind == "U" { needs[file, name] = 1 }
    kind ~ /^[TDRBC]$/ { home[name] = file }
    END {
      for (n in needs) {
        split(n, at, SUBSEP)
        if (at[2] in home && home[at[2]] != at[1])
          print at[1], home[at[2]]
      }
    }')
  [ -n "$arcs" ] || {
    echo "$archive: no file of it calls another"
    failures=$((failures + 1))
  }
  loops=$(echo "$arcs" | tsort 2>&1 >/dev/null) && [ -z "$loops" ] || {
    echo "$archive: files that call each other in a circle:"
    echo "$loops" | head -n 20
    failures=$((failures + 1))
  }
done
exit $((failures > 0))
