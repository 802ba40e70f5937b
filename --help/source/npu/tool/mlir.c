/* mlir.c -- a design as aie dialect text.
 *
 * Everything keeps its place: buffers have addresses, locks and descriptors
 * their numbers, because the cores' programs and the transaction, which are
 * bytes already, refer to them.  Memories are counted in words, as the hardware
 * does, so that lengths and steps stand as in the design.  The flows are the
 * ends of the routes; mlir-aie finds ways of its own.
 *
 * Descriptors that no channel starts with are pushed by the transaction, which
 * therefore writes them first; and the shim channels' token ids, which our
 * configuration sets, are set there, too. */
#include "mlir.h"
#include "image.h"

#include <assert.h>
#include <inttypes.h>

struct writer {
  const struct npu_result *r;
  const struct design *x;
  enum mlir_form form;
  struct text *out;
  struct diag *d;
  int values, data; /* constants and block writes so far */
};

/* ---- tiles ---- */

static void put_tile(struct writer *w, int column, int row) {
  text_printf(w->out, "    %%tile_%d_%d = aie.tile(%d, %d)\n", column, row,
              column, row);
}

static int rows(const struct writer *w) {
  return CORE_ROW + design_rows(w->x->program);
}

static void put_tiles(struct writer *w) {
  for (int c = 0; c < w->x->program->grid.columns; c++)
    for (int r = 0; r < rows(w); r++)
      put_tile(w, c, r);
}

/* Sizes and steps of a descriptor, the fastest first, as far as its length
 * needs them. */
static int dims_of(const struct bd *b, uint32_t size[4], uint32_t step[4]) {
  uint32_t left = b->length_words;
  int n = 0;
  while (n < 4) {
    uint32_t wrap = b->dim[n].wrap;
    step[n] = b->dim[n].step_words;
    size[n] = n == 3 || !wrap || wrap > left ? left : wrap;
    left /= size[n];
    n++;
    if (left <= 1)
      break;
  }
  return n;
}

/* Whether all that a descriptor touches lies in the buffer. */
static bool fits(const struct design_buffer *u, const struct design_bd *b) {
  uint32_t size[4], step[4];
  int dims = dims_of(&b->bd, size, step);
  uint64_t last = (b->bd.base - u->offset) / 4;
  for (int i = 0; i < dims; i++)
    last += (uint64_t)(size[i] - 1) * step[i];
  return b->bd.base >= u->offset && last < u->bytes / 4;
}

static const struct design_buffer *buffer_of(const struct writer *w,
                                             const struct design_bd *b) {
  for (int i = 0; i < w->x->buffer_count; i++) {
    const struct design_buffer *u = &w->x->buffer[i];
    if (u->column == b->column && u->row == b->row && fits(u, b))
      return u;
  }
  return NULL;
}

/* Whether a descriptor of the tile goes over several buffers: then they are
 * exported as one, of all that the tile uses of its memory. */
static bool is_whole(const struct writer *w, int column, int row) {
  for (int i = 0; i < w->x->bd_count; i++)
    if (w->x->bd[i].column == column && w->x->bd[i].row == row &&
        !buffer_of(w, &w->x->bd[i]))
      return true;
  return false;
}

static struct design_buffer whole(const struct writer *w, int column, int row) {
  struct design_buffer all = {.name = "memory", .column = column, .row = row};
  for (int i = 0; i < w->x->buffer_count; i++) {
    const struct design_buffer *b = &w->x->buffer[i];
    if (b->column == column && b->row == row &&
        b->offset + b->bytes > all.bytes)
      all.bytes = b->offset + b->bytes;
  }
  return all;
}

static void put_buffer(struct writer *w, const struct design_buffer *b) {
  text_printf(w->out,
              "    %%%s_%d_%d = aie.buffer(%%tile_%d_%d) {address = %" PRIu32
              " : i32, sym_name = \"%s_%d_%d\"} : memref<%" PRIu32 "xi32>\n",
              b->name, b->column, b->row, b->column, b->row, b->offset, b->name,
              b->column, b->row, b->bytes / 4);
}

static void put_buffers(struct writer *w) {
  for (int i = 0; i < w->x->buffer_count; i++) {
    const struct design_buffer *b = &w->x->buffer[i], *before = b - 1;
    if (!is_whole(w, b->column, b->row)) {
      put_buffer(w, b);
      continue;
    }
    if (i == 0 || before->column != b->column || before->row != b->row) {
      struct design_buffer all = whole(w, b->column, b->row);
      put_buffer(w, &all);
    }
    text_printf(w->out, "    // %s: %" PRIu32 " words from word %" PRIu32 "\n",
                b->name, b->bytes / 4, b->offset / 4);
  }
}

static void put_locks(struct writer *w) {
  for (int i = 0; i < w->x->lock_count; i++) {
    const struct design_lock *l = &w->x->lock[i];
    text_printf(w->out,
                "    %%lock_%d_%d_%d = aie.lock(%%tile_%d_%d, %d) {init = %d : "
                "i32, sym_name = \"%s_lock_%d_%d\"}\n",
                l->column, l->row, l->id, l->column, l->row, l->id, l->value,
                l->name, l->column, l->row);
  }
}

static void put_cores(struct writer *w, const char *elf) {
  for (int i = 0; i < w->x->core_count; i++) {
    const struct design_core *c = &w->x->core[i];
    text_printf(w->out,
                "    %%core_%d_%d = aie.core(%%tile_%d_%d) {\n"
                "      aie.end\n"
                "    } {elf_file = \"%s\", stack_size = 0 : i32}\n",
                c->column, c->row, c->column, c->row, elf);
  }
}

/* ---- flows ---- */

struct end {
  int column, row;
  enum port port;
  int channel;
};

/* The shim's DMA is behind South ports: 3 and 7 are MM2S, 2 and 3 S2MM. */
static void put_flow(struct writer *w, const struct end *from,
                     const struct end *to) {
  text_printf(w->out,
              "    aie.flow(%%tile_%d_%d, DMA : %d, %%tile_%d_%d, DMA : "
              "%d)\n",
              from->column, from->row,
              from->row == SHIM_ROW ? from->channel == 7 : from->channel,
              to->column, to->row,
              to->row == SHIM_ROW ? to->channel == 3 : to->channel);
}

static bool is_end(const struct design_route *r) {
  return r->to == PORT_DMA || (r->row == SHIM_ROW && r->to == PORT_SOUTH);
}

/* Where what leaves by a master port arrives. */
static struct end behind(const struct design_route *r) {
  struct end e = {r->column, r->row, PORT_SOUTH, r->to_channel};
  if (r->to == PORT_NORTH) {
    e.row++;
  } else if (r->to == PORT_SOUTH) {
    e.row--;
    e.port = PORT_NORTH;
  } else if (r->to == PORT_EAST) {
    e.column++;
    e.port = PORT_WEST;
  } else {
    assert(r->to == PORT_WEST);
    e.column--;
    e.port = PORT_EAST;
  }
  return e;
}

/* All ends of what comes in at `at`. */
static void follow(struct writer *w, const struct end *from,
                   const struct end *at) {
  for (int i = 0; i < w->x->route_count; i++) {
    const struct design_route *r = &w->x->route[i];
    if (r->column != at->column || r->row != at->row || r->from != at->port ||
        r->from_channel != at->channel)
      continue;
    if (is_end(r)) {
      struct end to = {r->column, r->row, r->to, r->to_channel};
      put_flow(w, from, &to);
    } else {
      struct end next = behind(r);
      follow(w, from, &next);
    }
  }
}

static bool is_seen(const struct writer *w, int i) {
  const struct design_route *r = &w->x->route[i];
  for (int j = 0; j < i; j++) {
    const struct design_route *o = &w->x->route[j];
    if (o->column == r->column && o->row == r->row && o->from == r->from &&
        o->from_channel == r->from_channel)
      return true;
  }
  return false;
}

static void put_flows(struct writer *w) {
  for (int i = 0; i < w->x->route_count; i++) {
    const struct design_route *r = &w->x->route[i];
    bool begins =
        r->from == PORT_DMA || (r->row == SHIM_ROW && r->from == PORT_SOUTH);
    struct end from = {r->column, r->row, r->from, r->from_channel};
    if (begins && !is_seen(w, i))
      follow(w, &from, &from);
  }
}

/* ---- DMAs of mem tiles and cores ---- */

/* A number as an operand; before 2026, as it is. */
static void put_use_lock(struct writer *w, const struct design_bd *b, int lock,
                         int value) {
  const char *action = value > 0   ? "Release"
                       : value < 0 ? "AcquireGreaterEqual"
                                   : "Acquire";
  int amount = value < 0 ? -value : value;
  if (w->form == MLIR_2025) {
    text_printf(w->out, "      aie.use_lock(%%lock_%d_%d_%d, %s, %d)\n",
                b->column, b->row, lock, action, amount);
    return;
  }
  text_printf(w->out,
              "      %%v%d = arith.constant %d : i32\n"
              "      aie.use_lock(%%lock_%d_%d_%d, %s, %%v%d)\n",
              w->values, amount, b->column, b->row, lock, action, w->values);
  w->values++;
}

static void put_dims(struct writer *w, const uint32_t size[4],
                     const uint32_t step[4], int dims) {
  struct text *t = w->out;
  if (dims == 1 && step[0] == 1)
    return;
  if (w->form == MLIR_2025) {
    text_puts(t, ", [");
    for (int i = dims - 1; i >= 0; i--)
      text_printf(t, "<size = %" PRIu32 ", stride = %" PRIu32 ">%s", size[i],
                  step[i], i ? ", " : "]");
    return;
  }
  text_puts(t, " sizes = [");
  for (int i = dims - 1; i >= 0; i--)
    text_printf(t, "%" PRIu32 "%s", size[i], i ? ", " : "] strides = [");
  for (int i = dims - 1; i >= 0; i--)
    text_printf(t, "%" PRIu32 "%s", step[i], i ? ", " : "]");
}

static bool put_bd(struct writer *w, const struct design_bd *b) {
  const struct bd *f = &b->bd;
  struct design_buffer all = whole(w, b->column, b->row);
  const struct design_buffer *u =
      is_whole(w, b->column, b->row) ? &all : buffer_of(w, b);
  uint32_t size[4], step[4];
  int dims = dims_of(f, size, step);
  if (!fits(u, b) || f->iteration_count > 1 || f->packet || f->zero_before[0] ||
      f->zero_after[0])
    return diag_declined(w->d, loc_none(),
                         "tile (%d,%d): descriptor %s is beyond what is "
                         "exported: its own tile's memory, without iterations, "
                         "padding and packets",
                         b->column, b->row, b->name);
  if (f->acquire_lock >= 0)
    put_use_lock(w, b, f->acquire_lock, f->acquire_value);
  unsigned offset = (unsigned)(f->base - u->offset) / 4;
  bool words = w->form != MLIR_2025; /* before the numbers */
  text_printf(
      w->out,
      "      aie.dma_bd(%%%s_%d_%d : memref<%" PRIu32 "xi32>%s%u%s%" PRIu32,
      u->name, u->column, u->row, u->bytes / 4, words ? " offset = " : ", ",
      offset, words ? " len = " : ", ", f->length_words);
  put_dims(w, size, step, dims);
  text_printf(w->out, ") {bd_id = %d : i32}\n", b->id);
  if (f->release_value > 0)
    put_use_lock(w, b, f->release_lock, f->release_value);
  return true;
}

static const struct design_bd *find_bd(const struct writer *w, int column,
                                       int row, int id) {
  for (int i = 0; i < w->x->bd_count; i++)
    if (w->x->bd[i].column == column && w->x->bd[i].row == row &&
        w->x->bd[i].id == id)
      return &w->x->bd[i];
  return NULL;
}

/* A channel's chain, which ends or comes back to where it began. */
static bool put_chain(struct writer *w, const struct design_start *s) {
  for (int id = s->bd;;) {
    const struct design_bd *b = find_bd(w, s->column, s->row, id);
    assert(b);
    text_printf(w->out, "    ^bd%d:\n", id);
    if (!put_bd(w, b))
      return false;
    id = b->bd.next;
    if (id < 0) {
      text_puts(w->out, "      aie.next_bd ^end\n");
      return true;
    }
    text_printf(w->out, "      aie.next_bd ^bd%d\n", id);
    if (id == s->bd)
      return true;
  }
}

static bool put_dma(struct writer *w, int column, int row) {
  const struct design *x = w->x;
  int starts = 0;
  for (int i = 0; i < x->start_count; i++) {
    const struct design_start *s = &x->start[i];
    if (s->column != column || s->row != row)
      continue;
    if (!starts)
      text_printf(w->out, "    %%dma_%d_%d = aie.%s(%%tile_%d_%d) {\n", column,
                  row, row == MEM_ROW ? "memtile_dma" : "mem", column, row);
    else
      text_printf(w->out, "    ^start%d:\n", starts);
    int more = 0;
    for (int j = i + 1; j < x->start_count; j++)
      more += x->start[j].column == column && x->start[j].row == row;
    text_printf(w->out, "      %%start_%d = aie.dma_start(%s, %d, ^bd%d, ",
                starts, s->mm2s ? "MM2S" : "S2MM", s->channel, s->bd);
    starts++;
    if (more)
      text_printf(w->out, "^start%d)\n", starts);
    else
      text_puts(w->out, "^end)\n");
    if (!put_chain(w, s))
      return false;
  }
  if (starts)
    text_puts(w->out, "    ^end:\n      aie.end\n    }\n");
  return true;
}

/* ---- the transaction ---- */

static int put_constant(struct writer *w, uint32_t value) {
  text_printf(w->out, "      %%v%d = arith.constant %" PRId32 " : i32\n",
              w->values, (int32_t)value);
  return w->values++;
}

static void put_write(struct writer *w, uint32_t address, uint32_t value) {
  if (w->form == MLIR_2025) {
    text_printf(w->out,
                "      aiex.npu.write32 {address = %" PRIu32
                " : ui32, value = %" PRIu32 " : ui32}\n",
                address, value);
    return;
  }
  int a = put_constant(w, address), v = put_constant(w, value);
  text_printf(w->out, "      aiex.npu.write32(%%v%d, %%v%d) : i32, i32\n", a,
              v);
}

static void put_mask_write(struct writer *w, uint32_t address, uint32_t mask,
                           uint32_t value) {
  if (w->form == MLIR_2025) {
    text_printf(w->out,
                "      aiex.npu.maskwrite32 {address = %" PRIu32
                " : ui32, mask = %" PRIu32 " : ui32, value = %" PRIu32
                " : ui32}\n",
                address, mask, value);
    return;
  }
  int a = put_constant(w, address), v = put_constant(w, value),
      m = put_constant(w, mask);
  text_printf(
      w->out,
      "      aiex.npu.maskwrite32(%%v%d, %%v%d, %%v%d) : i32, i32, i32\n", a, v,
      m);
}

static void put_sync(struct writer *w, const struct command *c) {
  if (w->form == MLIR_2025) {
    text_printf(w->out,
                "      aiex.npu.sync {channel = %d : i32, column = %d : i32, "
                "column_num = 1 : i32, direction = %d : i32, row = %d : i32, "
                "row_num = 1 : i32}\n",
                c->channel, c->column, c->mm2s, c->row);
    return;
  }
  int column = put_constant(w, (uint32_t)c->column),
      row = put_constant(w, (uint32_t)c->row),
      direction = put_constant(w, c->mm2s),
      channel = put_constant(w, (uint32_t)c->channel), one = put_constant(w, 1);
  text_printf(w->out,
              "      aiex.npu.sync(%%v%d, %%v%d, %%v%d, %%v%d, %%v%d, %%v%d) : "
              "i32, i32, i32, i32, i32, i32\n",
              column, row, direction, channel, one, one);
}

static void put_patch(struct writer *w, const struct command *c) {
  if (w->form == MLIR_2025) {
    text_printf(w->out,
                "      aiex.npu.address_patch {addr = %" PRIu32
                " : ui32, arg_idx = %d : i32, arg_plus = %" PRIu64 " : i32}\n",
                c->address, c->argument, c->offset_bytes);
    return;
  }
  int plus = put_constant(w, (uint32_t)c->offset_bytes);
  text_printf(w->out,
              "      aiex.npu.address_patch(%%v%d : i32) {addr = %" PRIu32
              " : ui32, arg_idx = %d : i32}\n",
              plus, c->address, c->argument);
}

static void put_block(struct writer *w, uint32_t address, uint32_t count) {
  text_printf(w->out,
              "      %%data%d = memref.get_global @data_%d : memref<%" PRIu32
              "xi32>\n"
              "      aiex.npu.blockwrite(%%data%d) {address = %" PRIu32
              " : ui32} : memref<%" PRIu32 "xi32>\n",
              w->data, w->data, count, w->data, address, count);
  w->data++;
}

static void put_words(struct writer *w, const uint32_t *word, uint32_t count) {
  text_printf(
      w->out,
      "    memref.global \"private\" constant @data_%d : memref<%" PRIu32
      "xi32> = dense<[",
      w->data++, count);
  for (uint32_t i = 0; i < count; i++)
    text_printf(w->out, "%s%" PRId32, i ? ", " : "", (int32_t)word[i]);
  text_puts(w->out, "]>\n");
}

/* Whether a channel starts with the descriptor, or comes to it. */
static bool is_started(const struct writer *w, const struct design_bd *b) {
  const struct design *x = w->x;
  for (int i = 0; i < x->start_count; i++) {
    const struct design_start *s = &x->start[i];
    if (s->column != b->column || s->row != b->row)
      continue;
    for (int id = s->bd; id >= 0;) {
      if (id == b->id)
        return true;
      id = find_bd(w, s->column, s->row, id)->bd.next;
      if (id == s->bd)
        break;
    }
  }
  return false;
}

static bool is_pushed(const struct writer *w, const struct design_bd *b) {
  return tile_kind(b->row) != TILE_SHIM && !is_started(w, b);
}

static uint32_t bd_address(const struct design_bd *b) {
  bool mem = tile_kind(b->row) == TILE_MEM;
  return tile_address(b->column, b->row,
                      (uint32_t)(mem ? REG_MEM_BD : REG_CORE_BD) +
                          (uint32_t)b->id * (uint32_t)REG_MEM_BD_STRIDE);
}

/* What block writes write; in the order in which put_run names them. */
static bool put_data(struct writer *w) {
  for (int i = 0; i < w->x->bd_count; i++) {
    const struct design_bd *b = &w->x->bd[i];
    uint32_t words[8];
    if (!is_pushed(w, b))
      continue;
    int count = bd_pack(tile_kind(b->row), &b->bd, words, w->d);
    if (!count)
      return false;
    put_words(w, words, (uint32_t)count);
  }
  for (int i = 0; i < w->r->run->count; i++) {
    const struct command *c = &w->r->run->item[i];
    if (c->kind == COMMAND_BLOCK)
      put_words(w, c->words, c->count);
  }
  w->data = 0;
  return true;
}

/* ---- waiting for a channel to be idle, which 2025 had no word for: its last
 * task issues a token, and all that are on their way are waited for ---- */

static const uint32_t token = 1u << 31;

static uint32_t shim_s2mm(int column, int channel, int reg, int stride) {
  return tile_address(column, SHIM_ROW, (uint32_t)(reg + channel * stride));
}

static bool is_last_push(const struct writer *w, const struct command *c) {
  const struct command *end = w->r->run->item + w->r->run->count;
  bool queue = false;
  for (int column = 0; column < w->x->program->grid.columns; column++)
    for (int i = 0; i < REG_SHIM_S2MM_QUEUE_COUNT; i++)
      queue |= c->address == shim_s2mm(column, i, REG_SHIM_S2MM_QUEUE,
                                       REG_SHIM_S2MM_QUEUE_STRIDE);
  for (const struct command *o = c + 1; queue && o < end; o++)
    queue = o->kind != COMMAND_WRITE || o->address != c->address;
  return queue;
}

static uint32_t value_of(const struct writer *w, const struct command *c) {
  return c->value | (w->form == MLIR_2025 && is_last_push(w, c) ? token : 0);
}

/* Tokens of a shim channel that nobody waits for. */
static int tokens(const struct writer *w, int column, int channel) {
  uint32_t queue = shim_s2mm(column, channel, REG_SHIM_S2MM_QUEUE,
                             REG_SHIM_S2MM_QUEUE_STRIDE);
  int n = 0;
  for (int i = 0; i < w->r->run->count; i++) {
    const struct command *c = &w->r->run->item[i];
    if (c->kind == COMMAND_WRITE && c->address == queue)
      n += (value_of(w, c) & token) != 0;
    if (c->kind == COMMAND_SYNC && c->column == column && !c->mm2s &&
        c->channel == channel)
      n--;
  }
  return n;
}

static bool put_poll(struct writer *w, const struct command *c) {
  if (w->form != MLIR_2025) {
    int a = put_constant(w, c->address), v = put_constant(w, c->value),
        m = put_constant(w, c->mask);
    text_printf(
        w->out,
        "      aiex.npu.maskpoll(%%v%d, %%v%d, %%v%d) : i32, i32, i32\n", a, v,
        m);
    return true;
  }
  for (int column = 0; column < w->x->program->grid.columns; column++)
    for (int i = 0; i < REG_SHIM_S2MM_STATUS_COUNT; i++) {
      struct command sync = {.column = column, .channel = i};
      if (c->address != shim_s2mm(column, i, REG_SHIM_S2MM_STATUS,
                                  REG_SHIM_S2MM_STATUS_STRIDE))
        continue;
      for (int n = tokens(w, column, i); n > 0; n--)
        put_sync(w, &sync);
      return true;
    }
  return diag_declined(w->d, loc_none(),
                       "the transaction waits for a register, for which there "
                       "was no word in 2025");
}

static bool put_command(struct writer *w, const struct command *c) {
  switch (c->kind) {
  case COMMAND_WRITE:
    put_write(w, c->address, value_of(w, c));
    return true;
  case COMMAND_MASK_WRITE:
    put_mask_write(w, c->address, c->mask, c->value);
    return true;
  case COMMAND_BLOCK:
    put_block(w, c->address, c->count);
    return true;
  case COMMAND_SYNC:
    put_sync(w, c);
    return true;
  case COMMAND_DDR_PATCH:
    put_patch(w, c);
    return true;
  case COMMAND_MASK_POLL:
    return put_poll(w, c);
  case COMMAND_DELAY:
    break;
  }
  return diag_declined(w->d, loc_none(), "the transaction waits for a time");
}

static bool put_run(struct writer *w) {
  static const char *const name[] = {"in0", "in1", "out"};
  int64_t bytes[TENSORS];
  for (int i = 0; i < TENSORS; i++)
    bytes[w->x->program->transfer[i].tensor] = w->x->program->transfer[i].bytes;
  text_printf(w->out, "    %s.runtime_sequence(",
              w->form == MLIR_2025 ? "aiex" : "aie");
  for (int i = 0; i < TENSORS; i++)
    text_printf(w->out, "%s%%%s: memref<%" PRId64 "xi32>", i ? ", " : "",
                name[i], bytes[i] / 4);
  text_puts(w->out, ") {\n");
  for (int i = 0; i < w->x->bd_count; i++) {
    const struct design_bd *b = &w->x->bd[i];
    if (is_pushed(w, b))
      put_block(w, bd_address(b), tile_kind(b->row) == TILE_MEM ? 8 : 6);
  }
  for (int c = 0; c < w->x->program->grid.columns; c++)
    for (int i = 0; i < REG_SHIM_S2MM_CTRL_COUNT; i++)
      put_mask_write(w,
                     tile_address(c, SHIM_ROW,
                                  (uint32_t)(REG_SHIM_S2MM_CTRL +
                                             i * REG_SHIM_S2MM_CTRL_STRIDE)),
                     0x1F00, (uint32_t)DESIGN_TOKEN_ID << 8);
  for (int i = 0; i < w->r->run->count; i++)
    if (!put_command(w, &w->r->run->item[i]))
      return false;
  text_puts(w->out, "    }\n");
  return true;
}

bool mlir_print(const struct npu_result *r, enum mlir_form form,
                const char *elf, struct text *t, struct diag *d) {
  struct writer w = {.r = r, .x = r->design, .form = form, .out = t, .d = d};
  text_printf(t, "module {\n  aie.device(%s) {\n", r->program->device->name);
  put_tiles(&w);
  put_buffers(&w);
  put_locks(&w);
  put_flows(&w);
  put_cores(&w, elf);
  for (int c = 0; c < w.x->program->grid.columns; c++)
    for (int row = MEM_ROW; row < rows(&w); row++)
      if (!put_dma(&w, c, row))
        return false;
  if (!put_data(&w) || !put_run(&w))
    return false;
  text_puts(t, "  }\n}\n");
  return true;
}
