#!/bin/sh
# random_nests.sh CLANG PLUGIN RUNTIME.so SEED COUNT [DONE [GENERATOR.py]] --
# random nests give the same result with and without the plugin; see
# same_result.sh for DONE.
set -u
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 "$here/${7:-random_nests.py}" "$4" "$5" >"$dir/random.c" || exit 1
"$here/same_result.sh" "$1" "$2" "$3" "$dir/random.c" "${6:--}"
