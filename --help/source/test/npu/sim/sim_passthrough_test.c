/* The passthrough design through the simulator: as command lists, as the real
 * bytes of xclbin and transaction, twice in a row, and with the mistakes that
 * a design can make in it, each of which must be named. */
#include "check.h"
#include "sim_passthrough.h"
#include "tile.h"

#include <string.h>

enum { WORDS = 64 };

struct bench {
  struct arena *arena;
  struct sim *sim;
  struct command_list *configuration;
  uint32_t in[WORDS], out[WORDS + 8];
  struct sim_report report;
  struct diag diag;
};

static struct sim_options options(void) {
  return (struct sim_options){.preset = preset_find("phoenix"),
                              .cycle_budget = 1000000};
}

static void start(struct bench *b) {
  *b = (struct bench){.arena = arena_open()};
  b->configuration = passthrough_configuration(b->arena);
  for (uint32_t i = 0; i < WORDS; i++)
    b->in[i] = 0x9E3779B9u * (i + 1);
  memset(b->out, 0xEE, sizeof b->out);
}

static void finish(struct bench *b) {
  sim_close(b->sim);
  arena_close(b->arena);
}

/* Runs the transaction on what `start` left of the configuration. */
static bool run_list(struct bench *b, const struct command_list *txn) {
  struct sim_options o = options();
  if (!b->sim) {
    b->sim = sim_create(&o, 1, &b->diag);
    if (!b->sim || !sim_apply(b->sim, b->configuration, &b->diag))
      return false;
  }
  struct sim_buffer args[] = {{b->in, sizeof b->in},
                              {b->out, WORDS * sizeof *b->out}};
  return sim_execute(b->sim, txn, args, 2, &b->report, &b->diag);
}

static struct command_list *transaction(struct bench *b) {
  int columns = 0;
  struct command_list *l = txn_read(b->arena, passthrough_txn,
                                    sizeof passthrough_txn, &columns, &b->diag);
  CHECK(l && columns == 1 && l->count == 8);
  return l;
}

static void check_copied(const struct bench *b) {
  CHECK(memcmp(b->in, b->out, sizeof b->in) == 0);
  CHECK(b->out[WORDS] == 0xEEEEEEEE);
}

/* A host may look on: the results come at some time, and stay. */
static void test_steps(void) {
  struct bench b;
  start(&b);
  struct sim_options o = options();
  b.sim = sim_create(&o, 1, &b.diag);
  CHECK(b.sim && sim_apply(b.sim, b.configuration, &b.diag));
  for (int i = 0; i < 2; i++) {
    struct sim_buffer args[] = {{b.in, sizeof b.in},
                                {b.out, WORDS * sizeof *b.out}};
    CHECK(sim_begin(b.sim, passthrough_txn, sizeof passthrough_txn, args, 2,
                    &b.diag));
    memset(args, 0, sizeof args);
    int steps = 1;
    while (!sim_advance(b.sim, 10)) {
      CHECK(steps > 1 || b.out[0] == 0xEEEEEEEE);
      steps++;
    }
    CHECK(sim_end(b.sim, &b.report, &b.diag));
    CHECK(steps > 10 && b.report.cycles / 10 <= (uint64_t)steps &&
          (uint64_t)steps <= b.report.cycles / 10 + 1);
    check_copied(&b);
    memset(b.out, 0xEE, sizeof b.out);
  }
  struct sim_buffer none = {NULL, 0};
  CHECK(!sim_begin(b.sim, passthrough_txn, 7, &none, 1, &b.diag));
  b.diag = (struct diag){0};
  CHECK(sim_begin(b.sim, passthrough_txn, sizeof passthrough_txn, &none, 1,
                  &b.diag));
  CHECK(sim_advance(b.sim, UINT64_MAX) && !sim_end(b.sim, NULL, &b.diag));
  CHECK(!sim_begin(b.sim, passthrough_txn, sizeof passthrough_txn, &none, 1,
                   &b.diag));
  finish(&b);
}

static void test_lists(void) {
  struct bench b;
  start(&b);
  CHECK(run_list(&b, transaction(&b)));
  if (b.diag.kind)
    diag_print(&b.diag, stderr);
  check_copied(&b);
  CHECK(b.report.bytes_read == 256 && b.report.bytes_written == 256);
  CHECK(b.report.cores == 0 && b.report.busy_cycles > 64);
  uint64_t first = b.report.cycles;
  /* The rings are back where they were: again, other data, same time less the
   * cold start. */
  b.in[5] = 77;
  CHECK(run_list(&b, transaction(&b)));
  check_copied(&b);
  CHECK(b.report.cycles == first);
  finish(&b);
}

static void test_bytes(void) {
  struct bench b;
  start(&b);
  struct text cdo = {0}, pdi = {0}, xclbin = {0};
  struct xclbin_info info = {.columns = 1,
                             .start_column_count = 1,
                             .start_columns = {1},
                             .buffer_arguments = 2};
  snprintf(info.kernel, sizeof info.kernel, "NPUTEIR");
  CHECK(cdo_write(b.configuration, &cdo, &b.diag));
  CHECK(pdi_write(cdo.data, cdo.length, &pdi, &b.diag));
  CHECK(xclbin_write(&info, pdi.data, pdi.length, &xclbin, &b.diag));
  struct sim_options o = options();
  b.sim = sim_open(xclbin.data, xclbin.length, &o, &b.diag);
  CHECK(b.sim != NULL);
  struct sim_buffer args[] = {{b.in, sizeof b.in},
                              {b.out, WORDS * sizeof *b.out}};
  CHECK(b.sim && sim_run(b.sim, passthrough_txn, sizeof passthrough_txn, args,
                         2, &b.report, &b.diag));
  if (b.diag.kind)
    diag_print(&b.diag, stderr);
  check_copied(&b);
  /* a header that names more columns than the partition has */
  uint32_t txn[75];
  memcpy(txn, passthrough_txn, sizeof txn);
  txn[1] += 4;
  memset(b.out, 0, WORDS * sizeof *b.out);
  CHECK(sim_run(b.sim, txn, sizeof txn, args, 2, &b.report, &b.diag));
  check_copied(&b);
  text_free(&cdo);
  text_free(&pdi);
  text_free(&xclbin);
  finish(&b);
}

/* ---- mistakes ---- */

struct mistake {
  const char *what;
  uint32_t address, value; /* a configuration write too many */
  const char *message;     /* part of it */
};

static const struct mistake mistakes[] = {
    {"core lock 0 never free", 0x0021F000, 0,
     "core (0,2) S2MM0 BD 0 waits for lock 0 >= 1 (value 0)"},
    {"core lock 0 never free, the transaction", 0x0021F000, 0,
     "transaction op 7 waits for a token of column 0 row 0 S2MM 0"},
    {"token slot of another id", 0x0003F200, 0x0E1F0100,
     "1 token lost, last of (0,0) S2MM0 with id 15: no slot"},
    {"no token route", 0x0003F100, 0, "control slave is not enabled"},
    {"descriptor not valid", 0x0021D014, 0x04043FE0,
     "core (0,2) S2MM0: BD 0 is not valid"},
    {"next descriptor of the wrong half", 0x001A0004, 0x018A0000,
     "mem (0,1) S2MM0: BD 24; even channels"},
    {"beyond core memory", 0x0021D000, 0x3FF0 << 14 | 0x40,
     "core (0,2) S2MM0 BD 0 reaches byte 0x10000"},
    {"west neighbour that is not there", 0x001A0004, 0x00080000,
     "west neighbour, which the partition does not have"},
    {"lanes crossed in a mem tile", 0x001B0030, 0x80000007,
     "mem (0,1): the switch cannot connect slave south0 to north1"},
    {"shim not multiplexed", 0x0001F000, 0,
     "shim (0,0) MM2S0 BD 0 is not connected"},
    {"a tile beyond the partition", 0x0221F000, 0, "partition has 1 columns"},
    {"words that no master takes", 0x001B0000, 0,
     "words at slave south0 of mem (0,1) that no connected master takes"},
    {"lock underflow", 0x0021D014, 0x07FC3FE0,
     "lock 1 of core (0,2): a release of -1 makes it -1"},
};

static void test_mistakes(void) {
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    const struct mistake *m = &mistakes[i];
    struct bench b;
    start(&b);
    command_write(b.configuration, m->address, m->value);
    CHECK(!run_list(&b, transaction(&b)));
    struct text waits = {0};
    if (b.sim)
      sim_print_waits(b.sim, &waits);
    if (!strstr(b.diag.text, m->message) &&
        !strstr(text_string(&waits), m->message)) {
      fprintf(stderr, "%s: %s\n", m->what, b.diag.text);
      CHECK(!"the message names the mistake");
    }
    text_free(&waits);
    finish(&b);
  }
}

/* Waiting by the channel's status register, as AMD's ml_txn does. */
static void test_poll(void) {
  struct bench b;
  start(&b);
  struct command_list *l = transaction(&b);
  if (l) {
    l->count = 7;
    command_mask_poll(l, 0x0001D220, 0x0078003C, 0, 0);
  }
  CHECK(run_list(&b, l));
  check_copied(&b);
  finish(&b);

  start(&b);
  l = transaction(&b);
  if (l)
    command_mask_poll(l, 0x0001D220, 0x00080000, 0x00080000, 0);
  CHECK(!run_list(&b, l));
  CHECK(strstr(b.diag.text, "transaction op 8 polls 0x0001d220 for 0x80000"));
  finish(&b);
}

/* Rings without locks that run for ever do not hide that nothing comes. */
static void test_endless_ring(void) {
  struct bench b;
  start(&b);
  command_write(b.configuration, 0x0021D014, 0x06000000); /* no locks */
  command_write(b.configuration, 0x0021D034, 0x0E000000);
  command_write(b.configuration, 0x0023F004, 0x80000001); /* DMA0 to DMA0 */
  command_write(b.configuration, 0x0023F014, 0);          /* and not south */
  struct sim_options o = {.preset = preset_find("phoenix")};
  b.sim = sim_create(&o, 1, &b.diag);
  CHECK(b.sim && sim_apply(b.sim, b.configuration, &b.diag));
  CHECK(!run_list(&b, transaction(&b)));
  CHECK(strstr(b.diag.text, "deadlock at cycle 2"));
  finish(&b);
}

static void test_transaction_mistakes(void) {
  struct bench b;
  start(&b);
  struct command_list *l = transaction(&b);
  if (l)
    l->item[5].kind = COMMAND_DELAY; /* the controller id is not set */
  CHECK(!run_list(&b, l));
  CHECK(strstr(b.diag.text, "with id 0: no slot"));
  finish(&b);

  start(&b);
  l = transaction(&b); /* BD0 changes while MM2S0 has it */
  if (l)
    l->item[3].address = 0x0001D000;
  CHECK(!run_list(&b, l));
  CHECK(strstr(b.diag.text, "BD 0 is written while shim (0,0) MM2S0 still"));
  finish(&b);

  start(&b);
  l = transaction(&b); /* a task that nothing waits for */
  if (l)
    command_write(l, 0x0001D204, 1);
  CHECK(!run_list(&b, l));
  CHECK(strstr(b.diag.text, "column 0 S2MM0 still writes"));
  finish(&b);

  start(&b);
  l = transaction(&b);
  if (l)
    l->item[1].argument = 2;
  CHECK(!run_list(&b, l));
  CHECK(strstr(b.diag.text, "op 1 patches argument 2; 2 arguments"));
  finish(&b);

  start(&b);
  l = transaction(&b);
  if (l)
    l->item[1].offset_bytes = 4;
  CHECK(!run_list(&b, l));
  CHECK(strstr(b.diag.text,
               "column 0 shim (0,0) MM2S0 BD 0 reads argument 0 at byte"));
  finish(&b);

  /* one task is at work and four wait: the configuration has pushed one */
  for (int more = 4; more <= 5; more++) {
    start(&b);
    l = transaction(&b);
    for (int i = 0; i < more; i++)
      command_write(b.configuration, 0x0021DE04, 0);
    bool good = run_list(&b, l);
    bool lost = strstr(b.diag.text, "core (0,2) S2MM0: task queue overflow");
    CHECK(!(good && more == 5) && lost == (more == 5));
    finish(&b);
  }
}

int main(void) {
  test_lists();
  test_steps();
  test_bytes();
  test_mistakes();
  test_poll();
  test_endless_ring();
  test_transaction_mistakes();
  return check_result();
}
