/* place.c -- where a tile program's blocks have their places in core and mem
 * tiles: asks memory.c and panel.c, with a blocking read back from the
 * program's loops.
 */
#include "map.h"

#include <assert.h>

int map_streamed_parts(const struct tile_program *q) {
  const struct map_panel *x = &q->panel;
  return x->stretches && x->run[IN0] > 1 ? x->streamed / x->run[IN0] : 1;
}

int64_t map_pitch(const struct tile_program *q, int tensor, int which) {
  const struct map_nest *n = &q->side[map_roles[tensor][which]];
  return n->loop[n->count - 1].stride_bytes[tensor];
}

bool map_is_turned(const struct tile_program *q, int tensor) {
  int64_t element = dtype_bytes(q->transfer[tensor].type),
          rows = map_pitch(q, tensor, 0), columns = map_pitch(q, tensor, 1);
  return columns != element && (rows == element || rows < columns);
}

/* Whether rows along k run on from block to block. */
static bool runs_on(const struct tile_program *q, int tensor) {
  const struct map_nest *k = &q->time[AXIS_K], *side = &q->side[AXIS_K];
  const struct map_loop *step = &k->loop[k->count - 1],
                        *along = &side->loop[side->count - 1];
  int64_t run = along->extent * along->stride_bytes[tensor];
  return side->count == 1 && step->stride_bytes[tensor] == run &&
         map_pitch(q, tensor, tensor == IN1) > run;
}

bool map_close_out(const struct tile_program *q) {
  const struct map_nest *rows = q->grid.across ? &q->column : &q->row;
  return !map_clips_out(q) && q->group.stride_bytes[OUT] <
                                  rows->loop[rows->count - 1].stride_bytes[OUT];
}

/* What these ask about tensors that lie in place. */
static struct map_form form_of(const struct tile_program *q) {
  const struct map_transfer *x = q->transfer;
  struct map_form f = {.swapped = x[IN0].tensor != IN0};
  for (int i = 0; i < TENSORS; i++)
    f.layout[i].turned = x[i].turned;
  f.layout[IN0].in_place = x[IN0].turned || runs_on(q, IN0);
  f.layout[IN1].in_place = x[IN1].turned && runs_on(q, IN1);
  f.inner_k = (int)q->time[AXIS_K].loop[q->time[AXIS_K].count - 1].extent;
  struct map_cut *n = &f.cut[AXIS_N];
  for (; n->count < q->time[AXIS_N].count; n->count++)
    n->part[n->count] = (struct map_part){
        .place = MAP_TIME, .extent = q->time[AXIS_N].loop[n->count].extent};
  f.cores_m = q->grid.m;
  f.cores_n = q->grid.n;
  f.across = q->grid.across;
  f.converts = q->converts;
  f.apart = q->grid.apart;
  f.close_out = map_close_out(q) && q->side[AXIS_M].count == 1 &&
                q->side[AXIS_N].count == 1;
  return f;
}

static struct teir_problem types_of(const struct tile_program *q) {
  struct teir_problem p = {.acc = q->acc, .finish = q->finish};
  for (int i = 0; i < TENSORS; i++)
    p.type[i] = q->transfer[i].type;
  return p;
}

static bool turns_sums(const struct tile_program *q) {
  const struct map_transfer *x = q->transfer;
  struct teir_problem p = types_of(q);
  return map_turns_sums(
      q->device, &p,
      (const bool[]){x[IN0].turned, x[IN1].turned, x[OUT].turned});
}

bool map_place_blocks(struct tile_program *q, struct loc at, struct diag *d) {
  q->turns_sums = turns_sums(q);
  struct teir_problem p = types_of(q);
  struct map_form form = form_of(q);
  q->converts = map_converts(q->device, &p, &form) && map_converts_order(q);
  const struct map_blocking b = {
      .block_m = q->block_m,
      .block_n = q->block_n,
      .block_k = q->block_k,
      .valid_k = (int)map_nest_extent(&q->side[AXIS_K]),
      .last_k = map_is_uneven(q) ? (int)map_last_k(q, 1) : 0,
      .group_m = q->group_m,
      .rounds_m = q->rounds_m,
      .rounds_n = q->rounds_n,
      .steps_k = q->steps_k,
      .form = form_of(q)};
  struct map_block_bytes bytes = map_block_bytes(&p, &b);
  assert(b.group_m == 1 || b.group_m == 2);
  if (!map_core_places(q->device, &bytes, q->group_m, q->steps_k, &q->core))
    return diag_error(d, at,
                      "blocks %dx%dx%d, %d of out at once, take at least %u "
                      "bytes: they do not fit into a core's memory banks, of "
                      "%u bytes in all",
                      q->block_m, q->block_n, q->block_k, q->group_m,
                      2 * (bytes.in0 + bytes.in1) +
                          (unsigned)q->group_m * bytes.out,
                      q->device->tile[TILE_CORE].memory_bytes);
  if (q->finish.bias && (q->grid.apart || q->grid.split > 1 || q->grid.across ||
                         !map_bias_fits(q->device, &p, &b)))
    return diag_error(d, at,
                      "a bias comes as a block of in1, which has space for it "
                      "and goes to all rows of cores");
  return map_mem_panel(q->device, &p, &b, &q->panel) ||
         diag_error(d, at, "blocks %dx%dx%d do not fit into a mem tile",
                    q->block_m, q->block_n, q->block_k);
}
