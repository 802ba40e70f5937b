/* Nothing that is written into registers, programs, xclbins or transactions
 * may crash the simulator, hang it, or let it touch memory outside the
 * arguments: every run ends well or with a message, within its budget.
 * Deterministic; meant to run under address and undefined-behaviour checks. */
#include "sim_design.h"
#include "sim_passthrough.h"

#include <stdlib.h>

enum { WORDS = 64, GUARD = 16, BUDGET = 20000 };

static uint64_t state = 0x9E3779B97F4A7C15u;

static uint32_t random32(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 16);
}
static uint32_t below(uint32_t n) { return random32() % n; }

/* A value like those that mean something: few bits, all bits, one flipped. */
static uint32_t random_value(uint32_t like) {
  switch (below(5)) {
  case 0:
    return random32();
  case 1:
    return random32() & random32() & random32();
  case 2:
    return like ^ 1u << below(32);
  case 3:
    return 0x80000000u | below(64);
  default:
    return 0xC0000000u | random32() >> below(32);
  }
}

struct area {
  uint32_t offset, words;
};

static uint32_t random_address(void) {
  static const struct area areas[3][8] = {{{REG_SHIM_BD, 128},
                                           {REG_SHIM_S2MM_CTRL, 12},
                                           {REG_SHIM_LOCK, 64},
                                           {REG_SHIM_MASTER, 22},
                                           {REG_SHIM_SLAVE, 23},
                                           {REG_SHIM_SLOT, 92},
                                           {REG_SHIM_MUX, 2},
                                           {0, 0x40000}},
                                          {{REG_MEM_BD, 384},
                                           {REG_MEM_S2MM_CTRL, 44},
                                           {REG_MEM_LOCK, 256},
                                           {REG_MEM_MASTER, 17},
                                           {REG_MEM_SLAVE, 18},
                                           {REG_MEM_SLOT, 72},
                                           {0xD0000, 0x4000},
                                           {0, 0x40000}},
                                          {{REG_CORE_BD, 128},
                                           {REG_CORE_S2MM_CTRL, 8},
                                           {REG_CORE_LOCK, 64},
                                           {REG_CORE_MASTER, 23},
                                           {REG_CORE_SLAVE, 25},
                                           {REG_CORE_SLOT, 100},
                                           {REG_CORE_CONTROL, 2},
                                           {0, 0x40000}}};
  uint32_t row = below(3);
  struct area a = areas[row][below(8)];
  return (below(40) ? 0 : random32() & 0xFE000000u) |
         (row + (row == 2 && !below(4))) << 20 |
         (a.offset + 4 * below(a.words));
}

struct arguments {
  uint32_t before[GUARD], in[WORDS], between[GUARD], out[WORDS], after[GUARD];
};

static void fill(struct arguments *m) { memset(m, 0xA5, sizeof *m); }

static bool guards_hold(const struct arguments *m) {
  bool hold = true;
  for (int i = 0; i < GUARD; i++)
    hold &= m->before[i] == 0xA5A5A5A5 && m->between[i] == 0xA5A5A5A5 &&
            m->after[i] == 0xA5A5A5A5;
  return hold;
}

static bool run(struct sim *s, const struct command_list *txn,
                struct arguments *m, struct diag *d) {
  struct sim_buffer args[] = {{m->in, sizeof m->in}, {m->out, sizeof m->out}};
  struct sim_report r;
  return sim_execute(s, txn, args, 2, &r, d);
}

/* Random words as the program of a core that is then enabled. */
static void random_program(struct command_list *l, int row) {
  uint32_t words[64];
  for (int i = 0; i < 64; i++)
    words[i] = below(3) ? random32() : random32() & random32();
  command_block(l, tile_address(0, row, REG_CORE_PROGRAM), words, 64);
  command_write(l, tile_address(0, row, REG_CORE_CONTROL), 1);
}

static struct sim *open_small(const struct command_list *l, struct diag *d) {
  struct sim_options o = {.preset = preset_find("phoenix"),
                          .cycle_budget = BUDGET};
  struct sim *s = sim_create(&o, 1, d);
  if (s && !sim_apply(s, l, d)) {
    sim_close(s);
    return NULL;
  }
  return s;
}

static int done_well, done_badly;

static void count(bool done, const struct diag *d) {
  CHECK(done == (d->kind == DIAG_NONE));
  CHECK(done || d->text[0]);
  if (done)
    done_well++;
  else
    done_badly++;
}

static void fuzz_registers(void) {
  struct arena *a = arena_open();
  struct arguments m;
  struct diag d = {0}, ignored = {0};
  int columns;
  struct command_list *l = passthrough_configuration(a);
  struct command_list *txn =
      txn_read(a, passthrough_txn, sizeof passthrough_txn, &columns, &d);
  for (uint32_t n = below(4); n > 0; n--)
    command_write(l, random_address(), random_value(below(1u << 31)));
  for (uint32_t n = below(3); n > 0; n--) { /* flip bits of what is there */
    struct command *c = &l->item[below((uint32_t)l->count)];
    if (c->kind == COMMAND_BLOCK)
      command_write(l, c->address + 4 * below(c->count),
                    random_value(c->words[below(c->count)]));
    else
      c->value = random_value(c->value);
  }
  if (!below(4))
    random_program(l, 2);
  for (uint32_t n = below(3); n > 0; n--) {
    command_write(txn, random_address(), random_value(0));
    struct command t = txn->item[below((uint32_t)txn->count)];
    txn->item[below((uint32_t)txn->count)] = t;
  }
  fill(&m);
  struct sim *s = open_small(l, &d);
  count(s && run(s, txn, &m, &d), &d);
  if (s)
    run(s, txn, &m, &ignored); /* again, whatever state it is in */
  CHECK(guards_hold(&m));
  sim_close(s);
  arena_close(a);
}

static void mutate(char *bytes, size_t length) {
  for (uint32_t n = 1 + below(4); n > 0; n--)
    bytes[below((uint32_t)length)] ^= (char)(1u << below(8));
}

/* Bytes of the files themselves. */
static void fuzz_bytes(const struct text *xclbin) {
  struct arena *a = arena_open();
  struct arguments m;
  struct diag d = {0};
  char *x = arena_copy(a, xclbin->data, xclbin->length, 0, 1);
  char *t = arena_copy(a, passthrough_txn, sizeof passthrough_txn, 0, 1);
  if (below(2))
    mutate(x, xclbin->length);
  else
    mutate(t, sizeof passthrough_txn);
  size_t cut = below(8) ? sizeof passthrough_txn : below(300);
  struct sim_options o = {.preset = preset_find("phoenix"),
                          .cycle_budget = BUDGET};
  struct sim *s = sim_open(x, xclbin->length, &o, &d);
  struct sim_buffer args[] = {{m.in, sizeof m.in}, {m.out, sizeof m.out}};
  struct sim_report r;
  fill(&m);
  count(s && sim_run(s, t, cut, args, 2, &r, &d), &d);
  CHECK(guards_hold(&m));
  sim_close(s);
  arena_close(a);
}

static void build_xclbin(struct text *xclbin) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text cdo = {0}, pdi = {0};
  struct xclbin_info info = {.kernel = "NPUTEIR",
                             .columns = 1,
                             .start_column_count = 1,
                             .start_columns = {1},
                             .buffer_arguments = 2};
  CHECK(cdo_write(passthrough_configuration(a), &cdo, &d) &&
        pdi_write(cdo.data, cdo.length, &pdi, &d) &&
        xclbin_write(&info, pdi.data, pdi.length, xclbin, &d));
  text_free(&cdo);
  text_free(&pdi);
  arena_close(a);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 400;
  struct text xclbin = {0};
  build_xclbin(&xclbin);
  for (int i = 0; i < rounds; i++) {
    fuzz_registers();
    fuzz_bytes(&xclbin);
  }
  text_free(&xclbin);
  printf("%d runs ended well, %d with a message\n", done_well, done_badly);
  /* Neither a simulator that refuses everything nor one that sees nothing. */
  CHECK(done_well > rounds / 4 && done_badly > rounds / 4);
  return check_result();
}
