/* clear.c -- the kernels that clear what a step's blocks have behind the last
 * k, where K ends inside a small matrix and mem tiles do not add all zeros
 * (struct map_end): the last element may share its word with another one, and
 * behind that may lie what the mem tile's buffer held before.  Neither may meet
 * the product, for NaN times zero is NaN.
 *
 * With R x S x T the shape of the multiply unit, the k that there are in whole
 * small matrices and so many more in the next one:
 *
 *   in0  [m/R][k/S][R][S]  of every row of small matrices the end of one, and
 *                          those behind it; turned, [S][R], these are one run
 *   in1  [k/S][n/T][S][T]  the end of each in a row of them, and all others;
 *                          turned [T][S]
 *
 * A vector at a time: of a small matrix the bytes that stay are selected by a
 * mask, what lies behind it is zero.
 */
#include "parts.h"

#include "isa.h"
#include "kernels.h"

#include <assert.h>
#include <string.h>

enum { VECTOR = 32, MASKED = 2 * VECTOR, MASKS = 2, BRANCH_SLOTS = 5 };
enum { LOAD_SLOTS = 6, SELECT_SLOTS = 2 }; /* isa.md D1 */
enum { ZERO_X = 1, FIRST_X = 2 };          /* x registers */

/* `groups` times: of so many bytes those in the masks, and so many behind
 * them. */
struct area {
  int groups, group_bytes; /* from one to the next */
  int masked_bytes;
  uint64_t zero[MASKS]; /* 64 each */
  int zero_bytes;
};

static void put_nops(struct text *t, int count) {
  while (count-- > 0)
    text_puts(t, "\tnop\n");
}

static const char *const zero_store = "\tvst\twl1, [p0], #32\n";

/* Bytes from p0 on; the branch's delay slots store, too. */
static void put_zeros(struct text *t, int bytes) {
  enum { UNROLLED = 16 };
  int vectors = bytes / VECTOR, turns = vectors / UNROLLED;
  if (turns) {
    text_printf(t, "\tmovxm\tr7, #%d\n\t.p2align\t4\nzeros:\n", turns);
    text_puts(t, "\tadd\tr7, r7, #-1\n");
    for (int i = 0; i < UNROLLED - BRANCH_SLOTS; i++)
      text_puts(t, zero_store);
    text_puts(t, "\tjnz\tr7, #zeros\n");
    for (int i = 0; i < BRANCH_SLOTS; i++)
      text_puts(t, zero_store);
  }
  for (int i = 0; i < vectors % UNROLLED; i++)
    text_puts(t, zero_store);
}

/* Vectors of a group that masks go over, two to a register. */
static int masked_vectors(const struct area *x) {
  return x->masked_bytes / VECTOR;
}

static void put_half(struct text *t, const char *op, int half,
                     const char *where) {
  text_printf(t, "\t%s\tw%c%d, %s\n", op, half % 2 ? 'h' : 'l',
              FIRST_X + half / 2, where);
}

/* What of these groups stays goes through registers of their own, one group
 * behind the other, so that none waits for another's loads. */
static void put_batch(struct text *t, const struct area *x, int groups,
                      int mask) {
  int vectors = masked_vectors(x), regs = (vectors + 1) / 2,
      stores = vectors + x->zero_bytes / VECTOR;
  for (int i = 0; i < groups * vectors; i++) {
    int at = i % vectors, half = i / vectors * 2 * regs + at;
    put_half(t, "vlda", half, at == vectors - 1 ? "[p0], m1" : "[p0], #32");
  }
  put_nops(t, LOAD_SLOTS - (groups * regs - 1));
  for (int i = 0; i < groups * regs; i++)
    text_printf(t, "\tvsel.8\tx%d, x%d, x%d, l%d\n", FIRST_X + i, FIRST_X + i,
                ZERO_X, mask + i % regs);
  put_nops(t, SELECT_SLOTS - (groups * regs - 1));
  for (int i = 0; i < groups * stores; i++) {
    int at = i % stores;
    const char *where = at == stores - 1 ? "[p1], m2" : "[p1], #32";
    if (at < vectors)
      put_half(t, "vst", i / stores * 2 * regs + at, where);
    else
      text_printf(t, "\tvst\twl%d, %s\n", ZERO_X, where);
  }
}

/* Batches of groups in a loop, and what is left behind it. */
static void put_groups(struct text *t, const struct area *x, int mask) {
  enum { BATCH = 4 };
  int turns = x->groups / BATCH;
  text_printf(t, "\tmovxm\tm1, #%d\n\tmovxm\tm2, #%d\n\tmov\tp1, p0\n",
              x->group_bytes - x->masked_bytes + VECTOR,
              x->group_bytes - x->masked_bytes - x->zero_bytes + VECTOR);
  if (turns) {
    text_printf(t, "\tmovxm\tr3, #%d\n\t.p2align\t4\ngroups:\n", turns);
    put_batch(t, x, BATCH, mask);
    text_puts(t, "\tadd\tr3, r3, #-1\n\tjnz\tr3, #groups\n");
    put_nops(t, BRANCH_SLOTS);
  }
  if (x->groups % BATCH)
    put_batch(t, x, x->groups % BATCH, mask);
  text_puts(t, "\tmov\tp0, p1\n");
}

/* Of the bytes from so many on before the small matrix those behind it and, of
 * each of its rows, those behind the first `keep`. */
static void fill_masks(struct area *x, int before, int small, int row,
                       int keep) {
  for (int i = before; i < x->masked_bytes; i++)
    if (i - before >= small || (i - before) % row >= keep)
      x->zero[i / MASKED] |= (uint64_t)1 << i % MASKED;
}

/* What is left of a block of an input in the last step: of small matrices, and
 * behind them if mem tiles add no zeros; *first_bytes before all that stays.
 * Small matrices of less than a vector share it with those before and behind
 * them. */
static struct area area_of(const struct tile_program *p,
                           const struct kernel_shape *s, int input,
                           int *first_bytes) {
  bool along_k = p->transfer[input].turned == (input == IN1);
  int bytes = dtype_bytes(p->transfer[input].type), k = s->k,
      last = (int)map_last_k(p, 1), whole = last / k, more = last % k,
      side = input == IN0 ? s->m : s->n, small = side * k * bytes,
      steps = p->block_k / k,
      rows = input == IN0 ? p->block_m / s->m : p->block_n / s->n,
      first = whole * small * (input == IN0 ? 1 : rows),
      before = first % VECTOR,
      masked = (before + small + VECTOR - 1) / VECTOR * VECTOR;
  bool all = map_end(p).clear[input] == MAP_CLEAR_ALL;
  assert(last > 0 && more > 0 && last < p->block_k);
  assert(masked <= MASKS * MASKED && (input == IN0 || small % VECTOR == 0));
  struct area x = {.groups = rows,
                   .group_bytes = input == IN0 ? steps * small : small,
                   .masked_bytes = masked,
                   .zero_bytes = all && input == IN0
                                     ? steps * small - (first - before) - masked
                                     : 0};
  assert(x.group_bytes % VECTOR == 0 && x.zero_bytes >= 0);
  fill_masks(&x, before, small, along_k ? k * bytes : small,
             (along_k ? 1 : side) * more * bytes);
  *first_bytes = first - before;
  return x;
}

/* Behind the small matrices of in1 that are cut lie the ones of all further
 * k. */
static int behind_bytes(const struct tile_program *p,
                        const struct kernel_shape *s, const struct area *x) {
  int whole = (int)map_last_k(p, 1) / s->k;
  return (p->block_k / s->k - whole - 1) * x->groups * x->masked_bytes;
}

struct asm_program *make_clear(struct builder *m, int input) {
  const struct tile_program *p = m->design->program;
  const char *name = input ? "clear1" : "clear0";
  struct kernel_shape s;
  struct text t = {0};
  bool good = kernel_shape(map_isa(p->device), p->transfer[IN0].type,
                           p->transfer[IN1].type, p->acc, &s);
  assert(good);
  (void)good;
  int first_bytes;
  struct area x = area_of(p, &s, input, &first_bytes);
  /* r24 and r25 as one, and the two behind them */
  int mask = strcmp(p->device->isa, "aie2") == 0 ? 4 : 12;
  text_printf(&t, "\t.text\n\t.globl\t%s\n\t.p2align\t4\n%s:\n", name, name);
  text_printf(&t, "\tmova\tr4, #0\n\tmovxm\tm0, #%d\n", first_bytes);
  for (int i = 0; i < MASKS && i * MASKED < x.masked_bytes; i++)
    text_printf(&t, "\tmovxm\tr%d, #0x%x\n\tmovxm\tr%d, #0x%x\n", 24 + 2 * i,
                (unsigned)(x.zero[i] & UINT32_MAX), 25 + 2 * i,
                (unsigned)(x.zero[i] >> 32));
  text_puts(&t, "\tvbcst.32\tx1, r4\n\tpadda\t[p0], m0\n");
  put_nops(&t, 2);
  put_groups(&t, &x, mask);
  if (input == IN1 && map_end(p).clear[IN1] == MAP_CLEAR_ALL)
    put_zeros(&t, behind_bytes(p, &s, &x));
  text_puts(&t, "\tret\tlr\n");
  put_nops(&t, 5);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, isa_find(p->device->isa), name, copy, m->diag);
}
