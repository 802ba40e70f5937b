#!/bin/bash
# compare.sh CLANG PLUGIN LIBDIR TAKEN PROGRAM.c [args] -- the same C program
# through plain clang and through the plugin at several levels, the latter on
# the runtime's host oracle, on the simulator, without a device and without the
# library.  All outputs must be equal; TAKEN calls must have been done by the
# device (a dash: any number).  FLAGS adds compiler flags; FAKE_DRIVER is a
# library that stands for the NPU's kernel driver.
set -eu
clang=$1 plugin=$2 libdir=$3 taken=$4 source=$5
shift 5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
problem() { echo "compare: $*" >&2; status=1; }

flags=(-ffast-math ${FLAGS:-} -lpthread)
"$clang" -O1 "$source" "${flags[@]}" -o "$dir/plain"
"$dir/plain" "$@" >"$dir/plain.txt"

check() { # check NAME COMMAND...: same output; trace tells what ran where
  local name=$1
  shift
  "$@" >"$dir/out.txt" 2>"$dir/err.txt" || problem "$name: exit status $?"
  if ! cmp -s "$dir/plain.txt" "$dir/out.txt"; then
    problem "$name: the output differs from the plain build"
    diff "$dir/plain.txt" "$dir/out.txt" | head -10 >&2
  fi
}
count_done() {
  local done_calls
  done_calls=$(grep -c 'status=done' "$dir/err.txt" || true)
  [ "$taken" = - ] || [ "$done_calls" -eq "$taken" ] ||
    problem "$1: $done_calls calls were done, not $taken: $(head -3 "$dir/err.txt")"
}

levels=("-O1" "-O2" "-O3" "-O2 -flto=thin -fuse-ld=lld-${LLVM_MAJOR:-19}")
for level in "${levels[@]}"; do
  # shellcheck disable=SC2086
  "$clang" $level -fpass-plugin="$plugin" "$source" "${flags[@]}" \
    -o "$dir/npu" -L"$libdir" -lnputeir-rt -Wl,-rpath,"$libdir"
  check "$level sim" env NPUTEIR_DEVICE=sim NPUTEIR_TRACE=1 "$dir/npu" "$@"
  count_done "$level sim"
  check "$level host" env NPUTEIR_DEVICE=host NPUTEIR_TRACE=1 "$dir/npu" "$@"
  count_done "$level host"
done
# the kernel's driver, with a stand-in of it before libc
if [ -n "${FAKE_DRIVER-}" ]; then
  check npu env LD_PRELOAD="$FAKE_DRIVER" NPUTEIR_ACCEL=/dev/accel/fake \
    XDG_CACHE_HOME=/dev/null \
    NPUTEIR_DEVICE=npu NPUTEIR_OPTIONS=min-macs=0 NPUTEIR_TRACE=1 "$dir/npu" "$@"
  count_done npu
fi
# each nest by the device and by its loop, which says whether they agree
check "verify" env NPUTEIR_VERIFY=1 NPUTEIR_DEVICE=sim NPUTEIR_TRACE=1 \
  "$dir/npu" "$@"
count_done "verify"
[ "$taken" = - ] || [ "$taken" -eq 0 ] ||
  grep -q 'verify .* compared=[1-9]' "$dir/err.txt" ||
  problem "verify: nothing was compared: $(tail -3 "$dir/err.txt")"
! grep -E 'verify .* different=[1-9]' "$dir/err.txt" >&2 ||
  problem "verify: the device and the loop differ"
check "no device" env -u NPUTEIR_DEVICE "$dir/npu" "$@"
# the same objects without the library: the weak call is null
"$clang" -O2 -fpass-plugin="$plugin" "$source" "${flags[@]}" -o "$dir/alone"
check "no library" env NPUTEIR_DEVICE=sim "$dir/alone" "$@"
# the static library
"$clang" -O2 -fpass-plugin="$plugin" "$source" "${flags[@]}" -o "$dir/static" \
  -Wl,-u,nputeir_call_1 "$libdir/libnputeir-rt.a" -lm
check "static sim" env NPUTEIR_DEVICE=sim NPUTEIR_TRACE=1 "$dir/static" "$@"
count_done "static sim"
exit $status
