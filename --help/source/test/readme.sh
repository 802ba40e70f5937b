#!/bin/bash
# readme.sh README.md BUILD -- types the README's fenced commands, line by line,
# in an empty folder where `build` is the build: every line must succeed, and
# print what stands behind "# prints".  Fenced C is saved as gemm.c.  Lines that
# begin with ./run set up what this build has done already.
set -u
readme=$(readlink -f "$1") build=$(readlink -f "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
ln -s "$build" build
unset NPUTEIR_DEVICE NPUTEIR_TRACE NPUTEIR_OPTIONS

fenced() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' "$readme"; }

fenced c >gemm.c
fenced sh | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' >commands
commands=0 failures=0
while IFS= read -r line <&3; do
  case $line in
  ./run* | '') continue ;;
  esac
  commands=$((commands + 1))
  eval "$line" >output 2>&1
  status=$? wanted=
  case $line in
  *'# prints '*) wanted=${line#*# prints } ;;
  esac
  if [ $status -ne 0 ] ||
    { [ -n "$wanted" ] && ! grep -qF -- "$wanted" output; }; then
    echo "readme: status $status of: $line"
    cat output
    failures=$((failures + 1))
  fi
done 3<commands
[ -s gemm.c ] && [ $commands -ge 10 ] ||
  { echo "readme: only $commands commands found"; exit 1; }
echo "readme: $commands commands, $failures failed"
[ $failures -eq 0 ]
