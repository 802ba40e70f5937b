#!/usr/bin/env python3
"""random_scattered.py SEED COUNT -- a C program of nests that scatter products, as
transposed convolutions and gradients of a convolution's input do, in random
sizes, strides, orders of loops, layouts and types.  Tensors have pages behind or
in front of them that cannot be accessed.  It prints a line for each, which must
not depend on who computes."""
from random_convolutions import PROGRAM, TYPES, main

FUNCTION = """
void f{i}({sum} *{restrict} out,
    const {type} *{restrict} in, const {weight} *{restrict} w{parameters}) {{
  {loops}
}}
static void check{i}(int at_end) {{
  {type} *in = tensor({inputs} * sizeof *in, at_end);
  {weight} *w = tensor({weights} * sizeof *w, at_end);
  {sum} *out = tensor({outputs} * sizeof *out, at_end);
  for (long i = 0; i < {inputs}; i++) in[i] = ({type})next(4);
  for (long i = 0; i < {weights}; i++) w[i] = ({weight})(next(3) - 4);
  for (long i = 0; i < {outputs}; i++) out[i] = ({sum})next(3);
  f{i}(out + {first}, in, w{arguments});
  uint64_t hash = 0;
  for (long i = 0; i < {outputs}; i++)
    hash = hash * 1099511628211u + (uint64_t)(int64_t)out[i];
  printf("{i} %llx\\n", (unsigned long long)hash);
}}
"""


def at(r, *order):
    """an index of these (counter, size), the first or the last of them slowest"""
    order = list(order)
    if r.random() < 0.2:
        r.shuffle(order)
    index = order[0][0]
    for counter, size in order[1:]:
        index = "(%s) * %s + %s" % (index, size, counter)
    return index


def scattered(r, i):
    type, sum = r.choice(TYPES)
    weight = r.choice([type, type.replace("uint", "int")])
    flat = r.random() < 0.3
    z = {"N": r.randint(1, 2), "H": 1 if flat else r.randint(1, 16),
         "W": r.randint(1, 120 if flat else 16),
         "C": r.choice([1, 2, 3, 4, 8, 16, 17, 32]),
         "K": r.choice([1, 2, 3, 5, 8, 16, 24, 33]),
         "R": 1 if flat else r.randint(1, 4), "S": r.randint(1, 5)}
    if r.random() < 0.05:
        z[r.choice("NHWCKRS")] = 0
    step = {"T": r.choice([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 0, -1]), "L": 1}
    step["L"] = r.choice([step["T"], step["T"], r.choice([1, 2, -2])])
    apart = r.choice([1, 1, 1, 2])
    first = {}
    for out, size, taps, by in ("P", "H", "R", "T"), ("Q", "W", "S", "L"):
        first[out] = max(0, -step[by] * (z[size] - 1))
        z[out] = (abs(step[by]) * max(0, z[size] - 1) + (max(1, z[taps]) - 1) * apart +
                  1 + r.choice([0, 0, 1]))
    equal = step["T"] == 1 and step["L"] == 1 and r.random() < 0.5
    y = ("p + " if equal else "p * T + ") + ("r" if apart == 1 else "r * 2")
    x = ("q + " if equal else "q * L + ") + ("s_" if apart == 1 else "s_ * 2")
    nhwc = r.random() < 0.5
    if nhwc:
        place = at(r, ("n", "N"), (y, "P"), (x, "Q"), ("k", "K"))
        ahead = (first["P"] * z["Q"] + first["Q"]) * z["K"]
    else:
        place = at(r, ("n", "N"), ("k", "K"), (y, "P"), (x, "Q"))
        ahead = first["P"] * z["Q"] + first["Q"]
    if min(step.values()) < 0:  # the shuffled one begins elsewhere
        order = [("n", "N"), (y, "P"), (x, "Q"), ("k", "K")]
        if not nhwc:
            order = [order[0], order[3], order[1], order[2]]
        place = order[0][0]
        for counter, size in order[1:]:
            place = "(%s) * %s + %s" % (place, size, counter)
    load = at(r, *r.choice([(("n", "N"), ("p", "H"), ("q", "W"), ("c", "C")),
                            (("n", "N"), ("c", "C"), ("p", "H"), ("q", "W"))]))
    taps = at(r, *r.choice([(("c", "C"), ("r", "R"), ("s_", "S"), ("k", "K")),
                            (("c", "C"), ("k", "K"), ("r", "R"), ("s_", "S")),
                            (("r", "R"), ("s_", "S"), ("k", "K"), ("c", "C"))]))
    order = r.choice(["npqcrsk", "npqcrsk", "ncpqkrs", "npqkrsc", "rsnpqck",
                      "nckpqrs", "nrspqkc", "pqrskcn", "cnpqrsk"])
    if r.random() < 0.3:
        order = "".join(r.sample(order, len(order)))
    ends = dict(n="N", p="H", q="W", k="K", c="C", r="R", s="S")
    counter = dict(s="s_")
    number = r.choice(["int", "int", "long", "int"])

    def loop(name):
        return "for (%s %s = 0; %s < %s; %s++)" % (
            number, counter.get(name, name), counter.get(name, name), ends[name],
            counter.get(name, name))
    product = r.choice(["in[%s] * w[%s]", "({2})in[%s] * w[%s]"]).replace(
        "{2}", sum) % (load, taps)
    loops = " ".join(loop(name) for name in order)
    body = r.choice(["%s out[%s] += %s;"] * 6 +
                    ["%s { %s *to = out + %s; *to = %s + *to; }", "sum", "sum",
                     "%s if (k + r < 40) out[%s] += %s;",
                     "%s out[%s] -= %s;"])
    if body == "sum":
        order = order.replace("c", "")
        body = "%s { %s s = 0; %s s += %s; out[%s] += s; }" % (
            " ".join(loop(name) for name in order), sum, loop("c"), product, place)
    elif "*to" in body:
        body = body % (loops, sum, place, product)
    else:
        body = body % (loops, place, product)
    if r.random() < 0.3:
        for name, size in list(z.items()) + list(step.items()):
            body = body.replace("* %s +" % name, "* (%d) +" % size)
            body = body.replace("< %s;" % name, "< %d;" % size)
    z.update(step)
    values = dict(
        i=i, type=type, weight=weight, sum=sum, loops=body, first=ahead,
        restrict=r.choice(["restrict", "restrict", ""]),
        parameters="".join(", %s %s" % (number, name) for name in z),
        arguments="".join(", %d" % size for size in z.values()),
        inputs=z["N"] * z["H"] * z["W"] * z["C"],
        weights=z["R"] * z["S"] * z["C"] * z["K"],
        outputs=max(1, z["N"]) * z["P"] * z["Q"] * max(1, z["K"]))
    return FUNCTION.format(**values)


if __name__ == "__main__":
    main(scattered)
