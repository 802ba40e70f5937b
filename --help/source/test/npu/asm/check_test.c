/* check_test.c -- the hazard checker: for every rule a text that breaks it and
 * the closest one that keeps it. */
#include "asm.h"
#include "check.h"

#include <string.h>

/* NULL: the text keeps all rules; else a piece of the message. */
static void expect_of(const char *isa, const char *text, const char *message,
                      int line) {
  struct arena *a = arena_open();
  struct diag d = {DIAG_NONE, loc_none(), ""};
  struct asm_program *p = asm_parse(a, isa_find(isa), "t.s", text, &d);
  CHECK(p != NULL);
  bool good = p && asm_check(p, &d);
  bool same =
      message ? !good && strstr(d.text, message) && d.at.line == line : good;
  CHECK(same);
  if (!same)
    fprintf(stderr, "--\n%s\nexpected %s, got line %d: %s\n", text,
            message ? message : "no error", d.at.line, d.text);
  arena_close(a);
}

static void expect(const char *text, const char *message, int line) {
  expect_of("aie2", text, message, line);
}

/* A read of the old value, which only the strict check complains about. */
static void test_strict(void) {
  static const char text[] = "lda r0, [p0, #0]\nadd r1, r0, r2\nnop\nnop\nnop\n"
                             "nop\nnop\nadd r1, r0, r1\nret lr\nnop\nnop\n"
                             "nop\nnop\nnop\n";
  struct arena *a = arena_open();
  struct diag d = {DIAG_NONE, loc_none(), ""};
  struct asm_program *p = asm_parse(a, isa_find("aie2"), "t.s", text, &d);
  CHECK(p && asm_check(p, &d));
  CHECK(p && !asm_check_strict(p, &d) && d.at.line == 2 &&
        strstr(d.text, "reads r0 1 bundle behind"));
  arena_close(a);
}

#define NOPS2 "nop\nnop\n"
#define NOPS3 NOPS2 "nop\n"
#define NOPS4 NOPS3 "nop\n"
#define NOPS5 NOPS4 "nop\n"
#define NOPS6 NOPS5 "nop\n"
#define RET "ret lr\n" NOPS5
#define FULL "nopa; nopb; nops; nopxm; nopv\n"
#define FULL6 FULL FULL FULL FULL FULL FULL

static void test_early_reads(void) {
  expect("lda r0, [p0, #0]\nadd r1, r0, r2\n" RET, "needs 7", 2);
  expect("lda r0, [p0, #0]\n" NOPS5 "add r1, r0, r2\n" RET, "6 bundles behind",
         7);
  expect("lda r0, [p0, #0]\n" NOPS6 "add r1, r0, r2\n" RET, NULL, 0);
  /* the old value may be read while the new one is on its way */
  expect("lda r0, [p0, #0]\nadd r1, r0, r2\n" NOPS5 "add r1, r0, r1\n" RET,
         NULL, 0);
  /* but a vector register without any other writer has no old value */
  expect("vlda wl0, [p0, #0]\nvst wl0, [p1, #0]\n" NOPS6
         "vst wl0, [p1, #32]\n" RET,
         "reads wl0 1 bundle behind", 2);
  expect("vlda wl0, [p0, #0]\n" NOPS6 "vst wl0, [p1, #0]\n" RET, NULL, 0);
  /* views: x0 is wl0 and wh0, cm0 holds bml0 */
  expect("vlda wh0, [p0, #0]\n" NOPS5 "vshuffle x2, x0, x0, r0\n" RET,
         "reads wh0", 7);
  expect("vmac.f bml0, bml1, x0, x1, r0\n" NOPS4 "vst amlh0, [p0, #0]\n" RET,
         "reads amlh0 5 bundles behind", 6);
  expect("vmac.f bml0, bml1, x0, x1, r0\n" NOPS5 "vst amlh0, [p0, #0]\n" RET,
         NULL, 0);
  expect("vmac.f bml0, bml1, x0, x1, r0\n" NOPS2
         "vmac.f bml0, bml0, x0, x1, r0\n" RET,
         "needs 4", 4);
  expect("vmac.f bml0, bml1, x0, x1, r0\n" NOPS3
         "vmac.f bml0, bml0, x0, x1, r0\n" RET,
         NULL, 0);
  expect("mul r1, r2, r3\nadd.nc r4, r1, #1\n" RET, "needs 2", 2);
  expect("vshuffle x0, x2, x3, r0\nvshuffle x1, x0, x3, r0\n" RET, NULL, 0);
  expect("vshuffle x0, x2, x3, r0\nvmul.f bml0, x0, x3, r0\n" RET, "needs 2",
         2);
  /* 2-D counters are read and written; m, dn and dj are not written */
  expect("vlda.2d wl0, [p0], d1\nvlda.2d wl1, [p1], d1\nmov m1, r0\n" RET, NULL,
         0);
}

static void test_late_reads(void) {
  /* st.s8 reads its data in cycle 7 */
  expect("mova r0, #1\nst.s8 r0, [p0, #0]\nmova r0, #2\n" NOPS6 NOPS6
         "add r1, r0, r0\n" RET,
         "so late", 2);
  /* vadd.f reads an accumulator in cycle 3, when the move beside it is done */
  expect("vmov bml4, x4; vadd.f bml0, bml0, bml4, r5\n" NOPS6
         "vmov bml4, x5; vadd.f bml1, bml1, bml4, r5\n" NOPS6
         "vst amll1, [p0, #0]\n" RET,
         NULL, 0);
  expect("vmov bml4, x4\nvmov bml4, x5; vadd.f bml0, bml0, bml4, r5\n" NOPS6
         "vst amll0, [p0, #0]\n" RET,
         "so late", 2);
  expect("mova r0, #1\nst.s8 r0, [p0, #0]\n" NOPS6 "mova r0, #2\n" NOPS6
         "add r1, r0, r0\n" RET,
         NULL, 0);
}

static void test_write_order(void) {
  expect("lda r0, [p0, #0]\nmov r0, #1\n" RET, "before the earlier", 2);
  expect("lda r0, [p0, #0]\n" NOPS5 "mov r0, #1\n" RET, "in the same cycle", 7);
  expect("lda r0, [p0, #0]\n" NOPS6 "mov r0, #1\n" RET, NULL, 0);
  expect("movx r0, #1; mov r0, #2\n" RET, "in the same cycle", 1);
  expect("vlda wl0, [p0], #32; vldb wl1, [p0], #32\n" RET, "writes p0", 1);
}

static void test_units(void) {
  expect("mul r1, r2, r3\nadd r4, r5, r6\n" RET, "r write port X", 2);
  expect("mul r1, r2, r3\nnop\nadd r4, r5, r6\n" RET, NULL, 0);
  expect("st r1, [p0, #0]; vmac.f bml0, bml0, x0, x1, r0\n" RET,
         "r read port V", 1);
  expect("lda r1, [p0, #0]\n" NOPS5 "mova r2, #0\n" RET, "r write port A", 7);
  expect("vmac.f bml0, bml0, x0, x1, r0\nvmac cm4, cm4, x0, x1, r0\n" RET,
         "cm write port A", 2);
  expect("st.s8 r1, [p0, #0]\nvldb wl0, [p1, #0]\n" RET,
         "part-word store window", 2);
  expect("acq #48, r0\nacq #49, r0\n" RET, "semaphore", 2);
}

static void test_branches(void) {
  expect("ret lr\nnop\nnop\n", "five bundles", 1);
  expect("x: j #x\nnop\nj #x\n" NOPS5, "delay slot", 3);
  expect("x: j #x\n" NOPS5, NULL, 0);
  expect(".autoalign 0\nnop\nx: nop\nj #x\n" NOPS5, "the target of j #x", 3);
  expect(".autoalign 0\n.p2align 4\nx: jl #x\n" NOPS4
         "nop\n.byte 1, 0\nnop\n" RET,
         "return address", 10);
  /* hazards are followed across a jump backwards */
  expect("x: add.nc r2, r1, #1\nmova r1, #0\nj #x\n" NOPS4 "mul r1, r3, r3\n",
         "needs 2", 1);
  expect("x: nop\nadd.nc r2, r1, #1\nmova r1, #0\nj #x\n" NOPS4
         "mul r1, r3, r3\n",
         NULL, 0);
  /* the value that this read misses is read by the next round */
  expect("x: add r2, r1, r2\nj #x\n" NOPS4 "lda r1, [p0, #0]\n", NULL, 0);
  expect("x: j #x\nlda r1, [p0, #0]\n" NOPS4 "add r2, r1, r2\n", NULL, 0);
  /* only one side of a branch reads too early, or too late */
  expect("jnz r0, #t\n" NOPS4 "vlda wl0, [p0, #0]\n" RET
         "t: vst wl0, [p1, #0]\n" RET,
         "reads wl0 1 bundle behind", 13);
  expect("jnz r0, #t\n" NOPS4 "vlda wl0, [p0, #0]\nvst wl0, [p1, #0]\n" RET
         "t: nop\n" RET,
         "reads wl0 1 bundle behind", 7);
  expect("jnz r0, #t\n" NOPS4 "vlda wl0, [p0, #0]\n" RET "t: " NOPS6
         "vst wl0, [p1, #0]\n" RET,
         NULL, 0);
  /* what a caller or callee does is not known: no complaint */
  expect("lda r1, [p0, #0]\njl #x\n" NOPS5 "x: add r1, r1, r1\n" RET, NULL, 0);
}

#define LOOP(setup, body)                                                      \
  "movxm ls, #s\nmovxm le, #e\n" setup "s: " body                              \
  "e: nopa; nopb; nops; nopxm; nopv\n" RET

static void test_loops(void) {
  expect(LOOP("mova lc, #4\n" FULL6 FULL, FULL), NULL, 0);
  expect(LOOP("mova lc, #4\n", FULL6 FULL), NULL, 0);
  expect(LOOP("mova lc, #4\n", FULL), "behind its setup", 5);
  expect(LOOP("", FULL6 FULL), "without a write to lc", 10);
  expect(LOOP("mova lc, #4\n", "j #t\n" FULL6 FULL "t: nop\n"),
         "inside a hardware loop", 4);
  expect(LOOP("mova lc, #4\njz r0, #t\nnop\nnop\n", FULL6 FULL "t: nop\n"),
         "reach into", 4);
  expect(LOOP("mova lc, #4\n", "mova lc, #5\n" FULL6 FULL), "changes lc", 4);
  expect("movxm ls, #s\nmovxm le, #e\nmova lc, #4\ns: " FULL6 FULL
         "e: st.s8 r0, [p0, #0]\n" RET,
         "store is lost", 11);
  expect(
      ".autoalign 0\nmovxm ls, #s\nmovxm le, #e\nmova lc, #4\nnop\n" FULL6 FULL
      "s: nop\ne: nop\n" RET,
      "first bundle of a hardware loop at 0x", 13);
  expect(".autoalign 0\nmovxm ls, #s\nmovxm le, #e\nmova lc, #4\n" FULL6 FULL
         ".p2align 4\ns: nop\ne: nop\n" RET,
         "last bundle of a hardware loop has 2 bytes", 14);
  /* across the back edge: read in the first bundle, written in the last */
  expect("movxm ls, #s\nmovxm le, #e\nmova lc, #4\n"
         "s: vst wl0, [p1], #32\n" FULL6 "e: vlda wl0, [p0], #32\n" RET,
         "needs 7", 4);
  expect("movxm ls, #s\nmovxm le, #e\nmova lc, #4\n"
         "s: vlda wl0, [p0], #32\n" FULL6 "e: vst wl0, [p1], #32\n" RET,
         NULL, 0);
  expect("movxm ls, #s\nmovxm le, #e\nmova lc, #4\n"
         "s: add r4, r5, r6\n" FULL6 "e: mul r1, r2, r3\n" RET,
         "r write port X", 4);
}

static void test_memory_order(void) {
  expect("vst wl0, [p0, #0]\n" NOPS2 "rel #48, r1\n" RET,
         "memory order needs 4", 4);
  expect("vst wl0, [p0, #0]\n" NOPS3 "rel #48, r1\n" RET, NULL, 0);
  expect(".lockorder 0\nvst wl0, [p0, #0]\nrel #48, r1\n" RET, NULL, 0);
  expect("vst.conv.bf16.fp32 bml0, [p0, #0]\n" NOPS4 "rel #48, r1\n" RET,
         "needs 6", 6);
  expect("acq #48, r0\nnop\nvlda wl0, [p0, #0]\n" RET, "needs 4", 3);
  expect("acq #48, r0\n" NOPS3 "vlda wl0, [p0, #0]\n" RET, NULL, 0);
  expect("acq #48, r0\nnop\nvst.conv.bf16.fp32 bml0, [p0, #0]\n" RET, NULL, 0);
  expect("acq #48, r0\nvst.conv.bf16.fp32 bml0, [p0, #0]\n" RET, "needs 2", 2);
  /* a converting store reaches memory two cycles later than others */
  expect("vst.conv.bf16.fp32 bml0, [p0, #32]\nnop\nvlda wl0, [p0, #32]\n" RET,
         "needs 3", 3);
  expect(
      "vst.conv.bf16.fp32 bml0, [p0, #32]\nnop\nnop\nvlda wl0, [p0, #32]\n" RET,
      NULL, 0);
  expect("vst.conv.bf16.fp32 bml0, [p0, #32]\nnop\nvlda wl0, [p0, #64]\n" RET,
         NULL, 0);
  expect("vst.conv.bf16.fp32 bml0, [p0], #32\nlda r0, [p0, #-4]\n" RET,
         "needs 3", 2);
  expect("vst.conv.bf16.fp32 bml0, [p0], #32\npadda [p0], #64\n"
         "vst wl0, [p0, #-96]\n" RET,
         "needs 3", 3);
  expect("vst.conv.bf16.fp32 bml0, [p0], #32\npadda [p0], m0\n"
         "vst wl0, [p0, #-96]\n" RET,
         NULL, 0);
  expect("vst wl0, [p0, #0]\nvlda wl1, [p0, #0]\n" RET, NULL, 0);
  expect("acq #48, r0\nlda r5, [sp, #-4]\n" RET, NULL, 0);
}

/* The same rules with the cycles of aie2p. */
static void test_aie2p(void) {
  static const struct {
    const char *text, *message;
    int line;
  } known[] = {
      {"vlda x0, [p0, #0]\nnop\nnop\nnop\nnop\nnop\n"
       "vmac dm0, dm0, x0, x1, r0\n",
       "needs 7", 7},
      {"vlda x0, [p0, #0]\nnop\nnop\nnop\nnop\nnop\nnop\n"
       "vmac dm0, dm0, x0, x1, r0\n",
       NULL, 0},
      {"vmul.f dm0, ex0, ex1, r0\nnop\nvmac.f dm0, dm0, ex0, ex1, r0\n",
       "needs 3", 3},
      {"vmul.f dm0, ex0, ex1, r0\nnop\nnop\nvmac.f dm0, dm0, ex0, ex1, r0\n",
       NULL, 0},
      {"vlda.pop.576 ex0, [p0, lf0, r24]\nvlda x1, [p1, #0]\n",
       "vector write port A", 2},
      {"vlda.pop.576 ex0, [p0, lf0, r24]\nnop\nvlda x1, [p1, #0]\n", NULL, 0},
      {"vlda bmll0, [p0, #0]\nnop\nnop\nnop\nnop\nvmov bmlh0, x0\n", NULL, 0},
      {"vlda.ups.2x bmll0, s0, upssign1, [p0, #0]\nnop\nnop\nnop\nnop\nnop\n"
       "vups.2x bmlh0, wl0, s0, upssign1\n",
       "both hold the UPS unit", 7},
      {"inv r0, r1\n", "cycle of its result is not known", 1},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char text[400];
    snprintf(text, sizeof text, "%s%s", known[i].text, RET);
    expect_of("aie2p", text, known[i].message, known[i].line);
  }
}

int main(void) {
  test_early_reads();
  test_late_reads();
  test_write_order();
  test_units();
  test_branches();
  test_loops();
  test_memory_order();
  test_strict();
  test_aie2p();
  return check_result();
}
