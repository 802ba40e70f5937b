#!/usr/bin/env python3
"""random_rows.py SEED COUNT -- C functions in the shape of forms/forms.h:
products of matrices of which some are found through arrays of addresses, whose
rows may lie evenly or not, with a loop over the rest of a row or none, and with
code behind the sums that may write to some rows only, or to the arrays.  Nothing
here knows which of them the plugin may take: same_result.sh compares what they
compute with plain clang."""
import random
import sys

HEAD = """#define NEST static __attribute__((noinline)) void
static inline int digits(int s) {
  while (s > 100) s = s / 3 - 1;
  return s;
}
"""


class Form:
    def __init__(self, r, number):
        self.r, self.number = r, number
        self.rows = {name: r.random() < 0.7 for name in "ABC"}
        self.by_row = r.random() < 0.5  # B's rows are those of the sum

    def at(self, name, row, column):
        if self.rows[name]:
            return "%s[%s][%s]" % (name, row, column)
        return "%s[(%s) * %d + %s]" % (name, row, {"A": 41, "B": 37,
                                                   "C": 43}[name], column)

    def product(self, k):
        b = self.at("B", k, "j") if self.by_row else self.at("B", "j", k)
        return "%s * %s" % (self.at("A", "i", k), b)

    def sum(self):
        text = "int s = %s, k = 0; " % self.r.choice(
            ["0", "0", "5", self.at("C", "i", "j")])
        if self.r.random() < 0.4:
            step = self.r.choice([2, 4])
            text += "for (; k + %d < K; k += %d) s += %s; " % (
                step - 1, step, " + ".join(
                    self.product("k + %d" % n if n else "k")
                    for n in range(step)))
        return text + "for (; k < K; k++) s += %s; " % self.product("k")

    def tail(self):
        place = self.at("C", "i", "j")
        return self.r.choice([
            "%s = s;" % place, "%s = digits(s);" % place,
            "%s = digits(s);" % place, "%s += digits(s);" % place,
            "if (s > 3) %s = digits(s);" % place,
            "if (i < 3) %s = digits(s);" % place,
            "switch (s & 3) { case 0: %s = s; break; case 2: %s += s; break; "
            "default: %s = j; }" % (place, place, place),
            "%s = digits(s); %s = i;" % (place, self.at("C", "i", "0")),
            "%s = digits(s); %s += 1;" % (place, self.at("C", "i + 1", "0")),
        ] + (["%s = digits(s); if (s == 7) A[i + 1] = A[i];" % place]
             if self.rows["A"] else []))

    def filled(self, name, kind, step):
        if not self.rows[name]:
            return ""
        text = ("%s *%s[64]; for (int i = 0; i < 64; i++) %s[i] = %s + "
                "i * %d;" % (kind, name.lower(), name.lower(), name, step))
        odd = self.r.random()
        if odd < 0.15:
            text += " %s[%d] = %s + %d;" % (name.lower(), self.r.randrange(6),
                                            name, self.r.randrange(200))
        elif odd < 0.25:
            text = text.replace("i * %d" % step, "(63 - i) * %d" % step)
        elif odd < 0.3:
            text = text.replace("i * %d" % step, "i / 2 * %d" % step)
        elif odd < 0.45:
            text = text.replace("i * %d" % step, "(i * 37 & 63) * %d" % step)
        return "  " + text + "\n"

    def text(self):
        kinds = {"A": "const int8_t", "B": "const int8_t", "C": "int32_t"}
        parameters = ", ".join("%s *%s%s" % (kinds[n], "*" * self.rows[n], n)
                               for n in "CAB")
        nest = "NEST n%d(int M, int N, int K, %s) {\n  for (int i = 0; i < M; " \
            "i++) for (int j = 0; j < N; j++) { %s%s }\n}\n" % (
                self.number, parameters, self.sum(), self.tail())
        return "%sINT_FORM(f%d) {\n%s  n%d(M, N, K, %s);\n}\n" % (
            nest, self.number, "".join(
                self.filled(n, kinds[n], s) for n, s in
                (("A", self.r.choice([33, 41, 20])),
                 ("B", self.r.choice([37, 40])),
                 ("C", self.r.choice([43, 50, 16])))),
            self.number, ", ".join(n.lower() if self.rows[n] else n
                                   for n in "CAB"))


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    print('/* random_rows.py %d %d */\n#include "forms/forms.h"\n%s' %
          (seed, count, HEAD))
    for i in range(count):
        print(Form(r, i).text())


main()
