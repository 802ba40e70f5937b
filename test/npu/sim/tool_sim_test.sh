#!/bin/sh
# nputeir sim: a product of ones, its report, and what it says about mistakes.
# usage: tool_sim_test.sh NPUTEIR FOLDER
set -eu
nputeir=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
failures=0

fail() {
  echo "tool_sim_test: $*" >&2
  failures=$((failures + 1))
}

# expect STATUS PATTERN COMMAND...: exit status, and a line on either stream
expect() {
  status=$1 pattern=$2
  shift 2
  got=0
  "$@" >output 2>&1 || got=$?
  [ "$got" = "$status" ] || fail "status $got, not $status: $*"
  grep -q -- "$pattern" output || fail "no '$pattern' from: $*"
}

# ones SIZE: a bf16 1.0 (0x3f80) in every element
ones() { yes | tr -d '\n' | head -c "$1" | sed 's/yy/\x80\x3f/g'; }

"$nputeir" build 128x128x128 -o design >/dev/null
LC_ALL=C ones 32768 >a.bin
[ "$(wc -c <a.bin)" = 32768 ] || fail "a.bin has a wrong size"
run="$nputeir sim design/design.xclbin design/design.txn"

expect 0 '^core_util=0\.' $run --arg a.bin --arg a.bin --out 2:65536=c.bin
grep -q '^bytes_written=65536$' output || fail "not all of the result written"
# every element of the result is 128.0f, 0x43000000
[ "$(od -An -v -tx4 -w4 c.bin | sort -u | tr -d ' ')" = 43000000 ] ||
  fail "the product of ones is not 128 everywhere"
[ "$(wc -c <c.bin)" = 65536 ] || fail "c.bin has a wrong size"

for key in bank_conflicts stall_memory_own stall_memory_dma \
  stall_memory_neighbour stall_memory_bus; do
  grep -q "^$key=[0-9]*\$" output || fail "no $key"
done
# cores that run ahead of the array change nothing; no bank serves two
mv output ahead
expect 0 '^cycles=' $run --arg a.bin --arg a.bin --out 2:65536=c.bin --strict
cmp -s output ahead || fail "--strict counts otherwise"
# both inputs' buffers come through one channel, each with its own lock
expect 0 '^right=1' "$nputeir" sim 'xab,xbc->xac' --sizes x=16,a=8,b=8,c=8 --strict
# a file's packed blocks, of which two have some rows, hold the same there
"$nputeir" map 'adec,ebd->abc' --sizes a=20,b=84,c=20,d=3,e=52 \
  --device 8700g-turbo -o packed.teir
expect 0 '^right=1' "$nputeir" sim packed.teir --preset 8700g-turbo
grep -q '^predicted=-$' output || fail "a placed schedule is predicted"

expect 0 '^cycles=' $run --arg a.bin --arg a.bin --out 2:65536=c.bin --repeat 2
[ "$(grep -c '^cycles=' output)" = 2 ] || fail "--repeat 2 is not two reports"
expect 0 'core (1,3) mm2s0 bd=' \
  $run --arg a.bin --arg a.bin --out 2:65536=c.bin --trace
expect 0 '^preset=8700g-turbo ' \
  $run --arg a.bin --arg a.bin --out 2:65536=c.bin --preset 8700g-turbo

expect 1 'argument 2 at byte .*; the buffer has 64 bytes' \
  $run --arg a.bin --arg a.bin --out 2:64=c.bin
expect 1 'patches argument 2; 2 arguments were passed' \
  $run --arg a.bin --arg a.bin
expect 1 'cycle budget of 100 used up' \
  $run --arg a.bin --arg a.bin --out 2:65536=c.bin --budget 100
expect 1 'is for npu1 (generation 3 .*; the preset krackan is of npu4' \
  $run --arg a.bin --arg a.bin --preset krackan
expect 1 'missing.bin' $run --arg missing.bin
expect 1 'xclbin' "$nputeir" sim a.bin design/design.txn
expect 2 'no preset .nowhere.; there are phoenix' $run --preset nowhere
expect 2 'N:BYTES=FILE' $run --out 7
expect 2 'RUN.txn is missing' "$nputeir" sim design/x
expect 2 "no option '--colour'" $run --colour red
expect 0 'usage: nputeir sim' "$nputeir" help sim

[ "$failures" = 0 ] || exit 1
echo "tool_sim_test: passed"
