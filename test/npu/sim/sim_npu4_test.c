/* The array of XDNA2: all eight columns, with cores that add one to what passes
 * through them; streams that move two words a cycle; the rates that its shim
 * channels were measured to have; padding by a constant; its longest burst; its
 * window into a core's registers. */
#include "asm.h"
#include "sim_design.h"

enum { COLUMNS = 8, BLOCK = 256 };

/* ---- cores between two buffers ---- */

/* Adds 1 to BLOCK words at 0x70000, into 0x78000, for ever. */
static const char program[] = "_start: mova r0, #-1\n"
                              "mova r1, #1\n"
                              ".p2align 4\n"
                              "block: acq #49, r0\n"
                              "nop\nnop\nnop\n"
                              "acq #50, r0\n"
                              "nop\nnop\nnop\n"
                              "movxm p0, #0x70000\n"
                              "movxm p1, #0x78000\n"
                              "movxm r2, #256\n"
                              ".p2align 4\n"
                              "word: lda r4, [p0], #4\n"
                              "nop\nnop\nnop\nnop\nnop\nnop\n"
                              "add r4, r4, #1\n"
                              "st r4, [p1], #4\n"
                              "add r2, r2, #-1\n"
                              "jnz r2, #word\n"
                              "nop\nnop\nnop\nnop\nnop\n"
                              "nop\nnop\nnop\nnop\nnop\n"
                              "rel #48, r1\n"
                              "nop\nnop\nnop\n"
                              "rel #51, r1\n"
                              "j #block\n"
                              "nop\nnop\nnop\nnop\nnop\n";

static void load_program(struct command_list *l, int column, int row,
                         const char *text) {
  const struct device *device = device_find("npu4");
  struct diag d = {0};
  struct text elf = {0};
  struct asm_program *p =
      asm_parse(l->arena, isa_find(device->isa), "test", text, &d);
  bool good = p && asm_link(&p, 1, NULL, 0, &elf, &d) &&
              elf_load(device, elf.data, elf.length, column, row, l, &d);
  if (!good)
    diag_print(&d, stderr);
  CHECK(good);
  text_free(&elf);
  uint32_t control = tile_address(column, row, REG_CORE_CONTROL);
  command_mask_write(l, control, 2, 2);
  command_mask_write(l, control, 2, 0);
  command_mask_write(l, control, 1, 1);
}

/* A buffer that is filled under one pair of locks and sent under another. */
static void put_buffer(struct command_list *l, int c, int row, int id,
                       uint64_t base, int acquire, int release) {
  struct bd b = plain_bd(base, BLOCK);
  b.acquire_lock = acquire;
  b.release_lock = release;
  b.acquire_value = -1;
  b.release_value = 1;
  b.next = id;
  put_bd(l, c, row, id, &b);
}

/* DDR, shim, mem tile, core, mem tile, shim, DDR; the core is in the row that
 * its column says, so all rows have some. */
static void put_column(struct command_list *l, int c) {
  int core = 2 + c % 4;
  shim_ports(l, c);
  token_route(l, c);
  connect_ports(l, c, 0, PORT_SOUTH, 3, PORT_NORTH, 0);
  connect_ports(l, c, 1, PORT_SOUTH, 0, PORT_DMA, 0);
  connect_ports(l, c, 1, PORT_DMA, 0, PORT_NORTH, 0);
  for (int row = 2; row < core; row++) {
    connect_ports(l, c, row, PORT_SOUTH, 0, PORT_NORTH, 0);
    connect_ports(l, c, row, PORT_NORTH, 1, PORT_SOUTH, 1);
  }
  connect_ports(l, c, core, PORT_SOUTH, 0, PORT_DMA, 0);
  connect_ports(l, c, core, PORT_DMA, 0, PORT_SOUTH, 1);
  connect_ports(l, c, 1, PORT_NORTH, 1, PORT_DMA, 1);
  connect_ports(l, c, 1, PORT_DMA, 1, PORT_SOUTH, 1);
  connect_ports(l, c, 0, PORT_NORTH, 1, PORT_SOUTH, 2);
  put_buffer(l, c, 1, 0, 0, 0, 1);
  put_buffer(l, c, 1, 1, 0, 1, 0);
  put_buffer(l, c, 1, 24, 0x1000, 2, 3);
  put_buffer(l, c, 1, 25, 0x1000, 3, 2);
  put_buffer(l, c, core, 0, 0, 0, 1);
  put_buffer(l, c, core, 1, 0x8000, 3, 2);
  for (int lock = 0; lock < 4; lock += 2) {
    set_lock(l, c, 1, lock, 1);
    set_lock(l, c, core, lock, 1);
  }
  push_task(l, c, 1, false, 0, 0, 1, false);
  push_task(l, c, 1, true, 0, 1, 1, false);
  push_task(l, c, 1, false, 1, 24, 1, false);
  push_task(l, c, 1, true, 1, 25, 1, false);
  push_task(l, c, core, false, 0, 0, 1, false);
  push_task(l, c, core, true, 0, 1, 1, false);
  load_program(l, c, core, program);
}

/* A shim channel moves all of an argument, or words that are so many apart. */
static void put_task(struct command_list *l, int c, bool mm2s, int channel,
                     int argument, uint32_t words, uint32_t step) {
  int id = 2 * channel + mm2s;
  struct bd b = plain_bd(0, words);
  b.burst = 3;
  b.dim[0].step_words = step;
  put_bd(l, c, 0, id, &b);
  command_ddr_patch(l,
                    tile_address(c, 0, REG_SHIM_BD + 0x20 * (uint32_t)id + 4),
                    argument, 0);
  push_task(l, c, 0, mm2s, channel, id, 1, true);
}

static void test_columns(void) {
  enum { WORDS = 6 * BLOCK };
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *txn = command_list(a);
  static uint32_t in[COLUMNS][WORDS], out[COLUMNS][WORDS];
  struct sim_buffer args[2 * COLUMNS];
  for (int c = 0; c < COLUMNS; c++) {
    put_column(l, c);
    put_task(txn, c, true, 0, c, WORDS, 1);
    put_task(txn, c, false, 0, COLUMNS + c, WORDS, 1);
    args[c] = (struct sim_buffer){in[c], sizeof in[c]};
    args[COLUMNS + c] = (struct sim_buffer){out[c], sizeof out[c]};
    for (uint32_t i = 0; i < WORDS; i++)
      in[c][i] = (uint32_t)c << 20 | i;
  }
  for (int c = 0; c < COLUMNS; c++)
    command_sync(txn, c, 0, false, 0);
  struct sim *s = open_design("krackan", COLUMNS, l);
  struct sim_report r;
  uint32_t pc = 0, value = 0;
  if (s && run_design(s, txn, args, 2 * COLUMNS, &r)) {
    int wrong = 0;
    for (int c = 0; c < COLUMNS; c++)
      for (uint32_t i = 0; i < WORDS; i++)
        wrong += out[c][i] != in[c][i] + 1;
    CHECK(wrong == 0 && r.cores == COLUMNS);
    /* The core of column 0 waits for its next block: r0 and r1 as set. */
    CHECK(register_read(s, tile_address(0, 2, 0x30E00), &pc) && pc > 0);
    CHECK(register_read(s, tile_address(0, 2, 0x31000), &value) &&
          value == 0xFFFFFFFF);
    CHECK(register_read(s, tile_address(0, 2, 0x31010), &value) && value == 1);
    CHECK(register_read(s, tile_address(0, 2, 0x31100), &value) && value == 0);
  } else
    CHECK(false);
  sim_close(s);
  arena_close(a);
}

/* ---- rates ---- */

/* Mem tiles that take what comes on both channels, and send without end. */
static void put_ends(struct command_list *l, int c) {
  enum { WORDS = 1024 };
  shim_ports(l, c);
  token_route(l, c);
  for (int k = 0; k < 2; k++) {
    struct bd in = plain_bd(0x10000u * (uint64_t)k, WORDS),
              out = plain_bd(0x40000u + 0x10000u * (uint64_t)k, WORDS);
    in.next = 24 * k;
    out.next = 24 * k + 1;
    connect_ports(l, c, 0, PORT_SOUTH, k ? 7 : 3, PORT_NORTH, k);
    connect_ports(l, c, 1, PORT_SOUTH, k, PORT_DMA, k);
    connect_ports(l, c, 1, PORT_DMA, k, PORT_SOUTH, k);
    connect_ports(l, c, 0, PORT_NORTH, k, PORT_SOUTH, 2 + k);
    put_bd(l, c, 1, in.next, &in);
    put_bd(l, c, 1, out.next, &out);
    push_task(l, c, 1, false, k, in.next, 1, false);
    push_task(l, c, 1, true, k, out.next, 1, false);
  }
}

/* Cycles for so many words on each of the channels. */
static uint64_t move(int columns, int channels, bool reads, bool writes,
                     uint32_t words, uint32_t step) {
  static uint32_t buffer[2 << 17];
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *txn = command_list(a);
  struct sim_buffer arg = {buffer, sizeof buffer};
  for (int c = 0; c < COLUMNS; c++)
    put_ends(l, c);
  for (int mm2s = 0; mm2s < 2; mm2s++)
    for (int c = 0; c < columns; c++)
      for (int k = 0; k < channels && (mm2s ? reads : writes); k++)
        put_task(txn, c, mm2s, k, 0, words, step);
  for (int mm2s = 0; mm2s < 2; mm2s++)
    for (int c = 0; c < columns; c++)
      for (int k = 0; k < channels && (mm2s ? reads : writes); k++)
        command_sync(txn, c, 0, mm2s, k);
  struct sim *s = open_design("strix-halo", COLUMNS, l);
  struct sim_report r = {0};
  CHECK(s && run_design(s, txn, &arg, 1, &r));
  sim_close(s);
  arena_close(a);
  return r.cycles;
}

/* GB/s, once channels have started. */
static double rate(int columns, int channels, bool reads, bool writes,
                   uint32_t step) {
  enum { LONG = 1 << 17, SHORT = 1 << 16 };
  uint64_t cycles = move(columns, channels, reads, writes, LONG, step) -
                    move(columns, channels, reads, writes, SHORT, step);
  double bytes = 4.0 * (LONG - SHORT) * columns * channels * (reads + writes);
  return bytes / ((double)cycles / 1.8);
}

/* The middle of what was measured on Strix Halo (array-npu4.md, section 6).
 * Between 26 and 55 GB/s channels slow each other down before the limit is
 * reached, which is not modelled: there we are too fast. */
static void test_rates(void) {
  static const struct {
    int columns, channels;
    bool reads, writes;
    double measured, low, high;
  } c[] = {
      {1, 1, true, false, 12.9, 0.97, 1.03},
      {1, 2, true, false, 24.4, 0.97, 1.03},
      {2, 1, true, false, 24.9, 0.97, 1.06},
      {4, 1, true, false, 45.5, 1.00, 1.16},
      {8, 1, true, false, 54.5, 0.97, 1.04},
      {8, 2, true, false, 55.9, 0.97, 1.03},
      {1, 1, false, true, 13.5, 0.97, 1.03},
      {1, 2, false, true, 27.2, 0.97, 1.03},
      {4, 1, false, true, 52.0, 0.97, 1.05},
      {8, 2, false, true, 55.0, 0.97, 1.03},
      {8, 1, true, true, 67.4, 0.97, 1.03},
  };
  for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
    double r = rate(c[i].columns, c[i].channels, c[i].reads, c[i].writes, 1);
    bool near = r >= c[i].low * c[i].measured && r <= c[i].high * c[i].measured;
    if (!near)
      fprintf(stderr, "%d x %d%s%s: %.1f GB/s; measured %.1f\n", c[i].columns,
              c[i].channels, c[i].reads ? " read" : "",
              c[i].writes ? " write" : "", r, c[i].measured);
    CHECK(near);
  }
  /* single words, too, of which many pass in a cycle, take turns without
   * leaving much of it unused */
  double most = 55.0, apart = rate(COLUMNS, 2, false, true, 2);
  if (apart < 0.93 * most)
    fprintf(stderr, "words apart, written at %.1f GB/s\n", apart);
  CHECK(apart >= 0.93 * most && apart <= 1.03 * most);
}

/* ---- inside the array ---- */

/* A mem tile's words through a stream into a core tile's memory: one transfer
 * of `words`, its cycles by the S2MM channel's token. */
static uint64_t inside(const char *preset, struct command_list *l,
                       uint32_t words, const struct bd *from, uint32_t *last) {
  struct command_list *txn = command_list(l->arena);
  struct bd in = plain_bd(0x4000, words);
  in.release_lock = 5;
  in.release_value = 1;
  connect_ports(l, 0, 1, PORT_DMA, 0, PORT_NORTH, 0);
  connect_ports(l, 0, 2, PORT_SOUTH, 0, PORT_DMA, 0);
  put_bd(l, 0, 1, 0, from);
  put_bd(l, 0, 2, 0, &in);
  push_task(txn, 0, 2, false, 0, 0, 1, false);
  push_task(txn, 0, 1, true, 0, 0, 1, false);
  command_mask_poll(txn, tile_address(0, 2, REG_CORE_LOCK + 0x50), 1, 1, 0);
  struct sim *s = open_design(preset, 1, l);
  struct sim_report r = {0};
  CHECK(s && run_design(s, txn, NULL, 0, &r));
  if (s && last)
    CHECK(register_read(s, tile_address(0, 2, 0x4000 + 4 * (words - 1)), last));
  sim_close(s);
  return r.busy_cycles;
}

static void test_streams(void) {
  struct arena *a = arena_open();
  uint64_t cycles[2][2];
  for (int device = 0; device < 2; device++)
    for (int i = 0; i < 2; i++) {
      uint32_t words = i ? 4096 : 2048;
      struct bd from = plain_bd(0, words);
      cycles[device][i] = inside(device ? "krackan" : "phoenix",
                                 command_list(a), words, &from, NULL);
    }
  uint64_t one = cycles[0][1] - cycles[0][0], two = cycles[1][1] - cycles[1][0];
  CHECK(one == 2048 && two == 1024);
  arena_close(a);
}

/* A row of 14 words between two of padding. */
static void test_padding(void) {
  struct arena *a = arena_open();
  for (int pad = 0; pad < 2; pad++) {
    struct command_list *l = command_list(a);
    uint32_t last = 1;
    struct bd from = plain_bd(0, 16);
    from.dim[0] = (struct bd_dim){1, 14};
    from.zero_before[0] = from.zero_after[0] = 1;
    if (pad)
      command_write(l, tile_address(0, 1, 0xA06E0), 0xFF800000);
    inside("krackan", l, 16, &from, &last);
    CHECK(last == (pad ? 0xFF800000 : 0));
  }
  arena_close(a);
}

static void test_burst(void) {
  static const char *const preset[] = {"phoenix", "krackan"};
  struct arena *a = arena_open();
  static uint32_t word[64];
  for (int i = 0; i < 2; i++) {
    struct command_list *l = command_list(a), *txn = command_list(a);
    struct sim_buffer arg = {word, sizeof word};
    struct sim_report r;
    struct diag d = {0};
    put_ends(l, 0);
    put_task(txn, 0, true, 0, 0, 64, 1);
    command_sync(txn, 0, 0, true, 0);
    struct sim *s = open_design(preset[i], 1, l);
    CHECK(s && sim_execute(s, txn, &arg, 1, &r, &d) == (i == 1));
    CHECK(i == 1 || strstr(d.text, "burst length 3; npu1 has 0 to 2"));
    sim_close(s);
  }
  arena_close(a);
}

int main(void) {
  test_columns();
  test_rates();
  test_streams();
  test_padding();
  test_burst();
  return check_result();
}
