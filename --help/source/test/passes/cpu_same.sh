#!/bin/sh
# cpu_same.sh CLANG PLUGIN FORMS.c -- the forms of one file give the same result
# from plain clang and by code for the processor, with nothing linked.
set -u
clang=$1 plugin=$2 forms=$3
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
"$clang" -I"$here" -O1 -fwrapv -DRUNS "$here/run.c" "$forms" -lm -o "$dir/plain" || exit 1
"$dir/plain" >"$dir/plain.txt" || exit 1
export NPUTEIR_OPTIONS=min-macs=0,device=cpu
native=
grep -qs avx2 /proc/cpuinfo && native="-O1 -mavx2 -mfma"
for flags in "-O2" "-O3 -march=native" "$native"; do
  [ -n "$flags" ] || continue
  # shellcheck disable=SC2086
  "$clang" $flags -ffast-math -fpass-plugin="$plugin" -I"$here" -DRUNS "$here/run.c" "$forms" \
    -lm -o "$dir/cpu" || exit 1
  "$dir/cpu" >"$dir/cpu.txt" || { echo "$forms $flags: exit status $?"; status=1; }
  cmp "$dir/plain.txt" "$dir/cpu.txt" || { echo "$forms $flags: results differ"; status=1; }
done
exit $status
