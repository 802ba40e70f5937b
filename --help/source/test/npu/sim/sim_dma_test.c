/* DMA features one by one, each with data that shows whether it happened:
 * strides, iteration, repetition, zero padding, neighbours' memory and locks,
 * equality of locks, empty descriptors, priorities of banks, tokens of every
 * task. */
#include "sim_design.h"

static bool run_for(struct sim *s, uint32_t cycles) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
  command_delay(l, cycles);
  bool done = run_design(s, l, NULL, 0, NULL);
  arena_close(a);
  return done;
}

static uint32_t *words_at(struct sim *s, int column, int row, uint32_t byte) {
  return (uint32_t *)(void *)(tile_at(s, column, row)->memory + byte);
}

static void fill(struct command_list *l, int column, int row, uint32_t words) {
  uint32_t data[1024];
  for (uint32_t i = 0; i < words; i++)
    data[i] = 0x1000 * (uint32_t)(column + 1) + i;
  command_block(l, tile_address(column, row, 0), data, words);
}

/* A mem tile's MM2S 0 with the descriptor, into S2MM 0 at byte 0x8000. */
static struct sim *copy(int row, const struct bd *from, uint32_t words,
                        int repeat) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
  struct bd to = plain_bd(0x8000, words);
  fill(l, 0, row, 1024);
  connect_ports(l, 0, row, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(l, 0, row, 0, from);
  put_bd(l, 0, row, 1, &to);
  push_task(l, 0, row, false, 0, 1, 1, false);
  push_task(l, 0, row, true, 0, 0, repeat, false);
  struct sim *s = open_design("phoenix", 2, l);
  CHECK(run_for(s, 5000));
  CHECK(channel_of(tile_at(s, 0, row), false, 0)->state == CHANNEL_IDLE);
  CHECK(channel_of(tile_at(s, 0, row), true, 0)->state == CHANNEL_IDLE);
  arena_close(a);
  return s;
}

static void test_transpose(int row) {
  struct bd b = plain_bd(0, 24 * 10);
  b.dim[0] = (struct bd_dim){24, 10};
  b.dim[1] = (struct bd_dim){1, 24};
  struct sim *s = copy(row, &b, 24 * 10, 1);
  const uint32_t *in = words_at(s, 0, row, 0),
                 *out = words_at(s, 0, row, 0x8000);
  bool right = true;
  for (int i = 0; i < 24; i++)
    for (int j = 0; j < 10; j++)
      right &= out[i * 10 + j] == in[j * 24 + i];
  CHECK(right);
  sim_close(s);
}

/* Three iterations of two words, seven runs: 0 1 2 0 1 2 0. */
static void test_iteration(int row) {
  struct bd b = plain_bd(64, 2);
  b.iteration_count = 3;
  b.iteration_step_words = 100;
  struct sim *s = copy(row, &b, 14, 7);
  const uint32_t *in = words_at(s, 0, row, 64),
                 *out = words_at(s, 0, row, 0x8000);
  for (int i = 0; i < 14; i++)
    CHECK(out[i] == in[100 * (i / 2 % 3) + i % 2]);
  sim_close(s);
}

static void test_padding(void) {
  struct bd b = plain_bd(0, 8 * 8);
  b.dim[0] = (struct bd_dim){1, 5};
  b.dim[1] = (struct bd_dim){5, 6};
  b.zero_before[0] = 1;
  b.zero_after[0] = 2;
  b.zero_before[1] = 2;
  struct sim *s = copy(1, &b, 8 * 8, 1);
  const uint32_t *in = words_at(s, 0, 1, 0), *out = words_at(s, 0, 1, 0x8000);
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      CHECK(out[i * 8 + j] ==
            (i < 2 || j < 1 || j > 5 ? 0 : in[(i - 2) * 5 + j - 1]));
  sim_close(s);
}

/* Mem tile (1,1) reads its west neighbour's memory under its lock 7. */
static void test_neighbour(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
  fill(l, 0, 1, 64);
  /* by hand: base word 0 and lock 7 of the west window (array.md section 3.2) */
  static const uint32_t bd[8] = {
      64, 0, 0, 0,
      0,  0, 0, 1u << 31 | 1u << 24 | 8u << 16 | 1u << 15 | 0x7Fu << 8 | 7};
  struct bd to = plain_bd(0x100, 64);
  command_block(l, tile_address(1, 1, REG_MEM_BD), bd, 8);
  put_bd(l, 1, 1, 1, &to);
  connect_ports(l, 1, 1, PORT_DMA, 0, PORT_DMA, 0);
  push_task(l, 1, 1, false, 0, 1, 1, false);
  push_task(l, 1, 1, true, 0, 0, 1, false);
  struct sim *s = open_design("phoenix", 2, l);
  CHECK(run_for(s, 500));
  CHECK(words_at(s, 1, 1, 0x100)[63] == 0); /* the lock is closed */
  struct command_list *open = command_list(a);
  set_lock(open, 0, 1, 7, 1);
  command_delay(open, 500);
  CHECK(run_design(s, open, NULL, 0, NULL));
  CHECK(memcmp(words_at(s, 1, 1, 0x100), words_at(s, 0, 1, 0), 256) == 0);
  CHECK(tile_at(s, 0, 1)->lock[7].value == 0);
  CHECK(tile_at(s, 0, 1)->lock[8].value == 1); /* released with +1 */
  sim_close(s);
  arena_close(a);
}

/* Acquire with a positive value: equality, and nothing is taken. */
static void test_lock_equality(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *later = command_list(a);
  struct bd from = plain_bd(0, 8), to = plain_bd(0x8000, 8);
  from.acquire_lock = 5;
  from.acquire_value = 3;
  fill(l, 0, 2, 8);
  set_lock(l, 0, 2, 5, 4);
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_DMA, 0);
  put_bd(l, 0, 2, 0, &from);
  put_bd(l, 0, 2, 1, &to);
  push_task(l, 0, 2, false, 0, 1, 1, false);
  push_task(l, 0, 2, true, 0, 0, 1, false);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(run_for(s, 300));
  CHECK(words_at(s, 0, 2, 0x8000)[0] == 0); /* 4 is not 3 */
  set_lock(later, 0, 2, 5, 3);
  command_delay(later, 300);
  CHECK(run_design(s, later, NULL, 0, NULL));
  CHECK(words_at(s, 0, 2, 0x8000)[7] == 0x1007);
  CHECK(tile_at(s, 0, 2)->lock[5].value == 3);
  sim_close(s);
  arena_close(a);
}

/* A descriptor of no words still acquires and releases. */
static void test_empty_descriptor(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a);
  struct bd empty = plain_bd(0, 0);
  empty.acquire_lock = 1;
  empty.acquire_value = -2;
  empty.release_lock = 2;
  empty.release_value = 5;
  set_lock(l, 0, 2, 1, 3);
  put_bd(l, 0, 2, 0, &empty);
  push_task(l, 0, 2, true, 1, 0, 1, false);
  struct sim *s = open_design("phoenix", 1, l);
  CHECK(run_for(s, 100));
  CHECK(tile_at(s, 0, 2)->lock[1].value == 1);
  CHECK(tile_at(s, 0, 2)->lock[2].value == 5);
  sim_close(s);
  arena_close(a);
}

/* Four tasks wait behind a running one; each gives one token, a repeated one
 * only one for all its repetitions. */
static void test_tokens(void) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *txn = command_list(a);
  static uint32_t out[64];
  struct sim_buffer args[] = {{out, sizeof out}};
  fill(l, 0, 2, 8);
  shim_ports(l, 0);
  token_route(l, 0);
  connect_ports(l, 0, 2, PORT_DMA, 0, PORT_SOUTH, 0);
  connect_ports(l, 0, 1, PORT_NORTH, 0, PORT_SOUTH, 0);
  connect_ports(l, 0, 0, PORT_NORTH, 0, PORT_SOUTH, 2);
  struct bd from = plain_bd(0, 8), to = plain_bd(0, 8);
  put_bd(l, 0, 2, 0, &from);
  push_task(l, 0, 2, true, 0, 0, 6, false);
  put_bd(l, 0, 0, 3, &to);
  command_ddr_patch(txn, REG_SHIM_BD + 0x60 + 4, 0, 64);
  push_task(txn, 0, 0, false, 0, 3, 2, true);
  for (int i = 0; i < 4; i++)
    push_task(txn, 0, 0, false, 0, 3, 1, true);
  for (int i = 0; i < 5; i++)
    command_sync(txn, 0, 0, false, 0);
  struct sim *s = open_design("phoenix", 1, l);
  struct sim_report r;
  CHECK(run_design(s, txn, args, 1, &r));
  CHECK(r.bytes_written == 6 * 32);
  CHECK(out[16] == 0x1000 && out[23] == 0x1007 && out[15] == 0 && out[24] == 0);
  command_sync(txn, 0, 0, false, 0); /* there is no sixth */
  struct diag d = {0};
  CHECK(!sim_execute(s, txn, args, 1, NULL, &d));
  CHECK(strstr(d.text, "waits for a token of column 0 row 0 S2MM 0"));
  sim_close(s);
  arena_close(a);
}

int main(void) {
  for (int row = 1; row < 3; row++) {
    test_transpose(row);
    test_iteration(row);
  }
  test_padding();
  test_neighbour();
  test_lock_equality();
  test_empty_descriptor();
  test_tokens();
  return check_result();
}
