#!/bin/sh
# Every experiment that was made on hardware, within its tolerance on the
# simulated array.  Those that are not must say why, and be in this list.
# Usage: calibration_test.sh NPUTEIR
known='D14 N6 N12 N20 18 P14'
failures=0
fail() {
  echo "calibration_test: $*" >&2
  failures=$((failures + 1))
}

lines=$("$1" bench calibration) || fail "the run failed"
echo "$lines"
for cal in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
  echo "$lines" | grep -q "^cal=$cal " || fail "no experiment $cal"
done
missed=$(echo "$lines" | grep 'within=no')
for cal in $known; do
  missed=$(echo "$missed" | grep -v "^cal=$cal .*note=")
done
[ -z "$missed" ] || fail "outside of the tolerance: $missed"
# what is predicted, not fitted, and how many of it
predicted=$(echo "$lines" | grep -c 'within=yes fitted=no')
[ "$predicted" -ge 25 ] || fail "only $predicted predictions"
for cal in 16 17 19; do
  echo "$lines" | grep -q "^cal=$cal .*within=no" && fail "$cal missed"
done
expect_usage=$("$1" bench calibration nonsense 2>&1) && fail "took nonsense"
echo "$expect_usage" | grep -q "no experiment 'nonsense'" || fail "no message"
exit $((failures > 0))
