#!/usr/bin/env python3
"""random_programs.py SEED COUNT FOLDER [TOGETHER] -- whole C programs, 0.c, 1.c, ..
or several in each file, which its main runs one after the other.

Each is a main that fills matrices, multiplies them, sums what came out and prints it,
as people write to try a compiler: the sums run over `i < m * n`, with weights
such as `i % 7`; counters and pointers go on to be used behind their loops;
other loops stand around.  All numbers are small integers, so that every order
of summation gives the same bits."""
import random
import re
import sys

SIZE = 1024  # elements of every array
# element, sum, and how an element is read for a product
TYPES = [("signed char", "int", ""), ("signed char", "int", ""),
         ("unsigned char", "int", ""), ("short", "int", ""),
         ("float", "float", ""), ("float", "float", ""),
         ("double", "double", ""), ("__bf16", "float", "(float)")]

HEAD = '''/* random_programs.py %d %d */
int printf(const char *, ...);
int atoi(const char *);
void *calloc(unsigned long, unsigned long);
void *memset(void *, int, unsigned long);
static inline __bf16 narrow(float x) {
  union { float f; unsigned u; } from = {x};
  union { unsigned short u; __bf16 b; } to = {from.u >> 16};
  return to.b;
}
'''


class Program:
    def __init__(self, seed, number):
        self.r = random.Random("%d %d" % (seed, number))
        self.number = number
        self.head = [HEAD % (seed, number)]
        self.functions = []
        self.main = []
        self.used = 0
        self.groups = []  # of (element, sum, cast, inputs, outputs)

    def pick(self, *of):
        return self.r.choice(of)

    def chance(self, p):
        return self.r.random() < p

    def name(self, stem):
        self.used += 1
        return "%s%d" % (stem, self.used)

    def counter(self):
        return self.pick("int", "int", "int", "long", "unsigned", "unsigned long")

    # ---- declarations ----

    def sizes(self):
        for v, low, high in ("m", 5, 12), ("n", 6, 14), ("k", 4, 13):
            value = self.r.randint(low, high)
            kind = self.pick("arg", "arg", "arg", "const", "global", "volatile")
            t = self.pick("int", "int", "int", "long", "unsigned", "short")
            if kind == "arg":
                self.main.append("%s %s = argc > 4 ? atoi(argv[1]) : %d;"
                                 % (t, v, value))
            elif kind == "const":
                self.head.append("enum { %s = %d };" % (v, value))
            elif kind == "global":
                self.head.append("%s %s = %d;" % (t, v, value))
            else:
                self.head.append("static volatile int from_%s = %d;" % (v, value))
                self.main.append("int %s = from_%s;" % (v, v))

    def array(self, t):
        v = self.name("x")
        kind = self.pick("static", "static", "global", "heap", "heap", "local")
        if kind == "heap":
            self.main.append("%s *%s = calloc(%d, sizeof *%s);" % (t, v, SIZE, v))
        elif kind == "local":
            self.main.append("%s %s[%d];" % (t, v, SIZE))
            self.main.append("memset(%s, 0, sizeof %s);" % (v, v))
        else:
            self.head.append("%s%s %s[%d];" % ("static " * (kind == "static"), t,
                                               v, SIZE))
        return v

    def arrays(self):
        for _ in range(self.pick(1, 1, 2, 3)):
            t, total, cast = self.r.choice(TYPES)
            self.groups.append((t, total, cast, [self.array(t) for _ in "ab"],
                                [self.array(total) for _ in "cd"[:self.pick(1, 2)]]))

    # ---- stages: each is a list of lines over m, n, k and some arrays ----

    def convert(self, t, value):
        return "narrow(%s)" % value if t == "__bf16" else value

    def count(self):
        return self.pick("m * n", "m * n", "m * n", "n", "m * k", "k * n", "n * n",
                         "m * n / 2", "m")

    def weight(self, v):
        c = self.pick(7, 13, 8, 3, 5)
        return self.pick("({0} % {1} + 1)", "({0} % {1})", "({0} / {1})",
                         "(({0} & 7) + 1)", "({0} % {1} - 2)").format(v, c)

    def fill(self, group):
        t, _, _, inputs, _ = group
        x, c, off = self.r.choice(inputs), self.pick(7, 13, 5, 3), self.pick(0, 1, 2)
        form = self.pick("flat", "flat", "rows", "hash", "walk", "down")
        n, i = self.count(), self.counter()
        if form == "flat":
            return ["for (%s i = 0; i < %s; i++) %s[i] = %s;"
                    % (i, n, x, self.convert(t, "(int)(i %% %d) - %d" % (c, off)))]
        if form == "rows":
            return ["for (int i = 0; i < m; i++) for (int j = 0; j < k; j++)",
                    "  %s[i * k + j] = %s;"
                    % (x, self.convert(t, "(i * 3 + j) %% %d - %d" % (c, off)))]
        if form == "hash":
            return ["for (int i = 0; i < %s; i++) {" % n,
                    "  unsigned h = i * 2654435761u %% %d;" % c,
                    "  %s[i] = %s;" % (x, self.convert(t, "(int)h - %d" % off)), "}"]
        if form == "walk":
            return ["{ %s *p = %s; int i = 0;" % (t, x),
                    "while (p != %s + %s) { *p++ = %s; i += 3; } }"
                    % (x, n, self.convert(t, "i %% %d - %d" % (c, off)))]
        return ["for (int i = %s - 1; i >= 0; i--) %s[i] = %s;"
                % (n, x, self.convert(t, "i %% %d" % c))]

    def product(self, group):
        t, total, cast, (a, b), outputs = group
        c = self.r.choice(outputs)
        if self.chance(0.3):
            a, b = b, a
        term = self.pick("{2}{0}[i * k + p] * {2}{1}[p * n + j]",
                         "{2}{0}[i * k + p] * {2}{1}[p * n + j]",
                         "{2}{0}[i * k + p] * {2}{1}[j * k + p]",
                         "{2}{0}[p * m + i] * {2}{1}[p * n + j]").format(a, b, cast)
        form = self.pick("sum", "sum", "sum", "memory", "memory", "dot", "walk",
                         "unrolled", "tiled", "batch", "vector", "window", "epilogue")
        rows = "for (%s i = 0; i < m; i++)" % self.counter()
        columns = "for (%s j = 0; j < n; j++)" % self.counter()
        depth = "for (%s p = 0; p < k; p++)" % self.counter()
        element = "%s[i * n + j]" % c
        if form == "sum":
            return ["%s %s { %s s = 0; %s s += %s; %s %s s; }"
                    % (rows, columns, total, depth, term, element,
                       self.pick("=", "=", "+="))]
        if form == "memory":
            loops = [rows, columns, depth]
            self.r.shuffle(loops)
            zero = ["%s %s %s = 0;" % (rows, columns, element)]
            return zero * self.pick(0, 1) + [" ".join(loops) + " %s += %s;" % (element, term)]
        if form == "dot":
            f = self.name("dot")
            self.functions.append(
                "static %s %s(const %s *x, const %s *y, int count, int pitch) {\n"
                "  %s s = 0;\n  for (int p = 0; p < count; p++) s += %sx[p] * %sy[p * pitch];\n"
                "  return s;\n}" % (total, f, t, t, total, cast, cast))
            return ["%s %s %s = %s(%s + i * k, %s + j, k, n);"
                    % (rows, columns, element, f, a, b)]
        if form == "walk":
            return ["{ %s *out = %s; const %s *row = %s;" % (total, c, t, a),
                    "for (int i = 0; i < m; i++, row += k) for (int j = 0; j < n; j++) {",
                    "  const %s *x = row, *y = %s + j; %s s = 0;" % (t, b, total),
                    "  for (int p = 0; p < k; p++, y += n) s += %s*x++ * %s*y;" % (cast, cast),
                    "  *out++ = s; } }"]
        if form == "unrolled":
            two = term.replace("p", "(p + 1)")
            return ["%s %s { %s s = 0; int p = 0;" % (rows, columns, total),
                    "  for (; p + 1 < k; p += 2) s += %s + %s;" % (term, two),
                    "  for (; p < k; p++) s += %s;" % term, "  %s = s; }" % element]
        if form == "tiled":
            return ["%s %s %s = 0;" % (rows, columns, element),
                    "for (int pp = 0; pp < k; pp += 4) %s %s" % (rows, columns),
                    "  for (int p = pp; p < (pp + 4 < k ? pp + 4 : k); p++) %s += %s;"
                    % (element, term)]
        if form == "batch":
            return ["for (int g = 0; g < 2; g++) %s %s {" % (rows, columns),
                    "  %s s = 0; %s s += %s;" % (total, depth, term),
                    "  %s[g * m * n + i * n + j] = s; }" % c]
        if form == "vector":
            return ["%s { %s s = 0; %s s += %s%s[i * k + p] * %s%s[p]; %s[i] = s; }"
                    % (rows, total, depth, cast, a, cast, b, c)]
        if form == "window":
            return ["for (int i = 0; i + 3 <= m; i++) for (int j = 0; j + 3 <= n; j++) {",
                    "  %s s = 0; for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++)" % total,
                    "    s += %s%s[(i + p) * n + j + q] * %s%s[p * 3 + q];" % (cast, a, cast, b),
                    "  %s = s; }" % element]
        return ["%s %s { %s s = 0; %s s += %s; %s = %s; }"
                % (rows, columns, total, depth, term, element,
                   self.pick("s > 0 ? s : 0", "s > 50 ? 50 : s", "s + i", "2 * s"))]

    def checksum(self, group):
        _, total, _, _, outputs = group
        c, n = self.r.choice(outputs), self.count()
        t = self.pick("double", "double", "int", "long", total, total)
        s, i = self.name("s"), self.counter()
        show = "printf(\"%s %%g\\n\", (double)%s);" % (s, s)
        form = self.pick("flat", "flat", "flat", "plain", "rows", "walk", "while",
                         "hash", "most", "until", "both", "order", "step")
        if form == "flat":
            loop = ["for (%s i = 0; i < %s; i++) %s += %s[i] * %s;"
                    % (i, n, s, c, self.weight("(int)i"))]
        elif form == "plain":
            loop = ["for (%s i = 0; i < %s; i++) %s += %s[i];" % (i, n, s, c)]
        elif form == "rows":
            loop = ["for (int i = 0; i < m; i++) for (int j = 0; j < n; j++)",
                    "  %s += %s[i * n + j] * %s;" % (s, c, self.weight("(i + 2 * j)"))]
        elif form == "walk":
            loop = ["{ const %s *p = %s, *end = %s + %s;" % (total, c, c, n),
                    "for (; p %s end; p++) %s += *p;" % (self.pick("!=", "<"), s),
                    "printf(\"%%d\\n\", (int)(p - %s)); }" % c]
        elif form == "while":
            loop = ["{ int i = 0; while (i < %s) { %s += %s[i] * %s; i++; }"
                    % (n, s, c, self.weight("i")), "printf(\"%d\\n\", i); }"]
        elif form == "hash":
            loop = ["for (int i = 0; i < %s; i++) { unsigned h = i * 2654435761u %% 13;"
                    % n, "  %s += %s[i] * (int)h; }" % (s, c)]
        elif form == "most":
            loop = ["for (int i = 0; i < %s; i++) if (%s[i] > %s) %s = %s[i];"
                    % (n, c, s, s, c)]
        elif form == "until":
            loop = ["{ int i; for (i = 0; i < %s; i++) { if (%s[i] > 40) break; %s += %s[i]; }"
                    % (n, c, s, c), "printf(\"%d\\n\", i); }"]
        elif form == "both":
            u = self.name("s")
            loop = ["double %s = 0;" % u,
                    "for (int i = 0; i < %s; i++) { %s += %s[i]; %s += %s[i] * %s; }"
                    % (n, s, c, u, c, self.weight("i")),
                    "printf(\"%%g\\n\", %s);" % u]
        elif form == "order":
            u = self.name("h")
            loop = ["unsigned %s = 1;" % u,
                    "for (int i = 0; i < %s; i++) %s = %s * 31 + (unsigned)(int)%s[i];"
                    % (n, u, u, c), "printf(\"%%u\\n\", %s);" % u]
        else:
            loop = ["for (int i = 0; i < %s; i += 3) %s += %s[i];" % (n, s, c)]
        return ["%s %s = 0;" % (t, s)] + loop + [show]

    def elements(self, group):
        t, total, cast, inputs, outputs = group
        c, n = self.r.choice(outputs), self.count()
        d = self.r.choice(outputs)
        form = self.pick("add", "again", "shift", "rows", "print", "dot")
        if form == "add":
            return ["for (int i = 0; i < %s; i++) %s[i] += %s[i] > 9 ? 1 : 2;" % (n, c, d)]
        if form == "again":  # what came out goes in
            return ["for (int i = 0; i < %s; i++) %s[i] = %s;"
                    % (n, self.r.choice(inputs), self.convert(t, "(int)%s[i] %% 5" % c))]
        if form == "shift":
            return ["for (int i = 0; i + 1 < %s; i++) %s[i] = %s[i + 1];" % (n, c, c)]
        if form == "rows":
            return ["for (int i = 0; i < m; i++) { %s s = 0;" % total,
                    "  for (int j = 0; j < n; j++) s += %s[i * n + j];" % c,
                    "  printf(\"%g\\n\", (double)s); }"]
        if form == "print":
            return ["for (int i = 0; i < %s; i++) printf(\"%%g%%c\", (double)%s[i], i %% 8 == 7 ? '\\n' : ' ');"
                    % (n, c), "printf(\"\\n\");"]
        s, (a, b) = self.name("s"), inputs
        return ["%s %s = 0;" % (total, s),
                "for (int i = 0; i < %s; i++) %s += %s%s[i] * %s%s[i];"
                % (n, s, cast, a, cast, b), "printf(\"%%g\\n\", (double)%s);" % s]

    def around(self, lines):
        form = self.pick("none", "none", "none", "none", "repeat", "while", "if",
                         "switch", "function", "function")
        if form == "repeat":
            v = self.name("r")
            return ["for (int %s = 0; %s < %d; %s++) {" % (v, v, self.pick(1, 2, 3), v)
                    ] + lines + ["}"]
        if form == "while":
            v = self.name("r")
            return ["int %s = 2;" % v, "while (%s-- > 0) {" % v] + lines + ["}"]
        if form == "if":
            return ["if (%s) {" % self.pick("argc < 9", "m > 2", "m * n > k")] + lines + ["}"]
        if form == "switch":
            return ["switch (argc) { case 7: break; default: {"] + lines + ["} }"]
        return ["{"] + lines + ["}"]

    def stages(self):
        for group in self.groups:
            for _ in range(2):
                self.main += self.fill(group)
        makers = [self.product, self.product, self.product, self.checksum, self.checksum,
                  self.checksum, self.elements, self.fill]
        for _ in range(self.r.randint(3, 10)):
            lines = self.r.choice(makers)(self.r.choice(self.groups))
            self.main += self.around(lines)
        for group in self.groups:
            self.main += ["{"] + self.checksum(group) + ["}"]
            for c in group[4]:  # no element is left out
                self.main += ["{ unsigned h = 1; for (int i = 0; i < %d; i++)" % SIZE,
                              "  h = h * 31 + (unsigned)(int)%s[i];" % c,
                              "printf(\"%u\\n\", h); }"]

    def text(self):
        self.sizes()
        self.arrays()
        self.stages()
        return "\n".join(self.head + self.functions
                         + ["int main(int argc, char **argv) {", "(void)argv;"]
                         + self.main + ["return 0;", "}", ""])


def one_file(programs):
    if len(programs) == 1:
        return programs[0].text()
    lines, run = [], []
    for p in programs:
        text = p.text().replace("int main(", "__attribute__((noinline)) int main(")
        own = sorted(set(re.findall(
            r"\b(?:main|narrow|[mnk]|from_[mnk]|x\d+|dot\d+)\b", text)))
        lines += ["#define %s %s_%d" % (w, w, p.number) for w in own]
        lines += [text] + ["#undef %s" % w for w in own]
        run.append("main_%d(argc, argv)" % p.number)
    return "\n".join(lines + ["int main(int argc, char **argv) {",
                              "return %s;" % " | ".join(run), "}", ""])


def main():
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    together = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    for i in range(0, count, together):
        programs = [Program(seed, j) for j in range(i, min(i + together, count))]
        with open("%s/%d.c" % (folder, i // together), "w") as f:
            f.write(one_file(programs))


main()
