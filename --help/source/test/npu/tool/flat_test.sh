#!/bin/bash
# flat_test.sh NPUTEIR -- schedules in the flat form (TECs): each is mapped,
# built and simulated as it is written, its tensors where they lie, and right.
set -u
nputeir=$1 here=$(dirname "$0")/flat failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for tec in "$here"/*.tec; do
  if ! "$nputeir" map "$tec" >"$folder/map" 2>&1 ||
    ! "$nputeir" build "$tec" -o "$folder/out" >"$folder/build" 2>&1 ||
    ! "$nputeir" sim "$tec" --strict >"$folder/sim" 2>&1 ||
    ! grep -q '^right=1' "$folder/sim" || ! grep -q '^packed=-' "$folder/sim"
  then
    echo "flat_test: $tec"
    cat "$folder"/map "$folder"/build "$folder"/sim
    failures=$((failures + 1))
  fi
  rm -rf "$folder"/*
done
[ $failures -eq 0 ] && [ -e "$tec" ]
