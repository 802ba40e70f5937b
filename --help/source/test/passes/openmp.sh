#!/bin/sh
# openmp.sh CLANG PLUGIN RUNTIME.so -- products in OpenMP's loops are the same
# with and without the plugin, whatever the number of threads.  Skipped where
# OpenMP's runtime is not installed.
set -u
export NPUTEIR_OPTIONS=min-macs=0 NPUTEIR_TEST_COUNT=1
clang=$1 plugin=$2 runtime=$3
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
libdir=$(dirname "$runtime")
lib=$(basename "$runtime" .so)
status=0

# That of an older release lacks what this clang calls.
"$clang" -fopenmp -w "$here/openmp.c" -o "$dir/probe" 2>/dev/null &&
  "$dir/probe" >"$dir/probe.txt" ||
  { echo "OpenMP's runtime of this clang (libomp-dev) is not there"; exit 77; }

"$clang" -O1 -fwrapv -w "$here/openmp.c" -o "$dir/plain" || exit 1
"$dir/plain" >"$dir/plain.txt" || exit 1
for level in -O1 -O2 -O3; do
  "$clang" $level -fopenmp -w -fpass-plugin="$plugin" "$here/openmp.c" \
    -o "$dir/npu" -L"$libdir" "-l${lib#lib}" "-Wl,-rpath,$libdir" ||
    exit 1
  for threads in 1 2 3 8; do
    OMP_NUM_THREADS=$threads "$dir/npu" >"$dir/npu.txt" 2>"$dir/err.txt" ||
      { echo "$level, $threads threads: exit status $?"; status=1; }
    echo "$level, $threads threads: $(cat "$dir/err.txt")"
    grep -q 'calls done=[1-9][0-9]' "$dir/err.txt" ||
      { echo "$level, $threads threads: hardly a call is done"; status=1; }
    diff "$dir/plain.txt" "$dir/npu.txt" >"$dir/diff.txt" ||
      { echo "$level, $threads threads: results differ"
        head -5 "$dir/diff.txt"; status=1; }
  done
done
exit $status
