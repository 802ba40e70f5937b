/* gemm_test.c -- kernels run on the core simulator against the exact reference
 * of npu/check: the sizes that count, and a few hundred random
 * combinations of shape, types, layouts and options. */
#include "check.h"
#include "kernel_check.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void report(const struct kernel_gemm *k,
                   const struct kernel_steps *steps,
                   const struct check_outcome *o, const struct diag *d) {
  fprintf(stderr,
          "%s x %s -> %s, %d x %d x %d%s%s%s%s%s shift %d round %d sat %d "
          "steps %d,%d: %llu cycles, %lld wrong, %s%s\n",
          dtype_name(k->in0), dtype_name(k->in1), dtype_name(k->out), k->m,
          k->k, k->n, k->ta ? " ta" : "", k->tb ? " tb" : "",
          k->tc ? " tc" : "", k->zero ? " zero" : "", k->relu ? " relu" : "",
          k->shift, k->rounding, k->saturation, steps ? steps->count : 0,
          steps ? steps->group : 0, (unsigned long long)o->cycles,
          (long long)o->wrong, o->first, d->text);
}

/* Whether it sets up a hardware loop. */
static bool has_hardware_loop(const struct asm_program *p) {
  int ls = isa_reg_find(p->isa, "ls", 2);
  for (int i = 0; i < p->count; i++) {
    const struct isa_op *op = &p->line[i].bundle.slot[SLOT_LNG];
    if (p->line[i].kind == ASM_BUNDLE && op->id && op->operand[0] == ls)
      return true;
  }
  return false;
}

/* On each of the first `kinds` kinds of data from `first` on.  Steps may be
 * NULL. */
static void run_steps(const struct kernel_gemm *k,
                      const struct kernel_steps *steps, enum check_data first,
                      int kinds, uint64_t seed, uint64_t most_cycles) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct check_outcome o = {0};
  struct asm_program *p = kernel_gemm_steps(a, k, steps, &d);
  CHECK(p != NULL);
  if (p && k->loops != KERNEL_LOOPS_HARDWARE && (k->loops || k->isa))
    CHECK(k->isa == isa_find("aie2") || !has_hardware_loop(p));
  for (int i = 0; i < kinds && p; i++) {
    enum check_data data = (enum check_data)((int)first + i);
    bool ok =
        check_gemm(k, steps, p, data, seed + (uint64_t)i, &o, &d) && !o.wrong;
    bool quick = !most_cycles || o.cycles <= most_cycles;
    CHECK(ok && quick);
    CHECK(o.error <= 0x1p-15); /* kernels.h */
    if (!ok || !quick)
      report(k, steps, &o, &d);
  }
  if (!p)
    report(k, steps, &o, &d);
  arena_close(a);
}

static void run(const struct kernel_gemm *k, enum check_data data,
                uint64_t seed, uint64_t most_cycles) {
  run_steps(k, NULL, data, 1, seed, most_cycles);
}

/* Cycles that are promised; 0: only correct results. */
struct named {
  enum dtype in, out;
  int m, k, n;
  bool ta, tb, tc;
  uint64_t most_cycles;
};
static const struct named named[] = {
    {DTYPE_BF16, DTYPE_F32, 64, 80, 64, 0, 0, 0, 2640},
    {DTYPE_BF16, DTYPE_BF16, 64, 80, 64, 0, 0, 0, 2640},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 0, 0, 0, 2130},
    {DTYPE_BF16, DTYPE_BF16, 64, 64, 64, 0, 0, 0, 2130},
    {DTYPE_BF16, DTYPE_F32, 32, 32, 32, 0, 0, 0, 285},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 0, 0, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 0, 1, 0, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 0, 0, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 1, 0, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 0, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 0, 1, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 1, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 32, 64, 0, 0, 0, 1137},
    {DTYPE_BF16, DTYPE_F32, 68, 64, 68, 0, 0, 0, 2513},
    {DTYPE_BF16, DTYPE_F32, 72, 64, 76, 0, 0, 0, 2973},
    {DTYPE_BF16, DTYPE_F32, 76, 64, 64, 0, 0, 0, 2643},
    {DTYPE_BF16, DTYPE_F32, 96, 56, 96, 0, 0, 0, 0},
    {DTYPE_BF16, DTYPE_F32, 16, 256, 64, 0, 0, 0, 0},
    {DTYPE_BF16, DTYPE_F32, 16, 512, 16, 0, 0, 0, 0},
    {DTYPE_BF16, DTYPE_F32, 4, 8, 4, 0, 0, 0, 0},
    /* three times the multiplies: 768, 3072 and 6144 */
    {DTYPE_F32, DTYPE_F32, 32, 32, 32, 0, 0, 0, 800},
    {DTYPE_F32, DTYPE_F32, 64, 32, 64, 0, 0, 0, 3110},
    {DTYPE_F32, DTYPE_F32, 64, 64, 64, 0, 0, 0, 6180},
    {DTYPE_F32, DTYPE_F32, 64, 64, 64, 1, 1, 0, 6200},
    {DTYPE_F32, DTYPE_F32, 64, 64, 64, 0, 0, 1, 6200},
    {DTYPE_F32, DTYPE_F32, 36, 40, 44, 0, 0, 0, 0},
    {DTYPE_F32, DTYPE_F32, 4, 8, 4, 0, 0, 0, 0},
    {DTYPE_F32, DTYPE_F32, 16, 24, 16, 1, 1, 1, 0},
    {DTYPE_I8, DTYPE_I32, 48, 280, 48, 0, 0, 0, 2745},
    {DTYPE_I8, DTYPE_I8, 64, 232, 64, 0, 0, 0, 3878},
    {DTYPE_I8, DTYPE_I16, 64, 216, 64, 0, 0, 0, 3640},
    {DTYPE_I16, DTYPE_I32, 64, 64, 64, 0, 0, 0, 4357},
    {DTYPE_I8, DTYPE_I32, 4, 8, 8, 0, 0, 0, 0},
};

static const struct named named_aie2p[] = {
    {DTYPE_I8, DTYPE_I32, 48, 280, 48, 0, 0, 0, 1290},
    {DTYPE_I8, DTYPE_I8, 64, 232, 64, 0, 0, 0, 1880},
    {DTYPE_I8, DTYPE_I16, 64, 216, 64, 0, 0, 0, 1755},
    {DTYPE_I8, DTYPE_I32, 64, 128, 64, 1, 0, 0, 1055},
    {DTYPE_I8, DTYPE_I32, 64, 128, 64, 0, 1, 0, 1055},
    {DTYPE_I8, DTYPE_I32, 72, 120, 56, 0, 0, 0, 1010},
    {DTYPE_I8, DTYPE_I32, 8, 8, 8, 0, 0, 0, 0},
    {DTYPE_I16, DTYPE_I32, 64, 64, 64, 0, 0, 0, 2090},
    {DTYPE_I16, DTYPE_I32, 64, 64, 64, 1, 0, 0, 2090},
    {DTYPE_I16, DTYPE_I32, 64, 64, 64, 0, 1, 0, 2090},
    {DTYPE_I16, DTYPE_I16, 64, 64, 64, 1, 1, 1, 2090},
    {DTYPE_I16, DTYPE_I16, 64, 64, 64, 0, 0, 1, 2690},
    {DTYPE_I16, DTYPE_I16, 40, 30, 56, 0, 0, 0, 0},
    {DTYPE_BF16, DTYPE_F32, 32, 64, 64, 0, 0, 0, 2400},
    {DTYPE_BF16, DTYPE_F32, 32, 64, 64, 1, 0, 0, 2400},
    {DTYPE_BF16, DTYPE_F32, 32, 64, 64, 0, 1, 0, 4600},
    {DTYPE_BF16, DTYPE_F32, 32, 64, 64, 0, 0, 1, 3250},
    {DTYPE_BF16, DTYPE_F32, 34, 48, 96, 0, 0, 0, 0},
};

static void test_named(const struct isa *set, const struct named *named,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct kernel_gemm k = {.name = "gemm",
                            .isa = set,
                            .in0 = named[i].in,
                            .in1 = named[i].in,
                            .out = named[i].out,
                            .m = named[i].m,
                            .k = named[i].k,
                            .n = named[i].n,
                            .ta = named[i].ta,
                            .tb = named[i].tb,
                            .tc = named[i].tc};
    run_steps(&k, NULL, CHECK_RANDOM, CHECK_SPECIAL + 1, 1,
              named[i].most_cycles);
    k.yields = true;
    run(&k, CHECK_RANDOM, 1, 0);
    k.tall = true;
    run(&k, CHECK_RANDOM, 1, 0);
    k.yields = k.tall = false; /* other loops take no other cycles */
    k.loops = set ? KERNEL_LOOPS_HARDWARE : KERNEL_LOOPS_BRANCH;
    run(&k, CHECK_RANDOM, 1, named[i].most_cycles);
  }
}

/* Blocks of K in a row: a product costs its multiplies and a cycle per lock
 * operation; one ramp and one drain come on top. */
struct in_steps {
  enum dtype in, out;
  int m, k, n, count, group;
  bool zero;
  uint64_t most_cycles;
  bool tall; /* and leaves cycles to a DMA */
};
static const struct in_steps in_steps[] = {
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 1, true, 2048 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 2, 1, true, 2 * 2052 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 3, 1, false, 3 * 2052 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 6, 1, true, 6 * 2052 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 2, true, 4102 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 2, 2, true, 2 * 4102 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 5, 2, true, 5 * 4102 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 32, 64, 9, 1, true, 9 * 1028 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 32, 64, 9, 2, true, 9 * 2054 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 32, 32, 32, 9, 1, true, 9 * 260 + 80, false},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 6, 1, true, 6 * 2052 + 80, true},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 5, 2, true, 5 * 4102 + 80, true},
    {DTYPE_I8, DTYPE_I32, 64, 128, 64, 4, 1, true, 4 * 2052 + 80, false},
    {DTYPE_I8, DTYPE_I32, 64, 128, 64, 4, 1, true, 4 * 2052 + 80, true},
    {DTYPE_I8, DTYPE_I16, 64, 48, 112, 4, 2, true, 8 * 1354 + 80, true},
    {DTYPE_I8, DTYPE_I16, 64, 64, 128, 4, 1, true, 4 * 2052 + 80, true},
    {DTYPE_I8, DTYPE_I32, 48, 168, 48, 3, 2, true, 6 * 1516 + 120, false},
    /* a tall one with edges, whose blocks are 1 x 3 results, not 2 x 2 */
    {DTYPE_I8, DTYPE_I32, 24, 80, 64, 4, 2, true, 8 * 520 + 80, true},
};

static const struct in_steps in_steps_aie2p[] = {
    {DTYPE_I8, DTYPE_I32, 64, 120, 64, 4, 1, true, 4 * 964 + 64, false},
    {DTYPE_I8, DTYPE_I32, 64, 120, 64, 4, 1, true, 4 * 964 + 130, true},
    {DTYPE_I8, DTYPE_I16, 64, 64, 64, 4, 2, false, 8 * 516 + 90, true},
    /* steps of more places than there are */
    {DTYPE_I8, DTYPE_I32, 48, 96, 80, 6, 2, false, 12 * 740 + 80, false},
    {DTYPE_I8, DTYPE_I32, 48, 96, 72, 6, 2, false, 12 * 708 + 80, false},
};

static void test_steps(const struct isa *set, const struct in_steps *in_steps,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct kernel_gemm k = {.name = "gemm",
                            .isa = set,
                            .in0 = in_steps[i].in,
                            .in1 = in_steps[i].in,
                            .out = in_steps[i].out,
                            .m = in_steps[i].m,
                            .k = in_steps[i].k,
                            .n = in_steps[i].n,
                            .zero = in_steps[i].zero,
                            .tall = in_steps[i].tall,
                            .yields = in_steps[i].tall};
    struct kernel_steps s = check_steps(in_steps[i].count, in_steps[i].group);
    run_steps(&k, &s, CHECK_RANDOM, 1, 1, in_steps[i].most_cycles);
  }
}

/* Every product that the kernels accept. */
enum { MOST_TYPES = 64 };
static const struct isa *isa;
static enum dtype types[MOST_TYPES][3];
static int type_count;

/* Products of bf16 on aie2p (gemm_lanes.c) have other units. */
static bool is_by_lanes(const enum dtype *t) {
  return t[0] == DTYPE_BF16 && isa == isa_find("aie2p");
}

static bool find_unit(const enum dtype *t, struct kernel_shape *u) {
  struct kernel_gemm k = {.in0 = t[0], .in1 = t[1], .out = t[2], .isa = isa};
  bool known = kernel_gemm_shape(&k, u);
  if (known && is_by_lanes(t))
    u->k = 16;
  return known;
}

static void find_types(const char *name, int least) {
  isa = isa_find(name);
  type_count = 0;
  for (int i = 0; i < DTYPE_COUNT * DTYPE_COUNT * DTYPE_COUNT; i++) {
    const enum dtype t[3] = {(enum dtype)(i / DTYPE_COUNT / DTYPE_COUNT),
                             (enum dtype)(i / DTYPE_COUNT % DTYPE_COUNT),
                             (enum dtype)(i % DTYPE_COUNT)};
    struct kernel_shape u;
    bool twice = t[0] == DTYPE_BFP16 || t[1] == DTYPE_BFP16; /* as bf16 */
    if (!twice && find_unit(t, &u) && type_count < MOST_TYPES)
      memcpy(types[type_count++], t, sizeof t);
  }
  CHECK(type_count > least && type_count < MOST_TYPES);
}

/* Each has kernels, for all layouts, which are right. */
static void test_types(void) {
  for (int i = 0; i < type_count * 8; i++) {
    const enum dtype *t = types[i / 8];
    struct kernel_shape u = {0};
    struct kernel_gemm k = {.name = "gemm",
                            .isa = isa,
                            .in0 = t[0],
                            .in1 = t[1],
                            .out = t[2],
                            .ta = i & 1,
                            .tb = i & 2,
                            .tc = i & 4,
                            .zero = i & 1};
    CHECK(find_unit(t, &u));
    k.m = u.m * (1 + i % 8 / 4);
    k.k = u.k * (1 + i % 2);
    k.n = u.n * (1 + i % 4 / 2);
    run(&k, (enum check_data)(i % 3), (uint64_t)i, 0);
  }
}

/* Block floats: what is promised, and random sizes, also in steps. */
static void test_blocks(int count) {
  struct kernel_gemm k = {.name = "gemm",
                          .isa = isa_find("aie2p"),
                          .bfp16 = true,
                          .in0 = DTYPE_BF16,
                          .in1 = DTYPE_BF16,
                          .out = DTYPE_F32,
                          .m = 64,
                          .k = 96,
                          .n = 64,
                          .zero = true};
  run(&k, CHECK_RANDOM, 1, 795);
  k.zero = false;
  run_steps(&k, NULL, CHECK_RANDOM, CHECK_SPECIAL + 1, 1, 795);
  k.tc = true;
  run_steps(&k, NULL, CHECK_RANDOM, CHECK_SPECIAL + 1, 1, 795);
  for (int i = 0; i < count; i++) {
    k.m = 16 * (1 + i % 3), k.k = 32 * (1 + i % 4), k.n = 16 * (1 + i % 5);
    k.zero = i % 2, k.relu = i % 3 == 0, k.yields = i % 4 == 1;
    k.tc = i % 5 > 2;
    run(&k, k.relu ? CHECK_WILD : (enum check_data)(i % 3), (uint64_t)i, 0);
    struct kernel_steps s = check_steps(1 + i % 4, 1 + i % 2);
    k.relu = false;
    run_steps(&k, &s, (enum check_data)(i % 3), 1, (uint64_t)i, 0);
  }
}

static uint32_t random_below(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % n;
}

static struct kernel_gemm random_kernel(uint64_t *r) {
  const enum dtype *t = types[random_below(r, (uint32_t)type_count)];
  struct kernel_shape u;
  bool known = find_unit(t, &u);
  CHECK(known);
  /* beyond, edges of three passes may outgrow the program memory */
  int size = random_below(r, 4) || t[0] == DTYPE_F32 || is_by_lanes(t) ? 8 : 24;
  struct kernel_gemm k = {.name = "gemm",
                          .isa = isa,
                          .in0 = t[0],
                          .in1 = t[1],
                          .out = t[2],
                          .m = u.m * (1 + (int)random_below(r, size)),
                          .k = u.k * (1 + (int)random_below(r, size)),
                          .n = u.n * (1 + (int)random_below(r, size)),
                          .ta = random_below(r, 3) == 0,
                          .tb = random_below(r, 3) == 0,
                          .zero = random_below(r, 3) == 0};
  bool wide =
      t[0] != DTYPE_BF16 && dtype_bytes(t[1]) == 2 && isa != isa_find("aie2p");
  k.tc = random_below(r, 3) == 0;
  k.tall = random_below(r, 2) == 0;
  k.yields = random_below(r, 2) == 0;
  k.joined = random_below(r, 2) == 0;
  k.relu = random_below(r, 4) == 0 && !is_by_lanes(t);
  if (dtype_kind(t[2]) == DTYPE_FLOAT || dtype_bytes(t[2]) < (wide ? 8 : 4)) {
    k.rounding = random_below(r, KERNEL_ROUNDINGS);
    k.saturation = random_below(r, KERNEL_SATURATIONS);
    k.shift = dtype_kind(t[2]) == DTYPE_FLOAT ? 0 : (int)random_below(r, 20);
  }
  return k;
}

static void test_random(int count, uint64_t seed) {
  for (int i = 0; i < count; i++) {
    struct kernel_gemm k = random_kernel(&seed);
    uint32_t at[3];
    if (!check_place(&k, at))
      continue;
    enum check_data data = k.relu ? CHECK_WILD : (enum check_data)(i % 3);
    run(&k, data, seed, 0);
  }
}

/* Small blocks, where steps overlap more than they last; a kernel whose steps
 * do not repeat or do not fit says so. */
static void test_random_steps(int count, uint64_t seed) {
  for (int i = 0; i < count; i++) {
    struct kernel_gemm k = random_kernel(&seed);
    struct kernel_steps s = check_steps(1 + (int)random_below(&seed, 6),
                                        1 + (int)random_below(&seed, 2));
    struct arena *a = arena_open();
    struct diag d = {0};
    k.relu = false;
    if (check_fits(&k, &s) && kernel_gemm_steps(a, &k, &s, &d))
      run_steps(&k, &s, (enum check_data)(i % 3), 1, seed, 0);
    bool told = d.kind == DIAG_NONE || strstr(d.text, "repeat") ||
                strstr(d.text, "program memory") ||
                strstr(d.text, "tile has") ||
                strstr(d.text, "step registers") || strstr(d.text, "by lanes");
    CHECK(told);
    if (!told)
      fprintf(stderr, "%s\n", d.text);
    arena_close(a);
  }
}

/* Steps that repeat in a poor schedule only are left to calls. */
static void test_counted(void) {
  static const struct {
    int m, n;
    bool good;
  } block[] = {{48, 72, true}, {32, 72, true}, {36, 72, false}};
  for (size_t i = 0; i < COUNT(block); i++) {
    const struct kernel_gemm k = {.name = "gemm",
                                  .in0 = DTYPE_I8,
                                  .in1 = DTYPE_I8,
                                  .out = DTYPE_I32,
                                  .m = block[i].m,
                                  .n = block[i].n,
                                  .k = 104,
                                  .zero = true,
                                  .tall = true,
                                  .yields = true};
    const struct kernel_steps s = check_steps(0, 2);
    struct arena *a = arena_open();
    struct diag d = {0};
    int before;
    struct asm_program *p = kernel_gemm_counted(a, &k, &s, &before, &d);
    CHECK((p != NULL) == block[i].good);
    CHECK(p || strstr(d.text, "more than calls"));
    arena_close(a);
  }
}

static void test_refusals(void) {
  static const struct kernel_gemm bad[] = {
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 64, .k = 12, .n = 64},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 3, .k = 16, .n = 64},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 64, .k = 16, .n = 6},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 0, .k = 16, .n = 16},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 16, .k = -16, .n = 16},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 128, .k = 256, .n = 128},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 1 << 30, .k = 8, .n = 8},
      {"x", DTYPE_F32, DTYPE_F32, DTYPE_F32, .m = 64, .k = 104, .n = 64},
      {"x", DTYPE_F32, DTYPE_BF16, DTYPE_F32, .m = 16, .k = 16, .n = 16},
      {"x", DTYPE_F64, DTYPE_F64, DTYPE_F64, .m = 16, .k = 16, .n = 16},
      {"x", DTYPE_I8, DTYPE_I8, DTYPE_I32, .m = 8, .k = 8, .n = 8, .shift = 3},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, .m = 16, .k = 32, .n = 16,
       .bfp16 = true},
      {"x", DTYPE_I8, DTYPE_I8, DTYPE_I8, .m = 8, .k = 8, .n = 8, .shift = 40},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    CHECK(kernel_gemm(a, &bad[i], &d) == NULL);
    CHECK(d.kind == DIAG_ERROR && d.text[0]);
    arena_close(a);
  }
}

static int multiplies(const struct asm_line *l) {
  const struct insn *i =
      isa_insn(isa_find("aie2"), l->bundle.slot[SLOT_VEC].id);
  return l->kind == ASM_BUNDLE && i && i->flags & INSN_MAC;
}

/* The comments that name the phases stand right before the first multiply and
 * right behind the last one. */
static void check_phases(const struct asm_program *p) {
  int first = -1, last = -1, work = -1, drain = -1;
  for (int i = 0; i < p->count; i++) {
    const struct asm_line *l = &p->line[i];
    if (multiplies(l)) {
      first = first < 0 ? i : first;
      last = i;
    } else if (l->kind == ASM_COMMENT) {
      work = strncmp(l->text, "work:", 5) == 0 ? i : work;
      drain = strncmp(l->text, "drain:", 6) == 0 ? i : drain;
    }
  }
  CHECK(first > 0 && work == first - 1);
  CHECK(drain == last + 1);
}

/* Same input, same text; and what is printed assembles to the same bytes. */
static void test_text(void) {
  struct kernel_gemm k = {.name = "gemm",
                          .in0 = DTYPE_BF16,
                          .in1 = DTYPE_BF16,
                          .out = DTYPE_F32,
                          .m = 32,
                          .k = 256,
                          .n = 32};
  struct text text[2] = {{0}, {0}}, bytes[2] = {{0}, {0}};
  struct arena *a = arena_open();
  struct diag d = {0};
  for (int i = 0; i < 2; i++) {
    struct asm_program *p = kernel_gemm(a, &k, &d);
    CHECK(p != NULL);
    if (p)
      check_phases(p), asm_print(p, &text[i]);
  }
  CHECK(strcmp(text_string(&text[0]), text_string(&text[1])) == 0);
  struct asm_program *p[2] = {
      kernel_gemm(a, &k, &d),
      asm_parse(a, isa_find("aie2"), "gemm", text_string(&text[0]), &d)};
  for (int i = 0; i < 2; i++)
    CHECK(p[i] && asm_bytes(p[i], 0, NULL, 0, &bytes[i], &d));
  CHECK(bytes[0].length && bytes[0].length == bytes[1].length &&
        memcmp(bytes[0].data, bytes[1].data, bytes[0].length) == 0);
  if (d.kind != DIAG_NONE)
    diag_print(&d, stderr);
  for (int i = 0; i < 2; i++) {
    text_free(&text[i]);
    text_free(&bytes[i]);
  }
  arena_close(a);
}

/* Arguments: how many random kernels, from which seed. */
/* Beside a channel that writes B in runs of 8 bytes, of a bank's word of 32, a
 * product takes half as long again: as the array's simulator has it of these
 * blocks.  Runs of a word or more change nothing. */
static void test_short_runs(const struct isa *isa) {
  const struct kernel_gemm k = {.name = "product",
                                .isa = isa,
                                .in0 = DTYPE_I8,
                                .in1 = DTYPE_I8,
                                .out = DTYPE_I8,
                                .m = 72,
                                .k = 40,
                                .n = 128,
                                .ta = true,
                                .tb = true,
                                .tc = true,
                                .tall = true,
                                .yields = true};
  struct kernel_places places = {.group = 2,
                                 .a = {0xb4c0, 0},
                                 .b = {0xc000, 0xd400},
                                 .c = {0x4000, 0x6400}};
  const uint32_t run[] = {0, 32, 8};
  double cycles[COUNT(run)] = {0};
  struct arena *scratch = arena_open();
  struct diag d = {0};
  for (size_t i = 0; i < COUNT(run); i++) {
    places.run[1] = run[i];
    CHECK(kernel_gemm_loaded(scratch, &k, &places, &cycles[i], &d));
  }
  arena_close(scratch);
  CHECK(cycles[0] > 720 && cycles[0] < 740 && cycles[1] == cycles[0]);
  CHECK(cycles[2] > 970 && cycles[2] < 1070);
}

int main(int argc, char **argv) {
  static const struct {
    const char *isa;
    int least_types;
  } set[] = {{"aie2", 20}, {"aie2p", 15}};
  const struct isa *aie2p = isa_find("aie2p");
  test_named(NULL, named, COUNT(named));
  test_named(aie2p, named_aie2p, COUNT(named_aie2p));
  test_steps(NULL, in_steps, COUNT(in_steps));
  test_steps(aie2p, in_steps_aie2p, COUNT(in_steps_aie2p));
  test_blocks(12);
  test_short_runs(aie2p);
  test_counted();
  test_refusals();
  test_text();
  for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
    find_types(set[i].isa, set[i].least_types);
    test_types();
    test_random(argc > 1 ? atoi(argv[1]) : 40,
                argc > 2 ? (uint64_t)atoll(argv[2]) : 20);
    test_random_steps(argc > 1 ? atoi(argv[1]) : 30,
                      argc > 2 ? (uint64_t)atoll(argv[2]) : 7);
  }
  return check_result();
}
