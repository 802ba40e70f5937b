#!/bin/bash
# design_check_test.sh NPUTEIR -- `nputeir design --check`: what a design takes of
# every tile is what the design says, and a schedule by hand that is too large
# gets the limit with its number.
nputeir=$1
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
"$nputeir" map 512x512x512 -o placed.teir || fail "no schedule"
"$nputeir" design placed.teir >design || fail "no design"
"$nputeir" design placed.teir --check >check || fail "limits are not kept"
grep -Eq '^kept: all limits; the fullest is .* \([0-9],[0-9]\), [0-9]+ %$' check ||
  fail "no last line: $(tail -n 1 check)"
# Counted from the design's text, for one tile of each kind.
for tile in 0,0 0,1 0,2; do
  sed -n "/^tile ($tile)/,/^tile (/p" design | sed '$d' >tile
  locks=$(grep -c '^  lock ' tile)
  bds=$(grep -c '^  bd ' tile)
  channels=$(sed -n 's/^  bd [0-9]* [^ ]* \([^ ]*\) .*/\1/p' tile | sort -u |
    wc -l)
  memory=0
  while read -r from to; do
    memory=$((memory + to - from))
  done < <(sed -n 's/^  buffer [^ ]* \(0x[^.]*\)\.\.\(0x.*\)/\1 \2/p' tile)
  line=$(grep "($tile)\"" check)
  for wanted in "locks=$locks/" "descriptors=$bds/" "channels=$channels/"; do
    [[ $line == *" $wanted"* ]] || fail "$wanted is not in: $line"
  done
  [ $tile = 0,0 ] || [[ $line == *" memory=$memory/"* ]] ||
    fail "memory=$memory is not in: $line"
done
[ "$(grep -c '^tile="core ' check)" = 16 ] || fail "not 16 cores"

# Blocks of k four times as long
awk '$1 != "axis" { print; next }
    $2 == "k" { sub(/extent [0-9]+/, "extent " $4 / 4)
      for (i = 6; i <= NF; i++) { split($i, p, "="); $i = p[1] "=" 4 * p[2] } }
    $2 == "block_k" { $4 = 4 * $4 } { print }' placed.teir >large.teir
"$nputeir" teir check large.teir >/dev/null || fail "the large schedule"
"$nputeir" design large.teir --check >out 2>&1
[ $? = 1 ] || fail "a large schedule has status $?"
grep -Eq 'take at least [0-9]+ bytes: they do not fit .* of 65536 bytes' out ||
  fail "no number: $(cat out)"

# A tensor that is packed has the rule of the hardware with its number.
ruled() { # in0's stride along m, in1's along n, words
  printf 'teir 1\ntensor in0 bf16\ntensor in1 bf16\ntensor out f32\n' >ruled.teir
  printf '%s\n' "axis m extent 64 stride in0=$1 out=256" \
    "axis n extent 64 stride in1=$2 out=4" \
    'axis k extent 64 stride in0=2 in1=128' 'primitive z Zero M=[m] N=[n]' \
    'primitive c Contraction M=[m] N=[n] K=[k]' 'roots z, c' \
    'invoke z calls z' 'invoke c calls c' >>ruled.teir
  "$nputeir" teir limits ruled.teir >out || fail "limits of $1 $2"
  grep -q "^array: $3" out || fail "not '$3': $(cat out)"
}
ruled 128 2 'none is broken'
ruled 130 2 'in0 is packed: stride, axis m moves it by 130 bytes; .* words of 4$'
ruled 4194308 2 'in0 is packed: .* by 4194308 bytes; .* moves by up to 4194304$'
ruled 128 8192 'in1 is packed: stride, no axis moves it by 2 bytes'

# K of 20 makes zeros behind a row; text and records agree part by part.
"$nputeir" design 64x60x20 >text && "$nputeir" design 64x60x20 --json >json ||
  fail "no design in two forms"
grep -q '^  bd .* zeros d0 0+[1-9]' text || fail "no zeros in the text"
grep -q '"part": "bd".*"zeros_before0": 0, "zeros_after0": [1-9]' json ||
  fail "no zeros in the records"
for part in buffer lock bd start route task; do
  [ "$(grep -c "^ *$part " text)" = "$(grep -c "\"part\": \"$part\"" json)" ] ||
    fail "text and records have not as many parts: $part"
done
"$nputeir" design 64x60x20 --check --json -o out || fail "no limits as JSON"
grep -q '^{"tile": "mem (0,1)", "memory": "[0-9]*/524288", ' out &&
  [ "$(tail -n 1 out | cut -c1-9)" = '{"kept": ' ] ||
  fail "limits as JSON: $(cat out)"
exit $((failures > 0))
