#!/bin/bash
# examples.sh BUILD LLVM_BIN EXAMPLES -- builds every example as its first lines
# or examples/README.md say, plain and with the plugin, and runs both: they agree,
# and so many products ran on the simulated NPU.
set -u
build=$(readlink -f "$1") llvm=$2 examples=$(readlink -f "$3")
. "$(dirname "$(readlink -f "$0")")/check.sh"
compare() { # compare NAME CALLS PLAIN PROGRAM
  "$3" >plain.out || fail "$1: the plain program"
  NPUTEIR_DEVICE=sim NPUTEIR_TRACE=1 "$4" >npu.out 2>npu.trace ||
    fail "$1: the program with the plugin"
  diff plain.out npu.out || fail "$1: the two differ"
  local calls
  calls=$(grep -c 'device=sim status=done' npu.trace)
  [ "$calls" = "$2" ] || fail "$1: $calls products on the NPU, not $2"
}
flags=(-O2 -ffast-math)
try() { # try SUFFIX CALLS FILE: compiles with clang$SUFFIX and nputeir-cc
  local name=${3%.*} compiler=nputeir-cc
  name=${name//\//-}
  [ -z "$1" ] || compiler=nputeir-c++
  "$llvm/clang$1" "${flags[@]}" "$examples/$3" -o "$name.plain" -lm &&
    "$build/bin/$compiler" "${flags[@]}" "$examples/$3" -o "$name" -lm ||
    { fail "$3 does not compile"; return; }
  compare "$3" "$2" "./$name.plain" "./$name"
}
try '' 1 c/gemm.c
try ++ 2 cpp/layers.cpp
try '' 39 llm/inference.c

# CMake, with the build installed and without it
cmake --install "$build" --prefix "$work/prefix" >log 2>&1 || { cat log; exit 1; }
for kind in plain npu; do
  prefix=$work/prefix
  [ $kind = npu ] || prefix=$work/nowhere
  CC=$llvm/clang cmake -G Ninja -S "$examples/cmake" -B cmake-$kind \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF \
    >log 2>&1 && cmake --build cmake-$kind >>log 2>&1 ||
    { cat log; fail "the CMake project, $kind"; }
done
compare cmake 1 cmake-plain/covariance cmake-npu/covariance

# Fortran, where LLVM's is
flang=$(command -v flang-new-19 || true)
if [ -n "$flang" ]; then
  export NPUTEIR_OPTIONS=f32=bf16x3
  "$flang" "${flags[@]}" "$examples/fortran/matrix.f90" -o fortran.plain &&
    "$flang" "${flags[@]}" -fpass-plugin="$build/lib/libnputeir.so" \
      "$examples/fortran/matrix.f90" -o fortran.npu -L"$build/lib" \
      -lnputeir-rt -Wl,-rpath,"$build/lib" || fail "Fortran does not compile"
  compare fortran 1 ./fortran.plain ./fortran.npu
else
  echo "not checked without flang-new-19: Fortran"
fi
exit $((failures > 0))
