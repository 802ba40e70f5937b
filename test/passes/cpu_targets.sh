#!/bin/sh
# cpu_targets.sh LLVM-BIN PLUGIN -- cpu_shapes.c, some of its shapes, zero
# points and lanes, for processors that are emulated, without a C library; and
# how many instructions the loops of their kernels have.
set -u
bin=$1 plugin=$2
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0 ran=0
export NPUTEIR_OPTIONS=min-macs=0,device=cpu
linker=$bin/ld.lld
[ -x "$linker" ] || linker=$(command -v ld.lld-19 || command -v ld.lld) || exit 77
try() { # EMULATOR TARGET FLAGS IN IN1 SUM [FUNCTION PRODUCT PRODUCTS LEAST]
  command -v "${1%% *}" >/dev/null || return
  ran=1
  # shellcheck disable=SC2086
  set -- "$1" "--target=$2 $3 -O2 -ffast-math -fwrapv -fno-pic -I$here/freestanding" \
    "-DIN=$4 -DIN1=$5 -DSUM=$6 -DEACH=61" "${7:-}" "${8:-}" "${9:-}" "${10:-}"
  # shellcheck disable=SC2086
  "$bin/clang" $2 -ffreestanding -c "$here/freestanding/freestanding.c" -o "$dir/free.o" &&
    "$bin/clang" $2 $3 -DREFERENCE -c "$here/cpu_shapes.c" -o "$dir/loops.o" &&
    "$bin/clang" $2 $3 -fpass-plugin="$plugin" -Rpass=nputeir -c "$here/cpu_shapes.c" \
      -o "$dir/shapes.o" 2>"$dir/remarks" &&
    "$linker" "$dir/free.o" "$dir/loops.o" "$dir/shapes.o" -o "$dir/shapes" ||
    { echo "$2 $3: no program"; status=1; return; }
  taken=$(grep -c "by code for the processor" "$dir/remarks")
  [ "$taken" = 24 ] || { echo "$2 $3: $taken of 24 nests are taken"; status=1; }
  $1 "$dir/shapes" || { echo "$2 $3 failed"; status=1; }
  [ -z "$4" ] ||
    "$bin/llvm-objdump" -d --no-show-raw-insn "$dir/shapes.o" |
    python3 "$here/cpu_loop.py" "nputeir.multiply.$4." "$5" "$6" "$7" ||
    { echo "$2 $3: too many instructions in the loop"; status=1; }
}
program() { # EMULATOR TARGET FLAGS NAME: a program that says what differs
  command -v "${1%% *}" >/dev/null || return
  set -- "$1" "--target=$2 $3 -O2 -ffast-math -fwrapv -fno-pic -I$here/freestanding" "$4"
  # shellcheck disable=SC2086
  "$bin/clang" $2 -ffreestanding -c "$here/freestanding/freestanding.c" -o "$dir/free.o" &&
    "$bin/clang" $2 -fpass-plugin="$plugin" -c "$here/$3.c" -o "$dir/$3.o" &&
    "$linker" "$dir/free.o" "$dir/$3.o" -o "$dir/$3" &&
    $1 "$dir/$3" | grep -q ", 0 different" || { echo "$3 $2 failed"; status=1; }
}
zeros() { # EMULATOR TARGET FLAGS: and the tests of zero points
  program "$@" cpu_zero_points
  program "$@" cpu_zero_margins
}
arm="qemu-aarch64 -cpu max" linux=aarch64-linux-gnu
v8=-march=armv8-a dot=-march=armv8.2-a+dotprod all=-march=armv8.2-a+dotprod+bf16+i8mm
try "$arm" $linux $v8 float float float f32.12 fmla 24 26.5
try "$arm" $linux $v8 double double double f64.12 fmla 24 28
try "$arm" $linux $v8 int8_t uint8_t int32_t
try "$arm" $linux $dot int8_t int8_t int32_t i32.i8.i8.12 sdot 24 26.5
try "$arm" $linux $dot uint8_t int8_t int32_t i32.i8.i8.offset.12 sdot 24 26.5
try "$arm" $linux $dot uint8_t uint8_t int32_t i32.u8.u8.12 udot 24 26.5
try "$arm" $linux $all int8_t int8_t int32_t i32.i8.i8.12 smmla 24 29
try "$arm" $linux $all uint8_t uint8_t int32_t i32.u8.u8.12 ummla 24 29
try "$arm" $linux $all uint8_t int8_t int32_t i32.u8.i8.12 usmmla 24 29
try "$arm" $linux $all int8_t uint8_t int32_t i32.i8.u8.12 usmmla 24 29
try "$arm" $linux $all __bf16 __bf16 float f32.bf16.bf16.12 bfmmla 24 29
program "$arm" $linux $dot neon
for flags in $v8 $dot $all; do
  zeros "$arm" $linux "$flags"
done
power="qemu-ppc64le -cpu power10" linux=powerpc64le-linux-gnu
try "$power" $linux -mcpu=power8 float float double
try "$power" $linux -mcpu=power10 float float float f32.f32.f32.8 xvf32gerpp 8 11
try "$power" $linux -mcpu=power10 float double double f64.f64.f64.8 xvf64gerpp 8 12
try "$power" $linux -mcpu=power10 int8_t int8_t int32_t i32.i16.i16.8 xvi16ger2pp 8 11
try "$power" $linux -mcpu=power10 int8_t uint8_t int32_t i32.i8.u8.8 xvi8ger4pp 8 11
try "$power" $linux -mcpu=power10 uint8_t uint8_t int32_t i32.i8.u8.offset.8 xvi8ger4pp 8 11
zeros "$power" $linux -mcpu=power8
zeros "$power" $linux -mcpu=power10
[ $ran = 1 ] || exit 77
exit $status
