#!/bin/sh
# manual.sh NPUTEIR MANUAL: every example of the manual is a program that can be
# checked and printed; the whole programs can be run and built.
set -eu
nputeir=$1 manual=$2
work=$(mktemp -d) built=
trap 'rm -rf "$work"' EXIT
awk -v out="$work/" '/^\.Ed/ { on = "" } on { print > on }
  /^\.Bd -literal/ { n++; on = out n ".teir" }' "$manual"
test "$(ls "$work" | wc -l)" -ge 2
for program in "$work"/*.teir; do
  bind=
  if grep -q symbol "$program"; then bind='--bind n=8'; fi
  "$nputeir" teir check "$program" > "$work/said"
  if grep warning "$work/said"; then exit 1; fi
  "$nputeir" teir print "$program" > "$work/once"
  "$nputeir" teir print --json "$work/once" > "$work/json"
  "$nputeir" teir print "$work/json" | cmp - "$work/once"
  # shellcheck disable=SC2086 # no word or two
  "$nputeir" teir run "$program" $bind > "$work/said"
  if grep -q 'on rows' "$program"; then
    "$nputeir" build "$program" -o "$work/out" > "$work/said"
    built=yes
  fi
done
test "$built"
{
  printf 'teir 1\ntensor sum f32\ntensor bias f32\ntensor out i8\n'
  sed -n 's/^\.Dl "\(.*\)"$/\1/p' "$manual"
  printf 'roots x\ninvoke x calls tail\n'
} > "$work/line.teir"
grep -q '^primitive' "$work/line.teir"
"$nputeir" teir run "$work/line.teir" > "$work/said"
