/* program_text.c -- a tile program as text. */
#include "map.h"

void map_print(const struct tile_program *p, struct text *t) {
  static const char *const name[] = {"in0", "in1", "out"};
  text_printf(t, "array %s %d columns %d rows", p->device->name,
              p->grid.columns, p->grid.rows);
  if (p->grid.split > 1)
    text_printf(t, ", %d rows share m", p->grid.split);
  if (p->grid.apart)
    text_puts(t, ", each core its own products");
  text_puts(t, "\n");
  text_printf(t, "block m %d n %d k %d, %d of out at once\n", p->block_m,
              p->block_n, p->block_k, p->group_m);
  if (p->batch > 1)
    text_printf(t, "batch %d\n", p->batch);
  text_printf(t, "time m %d n %d k %d%s\n", p->rounds_m, p->rounds_n,
              p->steps_k, p->zero ? " from zero" : "");
  text_printf(t, "sums %s%s", dtype_name(p->acc),
              p->finish.relu ? " relu" : "");
  if (p->finish.saturate)
    text_printf(t, " shift %d saturate", p->finish.shift);
  text_puts(t, "\n");
  const struct map_panel *kept = &p->panel;
  if (kept->chunks)
    text_printf(t, "kept %s in %d chunks\n", name[p->transfer[IN0].tensor],
                kept->chunks);
  if (kept->stretches)
    text_printf(t, "kept %s %d of every %d steps of k\n",
                name[p->transfer[IN0].tensor], kept->kept,
                kept->kept + kept->streamed);
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &p->transfer[i];
    text_printf(t, "tensor %s %s block %dx%d", name[x->tensor],
                dtype_name(x->type), x->block_rows, x->block_columns);
    if (x->pitch_bytes != (int64_t)x->block_columns * dtype_bytes(x->type))
      text_printf(t, " %+lld", (long long)x->pitch_bytes);
    text_printf(t, "%s bytes %lld %s %+lld", x->turned ? " turned" : "",
                (long long)x->bytes, i == IN0 ? "row" : "column",
                (long long)x->column_stride_bytes);
    if (x->row_stride_bytes)
      text_printf(t, " row %+lld", (long long)x->row_stride_bytes);
    if (p->batch > 1)
      text_printf(t, " batch %+lld", (long long)x->batch.stride_bytes);
    for (int j = 0; j < (p->group_m > 1 ? 4 : 3); j++)
      text_printf(t, " %s %+lld", x->time[j].axis,
                  (long long)x->time[j].stride_bytes);
    text_puts(t, "\n");
  }
}
