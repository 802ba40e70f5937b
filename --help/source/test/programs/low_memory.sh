#!/bin/bash
# low_memory.sh CLANG PLUGIN LIBDIR PROGRAM.c [args] -- a program that has
# little memory, or a small stack, prints what it prints without the plugin.
# Memory is cut at several places between what the loader needs and what the
# simulator needs; a stack of 64 KB must not even keep a device from working.
set -eu
clang=$1 plugin=$2 libdir=$3 source=$4
shift 4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
problem() { echo "low_memory: $*" >&2; status=1; }

"$clang" -O2 -ffast-math -fpass-plugin="$plugin" "$source" -o "$dir/npu" \
  -L"$libdir" -lnputeir-rt -Wl,-rpath,"$libdir"
NPUTEIR_DEVICE=cpu "$dir/npu" "$@" >"$dir/plain.txt"

run() { # run NAME DEVICE ULIMIT-OPTION KILOBYTES
  (
    ulimit "$3" "$4"
    NPUTEIR_DEVICE=$2 NPUTEIR_TRACE=1 "$dir/npu" "${args[@]}" \
      >"$dir/out.txt" 2>"$dir/err.txt"
  ) || problem "$1: exit status $?"
  cmp -s "$dir/plain.txt" "$dir/out.txt" ||
    problem "$1: the output differs: $(head -3 "$dir/err.txt")"
}
args=("$@")
for kb in 20000 25000 30000 35000 40000 60000; do
  run "$kb KB of memory" sim -v $kb
  [ $kb -gt 30000 ] || grep -q 'reason="no memory"' "$dir/err.txt" ||
    problem "$kb KB of memory were enough: $(head -3 "$dir/err.txt")"
done
for device in sim host; do
  run "64 KB of stack, $device" $device -s 64
  grep -q 'status=done' "$dir/err.txt" ||
    problem "64 KB of stack, $device: $(head -3 "$dir/err.txt")"
done
exit $status
