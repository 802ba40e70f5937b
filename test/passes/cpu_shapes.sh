#!/bin/sh
# cpu_shapes.sh CLANG PLUGIN -- cpu_shapes.c with code for the processor, in
# several types, for any and for this processor.
set -u
clang=$1 plugin=$2
source=$(dirname "$0")/cpu_shapes.c
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
export NPUTEIR_OPTIONS=min-macs=0,device=cpu
for flags in "-O2" "-O3 -march=native"; do
  for types in "float float" "double double" "float double" "int8_t int32_t" "int16_t int64_t" \
    "int32_t int32_t"; do
    # shellcheck disable=SC2086
    set -- $types
    # shellcheck disable=SC2086
    "$clang" $flags -ffast-math -DIN="$1" -DSUM="$2" -DREFERENCE -c "$source" -o "$dir/loops.o" &&
      "$clang" $flags -ffast-math -DIN="$1" -DSUM="$2" -fpass-plugin="$plugin" -Rpass=nputeir \
        "$source" "$dir/loops.o" -o "$dir/shapes" 2>"$dir/remarks" || exit 1
    taken=$(grep -c "by code for the processor" "$dir/remarks")
    [ "$taken" = 18 ] || { echo "$types: $taken of 18 nests are taken"; status=1; }
    "$dir/shapes" || { echo "$flags $types failed"; status=1; }
  done
done
exit $status
