/* design_text.c -- a design as text, tile by tile, for people; and as records
 * of key=value words. */
#include "parts.h"

static const char *const port_name[PORT_KINDS] = {
    [PORT_CORE] = "core",   [PORT_DMA] = "dma",     [PORT_CONTROL] = "control",
    [PORT_FIFO] = "fifo",   [PORT_SOUTH] = "south", [PORT_WEST] = "west",
    [PORT_NORTH] = "north", [PORT_EAST] = "east",   [PORT_TRACE] = "trace"};

static const char *direction(bool mm2s) { return mm2s ? "mm2s" : "s2mm"; }

/* "16x+1": so many steps of so many words; the outermost has no wrap of its
 * own, so 0. */
static void put_dim(const char *before, const struct bd_dim *d,
                    const char *after, struct text *t) {
  text_printf(t, "%s%ux%+d%s", before, d->wrap, (int)d->step_words, after);
}

static bool dim_says(const struct bd_dim *d) {
  return d->wrap || d->step_words != 1;
}

static void print_bd(const struct design_bd *b, struct text *t) {
  text_printf(t, "  bd %d %s %s%d %s words %u", b->id, b->name,
              direction(b->mm2s), b->channel, b->row ? "at" : "argument",
              b->bd.length_words);
  if (b->row)
    text_printf(t, " from 0x%llx", (unsigned long long)b->bd.base);
  if (b->offset_bytes)
    text_printf(t, " +%lld", (long long)b->offset_bytes);
  for (int i = 0; i < 4; i++)
    if (dim_says(&b->bd.dim[i])) {
      text_printf(t, " d%d ", i);
      put_dim("", &b->bd.dim[i], "", t);
    }
  if (b->bd.iteration_count > 1)
    text_printf(t, " iteration %ux+%u", b->bd.iteration_count,
                b->bd.iteration_step_words);
  for (int i = 0; i < 3; i++)
    if (b->bd.zero_before[i] || b->bd.zero_after[i])
      text_printf(t, " zeros d%d %u+%u", i, b->bd.zero_before[i],
                  b->bd.zero_after[i]);
  if (b->bd.acquire_lock >= 0)
    text_printf(t, " acquire %d %+d", b->bd.acquire_lock, b->bd.acquire_value);
  if (b->bd.release_lock >= 0)
    text_printf(t, " release %d %+d", b->bd.release_lock, b->bd.release_value);
  if (b->bd.next >= 0)
    text_printf(t, " next %d", b->bd.next);
  text_puts(t, "\n");
}

static void print_tile(const struct design *x, int column, int row,
                       struct text *t) {
  text_printf(t, "tile (%d,%d)\n", column, row);
  for (int i = 0; i < x->buffer_count; i++) {
    const struct design_buffer *b = &x->buffer[i];
    if (b->column == column && b->row == row)
      text_printf(t, "  buffer %s 0x%x..0x%x\n", b->name, b->offset,
                  b->offset + b->bytes);
  }
  for (int i = 0; i < x->lock_count; i++) {
    const struct design_lock *l = &x->lock[i];
    if (l->column == column && l->row == row)
      text_printf(t, "  lock %d %s = %d\n", l->id, l->name, l->value);
  }
  for (int i = 0; i < x->bd_count; i++)
    if (x->bd[i].column == column && x->bd[i].row == row)
      print_bd(&x->bd[i], t);
  for (int i = 0; i < x->start_count; i++) {
    const struct design_start *s = &x->start[i];
    if (s->column == column && s->row == row)
      text_printf(t, "  start %s%d bd %d\n", direction(s->mm2s), s->channel,
                  s->bd);
  }
  for (int i = 0; i < x->route_count; i++) {
    const struct design_route *r = &x->route[i];
    if (r->column == column && r->row == row)
      text_printf(t, "  route %s%d -> %s%d  %s\n", port_name[r->from],
                  r->from_channel, port_name[r->to], r->to_channel, r->flow);
  }
}

void design_print(const struct design *x, struct text *t) {
  map_print(x->program, t);
  for (int column = 0; column < x->program->grid.columns; column++)
    for (int row = 0; row < 2 + design_rows(x->program); row++)
      print_tile(x, column, row, t);
  text_printf(t, "launch steps %u rounds %u\n", x->launch.steps,
              x->launch.rounds);
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *k = &x->task[i];
    text_printf(t,
                "task phase %d tile (%d,%d) %s%d bd %d %s +%llu words %u "
                "repeat %d%s\n",
                k->phase, k->column, k->row, direction(k->mm2s), k->channel,
                k->bd, tensor_name(k->argument),
                (unsigned long long)k->offset_bytes, k->length_words, k->repeat,
                k->token ? " token" : "");
  }
}

/* ---- records: a line of key=value words for each part ---- */

static void put_part(const char *part, int column, int row, struct text *t) {
  text_printf(t, "part=%s column=%d row=%d", part, column, row);
}

static void put_bd(const struct design_bd *b, struct text *t) {
  put_part("bd", b->column, b->row, t);
  text_printf(t, " id=%d name=\"%s\" channel=%s%d words=%u", b->id, b->name,
              direction(b->mm2s), b->channel, b->bd.length_words);
  if (b->row)
    text_printf(t, " base=%llu", (unsigned long long)b->bd.base);
  if (b->offset_bytes)
    text_printf(t, " offset=%lld", (long long)b->offset_bytes);
  for (int i = 0; i < 4; i++)
    if (dim_says(&b->bd.dim[i]))
      text_printf(t, " wrap%d=%u step%d=%d", i, b->bd.dim[i].wrap, i,
                  (int)b->bd.dim[i].step_words);
  if (b->bd.iteration_count > 1)
    text_printf(t, " iterations=%u iteration_step=%u", b->bd.iteration_count,
                b->bd.iteration_step_words);
  for (int i = 0; i < 3; i++)
    if (b->bd.zero_before[i] || b->bd.zero_after[i])
      text_printf(t, " zeros_before%d=%u zeros_after%d=%u", i,
                  b->bd.zero_before[i], i, b->bd.zero_after[i]);
  if (b->bd.acquire_lock >= 0)
    text_printf(t, " acquire=%d acquire_value=%d", b->bd.acquire_lock,
                b->bd.acquire_value);
  if (b->bd.release_lock >= 0)
    text_printf(t, " release=%d release_value=%d", b->bd.release_lock,
                b->bd.release_value);
  if (b->bd.next >= 0)
    text_printf(t, " next=%d", b->bd.next);
  text_puts(t, "\n");
}

static void put_parts(const struct design *x, struct text *t) {
  for (int i = 0; i < x->buffer_count; i++) {
    const struct design_buffer *b = &x->buffer[i];
    put_part("buffer", b->column, b->row, t);
    text_printf(t, " name=\"%s\" offset=%u bytes=%u\n", b->name, b->offset,
                b->bytes);
  }
  for (int i = 0; i < x->lock_count; i++) {
    const struct design_lock *l = &x->lock[i];
    put_part("lock", l->column, l->row, t);
    text_printf(t, " id=%d name=\"%s\" value=%d\n", l->id, l->name, l->value);
  }
  for (int i = 0; i < x->bd_count; i++)
    put_bd(&x->bd[i], t);
  for (int i = 0; i < x->start_count; i++) {
    const struct design_start *s = &x->start[i];
    put_part("start", s->column, s->row, t);
    text_printf(t, " channel=%s%d bd=%d\n", direction(s->mm2s), s->channel,
                s->bd);
  }
  for (int i = 0; i < x->route_count; i++) {
    const struct design_route *r = &x->route[i];
    put_part("route", r->column, r->row, t);
    text_printf(t, " from=%s%d to=%s%d flow=\"%s\"\n", port_name[r->from],
                r->from_channel, port_name[r->to], r->to_channel, r->flow);
  }
}

void design_records(const struct design *x, struct text *t) {
  const struct map_grid *g = &x->program->grid;
  text_printf(t,
              "part=design device=%s columns=%d rows=%d block_m=%d block_n=%d "
              "block_k=%d steps=%u rounds=%u\n",
              x->program->device->name, g->columns, g->rows,
              x->program->block_m, x->program->block_n, x->program->block_k,
              x->launch.steps, x->launch.rounds);
  put_parts(x, t);
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *k = &x->task[i];
    put_part("task", k->column, k->row, t);
    text_printf(t,
                " phase=%d channel=%s%d bd=%d tensor=%s offset=%llu words=%u "
                "repeat=%d token=%d\n",
                k->phase, direction(k->mm2s), k->channel, k->bd,
                tensor_name(k->argument), (unsigned long long)k->offset_bytes,
                k->length_words, k->repeat, k->token);
  }
}
