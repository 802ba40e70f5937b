#!/bin/bash
# compare.sh CLANG PLUGIN LIBDIR PROGRAM.c TAKEN [args] [-- TAKEN [args]].. -- the
# same C program through plain clang and through the plugin at several levels, the
# latter on the runtime's host oracle, on the simulator, without a device and
# without the library.  With each of the arguments all outputs must be equal; TAKEN
# calls must have been done by the device (a dash: any number).  FLAGS adds
# compiler flags; FAKE_DRIVER is a library that stands for the NPU's kernel driver;
# EACH is in the line of each call that was done, but where loops are compared
# with, in which there may be others.
set -eu
clang=$1 plugin=$2 libdir=$3 source=$4
shift 4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
problem() { echo "compare: $*" >&2; status=1; }
runs=("") # what stands between the dashes
for word; do
  if [ "$word" = -- ]; then runs+=(""); else runs[-1]+="$word "; fi
done

flags=(-ffast-math ${FLAGS:-} -lpthread)
"$clang" -O1 "$source" "${flags[@]}" -o "$dir/plain"
for run in "${!runs[@]}"; do
  read -ra args <<<"${runs[run]}"
  "$dir/plain" "${args[@]:1}" >"$dir/plain$run.txt"
done

# check PROGRAM NAME LOOK VARIABLE=VALUE...: same output of each run; LOOK is a
# function that sees what ran where in a trace
check() {
  local program=$1 name look=$3 run args taken
  for run in "${!runs[@]}"; do
    read -ra args <<<"${runs[run]}"
    name="$2, arguments ${args[*]:1}" taken=${args[0]}
    env "${@:4}" NPUTEIR_TRACE=1 "$dir/$program" "${args[@]:1}" >"$dir/out.txt" \
      2>"$dir/err.txt" || problem "$name: exit status $?"
    if ! cmp -s "$dir/plain$run.txt" "$dir/out.txt"; then
      problem "$name: the output differs from the plain build"
      diff "$dir/plain$run.txt" "$dir/out.txt" | head -10 >&2
    fi
    $look
  done
}
count_done() {
  local done_calls
  done_calls=$(grep -c 'status=done' "$dir/err.txt" || true)
  [ "$taken" = - ] || [ "$done_calls" -eq "$taken" ] ||
    problem "$name: $done_calls calls were done, not $taken: $(head -3 "$dir/err.txt")"
  ! grep 'status=done' "$dir/err.txt" | grep -v -e "${EACH-}" >&2 ||
    problem "$name: these calls do not say ${EACH-}"
}
compared() {
  [ -n "${EACH-}" ] || count_done
  [ "$taken" = - ] || [ "$taken" -eq 0 ] ||
    grep -q 'verify .* compared=[1-9]' "$dir/err.txt" ||
    problem "$name: nothing was compared: $(tail -3 "$dir/err.txt")"
  ! grep -E 'verify .* different=[1-9]' "$dir/err.txt" >&2 ||
    problem "$name: the device and the loop differ"
}

# What the device is asked for at other levels the oracle tells as well as the
# simulator, and code for the processor is not of it.
library=(-L"$libdir" -lnputeir-rt -Wl,-rpath,"$libdir")
for level in "-O1" "-O3" "-O2 -flto=thin -fuse-ld=lld-${LLVM_MAJOR:-19}"; do
  # shellcheck disable=SC2086
  NPUTEIR_OPTIONS=${NPUTEIR_OPTIONS:+$NPUTEIR_OPTIONS,}cpu=off "$clang" $level \
    -fpass-plugin="$plugin" "$source" "${flags[@]}" -o "$dir/npu" "${library[@]}"
  check npu "$level host" count_done NPUTEIR_DEVICE=host
done
mkdir "$dir/objects"
(cd "$dir/objects" && "$clang" -Qunused-arguments -O2 -fpass-plugin="$plugin" -c \
  "$source" "${flags[@]}")
link() { # link PROGRAM OPTION...
  "$clang" "$dir"/objects/*.o "${flags[@]##*.c}" -o "$dir/$1" "${@:2}"
}
link npu "${library[@]}"
check npu host count_done NPUTEIR_DEVICE=host
check npu sim count_done NPUTEIR_DEVICE=sim
# the kernel's driver, with a stand-in of it before libc
[ -z "${FAKE_DRIVER-}" ] ||
  check npu npu count_done LD_PRELOAD="$FAKE_DRIVER" NPUTEIR_ACCEL=/dev/accel/fake \
    XDG_CACHE_HOME=/dev/null NPUTEIR_DEVICE=npu NPUTEIR_OPTIONS=min-macs=0
# each nest by the device and by its loop, which says whether they agree
check npu verify compared NPUTEIR_VERIFY=1 NPUTEIR_DEVICE=sim
check npu "no device" true -u NPUTEIR_DEVICE
# the same objects without the library: the weak call is null
link alone
check alone "no library" true NPUTEIR_DEVICE=sim
# the static library
link static -Wl,-u,nputeir_call_1 "$libdir/libnputeir-rt.a" -lm
check static "static sim" count_done NPUTEIR_DEVICE=sim
exit $status
