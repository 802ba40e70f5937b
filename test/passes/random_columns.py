#!/usr/bin/env python3
"""random_columns.py SEED COUNT -- a C program of nests as the gradients of
attention are: products over a triangle, for heads and batches in any order of
loops, whose results are columns of one array, or meet there.  Tensors have pages
behind or in front of them that cannot be accessed.  It prints a line for each,
which must not depend on who computes."""
from random_convolutions import main

TYPES = [("float", "float"), ("double", "double"), ("int8_t", "int32_t")]
FUNCTION = """
__attribute__((noinline)) static void f{i}({sum} *{restrict} x,
    {sum} *{restrict} s, const {type} *{restrict} q, const {type} *{restrict} w,
    {index} T, {index} B, {index} H, {index} S, {index} R, {index} O) {{
  {loops} {{
    {parts}
  }}
}}
static void check{i}(int at_end) {{
  enum {{ T = {T}, B = {B}, H = {H}, S = {S}, R = {R}, O = {O}, N = T * B * H,
         X = (B * T > 0 ? B * T - 1 : 0) * R + 2 * O + H * S + 8 }};
  {sum} *x = tensor(X * sizeof *x, at_end);
  {sum} *s = tensor((N * T + 1) * sizeof *s, at_end);
  {type} *q = tensor(X * sizeof *q, at_end);
  {type} *w = tensor((N * T + 1) * sizeof *w, at_end);
  for (long i = 0; i < X; i++) x[i] = ({sum})next(3), q[i] = ({type})(next(2) - 1);
  for (long i = 0; i <= N * T; i++) s[i] = ({sum})next(2), w[i] = ({type})(next(2) - 1);
  f{i}(x, {met}, q, w, T, B, H, S, R, O);
  uint64_t hash = 0;
  for (long i = 0; i < X; i++) hash = hash * 1099511628211u + (uint64_t)(int64_t)x[i];
  for (long i = 0; i <= N * T; i++) hash = hash * 1099511628211u + (uint64_t)(int64_t)s[i];
  printf("{i} %llx\\n", (unsigned long long)hash);
}}
"""


def loop(counter, size):
    return "for ({index} %s = 0; %s < %s; %s++) " % (counter, counter, size, counter)


def nest(r, i):
    type, sum = r.choice(TYPES)
    columns = r.choice(["for ({index} u = 0; u <= t; u++) "] * 3 +
                       ["for ({index} u = t; u < T; u++) ", loop("u", "T")])
    z = {"T": r.choice([1, 5, 31, 32, 33, 40, 65]), "B": r.choice([1, 1, 2, 3]),
         "H": r.choice([1, 2, 3]), "S": r.choice([1, 2, 3, 8, 9])}
    if r.random() < 0.05:
        z[r.choice("TBHS")] = 0
    width = z["H"] * z["S"]
    z["O"] = r.choice([width] * 6 + [width + 3, max(0, width - 1), 0])
    z["R"] = r.choice([2 * z["O"] + width] * 6 + [2 * z["O"] + width + 5,
                      max(1, 2 * z["O"] + width - 1), 1])
    order = r.choice([("b", "t", "h"), ("b", "t", "h"), ("b", "h", "t"),
                      ("t", "h", "b"), ("h", "t", "b"), ("t", "b", "h")])
    line = r.choice(["(b * T + %s) * R + h * S + k"] * 3 +
                    ["b * T * R + %s * R + h * S + k"])
    row, column = line % "t", line % "u"
    square = r.choice(["((b * H + h) * T + t) * T + %s"] * 2 +
                      ["((b * T + t) * H + h) * T + %s",
                       "(((T - 1 - t) * B + b) * H + h) * T + %s"])
    weight, score = "w[%s]" % square % "u", "s[%s]" % square % "u"
    if r.random() < 0.3 and sum != "int32_t":
        weight = score
    products = [
        "x[%s] += q[%s + O] * %s;" % (row, column, weight),
        "x[%s + O] += q[%s] * %s;" % (column, row, weight),
        "x[%s + 2 * O] += %s * q[%s];" % (column, weight, row),
        "%s += q[%s + 2 * O] * q[%s];" % ("s[%s]" % square % "u", column, row)]
    if weight == score:
        products.pop()
    others = [
        columns + "s[%s] = s[%s] * 2 - 1;" % (square % "u", square % "u"),
        "s[%s] += 1;" % (square % "t"),
        loop("k", "S") + "x[%s] += 1;" % row]
    parts = []
    chosen = r.sample(products, r.randint(1, len(products)))
    while chosen:
        count = r.randint(1, min(2, len(chosen)))
        body = " ".join(chosen[:count])
        inner = (columns, loop("k", "S"))
        if r.random() < 0.15:
            inner = inner[::-1]
        parts.append("".join(inner) + "{ " + body + " }")
        chosen = chosen[count:]
    if r.random() < 0.3:
        parts.insert(r.randint(0, len(parts)), r.choice(others))
    index = r.choice(["int", "int", "long"])
    sizes = {"b": "B", "t": "T", "h": "H"}
    restrict = r.choice(["restrict", ""])
    met = "s" if restrict or r.random() < 0.9 else \
        "X > N * T ? x + X - N * T - 1 : s"
    return FUNCTION.format(
        i=i, type=type, sum=sum, restrict=restrict, index=index, met=met,
        loops="".join(loop(c, sizes[c]) for c in order).replace("{index}", index),
        parts="\n    ".join(parts).replace("{index}", index), **z)


if __name__ == "__main__":
    main(nest)
