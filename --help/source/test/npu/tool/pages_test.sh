#!/bin/bash
# pages_test.sh NPUTEIR PAGES -- manual pages and completion: a page for every
# command with every option of its help, which groff formats without a warning,
# and words that bash completes.
nputeir=$1
pages=$2
failures=0
fail() {
  echo "$1"
  failures=$((failures + 1))
}
commands=$("$nputeir" help | sed -n 's/^  \([a-z]*\)  *.*/\1/p' | grep -v '^help$')
[ "$(wc -w <<<"$commands")" -ge 15 ] || fail "commands: $commands"
for name in '' $commands; do
  page=$pages/nputeir${name:+-$name}.1
  [ -s "$page" ] || { fail "no page of '$name'"; continue; }
  "$nputeir" help --man $name | cmp -s - "$page" || fail "$page is not today's"
  if command -v groff >/dev/null; then
    groff -man -Tutf8 -k -ww "$page" >page.text 2>page.warnings
    [ ! -s page.warnings ] || fail "$page: $(head -n 3 page.warnings)"
    sed -i 's/\x1b\[[0-9;]*m//g; s/.\x08//g' page.text
    for option in $("$nputeir" help $name |
      sed -n 's/^  \(-[-a-z0-9]*\).*/\1/p'); do
      grep -q -e "$option" page.text || fail "$page lacks $option"
    done
    grep -q 'EXIT STATUS' page.text || fail "$page has no exit status"
  fi
done
command -v groff >/dev/null || echo "not checked without groff: the pages"
rm -f page.text page.warnings
"$nputeir" help --man no-such 2>/dev/null
[ $? = 2 ] || fail "a page of no command"
"$nputeir" help --completion fish 2>/dev/null
[ $? = 2 ] || fail "completion for another shell"

# completes WORDS.. WORD: what may stand in the place of the last one
completes() {
  bash -c 'eval "$("$0" help --completion bash)"
    COMP_WORDS=(nputeir "$@") COMP_CWORD=$#
    _nputeir && echo "${COMPREPLY[*]}"' "$nputeir" "$@"
}
is() { # is WANTED WORDS..
  local wanted=$1
  shift
  got=$(completes "$@")
  [ "$got" = "$wanted" ] || fail "completes $*: '$got', not '$wanted'"
}
is 'nest' ne
is '--sarif --schema' nest --s
is '--sarif' nest a.c --sa
is 'split' teir sp
is '--json' teir print --j
is 'profile' help prof
is '--help' --h
is '' nest ''a
"$nputeir" help --completion zsh >zsh.words
if command -v zsh >/dev/null; then
  zsh -n zsh.words || fail "zsh does not read its completion"
else
  echo "not checked without zsh: its completion"
fi
grep -q "'--sarif\[verdicts as a SARIF" zsh.words || fail "zsh lacks --sarif"
rm -f zsh.words
exit $((failures > 0))
