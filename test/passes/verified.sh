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
check() { # check PASSES
  "$bin/opt" -load-pass-plugin="$plugin" -passes="$1" \
    -verify-each -verify-dom-info -verify-loop-info -verify-scev \
    -disable-output "$dir/in.bc" 2>"$dir/err.txt" || fail "not sound: $1"
}
# Code for the processor is most of the module, and what follows the plugin does
# with it is asked once for all (cpu_verified.sh).
check nputeir,verify
without=min-macs=0,cpu=off
NPUTEIR_OPTIONS=$without check 'nputeir,verify,default<O2>'
"$bin/opt" -load-pass-plugin="$plugin" -disable-output \
  -passes='debugify,nputeir,check-debugify' "$dir/in.bc" 2>"$dir/all.txt"
# Code for the processor has functions of its own, of which no line is seen.
grep -E 'ERROR|empty DebugLoc' "$dir/all.txt" |
  grep -v 'in function nputeir\.' >"$dir/err.txt" &&
  fail "code without a place in the source"
for flags in "-g -Os" "-Oz -fstack-protector-strong" "-fsanitize=address -g" \
  "-fsanitize=undefined" "-fsanitize=thread" "-fsanitize=memory" \
  "-fprofile-generate -g" "-fprofile-instr-generate -fcoverage-mapping"; do
  # shellcheck disable=SC2086
  NPUTEIR_OPTIONS=$without "$bin/clang" -w -O2 -ffast-math $flags -fpass-plugin="$plugin" \
    -fverify-intermediate-code -c "$forms" -o "$dir/out.o" 2>"$dir/err.txt" ||
    fail "$flags"
done
exit $status
