#!/bin/sh
# cpu_kernels.sh LLVM-BIN PLUGIN -- the loops of x86-64's kernels have as few
# instructions as by hand: products, one load for each row, one for each vector
# of columns, and what moves two addresses, counts and returns; of packed panels
# also four prefetches and the address of what is asked for ahead.
set -u
bin=$1 plugin=$2
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
cat >"$dir/gemm.c" <<'END'
void gemm(long m, long n, long k, const T *restrict a, const T *restrict b,
          T *restrict c) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long p = 0; p < k; p++)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
}
END
export NPUTEIR_OPTIONS=device=cpu
try() { # FLAGS TYPE KERNEL PRODUCT PRODUCTS LEAST
  # shellcheck disable=SC2086
  "$bin/clang" --target=x86_64-linux-gnu -O2 -ffast-math -DT="$2" $1 \
    -fpass-plugin="$plugin" -c "$dir/gemm.c" -o "$dir/gemm.o" || exit 1
  "$bin/llvm-objdump" -d --no-show-raw-insn "$dir/gemm.o" |
    python3 "$here/cpu_loop.py" "nputeir.$3." "$4" "$5" "$6" ||
    { echo "$1 $2: $3 has too many instructions in the loop"; status=1; }
}
v3="-mavx2 -mfma" v4=-march=skylake-avx512
try "$v4" float direct.f32.f32.f32.8.3.16 vfmadd231ps 24 40
try "$v4" float direct.f32.f32.f32.8.2.16 vfmadd231ps 16 31
try "$v4" float direct.f32.f32.f32.8.1.16 vfmadd231ps 8 14
try "$v4" double direct.f64.f64.f64.8.3.8 vfmadd231pd 24 40
try "$v4" float multiply.f32.14 vfmadd231ps 28 54
try "$v3" float direct.f32.f32.f32.6.2.8 vfmadd231ps 12 25
exit $status
