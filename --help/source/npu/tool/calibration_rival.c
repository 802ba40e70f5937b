/* calibration_rival.c -- designs of others on the simulated array, as they
 * published them: a block of out stays in a core while all of k passes by.
 *
 * The shim tile of column c reads the rows of in0 for row c of the cores and
 * the columns of in1 for its own column, a chunk of k at a time; the mem tile
 * cuts the chunk into blocks for the cores, in the order of the multiply unit's
 * small matrices.  Blocks of out leave down the column, joined in the mem tile.
 * Rings have two buffers; that of out has one in the mem tile, and in a core as
 * many as the design says.
 */
#include "calibration.h"

#include "asm.h"
#include "setup.h"

#include <stdlib.h>
#include <string.h>

enum {
  ROWS = 4, /* of cores */
  DEPTH = 2,
  STACK_BYTES = 1024,
  BANKS = 4,
  BANK_BYTES = 16384,
  OWN_MEMORY = 0x70000,
  OWN_LOCKS = 48
};

/* Locks of a ring: empty, full. */
enum { CORE_IN0 = 0, CORE_IN1 = 2, CORE_OUT = 4, MEM_OUT = 8 };
enum { EMPTY, FULL };

/* Descriptors of a mem tile; those of odd channels are ODD further on. */
enum { FILL = 0, OUT_FILL = 2, OUT_SEND = 4, SEND = 8, ODD = 24 };

static uint32_t in_block(const struct rival *r, int rows) {
  return (uint32_t)(rows * r->k * r->in_bytes);
}
static uint32_t in_chunk(const struct rival *r, int rows) {
  return (uint32_t)(rows * r->chunk_k * r->in_bytes);
}
static uint32_t out_block(const struct rival *r) {
  return (uint32_t)(r->m * r->n * r->out_bytes);
}
static const struct device *device_of(const struct rival *r) {
  return device_find(preset_find(r->preset)->device);
}
static int columns_of(const struct rival *r) { return device_of(r)->columns; }
/* The column that reads in0 for a row of cores; and the row that a column reads
 * for, or -1. */
static int home_of(const struct rival *r, int row) {
  return row * (columns_of(r) / ROWS);
}
static int row_of(const struct rival *r, int column) {
  int each = columns_of(r) / ROWS;
  return column % each ? -1 : column / each;
}
/* Bytes of a load; a multiply takes as many of in0. */
static int vector_of(const struct rival *r) {
  return 2 * device_of(r)->bank_word_bytes;
}
static int steps_of(const struct rival *r) { return (int)(r->size_k / r->k); }

/* ---- the core ---- */

struct core_places {
  uint32_t in0[DEPTH], in1[DEPTH], out[DEPTH];
};

/* In the next bank that has space, as mlir-aie's allocator does. */
static uint32_t place_by_bank(uint32_t end[BANKS], int *bank, uint32_t bytes) {
  for (int i = 0; i < BANKS; i++, *bank = (*bank + 1) % BANKS) {
    uint32_t at = end[*bank];
    if (at + bytes > (uint32_t)(*bank + 1) * BANK_BYTES)
      continue;
    end[*bank] += bytes;
    *bank = (*bank + 1) % BANKS;
    return at;
  }
  assert(!"its buffers fit");
  return 0;
}

static struct core_places places_in_banks(const struct rival *r) {
  struct core_places p;
  uint32_t end[BANKS];
  int bank = 0;
  for (int i = 0; i < BANKS; i++)
    end[i] = (uint32_t)i * BANK_BYTES + (i ? 0 : STACK_BYTES);
  for (int i = 0; i < DEPTH; i++)
    p.in0[i] = place_by_bank(end, &bank, in_block(r, r->m));
  for (int i = 0; i < DEPTH; i++)
    p.in1[i] = place_by_bank(end, &bank, in_block(r, r->n));
  for (int i = 0; i < DEPTH; i++)
    p.out[i] = place_by_bank(end, &bank, out_block(r));
  return p;
}

/* One behind the other, as they come. */
static struct core_places places_of(const struct rival *r) {
  struct core_places p;
  if (r->banks)
    return places_in_banks(r);
  uint32_t at = STACK_BYTES;
  for (int i = 0; i < DEPTH; i++, at += in_block(r, r->m))
    p.in0[i] = at;
  for (int i = 0; i < DEPTH; i++, at += in_block(r, r->n))
    p.in1[i] = at;
  for (int i = 0; i < DEPTH; i++, at += i < r->out_buffers ? out_block(r) : 0)
    p.out[i] = i < r->out_buffers ? at : p.out[0];
  return p;
}

static void put_nops(struct text *t, int count) {
  while (count-- > 0)
    text_puts(t, "nop\n");
}

static void put_lock(struct text *t, const char *op, int lock, int reg) {
  text_printf(t, "%s #%d, r%d\n", op, OWN_LOCKS + lock, reg);
  put_nops(t, 3);
}

enum { BODY = 16 };

/* 16 bundles of multiplies that load from in0 and in1 in turn; with `out`, an
 * access to out beside each of them. */
static void put_trip(struct text *t, int vector, const char *const out[2],
                     bool ends) {
  const char *part = vector == 32 ? "wl" : "x";
  for (int i = 0; i < BODY; i++)
    text_printf(t, "%s %s%d, [p%d], #%d%s%s\n", i % 2 ? "vldb" : "vlda", part,
                i % 2 * 2, i % 2, vector, out ? out[i % 2] : "",
                !ends           ? ""
                : i == BODY - 8 ? "; add r2, r2, #-1"
                : i == BODY - 6 ? "; jnz r2, #trip"
                                : "");
}

/* The multiplies of a kernel: passes over blocks of results, of `trips` times
 * 16 bundles; the rest of its cycles is idle.  Where it is said where C lies,
 * a pass is a block of 4 x 4 results, whose multiplies take as many vectors of
 * in0; 16 vectors of C are stored and 16 loaded beside the first ones. */
static void put_kernel(struct text *t, const struct rival *r) {
  enum { HEAD = 6, TAIL = 7, LOADS = 8, SETUP = 2, BLOCK = 4 };
  static const char *const store[] = {"; vst wl6, [p3], #32",
                                      "; vst wl6, [p3], #32"};
  static const char *const load[] = {"; vldb wl4, [p2], #32",
                                     "; vlda wl4, [p2], #32"};
  int panels = r->banks ? r->m / (BLOCK * 4) : 1;
  int vector = vector_of(r);
  int trips = (int)in_block(r, r->m) / vector / LOADS / panels;
  int multiplies = r->m * r->k * r->n / r->macs;
  int passes = multiplies / (trips * BODY);
  int cycles = (int)(r->kernel_cycles + 0.5) - SETUP;
  int pad = cycles / passes - HEAD - trips * BODY - TAIL;
  int straight = r->banks ? 2 : 0;
  assert(passes > 0 && pad >= 0 && trips > straight);
  text_printf(t, "mova r23, #%d\nnop\n.p2align 4\npass:\n", passes);
  text_printf(t,
              "mov p0, r16\nmov p1, r18\nmov p2, r20\nmov p3, r20\n"
              "movxm r2, #%d\nnop\n",
              trips - straight);
  if (r->banks) {
    put_trip(t, vector, store, false);
    put_trip(t, vector, load, false);
  }
  text_puts(t, ".p2align 4\ntrip:\n");
  put_trip(t, vector, NULL, true);
  put_nops(t, pad);
  text_puts(t, "add r23, r23, #-1\njnz r23, #pass\n");
  put_nops(t, 5);
  put_nops(t, cycles - cycles / passes * passes);
}

static void put_program(struct text *t, const struct rival *r) {
  struct core_places p = places_of(r);
  text_puts(t, "_start: mova r0, #-1\nmova r1, #1\n");
  text_printf(t, "movxm r16, #0x%x\nmovxm r17, #0x%x\n", OWN_MEMORY + p.in0[0],
              p.in0[0] ^ p.in0[1]);
  text_printf(t, "movxm r18, #0x%x\nmovxm r19, #0x%x\n", OWN_MEMORY + p.in1[0],
              p.in1[0] ^ p.in1[1]);
  text_printf(t, "movxm r20, #0x%x\nmovxm r21, #0x%x\n", OWN_MEMORY + p.out[0],
              p.out[0] ^ p.out[1]);
  text_puts(t, ".p2align 4\nround:\n");
  put_lock(t, "acq", CORE_OUT + EMPTY, 0);
  text_printf(t, "movxm r22, #%d\n.p2align 4\nstep:\n", steps_of(r));
  put_lock(t, "acq", CORE_IN0 + FULL, 0);
  put_lock(t, "acq", CORE_IN1 + FULL, 0);
  put_kernel(t, r);
  put_lock(t, "rel", CORE_IN0 + EMPTY, 1);
  put_lock(t, "rel", CORE_IN1 + EMPTY, 1);
  text_puts(t, "xor r16, r16, r17\nxor r18, r18, r19\nadd r22, r22, #-1\n"
               "jnz r22, #step\n");
  put_nops(t, 5);
  put_lock(t, "rel", CORE_OUT + FULL, 1);
  text_puts(t, "xor r20, r20, r21\nj #round\n");
  put_nops(t, 5);
}

/* ---- descriptors ---- */

struct ring {
  int column, row, lock;
};

static void set_locks(struct bd *b, const struct ring *r, bool reads,
                      bool first, bool last) {
  if (first) {
    b->acquire_lock = r->lock + (reads ? FULL : EMPTY);
    b->acquire_value = -1;
  }
  if (last) {
    b->release_lock = r->lock + (reads ? EMPTY : FULL);
    b->release_value = 1;
  }
}

static void start_ring(struct command_list *l, const struct ring *r, int lock,
                       int depth) {
  set_lock(l, r->column, r->row, lock + EMPTY, (uint32_t)depth);
  set_lock(l, r->column, r->row, lock + FULL, 0);
}

/* A core's ring of two blocks, or one. */
static void add_core_ring(struct command_list *l, struct ring ring,
                          const uint32_t *offset, int depth, uint32_t bytes,
                          bool mm2s, int channel, int first) {
  for (int i = 0; i < depth; i++) {
    struct bd b = plain_bd(offset[i], bytes / 4);
    set_locks(&b, &ring, mm2s, true, true);
    b.next = first + (i + 1) % depth;
    put_bd(l, ring.column, ring.row, first + i, &b);
  }
  start_ring(l, &ring, ring.lock, depth);
  push_task(l, ring.column, ring.row, mm2s, channel, first, 1, false);
}

/* A mem tile's chunks of an input: filled whole, sent block by block, each as
 * small matrices of `rows` x 8 elements. */
static void add_chunks(struct command_list *l, const struct rival *r,
                       struct ring ring, int channel, int block_rows,
                       uint32_t offset, int rows) {
  int half = channel % 2 ? ODD : 0, blocks = r->chunk_k / r->k;
  assert(DEPTH * blocks <= ODD - SEND && r->size_k % r->chunk_k == 0);
  uint32_t bytes = in_chunk(r, block_rows);
  uint32_t small = (uint32_t)(8 * r->in_bytes / 4);
  uint32_t line = (uint32_t)(r->chunk_k * r->in_bytes / 4);
  for (int i = 0; i < DEPTH; i++) {
    struct bd fill = plain_bd(offset + (uint32_t)i * bytes, bytes / 4);
    set_locks(&fill, &ring, false, true, true);
    fill.next = half + FILL + (i + 1) % DEPTH;
    put_bd(l, ring.column, ring.row, half + FILL + i, &fill);
    for (int j = 0; j < blocks; j++) {
      int n = i * blocks + j;
      struct bd send = plain_bd(offset + (uint32_t)i * bytes +
                                    (uint32_t)(j * r->k * r->in_bytes),
                                in_block(r, block_rows) / 4);
      send.dim[0] = (struct bd_dim){1, small};
      send.dim[1] = (struct bd_dim){line, (uint32_t)rows};
      send.dim[2] = (struct bd_dim){small, (uint32_t)(r->k / 8)};
      send.dim[3] = (struct bd_dim){(uint32_t)rows * line, 0};
      set_locks(&send, &ring, true, j == 0, j == blocks - 1);
      send.next = half + SEND + (n + 1) % (DEPTH * blocks);
      put_bd(l, ring.column, ring.row, half + SEND + n, &send);
    }
  }
  start_ring(l, &ring, ring.lock, DEPTH);
  push_task(l, ring.column, ring.row, false, channel, half + FILL, 1, false);
  push_task(l, ring.column, ring.row, true, channel, half + SEND, 1, false);
}

/* A mem tile's block of out of every row of cores, and their way on. */
static void add_out(struct command_list *l, const struct rival *r, int column,
                    uint32_t offset) {
  uint32_t bytes = out_block(r);
  for (int row = 0; row < ROWS; row++) {
    struct ring ring = {column, MEM_ROW, MEM_OUT + 2 * row};
    int id = OUT_FILL + (row % 2 ? ODD : 0) + row / 2;
    struct bd fill = plain_bd(offset + (uint32_t)row * bytes, bytes / 4);
    struct bd send = fill;
    set_locks(&fill, &ring, false, true, true);
    fill.next = id;
    put_bd(l, column, MEM_ROW, id, &fill);
    set_locks(&send, &ring, true, true, true);
    send.next = OUT_SEND + (row + 1) % ROWS;
    put_bd(l, column, MEM_ROW, OUT_SEND + row, &send);
    start_ring(l, &ring, ring.lock, 1);
    push_task(l, column, MEM_ROW, false, 2 + row, id, 1, false);
  }
  push_task(l, column, MEM_ROW, true, 2, OUT_SEND, 1, false);
}

/* ---- circuits ---- */

static void connect_column(struct command_list *l, const struct rival *r,
                           int c) {
  shim_ports(l, c);
  token_route(l, c);
  connect_ports(l, c, 0, PORT_SOUTH, 3, PORT_NORTH, 0);
  connect_ports(l, c, 0, PORT_SOUTH, 7, PORT_NORTH, 1);
  connect_ports(l, c, 0, PORT_NORTH, 0, PORT_SOUTH, 2);
  for (int i = 0; i < 2; i++) {
    connect_ports(l, c, MEM_ROW, PORT_SOUTH, i, PORT_DMA, i);
    connect_ports(l, c, MEM_ROW, PORT_DMA, i, PORT_NORTH, i);
  }
  connect_ports(l, c, MEM_ROW, PORT_DMA, 2, PORT_SOUTH, 0);
  for (int row = 0; row < ROWS; row++) {
    int at = CORE_ROW + row, home = home_of(r, row);
    connect_ports(l, c, MEM_ROW, PORT_NORTH, row, PORT_DMA, 2 + row);
    connect_ports(l, c, at, PORT_DMA, 0, PORT_SOUTH, row);
    for (int above = row + 1; above < ROWS; above++)
      connect_ports(l, c, at, PORT_NORTH, above, PORT_SOUTH, above);
    connect_ports(l, c, at, PORT_SOUTH, 1, PORT_DMA, 1);
    if (row + 1 < ROWS)
      connect_ports(l, c, at, PORT_SOUTH, 1, PORT_NORTH, 1);
    if (row < row_of(r, c))
      connect_ports(l, c, at, PORT_SOUTH, 0, PORT_NORTH, 0);
    enum port from = c == home ? PORT_SOUTH : c < home ? PORT_EAST : PORT_WEST;
    connect_ports(l, c, at, from, 0, PORT_DMA, 0);
    if (c >= home && c + 1 < columns_of(r))
      connect_ports(l, c, at, from, 0, PORT_EAST, 0);
    if (c <= home && c > 0)
      connect_ports(l, c, at, from, 0, PORT_WEST, 0);
  }
}

/* ---- the whole ---- */

static bool load_cores(struct command_list *l, const struct rival *r,
                       struct diag *d) {
  struct text text = {0}, elf = {0};
  put_program(&text, r);
  struct asm_program *p = asm_parse(l->arena, isa_find(device_of(r)->isa),
                                    "kernel", text_string(&text), d);
  bool good = p && asm_link(&p, 1, NULL, 0, &elf, d);
  for (int i = 0; good && i < columns_of(r) * ROWS; i++)
    good = elf_load(device_of(r), elf.data, elf.length, i / ROWS,
                    CORE_ROW + i % ROWS, l, d);
  text_free(&text);
  text_free(&elf);
  return good;
}

static bool configure(struct command_list *l, const struct rival *r,
                      struct diag *d) {
  struct core_places p = places_of(r);
  /* of the multiply's matrices */
  int m_rows = r->macs == 512 ? 8 : 4, n_rows = r->macs == 128 ? 4 : 8;
  if (!load_cores(l, r, d))
    return false;
  for (int c = 0; c < columns_of(r); c++) {
    uint32_t at = 0;
    connect_column(l, r, c);
    if (row_of(r, c) >= 0)
      add_chunks(l, r, (struct ring){c, MEM_ROW, CORE_IN0}, 0, r->m, at,
                 m_rows);
    at += DEPTH * in_chunk(r, r->m);
    add_chunks(l, r, (struct ring){c, MEM_ROW, CORE_IN1}, 1, r->n, at, n_rows);
    add_out(l, r, c, at + DEPTH * in_chunk(r, r->n));
    for (int row = CORE_ROW; row < CORE_ROW + ROWS; row++) {
      add_core_ring(l, (struct ring){c, row, CORE_IN0}, p.in0, DEPTH,
                    in_block(r, r->m), false, 0, 0);
      add_core_ring(l, (struct ring){c, row, CORE_IN1}, p.in1, DEPTH,
                    in_block(r, r->n), false, 1, DEPTH);
      add_core_ring(l, (struct ring){c, row, CORE_OUT}, p.out, r->out_buffers,
                    out_block(r), true, 0, 2 * DEPTH);
      uint32_t control = tile_address(c, row, REG_CORE_CONTROL);
      command_mask_write(l, control, 2, 2);
      command_mask_write(l, control, 2, 0);
      command_mask_write(l, control, 1, 1);
    }
  }
  return true;
}

/* Device memory of one round, in words: in0 of a row of cores, in1 of a column
 * of them, out of a column. */
static struct bd shim_bd(const struct rival *r, int tensor) {
  int rows = tensor == 0 ? r->m : r->n;
  int columns = columns_of(r);
  int64_t words = tensor == 2 ? ROWS * (int64_t)out_block(r) / 4
                              : rows * r->size_k * r->in_bytes / 4;
  struct bd b = plain_bd(0, (uint32_t)words);
  b.burst = device_of(r)->burst;
  if (r->linear)
    return b;
  uint32_t chunk = (uint32_t)(r->chunk_k * r->in_bytes / 4);
  if (tensor == 2) {
    b.dim[0] = (struct bd_dim){1, (uint32_t)(r->n * r->out_bytes / 4)};
    b.dim[1] =
        (struct bd_dim){(uint32_t)(columns * r->n * r->out_bytes / 4), 0};
  } else if (tensor == 1 && r->rows_of_in1) {
    b.dim[0] = (struct bd_dim){1, (uint32_t)(r->n * r->in_bytes / 4)};
    b.dim[1] = (struct bd_dim){(uint32_t)(columns * r->n * r->in_bytes / 4), 0};
  } else {
    uint32_t line = (uint32_t)(r->size_k * r->in_bytes / 4);
    b.dim[0] = (struct bd_dim){1, chunk};
    b.dim[1] = (struct bd_dim){line, (uint32_t)rows};
    b.dim[2] = (struct bd_dim){chunk, 0};
  }
  return b;
}

/* Tasks of `rounds` blocks of out per core, and the wait for them. */
static void add_tasks(struct command_list *l, const struct rival *r,
                      int rounds) {
  for (int c = 0; c < columns_of(r); c++)
    for (int tensor = row_of(r, c) < 0; tensor < 3; tensor++) {
      struct bd b = shim_bd(r, tensor);
      put_bd(l, c, 0, tensor, &b);
      command_ddr_patch(
          l, tile_address(c, 0, REG_SHIM_BD + 0x20 * (uint32_t)tensor + 4),
          tensor, 0);
      push_task(l, c, 0, tensor < 2, tensor % 2, tensor, rounds, tensor == 2);
    }
  for (int c = 0; c < columns_of(r); c++)
    command_sync(l, c, 0, false, 0);
}

/* Cycles of so many rounds. */
static bool run_rounds(const struct rival *r, int rounds, double *cycles,
                       struct diag *d) {
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *txn = command_list(a);
  struct sim_options options = {.preset = preset_find(r->preset)};
  int rows = r->m > r->n ? r->m : r->n;
  size_t in = (size_t)(columns_of(r) * rows * r->size_k * r->in_bytes);
  size_t out = (size_t)(columns_of(r) * ROWS) * out_block(r);
  struct sim_buffer args[3] = {
      {calloc(1, in), in}, {calloc(1, in), in}, {calloc(1, out), out}};
  struct sim_report report;
  struct sim *s = NULL;
  bool good = (args[0].data && args[1].data && args[2].data) ||
              diag_error(d, loc_none(), "out of memory");
  for (int i = 0; i < (r->waits ? rounds : 1); i++)
    add_tasks(txn, r, r->waits ? 1 : rounds);
  good = good && configure(l, r, d) &&
         (s = sim_create(&options, columns_of(r), d)) && sim_apply(s, l, d) &&
         sim_execute(s, txn, args, 3, &report, d);
  *cycles = good ? (double)report.cycles : 0;
  sim_close(s);
  for (int i = 0; i < 3; i++)
    free(args[i].data);
  arena_close(a);
  return good;
}

bool rival_tops(const struct rival *r, double *tops, struct diag *d) {
  enum { FEW = 1, MORE = 2 };
  const struct preset *p = preset_find(r->preset);
  double few, more;
  if (!run_rounds(r, FEW, &few, d) || !run_rounds(r, MORE, &more, d))
    return false;
  double rounds = (double)(r->size_m / (ROWS * r->m)) *
                  (double)(r->size_n / (columns_of(r) * r->n));
  double cycles = few + (rounds - FEW) * (more - few) / (MORE - FEW);
  double seconds = cycles / (p->clock_ghz * 1e9) + p->launch_seconds;
  *tops = 2e-12 * (double)r->size_m * (double)r->size_n * (double)r->size_k /
          seconds;
  return true;
}

bool rival_configuration(const struct rival *r, double *seconds,
                         struct diag *d) {
  const struct preset *p = preset_find(r->preset);
  struct sim_options options = {.preset = p};
  struct arena *a = arena_open();
  struct command_list *l = command_list(a), *nothing = command_list(a);
  struct sim_report report = {0};
  struct sim *s = NULL;
  bool good =
      configure(l, r, d) && (s = sim_create(&options, columns_of(r), d)) &&
      sim_apply(s, nothing, d) && sim_execute(s, l, NULL, 0, &report, d);
  *seconds = (double)report.cycles / (p->clock_ghz * 1e9);
  sim_close(s);
  arena_close(a);
  return good;
}
