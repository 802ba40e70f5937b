#!/usr/bin/env python3
"""random_results.py SEED COUNT -- C functions in the shape of forms/forms.h:
products whose results are formed several in a step of a loop, and others in a
loop behind it, in memory or as sums; results may be left out, formed twice, of
other rows or with other tails.  Nothing here knows which of them the plugin may
take: same_result.sh compares what they compute with plain clang."""
import random
import sys


class Form:
    def __init__(self, r, number):
        self.r, self.number = r, number
        self.wrong = 0.05 if r.random() < 0.5 else 0
        self.turned = r.random() < 0.3
        self.scaled = r.choice(["", "", "3 * ", "K * "])
        self.tail = r.choice(["%s", "%s", "(%s > 0 ? %s : 0)", "(%s >> 1)"])
        self.start = r.choice(["0", "0", "7", "C[i * N + %s]", "B[%s]"])

    def product(self, j):
        a = "A[i * K + k]"
        b = "B[(%s) * K + k]" % j if self.turned else "B[k * N + %s]" % j
        if self.r.random() < self.wrong:
            b = b.replace("k", "k + 1", 1)
        pair = [a, b]
        self.r.shuffle(pair)
        return self.scaled + " * ".join(pair)

    def places(self, count):
        """What is added to j, for each result of a step."""
        places = list(range(count))
        if self.r.random() < 3 * self.wrong:
            places[self.r.randrange(count)] = self.r.randrange(count + 1)
        if self.r.random() < 0.3:
            self.r.shuffle(places)
        return ["j + %d" % p if p else "j" for p in places]

    def in_memory(self, count):
        sign = "-=" if self.r.random() < self.wrong else "+="
        return " ".join("C[i * N + %s] %s %s;" % (j, sign, self.product(j))
                        for j in self.places(count))

    def sums(self, count):
        places = self.places(count)
        start = ["int s%d = %s;" % (n, self.start.replace("%s", j))
                 for n, j in enumerate(places)]
        add = ["s%d += %s;" % (n, self.product(j))
               for n, j in enumerate(places)]
        store = ["C[i * N + %s] = %s;" % (j, self.tail.replace("%s", "s%d" % n))
                 for n, j in enumerate(places)]
        loop = "for (int k = 0; k < K; k++)"
        how = self.r.randrange(3)
        if how == 0:
            return "%s %s { %s } %s" % (" ".join(start), loop, " ".join(add),
                                        " ".join(store))
        if how == 1:
            return "%s %s %s" % (" ".join(start), " ".join(
                loop + " " + a for a in add), " ".join(store))
        return " ".join("{ %s %s %s %s }" % (start[n], loop, add[n], store[n])
                        for n in range(count))

    def parts(self, one):
        steps = self.r.choice([[2], [3], [4], [4], [8, 4], [4, 2]])
        text = "int j = 0; "
        for step in steps:
            end = self.r.choice(["j + %d < N" % (step - 1),
                                 "j < N / %d * %d" % (step, step)])
            text += "for (; %s; j += %d) { %s } " % (end, step, one(step))
        rest = self.r.choice(["", "", "", "", "", "j++"])
        end = self.r.choice(["N", "N", "N", "N", "N - 1"])
        return text + "for (%s; j < %s; j++) { %s }" % (rest, end, one(1))

    def text(self):
        row = "for (int i = 0; i < M; i++)"
        if self.r.random() < 0.5:
            loops = [row, "for (int k = 0; k < K; k++)"]
            self.r.shuffle(loops)
            body = "%s { %s }" % (" ".join(loops), self.parts(self.in_memory))
        else:
            body = "%s { %s }" % (row, self.parts(self.sums))
        return "INT_FORM(f%d) {\n  %s\n}\n" % (self.number, body)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    print('/* random_results.py %d %d */\n#include "forms/forms.h"' %
          (seed, count))
    for i in range(count):
        print(Form(r, i).text())


main()
