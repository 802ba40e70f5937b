/* Cores inside the array: a program adds one to every word of a stream that
 * passes through its tile's memory, or through its southern neighbour's, and
 * waits for locks on the way. */
#include "asm.h"
#include "sim_design.h"

enum { BLOCK = 64, BLOCKS = 5 };

/* Adds 1 to BLOCK words from `in` to `out`, for ever.  Locks as the core names
 * them: in full, out empty, in empty, out full. */
static const char program[] = "_start: mova r0, #-1\n"
                              "mova r1, #1\n"
                              ".p2align 4\n"
                              "block: acq #%d, r0\n"
                              "nop\nnop\nnop\n"
                              "acq #%d, r0\n"
                              "nop\nnop\nnop\n"
                              "movxm p0, #0x%x\n"
                              "movxm p1, #0x%x\n"
                              "mova r2, #64\n"
                              ".p2align 4\n"
                              "word: lda r4, [p0], #4\n"
                              "nop\nnop\nnop\nnop\nnop\nnop\n"
                              "add r4, r4, #1\n"
                              "st r4, [p1], #4\n"
                              "add r2, r2, #-1\n"
                              "jnz r2, #word\n"
                              "nop\nnop\nnop\nnop\nnop\n"
                              "nop\nnop\nnop\nnop\nnop\n"
                              "rel #%d, r1\n"
                              "nop\nnop\nnop\n"
                              "rel #%d, r1\n"
                              "j #block\n"
                              "nop\nnop\nnop\nnop\nnop\n";

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

/* DDR -> core tile (0,2) buffer 0 -> core -> buffer 0x1000 -> DDR; the mem
 * tile passes straight through.  `row` is where the core runs. */
static struct command_list *design(struct arena *a, int row, int in_empty) {
  struct command_list *l = command_list(a);
  shim_ports(l, 0);
  token_route(l, 0);
  connect_ports(l, 0, 0, PORT_SOUTH, 3, PORT_NORTH, 0);
  connect_ports(l, 0, 1, PORT_SOUTH, 0, PORT_NORTH, 0);
  connect_ports(l, 0, 2, PORT_SOUTH, 0, PORT_DMA, 0);
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_SOUTH, 0);
  connect_ports(l, 0, 1, PORT_NORTH, 0, PORT_SOUTH, 0);
  connect_ports(l, 0, 0, PORT_NORTH, 0, PORT_SOUTH, 2);
  struct bd in = plain_bd(0, BLOCK), out = plain_bd(0x1000, BLOCK);
  in.acquire_lock = 0;
  in.release_lock = 1;
  out.acquire_lock = 3;
  out.release_lock = 2;
  in.acquire_value = out.acquire_value = -1;
  in.release_value = out.release_value = 1;
  in.next = 0;
  out.next = 1;
  put_bd(l, 0, 2, 0, &in);
  put_bd(l, 0, 2, 1, &out);
  set_lock(l, 0, 2, 0, (uint32_t)in_empty);
  set_lock(l, 0, 2, 2, 1);
  push_task(l, 0, 2, false, 0, 0, 1, false);
  push_task(l, 0, 2, true, 0, 1, 1, false);
  /* own tile: locks from 48, memory 0x70000; south: from 0, 0x40000 */
  int locks = row == 2 ? 48 : 0;
  uint32_t memory = row == 2 ? 0x70000 : 0x40000;
  char text[sizeof program + 100];
  snprintf(text, sizeof text, program, locks + 1, locks + 2, memory,
           memory + 0x1000, locks + 0, locks + 3);
  load_program(l, 0, row, text);
  return l;
}

static struct command_list *transaction(struct arena *a) {
  struct command_list *l = command_list(a);
  for (int i = 0; i < 2; i++) {
    struct bd b = plain_bd(0, BLOCK * BLOCKS);
    put_bd(l, 0, 0, i, &b);
    command_ddr_patch(l, REG_SHIM_BD + 0x20 * (uint32_t)i + 4, i, 0);
    push_task(l, 0, 0, i == 0, 0, i, 1, i == 1);
  }
  command_sync(l, 0, 0, false, 0);
  return l;
}

struct result {
  uint32_t in[BLOCK * BLOCKS], out[BLOCK * BLOCKS];
  struct sim_report report;
  struct diag diag;
};

static bool run(struct sim *s, struct arena *a, struct result *r) {
  for (uint32_t i = 0; i < BLOCK * BLOCKS; i++)
    r->in[i] = i * i + 5;
  memset(r->out, 0, sizeof r->out);
  struct sim_buffer args[] = {{r->in, sizeof r->in}, {r->out, sizeof r->out}};
  return sim_execute(s, transaction(a), args, 2, &r->report, &r->diag);
}

static void test_core(int row) {
  struct arena *a = arena_open();
  struct result r = {0};
  struct sim *s = open_design("phoenix", 1, design(a, row, 1));
  for (int round = 0; round < 2; round++) {
    bool done = run(s, a, &r);
    if (!done)
      diag_print(&r.diag, stderr);
    CHECK(done);
    bool right = true;
    for (uint32_t i = 0; i < BLOCK * BLOCKS; i++)
      right &= r.out[i] == i * i + 6;
    CHECK(right);
    CHECK(r.report.cores == 1 && r.report.mac_cycles == 0);
    /* 16 bundles a word at least, never more than one bundle a cycle */
    CHECK(r.report.busy_cycles > 16 * BLOCK * BLOCKS);
    CHECK(r.report.core_cycles == r.report.busy_cycles);
    CHECK(r.report.stall_lock > 0);
  }
  sim_close(s);
  arena_close(a);
}

/* A core that never comes back to its locks is a deadlock too. */
static void test_endless_core(void) {
  struct arena *a = arena_open();
  struct result r = {0};
  struct command_list *l = design(a, 2, 1);
  load_program(l, 0, 2, "loop: j #loop\nnop\nnop\nnop\nnop\nnop\n");
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(!run(s, a, &r));
  CHECK(strstr(r.diag.text, "deadlock at cycle 2"));
  CHECK(strstr(r.diag.text, "core (0,2) computes without end at pc 0x"));
  sim_close(s);
  arena_close(a);
}

/* Cores that run ahead between locks end in the same cycle, with the same
 * counts, as cores in step. */
static void test_run_ahead(int row) {
  struct arena *a = arena_open();
  struct result free = {0}, step = {0};
  struct sim_report second;
  struct sim *s = open_design("phoenix", 1, design(a, row, 1));
  CHECK(run(s, a, &free));
  second = free.report;
  CHECK(run(s, a, &free));
  sim_close(s);
  struct sim_options o = {.preset = preset_find("phoenix"), .strict = true};
  struct diag d = {0};
  s = sim_create(&o, 1, &d);
  CHECK(sim_apply(s, design(a, row, 1), &d));
  bool done = run(s, a, &step);
  if (!done)
    diag_print(&step.diag, stderr);
  CHECK(done);
  CHECK(step.report.cycles == second.cycles &&
        step.report.busy_cycles == second.busy_cycles &&
        step.report.stall_lock == second.stall_lock);
  CHECK(run(s, a, &step));
  CHECK(step.report.cycles == free.report.cycles &&
        step.report.busy_cycles == free.report.busy_cycles &&
        step.report.stall_lock == free.report.stall_lock);
  CHECK(memcmp(free.out, step.out, sizeof free.out) == 0);
  sim_close(s);
  arena_close(a);
}

/* The input buffer is never empty: everything waits, and says so. */
static void test_deadlock(void) {
  struct arena *a = arena_open();
  struct result r = {0};
  struct sim *s = open_design("phoenix", 1, design(a, 2, 0));
  CHECK(!run(s, a, &r));
  CHECK(strstr(r.diag.text, "deadlock at cycle "));
  CHECK(strstr(r.diag.text, "transaction op 6 waits for a token of column 0"));
  CHECK(strstr(r.diag.text,
               "core (0,2) waits for lock 1 >= 1 (value 0) at pc 0x"));
  struct text all = {0};
  sim_print_waits(s, &all);
  CHECK(strstr(text_string(&all),
               "core (0,2) S2MM0 BD 0 waits for lock 0 >= 1 (value 0)"));
  CHECK(strstr(text_string(&all), "shim (0,0) MM2S0 BD 0 cannot send"));
  text_free(&all);
  sim_print_deadlock(s, &all);
  static const char *const chain =
      "the command processor waits for a token of shim (0,0) S2MM0\n"
      "shim (0,0) S2MM0 waits for words of its stream, 320 left\n"
      "core (0,2) MM2S0 waits for lock 3 of core (0,2) to be at least 1; it is "
      "0\n"
      "core (0,2) waits for lock 1 of core (0,2) to be at least 1; it is 0\n"
      "core (0,2) S2MM0 waits for lock 0 of core (0,2) to be at least 1; it is "
      "0\n"
      "core (0,2) again: 2 parts wait in a circle\n";
  CHECK(strcmp(text_string(&all), chain) == 0);
  text_free(&all);
  CHECK(!run(s, a, &r)); /* and stays that way */
  sim_close(s);
  arena_close(a);
}

/* A core that runs into nothing is reported with its place. */
static void test_core_failure(void) {
  struct arena *a = arena_open();
  struct result r = {0};
  struct command_list *l = design(a, 2, 1);
  command_write(l, tile_address(0, 2, REG_CORE_PROGRAM), 0xFFFFFFFF);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(!run(s, a, &r));
  CHECK(strstr(r.diag.text, "core (0,2) at pc 0x0: "));
  sim_close(s);
  arena_close(a);
}

/* Words through the core's own stream ports: MM2S -> core -> S2MM. */
static void test_streams(void) {
  enum { WORDS = 100 };
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *wait = command_list(a);
  uint32_t data[WORDS];
  for (uint32_t i = 0; i < WORDS; i++)
    data[i] = 7 * i;
  struct bd from = plain_bd(0, WORDS), to = plain_bd(0x8000, WORDS);
  command_block(l, tile_address(0, 2, 0), data, WORDS);
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_CORE, 0);
  connect_ports(l, 0, 2, PORT_CORE, 0, PORT_DMA, 0);
  put_bd(l, 0, 2, 0, &from);
  put_bd(l, 0, 2, 1, &to);
  push_task(l, 0, 2, false, 0, 1, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  load_program(l, 0, 2,
               "word: mov r0, SS\n"
               "nop\nnop\nnop\nnop\nnop\nnop\nnop\n"
               "add r0, r0, #1\n"
               "mov ms, r0\n"
               "j #word\nnop\nnop\nnop\nnop\nnop\n");
  struct sim *s = open_design("phoenix", 1, l);
  command_delay(wait, 5000);
  struct sim_report r;
  CHECK(run_design(s, wait, NULL, 0, &r));
  bool right = true;
  for (uint32_t i = 0; i < WORDS; i++) {
    uint32_t word;
    CHECK(register_read(s, tile_address(0, 2, 0x8000 + 4 * i), &word));
    right &= word == 7 * i + 1;
  }
  CHECK(right);
  /* 16 bundles a word; when the words are over, it waits for more */
  CHECK(r.busy_cycles >= 16 * WORDS && r.busy_cycles < 18 * WORDS);
  CHECK(core_stalled(tile_at(s, 0, 2)->core) == STALL_STREAM);
  sim_close(s);
  arena_close(a);
}

/* 512 bits from core (0,3) down to core (0,2). */
static void test_cascade(uint32_t reader) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *wait = command_list(a);
  uint32_t data[16];
  struct diag d = {0};
  for (uint32_t i = 0; i < 16; i++)
    data[i] = 0x01010101 * i + 99;
  command_block(l, tile_address(0, 3, 0), data, 16);
  command_write(l, tile_address(0, 2, REG_CORE_ACCUMULATOR), reader);
  load_program(l, 0, 3,
               "movxm p0, #0x70000\n"
               "mov crMCDEn, #1\n"
               "vlda wl0, [p0, #0]\nvlda wh0, [p0, #32]\n"
               "nop\nnop\nnop\nnop\nnop\nnop\nnop\n"
               "vmov MCD, x0\nnop\nnop\ndone\nnop\nnop\n");
  load_program(l, 0, 2,
               "movxm p0, #0x70000\n"
               "mov crSCDEn, #1\nnop\n"
               "vmov x0, SCD\n"
               "nop\nnop\nnop\nnop\nnop\nnop\nnop\n"
               "vst wl0, [p0, #0]\nvst wh0, [p0, #32]\n"
               "nop\nnop\nnop\nnop\nnop\nnop\nnop\ndone\nnop\nnop\n");
  struct sim *s = open_design("phoenix", 1, l);
  command_delay(wait, 200);
  bool done = sim_execute(s, wait, NULL, 0, NULL, &d);
  CHECK(done == !reader);
  if (reader)
    CHECK(strstr(d.text, "core (0,3) writes its cascade to the south"));
  else
    CHECK(memcmp(tile_at(s, 0, 2)->memory, data, 64) == 0);
  sim_close(s);
  arena_close(a);
}

int main(void) {
  test_streams();
  test_cascade(0);
  test_cascade(1);
  test_core(2);
  test_core(3);
  test_run_ahead(2);
  test_run_ahead(3);
  test_deadlock();
  test_endless_core();
  test_core_failure();
  return check_result();
}
