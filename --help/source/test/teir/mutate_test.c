/* mutate_test.c -- the fuzz target with the worked examples, mutated: bytes
 * changed, words swapped for others of the language, lines dropped and
 * doubled.  The same inputs every time. */
#include "check.h"
#include "fuzz_parse.h"

#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;
static size_t below(size_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(seed >> 33) % n;
}

static const char *const example[] = {
    "batched_gemm.teir",      "contraction_brgemm.teir",
    "guarded_reduction.teir", "branches.teir",
    "../matmul.teir",         "address_offset.teir",
    "permutation_tiled.teir", "tail.teir"};
static const char tec[] = "tec 1\ndim_types = (M, N, K)\n"
                          "exec_types = (seq, shared, prim)\n"
                          "dim_sizes = (4, 5, 6)\nstrides_in0 = (6, 0, 1)\n"
                          "strides_in1 = (0, 6, 1)\nstrides_out = (5, 1, 0)\n"
                          "data_type = FP32\nprim_first = Zero\n"
                          "prim_main = GEMM\nprim_last = ReLU\n";
static const char *const word[] = {"axis",
                                   "extent",
                                   "stride",
                                   "offset",
                                   "primitive",
                                   "roots",
                                   "iterate",
                                   "invoke",
                                   "over",
                                   "do",
                                   "calls",
                                   "when",
                                   "and",
                                   "first(a)",
                                   "last(k)",
                                   "M=[",
                                   "]",
                                   "K=[k]",
                                   "from",
                                   "to",
                                   "with",
                                   "-1",
                                   "0",
                                   "9223372036854775807",
                                   "18446744073709551616",
                                   "=",
                                   "a",
                                   "k",
                                   "in0",
                                   "out",
                                   "\n",
                                   "#",
                                   "(",
                                   "on rows",
                                   "parallel",
                                   "expr",
                                   "add(sum,",
                                   "f32:0x1p+2",
                                   "i8(",
                                   "sum"};

static void mutate(char *text, size_t *length, size_t room) {
  size_t at = below(*length + 1);
  const char *w = word[below(sizeof word / sizeof *word)];
  size_t n = strlen(w), cut = below(8);
  switch (below(4)) {
  case 0:
    if (at < *length)
      text[at] = (char)below(256);
    return;
  case 1: /* a word put in */
    if (*length + n + 2 > room)
      return;
    memmove(text + at + n + 2, text + at, *length - at);
    text[at] = text[at + n + 1] = ' ';
    memcpy(text + at + 1, w, n);
    *length += n + 2;
    return;
  case 2: /* bytes taken out */
    cut = cut < *length - at ? cut : *length - at;
    memmove(text + at, text + at + cut, *length - at - cut);
    *length -= cut;
    return;
  case 3: { /* a line doubled or dropped */
    size_t start = at, end = at;
    while (start > 0 && text[start - 1] != '\n')
      start--;
    while (end < *length && text[end] != '\n')
      end++;
    end += end < *length;
    size_t line = end - start;
    if (below(2)) {
      memmove(text + start, text + end, *length - end);
      *length -= line;
    } else if (*length + line <= room) {
      memmove(text + end, text + start, *length - start);
      *length += line;
    }
    return;
  }
  }
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 400;
  struct arena *a = arena_open();
  for (size_t i = 0; i <= sizeof example / sizeof *example; i++) {
    struct diag d = {0};
    const char *text = tec;
    if (i < sizeof example / sizeof *example)
      text = file_read(a, arena_printf(a, "%s/%s", TEST_DIR, example[i]), NULL,
                       &d);
    CHECK(text);
    for (int round = 0; text && round < rounds; round++) {
      size_t length = strlen(text), room = 2 * length;
      char *copy = malloc(room + 1);
      memcpy(copy, text, length);
      for (size_t m = 1 + below(4); m > 0; m--)
        mutate(copy, &length, room);
      /* exactly `length` bytes, so that reading past them is seen */
      char *exact = malloc(length ? length : 1);
      memcpy(exact, copy, length);
      CHECK(LLVMFuzzerTestOneInput((uint8_t *)exact, length) == 0);
      free(exact);
      free(copy);
    }
  }
  arena_close(a);
  return check_result();
}
