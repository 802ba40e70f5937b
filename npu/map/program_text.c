/* program_text.c -- a tile program as text. */
#include "map.h"

/* A loop and the bytes by which it moves tensors. */
static void print_loop(const struct tile_program *p, const char *what,
                       const struct map_loop *l, struct text *t) {
  text_printf(t, "%s %s %lld", what, l->axis, (long long)l->extent);
  for (int i = 0; i < TENSORS; i++)
    if (l->stride_bytes[i])
      text_printf(t, " %s %+lld", tensor_name(p->transfer[i].tensor),
                  (long long)l->stride_bytes[i]);
  text_puts(t, "\n");
}

static void print_nests(const struct tile_program *p, const char *what,
                        const struct map_nest nest[AXIS_ROLES],
                        struct text *t) {
  for (int role = AXIS_C; role < AXIS_ROLES; role++)
    for (int i = 0; i < nest[role].count; i++)
      if (nest[role].loop[i].extent > 1)
        print_loop(p, what, &nest[role].loop[i], t);
}

void map_print(const struct tile_program *p, struct text *t) {
  text_printf(t, "array %s %d columns %d rows", p->device->name,
              p->grid.columns, p->grid.rows);
  if (p->grid.split > 1)
    text_printf(t, ", %d rows share m", p->grid.split);
  if (p->grid.across)
    text_puts(t, ", columns share m");
  if (p->converts)
    text_puts(t, ", a row more makes block floats");
  if (p->grid.apart)
    text_puts(t, ", each core its own products");
  text_puts(t, "\n");
  text_printf(t, "block m %d n %d k %d, %d of out at once\n", p->block_m,
              p->block_n, p->block_k, p->group_m);
  int64_t k = map_nest_extent(&p->side[AXIS_K]);
  if (k < p->block_k)
    text_printf(t, "zeros behind k %lld of a block\n", (long long)k);
  if (map_is_uneven(p))
    text_printf(t, "zeros behind k %lld of the last block%s\n",
                (long long)map_last_k(p, 1),
                map_is_cleared(p) ? ", by the cores" : "");
  if (p->batch > 1)
    text_printf(t, "batch %d\n", p->batch);
  text_printf(t, "time m %d n %d k %d%s\n", p->rounds_m, p->rounds_n,
              p->steps_k, p->zero ? " from zero" : "");
  text_printf(t, "sums %s%s%s", dtype_name(p->acc),
              p->finish.bias ? " bias" : "",
              !p->finish.relu       ? ""
              : p->finish.keeps_nan ? " relu but for NaN"
                                    : " relu");
  if (p->finish.saturate)
    text_printf(t, " shift %d saturate", p->finish.shift);
  text_puts(t, "\n");
  const struct map_panel *kept = &p->panel;
  if (kept->chunks)
    text_printf(t, "kept %s in %d chunks", tensor_name(p->transfer[IN0].tensor),
                kept->chunks);
  if (kept->chunks && kept->rounds < p->rounds_n)
    text_printf(t, " for %d of n", kept->rounds);
  if (kept->chunks)
    text_puts(t, "\n");
  if (kept->stretches)
    text_printf(t, "kept %s %d of every %d steps of k\n",
                tensor_name(p->transfer[IN0].tensor), kept->kept,
                kept->kept + kept->streamed);
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &p->transfer[i];
    text_printf(t, "tensor %s %s%s bytes %lld\n", tensor_name(x->tensor),
                dtype_name(x->type), x->turned ? " turned" : "",
                (long long)x->bytes);
  }
  for (int i = 0; i < p->row.count; i++)
    print_loop(p, p->grid.across ? "columns" : "rows", &p->row.loop[i], t);
  for (int i = 0; i < p->column.count; i++)
    print_loop(p, p->grid.across ? "rows" : "columns", &p->column.loop[i], t);
  print_nests(p, "time", p->time, t);
  if (p->group_m > 1)
    print_loop(p, "time", &p->group, t);
  print_nests(p, "block", p->side, t);
}
