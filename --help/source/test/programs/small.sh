#!/bin/bash
# small.sh CLANG PLUGIN LIBDIR FAKE_DRIVER SMALL.c [LIMIT] -- what a program
# with many small products pays for the runtime, in instructions of a call and
# as a share of its plain build: without an NPU, and with one (a library stands
# for its driver) that is slower for them.  Instructions are counted, so that a
# busy machine does not matter; those of the process's start cancel, since each
# figure is a difference of two runs.  Fails where a share is above LIMIT per
# cent of a product.  Code for the processor would run in the loops' place.
set -eu
clang=$1 plugin=$2 libdir=$3 fake=$4 source=$5 limit=${6:-2}
command -v valgrind >/dev/null || {
  echo "skipped: valgrind is missing"
  exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$clang" -O2 "$source" -o "$dir/plain"
NPUTEIR_OPTIONS=cpu=off "$clang" -O2 -fpass-plugin="$plugin" "$source" -o "$dir/npu" -L"$libdir" \
  -lnputeir-rt -Wl,-rpath,"$libdir"
export XDG_CACHE_HOME=/dev/null

instructions() { # instructions WHERE PROGRAM ARGS...: of the whole process
  local where=()
  [ "$1" = - ] || where=("LD_PRELOAD=$1" NPUTEIR_ACCEL=/dev/accel/fake \
    FAKE_AMDXDNA=slow=1000)
  shift
  env "${where[@]}" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}
status=0
measure() { # measure NAME DRIVER SIDE [new]; DRIVER is a dash for none
  local name=$1 driver=$2 side=$3 few=100 many=600 of=()
  shift 3
  for program in plain npu; do
    local where=-
    [ $program = plain ] || where=$driver
    of+=($(($(instructions "$where" "$dir/$program" "$side" $many "$@") - \
      $(instructions "$where" "$dir/$program" "$side" $few "$@"))))
  done
  awk -v n="$name" -v s="$side" -v w="${1:-same} sizes" -v a="${of[0]}" \
    -v b="${of[1]}" -v m=$((many - few)) -v l="$limit" 'BEGIN {
      printf "%s, %s, %dx%dx%d: %d instructions a call more, %.2f %%\n", n, w,
        s, s, s, (b - a) / m, 100 * (b - a) / a
      exit 100 * (b - a) / a > l }' || {
    echo "small.sh: more than $limit %" >&2
    status=1
  }
}
for side in 4 8 16 32; do
  for what in "" new; do
    # shellcheck disable=SC2086
    measure "no NPU" - $side $what
    # shellcheck disable=SC2086
    measure "an NPU" "$fake" $side $what
  done
done
exit $status
