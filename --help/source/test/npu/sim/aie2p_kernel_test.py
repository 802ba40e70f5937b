#!/usr/bin/env python3
"""A published kernel for XDNA2 runs in its cycles and computes its product.

NPUTEIR_THIRD_PARTY names a directory with
tensor_kernel_64x96x64_bfp16_bfp16_fp32.s, which does not come with this
repository (scalable-analyses/xdna has it in src/).

Usage: aie2p_kernel_test.py NPUTEIR SCRATCH
"""

import math
import os
import random
import struct
import subprocess
import sys

NAME = "tensor_kernel_64x96x64_bfp16_bfp16_fp32"
M, K, N, TILE = 64, 96, 64, 8


def block_floats(rows, rng):
    """Rows of K values in tiles of 8x8, two tiles of rows per tile of K."""
    values = [[0.0] * K for _ in range(rows)]
    data = bytearray()
    for top in range(0, rows, 2 * TILE):
        for k in range(0, K, TILE):
            for row in range(top, top + 2 * TILE):
                exponent = rng.randrange(125, 130)
                mantissa = [rng.randrange(-128, 128) for _ in range(TILE)]
                data += bytes([exponent]) + bytes(m & 255 for m in mantissa)
                for i, m in enumerate(mantissa):
                    values[row][k + i] = math.ldexp(m, exponent - 133)
    return values, bytes(data)


def main():
    nputeir, scratch = sys.argv[1:]
    folder = os.environ.get("NPUTEIR_THIRD_PARTY", "")
    kernel = os.path.join(folder, NAME + ".s")
    if not folder or not os.path.exists(kernel):
        print(f"skipped: NPUTEIR_THIRD_PARTY names no directory with {NAME}.s")
        return 77
    os.makedirs(scratch, exist_ok=True)
    rng = random.Random(5)
    a, a_bytes = block_floats(M, rng)
    b, b_bytes = block_floats(N, rng)
    path = {name: os.path.join(scratch, name) for name in ("a", "b", "c")}
    with open(path["a"], "wb") as f:
        f.write(a_bytes)
    with open(path["b"], "wb") as f:
        f.write(b_bytes)
    # C lies in two banks, half of each pair of columns of tiles in one.
    run = subprocess.run(
        [nputeir, "core", "--isa=aie2p", kernel, "--call", NAME,
         "--set", "p0=0x70000", "--set", "p1=0x74000",
         "--set", "p2=0x78000", "--set", "p3=0x7c000",
         "--load", "0x70000=" + path["a"], "--load", "0x74000=" + path["b"],
         "--dump", "0x78000:24576=" + path["c"]],
        capture_output=True, text=True)
    report = dict(line.split("=") for line in run.stdout.split())
    print({k: report.get(k) for k in ("bundles", "cycles", "multiplies")},
          run.stderr.strip())
    if (report.get("cycles"), report.get("multiplies")) != ("800", "768"):
        return 1
    with open(path["c"], "rb") as f:
        c = struct.unpack("<6144f", f.read())
    tiles = {}
    for m in range(0, M, TILE):
        for n in range(0, N, TILE):
            tile = tuple(sum(x * y for x, y in zip(a[m + i], b[n + j]))
                         for i in range(TILE) for j in range(TILE))
            tiles[tile] = (m // TILE, n // TILE)
    # As published, the kernel mixes up two accumulators in its last block, and
    # swaps the tiles of a pair in the second bank.
    found = {tiles.get(tuple(c[at:at + 64]))
             for at in [*range(0, 2048, 64), *range(4096, 6144, 64)]}
    found.discard(None)
    print(f"{len(found)} of 64 tiles of the product are in memory")
    return 0 if len(found) == 62 else 1


sys.exit(main())
