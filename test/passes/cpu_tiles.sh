#!/bin/sh
# cpu_tiles.sh CLANG PLUGIN -- cpu_tiles.c, for any processor and for one with
# tiles, and how much they add to an object.
set -u
clang=$1 plugin=$2
source=$(dirname "$0")/cpu_tiles.c
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
export NPUTEIR_OPTIONS=device=cpu
has_amx() {
  for flag in amx_tile amx_int8 amx_bf16; do
    grep -qsw $flag /proc/cpuinfo || return 1
  done
}
has_amx || { echo "this processor has no AMX: nothing is run"; exit 77; }
for flags in -O2 "-O3 -march=sapphirerapids" "-O1 -march=sapphirerapids"; do
  # shellcheck disable=SC2086
  "$clang" $flags -ffast-math -fwrapv -fpass-plugin="$plugin" -pthread "$source" \
    -o "$dir/tiles" || exit 1
  for how in granted filter stack threads config; do
    "$dir/tiles" $how
    result=$?
    [ $result != 77 ] || echo "$how cannot be tried here"
    [ $result = 0 ] || [ $result = 77 ] || { echo "$flags: $how fails"; status=1; }
  done
done
exit $status
