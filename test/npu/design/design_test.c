/* design_test.c -- designs of many shapes obey every rule of check.c, rules
 * that are broken are found, and rings balance. */
#include "check.h"
#include "design.h"

#include <string.h>

/* The dense product, scheduled. */
static struct teir *scheduled(struct arena *a, const struct teir_problem *p,
                              const struct map_blocking *b, struct diag *d) {
  struct teir *t = teir_from_problem(a, p, d);
  return t ? map_schedule(a, device_find("npu1"), t, b, d) : NULL;
}

static struct design *make(struct arena *a, int64_t m, int64_t n, int64_t k,
                           bool int8, struct diag *d) {
  const struct device *device = device_find("npu1");
  struct teir_problem p = {
      {1, m, n, k}, {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}, DTYPE_F32, false, {0}};
  if (int8)
    p = (struct teir_problem){
        {1, m, n, k}, {DTYPE_I8, DTYPE_I8, DTYPE_I32}, DTYPE_I32, false, {0}};
  struct map_blocking b;
  if (!map_choose(&(struct platform){.device = device}, &p, &b, d))
    return NULL;
  struct tile_program *q = map_program(a, scheduled(a, &p, &b, d), device, d);
  return q ? design_make(a, q, NULL, d) : NULL;
}

/* The same from a blocking: bf16 to f32, as large as the blocking is. */
static struct design *
make_blocked(struct arena *a, const struct map_blocking *b, struct diag *d) {
  const struct device *device = device_find("npu1");
  const struct teir_problem p = {.extent = {1, 1, 1, 1},
                                 .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                                 .acc = DTYPE_F32};
  struct tile_program *q = map_program(a, scheduled(a, &p, b, d), device, d);
  return q ? design_make(a, q, NULL, d) : NULL;
}

static void test_shapes(void) {
  static const int64_t size[][3] = {{1, 1, 1},
                                    {17, 100, 257},
                                    {1000, 17, 1},
                                    {512, 512, 512},
                                    {64, 4096, 64}};
  for (size_t i = 0; i < 2 * sizeof size / sizeof *size; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    const int64_t *s = size[i / 2];
    struct design *x = make(a, s[0], s[1], s[2], i % 2, &d);
    CHECK(x != NULL);
    if (!x)
      diag_print(&d, stderr);
    arena_close(a);
  }
}

/* What a mem tile keeps of in0, and blockings that lead to it. */
enum kept { NOTHING, PART, WHOLE, AGAIN };
static const struct map_blocking blocking[] = {[NOTHING] = {.block_m = 64,
                                                            .block_n = 64,
                                                            .block_k = 64,
                                                            .group_m = 1,
                                                            .rounds_m = 3,
                                                            .rounds_n = 3,
                                                            .steps_k = 131},
                                               [PART] = {.block_m = 48,
                                                         .block_n = 96,
                                                         .block_k = 32,
                                                         .group_m = 2,
                                                         .rounds_m = 2,
                                                         .rounds_n = 3,
                                                         .steps_k = 126},
                                               [WHOLE] = {.block_m = 64,
                                                          .block_n = 64,
                                                          .block_k = 64,
                                                          .group_m = 1,
                                                          .rounds_m = 3,
                                                          .rounds_n = 4,
                                                          .steps_k = 8},
                                               [AGAIN] = {.block_m = 64,
                                                          .block_n = 64,
                                                          .block_k = 64,
                                                          .group_m = 1,
                                                          .rounds_m = 3,
                                                          .rounds_n = 96,
                                                          .steps_k = 1}};

/* Words that the shim's tasks of the first phase move, per column and tensor:
 * an m round, or what of it a panel is kept for. */
static void test_traffic(enum kept kept) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct design *x = make_blocked(a, &blocking[kept], &d);
  CHECK(x != NULL);
  const struct tile_program *p = x->program;
  int phases = kept == AGAIN ? 2 : 1, rounds = p->rounds_n / phases;
  CHECK((p->panel.chunks > 0) == (kept == WHOLE || kept == AGAIN));
  CHECK(!p->panel.chunks || p->panel.rounds == rounds);
  CHECK((p->panel.stretches > 0) == (kept == PART));
  int64_t moved[3] = {0};
  int tasks = 0;
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *t = &x->task[i];
    if (t->row != 0)
      continue;
    tasks++;
    CHECK(t->offset_bytes + 4ull * t->length_words <=
              (uint64_t)p->transfer[t->argument].bytes ||
          t->argument == OUT || kept == PART);
    if (t->phase == 0 && t->column == 1)
      moved[t->argument] += (int64_t)t->length_words * 4 * t->repeat;
  }
  int64_t in0 = 2LL * p->group_m * p->block_m * p->block_k * p->steps_k;
  int64_t again = in0;
  if (kept == WHOLE || kept == AGAIN)
    again = 0;
  if (kept == PART)
    again = in0 * p->panel.streamed / (p->panel.kept + p->panel.streamed);
  CHECK(p->rounds_n > 1 && again < in0 + (kept == NOTHING));
  CHECK(moved[IN0] == in0 + again * (rounds - 1));
  CHECK(moved[IN1] == 2LL * p->block_k * p->block_n * p->steps_k * rounds);
  CHECK(moved[OUT] ==
        4LL * p->group_m * p->block_m * p->block_n * p->grid.rows * rounds);
  CHECK(tasks ==
        (kept == PART ? 5 : 4) * p->grid.columns * p->rounds_m * phases);
  arena_close(a);
}

/* Words that a mem tile's writer of in0 expects, and its reader finds. */
static void test_panel(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct design *x = make_blocked(a, &blocking[PART], &d);
  CHECK(x && x->program->panel.stretches > MAP_MEM_DEPTH_STREAMED);
  const struct tile_program *p = x->program;
  int64_t shim = 0, mem = 0;
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *t = &x->task[i];
    if (t->phase || t->column || t->argument != IN0)
      continue;
    shim += t->row ? 0 : (int64_t)t->length_words * t->repeat;
    for (int j = 0; j < x->bd_count && t->row; j++) {
      const struct design_bd *b = &x->bd[j];
      bool runs = b->id == t->bd || (b->id == t->bd + 1 && !t->bd);
      if (b->column == 0 && b->row == 1 && runs)
        mem += (int64_t)b->bd.length_words * t->repeat;
    }
  }
  CHECK(shim == mem);
  const struct design_buffer *kept = design_find_buffer(x, 0, 1, "in0_kept");
  CHECK(kept &&
        kept->bytes == 2u * (uint32_t)(p->group_m * p->block_m * p->block_k *
                                       p->panel.kept * p->panel.stretches));
  arena_close(a);
}

/* One input descriptor per word of a block: the dims visit each word once. */
static void test_layout_change(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct design *x = make(a, 300, 300, 300, false, &d);
  CHECK(x != NULL);
  static char seen[1 << 17];
  int checked = 0;
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i];
    if (b->row != 1 || b->mm2s != (b->channel >= 2))
      continue; /* the ends that change layouts */
    memset(seen, 0, sizeof seen);
    uint32_t at[4] = {0}, words = b->bd.length_words, bad = 0;
    for (uint32_t w = 0; w < words; w++) {
      uint32_t address = 0;
      for (int j = 0; j < 4; j++)
        address += at[j] * b->bd.dim[j].step_words;
      bad += address >= words || seen[address]++;
      for (int j = 0; j < 4; j++) {
        if (++at[j] != b->bd.dim[j].wrap || j == 3)
          break;
        at[j] = 0;
      }
    }
    CHECK(bad == 0);
    checked++;
  }
  CHECK(checked >= 4 * (2 + 4 + 8));
  arena_close(a);
}

static void test_broken_rules(void) {
  enum {
    OVERLAP,
    CAPACITY,
    SHARED_LOCK,
    ACQUIRED,
    CHAIN,
    TWICE,
    PUSHED,
    AHEAD,
    REPEATS,
    LOCK_VALUE,
    CASES
  };
  static const char *const rule[CASES] = {
      [OVERLAP] = "overlap",
      [CAPACITY] = "ends at byte",
      [SHARED_LOCK] = "share number",
      [ACQUIRED] = "acquired and never released",
      [CHAIN] = "not of its channel",
      [TWICE] = "used twice",
      [PUSHED] = "a queue holds 4",
      [AHEAD] = "a queue holds 4",
      [REPEATS] = "runs of 1..256",
      [LOCK_VALUE] = "of 0..63"};
  for (int i = 0; i < CASES; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct design *x = make(a, 64, 64, 64, false, &d);
    CHECK(x && design_check(x, &d));
    switch (i) {
    case OVERLAP:
      x->buffer[1].offset = x->buffer[0].offset + 4;
      break;
    case CAPACITY:
      x->buffer[0].offset = 512 << 10;
      break;
    case SHARED_LOCK:
      x->lock[1].id = x->lock[0].id;
      break;
    case ACQUIRED:
      for (int j = 0; j < x->bd_count; j++)
        if (x->bd[j].bd.release_lock == 0)
          x->bd[j].bd.release_value = 0;
      break;
    case CHAIN:
      for (int j = 1; j < x->bd_count && x->bd[j].row == x->bd[0].row; j++)
        if (x->bd[j].mm2s != x->bd[0].mm2s)
          x->bd[0].bd.next = x->bd[j].id;
      break;
    case TWICE:
      x->bd[x->bd_count - 1].id = x->bd[x->bd_count - 2].id;
      break;
    case PUSHED: { /* a second task in every phase, four of which may wait */
      struct design_task *task =
          arena_copy(a, x->task, (size_t)x->task_count,
                     (size_t)x->task_count + 1, sizeof *task);
      task[x->task_count++] = task[0];
      x->task = task;
      break;
    }
    case AHEAD: /* a fifth task, before the first one is waited for */
      x->phases_ahead++;
      break;
    case REPEATS:
      x->task[0].repeat = 257;
      break;
    case LOCK_VALUE:
      x->lock[0].value = 64;
      break;
    }
    CHECK(!design_check(x, &d) && strstr(d.text, rule[i]) != NULL);
    arena_close(a);
  }
}

/* Every ring, in core and mem tiles, kept panels or none: with one lock too
 * many, or with one too few, it is not a ring any more. */
static void test_ring_locks(enum kept kept) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct design *x = make_blocked(a, &blocking[kept], &d);
  CHECK(x && design_check(x, &d));
  for (int i = 0; i < x->lock_count; i++)
    for (int change = -1; change <= 1; change += 2) {
      struct diag e = {0};
      if (x->lock[i].value + change < 0)
        continue;
      x->lock[i].value += change;
      bool found = !design_check(x, &e);
      bool launch = strcmp(x->lock[i].name, "launch") == 0;
      CHECK(found && strstr(e.text, launch ? "no launch has begun"
                                           : "their ring has") != NULL);
      if (!found)
        fprintf(stderr, "lock %s %+d\n", x->lock[i].name, change);
      x->lock[i].value -= change;
    }
  arena_close(a);
}

/* More columns than rows: not every one sends in0, and the mem tiles of those
 * that do not keep half of the others' panels. */
static void test_columns(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  const struct device *device = device_find("npu4");
  const struct map_blocking b = {.block_m = 128,
                                 .block_n = 128,
                                 .block_k = 64,
                                 .group_m = 2,
                                 .rounds_m = 2,
                                 .rounds_n = 2,
                                 .steps_k = 32};
  const struct teir_problem p = {.extent = {1, 2048, 2048, 2048},
                                 .type = {DTYPE_I8, DTYPE_I8, DTYPE_I8},
                                 .acc = DTYPE_I8};
  struct teir *t = teir_from_problem(a, &p, &d);
  t = t ? map_schedule(a, device, t, &b, &d) : NULL;
  struct tile_program *q = t ? map_program(a, t, device, &d) : NULL;
  CHECK(q && q->panel.chunks == 8 && q->grid.columns == 8 && q->grid.m == 4);
  CHECK(q && q->panel.own > 0 && q->panel.own < q->panel.chunks);
  struct design *x = q ? design_make(a, q, NULL, &d) : NULL;
  for (int i = 0; x && i < q->panel.chunks; i++)
    for (int column = 0; column < 2; column++)
      CHECK((design_find_buffer(x, column, 1, arena_printf(a, "in0_%d", i)) !=
             NULL) == (column == (i >= q->panel.own)));
  CHECK(x && design_check(x, &d));
  if (d.kind)
    diag_print(&d, stderr);
  arena_close(a);
}

/* Cores that nobody can write programs for. */
static void test_isa(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct design *x = make(a, 64, 64, 64, false, &d);
  CHECK(x != NULL);
  struct device other = *x->program->device;
  struct tile_program p = *x->program;
  other.isa = "aie9";
  p.device = &other;
  CHECK(!design_make(a, &p, NULL, &d) &&
        strstr(d.text, "instruction set aie9"));
  arena_close(a);
}

/* Blocks that are fine for bf16, of f32 inputs whose kernel reads halves. */
static void test_halves(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  const struct device *device = device_find("npu1");
  struct teir_problem p = {{1, 64, 64, 64},
                           {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                           DTYPE_F32,
                           false,
                           {0}};
  struct map_blocking b;
  CHECK(map_choose(&(struct platform){.device = device}, &p, &b, &d));
  p.type[IN0] = p.type[IN1] = DTYPE_F32;
  struct tile_program *q = map_program(a, scheduled(a, &p, &b, &d), device, &d);
  CHECK(q && !design_make(a, q, NULL, &d) &&
        strstr(d.text, "two halves") != NULL);
  arena_close(a);
}

int main(void) {
  test_shapes();
  test_halves();
  for (enum kept kept = NOTHING; kept <= AGAIN; kept++)
    test_traffic(kept);
  test_panel();
  test_layout_change();
  test_broken_rules();
  for (enum kept kept = NOTHING; kept <= AGAIN; kept++)
    test_ring_locks(kept);
  test_columns();
  test_isa();
  return check_result();
}
