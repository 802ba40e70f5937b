/* kernel_check.c -- one core, one kernel, one exact reference: data, their
 * places, and the comparison. */
#include "parts.h"

#include "array.h"

#include <string.h>

/* ---- data ---- */

struct random {
  uint64_t state;
};

static uint32_t next(struct random *r) {
  r->state ^= r->state << 13;
  r->state ^= r->state >> 7;
  r->state ^= r->state << 17;
  return (uint32_t)(r->state >> 20);
}

static uint16_t random_bf16(struct random *r, enum check_data data) {
  uint32_t w = next(r), kind = next(r) % 32;
  int e = 120 + (w >> 16) % 12;
  if (data != CHECK_RANDOM && kind < 8)
    e = (w >> 8) % 191; /* products stay finite; 0 makes denormals */
  if (data != CHECK_RANDOM && kind == 8)
    return w & 0x8000;
  if (data == CHECK_SPECIAL && next(r) % 512 == 0)
    return (w & 0x8000) | 0x7f80 | (w % 4 ? 0 : (w & 0x7f));
  return (uint16_t)((w & 0x807f) | (uint32_t)e << 7);
}

static void fill(struct random *r, enum dtype type, enum check_data data,
                 uint8_t *at, int64_t count) {
  int size = dtype_bytes(type);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = (uint64_t)next(r) << 32 | next(r);
    if (type == DTYPE_BF16)
      bits = random_bf16(r, data);
    else if (type == DTYPE_F32)
      bits = (uint32_t)random_bf16(r, data) << 16 | (bits & 0xffff);
    else if (data != CHECK_RANDOM && next(r) % 4 == 0)
      bits = (next(r) % 2 ? UINT64_C(1) : UINT64_MAX) << (8 * size - 1);
    else if (type == DTYPE_I64)
      bits = (uint64_t)((int64_t)bits >> 8);
    memcpy(at + i * size, &bits, size); /* hosts are little endian */
  }
}

/* 8 mantissas and what they share, 9 bytes each. */
static void fill_blocks(struct random *r, enum check_data data, uint8_t *at,
                        int64_t values) {
  int span = data == CHECK_RANDOM ? 8 : 60;
  for (int64_t i = 0; i < values / 8; i++) {
    at[9 * i] = (uint8_t)(127 - span / 2 + (int)(next(r) % (uint32_t)span));
    if (data != CHECK_RANDOM && next(r) % 32 == 0)
      at[9 * i] = next(r) % 2 ? 0 : 200;
    for (int j = 1; j < 9; j++)
      at[9 * i + j] = (uint8_t)next(r);
  }
}

/* Puts the halves of random values into memory and returns the values. */
static const uint32_t *fill_halves(struct arena *a, struct random *r,
                                   enum check_data data, uint8_t *at,
                                   int64_t count) {
  uint32_t *value = arena_array(a, count, sizeof *value);
  fill(r, DTYPE_F32, data, (uint8_t *)value, count);
  for (int64_t i = 0; i < count; i++) {
    uint16_t high = reference_high(value[i]), low = reference_low(value[i]);
    memcpy(at + 2 * i, &high, 2);
    memcpy(at + 2 * (count + i), &low, 2);
  }
  return value;
}

/* ---- places ---- */

static int bank_bytes(void) {
  return CHECK_MEMORY_BYTES / device_at(0)->core_banks;
}

static int64_t next_bank(int64_t at) {
  int64_t bank = bank_bytes();
  return (at + bank - 1) / bank * bank;
}

struct kernel_steps check_steps(int count, int group) {
  return (struct kernel_steps){.count = count,
                               .group = group,
                               .c_bytes = bank_bytes(),
                               .a = {.full = 49, .empty = 48},
                               .b = {.full = 51, .empty = 50},
                               .c = {.full = 53, .empty = 52}};
}

static void sizes(const struct kernel_gemm *k, int64_t bytes[3]) {
  bytes[0] = kernel_gemm_bytes(k, 0);
  bytes[1] = kernel_gemm_bytes(k, 1);
  bytes[2] = (int64_t)k->m * k->n * dtype_bytes(k->out);
}

bool check_place(const struct kernel_gemm *k, uint32_t at[3]) {
  enum { WORD = 64 }; /* of the widest access */
  int64_t bytes[3];
  sizes(k, bytes);
  int64_t b = next_bank(bytes[0]), c = next_bank(b + bytes[1]);
  if (c + bytes[2] > CHECK_MEMORY_BYTES) /* they share a bank: C at the end */
    c = (CHECK_MEMORY_BYTES - bytes[2]) / WORD * WORD;
  if (b + bytes[1] > c)
    b = (c - bytes[1]) / WORD * WORD;
  if (c < 0 || b < 0 || bytes[0] > b)
    return false;
  at[0] = 0, at[1] = (uint32_t)b, at[2] = (uint32_t)c;
  return true;
}

/* Where everything lies: two buffers of A and of B, or one; blocks of C. */
struct layout {
  int64_t a[2], b[2], c[2];
};

static bool place_steps(const struct kernel_gemm *k,
                        const struct kernel_steps *steps, struct layout *l) {
  int64_t bytes[3];
  sizes(k, bytes);
  for (int bank = 1; bank >= 0; bank--) {
    int64_t b = bank ? next_bank(2 * bytes[0]) : 2 * bytes[0];
    int64_t c = bank ? next_bank(b + 2 * bytes[1]) : b + 2 * bytes[1];
    *l = (struct layout){
        {0, bytes[0]}, {b, b + bytes[1]}, {c, c + steps->c_bytes}};
    if (l->c[steps->group - 1] + bytes[2] <= CHECK_MEMORY_BYTES)
      return steps->group == 1 || bytes[2] <= steps->c_bytes;
  }
  return false;
}

static bool place(const struct kernel_gemm *k, const struct kernel_steps *steps,
                  struct layout *l) {
  uint32_t at[3];
  if (steps)
    return place_steps(k, steps, l);
  if (!check_place(k, at))
    return false;
  *l = (struct layout){{at[0], at[0]}, {at[1], at[1]}, {at[2], at[2]}};
  return true;
}

bool check_fits(const struct kernel_gemm *k, const struct kernel_steps *steps) {
  struct layout l;
  return place(k, steps, &l);
}

/* What one run works on. */
struct test {
  struct problem p;
  const struct kernel_steps *steps; /* or NULL */
  struct layout at;
  int64_t bytes[3];
  int group, a_blocks, b_blocks;
  uint8_t *a, *b, *c; /* block after block */
  uint8_t *expected;  /* c behind the last step */
};

static void fill_inputs(struct test *t, struct arena *a, struct random *r,
                        enum check_data data) {
  const struct kernel_gemm *k = t->p.k;
  int64_t a_count = (int64_t)k->m * k->k, b_count = (int64_t)k->k * k->n;
  for (int i = 0; i < t->a_blocks; i++) {
    uint8_t *to = t->a + i * t->bytes[0];
    if (k->bfp16)
      fill_blocks(r, data, to, a_count);
    else if (k->in0 == DTYPE_F32)
      t->p.a_value = fill_halves(a, r, data, to, a_count);
    else
      fill(r, k->in0, data, to, a_count);
  }
  for (int i = 0; i < t->b_blocks; i++) {
    uint8_t *to = t->b + i * t->bytes[1];
    if (k->bfp16)
      fill_blocks(r, data, to, b_count);
    else if (k->in0 == DTYPE_F32)
      t->p.b_value = fill_halves(a, r, data, to, b_count);
    else
      fill(r, k->in1, data, to, b_count);
  }
}

static void expect_all(struct test *t) {
  struct kernel_gemm step = *t->p.k;
  struct problem p = {.k = &step, .s = t->p.s};
  for (int i = 0; i < t->a_blocks; i++) {
    uint8_t *c = t->expected + i % t->group * t->bytes[2];
    step.zero = t->p.k->zero && i < t->group;
    p.a = t->a + i * t->bytes[0];
    p.b = t->b + i / t->group * t->bytes[1];
    p.c = c;
    reference_expect(&p, c);
  }
}

static void prepare(struct test *t, struct arena *a, struct random *r,
                    enum check_data data) {
  const struct kernel_gemm *k = t->p.k;
  t->group = t->steps ? t->steps->group : 1;
  t->b_blocks = t->steps ? t->steps->count : 1;
  t->a_blocks = t->b_blocks * t->group;
  t->a = arena_array(a, t->a_blocks, t->bytes[0]);
  t->b = arena_array(a, t->b_blocks, t->bytes[1]);
  t->c = arena_array(a, t->group, t->bytes[2]);
  fill_inputs(t, a, r, data);
  fill(r, k->out, data, t->c, (int64_t)k->m * k->n * t->group);
  t->expected = arena_copy(a, t->c, t->group, t->group, t->bytes[2]);
  expect_all(t);
}

static struct ring make_ring(int take, int give, int blocks,
                             const int64_t at[2], int64_t bytes,
                             uint8_t *data) {
  return (struct ring){.take = take,
                       .give = give,
                       .blocks = blocks,
                       .at = {at[0], at[1]},
                       .bytes = bytes,
                       .data = data};
}

static bool run_steps(const struct test *t, const struct asm_program *program,
                      struct feed *f, struct check_outcome *o, struct diag *d) {
  const struct layout *l = &t->at;
  const struct kernel_steps *s = t->steps;
  f->ring[0] =
      make_ring(s->a.full, s->a.empty, t->a_blocks, l->a, t->bytes[0], t->a);
  f->ring[1] =
      make_ring(s->b.full, s->b.empty, t->b_blocks, l->b, t->bytes[1], t->b);
  f->ring[2] =
      make_ring(s->c.empty, s->c.full, t->group, l->c, t->bytes[2], t->c);
  const uint32_t value[ARGUMENTS] = {
      (uint32_t)l->a[0], (uint32_t)l->b[0], (uint32_t)l->c[0],
      (uint32_t)(l->a[1] - l->a[0]), (uint32_t)(l->b[1] - l->b[0])};
  if (!lone_core_run(program, f, value, ARGUMENTS, o, d))
    return false;
  for (int i = 0; i < RINGS; i++)
    if (f->ring[i].given != f->ring[i].blocks)
      return diag_error(d, loc_none(),
                        "%d of %d buffers of ring %d are given back",
                        f->ring[i].given, f->ring[i].blocks, i);
  return true;
}

/* Without steps: what is given back is what lies in memory at the end. */
static bool run_product(const struct test *t, const struct asm_program *program,
                        struct feed *f, struct check_outcome *o,
                        struct diag *d) {
  const int64_t at[POINTERS] = {t->at.a[0], t->at.b[0], t->at.c[0]};
  uint8_t *const data[POINTERS] = {t->a, t->b, t->c};
  uint32_t value[POINTERS];
  for (int i = 0; i < POINTERS; i++) {
    memcpy(f->memory + at[i], data[i], (size_t)t->bytes[i]);
    value[i] = (uint32_t)at[i];
  }
  if (!lone_core_run(program, f, value, POINTERS, o, d))
    return false;
  for (int i = 0; i < POINTERS; i++) {
    memcpy(data[i], f->memory + at[i], (size_t)t->bytes[i]);
    fill_noise(f->memory + at[i], t->bytes[i]);
  }
  return true;
}

/* All of memory is noise when the kernel owns nothing. */
static bool run_test(const struct test *t, const struct asm_program *program,
                     struct arena *a, struct check_outcome *o, struct diag *d) {
  struct feed f = {.memory = arena_array(a, CHECK_MEMORY_BYTES, 1)};
  uint8_t *before_a =
      arena_copy(a, t->a, t->a_blocks, t->a_blocks, t->bytes[0]);
  uint8_t *before_b =
      arena_copy(a, t->b, t->b_blocks, t->b_blocks, t->bytes[1]);
  fill_noise(f.memory, CHECK_MEMORY_BYTES);
  if (!(t->steps ? run_steps : run_product)(t, program, &f, o, d))
    return false;
  bool same =
      memcmp(before_a, t->a, (size_t)(t->a_blocks * t->bytes[0])) == 0 &&
      memcmp(before_b, t->b, (size_t)(t->b_blocks * t->bytes[1])) == 0;
  for (int i = 0; i < CHECK_MEMORY_BYTES; i++)
    same = same && f.memory[i] == NOISE;
  return same || diag_error(d, loc_none(), "the kernel writes outside of C");
}

bool check_gemm(const struct kernel_gemm *k, const struct kernel_steps *steps,
                const struct asm_program *program, enum check_data data,
                uint64_t seed, struct check_outcome *o, struct diag *d) {
  struct random random = {seed * 2654435761u + 88172645463325252u};
  struct test t = {.p.k = k, .steps = steps};
  *o = (struct check_outcome){0};
  if (!place(k, steps, &t.at) || !kernel_gemm_shape(k, &t.p.s))
    return diag_error(d, loc_none(), "A, B and C do not fit into a tile");
  sizes(k, t.bytes);
  struct arena *a = arena_open();
  prepare(&t, a, &random, data);
  t.p.c = arena_copy(a, t.c, 1, 1, (size_t)t.bytes[2]);
  bool ok = run_test(&t, program, a, o, d);
  for (int i = 0; ok && i < t.group; i++)
    reference_compare(&t.p, t.c + i * t.bytes[2], t.expected + i * t.bytes[2],
                      o);
  if (ok && t.p.a_value && data == CHECK_RANDOM && !steps)
    o->error = reference_error(&t.p, t.c);
  arena_close(a);
  return ok;
}
