#!/bin/sh
# verified.sh LLVM_BIN PLUGIN FORMS.c -- what the pass makes of the forms is
# sound IR, of which analyses say the same as before; what it adds has places in
# the source; and other instrumentation gets along with it.
set -u
export NPUTEIR_OPTIONS=min-macs=0 # some forms are small
bin=$1 plugin=$2 forms=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
fail() {
  echo "$(basename "$forms"): $1"
  head -5 "$dir/err.txt"
  status=1
}

"$bin/clang" -w -O2 -ffast-math -Xclang -disable-llvm-passes -emit-llvm \
  -c "$forms" -o "$dir/raw.bc" || exit 1
"$bin/opt" -passes='function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>)' \
  "$dir/raw.bc" -o "$dir/in.bc" || exit 1
check() { # check PASSES: what opt says is in all.txt
  "$bin/opt" -load-pass-plugin="$plugin" -passes="$1" \
    -verify-each -verify-dom-info -verify-loop-info -verify-scev \
    -disable-output "$dir/in.bc" 2>"$dir/all.txt" ||
    { mv "$dir/all.txt" "$dir/err.txt"; fail "not sound: $1"; }
}
# Code for the processor is most of the module, and what follows the plugin does
# with it is asked once for all (cpu_verified.sh).
without=min-macs=0,cpu=off
NPUTEIR_OPTIONS=$without check 'nputeir,verify,default<O2>'
check debugify,nputeir,verify,check-debugify
# Code for the processor has functions of its own, of which no line is seen.
grep -E 'ERROR|empty DebugLoc' "$dir/all.txt" |
  grep -v 'in function nputeir\.' >"$dir/err.txt" &&
  fail "code without a place in the source"
# The pass takes its place before a function is optimised: of the first two, and
# of the next three, of which it leaves the last alone, it reads the same nests.
# A file is compiled for one of either, and to IR, which is verified: what the
# code generator makes of it, no file asks twice (same_result.sh).
turn=$(($(basename "$forms" | cksum | cut -d" " -f1) % 6))
size="-g -Os" sanitizer="-fsanitize=address -g"
[ $((turn % 2)) = 0 ] || size="-Oz -fstack-protector-strong"
case $((turn / 2)) in
1) sanitizer=-fsanitize=thread ;;
2) sanitizer=-fsanitize=memory ;;
esac
for flags in "$size" "$sanitizer" "-fsanitize=undefined" \
  "-fprofile-generate -g" "-fprofile-instr-generate -fcoverage-mapping"; do
  # shellcheck disable=SC2086
  NPUTEIR_OPTIONS=$without "$bin/clang" -w -O2 -ffast-math $flags -fpass-plugin="$plugin" \
    -fverify-intermediate-code -emit-llvm -c "$forms" -o "$dir/out.bc" 2>"$dir/err.txt" ||
    fail "$flags"
done
exit $status
