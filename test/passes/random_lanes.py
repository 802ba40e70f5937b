#!/usr/bin/env python3
"""random_lanes.py SEED COUNT -- C functions in the shape of forms/forms.h:
products of vectors, along the sum or along a row, in a variable or in memory,
whose lanes may change places, be left out or be counted twice, and loops over
the rest.  Nothing here knows which of them the plugin may take: same_result.sh
compares what they compute with plain clang."""
import random
import sys

TYPES = """typedef int8_t b%d __attribute__((vector_size(%d), aligned(1), may_alias));
typedef int32_t i%d __attribute__((vector_size(%d), aligned(4), may_alias));
"""


class Form:
    def __init__(self, r, number):
        self.r, self.number = r, number
        self.lanes = w = r.choice([2, 4, 4, 8])
        self.step = r.choice([w, w, w, w, w - 1, w + 1])
        self.start = r.choice(["0", "0", "0", "1"])

    def load(self, place):
        return "__builtin_convertvector(*(const b%d *)(%s), i%d)" % (
            self.lanes, place, self.lanes)

    def moved(self, vector, often):
        order = list(range(self.lanes))
        if self.r.random() >= often:
            return vector
        self.r.shuffle(order)
        return "__builtin_shufflevector(%s, %s, %s)" % (
            vector, vector, ", ".join(map(str, order)))

    def over(self, counter, size):
        return "for (int {0} = 0; {0} + {1} <= {2}; {0} += {3})".format(
            counter, self.lanes, size, self.step)

    def along_sum(self):
        chosen = self.r.sample(range(self.lanes), self.lanes)
        if self.r.random() < 0.2:
            chosen[0] = self.r.randrange(self.lanes)
        rest = self.r.choice(["", "K", "K", "K - 1"])
        rest = rest and ("for (; k < %s; k++) s += A[i * K + k] * "
                         "B[j * K + k];" % rest)
        return ("for (int j = 0; j < N; j++) { i%d v = {%s}; int k, s = 0; "
                "for (k = 0; k + %d <= K; k += %d) v += %s * %s; %s "
                "C[i * N + j] = s + %s; }" % (
                    self.lanes, self.start, self.lanes, self.step,
                    self.moved(self.load("A + i * K + k"), 0.2),
                    self.moved(self.load("B + j * K + k"), 0.2), rest,
                    " + ".join("v[%d]" % lane for lane in chosen)))

    def along_row(self):
        return ("%s { i%d s = {%s}; for (int k = 0; k < K; k++) "
                "s += A[i * K + k] * %s; *(i%d *)(C + i * N + j) = %s; }" % (
                    self.over("j", "N"), self.lanes, self.start,
                    self.moved(self.load("B + k * N + j"), 0.2), self.lanes,
                    self.moved("s", 0.2)))

    def in_memory(self):
        return ("for (int k = 0; k < K; k++) %s *(i%d *)(C + i * N + j) += "
                "A[i * K + k] * %s;" % (
                    self.over("j", "N"), self.lanes,
                    self.moved(self.load("B + k * N + j"), 0.2)))

    def of_lanes(self):
        lane = [self.r.choice([n] * 9 + [0]) for n in range(self.lanes)]
        steps = " ".join("s += a[%d] * %s;" % (
            lane[n], self.load("B + (k + %d) * N + j" % n))
            for n in range(self.lanes))
        return "%s { i%d s = {%s}; %s { i%d a = %s; %s } %s = s; }" % (
            self.over("j", "N"), self.lanes, self.start, self.over("k", "K"),
            self.lanes, self.load("A + i * K + k"), steps,
            "*(i%d *)(C + i * N + j)" % self.lanes)

    def text(self):
        make = self.r.choice([self.along_sum, self.along_sum, self.along_row,
                              self.in_memory, self.of_lanes])
        return "INT_FORM(v%d) {\n  for (int i = 0; i < M; i++)\n    %s\n}\n" % (
            self.number, make())


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    print('/* random_lanes.py %d %d */\n#include "forms/forms.h"' %
          (seed, count))
    for lanes in (2, 4, 8):
        print(TYPES % (lanes, lanes, lanes, 4 * lanes))
    for i in range(count):
        print(Form(r, i).text())


main()
