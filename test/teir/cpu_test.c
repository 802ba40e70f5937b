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

static void check_dot(const char *name, enum dtype in0, enum dtype in1,
                      enum dtype sum, enum teir_cpu_op op, bool offset) {
  struct teir_cpu_dot d =
      teir_cpu_choose_dot(teir_cpu_find(name), in0, in1, sum);
  CHECK(d.op == op && d.offset == offset);
  CHECK(op == CPU_OP_NONE || d.group * dtype_bytes(d.packed[0]) == 4);
  CHECK(op != CPU_OP_VPDPBUSD ||
        (d.packed[1] == in1 && d.packed[0] != in1 &&
         d.exchanged == (in1 == DTYPE_U8))); /* its first operand is the u8 */
}

static void check_dots(void) {
  enum dtype i8 = DTYPE_I8, u8 = DTYPE_U8, i16 = DTYPE_I16, i32 = DTYPE_I32;
  check_dot("sse2", i8, u8, i32, CPU_OP_PMADDWD, false);
  check_dot("avx512", i16, i8, i32, CPU_OP_PMADDWD, false);
  check_dot("avxvnni", i16, i8, i32, CPU_OP_VPDPWSSD, false);
  check_dot("avxvnni", i8, i8, i32, CPU_OP_VPDPBUSD, true);
  check_dot("avx512vnni", u8, u8, i32, CPU_OP_VPDPBUSD, true);
  check_dot("avx512vnni", u8, i8, i32, CPU_OP_VPDPBUSD, false);
  check_dot("avx512vnni", i8, u8, i32, CPU_OP_VPDPBUSD, false);
  check_dot("avx512bf16", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_VDPBF16PS,
            false);
  /* Other sums, other types */
  check_dot("avx512vnni", i8, i8, DTYPE_I64, CPU_OP_NONE, false);
  check_dot("avx512vnni", DTYPE_U16, i8, i32, CPU_OP_NONE, false);
  check_dot("avx512vnni", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_NONE,
            false);
  check_dot("avx512bf16", DTYPE_F16, DTYPE_BF16, DTYPE_F32, CPU_OP_NONE, false);
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
  check_dots();
  CHECK(teir_cpu_find("z80") == NULL);
  return check_result();
}
