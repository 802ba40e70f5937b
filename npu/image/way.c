/* way.c -- one stream from the first mem tile to the TileControl masters of
 * many tiles.
 *
 * To cores it goes up column 0, along their first row and up all columns; to
 * mem tiles down to the shim tile, along the shim tiles and up the other
 * columns, and where the sender is a member, to its own TileControl.  It takes
 * the highest lanes that no configuration uses, which for the designs of this
 * compiler are always the same.  So a configuration may hold the way all the
 * time (way_keep): all of it but the sender's own output, without which nothing
 * ever enters.
 */
#include "change.h"

/* The row along which the stream goes, and the one of the first members. */
static int trunk_row(const struct way *y) {
  return y->kind == TILE_CORE ? CORE_ROW : SHIM_ROW;
}
static int member_row(const struct way *y) {
  return y->kind == TILE_CORE ? CORE_ROW : MEM_ROW;
}

/* A tile on the way: where the stream comes in, and what follows it. */
struct hop {
  int column, row;
  enum port in;
  int lane;
  struct {
    enum port port;
    int lane;
    bool has;
  } out[3]; /* TileControl, along the row, up */
};

static int end_row(const struct way *y) { return member_row(y) + y->rows; }

/* Of those that lie on the way. */
static bool is_member(const struct way *y, int column, int row) {
  return row >= member_row(y) && (column || row != MEM_ROW) &&
         y->member[tile_at(column, row)];
}

static bool has_above(const struct way *y, int column, int row) {
  for (row = row < member_row(y) ? member_row(y) : row + 1; row < end_row(y);
       row++)
    if (is_member(y, column, row))
      return true;
  return false;
}

static struct hop hop_of(const struct way *y, int column, int row) {
  bool trunk = row == trunk_row(y), east = trunk && column > 0,
       down = trunk && !column && y->kind == TILE_MEM;
  return (struct hop){column,
                      row,
                      east   ? PORT_WEST
                      : down ? PORT_NORTH
                             : PORT_SOUTH,
                      east   ? y->across
                      : down ? y->down
                             : y->up,
                      {{PORT_CONTROL, 0, is_member(y, column, row)},
                       {PORT_EAST, y->across, trunk && column + 1 < y->columns},
                       {PORT_NORTH, y->up, has_above(y, column, row)}}};
}

static uint32_t value_of(const struct hop *h) {
  return switch_on | (uint32_t)port_slave(tile_kind(h->row), h->in, h->lane);
}

/* Whether nothing but the way uses its lanes on the tile.  TileControl is the
 * way's alone. */
static bool hop_is_free(const struct hop *h, const struct switches *w) {
  for (int i = 1; i < 3; i++)
    if (h->out[i].has &&
        !switch_free(
            w, switch_master(h->column, h->row, h->out[i].port, h->out[i].lane),
            value_of(h)))
      return false;
  return true;
}

static bool is_free(const struct way *y, const struct switches *w) {
  uint32_t exit = y->kind == TILE_CORE
                      ? switch_master(0, MEM_ROW, PORT_NORTH, y->up)
                      : switch_master(0, MEM_ROW, PORT_SOUTH, y->down);
  if (y->columns && switch_named(w, exit))
    return false;
  for (int column = 0; column < y->columns; column++)
    for (int row = trunk_row(y); row < end_row(y); row++) {
      struct hop h = hop_of(y, column, row);
      if (!hop_is_free(&h, w))
        return false;
    }
  return true;
}

static int lanes_of(int row, enum port port) {
  int lane = 0;
  while (port_master(tile_kind(row), port, lane) >= 0)
    lane++;
  return lane;
}

static bool find_lanes(struct way *y, const struct switches *w) {
  int row = trunk_row(y),
      down = y->kind == TILE_MEM ? lanes_of(MEM_ROW, PORT_SOUTH) : 1;
  for (y->down = down; y->down-- > 0;)
    for (y->across = lanes_of(row, PORT_EAST); y->across-- > 0;)
      for (y->up = lanes_of(row, PORT_NORTH); y->up-- > 0;)
        if (is_free(y, w))
          return true;
  return false;
}

static void measure(struct way *y) {
  y->columns = y->rows = 0;
  for (uint32_t tile = 0; tile < TILES; tile++) {
    int column = (int)(tile >> 5), row = (int)(tile & 31) - member_row(y);
    if (!y->member[tile] || tile == tile_at(0, MEM_ROW))
      continue;
    assert(kind_of(tile) == y->kind);
    y->columns = column + 1;
    y->rows = row >= y->rows ? row + 1 : y->rows;
  }
}

bool way_find(struct way *y, const struct switches *w) {
  measure(y);
  if (!find_lanes(y, w))
    return false;
  y->channel = REG_MEM_MM2S_CTRL_COUNT;
  while (y->channel-- > 0)
    if (!switch_followed(w, 0, MEM_ROW, PORT_DMA, y->channel, 0))
      return true;
  return false;
}

/* Outputs that do not lead to members must not follow, either: packets would
 * wait there, or write to other tiles. */
static void set_hop(const struct hop *h, const struct switches *w) {
  for (int i = 0; i < 3; i++) {
    if (port_master(tile_kind(h->row), h->out[i].port, h->out[i].lane) < 0)
      continue; /* mem tiles have no east */
    uint32_t master =
        switch_master(h->column, h->row, h->out[i].port, h->out[i].lane);
    if (h->out[i].has)
      switch_lend(w, h->column, h->row, h->in, h->lane, h->out[i].port,
                  h->out[i].lane);
    else if (switch_may(w, master, value_of(h)))
      switch_cut(w, master);
  }
}

static void set_hops(const struct way *y, const struct switches *w) {
  for (int column = y->columns; column-- > 0;)
    for (int row = end_row(y); row-- > trunk_row(y);) {
      struct hop h = hop_of(y, column, row);
      if (row == trunk_row(y) || has_above(y, column, row - 1))
        set_hop(&h, w);
    }
}

void way_set(const struct way *y, const struct switches *w) {
  set_hops(y, w);
  bool up = y->kind == TILE_CORE;
  if (y->columns)
    switch_lend(w, 0, MEM_ROW, PORT_DMA, y->channel,
                up ? PORT_NORTH : PORT_SOUTH, up ? y->up : y->down);
  if (y->member[tile_at(0, MEM_ROW)])
    switch_lend(w, 0, MEM_ROW, PORT_DMA, y->channel, PORT_CONTROL, 0);
}

void way_keep(int columns, int rows, struct command_list *l) {
  const struct command_list *from[] = {l}, none = {.arena = l->arena};
  struct switches w = switches_read(from, 1, &none, l);
  bool member[TILES] = {false};
  struct way cores = {.kind = TILE_CORE, .member = member};
  for (int column = 0; column < columns; column++)
    for (int row = 0; row < rows; row++)
      member[tile_at(column, CORE_ROW + row)] = true;
  measure(&cores);
  if (find_lanes(&cores, &w))
    set_hops(&cores, &w);
  bool mem[TILES] = {false};
  struct way others = {.kind = TILE_MEM, .member = mem};
  for (int column = 1; column < columns; column++)
    mem[tile_at(column, MEM_ROW)] = true;
  measure(&others);
  if (columns > 1 && find_lanes(&others, &w))
    set_hops(&others, &w);
}
