#!/usr/bin/env python3
"""random_convolutions.py SEED COUNT -- a C program of convolutions with margins,
in random sizes, layouts, types and dress.  Tensors have pages behind or in front
of them that cannot be accessed.  It prints a line for each, which must not
depend on who computes."""
import random
import sys

TYPES = [("float", "float"), ("double", "double"), ("int8_t", "int32_t"),
         ("uint8_t", "int32_t"), ("int16_t", "int32_t")]
PROGRAM = """#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
static void *tensor(size_t bytes, int at_end) {
  size_t whole = (bytes + 4095) / 4096 * 4096;
  char *p = mmap(0, whole + 8192, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(p, 4096, PROT_NONE);
  mprotect(p + 4096 + whole, 4096, PROT_NONE);
  return p + 4096 + (at_end ? whole - bytes : 0);
}
static unsigned state;
static int next(int bits) {
  state = state * 1664525u + 1013904223u;
  return (int)(state >> (32 - bits));
}
"""
FUNCTION = """
__attribute__((noinline)) static void f{i}({sum} *restrict out, const {type} *in,
    const {weight} *w, const {sum} *bias{parameters}) {{
  {loops} {{
    {sum} s = 0;
    {body}
    {place} {store} {tail};
  }}
}}
static void check{i}(int at_end) {{
  {type} *in = tensor({inputs} * sizeof *in, at_end);
  {weight} *w = tensor({weights} * sizeof *w, at_end);
  {sum} *out = tensor({outputs} * sizeof *out, at_end);
  {sum} *bias = tensor({k} * sizeof *bias, at_end);
  for (long i = 0; i < {inputs}; i++) in[i] = ({type})next({bits});
  for (long i = 0; i < {weights}; i++) w[i] = ({weight})(next({bits}) - 7);
  for (long i = 0; i < {k}; i++) bias[i] = ({sum})next(9) - 200;
  for (long i = 0; i < {outputs}; i++) out[i] = ({sum})next(3);
  f{i}(out, in, w, bias{arguments});
  uint64_t hash = 0;
  for (long i = 0; i < {outputs}; i++)
    hash = hash * 1099511628211u + (uint64_t)(int64_t)out[i];
  printf("{i} %llx\\n", (unsigned long long)hash);
}}
"""
INSIDE = "y >= 0 && y < H && x >= 0 && x < W"


def convolution(r, i):
    type, sum = r.choice(TYPES)
    weight = r.choice([type, type.replace("uint", "int")])
    z = {"N": r.randint(1, 2), "H": r.randint(1, 17), "W": r.randint(1, 17),
         "C": r.choice([1, 2, 3, 4, 5, 8, 16, 17, 32]),
         "K": r.choice([1, 2, 3, 5, 8, 16, 24, 33]),
         "R": r.randint(1, 4), "S": r.randint(1, 4),
         "T": r.randint(0, 2), "L": r.randint(0, 2)}
    step, apart = r.choice([1, 1, 1, 2]), r.choice([1, 1, 2])
    beyond = r.choice([0, 0, r.randint(1, 3)])
    for out, size, taps, edge in ("P", "H", "R", "T"), ("Q", "W", "S", "L"):
        room = z[size] + 2 * z[edge] - (z[taps] - 1) * apart - 1
        z[out] = max(1, room // step + 1) + beyond
    nhwc = r.random() < 0.5
    load = ("in[((n * H + y) * W + x) * C + c]" if nhwc else
            "in[((n * C + c) * H + y) * W + x]")
    product = load + " * " + r.choice(["w[((r * S + s_) * C + c) * K + k]",
                                       "w[((k * C + c) * R + r) * S + s_]",
                                       "w[((k * R + r) * S + s_) * C + c]"])
    place = ("out[((n * P + p) * Q + q) * K + k]" if nhwc else
             "out[((n * K + k) * P + p) * Q + q]")
    y = "int y = p * %d + r * %d - T;" % (step, apart)
    x = "int x = q * %d + s_ * %d - L;" % (step, apart)

    def loops(*names):
        ends = dict(n="N", p="P", q="Q", k="K", c="C", r="R", s_="S")
        return " ".join("for (int {0} = 0; {0} < {1}; {0}++)".format(n, ends[n])
                        for n in names)
    taps = loops(*r.choice([("r", "s_", "c"), ("c", "r", "s_")]))
    body = r.choice([
        taps + " { %s %s if (%s) s += %s; }" % (y, x, INSIDE, product),
        taps + " { %s %s if (!(%s)) continue; s += %s; }" % (
            y, x, INSIDE, product),
        taps + " { %s %s %s e = %s ? %s : 0; s += e * %s; }" % (
            y, x, type, INSIDE, *product.split(" * w")[:1],
            "w" + product.split(" * w")[1]),
        "%s { %s if (y < 0 || y >= H) continue; %s { %s"
        " if (x < 0 || x >= W) continue; %s s += %s; } }" % (
            loops("r"), y, loops("s_"), x, loops("c"), product)])
    known = r.random() < 0.4
    if known:
        for name, size in z.items():
            body = body.replace("< " + name, "< %d" % size)
    values = dict(
        i=i, type=type, weight=weight, sum=sum, body=body, place=place,
        loops=loops(*(("n", "p", "q", "k") if nhwc or r.random() < 0.3 else
                      ("n", "k", "p", "q"))),
        parameters="".join(", int " + name for name in z),
        arguments="".join(", %d" % size for size in z.values()),
        store=r.choice(["=", "=", "=", "+="]),
        tail=r.choice(["s", "s", "s + bias[k]",
                       "(s + bias[k] > 0 ? s + bias[k] : 0)"]),
        inputs=z["N"] * z["H"] * z["W"] * z["C"], k=z["K"],
        weights=z["R"] * z["S"] * z["C"] * z["K"],
        outputs=z["N"] * z["P"] * z["Q"] * z["K"],
        bits=7 if sum == "int32_t" else 4)
    return FUNCTION.format(**values)


def main(function):
    r, count = random.Random(int(sys.argv[1])), int(sys.argv[2])
    print(PROGRAM + "".join(function(r, i) for i in range(count)))
    print("int main(void) {\n  for (int e = 0; e < 2; e++) {")
    for i in range(count):
        print("    check%d(e);" % i)
    print("  }\n}")


if __name__ == "__main__":
    main(convolution)
