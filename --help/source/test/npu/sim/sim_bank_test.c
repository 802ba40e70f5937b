/* One access per bank and cycle.  Banks are asked from all sides, and what they
 * serve is counted here, apart from whoever granted it: never two in a cycle,
 * and in the end every access that somebody made. */
#include "asm.h"
#include "sim_design.h"

static uint32_t seed = 1;

static uint32_t below(uint32_t n) {
  seed = seed * 1664525 + 1013904223;
  return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

static void load_program(struct command_list *l, int column, int row,
                         const char *text) {
  struct diag d = {0};
  struct text elf = {0};
  struct asm_program *p =
      asm_parse(l->arena, isa_find("aie2"), "test", text, &d);
  bool good = p && asm_link(&p, 1, NULL, 0, &elf, &d) &&
              elf_load(device_at(0), elf.data, elf.length, column, row, l, &d);
  if (!good)
    diag_print(&d, stderr);
  CHECK(good);
  text_free(&elf);
  uint32_t control = tile_address(column, row, REG_CORE_CONTROL);
  command_mask_write(l, control, 2, 2);
  command_mask_write(l, control, 2, 0);
  command_mask_write(l, control, 1, 1);
}

/* ---- counting ---- */

enum { COLUMNS = 2, ROWS = 6 };

struct counter {
  uint64_t last[COLUMNS][ROWS][MAX_BANKS]; /* cycle of the last access, + 1 */
  uint64_t served[COLUMNS][ROWS][BANK_USERS];
  uint64_t twice;
};

static void count(void *context, const struct tile *t, unsigned bank,
                  enum bank_user user) {
  struct counter *n = context;
  uint64_t *last = &n->last[t->column][t->row][bank];
  n->twice += *last == t->sim->now + 1;
  *last = t->sim->now + 1;
  n->served[t->column][t->row][user]++;
}

static uint64_t served_to(const struct counter *n, enum bank_user user) {
  uint64_t sum = 0;
  for (int column = 0; column < COLUMNS; column++)
    for (int row = 0; row < ROWS; row++)
      sum += n->served[column][row][user];
  return sum;
}

/* ---- cores that load and store at random for ever ---- */

/* Cores and the memories that each accesses: alone, or its neighbours' too. */
struct user {
  int column, row;
  unsigned window_count;
  int window[3];
};
static const struct user alone[] = {{0, 2, 1, {0x70000}}};
static const struct user together[] = {{0, 2, 2, {0x70000, 0x60000}},
                                       {0, 3, 2, {0x70000, 0x40000}},
                                       {1, 2, 3, {0x70000, 0x50000, 0x60000}}};
enum { BODY = 12, POINTERS = 6, DELAY_SLOTS = 5 };

/* A random access by pointer `p`; returns the banks that it takes. */
static unsigned access_text(struct text *t, const char *wide,
                            const char *narrow, unsigned p) {
  unsigned choice = below(3);
  if (choice == 1)
    text_printf(t, wide, p);
  if (choice == 2)
    text_printf(t, narrow, p);
  return choice == 1 ? 2 : choice == 2;
}

/* Fills `text`; returns the bank accesses of one round of its loop. */
static unsigned random_accesses(struct text *text, const struct user *u) {
  unsigned banks = 0;
  for (unsigned p = 0; p < POINTERS; p++)
    text_printf(text, "movxm p%u, #0x%x\n", p,
                u->window[below(u->window_count)] + 32 * below(2048));
  text_puts(text, ".p2align 4\nloop:\n");
  for (int i = 0; i < BODY; i++) {
    struct text b = {0};
    if (i == BODY - 1 - DELAY_SLOTS)
      text_puts(&b, "j #loop; ");
    else
      banks += access_text(&b, "vlda wl0, [p%u, #0]; ", "lda r0, [p%u, #16]; ",
                           below(POINTERS));
    banks +=
        access_text(&b, "vldb wl2, [p%u, #0]; ", "nop; ", below(POINTERS)) & 2u;
    banks += access_text(&b, "vst wl4, [p%u, #0]; ", "st r1, [p%u, #0]; ",
                         below(POINTERS));
    const char *s = text_string(&b);
    text_printf(text, "%.*s\n", s[0] ? (int)strlen(s) - 2 : 3,
                s[0] ? s : "nop");
    text_free(&b);
  }
  return banks;
}

/* Both pairs of a core tile's channels, each round and round in a quarter. */
static uint64_t core_channels(struct command_list *l, int column, int row) {
  enum { REPEAT = 20 };
  uint64_t granules = 0;
  for (int c = 0; c < 2; c++) {
    uint32_t words = 64 * (1 + below(4));
    struct bd from = plain_bd(16 * below(3072), words);
    struct bd to = plain_bd(16 * below(3072), words);
    connect_ports(l, column, row, PORT_DMA, c, PORT_DMA, c);
    put_bd(l, column, row, 2 * c, &from);
    put_bd(l, column, row, 2 * c + 1, &to);
    push_task(l, column, row, false, c, 2 * c + 1, REPEAT, false);
    push_task(l, column, row, true, c, 2 * c, REPEAT, false);
    granules += 2 * REPEAT * words / 4;
  }
  return granules;
}

/* All twelve channels of a mem tile; words that lie far apart cost an access
 * each. */
static uint64_t mem_channels(struct command_list *l, int column) {
  enum { WORDS = 256, REPEAT = 6 };
  uint64_t accesses = 0;
  for (int c = 0; c < 6; c++) {
    uint32_t step = below(2) ? 1 : 4 * (1 + below(16));
    struct bd from = plain_bd(16 * below(1024), WORDS);
    struct bd to = plain_bd(0x40000 + 16 * below(1024), WORDS);
    int bd = c & 1 ? 24 + 2 * c : 2 * c;
    from.dim[0] = (struct bd_dim){step, WORDS};
    connect_ports(l, column, 1, PORT_DMA, c, PORT_DMA, c);
    put_bd(l, column, 1, bd, &from);
    put_bd(l, column, 1, bd + 1, &to);
    push_task(l, column, 1, false, c, bd + 1, REPEAT, false);
    push_task(l, column, 1, true, c, bd, REPEAT, false);
    accesses += REPEAT * (WORDS / 4 + (step == 1 ? WORDS / 4 : WORDS));
  }
  return accesses;
}

/* The register bus writes words into a core's memory now and then. */
static uint64_t bus_writes(struct command_list *txn) {
  uint32_t data[24] = {0};
  uint64_t words = 0;
  for (int i = 0; i < 20; i++) {
    uint32_t n = 1 + below(24);
    command_block(txn, tile_address(0, 2, 0xF000 + 4 * below(256)), data, n);
    words += n;
  }
  return words;
}

enum { MOST_USERS = 3 };

/* Whatever a core asked for was served, and cost it a cycle where it lost. */
static void check_cores(struct sim *s, const struct counter *n,
                        const struct user *user, unsigned users,
                        const unsigned *banks) {
  double wanted = 0;
  for (unsigned i = 0; i < users; i++) {
    const struct tile *t = tile_at(s, user[i].column, user[i].row);
    const struct core_counts *c = core_counts(t->core);
    uint64_t lost = t->lost[BANK_CORE] + t->lost[BANK_DMA] + t->lost[BANK_BUS];
    wanted += (double)c->bundles / BODY * banks[i];
    CHECK(c->cycles + lost == t->core_cycle);
    CHECK(t->core_cycle <= s->now + CORE_AHEAD + 3);
  }
  /* cores have run ahead of what was counted, by a few rounds at most */
  double served = (double)served_to(n, BANK_CORE);
  if (!(served <= wanted && served > wanted - 40.0 * CORE_AHEAD))
    printf("%f %f\n", served, wanted);
  CHECK(served <= wanted && served > wanted - 40.0 * CORE_AHEAD);
}

static void hammer(const struct user *user, unsigned users) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *txn = command_list(a);
  struct counter n = {0};
  unsigned banks[MOST_USERS];
  uint64_t granules =
      core_channels(l, 0, 2) + core_channels(l, 0, 3) + mem_channels(l, 0);
  for (unsigned i = 0; i < users; i++) {
    struct text text = {0};
    banks[i] = random_accesses(&text, &user[i]);
    load_program(l, user[i].column, user[i].row, text_string(&text));
    text_free(&text);
  }
  uint64_t words = bus_writes(txn);
  command_delay(txn, 40000);
  struct sim *s = open_design("phoenix", COLUMNS, l);
  s->served = count;
  s->served_context = &n;
  struct sim_report r;
  CHECK(run_design(s, txn, NULL, 0, &r));
  CHECK(!n.twice);
  CHECK(served_to(&n, BANK_DMA) == granules);
  CHECK(served_to(&n, BANK_BUS) == words);
  CHECK(r.stall_memory == r.stall_memory_own + r.stall_memory_dma +
                              r.stall_memory_neighbour + r.stall_memory_bus);
  CHECK(r.bank_conflicts > r.stall_memory_dma);
  check_cores(s, &n, user, users, banks);
  sim_close(s);
  arena_close(a);
}

/* Strict mode counts for itself: it does not matter who let the second in. */
static void test_strict(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *wait = command_list(a);
  core_channels(l, 0, 2);
  mem_channels(l, 0);
  load_program(l, 0, 2,
               "movxm p0, #0x70000\n.p2align 4\nloop: j #loop\n"
               "vlda wl0, [p0, #0]\nnop\nnop\nnop\nvlda wl0, [p0, #32]\n");
  struct sim *s = open_design("phoenix", 1, l);
  s->options.strict = true;
  command_delay(wait, 9000);
  CHECK(run_design(s, wait, NULL, 0, NULL));
  struct tile *t = tile_at(s, 0, 1);
  bank_served(t, 0x120, BANK_DMA);
  CHECK(!s->failed);
  bank_served(t, 0x130, BANK_DMA);
  CHECK(!s->failed);
  bank_served(t, 0x220, BANK_BUS);
  CHECK(s->failed);
  CHECK(strstr(s->diag.text, "bank 2 of mem (0,1) serves two accesses in "));
  sim_close(s);
  arena_close(a);
}

/* 32 bytes in every cycle leave a channel nothing: each of its accesses is a
 * cycle of the core, and it is hardly slowed itself. */
static void test_full(void) {
  enum { WORDS = 256, BEFORE_CORE = 6 };
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *wait = command_list(a);
  struct bd from = plain_bd(0, WORDS), to = plain_bd(0x8000, WORDS);
  load_program(l, 0, 2,
               "movxm p0, #0x70100\n.p2align 4\nloop: j #loop; "
               "vlda wl0, [p0, #0]\nvlda wl0, [p0, #0]\nvlda wl0, [p0, #0]\n"
               "vlda wl0, [p0, #0]\nvlda wl0, [p0, #0]\nvlda wl0, [p0, #0]\n");
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(l, 0, 2, 0, &from);
  put_bd(l, 0, 2, 1, &to);
  push_task(l, 0, 2, false, 0, 1, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  struct sim *s = open_design("phoenix", 1, l);
  command_delay(wait, 1000);
  struct sim_report r;
  CHECK(run_design(s, wait, NULL, 0, &r));
  const struct channel *c = channel_of(tile_at(s, 0, 2), true, 0);
  CHECK(c->state == CHANNEL_IDLE);
  CHECK(r.stall_memory_dma <= WORDS / 4);
  CHECK(r.stall_memory_dma >= WORDS / 4 - BEFORE_CORE);
  CHECK(c->finished - c->granted <= 252); /* 244 alone */
  sim_close(s);
  arena_close(a);
}

/* What is under way when a program ends takes banks, too. */
static void test_end(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *wait = command_list(a);
  struct counter n = {0};
  load_program(l, 0, 2,
               "movxm p0, #0x70000\nmovxm p1, #0x70200\n"
               "vst wl0, [p0, #0]; vlda wl2, [p1, #0]\n"
               "vst wl0, [p0, #32]; vlda wl2, [p1, #32]\n"
               "done; vst wl0, [p0, #64]\n");
  struct sim *s = open_design("phoenix", COLUMNS, l);
  s->served = count;
  s->served_context = &n;
  command_delay(wait, 200);
  CHECK(run_design(s, wait, NULL, 0, NULL));
  CHECK(core_state(tile_at(s, 0, 2)->core) == CORE_DONE);
  CHECK(!n.twice && served_to(&n, BANK_CORE) == 2 * 5);
  sim_close(s);
  arena_close(a);
}

int main(void) {
  for (int i = 0; i < 20; i++) {
    hammer(alone, sizeof alone / sizeof *alone);
    hammer(together, sizeof together / sizeof *together);
  }
  test_strict();
  test_full();
  test_end();
  return check_result();
}
