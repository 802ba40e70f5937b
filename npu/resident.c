/* resident.c -- what a design leaves free for a transaction that stays on the
 * device (npu/image/resident.c): in one column a channel of the shim in each
 * direction, two of the mem tile, lanes between them, and a line of its memory.
 */
#include "emit.h"

enum { READ_CYCLES = 512 }; /* that the host's word is old at most, and more */

static bool shim_port_used(const struct design *x, int column, bool mm2s,
                           int lane) {
  for (int i = 0; i < x->route_count; i++) {
    const struct design_route *r = &x->route[i];
    if (r->column == column && r->row == SHIM_ROW &&
        (mm2s ? r->from == PORT_SOUTH && r->from_channel == lane
              : r->to == PORT_SOUTH && r->to_channel == lane))
      return true;
  }
  return false;
}

static bool tasks_use(const struct design *x, int column, bool mm2s,
                      int channel) {
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *k = &x->task[i];
    if (k->column == column && k->row == SHIM_ROW && k->mm2s == mm2s &&
        k->channel == channel)
      return true;
  }
  return false;
}

/* A channel of the shim; -1: none is free. */
static int free_shim_channel(const struct design *x, int column, bool mm2s) {
  static const int lane[2][2] = {{2, 3}, {3, 7}}; /* array.md 6 */
  for (int c = 0; c < 2; c++)
    if (!tasks_use(x, column, mm2s, c) &&
        !shim_port_used(x, column, mm2s, lane[mm2s][c]))
      return c;
  return -1;
}

/* Whether a route enters, or leaves, the tile there. */
static bool route_uses(const struct design *x, int column, int row, bool leaves,
                       enum port port, int channel) {
  for (int i = 0; i < x->route_count; i++) {
    const struct design_route *r = &x->route[i];
    if (r->column == column && r->row == row &&
        (leaves ? r->to == port && r->to_channel == channel
                : r->from == port && r->from_channel == channel))
      return true;
  }
  return false;
}

static int free_mem_channel(const struct design *x, int column, bool mm2s) {
  int channels = x->program->device->tile[TILE_MEM].channels;
  for (int c = 0; c < channels; c++)
    if (!route_uses(x, column, MEM_ROW, !mm2s, PORT_DMA, c))
      return c;
  return -1;
}

/* A lane between shim and mem tile, upwards or downwards. */
static int free_lane(const struct design *x, int column, bool up) {
  enum { UP = 5, DOWN = 3 }; /* the last ones are the ways' of changes */
  for (int lane = 0; lane < (up ? UP : DOWN); lane++)
    if (up ? !route_uses(x, column, SHIM_ROW, true, PORT_NORTH, lane) &&
                 !route_uses(x, column, MEM_ROW, false, PORT_SOUTH, lane)
           : !route_uses(x, column, SHIM_ROW, false, PORT_NORTH, lane) &&
                 !route_uses(x, column, MEM_ROW, true, PORT_SOUTH, lane))
      return lane;
  return -1;
}

static bool bd_used(const struct design *x, int column, int row, int id) {
  for (int i = 0; i < x->bd_count; i++)
    if (x->bd[i].column == column && x->bd[i].row == row && x->bd[i].id == id)
      return true;
  return false;
}

/* From `first` to before `end`, not `but`; -1: none. */
static int free_bd(const struct design *x, int column, int row, int first,
                   int end, int but) {
  for (int id = first; id < end; id++)
    if (id != but && !bd_used(x, column, row, id))
      return id;
  return -1;
}

/* Odd channels of a mem tile use the upper half of its descriptors. */
static int free_mem_bd(const struct design *x, int column, int channel,
                       int but) {
  int half = x->program->device->tile[TILE_MEM].bds / 2;
  int first = channel % 2 * half;
  return free_bd(x, column, MEM_ROW, first, first + half, but);
}

/* The last line of the mem tile's memory, with so many words before it; -1: it
 * is used. */
static int64_t free_line(const struct design *x, int column, uint32_t words) {
  uint32_t at =
      x->program->device->tile[TILE_MEM].memory_bytes - RESIDENT_LINE_BYTES;
  for (int i = 0; i < x->buffer_count; i++) {
    const struct design_buffer *b = &x->buffer[i];
    if (b->column == column && b->row == MEM_ROW &&
        b->offset + b->bytes > at - 4 * words)
      return -1;
  }
  return at;
}

static bool find_in(const struct design *x, int column,
                    struct resident_place *p) {
  int bds = x->program->device->tile[TILE_SHIM].bds;
  uint32_t words = READ_CYCLES * (uint32_t)x->program->device->stream_words;
  int64_t line = free_line(x, column, words);
  *p = (struct resident_place){
      .column = column,
      .mm2s = free_shim_channel(x, column, true),
      .s2mm = free_shim_channel(x, column, false),
      .to_mem = free_mem_channel(x, column, false),
      .from_mem = free_mem_channel(x, column, true),
      .north = free_lane(x, column, true),
      .south = free_lane(x, column, false),
      .words = words,
  };
  if (line < 0 || p->mm2s < 0 || p->s2mm < 0 || p->to_mem < 0 ||
      p->from_mem < 0 || p->north < 0 || p->south < 0)
    return false;
  p->offset = (uint32_t)line;
  p->mem_bd[0] = free_mem_bd(x, column, p->to_mem, -1);
  p->mem_bd[1] = free_mem_bd(x, column, p->from_mem, p->mem_bd[0]);
  for (int i = 0, first = 0; i < 3; i++) {
    p->shim_bd[i] = free_bd(x, column, SHIM_ROW, first, bds, -1);
    if (p->shim_bd[i] < 0)
      return false;
    first = p->shim_bd[i] + 1;
  }
  return p->mem_bd[0] >= 0 && p->mem_bd[1] >= 0;
}

bool resident_find(const struct design *x, struct resident_place *p) {
  const struct device *device = x->program->device;
  int columns = device_partition(device, x->program->grid.columns);
  for (int c = 0; c <= columns && c < device->columns; c++)
    if (find_in(x, c, p)) {
      p->columns = c < columns ? columns : device_partition(device, c + 1);
      return true;
    }
  return false;
}
