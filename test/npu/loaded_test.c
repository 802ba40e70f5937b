/* loaded_test.c -- kernels of random shapes in whole designs, with all DMA
 * channels beside them, against teir_run on the same blocks.  What every bank
 * serves in every cycle is counted here: never two accesses, and for each core
 * as many multiplies as the product has. */
#include "check.h"
#include "kernels.h"
#include "npu.h"
#include "sim.h"
#include "teir_fast.h"
#include "tile.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4, ROWS = 6 };

static uint64_t random_state = 3;
static int below(int n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (int)((random_state >> 33) % (uint64_t)n);
}

static void fill(enum dtype type, struct sim_buffer *b) {
  size_t step = (size_t)dtype_bytes(type);
  for (size_t i = 0; i + step <= b->bytes; i += step)
    dtype_store_int(type, (char *)b->data + i, below(15) - 7);
}

struct counter {
  uint64_t last[COLUMNS][ROWS][MAX_BANKS]; /* cycle of the last access, + 1 */
  uint64_t served[BANK_USERS], twice;
};

static void count(void *context, const struct tile *t, unsigned bank,
                  enum bank_user user) {
  struct counter *n = context;
  uint64_t *last = &n->last[t->column][t->row][bank];
  n->twice += *last == t->sim->now + 1;
  *last = t->sim->now + 1;
  n->served[user]++;
}

static const enum dtype types[][2] = {
    {DTYPE_BF16, DTYPE_F32}, {DTYPE_BF16, DTYPE_BF16}, {DTYPE_I8, DTYPE_I32},
    {DTYPE_I8, DTYPE_I8},    {DTYPE_I8, DTYPE_I16},    {DTYPE_I16, DTYPE_I32}};
enum { TYPES = sizeof types / sizeof *types };

static struct teir_problem random_problem(void) {
  const enum dtype *t = types[below(TYPES)];
  struct teir_problem p = {.extent = {1, 1, 1, 1}, .type = {t[0], t[0], t[1]}};
  p.acc = map_sum_type(device_find("npu1"), &p);
  return p;
}

static struct map_blocking random_blocking(const struct teir_problem *p) {
  struct kernel_shape u;
  bool known = kernel_gemm_unit(NULL, p->type[IN0], p->type[IN1], p->acc, &u);
  CHECK(known);
  return (struct map_blocking){.block_m = u.m * (1 + below(12)),
                               .block_n = u.n * (1 + below(12)),
                               .block_k = u.k * (1 + below(8)),
                               .group_m = 1 + below(2),
                               .rounds_m = 1 + below(2),
                               .rounds_n = 1 + below(2),
                               .steps_k = 1 + below(6)};
}

static bool fits(const struct teir_problem *p, const struct map_blocking *b) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  struct map_core core;
  int unit = p->acc == p->type[OUT]
                 ? 1
                 : kernel_narrow_unit(NULL, p->acc, p->type[OUT]);
  return b->block_m * b->block_n % unit == 0 &&
         map_core_places(device_find("npu1"), &bytes, b->group_m, b->steps_k,
                         &core);
}

/* The same blocks by the oracle: tensors in the order of the schedule's. */
static void *oracle(const struct teir *t, const struct tile_program *p,
                    const struct sim_buffer *buffer, struct diag *d) {
  void *out = calloc(1, buffer[OUT].bytes);
  size_t sums = (size_t)(16 * p->group_m * p->block_m * p->block_n) * 8;
  void *sum = calloc(1, sums);
  void *const tensor[] = {buffer[IN0].data, buffer[IN1].data, out, sum};
  CHECK(teir_run_fast(t, tensor, 1, NULL, d));
  free(sum);
  return out;
}

static uint64_t multiplies(const struct teir_problem *p,
                           const struct map_blocking *b) {
  struct kernel_shape s;
  bool known = kernel_shape(NULL, p->type[IN0], p->type[IN1], p->acc, &s);
  CHECK(known);
  return 16ull *
         (uint64_t)(b->block_m / s.m * (b->block_n / s.n) * (b->block_k / s.k) *
                    b->group_m * b->rounds_m * b->rounds_n * b->steps_k);
}

static void test(const struct teir_problem *p, const struct map_blocking *b) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct teir *t = teir_from_problem(a, p, &d);
  t = t ? map_schedule(a, device_find("npu1"), t, b, &d) : NULL;
  bool good = t && npu_compile(a, "npu1", t, 0, &r, &d);
  CHECK(good);
  struct sim_buffer buffer[TENSORS] = {{0}};
  for (int i = 0; i < TENSORS && good; i++) {
    buffer[i].bytes = (size_t)r.program->transfer[i].bytes;
    buffer[i].data = calloc(1, buffer[i].bytes);
    fill(p->type[i], &buffer[i]);
  }
  struct sim_options options = {.preset = preset_find("8700g"), .strict = true};
  struct counter *n = calloc(1, sizeof *n);
  struct sim_report report = {0};
  struct sim *s =
      good ? sim_open(r.xclbin.data, r.xclbin.length, &options, &d) : NULL;
  if (s) {
    s->served = count;
    s->served_context = n;
  }
  good =
      s && sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d);
  void *right = good ? oracle(t, r.program, buffer, &d) : NULL;
  bool equal = right && !memcmp(right, buffer[OUT].data, buffer[OUT].bytes);
  CHECK(good && equal);
  CHECK(!n->twice);
  CHECK(n->served[BANK_CORE] > 0 && n->served[BANK_DMA] > 0);
  CHECK(report.mac_cycles == multiplies(p, b));
  if (!equal || report.mac_cycles != multiplies(p, b))
    fprintf(stderr, "%s -> %s %dx%dx%d group %d rounds %d %d %d: %s\n",
            dtype_name(p->type[IN0]), dtype_name(p->type[OUT]), b->block_m,
            b->block_k, b->block_n, b->group_m, b->rounds_m, b->rounds_n,
            b->steps_k, d.text);
  free(right);
  free(n);
  sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

/* Arguments: how many designs, from which seed. */
int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 12;
  random_state = argc > 2 ? (uint64_t)atoll(argv[2]) : 3;
  while (count > 0) {
    struct teir_problem p = random_problem();
    struct map_blocking b = random_blocking(&p);
    if (!fits(&p, &b))
      continue;
    test(&p, &b);
    count--;
  }
  return check_result();
}
