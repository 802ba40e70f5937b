#!/bin/sh
# cpu_threads.sh CLANG PLUGIN RUNTIME NPU-SOURCES -- cpu_threads.c with parts
# that are counted, with the runtime, with its threads under the thread
# sanitizer, with all code under drd, and without any runtime.
set -u
clang=$1 plugin=$2 runtime=$3 sources=$4
source=$(dirname "$0")/cpu_threads.c
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
export NPUTEIR_OPTIONS=device=cpu
threads="-I$sources/run $sources/run/signals.c $sources/threads.c"
unset NPUTEIR_THREADS
fail() {
  echo "$1"
  status=1
}
build() { # PROGRAM OPTION..
  program=$1
  shift
  "$clang" -O2 -ffast-math -fpass-plugin="$plugin" -I"$sources" "$source" "$@" \
    -o "$dir/$program" || exit 1
}
build counted -DCOUNTED
"$dir/counted" || fail "parts in another order"
build linked "$runtime" "-Wl,-rpath,$(dirname "$runtime")"
"$dir/linked" 2>"$dir/messages" || fail "with the runtime"
[ "$(grep -c "NPUTEIR_THREADS=3 of them: a number" "$dir/messages")" = 1 ] ||
  fail "a wrong NPUTEIR_THREADS is not reported once"
echo 'int main(void) { return 0; }' >"$dir/empty.c"
if "$clang" -fsanitize=thread "$dir/empty.c" -o "$dir/empty" 2>"$dir/none" &&
  "$dir/empty" 2>>"$dir/none"; then
  build sanitized -fsanitize=thread -g $threads
  "$dir/sanitized" quick 2>"$dir/messages" ||
    { cat "$dir/messages"; fail "under the thread sanitizer"; }
fi
if command -v valgrind >/dev/null; then
  build plain $threads -pthread
  valgrind -q --tool=drd --error-exitcode=9 "$dir/plain" quick \
    >"$dir/messages" 2>&1 || { tail -20 "$dir/messages"; fail "under drd"; }
fi
cat >"$dir/alone.c" <<'END'
void packed(long n, const float *restrict a, const float *restrict b,
            float *restrict c) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}
float a[300 * 300], b[300 * 300], c[300 * 300];
int main(void) {
  for (int i = 0; i < 300 * 300; i++)
    a[i] = b[i] = 1;
  packed(300, a, b, c);
  return c[5] != 300;
}
END
NPUTEIR_THREADS=4
export NPUTEIR_THREADS
for linking in "" -static "-fPIE -pie"; do
  # shellcheck disable=SC2086
  "$clang" -O2 -ffast-math $linking -fpass-plugin="$plugin" "$dir/alone.c" \
    -o "$dir/alone" && "$dir/alone" || fail "without a runtime $linking"
done
exit $status
