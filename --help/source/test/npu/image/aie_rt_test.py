#!/usr/bin/env python3
"""Registers, descriptor fields and switch ports lie where AMD's driver library
has them on AIE2P.

NPUTEIR_AIE_RT names a checkout of Xilinx/aie-rt, or the header in it, which
does not come with this repository (branch release/main_aig,
driver/src/global/xaie2pgbl_params.h).

Usage: aie_rt_test.py SOURCE
"""

import os
import re
import sys

HEADER = "driver/src/global/xaie2pgbl_params.h"
# What our tables call a tile kind's registers, by module of the library.
MODULES = {"CORE": ("MEMORY", "CORE"), "MEM": ("MEM_TILE",),
           "SHIM": ("NOC", "PL")}
# The library's name of the first and of the next register.
NAMES = {
    "MEMORY": ("DATAMEMORY",),
    "PROGRAM": ("PROGRAM_MEMORY",),
    "BD": ("DMA_BD{}_0",),
    "S2MM_CTRL": ("DMA_S2MM_{}_CTRL",),
    "S2MM_QUEUE": ("DMA_S2MM_{}_START_QUEUE", "DMA_S2MM_{}_TASK_QUEUE"),
    "MM2S_CTRL": ("DMA_MM2S_{}_CTRL",),
    "MM2S_QUEUE": ("DMA_MM2S_{}_START_QUEUE", "DMA_MM2S_{}_TASK_QUEUE"),
    "S2MM_STATUS": ("DMA_S2MM_STATUS_{}",),
    "MM2S_STATUS": ("DMA_MM2S_STATUS_{}",),
    "LOCK": ("LOCK{}_VALUE",),
    "LOCK_REQUEST": ("LOCK_REQUEST",),
    "CONTROL": ("CORE_CONTROL",),
    "STATUS": ("CORE_STATUS",),
    "ACCUMULATOR": ("ACCUMULATOR_CONTROL",),
    "MUX": ("MUX_CONFIG",),
    "DEMUX": ("DEMUX_CONFIG",),
}
FIELDS = {
    "BASE": ("BASE_ADDRESS", "BASE_ADDRESS_LOW"),
    "BASE_HIGH": ("BASE_ADDRESS_HIGH",),
    "LENGTH": ("BUFFER_LENGTH",), "COMPRESS": ("ENABLE_COMPRESSION",),
    "PACKET": ("ENABLE_PACKET",), "OUT_OF_ORDER": ("OUT_OF_ORDER_BD_ID",),
    "ITER_NOW": ("ITERATION_CURRENT",), "ITER_COUNT": ("ITERATION_WRAP",),
    "ITER_STEP": ("ITERATION_STEPSIZE",), "NO_TLAST": ("TLAST_SUPPRESS",),
    "NEXT": ("NEXT_BD",), "USE_NEXT": ("USE_NEXT_BD",), "VALID": ("VALID_BD",),
    "REL_VALUE": ("LOCK_REL_VALUE",), "REL_LOCK": ("LOCK_REL_ID",),
    "ACQ_ON": ("LOCK_ACQ_ENABLE",), "ACQ_VALUE": ("LOCK_ACQ_VALUE",),
    "ACQ_LOCK": ("LOCK_ACQ_ID",), "BURST": ("BURST_LENGTH",),
    "AX_CACHE": ("AXCACHE",),
}
PORTS = {"CORE": ("AIE_CORE", "AIE_CORE_"), "CONTROL": ("TILE_CTRL",)}


def rows(path, macro):
    """The arguments of a table's lines."""
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    for line in re.findall(rf"^{macro} *\(([^()]*)\)", text, flags=re.M):
        yield [x.strip() for x in line.split(",")]


def field_name(name):
    for pattern, library in (("STEP", "STEPSIZE"), ("WRAP", "WRAP"),
                             ("BEFORE", "PAD_BEFORE"), ("AFTER", "PAD_AFTER")):
        found = re.fullmatch(rf"{pattern}(\d)", name)
        if found:
            return (f"D{found[1]}_{library}",)
    return FIELDS.get(name, (name,))


class Library:
    def __init__(self, path):
        self.value = {m[1]: int(m[2], 16) for m in re.finditer(
            r"#define XAIE2PGBL_(\w+)\s+(0x[0-9A-Fa-f]+)", open(path).read())}

    def find(self, tile, names, suffix=""):
        found = [self.value[f"{m}_MODULE_{n}{suffix}"]
                 for m in MODULES[tile] for n in names
                 if f"{m}_MODULE_{n}{suffix}" in self.value]
        return found[0] if found else None


def check(bad, what, ours, library):
    if ours != library:
        bad.append(f"{what}: ours {ours:#x}, the library's "
                   f"{'absent' if library is None else hex(library)}")


def compare(source, library):
    bad, count = [], 0
    table = os.path.join(source, "npu/image/regmap.def")
    switch = {}
    for tile, name, offset, stride, number in rows(table, "REGISTER"):
        offset, stride, number = (int(x, 0) for x in (offset, stride, number))
        if name in ("MASTER", "SLAVE", "SLOT"):
            switch[tile, name] = offset
            continue
        for i in {0, number - 1} if "{}" in NAMES[name][0] else {0}:
            names = [x.format(i) for x in NAMES[name]]
            check(bad, f"{tile} {name} {i}", offset + i * stride,
                  library.find(tile, names))
            count += 1
    for tile, name, word, high, low in rows(table, "BD_FIELD"):
        mask = (1 << int(high) + 1) - (1 << int(low))
        check(bad, f"{tile} descriptor {name}", mask, library.find(
            tile, [f"DMA_BD0_{word}_{x}" for x in field_name(name)], "_MASK"))
        count += 1
    for macro, what in (("MASTER", "MASTER_CONFIG"), ("SLAVE", "SLAVE_CONFIG")):
        for tile, port, first, number in rows(
                os.path.join(source, "npu/array/port.def"), macro):
            for i in range(int(number)):
                kinds = PORTS.get(port, (port,))
                names = [f"STREAM_SWITCH_{what}_{x}" for k in kinds for x in
                         (f"{k}{i}", f"{k}_{i}", k)]
                if port == "TRACE":
                    names += [f"STREAM_SWITCH_{what}_{x}" for x in
                              (("AIE_TRACE", "MEM_TRACE")[i],)]
                check(bad, f"{tile} {macro} {port} {i}",
                      switch[tile, macro] + 4 * (int(first) + i),
                      library.find(tile, names))
                count += 1
    return bad, count


def compare_device(source, library):
    """Pad values, Tile_Control, and the registers of a core."""
    bad = []
    text = open(os.path.join(source, "npu/array/device.def")).read()
    numbers = re.search(r'"npu4".*?REGISTERS\(([^)]*)\)', text, re.S)[1]
    _, pad, shim, mem, core = (int(x, 0) for x in numbers.split(","))
    check(bad, "pad value", pad,
          library.find("MEM", ["DMA_MM2S_0_CONSTANT_PAD_VALUE"]))
    check(bad, "shim control", shim,
          library.value.get("PL_MODULE_TILE_CONTROL"))
    check(bad, "mem control", mem, library.find("MEM", ["TILE_CONTROL"]))
    check(bad, "core control", core,
          library.value.get("CORE_MODULE_TILE_CONTROL"))
    window = os.path.join(source, "npu/array/window.def")
    for device, name, offset, number in rows(window, "WINDOW"):
        for i in {0, int(number) - 1} if device == '"npu4"' else ():
            name = name.strip('"').upper()
            check(bad, f"core register {name} {i}", int(offset, 0) + 16 * i,
                  library.find("CORE", [f"CORE_{name}{i}", f"CORE_{name}"]))
    return bad


def main():
    path = os.environ.get("NPUTEIR_AIE_RT", "")
    if os.path.isdir(path):
        path = os.path.join(path, HEADER)
    if not os.path.isfile(path):
        print("NPUTEIR_AIE_RT names no aie-rt: skipped")
        return 77
    library = Library(path)
    bad, count = compare(sys.argv[1], library)
    bad += compare_device(sys.argv[1], library)
    print("\n".join(bad) or f"{count} registers, fields and ports agree")
    return bool(bad)


sys.exit(main())
