#!/bin/sh
# random_convolutions.sh CLANG PLUGIN SEED COUNT LEAST -- random convolutions with
# margins give the same result by code for the processor, which LEAST get.
set -u
clang=$1 plugin=$2 least=$5
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 "$here/random_convolutions.py" "$3" "$4" >"$dir/c.c" || exit 1
"$clang" -w -O1 "$dir/c.c" -o "$dir/plain" || exit 1
"$dir/plain" >"$dir/plain.txt" || exit 1
status=0
for flags in "-O2" "-O3 -march=native"; do
  # shellcheck disable=SC2086
  NPUTEIR_OPTIONS=min-macs=0,device=cpu "$clang" -w $flags -ffast-math \
    -fpass-plugin="$plugin" -Rpass=nputeir "$dir/c.c" -o "$dir/cpu" 2>"$dir/remarks" || exit 1
  taken=$(grep -c 'remark: .*code for the processor' "$dir/remarks")
  [ "$taken" -ge "$least" ] || { echo "$flags: $taken taken, not $least"; status=1; }
  "$dir/cpu" >"$dir/cpu.txt" || { echo "$flags: exit status $?"; status=1; }
  cmp "$dir/plain.txt" "$dir/cpu.txt" || { echo "$flags: results differ"; status=1; }
done
exit $status
