/* Strict mode: each rule of isa.md D broken, and obeyed by one bundle. */
#include "core_machine.h"

#include "check.h"

#define NOP5 "nop\nnop\nnop\nnop\nnop\n"
#define SETUP "movxm p0, #0x70000\nmovxm p1, #0x74000\nmova r0, #28\n"
#define LOOP(first_nops, last)                                                 \
  "movxm ls, #first\nmovxm le, #last\nmovxm lc, #3\n" first_nops               \
  ".p2align 4\nfirst: nop\n.p2align 4\nlast: " last "\nnop\n"
#define WIDE "nopa; nopx; nopm; nopv\n"
#define FAR WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE

static const struct {
  const char *text;
  const char *says; /* NULL: nothing wrong */
} cases[] = {
    /* a vector register without an older value, read too early */
    {SETUP "vlda wl0, [p0, #0]\n" NOP5 "vst wl0, [p1, #0]\n", "wl0 of 'vlda'"},
    {SETUP "vlda wl0, [p0, #0]\n" NOP5 "nop\nvst wl0, [p1, #0]\n", NULL},
    /* a scalar that nobody reads in time */
    {SETUP "lda r1, [p0, #0]\n" NOP5 "add r2, r1, #1\nnop\nmovx r1, #0\n",
     "r1 of 'lda'"},
    {SETUP "lda r1, [p0, #0]\n" NOP5 "add r2, r1, #1\nadd r2, r1, #1\n"
           "movx r1, #0\n",
     NULL}, /* one reads the old value, another the new one */
    {SETUP "movx r1, #3\nmul r2, r1, r1\nmovxm r3, #1\nst r2, [p0, #0]\n",
     NULL},
    {"movx r1, #3\nmul r2, r1, r1\nadd.nc r3, r2, #0\nmovx r2, #0\n",
     "r2 of 'mul'"},
    /* accumulators: 4 bundles from vmac.f to vmac.f, 2 from vmac to vmac */
    {SETUP "vclr bml0\n" NOP5 "vmac.f bml0, bml0, x0, x1, r0\nnop\nnop\nnop\n"
           "vmac.f bml0, bml0, x0, x1, r0\n",
     NULL},
    {SETUP "vclr bml0\n" NOP5 "vmac.f bml0, bml0, x0, x1, r0\nnop\nnop\n"
           "vmac.f bml0, bml0, x0, x1, r0\n",
     "amll0 of"},
    {"movxm r0, #776\nvclr cm0\n" NOP5 "vmac cm0, cm0, x0, x1, r0\nnop\n"
     "vmac cm0, cm0, x0, x1, r0\n",
     NULL},
    {"movxm r0, #776\nvclr cm0\n" NOP5 "vmac cm0, cm0, x0, x1, r0\n"
     "vmac cm0, cm0, x0, x1, r0\n",
     "vmac"},
    /* units */
    {"mul r1, r2, r3\nadd r4, r5, r6\n", "r write port X"},
    {"mul r1, r2, r3\nnop\nadd r4, r5, r6\n", NULL},
    {SETUP "vmac.f bml0, bml0, x0, x1, r0; st r1, [p0, #0]\n", "r read port V"},
    {SETUP "vmac.f bml0, bml0, x0, x1, r0; vst wl0, [p0, #0]\n", NULL},
    /* memory and locks */
    {SETUP "vst wl0, [p0, #0]\nnop\nnop\nrel #48, r0\n" NOP5, "memory order"},
    {SETUP "vst wl0, [p0, #0]\nnop\nnop\nnop\nrel #48, r0\n" NOP5, NULL},
    {SETUP "vst.conv.bf16.fp32 bml0, [p0, #0]\nnop\nnop\nnop\nnop\n"
           "rel #48, r0\n" NOP5,
     "memory order"},
    {SETUP "acq #48, r1\nnop\nnop\nlda r2, [p0, #0]\n" NOP5, "memory order"},
    {SETUP "acq #48, r1\nnop\nnop\nnop\nlda r2, [p0, #0]\n" NOP5, NULL},
    {SETUP "padda [p0], #4\nvlda wl0, [p0, #0]\n", "multiple of 32"},
    /* hardware loops */
    {LOOP(FAR, "nopb; nopa; nops; nopx; nopm; nopv"), NULL},
    {LOOP(WIDE WIDE, "nopb; nopa; nops; nopx; nopm; nopv"), "setup"},
    {LOOP("movxm p0, #0x70000\n" FAR,
          "nopb; nops; nopx; nopm; nopv; st.s8 r0, [p0, #0]"),
     "store is lost"},
    /* branches */
    {".autoalign 0\nmovxm p0, #0x26\nj p0\n" NOP5
     "nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\n",
     "not aligned"},
};

/* Lock 48 guards the first 32 bytes at p0, and nothing at p1. */
static bool guards(void *context, int lock, bool acquire, uint32_t address) {
  (void)context, (void)acquire;
  return lock == 48 && address >= 0x70000 && address < 0x70020;
}

static const struct {
  const char *text;
  const char *says;
} guarded[] = {
    {SETUP "vst wl0, [p0, #0]\nnop\nnop\nrel #48, r0\n" NOP5, "memory order"},
    {SETUP "vst wl0, [p0, #0]; rel #48, r0\n" NOP5, "memory order"},
    {SETUP "vst wl0, [p0, #0]\nnop\nnop\nnop\nrel #48, r0\n" NOP5, NULL},
    {SETUP "vst wl0, [p1, #0]; rel #48, r0\n" NOP5, NULL},
    {SETUP "vst wl0, [p0, #32]\nrel #48, r0\n" NOP5, NULL},
    {SETUP "vst wl0, [p0, #0]\nrel #49, r0\n" NOP5, NULL},
    {SETUP "acq #48, r1\nnop\nnop\nlda r2, [p0, #4]\n" NOP5, "memory order"},
    {SETUP "acq #48, r1; lda r2, [p0, #4]\n" NOP5, "memory order"},
    {SETUP "acq #48, r1\nnop\nnop\nnop\nlda r2, [p0, #4]\n" NOP5, NULL},
    {SETUP "acq #48, r1\nlda r2, [p1, #0]\n" NOP5, NULL},
};

static void run_case(const char *text, const char *says,
                     bool (*guard)(void *, int, bool, uint32_t)) {
  char whole[4096];
  snprintf(whole, sizeof whole, "%s" NOP5 NOP5 "done\n", text);
  struct machine *m = machine_open_guarded(whole, guard);
  CHECK(m);
  if (!m)
    return;
  m->lock[48] = 0;
  core_strict(m->core, true);
  unsigned banks;
  for (int k = 0; k < 500 && core_state(m->core) == CORE_RUNNING; ++k)
    core_step(m->core, &banks);
  const char *got =
      core_state(m->core) == CORE_FAILED ? core_diag(m->core)->text : NULL;
  bool right =
      says ? got && strstr(got, says) : core_state(m->core) == CORE_DONE;
  if (!right)
    fprintf(stderr, "%s\nsays '%s', not '%s'\n", text, got ? got : "nothing",
            says ? says : "nothing");
  CHECK(right);
  machine_close(m);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    run_case(cases[i].text, cases[i].says, NULL);
  for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; ++i)
    run_case(guarded[i].text, guarded[i].says, guards);
  return check_result();
}
