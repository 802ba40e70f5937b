#!/usr/bin/env python3
"""random_guards.py SEED COUNT -- C functions in the shape of forms/forms.h:
sums of products under conditions.  These ask elements, counters and sizes, stand
around any loop, a product or a result, and leave an iteration or choose between
two statements.  Nothing here knows which of them the plugin may take:
same_result.sh compares what they compute with plain clang."""
import random
import sys

SIZE = {"i": "M", "j": "N", "k": "K"}
A, B, C = "A[i * K + k]", "B[k * N + j]", "C[i * N + j]"
# What a condition may ask, by the counters that it needs.
ELEMENTS = {"ik": [A, A, "A[k * M + i]"], "kj": [B, B], "k": ["A[k]", "B[k]"],
            "ij": ["B[i * N + j]", "A[j * M + i]", "C[i * N + j]"],
            "i": ["A[i]", "B[i * 7]"], "j": ["B[j]", "A[j + 3]"], "": ["A[5]"]}
TESTS = ["{0} != 0", "{0} != 0", "{0} != 0", "{0} == 0", "{0} > 0", "{0} != 1",
         "({0} & 3) != 0"]
COUNTERS = ["{0} > 0", "{0} != 2", "{0} < {1} - 1", "({0} & 1) == 0",
            "{0} == {1} - 1", "{0} == 0"]
PAIRS = ["{0} <= {1}", "{0} != {1}", "{0} + {1} < 9", "{0} > {1}"]
SIZES = ["M > 3", "N != K", "x > 0"]


class Form:
    def __init__(self, r, number):
        self.r, self.number = r, number
        self.floats = r.random() < 0.25
        self.type = "float" if self.floats else "int32_t"
        self.cast = "(float)" if self.floats else ""
        self.guards = r.choice([1, 1, 1, 2])

    def element(self, known):
        fit = [e for need, all in ELEMENTS.items() if set(need) <= set(known)
               for e in all]
        e = self.r.choice(fit)
        return e if e.startswith("C") else self.cast + e

    def condition(self, known):
        kind = self.r.choice(["element"] * 5 + ["counter", "counter", "size"])
        if kind == "element":
            test = self.r.choice(TESTS)
            if self.floats:
                test = test.replace("({0} & 3)", "{0}")
            return test.format(self.element(known))
        if kind == "size" or not known:
            return self.r.choice(SIZES)
        if len(known) > 1 and self.r.random() < 0.4:
            return self.r.choice(PAIRS).format(*self.r.sample(known, 2))
        v = self.r.choice(known)
        return self.r.choice(COUNTERS).format(v, SIZE[v])

    def guard(self, text, known, results):
        """text under a condition, perhaps"""
        if not self.guards or self.r.random() < 0.6:
            return text
        self.guards -= 1
        yes = self.condition(known)
        form = self.r.choice(["if", "if", "if", "continue", "else", "break"])
        if form == "continue" and known:
            return "if (!(%s)) continue; %s" % (yes, text)
        if form == "break" and known and self.r.random() < 0.3:
            return "if (!(%s)) break; %s" % (yes, text)
        if form == "else" and results:
            other = self.r.choice([" = 0", " = 7", " += 1"])
            return "if (%s) { %s } else %s%s;" % (yes, text, C, other)
        return "if (%s) { %s }" % (yes, text)

    def loop(self, v, body):
        return "for (int {0} = 0; {0} < {1}; {0}++) {{ {2} }}".format(
            v, SIZE[v], body)

    def product(self):
        p = "%s%s * %s%s" % (self.cast, A, self.cast, B)
        if self.r.random() < 0.1:
            p = "(%s ? %s : 0)" % (self.condition("ijk"), p)
        return p

    def in_memory(self):
        order = self.r.sample("ijk", 3)
        text = "%s %s %s;" % (C, self.r.choice(["+=", "+=", "-="]),
                              self.product())
        zero = self.r.choice(["", "", "inner", "row"])
        for n in (3, 2, 1):
            known = order[:n]
            text = self.guard(text, known, set("ij") <= set(known))
            if zero == "inner" and n == 2 and order[2] == "k":
                text = self.guard("%s = 0;" % C, known, False) + " " + text
            if zero == "row" and n == 1 and order[0] == "i":
                text = self.loop("j", "%s = 0;" % C) + " " + text
            text = self.loop(order[n - 1], text)
        return self.guard(text, [], False)

    def in_scalar(self):
        order = self.r.sample("ij", 2)
        both = order
        start = self.r.choice(["0", "0", "0", C, self.cast + "B[j]"])
        store = self.r.choice([
            "{0} = s;", "{0} = s;", "{0} += s;", "{0} = s > 0 ? s : 0;",
            "{0} = s; if (s > 90) {0} = 90;", "{0} = 2 * s;",
            "if (s > 5) {0} = s;", "C[2048 + i * N + j] = s; {0} = s;"]).format(C)
        inner = self.loop("k", self.guard("s += %s;" % self.product(),
                                          order + ["k"], False))
        inner = self.guard(inner, both, False)
        store = self.guard(store, both, True)
        text = "%s s = %s; %s %s" % (self.type, start, inner, store)
        text = self.loop(order[1], self.guard(text, both, True))
        text = self.loop(order[0], self.guard(text, order[:1], False))
        return self.guard(text, [], False)

    def in_row(self):
        each = self.loop("j", "row[j] = %s;" % self.r.choice(["0", C, "3"]))
        add = self.loop("j", self.guard("row[j] += %s;" % self.product(),
                                        ["i", "j", "k"], False))
        add = self.loop("k", self.guard(add, ["i", "k"], False))
        back = self.loop("j", self.guard(
            "%s = %s;" % (C, self.r.choice(["row[j]", "row[j] < 0 ? 0 : row[j]"])),
            ["i", "j"], True))
        text = "%s row[64]; %s %s %s" % (
            self.type, each, self.guard(add, ["i"], False),
            self.guard(back, ["i"], False))
        return self.loop("i", self.guard(text, ["i"], False))

    def text(self):
        make = self.r.choice([self.in_memory, self.in_memory, self.in_scalar,
                              self.in_scalar, self.in_scalar, self.in_row])
        body = make()
        kind = "BF16_FORM" if self.floats else "INT_FORM"
        return "%s(g%d) {\n  int x = M - N;\n  (void)x;\n  %s\n}\n" % (
            kind, self.number, body)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    print('/* random_guards.py %d %d */\n#include "forms/forms.h"' %
          (seed, count))
    for i in range(count):
        print(Form(r, i).text())


main()
