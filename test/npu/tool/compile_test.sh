#!/bin/bash
# compile_test.sh NPUTEIR -- `nputeir bench compile` of a file says what the
# plugin adds to it; what is no source, and that there is no compiler, is said
# once.  Skipped without clang-19.
nputeir=$1
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
command -v clang-19 >/dev/null || { echo "there is no clang-19"; exit 77; }
prints() { # prints STATUS PATTERN COMMAND..: in one line but clang's warnings
  local wanted=$1 pattern=$2
  shift 2
  "$@" >out 2>&1
  local got=$?
  [ $got = "$wanted" ] && grep -q "$pattern" out &&
    [ "$(grep -vc warning out)" = 1 ] || fail "status $got of $*: $(cat out)"
}

cat >gemm.c <<'END'
void gemm(long n, const float *a, const float *b, float *restrict c) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}
END
echo text >notes.txt
# code for a product takes kilobytes, none without optimization
measure="$nputeir bench compile"
prints 0 "gemm.c plain_ms=[1-9].* more_ms=[1-9].* object_kb=[1-9]" $measure gemm.c
prints 0 " object_kb=0[.]0" $measure gemm.c -- -O0
prints 1 "makes no object of notes.txt" $measure notes.txt
prints 1 "cannot read other.c" $measure other.c
prints 1 "there is no clang-19" env PATH=/nowhere $measure gemm.c
exit $failures
