#!/bin/sh
# cpu_verified.sh LLVM-BIN PLUGIN -- cpu_shapes.c with code for every kind of
# processor and of types is sound IR: as it is emitted, and after each pass that
# may follow; nothing that it is called from loses its place in the source.
set -u
bin=$1 plugin=$2
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
unset NPUTEIR_OPTIONS
clean='function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>)'
ours='nputeir<device=cpu,min-macs=0>'
fail() {
  echo "$target $types: $1"
  head -5 "$dir/err.txt"
  status=1
}
opt() { # PASSES OPTION..
  passes=$1
  shift
  "$bin/opt" -load-pass-plugin="$plugin" -passes="$passes" "$@" "$dir/in.bc" 2>"$dir/err.txt"
}
try() { # ALL|SOME TARGET-OPTIONS IN IN1 SUM
  target=$2 types="$3 $4 $5"
  # shellcheck disable=SC2086
  "$bin/clang" -w --target=$target -O1 -ffast-math -fwrapv -I"$here/freestanding" \
    -DIN=$3 -DIN1=$4 -DSUM=$5 -Xclang -disable-llvm-passes -emit-llvm \
    -c "$here/cpu_shapes.c" -o "$dir/in.bc" 2>"$dir/err.txt" &&
    "$bin/opt" -passes="$clean" "$dir/in.bc" -o "$dir/clean.bc" &&
    mv "$dir/clean.bc" "$dir/in.bc" || { fail "no IR"; return; }
  opt "$ours,verify" -verify-each -S -o "$dir/out.ll" || fail "not sound"
  grep -q '^define .*@nputeir\.' "$dir/out.ll" || fail "no code for the processor"
  [ "$1" = ALL ] || return
  opt "$ours,default<O3>" -verify-each -verify-dom-info -verify-loop-info -disable-output ||
    fail "not sound when it is optimised"
  opt "debugify,$ours,check-debugify" -disable-output
  grep -E 'ERROR|empty DebugLoc' "$dir/err.txt" |
    grep -v 'in function nputeir\.' >"$dir/all.txt"
  mv "$dir/all.txt" "$dir/err.txt"
  [ ! -s "$dir/err.txt" ] || fail "code without a place in the source"
}
x86=x86_64-linux-gnu arm=aarch64-linux-gnu power=powerpc64le-linux-gnu
v3="$x86 -mavx2 -mfma"
v4="$v3 -mavx512f -mavx512vl -mavx512bw -mavx512dq"
try ALL $x86 float float float
for target in "$v3" "$v3 -mavxvnni" "$v4" "$v4 -mavx512vnni" \
  "$v4 -mavx512vnni -mavx512bf16" "$arm" "$arm -march=armv8.2-a+dotprod+bf16+i8mm" \
  "$power -mcpu=power8" "$power -mcpu=power10"; do
  try SOME "$target" float float double
  try SOME "$target" int16_t int8_t int32_t
  try SOME "$target" uint8_t int8_t int32_t
  try SOME "$target" int32_t int32_t int64_t
done
for target in "$v3" "$v4 -mavx512vnni -mavx512bf16" "$arm -march=armv8.2-a+dotprod+bf16+i8mm"; do
  try SOME "$target" __bf16 __bf16 float
  try SOME "$target" _Float16 _Float16 float
done
try ALL "$v4 -mavx512vnni" uint8_t uint8_t int32_t
for types in cpu checks rewrite; do
  target=$types.ll
  cp "$here/$types.ll" "$dir/in.bc"
  opt "$ours,verify,default<O2>" -mtriple=$x86 -verify-each -S -o "$dir/out.ll" ||
    fail "not sound"
done
exit $status
