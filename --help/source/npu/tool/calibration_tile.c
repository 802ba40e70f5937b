/* calibration_tile.c -- experiments inside the array: a core and its banks,
 * channels, locks.  The simulator's cycles for them are in npu/sim/costs.def.
 */
#include "calibration.h"
#include "calibration_lab.h"

#include <string.h>

/* ---- one core ---- */

/* Runs the program of core (0,2) to its end, at most so many cycles. */
static bool run_core(const char *program, struct core_counts *n,
                     struct diag *d) {
  struct lab x = lab_open(d);
  lab_load(&x, 0, 2, program);
  command_delay(x.run, 20000);
  if (lab_run(&x, "phoenix", 1, NULL, 0, NULL))
    *n = *core_counts(tile_at(x.sim, 0, 2)->core);
  return lab_close(&x);
}

static bool loop(int unused, double *value, struct diag *d) {
  (void)unused;
  struct core_counts n = {0};
  struct text t = {0};
  text_puts(&t, "movxm ls, #first\nmovxm le, #last\nmovxm lc, #1000\n");
  for (int i = 0; i < 19; i++)
    text_puts(&t, "nopa; nopx; nopm; nopv\n");
  text_puts(&t, ".p2align 4\nfirst:\n");
  for (int i = 0; i < 8; i++)
    text_puts(&t, "nop\n");
  text_puts(&t, ".p2align 4\nlast: nopb; nopa; nops; nopx; nopm; nopv\n"
                "nop\ndone\n");
  bool good = run_core(text_string(&t), &n, d);
  text_free(&t);
  *value = (double)n.cycles;
  return good;
}

static bool add_one(int bundles, double *value, struct diag *d) {
  struct core_counts n = {0};
  struct text t = {0};
  text_puts(&t, "movxm p0, #0x70000\nmovxm p1, #0x70400\n");
  for (int i = 0; i < bundles; i++)
    text_puts(&t, "lda r1, [p0], #4; st r2, [p1], #4; add r2, r1, #1\n");
  for (int i = 0; i < 10; i++)
    text_puts(&t, "nop\n");
  text_puts(&t, "done\n");
  bool good = run_core(text_string(&t), &n, d);
  text_free(&t);
  *value = (double)n.stall[STALL_MEMORY];
  return good;
}

/* ---- a core beside a channel that reads 256 words, 16 times; every time the
 * core is at another place of its loop ---- */

enum { TRANSFERS = 16, WORDS = 256, DELAY_SLOTS = 5 };

struct beside {
  double cycles, conflicts; /* of a transfer, on average */
  double stalls;            /* of the core, in all */
};

static bool transfer_beside(const char *program, struct beside *sum,
                            struct diag *d) {
  struct lab x = lab_open(d);
  struct bd from = plain_bd(0, WORDS), to = plain_bd(0x8000, WORDS);
  lab_load(&x, 0, 2, program);
  connect_ports(x.configuration, 0, 2, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(x.configuration, 0, 2, 0, &from);
  put_bd(x.configuration, 0, 2, 1, &to);
  push_task(x.configuration, 0, 2, false, 0, 1, 1, false);
  push_task(x.configuration, 0, 2, true, 0, 0, 1, false);
  command_delay(x.run, 1000);
  if (lab_run(&x, "phoenix", 1, NULL, 0, NULL)) {
    struct tile *t = tile_at(x.sim, 0, 2);
    const struct channel *c = channel_of(t, true, 0);
    sum->cycles += (double)(c->finished - c->granted) / TRANSFERS;
    sum->conflicts += (double)c->conflicts / TRANSFERS;
    sum->stalls += (double)t->lost[BANK_DMA];
  }
  return lab_close(&x);
}

enum neighbour { ELSEWHERE, SPARSE, MARCH };

/* SPARSE: 0.15 accesses per cycle and bank; MARCH: a word in every cycle. */
static void put_loop(struct text *t, enum neighbour n) {
  int bundles = n == SPARSE ? 13 : n == MARCH ? 64 : 12;
  for (int i = 0; i < bundles; i++) {
    if (n == ELSEWHERE)
      text_puts(t, "vlda wl0, [p0, #0]");
    else if (n == MARCH)
      text_printf(t, "lda r0, [p0, #%d]", 4 * (i - bundles / 2));
    else if (i == 0 || i == 3 || i == 7 || i == 10)
      text_printf(t, "lda r0, [p0, #%d]", i % 7 ? 16 : 0);
    else
      text_puts(t, "nop");
    text_puts(t, i == bundles - 1 - DELAY_SLOTS ? "; j #loop\n" : "\n");
  }
}

static bool beside(enum neighbour n, struct beside *sum, struct diag *d) {
  bool good = true;
  *sum = (struct beside){0};
  for (int phase = 0; good && phase < TRANSFERS; phase++) {
    struct text t = {0};
    text_printf(&t, "movxm p0, #0x%x\n.p2align 4\n",
                n == ELSEWHERE ? 0x74000
                : n == MARCH   ? 0x70080
                               : 0x70000);
    for (int i = 0; i < phase; i++)
      text_puts(&t, "nop\n");
    text_puts(&t, ".p2align 4\nloop:\n");
    put_loop(&t, n);
    good = transfer_beside(text_string(&t), sum, d);
    text_free(&t);
  }
  return good;
}

static bool cycles_beside(int n, double *value, struct diag *d) {
  struct beside r;
  bool good = beside((enum neighbour)n, &r, d);
  *value = r.cycles;
  return good;
}

static bool conflicts_beside(int n, double *value, struct diag *d) {
  struct beside r;
  bool good = beside((enum neighbour)n, &r, d);
  *value = n == MARCH ? TRANSFERS * r.conflicts : r.conflicts;
  return good;
}

static bool stalls_beside(int n, double *value, struct diag *d) {
  struct beside r;
  bool good = beside((enum neighbour)n, &r, d);
  *value = r.stalls;
  return good;
}

/* ---- channels alone ---- */

/* 256 words out of a mem tile, every `step`-th. */
static bool mem_transfer(int step, double *value, struct diag *d) {
  struct lab x = lab_open(d);
  struct bd from = plain_bd(0, WORDS), to = plain_bd(0x8000, WORDS);
  if (step > 1)
    from.dim[0] = (struct bd_dim){(uint32_t)step, WORDS};
  connect_ports(x.configuration, 0, 1, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(x.configuration, 0, 1, 0, &from);
  put_bd(x.configuration, 0, 1, 1, &to);
  push_task(x.configuration, 0, 1, false, 0, 1, 1, false);
  push_task(x.configuration, 0, 1, true, 0, 0, 1, false);
  command_delay(x.run, 1000);
  if (lab_run(&x, "phoenix", 1, NULL, 0, NULL)) {
    const struct channel *c = channel_of(tile_at(x.sim, 0, 1), true, 0);
    *value = (double)(c->finished - c->granted);
  }
  return lab_close(&x);
}

/* From end to end of chained descriptors of so many words, in row 1 or 2. */
static bool chain(int row, uint32_t words, double *value, struct diag *d) {
  enum { LINKS = 8, REPEATS = 16 };
  struct lab x = lab_open(d);
  struct command_list *l = x.configuration;
  connect_ports(l, 0, row, PORT_DMA, 0, PORT_DMA, 0);
  for (int i = 0; i < LINKS; i++) {
    struct bd from = plain_bd(64 * (uint64_t)i, words);
    struct bd to = plain_bd(0x8000 + 64 * (uint64_t)i, words);
    from.next = i + 1 < LINKS ? i + 1 : -1;
    to.next = i + 1 < LINKS ? LINKS + i + 1 : -1;
    put_bd(l, 0, row, i, &from);
    put_bd(l, 0, row, LINKS + i, &to);
  }
  push_task(l, 0, row, false, 0, LINKS, REPEATS, false);
  push_task(l, 0, row, true, 0, 0, REPEATS, false);
  command_delay(x.run, 10000);
  if (lab_run(&x, "phoenix", 1, NULL, 0, NULL)) {
    const struct channel *c = channel_of(tile_at(x.sim, 0, row), false, 0);
    *value = (double)(c->finished - c->first_finished) / (LINKS * REPEATS - 1);
  }
  return lab_close(&x);
}
static bool core_chain(int words, double *value, struct diag *d) {
  return chain(2, (uint32_t)words, value, d);
}
static bool mem_chain(int words, double *value, struct diag *d) {
  return chain(1, (uint32_t)words, value, d);
}

static bool closed_lock(int unused, double *value, struct diag *d) {
  (void)unused;
  struct lab x = lab_open(d);
  struct command_list *l = x.configuration;
  struct bd from = plain_bd(0, WORDS), to = plain_bd(0x8000, WORDS);
  to.acquire_lock = 3;
  to.acquire_value = -1;
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(l, 0, 2, 0, &from);
  put_bd(l, 0, 2, 1, &to);
  push_task(l, 0, 2, false, 0, 1, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  command_delay(x.run, 500);
  if (lab_run(&x, "phoenix", 1, NULL, 0, NULL))
    *value = channel_of(tile_at(x.sim, 0, 2), false, 0)->in.count;
  return lab_close(&x);
}

/* ---- hand-over: 16 words into a mem tile, out of it, into a core tile, and a
 * core that waits for them ---- */

enum hand_over { TO_MEM_READER, TO_CORE_TILE, TO_CORE };

/* The cycle of the first trace line that has this text; 0: none has. */
static double cycle_of(FILE *trace, const char *text) {
  char line[200];
  unsigned long long at = 0;
  rewind(trace);
  while (fgets(line, sizeof line, trace))
    if (strstr(line, text) && sscanf(line, "%llu", &at) == 1)
      return (double)at;
  return 0;
}

static void connect_hand_over(struct lab *x) {
  struct command_list *l = x->configuration;
  struct bd send = plain_bd(0, 16), in = plain_bd(0, 16), out = in,
            receive = plain_bd(0x1000, 16);
  in.release_lock = out.acquire_lock = 5;
  receive.release_lock = 6;
  in.release_value = receive.release_value = 1;
  out.acquire_value = -1;
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_SOUTH, 0);
  connect_ports(l, 0, 1, PORT_NORTH, 0, PORT_DMA, 0);
  connect_ports(l, 0, 1, PORT_DMA, 0, PORT_NORTH, 0);
  connect_ports(l, 0, 2, PORT_SOUTH, 0, PORT_DMA, 0);
  put_bd(l, 0, 2, 0, &send);
  put_bd(l, 0, 2, 1, &receive);
  put_bd(l, 0, 1, 0, &in);
  put_bd(l, 0, 1, 1, &out);
  push_task(l, 0, 1, false, 0, 0, 1, false);
  push_task(l, 0, 1, true, 0, 1, 1, false);
  push_task(l, 0, 2, false, 0, 1, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
}

static bool hand_over(int part, double *value, struct diag *d) {
  struct lab x = lab_open(d);
  FILE *trace = tmpfile();
  connect_hand_over(&x);
  lab_load(&x, 0, 2, "mova r0, #-1\nacq #54, r0\nnop\nnop\nnop\ndone\n");
  command_delay(x.run, 500);
  x.good = x.good && (trace || diag_error(d, loc_none(), "no temporary file"));
  if (lab_run(&x, "phoenix", 1, NULL, 0, trace)) {
    double in_end = cycle_of(trace, "mem (0,1) s2mm0 bd=0 ends");
    double out_end = cycle_of(trace, "mem (0,1) mm2s0 bd=1 ends");
    double here = cycle_of(trace, "core (0,2) s2mm0 bd=1 ends");
    double woken = cycle_of(trace, "core acquires lock=54") + 1;
    *value = part == TO_MEM_READER  ? out_end - in_end
             : part == TO_CORE_TILE ? here - out_end
                                    : woken - here;
  }
  if (trace)
    fclose(trace);
  return lab_close(&x);
}

/* clang-format off */
static const struct calibration rows[] = {
    {"3", "256 words beside a core in another bank", cycles_beside, ELSEWHERE, 244, 0.008, "cycles", true, NULL},
    {"3", "its conflicts", conflicts_beside, ELSEWHERE, 0, 0, "conflicts", false, NULL},
    {"4", "256 words beside 0.15 accesses per cycle and bank", cycles_beside, SPARSE, 244, 0.0041, "cycles", false, NULL},
    {"4", "its conflicts", conflicts_beside, SPARSE, 9.6, 0.21, "conflicts", false, NULL},
    {"5", "256 words beside a word in every cycle", cycles_beside, MARCH, 244, 0.008, "cycles", false, NULL},
    {"5", "its conflicts, 16 transfers", conflicts_beside, MARCH, 1100, 0.2, "conflicts", false, NULL},
    {"5", "what the core waits, 16 transfers", stalls_beside, MARCH, 12.5, 1, "cycles", false, NULL},
    {"6", "24 bundles that load and store in one bank", add_one, 24, 24, 0, "cycles", false, NULL},
    {"7", "256 words out of a mem tile", mem_transfer, 1, 251, 0.03, "cycles", true, NULL},
    {"7", "256 words out of a mem tile, 16 bytes apart", mem_transfer, 4, 258, 0.03, "cycles", false, NULL},
    {"7", "256 words out of a mem tile, 64 bytes apart", mem_transfer, 16, 258, 0.03, "cycles", false, NULL},
    {"7", "256 words out of a mem tile, 256 bytes apart", mem_transfer, 64, 258, 0.03, "cycles", false, NULL},
    {"8", "chained descriptors of 8 words, core tile", core_chain, 8, 8, 0.125, "cycles", false, NULL},
    {"8", "chained descriptors of 16 words, core tile", core_chain, 16, 15.5, 0.097, "cycles", false, NULL},
    {"8", "chained descriptors of 8 words, mem tile", mem_chain, 8, 8, 0.125, "cycles", false, NULL},
    {"8", "chained descriptors of 16 words, mem tile", mem_chain, 16, 15.5, 0.097, "cycles", false, NULL},
    {"9", "words that a channel takes behind a closed lock", closed_lock, 0, 15, 0.067, "words", true, NULL},
    {"12", "a loop of 9 cycles, 1000 times", loop, 0, 9024, 0, "cycles", false, NULL},
    {"D13", "16 words into a mem tile, until they are read", hand_over, TO_MEM_READER, 13, 0.1, "cycles", true, NULL},
    {"D14", "until they are in the core tile above", hand_over, TO_CORE_TILE, 30, 0.1, "cycles", false, "a known difference: words are in memory when they are written; D4 and D9 of the same source leave no room for 12 cycles more"},
    {"D15", "until the core that waits goes on", hand_over, TO_CORE, 15, 0.07, "cycles", true, NULL},
};
/* clang-format on */
const struct calibration_table calibration_tile = {rows,
                                                   sizeof rows / sizeof *rows};
