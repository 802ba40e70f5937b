#!/bin/sh
# cpu_shapes.sh CLANG PLUGIN -- cpu_shapes.c with code for the processor, in
# several types, for any, for this processor and for some that it is like.
set -u
clang=$1 plugin=$2
source=$(dirname "$0")/cpu_shapes.c
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
export NPUTEIR_OPTIONS=min-macs=0,device=cpu
has() { # FLAG.. : are they all in /proc/cpuinfo?
  for flag; do
    grep -qsw "$flag" /proc/cpuinfo || return 1
  done
}
try() { # FLAGS IN IN1 SUM
  types="-DIN=$2 -DIN1=$3 -DSUM=$4" zeros=
  for flag in $1; do
    case $flag in -DZ*) zeros="$zeros $flag" ;; esac
  done
  loops="$dir/$2-$3-$4$(echo "$zeros" | tr -d ' ').o"
  # shellcheck disable=SC2086
  [ -e "$loops" ] ||
    "$clang" -O1 -ffast-math -fwrapv $types $zeros -DREFERENCE -c "$source" -o "$loops" || exit 1
  # shellcheck disable=SC2086
  "$clang" $1 -ffast-math -fwrapv $types -fpass-plugin="$plugin" -Rpass=nputeir \
    "$source" "$loops" -o "$dir/shapes" 2>"$dir/remarks" || exit 1
  taken=$(grep -c "by code for the processor" "$dir/remarks")
  [ "$taken" = 24 ] || { echo "$types: $taken of 24 nests are taken"; status=1; }
  "$dir/shapes" || { echo "$1 $types failed"; status=1; }
}
# Code for the processor is defined when the rest has been optimised: the level
# matters to what is around it.
try "-O3 -march=native" float float float
for flags in "-O2" "-O1 -march=native"; do
  for types in "float float float" "double double double" "float float double" \
    "int8_t int8_t int32_t" "uint8_t int8_t int32_t" "__bf16 __bf16 float" \
    "int16_t int16_t int64_t" "int32_t int32_t int32_t"; do
    # shellcheck disable=SC2086
    try "$flags" $types
  done
done
# Less zero points.
try "-O2 -DZ0=-128" int8_t int8_t int32_t
try "-O3 -march=native -DZ0=131 -DZ1=-70000" uint8_t uint8_t int32_t
try "-O1 -DZ1=7" int16_t int16_t int64_t
# Code for better processors than the one that is asked for.
try "-O2 -march=nehalem" uint8_t int8_t int32_t
try "-O1 -march=core2" __bf16 __bf16 float
# What is multiplied in groups, by the instructions of each.
v3="-O1 -mavx2 -mfma"
v4="$v3 -mavx512f -mavx512vl -mavx512bw -mavx512dq"
try -O1 int16_t int8_t int32_t
has avx2 fma && try "$v3" uint8_t uint8_t int32_t
has avx2 fma avx_vnni && try "$v3 -mavxvnni" int8_t uint8_t int32_t
has avx2 fma avx_vnni && try "$v3 -mavxvnni" uint8_t uint8_t int32_t
has avx2 fma avx512vl avx512bw avx512dq && try "$v4" int16_t int16_t int32_t
has avx512vl avx512bw avx512dq avx512_vnni && try "$v4 -mavx512vnni" uint8_t uint8_t int32_t
has avx512vl avx512bw avx512dq avx512_vnni && try "$v4 -mavx512vnni" int16_t uint8_t int32_t
has avx512vl avx512bw avx512dq avx512_vnni avx512_bf16 &&
  try "$v4 -mavx512vnni -mavx512bf16" __bf16 __bf16 float
# Tiles.
if has amx_tile amx_int8 amx_bf16; then
  amx="-march=sapphirerapids -O1"
  try "$amx" int8_t uint8_t int32_t
  try "$amx" uint8_t uint8_t int32_t
  try "$amx -DZ0=128 -DZ1=-3" uint8_t uint8_t int32_t
else
  echo "this processor has no AMX: no product of tiles is run"
fi
exit $status
