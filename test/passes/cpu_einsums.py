#!/usr/bin/env python3
"""cpu_einsums.py SEED COUNT -- a C program of random contractions of tensors, of
extents that are known when compiling or not; it prints a sum of each result."""
import random
import sys

types = [("float", "float"), ("double", "double"), ("signed char", "int"),
         ("unsigned char", "int"), ("int", "int")]


def letters(choose, count):
    rows, columns, steps = [choose.randint(0, 3) for _ in range(3)]
    if not rows + columns or not steps:
        return letters(choose, count)
    names = list("abcdefghi"[:rows + columns + steps])
    choose.shuffle(names)
    m, n, k = (names[:rows], names[rows:rows + columns],
               names[rows + columns:])
    tensors = [m + k, k + n, m + n]
    for t in tensors:
        choose.shuffle(t)
    return tensors if all(tensors) else letters(choose, count)


def place(tensor, size):
    text = tensor[0]
    for x in tensor[1:]:
        text = f"({text} * {size(x)} + {x})"
    return text


def contraction(choose, i):
    tensors = letters(choose, i)
    short, long = choose.choice([(1, 6), (1, 40)]), (1, 90)
    names = sorted(set(sum(tensors, [])))
    extent = {x: choose.randint(*short) for x in names}
    extent[choose.choice(names)] = choose.randint(*long)
    while eval("*".join(map(str, extent.values()))) > 3000000:
        x = choose.choice(names)
        extent[x] = extent[x] // 2 + 1
    if i % 2:  # squares are transposed
        extent = {x: (e + 3) // 4 * 4 for x, e in extent.items()}
    known = choose.random() < 0.5

    def size(x):
        return extent[x] if known else "s_" + x

    element, total = choose.choice(types)
    steps = [x for x in tensors[0] if x in tensors[1]]
    out = [x for x in tensors[2]]
    if choose.random() < 0.5:
        choose.shuffle(out)
    loops = lambda names: " ".join(
        f"for (long {x} = 0; {x} < {size(x)}; {x}++)" for x in names)
    parameters = "".join(f", long s_{x}" for x in names)
    adds = choose.random() < 0.5
    text = (f"__attribute__((noinline)) static void f{i}(const {element} *restrict x, "
            f"const {element} *restrict y, {total} *restrict z{parameters}) {{\n"
            f"  {loops(out)} {{\n    {total} sum = 0;\n    {loops(steps)}\n"
            f"      sum += ({total})x[{place(tensors[0], size)}] * "
            f"y[{place(tensors[1], size)}];\n"
            f"    z[{place(tensors[2], size)}] {'+=' if adds else '='} sum;\n  }}\n}}\n")
    counts = [eval("*".join(str(extent[x]) for x in t)) for t in tensors]
    extents = "".join(f", {extent[x]}" for x in names)
    test = (f"  {{\n    {element} *x = get({counts[0]}, sizeof *x), "
            f"*y = get({counts[1]}, sizeof *y);\n"
            f"    {total} *z = get({counts[2]}, sizeof *z);\n"
            f"    for (long i = 0; i < {counts[0]}; i++) x[i] = i * 7 % 11 - 5;\n"
            f"    for (long i = 0; i < {counts[1]}; i++) y[i] = i * 5 % 9 - 4;\n"
            f"    for (long i = 0; i < {counts[2]}; i++) z[i] = i % 5;\n"
            f"    f{i}(x, y, z{extents});\n    unsigned long sum = 0;\n"
            f"    for (long i = 0; i < {counts[2]}; i++) "
            f"sum = sum * 31 + (unsigned long)(long)z[i];\n"
            f'    printf("{i} %lx\\n", sum);\n'
            f"    done();\n  }}\n")
    return text, test


def main():
    choose = random.Random(int(sys.argv[1]))
    count = int(sys.argv[2])
    parts = [contraction(choose, i) for i in range(count)]
    print("""#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
/* What is got ends where memory does. */
static struct { char *at; size_t bytes; } piece[8];
static int pieces;
static void *get(size_t count, size_t size) {
  size_t bytes = count * size, room = (bytes + 4095) / 4096 * 4096;
  char *p = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + room, 4096, PROT_NONE))
    exit(9);
  piece[pieces].at = p;
  piece[pieces++].bytes = room + 4096;
  return p + room - bytes;
}
static void done(void) {
  while (pieces--)
    munmap(piece[pieces].at, piece[pieces].bytes);
  pieces = 0;
}
""")
    print("".join(text for text, _ in parts))
    print("int main(void) {\n" + "".join(test for _, test in parts) +
          "  return 0;\n}")


main()
