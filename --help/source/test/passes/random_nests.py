#!/usr/bin/env python3
"""random_nests.py SEED COUNT -- C functions in the shape of forms/forms.h:
matrix products in random dress, many of them damaged in one place, so that the
plugin must take some and leave the others alone.  Nothing here knows which:
same_result.sh compares what they compute with plain clang."""
import random
import sys

LOOP = [
    "for ({t} {v} = 0; {v} < {n}; {v}++)",
    "for ({t} {v} = 0; {v} <= {n} - 1; ++{v})",
    "for ({t} {v} = {n} - 1; {v} >= 0; {v}--)",
    "for ({t} {v} = 0; {v} != ({n} > 0 ? {n} : 0); {v}++)",
    "for ({t} {v} = 0; {v} < {n}; {v} += 2)",
    "for ({t} {v} = 1; {v} < {n}; {v}++)",
    "for ({t} {v} = 0; {v} < {n} / 2; {v}++)",
    "for ({t} {v} = {n}; {v}-- > 0;)",
]


def loop(r, v, n, plain):
    form = LOOP[0] if r.random() < plain else r.choice(LOOP)
    t = r.choice(["int", "int", "long", "short" if n.isdigit() else "int"])
    if ">= 0" not in form and "- 1" not in form and r.random() < 0.2:
        t, n = "unsigned", n if n.isdigit() else "(unsigned)" + n
    return form.format(t=t, v=v, n=n)


def index(r, row, column, width, damage):
    """row-major, column-major, padded, shifted, or wrong"""
    pitch = r.choice([width, width, "64", "40", width + " + 2"])
    form = r.choice(["{0} * ({2}) + {1}"] * 4 + ["{1} * ({2}) + {0}",
                    "{0} * ({2}) + {1} + 5", "({0} + 1) * ({2}) + {1}"])
    if damage:
        form = r.choice(["{0} + {1}", "{0}", "{1}", "{0} * ({2})", "0",
                         "({0} * {1}) % 64", "({0} * ({2}) + {1}) / 2",
                         "{0} * 2 + {1}", "({0} & 7) * ({2}) + {1}",
                         "(uint8_t){0} * ({2}) + {1}"])
    return form.format(row, column, pitch)


VALUE = [
    "@ = s > 0 ? s : 0;", "@ = s > 9 ? 9 : s < -9 ? -9 : s;",
    "@ = @ > s ? @ : s;", "@ += s < 0 ? -s : s;", "if (s > 0) @ = s;",
    "@ = x > 0 ? s : @;", "if (x > 0) @ = s; else @ = -s;",
    "@ = i > 2 ? s : @;", "@ = s > j ? s : j;", "if (j & 1) @ = s;",
    "@ = s > 0 ? s : C[0];", "if (s > C[1]) @ = s; else C[1] = s;",
]
DOT = '''static inline int idot(const int8_t *a, const int8_t *b, int n, int pitch) {
  int s = 0;
  for (int k = 0; k < n; k++)
    s += a[k] * b[k * pitch];
  return s;
}
static inline float fdot(const __bf16 *a, const __bf16 *b, int n, int pitch) {
  float s = 0;
  for (int k = 0; k < n; k++)
    s += (float)a[k] * (float)b[k * pitch];
  return s;
}'''
DOT_FORM = '''  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      C[i * N + j] %s %sdot(A + i * K, B + %s, %s, %s)%s;
}
'''
BUMP_FORM = '''  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      const %s *a = A%s, *b = B + j;
      %s s = 0;
      for (int k = 0; k < K; k++, b += %s)
        s += %s*a++ * %s*b;
      %s
    }
    %s
  }
}
'''


def helper_form(r, number, kind, c_type, cast, style, damage):
    """the inner loop in a function of its own, or pointers that are stepped"""
    head = "%s(f%d) { /* %s %s */\n" % (kind, number, style, damage)
    sound = damage == "none"
    if style == "dot":
        return head + DOT_FORM % (
            r.choice(["=", "+="]), "f" if cast else "i",
            "j" if sound else r.choice(["j", "i", "0"]),
            "K" if sound else r.choice(["K", "i", "j"]),
            r.choice(["N", "64", "1"]),
            "" if sound else r.choice(["", " + 1", " * 2"]))
    return head + BUMP_FORM % (
        "__bf16" if cast else "int8_t", r.choice([" + i * K", ""]), c_type,
        r.choice(["N", "N", "64", "1"] + ([] if sound else ["k"])), cast, cast,
        r.choice(["*C++ = s;", "*C++ += s;", "C[j] = s;", "C[i * N + j] = s;"]
                 + ([] if sound else ["*C = s; C += 2;", "*C++ = s; if (i > 2) C++;"])),
        r.choice(["", "A += K;", "C += N;"] + ([] if sound else ["A += i;"])))


def tiled_form(r, head, c_type, cast, sound):
    """some loops in tiles; unsound: tiles that overlap, leave gaps, end
    elsewhere, or are set to zero too often"""
    sizes = {"i": "M", "j": "N", "k": "K"}
    order = r.sample("ijk", 3)
    outer = inner = ""
    cut = [v for v in order if r.random() < 0.6] or [order[0]]
    for v in cut:
        size = r.choice(["3", "4", "8", "(1 + (%s & 3))" % r.choice("MNK")])
        step, end = size, sizes[v]
        if not sound and r.random() < 0.5:
            step = size + r.choice([" + 1", " - 1 + (%s == 1)" % size])
        if not sound and r.random() < 0.5:
            end = r.choice("MNK")
        outer += "for (int {0}{0} = 0; {0}{0} < {1}; {0}{0} += {2}) ".format(
            v, sizes[v], step)
        sizes[v] = (v + v, size, end)
    for v in order:
        s = sizes[v]
        if v not in cut:
            inner += "for (int %s = 0; %s < %s; %s++) " % (v, v, s, v)
        else:
            inner += r.choice([
                "for (int {0} = {1}; {0} < ({1} + {2} < {3} ? {1} + {2} : {3}); {0}++) ",
                "for (int {0} = {1}; {0} < {1} + {2} && {0} < {3}; {0}++) ",
                "for (int {0} = {1}; {0} <= ({1} + {2} > {3} ? {3} : {1} + {2}) - 1; ++{0}) ",
            ]).format(v, *s)
    product = "%sA[i * K + k] * %sB[k * N + j]" % (cast, cast)
    zero = r.choice(["", "whole", "late"] if sound else ["", "whole", "each"])
    loops = "for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) "
    before = loops + "C[i * N + j] = 0;" if zero == "whole" else ""
    after = loops + "C[i * N + j] = C[i * N + j] < 0 ? 0 : C[i * N + j];" if zero == "late" else ""
    body = "%sC[i * N + j] += %s;" % (inner, product)
    if zero == "each":
        body = loops + "C[i * N + j] = 0; " + body
    text = "%s %s { %s } %s" % (before, outer, body, after)
    if r.random() < 0.4:
        text = "for (int r = 0; r < 1; r++) { %s }" % text
    return head + "  %s\n}\n" % text


def remainder_form(r, head, c_type, cast, sound):
    """a loop written out U times, and one for what is left"""
    u = r.choice([2, 3, 4])
    a, b = r.choice([("i * K + ({0})", "({0}) * N + j"),
                     ("i * K + ({0})", "j * K + ({0})")])
    term = lambda k: "{0}A[{1}] * {0}B[{2}]".format(cast, a.format(k), b.format(k))
    terms = [term("k + %d" % x) for x in range(u)]
    start, end, step = "", "k < K", u
    if not sound:
        damage = r.choice(["term", "start", "end", "step"])
        if damage == "term":
            terms[-1] = term("k + %d" % r.randrange(u))
        start = "k += 1" if damage == "start" else ""
        end = "k < K - 1" if damage == "end" else end
        step += damage == "step"
    bound = r.choice(["k + {0} < K", "k + {1} <= K", "k < K / {1} * {1}",
                      "k < K - K % {1}", "k < (K & -{1})"])
    sums = "C[i * N + j]" if r.random() < 0.3 else "s"
    last = "" if sums != "s" else "C[i * N + j] %s s;" % r.choice(["=", "+="])
    return head + """  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      %s s = 0;
      %s k = 0;
      for (; %s; k += %d)
        %s += %s;
      for (%s; %s; k++)
        %s += %s;
      %s
    }
}
""" % (c_type, r.choice(["int", "int", "long"]), bound.format(u - 1, u), step,
       sums, " + ".join(terms), start, end, sums, term("k"), last)


def inside(r, v, size):
    """v is within 0 .. size - 1, and the opposite"""
    yes = r.choice(["{0} >= 0 && {0} < {1}", "(unsigned){0} < (unsigned){1}",
                    "!({0} < 0 || {0} >= {1})", "{0} > -1 && {0} <= {1} - 1"])
    no = r.choice(["{0} < 0 || {0} >= {1}", "(unsigned){0} >= (unsigned){1}",
                   "!({0} >= 0 && {0} < {1})", "{0} > {1} - 1 || {0} <= -1"])
    return yes.format(v, size), no.format(v, size)


def padded_form(r, head, c_type, cast, sound):
    """a convolution that leaves out what is beyond the edges of its image, with
    each condition in the loop where it is known or in any loop within;
    unsound: conditions that are no box, or decide on more than products"""
    height, width = r.choice(["M", "M", "10", "16"]), r.choice(["3", "4"])
    filters, channels = r.choice(["N", "N", "8"]), r.choice(["K", "K", "4"])
    count = {"t": r.choice("123"), "u": r.choice("23"), "c": channels}
    at = {v: "%s * %d + %s * %d - %d" % (w, r.choice([1, 1, 2]), v,
                                         r.choice([1, 1, 2]), r.randrange(3))
          for v, w in (("t", "y"), ("u", "x"))}
    size = {"t": height, "u": width}
    guards = {v: inside(r, v + v, size[v]) for v in "tu"}
    damage = "" if sound else r.choice([
        "edge", "edge", "both", "parity", "data", "break", "count", "else",
        "clamp", "filter"])
    hit = "t" if damage in ("data", "filter") else r.choice("tu")
    if damage == "edge":
        guards[hit] = r.choice([
            ("{0} >= 1 && {0} < {1}", "{0} < 1 || {0} >= {1}"),
            ("{0} >= 0 && {0} <= {1}", "{0} < 0 || {0} > {1}"),
            ("{0} >= 0 || {0} < {1}", "{0} < 0 && {0} >= {1}"),
            ("{0} != 0", "{0} == 0"), ("{0} >= 0", "{0} < 0")])
        guards[hit] = [g.format(hit * 2, size[hit]) for g in guards[hit]]
    elif damage in ("both", "parity", "data", "filter"):
        more = {"both": "y + o < 9", "parity": "(x & 1) == 0", "data": "B[t] > 0",
                "filter": "t + o < 9"}[damage]
        yes, no = guards[hit]
        guards[hit] = ["(%s) && %s" % (yes, more), "%s || !(%s)" % (no, more)]
    image = r.choice(["({0} * %s + {1}) * %s + c" % (width, channels),
                      "(c * %s + {0}) * %s + {1}" % (height, width)])
    weight = r.choice(["((t * 3 + u) * %s + c) * %s + o" % (channels, filters),
                       "((o * %s + c) * 3 + t) * 3 + u" % channels])
    out = "C[(y * %s + x) * %s + o]" % (width, filters)
    s = r.choice(["s", "s", "s", out])
    a = "%sA[200 + %s]" % (cast, image.format("tt", "uu"))
    order = r.sample("tuc", 3)
    # A condition stands in its own loop or in one within.
    level = {v: r.randrange(order.index(v), 3) for v in "tu"}
    if damage != "count" and r.random() < 0.2:  # of the element alone
        v = order[2] if order[2] != "c" else "t"
        level[v] = 3
        a = "(%s ? %s : 0)" % (guards[v][0], a)
    body, close = "", ""
    for i, v in enumerate(order):
        body += "for (int {0} = 0; {0} < {1}; {0}++) {{ ".format(v, count[v])
        close = "} " + close
        if v != "c":
            body += "int %s = %s; " % (v * 2, at[v])
            if damage == "clamp" and v == hit:
                body += "{0} = {0} < 0 ? 0 : {0}; ".format(v * 2)
        here = [g for g in "tu" if level[g] == i]
        if len(here) == 2 and r.random() < 0.5:
            yes = " && ".join("(%s)" % guards[g][0] for g in here)
            no = " || ".join("(%s)" % guards[g][1] for g in here)
            tests = [(yes, no)]
        else:
            tests = [guards[g] for g in r.sample(here, len(here))]
        for yes, no in tests:
            form = r.choice(["continue", "if", "if"])
            if damage == "break":
                body += "if (%s) break; " % no
            elif damage == "count":
                body += "if (%s) { %s += 1; continue; } " % (no, s)
            elif damage == "else":
                body += "if (%s) %s += 2; else { " % (no, s)
                close = "} " + close
            elif form == "continue":
                body += "if (%s) continue; " % no
            else:
                body += "if (%s) { " % yes
                close = "} " + close
    product = [a, "%sB[%s]" % (cast, weight)]
    r.shuffle(product)
    body += "%s += %s * %s; " % (s, *product) + close
    if s == "s":
        start = r.choice(["0", "0", "%sB[o]" % cast, out])
        body = "%s s = %s; %s %s = s;" % (c_type, start, body, out)
    elif sound or r.random() < 0.5:
        body = "%s = 0; %s" % (out, body)
    outer = {"y": height, "x": width, "o": filters}
    loops = " ".join("for (int {0} = 0; {0} < {1}; {0}++)".format(v, outer[v])
                     for v in r.sample("yxo", 3))
    return head + "  %s { %s }\n}\n" % (loops, body)


def form(r, number):
    kind = r.choice(["INT_FORM", "BF16_FORM"])
    c_type, cast = ("int32_t", "") if kind == "INT_FORM" else ("float", "(float)")
    damage = r.choice(["none"] * 5 + ["value", "value", "index_a", "index_b", "index_c", "operation",
                      "guard", "break", "store", "start", "end", "zero",
                      "outer", "triangle", "volatile", "scalar"])
    plain = r.choice([1, 1, 0.7])
    sizes = {"i": "M", "j": "N", "k": "K"}
    if r.random() < 0.15:
        sizes = {"i": "12", "j": "16", "k": "9"}
    loops = {v: loop(r, v, n, plain) for v, n in sizes.items()}
    if damage == "triangle":
        v, w = r.sample("ijk", 2)
        loops[v] = r.choice(["for (int {0} = 0; {0} < {1}; {0}++)",
                             "for (int {0} = {1}; {0} < %s; {0}++)" % sizes[v]]
                            ).format(v, w)
    m, n, k = sizes["i"], sizes["j"], sizes["k"]
    a = "A[%s]" % index(r, "i", "k", k, damage == "index_a")
    b = "B[%s]" % index(r, "k", "j", n, damage == "index_b")
    c_index = index(r, "i", "j", n, damage == "index_c")
    c = "C[%s]" % c_index
    if damage == "volatile":
        a = "*(volatile %s *)&%s" % ("int8_t" if cast == "" else "__bf16", a)
    product = r.choice(["{0}{1} * {0}{2}", "{0}{2} * {0}{1}"]).format(cast, a, b)
    if damage == "operation":
        product = r.choice(["{0}{1} + {0}{2}", "{0}{1} * {0}{2} + 1",
                            "{0}{1} * {0}{2} * 2", "-({0}{1} * {0}{2})",
                            "{0}{1}", "{0}{1} * 3", "{0}{1} * {0}{1}",
                            "({0}{1} > {0}{2} ? {0}{1} : {0}{2})",
                            "{0}{1} * {0}{2} + {0}{1}"]).format(cast, a, b)
    if damage == "value" and r.random() < 0.4:
        product = r.choice(["({0}{1} > 0 ? {0}{1} * {0}{2} : 0)",
                            "(k > 2 ? {0}{1} * {0}{2} : 0)",
                            "({0}{1} > 0 ? {0}{1} : -{0}{1}) * {0}{2}",
                            "(M > 3 ? {0}{1} * {0}{2} : {0}{2})",
                            "(x > 0 ? {0}{1} : {0}{2}) * {0}{2}"]
                           ).format(cast, a, b)
    guard = ""
    if damage == "guard":
        guard = r.choice(["if (i != 2) ", "if (k & 1) ", "if (%s > 0) " % a,
                          "if (j > i) ", "if (%s != 0) " % c])
    elif damage == "break":
        guard = r.choice(["if (k == 3) break; ", "if (%s > 3) break; " % a,
                          "if (%s > 900) return; " % c])
    extra = ""
    if damage == "store":
        extra = r.choice(["C[4000] = 1;", "C[4000] += 1;", "%s += 1;" % c,
                          "C[%s + 1] = 0;" % c_index, "%s = 0;" % c])
    before = after = ""
    style = r.choice(["memory", "memory", "scalar", "scalar", "dot", "bump",
                      "tiled", "remainder", "padded"])
    if style in ("tiled", "remainder", "padded"):
        head = "%s(f%d) { /* %s %s */\n" % (kind, number, style, damage)
        make = {"tiled": tiled_form, "remainder": remainder_form,
                "padded": padded_form}[style]
        return make(r, head, c_type, cast, damage == "none")
    if style in ("dot", "bump"):
        return helper_form(r, number, kind, c_type, cast, style, damage)
    order = list("ijk")
    if style == "memory":
        r.shuffle(order)
        body = "%s { %s%s += %s; %s }" % (loops[order[2]], guard, c, product, extra)
        body = "%s { %s }" % (loops[order[1]], body)
        zero = r.choice(["", "", "right", "row", "whole"])
        if damage == "zero":
            zero = r.choice(["wrong_row", "wrong_value", "each", "late", "inner"])
        if zero == "right" and order[2] == "k":
            body = body.replace("{", "{ %s = 0;" % c, 1)
        elif zero == "row" and order[0] == "i":
            before = "%s %s = 0; " % (loops["j"], c)
        elif zero == "whole":
            after = "%s %s %s = 0;" % (loops["i"], loops["j"], c)
        elif zero == "wrong_row" and order[0] == "i":
            before = "for (int j = 0; j < %s; j++) C[i * 64 + j] = 0;" % n
        elif zero == "wrong_value" and order[0] == "i":
            before = "%s %s = 2; " % (loops["j"], c)
        elif zero == "each" and order[0] == "k":
            before = "for (int i = 0; i < %s; i++) for (int j = 0; j < %s; j++) %s = 0;" % (m, n, c)
        elif zero == "late" and order[0] == "i":
            body = body + " %s %s = 0; " % (loops["j"], c)
        elif zero == "inner":
            body = body.replace("{ " + guard, "{ %s = 0; %s" % ("C[0]", guard), 1)
        text = "%s %s { %s %s }" % (after, loops[order[0]], before, body)
    else:
        if r.random() < 0.5:
            order = list("jik")
        start, end = r.choice([("0", "="), (c, "="), ("0", "+=")])
        if damage == "start":
            start = r.choice(["1", cast + "B[0]", "C[0]", "%s + 1" % c])
        if damage == "end":
            end = r.choice(["= 1 +", "= 2 *", "-=", "= -"])
        inner = "%s { %ss += %s; %s }" % (loops["k"], guard, product, extra)
        if damage == "scalar":
            inner = r.choice([
                inner + inner,
                "%s { s += %s; s += 1; }" % (loops["k"], product),
                "%s { s += %s; %s %s s; }" % (loops["k"], product, c, end),
                "%s { s = %s; }" % (loops["k"], product)])
        core = "%s s = %s; %s %s %s s;" % (c_type, start, inner, c, end)
        if damage == "value":  # of which some are tails, some are not
            core = core.replace("%s %s s;" % (c, end), r.choice(VALUE)
                                .replace("@", c))
        if damage == "scalar" and r.random() < 0.3:
            text = "%s s = 0; %s { %s { %s %s %s s; } }" % (
                c_type, loops[order[0]], loops[order[1]], inner, c, end)
        else:
            text = "%s { %s { %s } }" % (loops[order[0]], loops[order[1]], core)
    if damage == "outer":
        text = r.choice(["for (int r = 0; r < 2; r++) { %s }",
                         "for (int r = 0; r < 2; r++) { %s C[r] += 3; }",
                         "for (int r = 0; r < M; r++) { %s }",
                         "if (M > 3) { %s }"]) % text
    if "unsigned" in text:  # a negative size must not become a huge one
        text = "if (M < 1 || N < 1 || K < 1) return;\n  " + text
    return ("%s(f%d) { /* %s */\n  int i = 1, j = 1, k = 1, x = M - N;\n  (void)i, (void)j, (void)k, (void)x;\n  %s\n}\n"
            % (kind, number, damage, text))


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    print('/* random_nests.py %d %d */\n#include "forms/forms.h"' % (seed, count))
    print(DOT)
    for i in range(count):
        print(form(r, i))


main()
