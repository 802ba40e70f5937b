/* The experiments of timing.md section 10 that need no core, each against the
 * number measured on hardware and its tolerance. */
#include "sim_design.h"

/* Steps the array for some cycles by a transaction that only delays. */
static bool wait_cycles(struct sim *s, struct arena *a, uint32_t cycles) {
  struct command_list *l = command_list(a);
  command_delay(l, cycles);
  return run_design(s, l, NULL, 0, NULL);
}

static bool near(const char *what, double got, double expected,
                 double tolerance) {
  bool good = got >= expected - tolerance && got <= expected + tolerance;
  printf("%-42s %9.1f  hardware %9.1f +- %.1f%s\n", what, got, expected,
         tolerance, good ? "" : "  MISSED");
  return good;
}

/* Cycles from lock grant to the end of an MM2S descriptor of `words`, whose
 * stream is read by the S2MM channel of the same tile. */
static double mm2s_cycles(int row, const struct bd *source) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
  struct bd to = plain_bd(0x8000, source->length_words);
  connect_ports(l, 0, row, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(l, 0, row, 0, source);
  put_bd(l, 0, row, 1, &to);
  push_task(l, 0, row, false, 0, 1, 1, false);
  push_task(l, 0, row, true, 0, 0, 1, false);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(wait_cycles(s, a, 2000));
  const struct channel *c = channel_of(tile_at(s, 0, row), true, 0);
  CHECK(c->state == CHANNEL_IDLE && !c->walk.left);
  double cycles = (double)(c->finished - c->granted);
  sim_close(s);
  arena_close(a);
  return cycles;
}

static void test_transfers(void) {
  struct bd bd = plain_bd(0, 256);
  CHECK(near("CAL-3 core MM2S, 256 words", mm2s_cycles(2, &bd), 244, 2));
  CHECK(near("CAL-7 mem MM2S, 256 words", mm2s_cycles(1, &bd), 251, 7));
  for (uint32_t step = 4; step <= 64; step *= 4) {
    bd.dim[0] = (struct bd_dim){step, 256};
    CHECK(near("CAL-7 the same, strided", mm2s_cycles(1, &bd), 258, 7));
  }
}

/* Mean distance of the ends of chained descriptors in the steady state. */
static double chain_interval(int row, uint32_t words) {
  enum { LINKS = 8, REPEATS = 16 };
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
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
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(wait_cycles(s, a, 10000));
  const struct channel *c = channel_of(tile_at(s, 0, row), false, 0);
  CHECK(c->state == CHANNEL_IDLE);
  double cycles =
      (double)(c->finished - c->first_finished) / (LINKS * REPEATS - 1);
  sim_close(s);
  arena_close(a);
  return cycles;
}

static void test_chains(void) {
  CHECK(near("CAL-8 chained 8-word BDs, core", chain_interval(2, 8), 8, 1));
  CHECK(near("CAL-8 chained 16-word BDs, core", chain_interval(2, 16), 15.5,
             1.5));
  CHECK(near("CAL-8 chained 8-word BDs, mem", chain_interval(1, 8), 8, 1));
  CHECK(
      near("CAL-8 chained 16-word BDs, mem", chain_interval(1, 16), 15.5, 1.5));
}

/* Words that an S2MM channel takes while its lock is closed. */
static void test_closed_lock(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
  struct bd from = plain_bd(0, 256), to = plain_bd(0x8000, 256);
  to.acquire_lock = 3;
  to.acquire_value = -1;
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(l, 0, 2, 0, &from);
  put_bd(l, 0, 2, 1, &to);
  push_task(l, 0, 2, false, 0, 1, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(wait_cycles(s, a, 500));
  const struct channel *c = channel_of(tile_at(s, 0, 2), false, 0);
  CHECK(c->state == CHANNEL_ACQUIRE);
  CHECK(near("CAL-9 words behind a closed lock", c->in.count, 15, 1));
  sim_close(s);
  arena_close(a);
}

/* DDR -> shim -> mem tile's switch -> shim -> DDR. */
static struct command_list *loop_back(struct arena *a) {
  struct command_list *l = command_list(a);
  shim_ports(l, 0);
  token_route(l, 0);
  connect_ports(l, 0, 0, PORT_SOUTH, 3, PORT_NORTH, 0);
  connect_ports(l, 0, 1, PORT_SOUTH, 0, PORT_DMA, 0);
  connect_ports(l, 0, 1, PORT_DMA, 0, PORT_SOUTH, 0);
  connect_ports(l, 0, 0, PORT_NORTH, 0, PORT_SOUTH, 2);
  /* the mem tile turns the stream round, a small ring at a time */
  set_lock(l, 0, 1, 0, 4);
  for (int i = 0; i < 4; i++) {
    struct bd in = plain_bd(0x1000 * (uint64_t)i, 16), out = in;
    in.acquire_lock = out.release_lock = 0;
    in.release_lock = out.acquire_lock = 1;
    in.acquire_value = out.acquire_value = -1;
    in.release_value = out.release_value = 1;
    in.next = (i + 1) % 4;
    out.next = 8 + (i + 1) % 4;
    put_bd(l, 0, 1, i, &in);
    put_bd(l, 0, 1, 8 + i, &out);
  }
  push_task(l, 0, 1, false, 0, 0, 1, false);
  push_task(l, 0, 1, true, 0, 8, 1, false);
  return l;
}

static void put_shim(struct command_list *l, int bd, int argument,
                     uint32_t words) {
  struct bd b = plain_bd(0, words);
  put_bd(l, 0, 0, bd, &b);
  command_ddr_patch(l, REG_SHIM_BD + 0x20 * (uint32_t)bd + 4, argument, 0);
}

static void test_shim_sweep(void) {
  static uint32_t in[16384], out[16384];
  for (uint32_t n = 1024; n <= 16384; n *= 2) {
    struct arena *a = arena_open();
    struct sim *s = open_design("phoenix", 1, loop_back(a));
    struct command_list *l = command_list(a);
    put_shim(l, 0, 0, n);
    put_shim(l, 1, 1, n);
    push_task(l, 0, 0, true, 0, 0, 1, false);
    push_task(l, 0, 0, false, 0, 1, 1, true);
    command_sync(l, 0, 0, false, 0);
    for (uint32_t i = 0; i < n; i++)
      in[i] = i * 2654435761u;
    struct sim_buffer args[] = {{in, 4 * n}, {out, 4 * n}};
    CHECK(run_design(s, l, args, 2, NULL));
    CHECK(memcmp(in, out, 4 * n) == 0);
    const struct channel *rd = channel_of(tile_at(s, 0, 0), true, 0);
    const struct channel *wr = channel_of(tile_at(s, 0, 0), false, 0);
    double read = 747 + 1.05 * n, write = 171 + 1.00 * n;
    CHECK(near("CAL-10 shim MM2S", (double)(rd->finished - rd->started), read,
               0.1 * read));
    CHECK(near("CAL-10 shim S2MM", (double)(wr->finished - wr->started), write,
               0.1 * write));
    sim_close(s);
    arena_close(a);
  }
}

static void test_shim_tasks(void) {
  static uint32_t in[64], out[64];
  struct sim_buffer args[] = {{in, sizeof in}, {out, sizeof out}};
  struct arena *a = arena_open();
  struct sim *s = open_design("phoenix", 1, loop_back(a));
  uint64_t last = 0;
  const struct channel *rd = channel_of(tile_at(s, 0, 0), true, 0);
  const struct channel *wr = channel_of(tile_at(s, 0, 0), false, 0);
  struct command_list *l = command_list(a);
  put_shim(l, 0, 0, 64);
  put_shim(l, 1, 1, 64);
  /* The figures of a task stay until the next one starts, so the eight run
   * with a stop after each; the distance rule holds across the stops. */
  enum { TASKS = 8 };
  for (int i = 0; i < TASKS; i++) {
    push_task(l, 0, 0, true, 0, 0, 1, false);
    push_task(l, 0, 0, false, 0, 1, 1, false);
  }
  command_delay(l, 3000);
  s->options.trace = tmpfile();
  CHECK(run_design(s, l, args, 2, NULL));
  (void)last;
  CHECK(near("CAL-11 shim MM2S, 64 words, steady",
             (double)(rd->finished - rd->started), 385, 38));
  CHECK(near("CAL-11 shim S2MM, 64 words, steady",
             (double)(wr->finished - wr->started), 249, 25));
  /* start to start, from the trace of the eight */
  FILE *t = s->options.trace;
  CHECK(t != NULL);
  if (t) {
    char line[200];
    unsigned long long at, first = 0, end = 0;
    int count = 0;
    rewind(t);
    while (fgets(line, sizeof line, t))
      if (strstr(line, "shim (0,0) mm2s0 task") &&
          sscanf(line, "%llu", &at) == 1) {
        if (!count++)
          first = at;
        end = at;
      }
    CHECK(count == TASKS);
    CHECK(near("CAL-11 start to start", (double)(end - first) / (TASKS - 1),
               2800, 280));
    fclose(t);
  }
  s->options.trace = NULL;
  sim_close(s);
  arena_close(a);
}

static void test_writes(void) {
  enum { WRITES = 200 };
  struct arena *a = arena_open();
  struct command_list *none = command_list(a), *l = command_list(a);
  struct sim *s = open_design("phoenix", 1, none);
  for (uint32_t i = 0; i < WRITES; i++)
    command_write(l, tile_address(0, 2, 4 * i), i);
  struct sim_report r;
  CHECK(run_design(s, l, NULL, 0, &r));
  CHECK(near("CAL-13 200 write32", (double)r.cycles, 100.5 * WRITES,
             0.05 * 100.5 * WRITES));
  sim_close(s);
  arena_close(a);
}

/* Eight shim channels read `words` each, in runs of so many words. */
static struct sim_report read_all(const char *preset, uint32_t run,
                                  uint32_t words) {
  enum { COLUMNS = 4 };
  static uint32_t data[4 << 15];
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *txn = command_list(a);
  for (int c = 0; c < COLUMNS; c++) {
    shim_ports(l, c);
    token_route(l, c);
    for (int k = 0; k < 2; k++) {
      struct bd sink = plain_bd(0x1000u * (uint64_t)k, 1024);
      struct bd b = plain_bd(0, words);
      sink.next = 24 * k;
      b.dim[0] = (struct bd_dim){1, run};
      b.dim[1] = (struct bd_dim){2 * run, 0};
      if (run > 1023) /* one run: no wrap */
        b.dim[0].wrap = 0;
      put_bd(l, c, 1, 24 * k, &sink);
      push_task(l, c, 1, false, k, 24 * k, 1, false);
      connect_ports(l, c, 0, PORT_SOUTH, k ? 7 : 3, PORT_NORTH, k);
      connect_ports(l, c, 1, PORT_SOUTH, k, PORT_DMA, k);
      put_bd(txn, c, 0, k, &b);
      command_ddr_patch(
          txn, tile_address(c, 0, REG_SHIM_BD + 0x20 * (uint32_t)k + 4), 0, 0);
      push_task(txn, c, 0, true, k, k, 1, true);
    }
  }
  for (int c = 0; c < COLUMNS; c++)
    for (int k = 0; k < 2; k++)
      command_sync(txn, c, 0, true, k);
  struct sim *s = open_design(preset, COLUMNS, l);
  struct sim_buffer args[] = {{data, sizeof data}};
  struct sim_report r;
  CHECK(run_design(s, txn, args, 1, &r));
  CHECK(r.bytes_read == 8ull * 4 * words);
  sim_close(s);
  arena_close(a);
  return r;
}

/* Bytes per cycle once all eight run. */
static double read_rate(const char *preset, uint32_t run) {
  uint32_t words = run > 1023 ? 1 << 15 : (1 << 15) / run * run;
  struct sim_report half = read_all(preset, run, words);
  struct sim_report full = read_all(preset, run, 2 * words);
  return (double)(full.bytes_read - half.bytes_read) /
         (double)(full.busy_cycles - half.busy_cycles);
}

/* Table 7.3: GB/s over GHz is bytes per cycle. */
static void test_dram(void) {
  CHECK(near("N13 phoenix, 112-byte runs, B/cycle", read_rate("phoenix", 28),
             7.0, 0.1));
  CHECK(
      near("N16 phoenix, 448-byte runs", read_rate("phoenix", 112), 17.0, 0.2));
  CHECK(near("N18 8700g turbo, linear", read_rate("8700g-turbo", 1 << 15),
             46.4 / 1.79, 0.3));
  double ceiling = read_rate("8700g-powersaver", 1 << 15);
  CHECK(near("N10 8700g power saver, shim ceiling", ceiling, 32, 0.5));
  CHECK(ceiling <= 32);
}

int main(void) {
  test_transfers();
  test_chains();
  test_closed_lock();
  test_shim_sweep();
  test_shim_tasks();
  test_writes();
  test_dram();
  return check_result();
}
