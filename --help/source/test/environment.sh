#!/bin/bash
# environment.sh SOURCE_DIR -- the variables that the code reads are those that
# the manual describes and README's table has.
set -eu
cd "$1"
read_by_code=$(grep -rhoE 'getenv\("NPUTEIR_[A-Z_]+"\)|environment\("NPUTEIR_[A-Z_]+"' \
  --include='*.c' --include='*.cpp' base recognizer teir passes npu |
  grep -oE 'NPUTEIR_[A-Z_]+' | sort -u)
in_manual=$(sed -n 's/^\.It Ev \(NPUTEIR_\)/\1/p' npu/run/nputeir.7 | sort -u)
diff <(echo "$read_by_code") <(echo "$in_manual") || {
  echo "the code reads (<) what nputeir.7 does not describe, or the other way"
  exit 1
}
for name in $in_manual; do
  grep -q "\`$name" README.md || { echo "README lacks $name"; exit 1; }
done
