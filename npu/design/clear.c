/* clear.c -- the kernels that clear what a step's blocks have behind the last
 * k, where K does not end with a small matrix: the last element may share its
 * word with another one, and behind that lies what the mem tile's buffer held
 * before. Neither may meet the product, for NaN times zero is NaN.
 *
 * With R x S x T the shape of the multiply unit, the k that there are in whole
 * small matrices and so many more in the next one:
 *
 *   in0  [m/R][k/S][R][S]  of every row of small matrices the end of one, and
 *                          those behind it; turned, [S][R], these are one run
 *   in1  [k/S][n/T][S][T]  the end of each in a row of them, and all others;
 *                          turned [T][S]
 *
 * Word by word: that is done once a round.
 */
#include "parts.h"

#include "isa.h"
#include "kernels.h"

#include <assert.h>

/* `groups` times: of a small matrix of so many rows what is behind the first
 * `keep` bytes of each, and of what follows so many bytes. */
struct area {
  int groups, group_bytes; /* from one to the next */
  int first_bytes;         /* to the first small matrix */
  int rows, row_bytes, keep;
  int zero_bytes;
};

static void put_nops(struct text *t, int count) {
  while (count-- > 0)
    text_puts(t, "\tnop\n");
}

/* p0 passes over the ends of a small matrix's rows. */
static void put_rows(struct text *t, const struct area *x) {
  enum { WORD = 4 };
  int begin = x->keep / WORD * WORD;
  for (int row = 0; row < x->rows && begin < x->row_bytes; row++) {
    if (x->keep % WORD) {
      text_puts(t, "\tlda\tr6, [p0, #0]\n");
      put_nops(t, 6);
      text_puts(t, "\tand\tr6, r6, r5\n");
    }
    for (int i = begin; i < x->row_bytes; i += WORD) {
      bool last = i + WORD == x->row_bytes && row + 1 < x->rows;
      int step = WORD + (last ? begin : 0);
      text_printf(t, "\tst\t%s, [p0], #%d\n",
                  i == begin && x->keep % WORD ? "r6" : "r4", step);
    }
  }
}

/* Bytes from p0 on; the branch's delay slots store, too. */
static void put_zeros(struct text *t, int bytes, const char *label) {
  enum { UNROLLED = 16, SLOTS = 5, WORD = 4 };
  int words = bytes / WORD, turns = words / UNROLLED;
  const char *store = "\tst\tr4, [p0], #4\n";
  if (turns) {
    text_printf(t, "\tmovxm\tr7, #%d\n\t.p2align\t4\n%s:\n", turns, label);
    text_puts(t, "\tadd\tr7, r7, #-1\n");
    for (int i = 0; i < UNROLLED - SLOTS; i++)
      text_puts(t, store);
    text_printf(t, "\tjnz\tr7, #%s\n", label);
    for (int i = 0; i < SLOTS; i++)
      text_puts(t, store);
  }
  for (int i = 0; i < words % UNROLLED; i++)
    text_puts(t, store);
}

static void put_area(struct text *t, const struct area *x, int number) {
  if (!x->groups)
    return;
  text_printf(t, "\tmovxm\tr1, #%d\n\tadd\tr2, r0, r1\n", x->first_bytes);
  text_printf(t, "\tmovxm\tr1, #%d\n\tmovxm\tr3, #%d\n", x->group_bytes,
              x->groups);
  text_printf(t, "\t.p2align\t4\ngroup%d:\n", number);
  int begin = x->keep / 4 * 4;
  text_printf(t, "\tmovxm\tr6, #%d\n\tadd\tr6, r6, r2\n\tmov\tp0, r6\n", begin);
  put_nops(t, 2);
  put_rows(t, x);
  put_zeros(t, x->zero_bytes, number ? "zeros1" : "zeros0");
  text_printf(t,
              "\tadd\tr3, r3, #-1\n\tjnz\tr3, #group%d\n"
              "\tadd\tr2, r2, r1\n",
              number);
  put_nops(t, 4);
}

/* What is left of a block of an input in the last step. */
static int areas_of(const struct tile_program *p, const struct kernel_shape *s,
                    int input, struct area area[2]) {
  bool along_k = p->transfer[input].turned == (input == IN1);
  int bytes = dtype_bytes(p->transfer[input].type), k = s->k,
      last = (int)map_last_k(p, 1), whole = last / k, more = last % k,
      side = input == IN0 ? s->m : s->n, small = side * k * bytes,
      steps = p->block_k / k,
      rows = input == IN0 ? p->block_m / s->m : p->block_n / s->n;
  struct area one = {.first_bytes = whole * small,
                     .rows = along_k ? side : 1,
                     .row_bytes = along_k ? k * bytes : small,
                     .keep = (along_k ? 1 : side) * more * bytes};
  assert(last > 0 && more > 0 && last < p->block_k);
  if (input == IN0) {
    one.groups = rows;
    one.group_bytes = steps * small;
    one.zero_bytes = (steps - whole - 1) * small;
    area[0] = one;
    return 1;
  }
  one.groups = rows;
  one.group_bytes = small;
  one.first_bytes = whole * rows * small;
  area[0] = one;
  area[1] = (struct area){.groups = whole + 1 < steps,
                          .first_bytes = (whole + 1) * rows * small,
                          .zero_bytes = (steps - whole - 1) * rows * small};
  return 2;
}

struct asm_program *make_clear(struct builder *m, int input) {
  const struct tile_program *p = m->design->program;
  const char *name = input ? "clear1" : "clear0";
  struct kernel_shape s;
  struct area area[2];
  struct text t = {0};
  bool good = kernel_shape(map_isa(p->device), p->transfer[IN0].type,
                           p->transfer[IN1].type, p->acc, &s);
  assert(good);
  (void)good;
  int count = areas_of(p, &s, input, area), keep = area[0].keep % 4;
  text_printf(&t, "\t.text\n\t.globl\t%s\n\t.p2align\t4\n%s:\n", name, name);
  text_printf(&t, "\tmov\tr0, p0\n\tmova\tr4, #0\n\tmovxm\tr5, #0x%x\n",
              (1u << 8 * keep) - 1);
  for (int i = 0; i < count; i++)
    put_area(&t, &area[i], i);
  text_puts(&t, "\tret\tlr\n");
  put_nops(&t, 5);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, isa_find(p->device->isa), name, copy, m->diag);
}
