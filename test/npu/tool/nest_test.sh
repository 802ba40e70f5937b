#!/bin/bash
# nest_test.sh NPUTEIR -- `nputeir nest` for programs: standard input, JSON lines
# that keep to the schema it states, a SARIF log, and exit statuses.
nputeir=$1
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
status_is() { # status_is STATUS WORDS..
  local wanted=$1
  shift
  "$nputeir" nest "$@" >out 2>err </dev/null
  local got=$?
  [ $got = "$wanted" ] || fail "status $got, not $wanted: nest $*: $(cat err)"
}

# What is declined for the NPU may have a part for the processor.
export NPUTEIR_OPTIONS=cpu=off

# A nest that is taken, one that is not for a reason in a line of its own, and
# one that is not for a reason in a header whose name is no plain URI.
mkdir "a header"
cat >"a header/bound.h" <<'END'
static inline int bound(int i) {
  return i < 40 ?
             i : 40;
}
END
cat >a.cpp <<'END'
#include "bound.h"
signed char a[64][64], b[64][64];
int c[64][64];
void multiply() {
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 64; j++)
      for (int k = 0; k < 64; k++) {
        c[i][j] += a[i][k] * b[k][j];
      }
}
void triangle(int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < bound(i); j++)
      for (int k = 0; k < n; k++)
        c[i][j] += a[i][k] * b[k][j];
}
END
words=(-- -ffast-math "-Ia header")

"$nputeir" nest a.cpp "${words[@]}" >text || fail "no report"
grep -q '^1 of 2 nests taken$' text || fail "not 1 of 2: $(cat text)"
"$nputeir" nest --language c++ - "${words[@]}" <a.cpp >piped ||
  fail "no report of standard input"
diff <(sed 's/^a\.cpp/<stdin>/' text) piped ||
  fail "standard input says something else"
clang=$("$nputeir" doctor | sed -n 's/^ok *clang *\([^ ]*\).*/\1/p')
"$clang" -x c++ -O1 -ffast-math "-Ia header" -Xclang -disable-llvm-passes \
  -gline-tables-only -S -emit-llvm a.cpp -o - |
  "$nputeir" nest --language ir - >piped || fail "no report of piped IR"
grep -q '^1 of 2 nests taken$' piped || fail "of IR: $(cat piped)"

"$nputeir" nest --json a.cpp "${words[@]}" >json || fail "no JSON"
"$nputeir" nest --sarif a.cpp "${words[@]}" >sarif || fail "no SARIF"
"$nputeir" nest --schema >schema || fail "no schema"
"$nputeir" nest --rules >rules || fail "no rules"
cat >check.py <<'END'
import json, re

# Every line keeps to the schema, which has no key that it does not know.
schema = json.load(open("schema"))
kinds = {"string": str, "integer": int, "boolean": bool}
nests = [json.loads(line) for line in open("json")]
for nest in nests:
    for key, value in nest.items():
        assert type(value) is kinds[schema["properties"][key]["type"]], key
    for key in schema["required"]:
        assert key in nest, key
taken, declined = nests
assert taken["taken"] and taken["einsum"] == "mk,kn->mn"
assert (taken["line"], taken["end_line"]) == (5, 9)
assert taken["teir"].startswith("teir 1\n")
assert not declined["taken"] and declined["rule"] == "VariantExtent"
assert declined["reason"] and declined["advice"]
used = {key for nest in nests for key in nest}
unused = set(schema["properties"]) - used
assert unused <= {"what", "by", "options", "reason_file"}, unused

# SARIF 2.1.0: what its schema demands of the objects that are there.
log = json.load(open("sarif"))
assert set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0"
run, = log["runs"]
assert set(run) == {"tool", "invocations", "results"}
driver = run["tool"]["driver"]
assert set(driver) == {"name", "version", "rules"} and driver["name"]
rules = [line.split(":")[0].strip() for line in open("rules")]
assert [r["id"] for r in driver["rules"]] == rules
for rule in driver["rules"]:
    assert set(rule) <= {"id", "shortDescription", "help"}
    assert rule["shortDescription"]["text"]
    assert "help" not in rule or rule["help"]["text"]
assert run["invocations"] == [{"executionSuccessful": True}]


def location(place, extra):
    assert set(place) == {"physicalLocation"} | extra
    physical = place["physicalLocation"]
    assert set(physical) <= {"artifactLocation", "region"}
    uri = physical["artifactLocation"]["uri"]
    assert re.fullmatch(r"([A-Za-z0-9/._~+@:-]|%[0-9A-F]{2})+", uri), uri
    region = physical["region"]
    assert region["startLine"] >= 1
    assert region.get("endLine", region["startLine"]) >= region["startLine"]
    return uri, region["startLine"]


assert len(run["results"]) == len(nests)
for result, nest in zip(run["results"], nests):
    assert set(result) <= {"ruleId", "ruleIndex", "kind", "level", "message",
                           "locations", "relatedLocations"}
    assert result["ruleId"] == rules[result["ruleIndex"]] == nest["rule"]
    # A kind other than fail has no level.
    assert (result["kind"], result["level"]) == (
        ("pass", "none") if nest["taken"] else ("fail", "note"))
    assert result["message"]["text"]
    place, = result["locations"]
    assert location(place, {"logicalLocations"}) == ("a.cpp", nest["line"])
    name, = place["logicalLocations"]
    assert name == {"name": nest["function"], "kind": "function"}
    assert ("relatedLocations" in result) == ("reason_line" in nest)
    for place in result.get("relatedLocations", []):
        assert place["message"]["text"]
        uri, line = location(place, {"message"})
        assert line == nest["reason_line"]
        if "reason_file" in nest:
            assert uri == "a%20header/bound.h", uri
END
if command -v python3 >/dev/null; then
  python3 check.py || fail "JSON or SARIF"
else
  echo "not checked without python3: JSON and SARIF"
fi

# A triangle is for the processor alone, and no TEIR says what it is.
cat >triangle.c <<'END'
void syrk(long n, int *restrict c, const int *restrict a) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      for (long k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * a[j * n + k];
}
END
export NPUTEIR_OPTIONS=device=cpu
status_is 0 --teir triangle.c
grep -q 'taken: mk,nk->mn' out && ! grep -q '^teir' out ||
  fail "TEIR of a triangle"
status_is 0 --json triangle.c
grep -q '"einsum":"mk,nk->mn"' out && ! grep -q '"teir"' out ||
  fail "JSON of a triangle"
"$nputeir" report triangle.c -o page >out 2>err ||
  fail "a page of a triangle: $(cat err)"

# What the compiler refuses is status 1, with what was found until then.
echo 'int f(void) { return no_such; }' >bad.c
status_is 1 bad.c
status_is 1 nothing.c
status_is 1 --sarif bad.c
grep -q '"executionSuccessful": false' out || fail "SARIF of a bad file"
status_is 0 /dev/null --language c
grep -q '^0 of 0 nests taken$' out || fail "an empty file"
status_is 0 -
status_is 2 a.o
status_is 2
status_is 2 --json --sarif a.cpp
status_is 2 --schema a.cpp
status_is 2 --rules --schema
status_is 2 --language fortran a.cpp
exit $((failures > 0))
