#!/bin/bash
# report_test.sh NPUTEIR NPUTEIR-CC -- `nputeir report`: the page of files and of
# a build: whole sources, every nest beside its lines, times that are map's, the
# most gain first, and nothing from elsewhere.
nputeir=$1
cc=$2
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

# What is declined for the NPU may have a part for the processor.
export NPUTEIR_OPTIONS=cpu=off

cat >common.h <<'END'
static inline void small(int *c, const signed char *a, const signed char *b) {
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++)
      for (int k = 0; k < 64; k++)
        c[i * 64 + j] += a[i * 64 + k] * b[k * 64 + j];
}
END
cat >a.c <<'END'
/* </pre><script>alert("&amp;")</script> stays text. */
#include "common.h"
signed char x[64 * 64], y[64 * 64], a[512][512], b[512][512];
int z[64 * 64], c[512][512];
void first(void) { small(z, x, y); }
void large(void) {
  for (int i = 0; i < 512; i++)
    for (int j = 0; j < 512; j++) {
      for (int k = 0; k < 512; k++)
        c[i][j] += a[i][k] * b[k][j];
    }
}
END
cat >b.c <<'END'
#include "common.h"
signed char x[64 * 64], y[64 * 64];
int z[64 * 64];
void second(void) { small(z, x, y); }
void triangle(int n, float *x, float *y, float *z) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      for (int k = 0; k < n; k++)
        z[i * n + j] += x[i * n + k] * y[k * n + j];
}
void symbols(int n, int m, int *restrict z, signed char *x, signed char *y) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < 96; k++)
        z[i * m + j] += x[i * 96 + k] * y[k * m + j];
}
END

cat >check.py <<'END'
import html.parser, re, sys


class Page(html.parser.HTMLParser):
    void = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []
        self.code, self.rows, self.cards = [], [], {}

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert not {"src", "onclick", "style"} & set(a), a
        if "href" in a:
            self.links.append(a["href"])
        if "id" in a:
            self.ids.append(a["id"])
        if tag == "pre" and a.get("class", "").startswith("code"):
            self.code.append([a["class"].split()[1:], ""])
        if tag == "tr" and a.get("class"):
            self.rows.append((a["class"], []))
        if tag == "td" and self.rows and "axes" not in self.tables():
            self.rows[-1][1].append("")
        if tag == "div" and a.get("class", "").startswith("card "):
            self.card = a["id"]
            self.cards[self.card] = (a["class"].split()[1], [])
        if tag not in self.void:
            self.open.append((tag, a.get("class", a.get("id", ""))))

    def tables(self):
        return [c for t, c in self.open if t == "table"]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        was, _ = self.open.pop()
        assert was == tag, (was, tag)

    def handle_data(self, data):
        tags = [t for t, _ in self.open]
        if "pre" in tags and "code" in dict(self.open).get("pre", ""):
            if tags[-1] != "b":
                self.code[-1][1] += data
        elif self.tables() == ["nests"] and "td" in tags:
            self.rows[-1][1][-1] += data
        elif any(c.startswith("card ") for _, c in self.open):
            self.cards[self.card][1].append(data.strip())


def read(path):
    page = Page()
    page.feed(open(path).read())
    page.close()
    assert not page.open, page.open
    assert len(set(page.ids)) == len(page.ids)
    for link in page.links:
        assert link[0] == "#" and link[1:] in page.ids, link
    return page


def source(page, start):
    """The lines of the source whose first block begins so."""
    text = []
    for kind, code in page.code:
        if code.startswith(" " + start) or text:
            text += [line[1:] for line in code.splitlines()]
    return text
END

# Files
"$nputeir" report a.c b.c -o page --size 100 --bind n_j=300 >out ||
  fail "no page"
grep -q '^page/index.html: 3 of 4 nests taken$' out || fail "$(cat out)"
cycles=$("$nputeir" map 'mk,kn->mn' --sizes m=512,n=512,k=512 \
  --types i8,i8,i32 --device 8700g | sed -n 's/# predicted \([0-9]*\).*/\1/p')
cat >files.py <<'END'
import sys
from check import *
page, cycles = read("page/index.html"), float(sys.argv[1])
for name, start in ("a.c", "/* </pre>"), ("b.c", '#include "common.h"\nsig'):
    lines = open(name).read().splitlines()
    shown = source(page, lines[0])
    assert shown[:len(lines)] == lines or name == "b.c", shown
everything = "".join(code for _, code in page.code)
for name in "a.c", "b.c", "common.h":
    for line in open(name):
        assert line.strip("\n") in everything, line

# Verdicts in the colours of the lines
colour = {line[1:]: kind for kind, code in page.code
          for line in code.splitlines()}
assert colour["        c[i][j] += a[i][k] * b[k][j];"] == ["taken"]
assert colour["    }"] == ["taken"], "the end of the nest"
assert colour["    for (int j = 0; j < i; j++)"] == ["declined"]
assert colour["void triangle(int n, float *x, float *y, float *z) {"] == []

# The table: the most gain first, what is declined last
kinds = [kind for kind, _ in page.rows]
assert kinds == ["taken", "taken", "taken", "declined"], kinds
cells = [row for _, row in page.rows]
assert cells[0][1].startswith("a.c:7") and cells[0][2] == "large", cells[0]
assert "small" in cells[2][2] or "first" in cells[2][2], cells
assert cells[3][3] == "VariantExtent"

# What is known of a nest
large = page.cards[page.links[0][1:]][1]
assert "mk,kn->mn" in large and large.count("512") == 3
microseconds = f"{cycles / 1.02e3 + 50:.0f} µs"
assert microseconds in large, (microseconds, large)
assert any(w.startswith("nputeir sim 'mk,kn->mn' --sizes m=512,n=512,k=512 "
                        "--types i8,i8,i32") for w in large), large
assert any("row" in w and "└──" in w for w in large), "no schedule"
symbols = page.cards[page.links[1][1:]][1]
assert "n_i, here 100" in symbols and "n_j, here 300" in symbols, symbols
assert "96" in symbols
triangle = page.cards[page.links[3][1:]][1]
assert any("To have it taken: make the loop's bounds" in w for w in triangle)

# The picture: sixteen cores, each with as much of the result as the others
picture = re.search(f'id="{page.links[0][1:]}".*?(<svg.*?</svg>)',
                    open("page/index.html").read(), re.S)
blocks = re.findall(r'width="([\d.]+)" height="([\d.]+)".*?<title>core (\d,\d)',
                    picture.group(1))
area = {}
for w, h, core in blocks:
    area[core] = area.get(core, 0) + float(w) * float(h)
assert len(area) == 16 and max(area.values()) < 1.01 * min(area.values())
assert abs(sum(area.values()) - 240 * 240) < 600
END
python3 files.py "$cycles" || fail "the page of files"

# A file that does not compile: the page has the others.
echo 'int broken(' >bad.c
"$nputeir" report bad.c b.c -o half >out 2>err
[ $? = 1 ] || fail "status of a bad file"
grep -q '^half/index.html: 2 of 3 nests taken$' out || fail "half: $(cat out)"

# A build
for file in a b; do
  NPUTEIR_REPORT=$work/build/ "$cc" -O2 -ffast-math -gline-tables-only \
    -c $file.c -o $file.o || fail "no object of $file.c"
done
(cd / && "$nputeir" report "$work/build") >out || fail "no page of a build"
grep -q 'build/index.html: 3 of 4 nests taken$' out || fail "$(cat out)"
python3 -c 'from check import *; p = read("build/index.html")
assert len(p.rows) == 4 and "taken" in [k[0] for k, _ in p.code if k]' ||
  fail "the page of a build"
"$nputeir" report "$work/build" -o else >out || fail "no page elsewhere"
cmp -s build/index.html else/index.html || fail "another page elsewhere"

# Code for the processor
NPUTEIR_OPTIONS=device=cpu "$nputeir" report a.c -o cpu >out || fail "cpu"
grep -q 'class="code processor"' cpu/index.html || fail "no processor code"

status_is() {
  local wanted=$1
  shift
  "$nputeir" report "$@" >out 2>err
  local got=$?
  [ $got = "$wanted" ] || fail "status $got, not $wanted: report $*"
}
status_is 2
status_is 2 a.c
status_is 2 a.o -o page
status_is 2 a.c -o page --bind n
status_is 2 a.c -o page --bind n=0
status_is 2 build -- -O2
mkdir empty && status_is 1 empty
echo '{"function": 3}' >empty/nests.json && status_is 1 empty
exit $((failures > 0))
