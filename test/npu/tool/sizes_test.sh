#!/bin/bash
# sizes_test.sh NPUTEIR -- `nputeir bench sizes`: of two products in a row the
# first one is searched for, and the second one as well or not; a word that is
# no number of products is refused.
nputeir=$1
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
$nputeir bench sizes 2 >out 2>&1 || fail "status $?: $(cat out)"
[ "$(wc -l <out)" = 7 ] || fail "not a line a case: $(cat out)"
[ "$(grep -c ' sizes=2 known=[01] .*searched_ms=[1-9]' out)" = 7 ] ||
  fail "not what two products are: $(cat out)"
grep -q 'multiples-of-64 type=bf16 platform=npu1 sizes=2 known=1 known_ms=' out ||
  fail "the second product was searched for: $(cat out)"
for word in 0 1001 many; do
  $nputeir bench sizes $word >out 2>&1
  [ $? = 2 ] && [ "$(wc -l <out)" = 1 ] || fail "$word: $(cat out)"
done
