#!/bin/sh
# same_result.sh CLANG PLUGIN RUNTIME.so FORMS.c [DONE] -- the forms of one file
# give the same result from plain clang and with the plugin, at every level, when
# the runtime works, declines, and is not there; and it does exactly DONE calls,
# or as many as the file says, or, with a dash, any number.
# NPUTEIR_TEST_QUICK: -O2 only.  How the plugin runs when linking depends little
# on the forms: a few files try all ways.
# Code for the processor is there in the first build, and with it some calls
# more; in others the loop runs where a call declines (cpu_same.sh has that code
# at all levels).
set -u
export NPUTEIR_OPTIONS=min-macs=0 # some forms are small
without=min-macs=0,cpu=off
clang=$1 plugin=$2 runtime=$3 forms=$4
want=${5:-$(sed -n 's,^// DONE: ,,p' "$forms")}
[ -n "$want" ] || { echo "$forms does not say how many calls are done"; exit 1; }
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
libdir=$(dirname "$runtime")
lib=$(basename "$runtime" .so)

"$clang" -I"$here" -O1 -fwrapv -DRUNS "$here/run.c" "$forms" -lm -o "$dir/plain" || exit 1
"$dir/plain" >"$dir/plain.txt" || exit 1
count_done() { # count_done LEVEL
  done=$(sed -n 's/^calls done=\([0-9]*\) .*/\1/p' "$dir/err.txt")
  echo "$(basename "$forms") $1: $(cat "$dir/err.txt")"
  [ "$want" = - ] || [ "$done" = "$want" ] ||
    { [ "$NPUTEIR_OPTIONS" = $without ] && [ "$done" -gt 0 ]; } ||
    { echo "$forms $1: $done calls were done, not $want"; status=1; }
}
check() { # check FLAGS
  level=$1
  # shellcheck disable=SC2086
  "$clang" $level -ffast-math -fpass-plugin="$plugin" -I"$here" -DRUNS "$here/run.c" "$forms" \
    -lm -o "$dir/npu" -L"$libdir" "-l${lib#lib}" "-Wl,-rpath,$libdir" || exit 1
  for mode in works declines; do
    [ $mode = works ] || export NPUTEIR_TEST_DECLINE=1
    NPUTEIR_TEST_COUNT=1 "$dir/npu" >"$dir/npu.txt" 2>"$dir/err.txt" ||
      { echo "$forms $level $mode: exit status $?"; status=1; }
    unset NPUTEIR_TEST_DECLINE
    if ! cmp -s "$dir/plain.txt" "$dir/npu.txt"; then
      echo "$forms $level $mode: results differ"
      diff "$dir/plain.txt" "$dir/npu.txt" | grep '^>' | head -5
      status=1
    fi
    [ $mode = declines ] || count_done "$level"
  done
}

check -O2
export NPUTEIR_OPTIONS=$without
if [ -z "${NPUTEIR_TEST_QUICK:-}" ]; then
  check -O1
  check -O3
fi
if [ -z "${NPUTEIR_TEST_QUICK:-}" ] && "$clang" -fuse-ld=lld -flto=thin \
  -x c /dev/null -shared -o "$dir/probe" 2>/dev/null; then
  check "-O2 -flto=thin -fuse-ld=lld"
  case $forms in
  */orders.c | */flow.c | */tails.c | */types.c)
    check "-O2 -fno-strict-aliasing"
    export NPUTEIR_OPTIONS=min-macs=0
    check "-O2 -flto=full -fuse-ld=lld"
    check "-O2 -flto=thin -fuse-ld=lld -Wl,--load-pass-plugin=$plugin"
    ;;
  esac
fi
"$clang" -O2 -ffast-math -fpass-plugin="$plugin" -I"$here" -DRUNS "$here/run.c" "$forms" \
  -lm -o "$dir/alone" && "$dir/alone" >"$dir/npu.txt" || status=1
cmp "$dir/plain.txt" "$dir/npu.txt" || status=1
exit $status
