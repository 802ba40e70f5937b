/* route.c -- circuits through the stream switches.
 *
 * A flow has one source port and one or more destination ports.  Its tree goes
 * up or down the source's column first and then along rows: the vertical wires
 * of a column carry only that column's flows, and a row's horizontal wires only
 * the flow that is broadcast along it.  On every wire bundle the flow takes the
 * lowest lane that is free; mem tiles pass a stream straight on with its lane
 * number (array.md section 6), so a lane must then be free on both sides.
 */
#include "parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 8, MAX_ROWS = 6 };

struct end {
  int column, row;
  enum port port;
  int channel;
};

struct router {
  struct builder *m;
  /* lanes taken on the wires that leave a tile in a direction */
  unsigned taken[MAX_COLUMNS][MAX_ROWS][PORT_KINDS];
};

static bool has_connection(const struct design *x, int column, int row,
                           enum port to, int to_channel,
                           struct design_route **found) {
  for (int i = 0; i < x->route_count; i++) {
    struct design_route *r = &x->route[i];
    if (r->column == column && r->row == row && r->to == to &&
        r->to_channel == to_channel) {
      *found = r;
      return true;
    }
  }
  return false;
}

static bool connect(struct router *r, const char *flow, struct end at,
                    enum port to, int to_channel) {
  struct design_route *old;
  if (has_connection(r->m->design, at.column, at.row, to, to_channel, &old)) {
    if (old->from == at.port && old->from_channel == at.channel)
      return true;
    return diag_error(r->m->diag, loc_none(),
                      "flow %s: a port of tile (%d,%d) is taken by flow %s",
                      flow, at.column, at.row, old->flow);
  }
  *add_route(r->m) = (struct design_route){flow, at.column,  at.row,    at.port,
                                           to,   at.channel, to_channel};
  return true;
}

/* The lane on which this flow already leaves the tile, or -1. */
static int lane_of(const struct router *r, const char *flow, struct end at,
                   enum port direction) {
  const struct design *x = r->m->design;
  for (int i = 0; i < x->route_count; i++) {
    const struct design_route *c = &x->route[i];
    if (c->column == at.column && c->row == at.row && c->to == direction &&
        c->from == at.port && c->from_channel == at.channel &&
        strcmp(c->flow, flow) == 0)
      return c->to_channel;
  }
  return -1;
}

static int free_lane(const struct router *r, struct end at,
                     enum port direction) {
  enum tile_kind kind = tile_kind(at.row);
  for (int lane = 0; port_master(kind, direction, lane) >= 0; lane++)
    if (!(r->taken[at.column][at.row][direction] & 1u << lane) &&
        port_connects(kind, at.port, at.channel, direction, lane))
      return lane;
  return -1;
}

/* One step over a wire; *at becomes the slave port on the other side. */
static bool step(struct router *r, const char *flow, struct end *at,
                 enum port direction) {
  int lane = lane_of(r, flow, *at, direction);
  if (lane < 0)
    lane = free_lane(r, *at, direction);
  if (lane < 0)
    return diag_error(r->m->diag, loc_none(),
                      "flow %s: no free wire leaves tile (%d,%d)", flow,
                      at->column, at->row);
  assert(at->column >= 0 && at->column < MAX_COLUMNS && at->row >= 0 &&
         at->row < MAX_ROWS);
  assert(lane < 32);
  r->taken[at->column][at->row][direction] |= 1u << lane;
  if (!connect(r, flow, *at, direction, lane))
    return false;
  static const enum port other_side[PORT_KINDS] = {[PORT_NORTH] = PORT_SOUTH,
                                                   [PORT_SOUTH] = PORT_NORTH,
                                                   [PORT_EAST] = PORT_WEST,
                                                   [PORT_WEST] = PORT_EAST};
  at->port = other_side[direction];
  at->channel = lane;
  at->row += (direction == PORT_NORTH) - (direction == PORT_SOUTH);
  at->column += (direction == PORT_EAST) - (direction == PORT_WEST);
  return true;
}

static bool route(struct router *r, const char *flow, struct end from,
                  struct end to) {
  struct end at = from;
  while (at.row != to.row)
    if (!step(r, flow, &at, to.row > at.row ? PORT_NORTH : PORT_SOUTH))
      return false;
  while (at.column != to.column)
    if (!step(r, flow, &at, to.column > at.column ? PORT_EAST : PORT_WEST))
      return false;
  if (!port_connects(tile_kind(at.row), at.port, at.channel, to.port,
                     to.channel))
    return diag_error(r->m->diag, loc_none(),
                      "flow %s: tile (%d,%d) cannot connect its last hop", flow,
                      at.column, at.row);
  return connect(r, flow, at, to.port, to.channel);
}

/* Shim DMA channels appear on South ports: MM2S 0, 1 as slaves South 3, 7;
 * S2MM 0, 1 behind masters South 2, 3 (array.md section 6). */
static const int shim_mm2s_south[] = {3, 7};
static const int shim_s2mm_south[] = {2, 3};

/* From shim channel `channel` to a mem tile's. */
static bool route_in(struct router *r, int column, int channel) {
  struct end shim = {column, 0, PORT_SOUTH, shim_mm2s_south[channel]};
  struct end mem = {column, 1, PORT_DMA, channel};
  return route(r, arena_printf(r->m->arena, "in%d_%d", channel, column), shim,
               mem);
}

/* What rows share, to the cores of all columns in so many rows. */
static bool route_rows(struct router *r, int column, int first, int rows,
                       int from, int to, const char *name) {
  struct end mem = {column, 1, PORT_DMA, from};
  for (int row = first; row < first + rows; row++)
    for (int i = 0; i < r->m->design->program->grid.columns; i++)
      if (!route(r, name, mem, (struct end){i, CORE_ROW + row, PORT_DMA, to}))
        return false;
  return true;
}

/* What a column shares, to every `step`th of its cores. */
static bool route_column(struct router *r, int column, int first, int step,
                         int from, int to, const char *name) {
  struct end mem = {column, 1, PORT_DMA, from};
  for (int row = first; row < r->m->design->program->grid.rows; row += step)
    if (!route(r, name, mem,
               (struct end){column, CORE_ROW + row, PORT_DMA, to}))
      return false;
  return true;
}

/* The blocks of in0 that this column sends. */
static bool route_in0(struct router *r, int column) {
  const struct tile_program *p = r->m->design->program;
  const struct map_grid *g = &p->grid;
  int part = design_in0_part(p, column), from = design_in0_way(p).out;
  const char *name = arena_printf(r->m->arena, "block0_%d", part);
  return part < 0    ? true
         : g->across ? route_column(r, column, 0, 1, from, IN0, name)
                     : route_rows(r, column, part * g->split, g->split, from,
                                  IN0, name);
}

/* Of in1, part `part` of those that it has. */
static bool route_in1(struct router *r, int column, int part) {
  const struct tile_program *p = r->m->design->program;
  const struct map_grid *g = &p->grid;
  int row = design_in1_part(p, column), from = design_in1_way(p, part).out;
  const char *name = arena_printf(r->m->arena, "block1_%d_%d", column, part);
  return row < 0     ? true
         : g->across ? route_rows(r, column, row, 1, from, IN1, name)
                     : route_column(r, column, part, g->split, from, IN1, name);
}

/* Both inputs to every core of a column, each on a channel of its own. */
static bool route_apart(struct router *r, int column) {
  const struct tile_program *p = r->m->design->program;
  bool good = true;
  for (int row = 0; row < p->grid.rows && good; row++)
    good = route(r, arena_printf(r->m->arena, "blocks_%d_%d", column, row),
                 (struct end){column, 1, PORT_DMA, design_row_channel(row)},
                 (struct end){column, CORE_ROW + row, PORT_DMA, 0});
  return good;
}

/* From the shim to the column's converting core, and what that makes: in0 to
 * the mem tile, in1 to a row of cores. */
static bool route_converter(struct router *r, int column) {
  const struct tile_program *p = r->m->design->program;
  struct arena *a = r->m->arena;
  int row = design_convert_row(p), part = design_in1_part(p, column);
  bool good = true;
  for (int i = IN0; i <= (part < 0 ? IN0 : IN1) && good; i++)
    good = route(r, arena_printf(a, "in%d_%d", i, column),
                 (struct end){column, 0, PORT_SOUTH, shim_mm2s_south[i]},
                 (struct end){column, row, PORT_DMA, i});
  good = good && route(r, arena_printf(a, "made0_%d", column),
                       (struct end){column, row, PORT_DMA, IN0},
                       (struct end){column, 1, PORT_DMA, design_in0_way(p).in});
  for (int i = 0; i < p->grid.columns && part >= 0 && good; i++)
    good = route(r, arena_printf(a, "block1_%d_0", column),
                 (struct end){column, row, PORT_DMA, IN1},
                 (struct end){i, CORE_ROW + part, PORT_DMA, IN1});
  return good;
}

static bool route_out(struct router *r, int column) {
  const struct tile_program *p = r->m->design->program;
  struct arena *a = r->m->arena;
  for (int row = 0; row < p->grid.rows; row++) {
    struct end core = {column, CORE_ROW + row, PORT_DMA, 0};
    struct end mem = {column, 1, PORT_DMA, 2 + row};
    if (!route(r, arena_printf(a, "out_%d_%d", column, row), core, mem))
      return false;
  }
  for (int join = 0; join < p->joins; join++) {
    struct end mem_out = {column, 1, PORT_DMA, design_join_channel(p, join)};
    struct end shim_out = {column, 0, PORT_SOUTH, shim_s2mm_south[join]};
    if (!route(r, arena_printf(a, "join%d_%d", join, column), mem_out,
               shim_out))
      return false;
  }
  return true;
}

bool make_routes(struct builder *m) {
  const struct map_grid *g = &m->design->program->grid;
  bool converts = m->design->program->converts;
  assert(g->columns <= MAX_COLUMNS &&
         CORE_ROW + design_rows(m->design->program) <= MAX_ROWS);
  struct router r = {.m = m};
  bool good = true;
  for (int column = 0; column < g->columns && good; column++)
    for (int channel = 0; channel < 2; channel++)
      good = good && (converts || route_in(&r, column, channel));
  for (int column = 0; column < g->columns && converts; column++)
    good = good && route_converter(&r, column);
  for (int column = 0; column < g->columns && !g->apart; column++)
    good = good && route_in0(&r, column);
  for (int column = 0; column < g->columns; column++) {
    for (int part = 0; part < g->split && !g->apart && !converts; part++)
      good = good && route_in1(&r, column, part);
    good = good && (!g->apart || route_apart(&r, column));
    good = good && route_out(&r, column);
  }
  return good;
}
