/* design_text.c -- a design as text, tile by tile, for people. */
#include "parts.h"

static const char *const port_name[PORT_KINDS] = {
    [PORT_CORE] = "core",   [PORT_DMA] = "dma",     [PORT_CONTROL] = "control",
    [PORT_FIFO] = "fifo",   [PORT_SOUTH] = "south", [PORT_WEST] = "west",
    [PORT_NORTH] = "north", [PORT_EAST] = "east",   [PORT_TRACE] = "trace"};

static void print_bd(const struct design_bd *b, struct text *t) {
  text_printf(t, "  bd %d %s %s%d %s words %u", b->id, b->name,
              b->mm2s ? "mm2s" : "s2mm", b->channel, b->row ? "at" : "argument",
              b->bd.length_words);
  if (b->row)
    text_printf(t, " from 0x%llx", (unsigned long long)b->bd.base);
  for (int i = 0; i < 4; i++)
    if (b->bd.dim[i].wrap || b->bd.dim[i].step_words != 1)
      text_printf(t, " d%d %ux%+d", i, b->bd.dim[i].wrap,
                  (int)b->bd.dim[i].step_words);
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
      text_printf(t, "  start %s%d bd %d\n", s->mm2s ? "mm2s" : "s2mm",
                  s->channel, s->bd);
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
    for (int row = 0; row < 2 + x->program->grid.rows; row++)
      print_tile(x, column, row, t);
  text_printf(t, "launch steps %u rounds %u\n", x->launch.steps,
              x->launch.rounds);
  static const char *const argument[] = {"in0", "in1", "out"};
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *k = &x->task[i];
    text_printf(t,
                "task phase %d tile (%d,%d) %s%d bd %d %s +%llu words %u "
                "repeat %d%s\n",
                k->phase, k->column, k->row, k->mm2s ? "mm2s" : "s2mm",
                k->channel, k->bd, argument[k->argument],
                (unsigned long long)k->offset_bytes, k->length_words, k->repeat,
                k->token ? " token" : "");
  }
}
