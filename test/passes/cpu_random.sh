#!/bin/sh
# cpu_random.sh CLANG PLUGIN GENERATOR.py SEED COUNT LEAST -- random nests give the
# same by code for the processor, which LEAST get, for this one and for any, as in
# plain clang.
set -u
clang=$1 plugin=$2 seed=$4 count=$5 least=$6
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
python3 "$here/$3" "$seed" "$count" >"$dir/all.c" &&
  "$clang" -O1 -w "$dir/all.c" -o "$dir/plain" && "$dir/plain" >"$dir/plain.txt" || exit 1
export NPUTEIR_OPTIONS=min-macs=0,device=cpu
native=
grep -qs avx2 /proc/cpuinfo && native="-O1 -mavx2 -mfma"
for flags in "-O2" "-O1 -march=native" "$native"; do
  [ -n "$flags" ] || continue
  # shellcheck disable=SC2086
  "$clang" $flags -w -ffast-math -Rpass=nputeir -fpass-plugin="$plugin" "$dir/all.c" \
    -o "$dir/cpu" 2>"$dir/remarks" || { tail -3 "$dir/remarks"; exit 1; }
  taken=$(grep -c "code for the processor" "$dir/remarks")
  [ "$taken" -ge "$least" ] || { echo "$flags: $taken of $count are taken"; status=1; }
  "$dir/cpu" >"$dir/cpu.txt" || { echo "seed $seed, $flags: exit status $?"; status=1; }
  cmp "$dir/plain.txt" "$dir/cpu.txt" || { echo "seed $seed, $flags: results differ"; status=1; }
done
exit $status
