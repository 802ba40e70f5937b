/* cpu_test.c -- the blocks that follow from the table of processors fit where
 * they are to stay. */
#include "check.h"
#include "teir_cpu.h"

#include <string.h>

static void check_registers(const struct teir_cpu *c,
                            const struct teir_cpu_blocks *b, int bytes) {
  CHECK(b->lanes * bytes == c->vector_bytes);
  CHECK(b->columns == b->lanes * b->vectors);
  int used = b->height[0] * b->vectors + b->vectors + 1 + !c->fma;
  CHECK(used <= c->registers);
  for (int i = 1; i < b->height_count; i++)
    CHECK(b->height[i] < b->height[i - 1]);
  CHECK(b->height[b->height_count - 1] <= 4); /* most of it are rows */
}

static void check_caches(const struct teir_cpu *c,
                         const struct teir_cpu_blocks *b, int64_t bytes) {
  CHECK(b->block_k > 0 && b->block_m > 0 && b->block_n > 0);
  CHECK(b->block_n % b->columns == 0 && b->block_m % b->height[0] == 0);
  CHECK(b->columns * b->block_k * bytes <= c->cache_bytes[1] / 4);
  CHECK(b->block_m * b->block_k * bytes <= c->cache_bytes[1]);
  CHECK(b->block_n * b->block_k * bytes <= c->cache_bytes[2]);
  CHECK(b->sums_n % b->columns == 0 && b->sums_m > 0);
  CHECK(b->sums_m * b->sums_n * bytes <= c->cache_bytes[2]);
}

int main(void) {
  static const enum dtype sum[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64};
  for (int i = 0; i < teir_cpu_count(); i++) {
    const struct teir_cpu *c = teir_cpu_at(i);
    CHECK(teir_cpu_find(c->name) == c);
    for (size_t s = 0; s < sizeof sum / sizeof *sum; s++) {
      struct teir_cpu_blocks b = teir_cpu_blocks(c, sum[s]);
      check_registers(c, &b, dtype_bytes(sum[s]));
      check_caches(c, &b, dtype_bytes(sum[s]));
    }
  }
  CHECK(teir_cpu_find("z80") == NULL);
  return check_result();
}
