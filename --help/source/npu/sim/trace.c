/* What the simulator says about itself: names of tiles and channels, the first
 * failure, one line per event when a trace is wanted. */
#include "tile.h"

const char *tile_name(const struct tile *t, char buffer[32]) {
  static const char *const kinds[TILE_KINDS] = {
      [TILE_SHIM] = "shim", [TILE_MEM] = "mem", [TILE_CORE] = "core"};
  snprintf(buffer, 32, "%s (%d,%d)", kinds[t->kind], t->column, t->row);
  return buffer;
}

const char *channel_name(const struct channel *c, char buffer[48]) {
  char tile[32];
  snprintf(buffer, 48, "%s %s%d", tile_name(c->tile, tile),
           c->mm2s ? "MM2S" : "S2MM", c->index);
  return buffer;
}

static const char *port_name(enum port kind, int channel, char buffer[16]) {
  static const char *const names[PORT_KINDS + 1] = {
      [PORT_CORE] = "core",       [PORT_DMA] = "dma",
      [PORT_CONTROL] = "control", [PORT_FIFO] = "fifo",
      [PORT_SOUTH] = "south",     [PORT_WEST] = "west",
      [PORT_NORTH] = "north",     [PORT_EAST] = "east",
      [PORT_TRACE] = "trace",     [PORT_KINDS] = "none"};
  snprintf(buffer, 16, "%s%d", names[kind], channel & 0xFF);
  return buffer;
}

const char *slave_name(const struct tile *t, int index, char buffer[16]) {
  enum port kind = PORT_KINDS;
  int channel = index;
  port_of_slave(t->kind, index, &kind, &channel);
  return port_name(kind, channel, buffer);
}

const char *master_name(const struct tile *t, int index, char buffer[16]) {
  enum port kind = PORT_KINDS;
  int channel = index;
  port_of_master(t->kind, index, &kind, &channel);
  return port_name(kind, channel, buffer);
}

void trace_event(struct sim *s, const struct tile *t, const char *format, ...) {
  FILE *out = s->options.trace;
  char name[32];
  if (!out)
    return;
  va_list args;
  va_start(args, format);
  fprintf(out, "%10llu %s ", (unsigned long long)s->now,
          t ? tile_name(t, name) : "control");
  vfprintf(out, format, args);
  fputc('\n', out);
  va_end(args);
}

bool sim_fail(struct sim *s, const char *format, ...) {
  if (s->failed)
    return false;
  s->failed = true;
  char text[sizeof s->diag.text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return diag_error(&s->diag, loc_none(), "%s", text);
}
