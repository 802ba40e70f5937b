#!/bin/sh
# cpu_shared.sh LLVM-BIN PLUGIN -- a program of several objects has one copy of
# what they multiply by, unless it is compiled otherwise.
set -u
bin=$1 plugin=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export NPUTEIR_OPTIONS=device=cpu
compile() { # FUNCTION TYPE OPTION..
  name=$1 type=$2
  shift 2
  cat >"$dir/$name.c" <<END
void $name(long n, const $type *restrict a, const $type *restrict b, $type *restrict c) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}
END
  "$bin/clang" -ffast-math "$@" -fpass-plugin="$plugin" -c "$dir/$name.c" -o "$dir/$name.o" || exit 1
}
copies() { # PATTERN OBJECT..
  pattern=$1
  shift
  "$bin/clang" -shared -o "$dir/all.so" "$@" || exit 1
  "$bin/llvm-nm" "$dir/all.so" | grep -c "nputeir\.$pattern\."
}
compile one float -O2
compile two float -O3 -DOTHER
compile three double -O2
compile other float -O2 -march=x86-64-v2
status=0
check() { # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || { echo "$1: $3 copies, not $2"; status=1; }
}
for what in multiply pack driver small offsets detect; do
  single=$(copies $what "$dir/one.o")
  [ "$single" -gt 0 ] || { echo "no $what"; status=1; }
  check "$what of two" "$single" "$(copies $what "$dir/one.o" "$dir/two.o")"
  both=$(copies $what "$dir/one.o" "$dir/other.o")
  [ $what = detect ] || check "$what with other options" $((2 * single)) "$both"
done
floats=$(copies multiply "$dir/one.o")
check "of two types" $((floats + $(copies multiply "$dir/three.o"))) \
  "$(copies multiply "$dir/one.o" "$dir/three.o")"
exit $status
