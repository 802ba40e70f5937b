#!/bin/bash
# tool_profile_test.sh NPUTEIR FOLDER PROGRAM DRIVER -- `nputeir profile` of a
# product, of an xclbin and of a program (calls.c): files that parse, lanes that
# are whole, cycles that are the simulator's, limits where they are known; and
# of the program's calls on a device, DRIVER being the kernel driver's stand-in.
nputeir=$1
work=$2
program=$3
driver=$4
failures=0
rm -rf "$work"
mkdir -p "$work"
fail() {
  echo "$1"
  failures=$((failures + 1))
}

"$nputeir" profile 256x256x256 -o "$work/a" >"$work/out" || fail "no profile"
cmp -s "$work/out" "$work/a/summary.txt" || fail "the summary is not printed"
cycles=$("$nputeir" sim 256x256x256 | sed -n 's/^cycles=//p')
grep -q " cycles=$cycles " "$work/out" || fail "sim says $cycles cycles"
grep -q '^limit: 16 cores multiply in ' "$work/out" || fail "no sentence"

# The page says of every lane that its spans are all cycles of the run, and the
# trace has a thread for each.
cat >"$work/read.py" <<'END'
import json, re, sys
folder, cycles = sys.argv[1], int(sys.argv[2])
page = open(folder + "/profile.html").read()
assert not re.search(r'(src|href)\s*=', page), "the page loads something"
data = re.search(r'const NESTS = (\[.*?\]);\nconst HOST', page, re.S).group(1)
trace = json.load(open(folder + "/trace.json"))["traceEvents"]
nest, = json.loads(data)
assert nest["cycles"] == cycles
cores = 0
for lane in nest["lanes"]:
    s, i, total = lane["s"], 0, [0] * len(nest["cause"])
    while i < len(s):
        which, i = s[i], i + 1
        for c in range(len(total)):
            if which >> c & 1:
                total[c] += s[i]
                i += 1
    assert total == lane["t"] and sum(total) == cycles, lane["n"]
    cores += lane["k"] == 0
assert cores == nest["cores"] == 16
assert abs(sum(x for _, x in nest["core"]) - 1) < 1e-4
names = [e for e in trace if e["name"] == "thread_name"]
assert len(names) == len(nest["lanes"])
end = 0
for e in trace:
    assert e["ph"] in "XM"
    if e["ph"] == "X":
        assert e["dur"] > 0 and e["name"] in nest["cause"]
        end = max(end, e["ts"] + e["dur"])
assert abs(end - cycles / nest["clock"] / 1e3) < 0.01
END
if command -v python3 >/dev/null; then
  python3 "$work/read.py" "$work/a" "$cycles" || fail "the page or the trace"
else
  echo "not checked without python3: the page and the trace"
fi
if command -v node >/dev/null; then
  sed -n '/^<script>/,/^<\/script>/p' "$work/a/profile.html" |
    sed '/script>/d' >"$work/page.js"
  node --check "$work/page.js" || fail "the page's script"
else
  echo "not checked without node: the page's script"
fi

# In a browser, where there is one: its script has put the sentence, the bars
# and the array into the page.
show() { # show PAGE: what the browser makes of it, in "$work/dom"
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --dump-dom \
    "file://$(realpath "$1")" >"$work/dom" 2>/dev/null
}
browser=
for name in chromium chromium-browser google-chrome chrome-headless-shell; do
  [ -n "$browser" ] || browser=$(command -v "$name")
done
[ -z "$browser" ] || show "$work/a/profile.html"
if [ -n "$browser" ] && grep -q '<html' "$work/dom"; then
  sentence=$(sed -n 's/^limit: //p' "$work/out")
  sed -n 's/.*<p id="say">\(.*\)<\/p>.*/\1/p' "$work/dom" |
    grep -qF "$sentence" || fail "the browser does not show the sentence"
  grep -q 'core 3,5' "$work/dom" || fail "the browser does not show the array"
  grep -q 'multiply-adds per DRAM byte' "$work/dom" ||
    fail "the browser does not show the roofline"
else
  echo "not checked without a browser that dumps pages: what the page shows"
fi

# An xclbin runs to the same cycle.
"$nputeir" build 256x256x256 -o "$work/design" >/dev/null
head -c 131072 /dev/zero >"$work/in"
head -c 262144 /dev/zero >"$work/result"
"$nputeir" profile "$work/design/design.xclbin" "$work/design/design.txn" \
  --arg "$work/in" --arg "$work/in" --arg "$work/result" -o "$work/b" \
  >"$work/out" || fail "no profile of an xclbin"
grep -q " cycles=$("$nputeir" sim "$work/design/design.xclbin" \
  "$work/design/design.txn" --arg "$work/in" --arg "$work/in" \
  --arg "$work/result" | sed -n 's/^cycles=//p') " "$work/out" ||
  fail "other cycles of an xclbin"

# A transaction that forgets a task: the page and the simulator say which.
if command -v python3 >/dev/null; then
  python3 - "$work/design" <<'END'
import sys
run = open(sys.argv[1] + "/design.txn", "rb").read()
queue, elsewhere = 0x1D214, 0x1D1E0  # shim (0,0) MM2S0; a BD that nobody uses
assert queue.to_bytes(4, "little") in run
open(sys.argv[1] + "/bad.txn", "wb").write(run.replace(
    queue.to_bytes(4, "little"), elsewhere.to_bytes(4, "little"), 1))
END
  "$nputeir" profile "$work/design/design.xclbin" "$work/design/bad.txn" \
    --arg "$work/in" --arg "$work/in" --arg "$work/result" -o "$work/g" \
    >"$work/out" 2>/dev/null
  [ $? = 1 ] || fail "a deadlock is a success"
  grep -q '^limit: Not finished: deadlock at cycle' "$work/out" ||
    fail "no profile of a deadlock"
  grep -q '^shim (0,0) MM2S0 has no task$' "$work/g/summary.txt" &&
    grep -q 'shim (0,0) MM2S0 has no task' "$work/g/profile.html" ||
    fail "the deadlock is not explained"
  if [ -n "$browser" ] && show "$work/g/profile.html" && [ -s "$work/dom" ]; then
    parts=$(grep -cE '^(shim|mem|core) \(' "$work/g/summary.txt")
    [ "$(grep -o 'class="wait"' "$work/dom" | wc -l)" = $((parts - 1)) ] ||
      fail "the picture has not an arrow between each two of $parts parts"
  fi
  "$nputeir" sim "$work/design/design.xclbin" "$work/design/bad.txn" \
    --arg "$work/in" --arg "$work/in" --arg "$work/result" 2>&1 |
    grep -q '^shim (0,0) MM2S0 has no task$' || fail "sim does not explain it"
fi

# With a slow DRAM, that is the limit, and the sentence says so.
"$nputeir" profile 1024x1024x1024 --preset phoenix-15 -o "$work/c" >"$work/out"
grep -Eq '^limit: .* waits for DRAM in [1-9][0-9]* % of the cycles.* DRAM is busy in (9[0-9]|100) %' \
  "$work/out" || fail "DRAM is not the limit: $(tail -n 1 "$work/out")"

# The nests of a program: each once, with all its calls.
unset NPUTEIR_DEVICE NPUTEIR_OPTIONS NPUTEIR_TRACE NPUTEIR_VERIFY
"$nputeir" profile -o "$work/e" -- "$program" >"$work/out" ||
  fail "no profile of a program"
grep -q '^right$' "$work/out" || fail "the program's own output is lost"
[ "$(grep -c '^limit: ' "$work/out")" = 2 ] || fail "not two nests"
grep -q '^nest="a.c:9 second" mk,kn->mn m:128,n:64,k:96 bf16,bf16,f32$' \
  "$work/out" || fail "the second nest has no name"
grep -q '^host: calls=2 launches=2 ' "$work/out" || fail "not two calls"
# Host time has parts, of which none is more than all of it.
sed -n 's/^host: .* seconds=\(.*\) build_seconds=\(.*\) copy_seconds=\(.*\)/\1 \2 \3/p' \
  "$work/out" >"$work/host"
awk 'NF != 3 || $2 <= 0 || $3 <= 0 || $2 + $3 > $1 { exit 1 } END { exit NR != 2 }' \
  "$work/host" || fail "host time: $(cat "$work/host")"
"$nputeir" profile -o "$work/e" -- "$program" 3 >"$work/out" 2>&1
[ $? = 1 ] && grep -q 'ended with status 3' "$work/out" ||
  fail "the program's status is lost"
"$nputeir" profile -o "$work/f" -- true >"$work/out" 2>&1
[ $? = 1 ] && grep -q 'true wrote no profile' "$work/out" ||
  fail "a program that has no nests"
NPUTEIR_DEVICE=host "$nputeir" profile -o "$work/f" -- "$program" \
  >"$work/out" 2>&1
[ $? = 1 ] && grep -q 'no nest ran on the simulator' "$work/out" ||
  fail "a program that does not simulate"

# On a device, what its launches took.
on_device() {
  LD_PRELOAD=$driver NPUTEIR_ACCEL=/dev/accel/fake XDG_CACHE_HOME=/dev/null \
    NPUTEIR_DEVICE=npu NPUTEIR_OPTIONS=min-macs=0 "$@"
}
on_device "$nputeir" profile -o "$work/j" -- "$program" >"$work/out" ||
  fail "no profile of a device"
[ "$(grep -c '^device=npu least_microseconds=' "$work/out")" = 2 ] &&
  grep -q '^host: calls=2 launches=2 .* device_seconds=0\.[0-9]*[1-9]' \
    "$work/out" || fail "a device's nests: $(cat "$work/out")"
if command -v python3 >/dev/null; then
  python3 - "$work/j" <<'END' || fail "a device's page or trace"
import json, re, sys
page = open(sys.argv[1] + "/profile.html").read()
data = re.search(r'const NESTS = (\[.*?\]);\nconst HOST', page, re.S).group(1)
trace = json.load(open(sys.argv[1] + "/trace.json"))["traceEvents"]
first, second = json.loads(data)
assert first["device"] == "npu" and len(first["calls"]) == 1
assert len(second["calls"]) == 2
for nest in first, second:
    for at, seconds, build, copy, wait in nest["calls"]:
        assert 0 < wait and build + copy + wait <= seconds
calls = [e for e in trace if e["ph"] == "X"]
assert [e["pid"] for e in calls] == [1, 2, 2]
assert calls[0]["ts"] == 0
for before, after in zip(calls, calls[1:]):
    assert before["ts"] + before["dur"] <= after["ts"]
END
fi

# Ctrl-C in the middle of a launch: what was recorded until then.
env --default-signal=INT "$nputeir" profile -o "$work/h" -- "$program" 0 long \
  >"$work/out" \
  2>"$work/err" &
tool=$!
for _ in $(seq 100); do
  sleep 0.2
  child=$(ps -o pid= --ppid $tool | xargs)
  [ -n "$child" ] && [ "$(ps -o cputimes= "$child" | xargs)" -ge 1 ] && break
done
kill -INT $tool
wait $tool
[ $? = 1 ] && grep -q 'was ended by signal 2' "$work/err" ||
  fail "an interrupted program: $(cat "$work/err")"
grep -q '^nest="a.c:20 long" ' "$work/out" &&
  grep -q '^limit: Not finished: interrupted' "$work/out" ||
  fail "an interrupted launch leaves no summary: $(cat "$work/out")"
[ -s "$work/h/profile.html" ] && [ -s "$work/h/trace.json" ] ||
  fail "an interrupted launch leaves no files"

# On a terminal, how long a launch still takes.
if command -v script >/dev/null; then
  script -qec "$nputeir profile -o $work/i -- $program 0 long again again" \
    "$work/terminal" >"$work/out" || fail "no profile on a terminal"
  tr '\r' '\n' <"$work/terminal" |
    grep -Eq '^.{0,4}[0-9]+ s, [01] nests recorded; [0-9]+ s left of a launch of a.c:20 long$' ||
    fail "no progress: $(tr '\r' '\n' <"$work/terminal" | head -n 20)"
  [ ! -e "$work/i/progress.txt" ] || fail "progress.txt is left"
else
  echo "not checked without script: progress on a terminal"
fi

# What cannot be written is said once, with its name.
lines() { # lines ERROR VARIABLE=VALUE ..
  said=$1
  shift
  env NPUTEIR_DEVICE=sim "$@" "$program" >/dev/null 2>"$work/err"
  [ "$(grep -c "$said" "$work/err")" = 1 ] ||
    fail "$*: $(cat "$work/err")"
}
lines '^nputeir: NPUTEIR_PROFILE: /dev/null/x: cannot make a folder: Not a dir' \
  NPUTEIR_PROFILE=/dev/null/x
lines "^nputeir: NPUTEIR_VERIFY_FILE: cannot write '/dev/null/x': Not a dir" \
  NPUTEIR_VERIFY=1 NPUTEIR_VERIFY_FILE=/dev/null/x
lines '^nputeir: NPUTEIR_VERIFY_FILE: cannot write: No space left on device' \
  NPUTEIR_VERIFY=1 NPUTEIR_VERIFY_FILE=/dev/full

# Words
"$nputeir" profile 64x64x64 2>/dev/null
[ $? = 2 ] || fail "no folder, and status is not 2"
"$nputeir" profile -o "$work/d" 2>/dev/null
[ $? = 2 ] || fail "nothing to profile, and status is not 2"
exit $((failures > 0))
