#!/bin/sh
# Designs of others run: every NAME.xclbin of the directory that
# NPUTEIR_THIRD_PARTY names, with NAME.txn, on the arguments NAME.0, NAME.1 ..;
# what argument N becomes is compared with NAME.N.expected where there is one.
# None comes with the repository: nod-ai/iree-amd-aie and amd/xdna-driver had
# some in their histories.
# Usage: third_party_test.sh NPUTEIR SCRATCH
nputeir=$1 scratch=$2 ran=0 failed=0
dir=${NPUTEIR_THIRD_PARTY:-}
rm -rf "$scratch" && mkdir -p "$scratch" || exit 1
for xclbin in "$dir"/*.xclbin; do
  name=${xclbin%.xclbin}
  [ -n "$dir" ] && [ -f "$name.txn" ] || continue
  ran=$((ran + 1))
  set -- "$xclbin" "$name.txn"
  n=0
  while [ -f "$name.$n" ]; do
    set -- "$@" --arg "$name.$n"
    if [ -f "$name.$n.expected" ]; then
      bytes=$(($(wc -c <"$name.$n.expected")))
      set -- "$@" --out "$n:$bytes=$scratch/$n"
    fi
    n=$((n + 1))
  done
  if ! "$nputeir" sim "$@" >"$scratch/report" 2>"$scratch/errors"; then
    echo "$name: $(head -n 1 "$scratch/errors")"
    failed=1
  fi
  for expected in "$name".*.expected; do
    [ -f "$expected" ] || continue
    n=${expected%.expected}
    if ! cmp "$expected" "$scratch/${n##*.}"; then
      echo "$name: argument ${n##*.} differs"
      failed=1
    fi
  done
done
if [ $ran = 0 ]; then
  echo "skipped: NPUTEIR_THIRD_PARTY names no directory with NAME.xclbin and" \
    "NAME.txn"
  exit 77
fi
echo "$ran designs ran"
exit $failed
