/* What programs do on the core, and when: results of scalar and vector code,
 * read and write cycles (isa.md D1, D2), delay slots, the hardware loop, bank
 * conflicts and lock stalls (timing.md 3 and 6, CAL-6 and CAL-12). */
#include "core_machine.h"

#include "check.h"

/* A text, and the value of one register after it. */
struct program {
  const char *text;
  const char *reg;
  uint32_t want;
};

#define NOP5 "nop\nnop\nnop\nnop\nnop\n"

static void programs(const struct program *p, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    char text[4096];
    snprintf(text, sizeof text, "%s\ndone\n", p[i].text);
    struct machine *m = machine_open(text);
    CHECK(m);
    if (!m)
      continue;
    CHECK(machine_run(m, 10000));
    uint32_t got = machine_reg(m, p[i].reg);
    if (got != p[i].want)
      fprintf(stderr, "%s\n%s is 0x%x, not 0x%x\n", p[i].text, p[i].reg, got,
              p[i].want);
    CHECK(got == p[i].want);
    machine_close(m);
  }
}
#define PROGRAMS(table) programs(table, sizeof table / sizeof table[0])

static const struct program scalar[] = {
    {"movx r0, #5; mova r1, #-7\nadd r2, r0, r1", "r2", -2u},
    {"movx r0, #5; mova r1, #-7\nsub r2, r0, r1", "r2", 12},
    {"movx r0, #5\nmovx r1, #3\nand r2, r0, r1", "r2", 1},
    {"movx r0, #-1\nadd r1, r0, #1\nmovx r2,#0\nadc r3, r2, r2", "r3", 1},
    {"movx r0, #-1\nadd r1, r0, #1\nadc r3, r1, r1", "r3", 1},
    {"movx r0, #3\nmovx r1, #5\nsub r2, r0, r1\nsbc r3, r1, r0", "r3", 1},
    {"movx r0, #-8\nmovx r1, #-2\nashl r2, r0, r1", "r2", -2u},
    {"movx r0, #-8\nmovx r1, #-2\nlshl r2, r0, r1", "r2", 0x3FFFFFFE},
    {"movx r0, #3\nmovx r1, #4\nlshl r2, r0, r1", "r2", 48},
    {"movx r0, #1\nclz r2, r0", "r2", 31},
    {"movx r0, #-1\nclb r2, r0", "r2", 32},
    {"movx r0, #-5\nabs r2, r0", "r2", 5},
    {"movxm r0, #0x12385\nextend.s8 r2, r0", "r2", 0xFFFFFF85},
    {"movxm r0, #0x12385\nextend.u16 r2, r0", "r2", 0x2385},
    {"movx r0, #-1\nmovx r1, #1\nlt r2, r0, r1", "r2", 1},
    {"movx r0, #-1\nmovx r1, #1\nltu r2, r0, r1", "r2", 0},
    {"movx r0, #4\nmovx r1, #9\nmovx r27, #0\nsel.eqz r2, r0, r1, r27", "r2",
     4},
    {"movx r0, #4\nmovx r1, #9\nmovx r27, #0\nsel.nez r2, r0, r1, r27", "r2",
     9},
    {"movxm p3, #0x71234\nmov r1, p3", "r1", 0x71234},
    {"mova m1, #-32\nmov p0, #64\npadda [p0], m1\nmov r0, p0", "r0", 32},
    {"movx r0, #9\nadd.nc r1, r0, #-2", "r1", 7},
    {"movx r0, #12\nmovx crRnd, r0\nmov r1, crRnd", "r1", 12},
    /* mul and the delayed moves: too early a reader sees the old value */
    {"movx r0, #5; mova r1, #7\nmul r2, r0, r1\nadd r3, r2, #0", "r3", 0},
    {"movx r0, #5; mova r1, #7\nmul r2, r0, r1\nnop\nadd r3, r2, #0", "r3", 35},
    {"movx r0, #5\nmov.d3 r2, r0\nnop\nnop\nadd r3, r2, #0", "r3", 0},
    {"movx r0, #5\nmov.d3 r2, r0\nnop\nnop\nnop\nadd r3, r2, #0", "r3", 5},
    /* an instruction in the bundle of a writer sees the old value */
    {"movx r0, #1\nmovx r0, #2; mov r1, r0", "r1", 1},
};

static const struct program control[] = {
    /* all five delay slots run, the sixth bundle does not */
    {"j #over\nmovx r1, #1\nadd r1, r1, #1\nadd r1, r1, #1\nadd r1, r1, #1\n"
     "add r1, r1, #1\nadd r1, r1, #16\n.p2align 4\nover: nop",
     "r1", 5},
    {"movx r0, #0\njnz r0, #over\n" NOP5 "movx r1, #7\n.p2align 4\nover: nop",
     "r1", 7},
    {"movx r0, #3\n.p2align 4\nloop: add r0, r0, #-1\njnz r0, #loop\n"
     "add r1, r1, #1\nnop\nnop\nnop\nnop",
     "r1", 3}, /* the slots also run when it falls through */
    {"mova r0, #3; movxm p0, #loop\n.p2align 4\nloop: jnzd r0, r0, p0\n"
     "add r1, r1, #1\nnop\nnop\nnop\nnop",
     "r1", 4}, /* the test is on the value before */
    {"jl #f\n" NOP5 "add r1, r1, #50\nj #end\n" NOP5
     ".p2align 4\nf: movx r1, #1\nret lr\n" NOP5 ".p2align 4\nend: nop",
     "r1", 51},
    {"movxm ls, #first; mova lc, #10\nmovxm le, #last\n" NOP5 NOP5 NOP5 NOP5
         NOP5 NOP5 NOP5 NOP5 NOP5 NOP5 NOP5
     "nop\n.p2align 4\nfirst: add r1, r1, #1\n.p2align 4\n"
     "last: nopb; nopa; nops; add r2, r2, #3; nopm; nopv\nadd r3, r2, r1",
     "r3", 40},
};

static const struct program memory[] = {
    /* a load is seen seven bundles later, and not six */
    {"movxm p0, #0x70000; mova r1, #9\nst r1, [p0, #0]\nlda r2, [p0, #0]\n" NOP5
     "add r3, r2, #0",
     "r3", 0},
    {"movxm p0, #0x70000; mova r1, #9\nst r1, [p0, #0]\nlda r2, [p0, #0]\n" NOP5
     "nop\nadd r3, r2, #0",
     "r3", 9},
    /* a store and a load in one bundle meet in one memory cycle */
    {"movxm p0, #0x70000; mova r1, #9\nst r1, [p0, #0]; lda r2, [p0, #0]\n" NOP5
     "nop\nadd r3, r2, #0",
     "r3", 0},
    {"movxm p0, #0x70000; mova r1, #-2\nst r1, [p0, #0]\nlda.u8 r2, [p0, "
     "#1]\n" NOP5 "nop",
     "r2", 0xFF},
    {"movxm p0, #0x70000; mova r1, #-2\nst r1, [p0, #0]\nlda.s16 r2, [p0, "
     "#0]\n" NOP5 "nop",
     "r2", -2u},
    /* part-word stores: data read in 7, written in 11 */
    {"movxm p0, #0x70000; mova r1, #0x55\nst.s8 r1, [p0, #1]\n" NOP5
     "nop\nlda r2, [p0, #0]\n" NOP5 "nop",
     "r2", 0x5500},
    {"movxm p0, #0x70000; mova r1, #0x55\nst.s8 r1, [p0, #1]\n" NOP5
     "lda r2, [p0, #0]\n" NOP5 "nop",
     "r2", 0},
    {"movxm p0, #0x70000; mova r1, #0x55\nst.s8 r1, [p0, #0]\n" NOP5
     "mova r1, #0x66\nlda r2, [p0, #0]\n" NOP5 "nop",
     "r2", 0x55},
    {"movxm p0, #0x70000; mova r1, #0x55\nst.s8 r1, [p0, "
     "#0]\nnop\nnop\nnop\nnop\n"
     "mova r1, #0x66\nnop\nlda r2, [p0, #0]\n" NOP5 "nop",
     "r2", 0x66},
    /* pointer updates */
    {"movxm p0, #0x70000; mova m0, #12\nlda r0, [p0], m0\nmov r1, p0", "r1",
     0x7000C},
    {"movxm p0, #0x70000\nlda r0, [p0], #-4\nmov r1, p0", "r1", 0x6FFFC},
    {"movxm p0, #0x70000; mova m0, #100\nmova dn0, #2\nmova dj0, #4\n"
     "mova dc0, #0\npadda.2d [p0], d0\npadda.2d [p0], d0\npadda.2d [p0], d0\n"
     "mov r1, p0",
     "r1", 0x7006C},
    {"movxm p0, #0x70000; mova m0, #1000\nmova dn0, #1\nmova dj0, #4\n"
     "mova dc0, #0\nmova dn4, #1\nmova dj4, #100\nmova dc4, #0\n"
     "padda.3d [p0], d0\npadda.3d [p0], d0\npadda.3d [p0], d0\n"
     "padda.3d [p0], d0\nmov r1, p0",
     "r1", 0x70000 + 4 + 100 + 4 + 1000},
    {"movxm sp, #0x70040; mova r1, #3\nst r1, [sp, #-8]\nlda r2, [sp, #-8]\n"
     "paddb [sp], #-32\nnop\nnop\nnop\nnop\nmov r3, sp",
     "r3", 0x70020},
};

static const struct program vector[] = {
    {"movx r0, #0x77\nvbcst.8 x2, r0\nnop\nmovx r16, #63\n"
     "vextract.s8 r1, x2, r16\nnop",
     "r1", 0x77},
    /* between mv-slot vector operations the result is there at once */
    {"movx r0, #1; mova r16, #2\nvbcst.32 x2, r0\nvadd.32 x3, x2, x2\n"
     "vextract.s32 r1, x3, r16\nnop",
     "r1", 2},
    {"movx r0, #5; mova r16, #0\nvbcst.32 x0, r0\nvpush.lo.32 x1, r0, x0\n"
     "movx r0, #6\nvpush.lo.32 x1, r0, x0\nvextract.s32 r1, x1, r16\nnop",
     "r1", 6},
    /* what a push moves is its own operand */
    {"movx r0, #5; mova r16, #1\nvbcst.32 x2, r0\nmovx r0, #6\n"
     "vpush.lo.32 x1, r0, x2\nvextract.s32 r1, x1, r16\nnop",
     "r1", 5},
    {"mova r0, #4\nvbcst.16 x0, r0\nmova r0, #9\nvbcst.16 x1, r0\n"
     "nop\nvmax_lt.s16 x2, r16, x0, x1\nnop\nnop",
     "r16", UINT32_MAX},
    {"mova r0, #4\nvbcst.16 x0, r0\nmova r0, #9\nvbcst.16 x1, r0\n"
     "mova r17, #0\nvmin_ge.s16 x2, r16, x0, x1\nvextract.s16 r1, x2, r17\n"
     "nop",
     "r1", 4},
    {"mova r0, #-4\nvbcst.8 x0, r0\nvge.s8 r19:r18, x0, x0\nnop", "r19",
     UINT32_MAX},
    /* accumulators: up, arithmetic, down */
    {"mova r0, #100; mov s0, #2\nvbcst.16 x0, r0\nmova r1, #1; mov s1, #1\n"
     "vups.s32.s16 bml0, wl0, s0\nmovx crSat, r1\nnop\n"
     "vsrs.s16.s32 wl2, bml0, s1\nmova r16, #3\nnop\nnop\n"
     "vextract.s16 r2, x2, r16\nnop",
     "r2", 200},
    {"mova r0, #100; mov s0, #2\nvbcst.16 x0, r0\nmova r1, #1; mov s1, #1\n"
     "vups.s32.s16 cm0, x0, s0\nmovx crSat, r1\nnop\n"
     "vadd cm0, cm0, cm0, r31\nvadd cm0, cm0, cm0, r31\nnop\n"
     "vadd cm0, cm0, cm0, r31\n" NOP5
     "vsrs.s16.s32 wl2, bml0, s1\nmova r16, #3\nnop\nnop\n"
     "vextract.s16 r2, x2, r16\nnop",
     "r2", 800}, /* the second vadd is one bundle too early, the third not */
};

/* ---- time ---- */

static struct core_counts counts_of(const char *text) {
  struct machine *m = machine_open(text);
  struct core_counts counts = {0};
  CHECK(m && machine_run(m, 100000));
  if (m)
    counts = *core_counts(m->core);
  machine_close(m);
  return counts;
}

/* CAL-12: 24 cycles around a loop of 1000 x 9. */
static void loop_cycles(void) {
  struct text t = {0};
  text_puts(&t, "movxm ls, #first\nmovxm le, #last\nmovxm lc, #1000\n");
  for (int i = 0; i < 19; ++i)
    text_puts(&t, "nopa; nopx; nopm; nopv\n");
  text_puts(&t, ".p2align 4\nfirst:\n");
  for (int i = 0; i < 8; ++i)
    text_puts(&t, "nop\n");
  text_puts(&t, ".p2align 4\nlast: nopb; nopa; nops; nopx; nopm; nopv\n"
                "nop\ndone\n");
  struct core_counts counts = counts_of(text_string(&t));
  /* Alignment widens bundles, it adds none. */
  CHECK(counts.bundles == 9024 && counts.cycles == 9024);
  text_free(&t);
}

/* CAL-6: out[i] = in[i] + 1 with a load and a store of one bank per bundle. */
static void bank_cycles(void) {
  struct text t = {0};
  text_puts(&t, "movxm p0, #0x70000\nmovxm p1, #0x70400\n");
  for (int i = 0; i < 24; ++i)
    text_puts(&t, "lda r1, [p0], #4; st r2, [p1], #4; add r2, r1, #1\n");
  text_puts(&t, NOP5 NOP5 "done\n");
  struct core_counts counts = counts_of(text_string(&t));
  CHECK(counts.stall[STALL_MEMORY] == 24);
  CHECK(counts.cycles == counts.bundles + 24);
  text_free(&t);
}

static const struct {
  const char *text;
  uint64_t stalls;
} banks[] = {
    /* 32 bytes take both halves of a 16 KB bank */
    {"vlda wl0, [p0, #0]; vldb wl1, [p1, #0]", 1},
    {"vlda wl0, [p0, #0]; vldb wl1, [p2, #0]", 0},
    {"vlda wl0, [p0, #0]; vldb wl1, [p1, #0]; vst wl2, [p0, #64]", 2},
    {"vlda wl0, [p0, #0]; vldb wl1, [p2, #0]; vst wl2, [p3, #0]", 0},
    /* scalars take one half */
    {"lda r0, [p0, #0]; st r1, [p0, #16]", 0},
    {"lda r0, [p0, #0]; st r1, [p0, #32]", 1},
    /* what counts is the memory cycle: 5 of a load, 7 of vst.conv */
    {"vst.conv.bf16.fp32 bml0, [p0, #0]; vldb wl0, [p1, #0]", 0},
    {"vst.conv.bf16.fp32 bml0, [p0, #0]\nnop\nvldb wl0, [p1, #0]", 1},
};

static void bank_conflicts(void) {
  for (size_t i = 0; i < sizeof banks / sizeof banks[0]; ++i) {
    char text[512];
    snprintf(text, sizeof text,
             "movxm p0, #0x70000\nmovxm p1, #0x70200\nmovxm p2, #0x74000\n"
             "movxm p3, #0x78000\n%s\n" NOP5 NOP5 "done\n",
             banks[i].text);
    struct core_counts counts = counts_of(text);
    CHECK(counts.stall[STALL_MEMORY] == banks[i].stalls);
  }
}

/* The set of banks that each cycle reports. */
static void bank_report(void) {
  struct machine *m = machine_open("movxm p2, #0x74000\nvldb wl0, [p2, #0]\n"
                                   "lda r0, [p2, #16]\n" NOP5 NOP5 "done\n");
  unsigned set, seen[16] = {0};
  CHECK(m);
  for (int i = 0; m && i < 12; ++i)
    core_step(m->core, &seen[i]);
  set = seen[5]; /* issued in the second cycle, access in its fifth */
  CHECK(set == 0xC);
  CHECK(seen[6] == 0x8);
  CHECK(seen[4] == 0 && seen[7] == 0);
  machine_close(m);
}

static void locks(void) {
  static const char text[] = "mova r0, #-1\nmova r1, #1\nacq #49, r0\n" NOP5
                             "rel #50, r1\n" NOP5 "done\n";
  for (int refusals = 0; refusals < 4; ++refusals) {
    struct machine *m = machine_open(text);
    CHECK(m);
    if (!m)
      return;
    m->lock[49] = 1;
    m->refusals = refusals;
    CHECK(machine_run(m, 100));
    const struct core_counts *n = core_counts(m->core);
    CHECK(m->lock[49] == 0 && m->lock[50] == 1 && m->releases == 1);
    /* one cycle of its own for each lock operation, and the waiting */
    CHECK(n->stall[STALL_LOCK] == 2u + (unsigned)refusals);
    CHECK(n->cycles == n->bundles + n->stall[STALL_LOCK]);
    machine_close(m);
  }
  struct machine *m = machine_open(text);
  unsigned banks_used;
  for (int i = 0; m && i < 50; ++i)
    core_step(m->core, &banks_used);
  CHECK(m && core_state(m->core) == CORE_RUNNING);
  CHECK(m && core_stalled(m->core) == STALL_LOCK);
  CHECK(m && core_waiting_lock(m->core) == 49);
  if (m)
    m->lock[49] = 1;
  CHECK(m && machine_run(m, 100) && core_waiting_lock(m->core) == -1);
  machine_close(m);
}

/* A store is in memory before a release four bundles later. */
static void release_order(void) {
  struct machine *m = machine_open(
      "movxm p0, #0x70000; mova r1, #77\nst r1, [p0, #0]\nnop\nnop\n"
      "nop\nrel #48, r1\n" NOP5 NOP5 "done\n");
  unsigned banks_used;
  CHECK(m);
  for (int i = 0; m && i < 50 && !m->releases; ++i)
    core_step(m->core, &banks_used);
  CHECK(m && m->releases == 1 && m->memory[0] == 77);
  machine_close(m);
}

/* ---- multiplies, through memory ---- */

/* Loads A to x0, B to x1 and an accumulator, multiplies, stores. */
static void multiply(bool floats) {
  static const char load[] =
      "movxm p0, #0x70000\nmovxm p1, #0x74000\nmovxm p2, #0x78000\n"
      "vlda wl0, [p0], #32; vldb wl1, [p1], #32\n"
      "vlda wh0, [p0], #32; vldb wh1, [p1], #32\n"
      "vlda amll0, [p2], #32\nvlda amlh0, [p2], #32\nvlda amhl0, [p2], #32\n"
      "vlda amhh0, [p2], #32\n";
  static const char store[] = NOP5
      "nop\nvst amll0, [p2], #32\nvst amlh0, [p2], #32\nvst amhl0, [p2], #32\n"
      "vst amhh0, [p2], #32\n" NOP5 "done\n";
  char text[2048];
  snprintf(text, sizeof text, "%s%s" NOP5 "nop\n%s%s", load,
           floats ? "mova r0, #28\n" : "movxm r0, #776\n",
           floats ? "vmac.f bml0, bml0, x0, x1, r0\n"
                  : "vmac cm0, cm0, x0, x1, r0\n",
           store);
  struct machine *m = machine_open(text);
  CHECK(m);
  if (!m)
    return;
  unsigned seed = 11;
  float a[32], b[32], acc[16];
  for (int i = 0; i < 32; ++i) {
    a[i] = (float)(rand_r(&seed) % 16 - 8);
    b[i] = (float)(rand_r(&seed) % 16 - 8);
    uint16_t h = bf16_from_f32(a[i]);
    memcpy(m->memory + 2 * i, &h, 2);
    h = bf16_from_f32(b[i]);
    memcpy(m->memory + 0x4000 + 2 * i, &h, 2);
  }
  for (int i = 0; i < 16; ++i) {
    acc[i] = (float)i;
    memcpy(m->memory + 0x8000 + 4 * i, &acc[i], 4);
  }
  if (!floats)
    for (int i = 0; i < 64; ++i)
      m->memory[i] = m->memory[0x4000 + i] = (uint8_t)(i * 7);
  CHECK(machine_run(m, 200));
  CHECK(core_counts(m->core)->macs == 1);
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < (floats ? 4 : 8); ++c) {
      int lane = r * (floats ? 4 : 8) + c;
      const uint8_t *out = m->memory + 0x8080 + 4 * lane;
      if (floats) {
        float want = acc[lane], got;
        for (int k = 0; k < 8; ++k)
          want += a[8 * r + k] * b[4 * k + c];
        memcpy(&got, out, 4);
        CHECK(got == want);
      } else {
        int32_t want = 0, got;
        if (lane < 16)
          memcpy(&want, &acc[lane], 4);
        for (int k = 0; k < 8; ++k)
          want += (int8_t)((8 * r + k) * 7) * (int8_t)((8 * k + c) * 7);
        memcpy(&got, out, 4);
        CHECK(got == want);
      }
    }
  machine_close(m);
}

/* acc is read in cycle 3 and written in cycle 6 of vmac.f: with `gap` bundles
 * between two of them the second adds to the first only from 3 on. */
static void accumulate_distance(void) {
  for (int gap = 0; gap < 6; ++gap) {
    struct text t = {0};
    text_puts(&t, "mova r0, #28; movxm r1, #0x3f80\nvbcst.16 x0, r1\n"
                  "movxm p0, #0x70000\nvmac.f bml0, bml0, x0, x0, r0\n");
    for (int i = 0; i < gap; ++i)
      text_puts(&t, "nop\n");
    text_puts(&t, "vmac.f bml0, bml0, x0, x0, r0\n" NOP5
                  "vst amll0, [p0, #0]\n" NOP5 "done\n");
    struct machine *m = machine_open(text_string(&t));
    float got = -1;
    CHECK(m && machine_run(m, 100));
    if (m)
      memcpy(&got, m->memory, 4);
    CHECK(got == (gap >= 3 ? 16.0f : 8.0f));
    machine_close(m);
    text_free(&t);
  }
}

/* ---- what a core refuses ---- */

static const struct {
  const char *text, *says;
} refused[] = {
    {"movxm p0, #0x10000\nlda r0, [p0, #0]\n" NOP5, "no data memory"},
    {"movxm p0, #0x50000\nlda r0, [p0, #0]\n" NOP5, "no data memory"},
    {"j #0\nj #0\n" NOP5, "delay slot"},
    {"mova r0, #99\nvshuffle x0, x1, x2, r0\n", "no mode 99"},
    {"mova r0, #4\nmovx crRnd, r0\nvst.conv.bf16.fp32 bml0, [p0, #0]\n",
     "reserved rounding"},
    {"movxm r0, #0x400\nvmac cm0, cm0, x0, x1, r0\n", "shift16"},
    {"movxm r0, #0xC8\nvmac cm0, cm0, x0, x1, r0\n", "no integer multiply"},
    {"vldb.sparse.pop.8 qwl0, [p0]\n", "not known"},
    {"movxm p0, #0x40000\nj p0\n" NOP5, "no program address"},
    {".byte 0x3c, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff\n", "no bundle"},
};

static void refusals(void) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
    struct machine *m = machine_open(refused[i].text);
    unsigned banks_used;
    CHECK(m);
    for (int k = 0; m && k < 100 && core_state(m->core) == CORE_RUNNING; ++k)
      core_step(m->core, &banks_used);
    CHECK(m && core_state(m->core) == CORE_FAILED);
    bool says = m && strstr(core_diag(m->core)->text, refused[i].says);
    if (m && !says)
      fprintf(stderr, "says '%s', not '%s'\n", core_diag(m->core)->text,
              refused[i].says);
    CHECK(says);
    machine_close(m);
  }
}

/* Another program in the same memory, after an invalidate and a reset. */
static void reload(void) {
  struct machine *m = machine_open("movx r0, #1\ndone\n");
  struct machine *other = machine_open("movx r0, #2\ndone\n");
  CHECK(m && other && machine_run(m, 30));
  if (m && other) {
    memcpy(m->program, other->program, sizeof m->program);
    core_invalidate(m->core);
    core_reset(m->core, 0);
    CHECK(machine_run(m, 30) && machine_reg(m, "r0") == 2);
    core_enable(m->core, false);
    core_reset(m->core, 0);
    CHECK(core_state(m->core) == CORE_STOPPED);
  }
  machine_close(m);
  machine_close(other);
}

int main(void) {
  PROGRAMS(scalar);
  PROGRAMS(control);
  PROGRAMS(memory);
  PROGRAMS(vector);
  loop_cycles();
  bank_cycles();
  bank_conflicts();
  bank_report();
  locks();
  release_order();
  multiply(true);
  multiply(false);
  accumulate_distance();
  refusals();
  reload();
  return check_result();
}
