/* The whole array under load, without cores: in every column two streams come
 * from host memory through the mem tile and are broadcast to four core tiles;
 * each core tile sends the first one back, and the mem tile joins the four
 * into one stream to host memory.  Checks every word, that two runs take the
 * same cycles, and prints the simulator's speed. */
#include "sim_design.h"

#include <stdlib.h>
#include <time.h>

enum { BLOCK = 512, COLUMNS = 4, ROWS = 4 };

/* A ring of two buffers: acquire `take`, release `give`. */
static void ring(struct command_list *l, int column, int row, int first_bd,
                 uint64_t base, int take, int give, int amount) {
  for (int i = 0; i < 2; i++) {
    struct bd b = plain_bd(base + (uint64_t)i * BLOCK * 4, BLOCK);
    b.acquire_lock = take;
    b.acquire_value = -amount;
    b.release_lock = give;
    b.release_value = amount;
    b.next = first_bd + 1 - i;
    put_bd(l, column, row, first_bd + i, &b);
  }
}

/* Stream `k` (0, 1) from shim MM2S k to S2MM k of every core tile. */
static void feed(struct command_list *l, int c, int k) {
  connect_ports(l, c, 0, PORT_SOUTH, k ? 7 : 3, PORT_NORTH, k);
  connect_ports(l, c, 1, PORT_SOUTH, k, PORT_DMA, k);
  connect_ports(l, c, 1, PORT_DMA, k, PORT_NORTH, k);
  set_lock(l, c, 1, 2 * k, 2);
  ring(l, c, 1, 24 * k, 0x8000u * (uint64_t)k, 2 * k, 2 * k + 1, 1);
  ring(l, c, 1, 24 * k + 2, 0x8000u * (uint64_t)k, 2 * k + 1, 2 * k, 1);
  push_task(l, c, 1, false, k, 24 * k, 1, false);
  push_task(l, c, 1, true, k, 24 * k + 2, 1, false);
  for (int r = 2; r < 2 + ROWS; r++) {
    connect_ports(l, c, r, PORT_SOUTH, k, PORT_DMA, k);
    if (r + 1 < 2 + ROWS)
      connect_ports(l, c, r, PORT_SOUTH, k, PORT_NORTH, k);
  }
}

/* Core tile r: stream 0 into a ring and back; stream 1 is swallowed. */
static void core_tile(struct command_list *l, int c, int r) {
  set_lock(l, c, r, 0, 2);
  ring(l, c, r, 0, 0, 0, 1, 1);
  ring(l, c, r, 2, 0, 1, 0, 1);
  struct bd swallow = plain_bd(0x8000, BLOCK);
  swallow.next = 4;
  put_bd(l, c, r, 4, &swallow);
  push_task(l, c, r, false, 0, 0, 1, false);
  push_task(l, c, r, true, 0, 2, 1, false);
  push_task(l, c, r, false, 1, 4, 1, false);
  /* down to the mem tile on a lane of its own */
  int lane = r - 2;
  connect_ports(l, c, r, PORT_DMA, 0, PORT_SOUTH, lane);
  for (int below = r - 1; below > 1; below--)
    connect_ports(l, c, below, PORT_NORTH, lane, PORT_SOUTH, lane);
  connect_ports(l, c, 1, PORT_NORTH, lane, PORT_DMA, 2 + lane);
}

/* The mem tile joins the four streams block by block on MM2S 2. */
static void join(struct command_list *l, int c) {
  for (int lane = 0; lane < ROWS; lane++) {
    int empty = 8 + 2 * lane, in = (lane & 1 ? 32 : 8) + lane, out = 16 + lane;
    struct bd b = plain_bd(0x20000 + 0x4000 * (uint64_t)lane, BLOCK), o = b;
    b.acquire_lock = o.release_lock = empty;
    b.release_lock = o.acquire_lock = empty + 1;
    b.acquire_value = o.acquire_value = -1;
    b.release_value = o.release_value = 1;
    b.next = in;
    o.next = 16 + (lane + 1) % ROWS;
    set_lock(l, c, 1, empty, 1);
    put_bd(l, c, 1, in, &b);
    put_bd(l, c, 1, out, &o);
    push_task(l, c, 1, false, 2 + lane, in, 1, false);
  }
  push_task(l, c, 1, true, 2, 16, 1, false);
  connect_ports(l, c, 1, PORT_DMA, 2, PORT_SOUTH, 0);
  connect_ports(l, c, 0, PORT_NORTH, 0, PORT_SOUTH, 2);
}

static struct command_list *configuration(struct arena *a) {
  struct command_list *l = command_list(a);
  for (int c = 0; c < COLUMNS; c++) {
    shim_ports(l, c);
    token_route(l, c);
    feed(l, c, 0);
    feed(l, c, 1);
    for (int r = 2; r < 2 + ROWS; r++)
      core_tile(l, c, r);
    join(l, c);
  }
  return l;
}

/* Arguments: 0 and 1 the streams of column 0, 2 and 3 of column 1 ...; 8 + c
 * the result of column c. */
static struct command_list *transaction(struct arena *a, uint32_t words) {
  struct command_list *l = command_list(a);
  for (int c = 0; c < COLUMNS; c++)
    for (int k = 0; k < 3; k++) {
      struct bd b = plain_bd(0, k == 2 ? ROWS * words : words);
      put_bd(l, c, 0, k, &b);
      command_ddr_patch(
          l, tile_address(c, 0, REG_SHIM_BD + 0x20 * (uint32_t)k + 4),
          k == 2 ? 8 + c : 2 * c + k, 0);
      push_task(l, c, 0, k < 2, k % 2, k, 1, k == 2);
    }
  for (int c = 0; c < COLUMNS; c++)
    command_sync(l, c, 0, false, 0);
  return l;
}

static bool result_is_right(const uint32_t *in, const uint32_t *out,
                            uint32_t words) {
  for (uint32_t i = 0; i < ROWS * words; i++) {
    uint32_t block = i / BLOCK / ROWS;
    if (out[i] != in[block * BLOCK + i % BLOCK])
      return false;
  }
  return true;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Opens the array, runs the transaction twice and checks every result; the
 * cycles of the first run. */
static uint64_t run_load(struct arena *a, uint32_t words, double *took) {
  struct sim_buffer args[12];
  for (int i = 0; i < 12; i++) {
    size_t bytes = (i < 8 ? 1 : ROWS) * words * 4;
    args[i] = (struct sim_buffer){arena_alloc(a, bytes), bytes};
    for (size_t w = 0; i < 8 && w < words; w++)
      ((uint32_t *)args[i].data)[w] = (uint32_t)(w * 2654435761u + i);
  }
  struct command_list *txn = transaction(a, words);
  struct sim *s = open_design("8700g-turbo", COLUMNS, configuration(a));
  struct sim_report first = {0}, second = {0};
  double start = seconds();
  CHECK(run_design(s, txn, args, 12, &first));
  *took = seconds() - start;
  for (int c = 0; c < COLUMNS; c++) {
    CHECK(result_is_right(args[2 * c].data, args[8 + c].data, words));
    memset(args[8 + c].data, 0, args[8 + c].bytes);
  }
  CHECK(run_design(s, txn, args, 12, &second));
  CHECK(result_is_right(args[0].data, args[8].data, words));
  CHECK(first.bytes_read == 8ull * 4 * words);
  CHECK(first.bytes_written == 16ull * 4 * words);
  sim_close(s);
  return first.cycles;
}

static void test_load(uint32_t words) {
  struct arena *a = arena_open();
  double took;
  uint64_t cycles = run_load(a, words, &took);
  printf("%u words: %llu cycles, %.2f words written per cycle, %.0f ns per "
         "cycle\n",
         words, (unsigned long long)cycles,
         (double)COLUMNS * ROWS * words / (double)cycles,
         1e9 * took / (double)cycles);
  CHECK(run_load(a, words, &took) == cycles);
  arena_close(a);
}

int main(int argc, char **argv) {
  test_load(argc > 1 ? (uint32_t)atoi(argv[1]) / BLOCK * BLOCK : 8 * BLOCK);
  return check_result();
}
