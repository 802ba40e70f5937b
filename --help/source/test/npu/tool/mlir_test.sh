#!/bin/bash
# mlir_test.sh NPUTEIR -- `nputeir build --mlir`: every line is one of mlir-aie's
# operations in the form of its year, values and symbols are defined once and
# before their use, and descriptors, locks and channels are the design's.
nputeir=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
cat >check.py <<'END'
import re, sys
folder, year = sys.argv[1], int(sys.argv[2])
N, V = r"-?\d+", r"%[a-z_]\w*"
T = rf"%tile_(\d+)_(\d+)"
M = rf"memref<{N}xi32>"
U = r"\d+ : ui32"
old = year == 2025
forms = {
    "module": r"module \{", "device": r"aie\.device\(npu1\) \{",
    "tile": rf"{V} = aie\.tile\({N}, {N}\)",
    "buffer": rf'{V} = aie\.buffer\({T}\) \{{address = {N} : i32, sym_name = '
              rf'"\w+"\}} : {M}',
    "lock": rf'{V} = aie\.lock\({T}, {N}\) \{{init = {N} : i32, sym_name = '
            r'"\w+"\}',
    "flow": rf"aie\.flow\({T}, DMA : {N}, {T}, DMA : {N}\)",
    "core": rf"{V} = aie\.core\({T}\) \{{", "end": r"aie\.end",
    "core end": r'\} \{elf_file = "core\.elf", stack_size = 0 : i32\}',
    "dma": rf"{V} = aie\.(mem|memtile_dma)\({T}\) \{{",
    "start": rf"{V} = aie\.dma_start\((MM2S|S2MM), {N}, \^\w+, \^\w+\)",
    "block": r"\^\w+:", "next": r"aie\.next_bd \^\w+", "close": r"\}",
    "use": r"aie\.use_lock\(%lock_\d+_\d+_\d+, (AcquireGreaterEqual|Release), "
           + (N if old else V) + r"\)",
    "bd": (rf"aie\.dma_bd\({V} : {M}, {N}, {N}(, \[<size = {N}, stride = {N}>"
           rf"(, <size = {N}, stride = {N}>)*\])?\) \{{bd_id = {N} : i32\}}"
           if old else
           rf"aie\.dma_bd\({V} : {M} offset = {N} len = {N}( sizes = \[{N}"
           rf"(, {N})*\] strides = \[{N}(, {N})*\])?\) \{{bd_id = {N} : i32\}}"),
    "constant": rf"{V} = arith\.constant {N} : i32",
    "global": rf'memref\.global "private" constant @\w+ : {M} = '
              rf"dense<\[{N}(, {N})*\]>",
    "get": rf"{V} = memref\.get_global @\w+ : {M}",
    "sequence": ("aiex" if old else "aie") + rf"\.runtime_sequence\({V}: {M}, "
                rf"{V}: {M}, {V}: {M}\) \{{",
    "block write": rf"aiex\.npu\.blockwrite\({V}\) \{{address = {U}\}} : {M}",
    "write": rf"aiex\.npu\.write32 \{{address = {U}, value = {U}\}}" if old else
             rf"aiex\.npu\.write32\({V}, {V}\) : i32, i32",
    "mask": rf"aiex\.npu\.maskwrite32 \{{address = {U}, mask = {U}, value = {U}"
            r"\}" if old else
            rf"aiex\.npu\.maskwrite32\({V}, {V}, {V}\) : i32, i32, i32",
    "sync": rf"aiex\.npu\.sync \{{channel = {N} : i32, column = {N} : i32, "
            rf"column_num = 1 : i32, direction = [01] : i32, row = {N} : i32, "
            r"row_num = 1 : i32\}" if old else
            rf"aiex\.npu\.sync\({V}(, {V}){{5}}\) : i32(, i32){{5}}",
    "patch": rf"aiex\.npu\.address_patch \{{addr = {U}, arg_idx = [012] : i32, "
             rf"arg_plus = {N} : i32\}}" if old else
             rf"aiex\.npu\.address_patch\({V} : i32\) \{{addr = {U}, "
             r"arg_idx = [012] : i32\}",
}
if old:
    del forms["constant"]
else:
    forms["poll"] = rf"aiex\.npu\.maskpoll\({V}, {V}, {V}\) : i32, i32, i32"
lines = [l.strip() for l in open(folder + "/design.mlir")]
scopes, symbols, seen, depth = [set()], set(), {}, 0
for number, line in enumerate(lines, 1):
    if line.startswith("//"):
        continue
    kind = [k for k, form in forms.items() if re.fullmatch(form, line)]
    assert kind, (number, line)
    seen[kind[0]] = seen.get(kind[0], 0) + 1
    if line.startswith("}"):
        scopes.pop()
    names = re.findall(r"(?<!@)%\w+", line)
    if "sequence(" in line:
        scopes.append(set(names))
        continue
    defined = names[:1] if " = " in line.split("(")[0] else []
    for name in names[len(defined):]:
        assert any(name in s for s in scopes), (number, name)
    for name in defined:
        assert not any(name in s for s in scopes), (number, name)
        scopes[-1].add(name)
    if line.endswith("{"):
        scopes.append(set())
    for name in re.findall(r'sym_name = "(\w+)"', line) + (
            re.findall(r"@(\w+) :.*dense", line)):
        assert name not in symbols, name
        symbols.add(name)
assert len(scopes) == 1
for needed in set(forms) - {"poll", "sync", "mask", "patch"}:
    assert needed in seen, needed
# The labels of a DMA are its own.
for body in re.split(r"aie\.(?:mem|memtile_dma)\(", "\n".join(lines))[1:]:
    body = body[:body.index("\n}")]
    labels = re.findall(r"^\^(\w+):", body, re.M)
    assert len(labels) == len(set(labels))
    assert set(re.findall(r"\^(\w+)", body)) == set(labels)

# Descriptors as in the design, in words.
design, tile = {}, None
for line in open(folder + "/design.txt"):
    if m := re.match(r"tile \((\d+),(\d+)\)", line):
        tile = m.groups()
    m = re.match(r"  bd (\d+) \S+ (\S+) at words (\d+) from (0x\w+).*?"
                 r"(?: acquire (\d+) -(\d+))?(?: release (\d+) \+(\d+))?"
                 r"(?: next (\d+))?$", line)
    if m:
        design[tile + (m[1],)] = (m[3], int(m[4], 16) // 4) + m.groups()[4:]
buffers, found, channels = {}, {}, set()
for i, line in enumerate(lines):
    if m := re.match(rf"(%\w+) = aie.buffer\({T}\) \{{address = (\d+)", line):
        buffers[m[1]] = int(m[4]) // 4
    if m := re.match(rf"%\w+ = aie.mem(?:tile_dma)?\({T}\)", line):
        tile = m.groups()
    if m := re.match(r"%\w+ = aie.dma_start\((\w+), (\d+)", line):
        channels.add(tile + m.groups())
    if m := re.match(r"aie.dma_bd\((%\w+) : \S+(?: offset =)? (\d+),?(?: len =)?"
                     r" (\d+).*bd_id = (\d+)", line):
        use = r"aie.use_lock\(%lock_\d+_\d+_(\d+), ([AR])"
        locks = [re.match(use, l) for l in [lines[i - 1]] + lines[i + 1:i + 3]]
        locks = {u[2]: u[1] for u in locks if u}
        following = [l for l in lines[i:i + 4] if l.startswith("aie.next_bd")]
        found[tile + (m[4],)] = (m[3], buffers[m[1]] + int(m[2]),
                                 following[0][len("aie.next_bd ^"):], locks)
for key, (length, start, after, locks) in found.items():
    d = design[key]
    assert (length, start) == d[:2], (key, d)
    assert (locks.get("A"), locks.get("R")) == (d[2], d[4]), (key, locks, d)
    assert after == ("bd" + d[6] if d[6] else "end"), (key, after, d)
assert len(found) > 10
# Every channel has its flow.
flows = set()
for line in lines:
    if m := re.match(rf"aie.flow\({T}, DMA : (\d+), {T}, DMA : (\d+)\)", line):
        flows.add((m[1], m[2], "MM2S", m[3]))
        assert (m[4], m[5], "S2MM", m[6]) not in flows
        flows.add((m[4], m[5], "S2MM", m[6]))
assert channels <= flows, channels - flows
assert all(row == "0" for _, row, _, _ in flows - channels)
END
for words in 64x64x64 "128x256x128 --types i8,i8,i32" 100x300x64; do
  for year in 2025 2026; do
    # shellcheck disable=SC2086
    "$nputeir" build $words --mlir $year -o out >/dev/null &&
      python3 check.py out $year || {
      echo "$words, $year"
      failures=$((failures + 1))
    }
  done
done
"$nputeir" build 64x64x64 --mlir 2024 -o out 2>/dev/null
[ $? = 2 ] || fail "a year of no form"
exit $((failures > 0))
