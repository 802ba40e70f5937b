#!/bin/sh
# same_result.sh CLANG PLUGIN RUNTIME.so FORMS.c [DONE] -- the forms of one file
# give the same result from plain clang and with the plugin, when the runtime
# works, declines, and is not there, and by code for the processor; and the
# runtime does exactly DONE calls, or as many as the file says, or, with a dash,
# any number.
# NPUTEIR_TEST_QUICK: -O2 only, and code for any processor.
# cc links sooner than clang.
set -u
export NPUTEIR_OPTIONS=min-macs=0 # some forms are small
without=min-macs=0,cpu=off
clang=$1 plugin=$2 runtime=$3 forms=$4 quick=${NPUTEIR_TEST_QUICK:-}
want=${5:-$(sed -n 's,^// DONE: ,,p' "$forms")}
[ -n "$want" ] || { echo "$forms does not say how many calls are done"; exit 1; }
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
verify= # clang 14 has no such option
[ -n "$quick" ] || verify=-fverify-intermediate-code
status=0
name=$(basename "$forms")
libdir=$(dirname "$runtime")
lib=$(basename "$runtime" .so)

problem() {
  echo "$name $1"
  status=1
}
compile() { # compile FLAGS: the forms, to an object
  # shellcheck disable=SC2086
  "$clang" $1 -I"$here" -DRUNS -c "$forms" -o "$dir/forms.o" || exit 1
}
offload() { # offload FLAGS: the same, with the plugin
  compile "$1 -ffast-math $verify -fpass-plugin=$plugin"
}
link() { # link OPTION..: the object to a program
  cc "$dir/forms.o" "$dir/run.o" -lm -o "$dir/program" "$@" || exit 1
}
linked() { # linked: a program with the runtime
  link -Wl,--no-as-needed -L"$libdir" "-l${lib#lib}" "-Wl,-rpath,$libdir"
}
same() { # same WHAT [VARIABLE=VALUE]: the program prints what plain clang's does
  what=$1
  shift
  env "$@" "$dir/program" >"$dir/out.txt" 2>"$dir/err.txt" ||
    problem "$what: exit status $?"
  cmp -s "$dir/plain.txt" "$dir/out.txt" && return
  problem "$what: results differ"
  diff "$dir/plain.txt" "$dir/out.txt" | grep '^>' | head -5
}
works() { # works WHAT: the program's runtime does what it must, or declines
  same "$1" NPUTEIR_TEST_COUNT=1
  done=$(sed -n 's/^calls done=\([0-9]*\) .*/\1/p' "$dir/err.txt")
  echo "$name $1: $(cat "$dir/err.txt")"
  [ "$want" = - ] || [ "$done" = "$want" ] ||
    { [ "$NPUTEIR_OPTIONS" = $without ] && [ "$done" -gt 0 ]; } ||
    problem "$1: $done calls were done, not $want"
  same "$1, declined" NPUTEIR_TEST_DECLINE=1
}
lto() { # lto FLAGS: lld makes a program with the runtime
  # shellcheck disable=SC2086
  "$clang" -O2 $1 -fuse-ld=lld -ffast-math -fpass-plugin="$plugin" -I"$here" -DRUNS \
    "$forms" "$dir/run.o" -lm -o "$dir/program" -L"$libdir" "-l${lib#lib}" \
    "-Wl,-rpath,$libdir" || exit 1
  works "$1"
}

"$clang" -I"$here" -O1 -fwrapv -c "$here/run.c" -o "$dir/run.o" || exit 1
compile "-O1 -fwrapv"
link
"$dir/program" >"$dir/plain.txt" || exit 1

# Where a call declines, code for the processor runs, and is that of device=cpu.
offload -O2
linked
works -O2
if [ -z "$quick" ]; then
  export NPUTEIR_OPTIONS=min-macs=0,device=cpu
  ! grep -qs avx2 /proc/cpuinfo || {
    offload "-O1 -mavx2 -mfma"
    link
    same "-mavx2 -mfma"
  }
  offload "-O1 -march=native"
  link
  same -march=native
fi

# The loop runs where a call declines, and where there is no runtime.  The pass
# takes its place before a function is optimised: at all levels it reads the same,
# but for callees, which were optimised before, and the arguments of local
# functions.  A file that has no such functions tries one.
export NPUTEIR_OPTIONS=$without
turn=$(($(echo "$name" | cksum | cut -d" " -f1) % 3))
levels=-O3
if [ -n "$quick" ]; then
  levels=-O2
elif grep -qE 'static .*\(|noinline' "$forms"; then
  levels="-O1 -O3"
elif [ $turn = 1 ]; then
  levels=-O1
fi
for level in $levels; do
  offload "$level"
  linked
  works "$level"
  link
  same "$level alone"
done
# How the plugin runs when linking depends little on the forms: a few files try
# all ways, one of them with code for the processor.
[ -z "$quick" ] && "$clang" -fuse-ld=lld -flto=thin -x c /dev/null -shared \
  -o "$dir/probe" 2>/dev/null || exit $status
case $name in
orders.c | flow.c | tails.c | types.c)
  lto -flto=thin
  offload "-O2 -fno-strict-aliasing"
  linked
  works -fno-strict-aliasing
  [ "$name" != orders.c ] || export NPUTEIR_OPTIONS=min-macs=0
  lto -flto=full
  lto "-flto=thin -Wl,--load-pass-plugin=$plugin"
  ;;
*) [ $turn != 0 ] || lto -flto=thin ;;
esac
exit $status
