#!/bin/bash
# install.sh BUILD CLANG MATMUL.c -- what a user does with an installed prefix:
# the compiler wrapper, CMake, pkg-config, the static library.  Every program
# must run its two products on the simulator.
set -eu
build=$1 clang=$2 source=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
prefix=$dir/prefix
cmake --install "$build" --prefix "$prefix" >"$dir/log" 2>&1 ||
  { cat "$dir/log"; exit 1; }
flags=(-O2 -ffast-math)
export NPUTEIR_DEVICE=sim NPUTEIR_TRACE=1
status=0
check() { # check NAME PROGRAM
  local calls
  calls=$("$2" 20 30 40 2>&1 | grep -c 'status=done' || true)
  [ "$calls" -eq 2 ] ||
    { echo "install: $1: $calls products ran on the simulator, not 2"; status=1; }
}

"$prefix/bin/nputeir-cc" "${flags[@]}" "$source" -o "$dir/direct"
check nputeir-cc "$dir/direct"
"$prefix/bin/nputeir-cc" "${flags[@]}" -c "$source" -o "$dir/object.o"
"$prefix/bin/nputeir-cc" "$dir/object.o" -o "$dir/linked"
check "nputeir-cc -c, then link" "$dir/linked"

cat >"$dir/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(nputeir REQUIRED)
add_executable(app "$source")
target_compile_options(app PRIVATE ${flags[*]})
target_link_libraries(app PRIVATE nputeir::offload)
CMAKE
CC=$clang cmake -G Ninja -S "$dir" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  >"$dir/log" 2>&1 && cmake --build "$dir/cmake" >>"$dir/log" 2>&1 ||
  { cat "$dir/log"; exit 1; }
check "CMake nputeir::offload" "$dir/cmake/app"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name nputeir.pc)")
plugin=$(pkg-config --variable=plugin nputeir)
libdir=$(pkg-config --variable=libdir nputeir)
# shellcheck disable=SC2046
"$clang" "${flags[@]}" -fpass-plugin="$plugin" "$source" -o "$dir/shared" \
  $(pkg-config --libs nputeir) -Wl,-rpath,"$libdir"
check pkg-config "$dir/shared"
# shellcheck disable=SC2046
"$clang" "${flags[@]}" -fpass-plugin="$plugin" "$source" -o "$dir/static" \
  -static $(pkg-config --libs --static nputeir)
check "pkg-config --static" "$dir/static"
exit $status
