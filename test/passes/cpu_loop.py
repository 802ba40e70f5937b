#!/usr/bin/env python3
"""cpu_loop.py FUNCTION PRODUCT PRODUCTS LEAST < disassembly -- the loop of the
functions whose name begins like this that has most PRODUCT instructions: at
most 5 % more than LEAST instructions for every PRODUCTS of them, and none with
a mask: on x86-64 a masked load needs a product's place, too."""
import re
import sys

name, product, products, least = sys.argv[1:]
functions, code = {}, None
for line in sys.stdin:
    head = re.match(r"([0-9a-f]+) <(.*)>:", line)
    if head:
        code = functions.setdefault(head[2], []) if head[2].startswith(name) else None
        continue
    part = re.match(r" *([0-9a-f]+):\s+(\S+)\s*(.*)", line)
    if code is not None and part:
        code.append((int(part[1], 16), part[2], part[3]))
best = []
for code in functions.values():
    for at, insn, operands in code:
        if insn == "adrp":  # the page of a constant is no jump
            continue
        target = re.search(r"0x([0-9a-f]+) <", operands)
        if target and int(target[1], 16) <= at:
            loop = [x[1] + (" masked" if "{%k" in x[2] else "")
                    for x in code if int(target[1], 16) <= x[0] <= at]
            # The innermost one: a loop around it holds it and more.
            if loop.count(product) > best.count(product):
                best = loop
count = best.count(product)
steps = count / float(products)
print(f"{name} {len(best)} instructions, {count} {product}, for {steps:g} steps;"
      f" by hand {steps * float(least):g}")
masked = sum(" masked" in insn for insn in best)
sys.exit(not (steps > 0 and len(best) <= 1.05 * steps * float(least)
              and not masked))
