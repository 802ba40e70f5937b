#!/bin/bash
# random_programs.sh CLANG PLUGIN RUNTIME.so SEED COUNT RUNS [TOGETHER] -- whole
# programs are compiled with the plugin, each file within 20 seconds of processor
# time; the first RUNS of them print what those of plain clang print.  A file has
# one program, or as many as TOGETHER says.
set -u
clang=$1 plugin=$2 runtime=$3 seed=$4 count=$5 runs=$6 together=${7-1}
here=$(cd "$(dirname "$0")" && pwd)
libdir=$(dirname "$runtime") lib=$(basename "$runtime" .so)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 "$here/random_programs.py" "$seed" "$count" "$dir" "$together" ||
  exit 1
levels=("-O2 -ffast-math" "-O3 -ffast-math" "-O2" "-O1 -ffast-math"
  "-Os -ffast-math")
status=0

fail() { # fail NUMBER LEVEL WHAT
  echo "file $1 of seed $seed, $2: $3"
  status=1
}

for ((i = 0; i * together < count; i++)); do
  level=${levels[i % ${#levels[@]}]}
  # shellcheck disable=SC2086
  (ulimit -St 20 && exec timeout 600 "$clang" $level -w \
    -fpass-plugin="$plugin" -c "$dir/$i.c" -o "$dir/$i.o") 2>"$dir/err.txt" ||
    { fail "$i" "$level" "compile status $? (137, 152: no end)"
      tail -n 3 "$dir/err.txt"; continue; }
  ((i * together < runs)) || continue
  "$clang" -w -O1 "$dir/$i.c" -o "$dir/plain" && "$dir/plain" \
    >"$dir/plain.txt" || { fail "$i" -O1 "plain status $?"; continue; }
  "$clang" "$dir/$i.o" -o "$dir/npu" -L"$libdir" "-l${lib#lib}" \
    "-Wl,-rpath,$libdir" || { fail "$i" "$level" "does not link"; continue; }
  NPUTEIR_TEST_COUNT=1 "$dir/npu" >"$dir/npu.txt" 2>>"$dir/calls.txt" ||
    fail "$i" "$level" "exit status $?"
  cmp -s "$dir/plain.txt" "$dir/npu.txt" || fail "$i" "$level" "results differ"
done
echo "$count programs compiled, $runs run, $(awk -F'[= ]' \
  '{ n += $3 } END { print n + 0 }' "$dir/calls.txt" 2>/dev/null) calls taken"
exit $status
