#!/bin/bash
# cpu_bench_test.sh NPUTEIR -- `nputeir bench cpu` runs one case by its name;
# words that are none, nor begin one, are refused.  Skipped without clang-19.
nputeir=$1
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
command -v clang-19 >/dev/null || { echo "there is no clang-19"; exit 77; }
cases() { # cases NAME LINES: so many lines, each of a case that begins so
  $nputeir bench cpu "$1" >out 2>&1 || fail "status $? of $1: $(cat out)"
  [ "$(grep -c '^case=' out)" = "$2" ] &&
    [ "$(grep -c "^case=$1[- ].*=[1-9]" out)" = "$2" ] ||
    fail "not $2 cases $1: $(cat out)"
}
cases f64-16-tn 1
cases choice-f32 1
for word in f32-1 f32- nonsense ""; do
  $nputeir bench cpu "$word" >out 2>&1
  [ $? = 2 ] && [ "$(wc -l <out)" = 1 ] || fail "'$word': $(cat out)"
done
exit $failures
