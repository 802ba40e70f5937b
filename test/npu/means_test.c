/* means_test.c -- what a process that compiles many products may say: programs
 * of cores that were made before are used again, to the same bytes, blocks that
 * were good for other sizes are taken, and transactions have a limit. */
#include "check.h"
#include "npu.h"

#include <pthread.h>
#include <string.h>

static const struct teir *product(struct arena *a, int64_t m, int64_t n,
                                  int64_t k, enum dtype in, enum dtype out) {
  struct diag d = {0};
  const struct teir_problem q = {
      .extent = {1, m, n, k}, .type = {in, in, out}, .acc = DTYPE_F32};
  const struct teir *t = teir_from_problem(a, &q, &d);
  CHECK(t != NULL);
  return t;
}

struct shape {
  int64_t m, n, k;
  enum dtype out;
};
static const struct shape shapes[] = {
    {64, 64, 64, DTYPE_F32},  {128, 128, 64, DTYPE_F32},
    {64, 64, 64, DTYPE_BF16}, {64, 64, 128, DTYPE_F32},
    {33, 65, 31, DTYPE_F32},  {64, 128, 32, DTYPE_BF16}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct bytes {
  struct text cdo[SHAPES], txn[SHAPES];
};

static void compile_all(struct core_cache *cores, struct bytes *to) {
  for (int i = 0; i < SHAPES; i++) {
    const struct shape *s = &shapes[i];
    struct arena *a = arena_open();
    struct npu_result r;
    struct diag d = {0};
    const struct npu_means by = {.cores = cores};
    bool good = npu_compile_by(&by, a, "8700g",
                               product(a, s->m, s->n, s->k, DTYPE_BF16, s->out),
                               &r, &d);
    CHECK(good);
    text_append(&to->cdo[i], r.cdo.data, r.cdo.length);
    text_append(&to->txn[i], r.txn.data, r.txn.length);
    npu_result_free(&r);
    arena_close(a);
  }
}

static void drop(struct bytes *x) {
  for (int i = 0; i < SHAPES; i++) {
    text_free(&x->cdo[i]);
    text_free(&x->txn[i]);
  }
}

static bool equal(const struct text *a, const struct text *b) {
  return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

struct thread {
  pthread_t id;
  struct core_cache *cores;
  struct bytes bytes;
};

static void *run(void *with) {
  struct thread *t = with;
  compile_all(t->cores, &t->bytes);
  return NULL;
}

/* Two threads, and then one that finds all programs there. */
static void test_cores(void) {
  struct core_cache *cores = core_cache_open();
  struct bytes plain = {0};
  struct thread thread[3] = {
      {.cores = cores}, {.cores = cores}, {.cores = cores}};
  CHECK(cores != NULL);
  compile_all(NULL, &plain);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&thread[i].id, NULL, run, &thread[i]) == 0);
  for (int i = 0; i < 2; i++)
    CHECK(pthread_join(thread[i].id, NULL) == 0);
  run(&thread[2]);
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < SHAPES; k++) {
      CHECK(equal(&thread[i].bytes.cdo[k], &plain.cdo[k]));
      CHECK(equal(&thread[i].bytes.txn[k], &plain.txn[k]));
    }
    drop(&thread[i].bytes);
  }
  drop(&plain);
  core_cache_close(cores);
}

/* A long product is cut until its launch is short enough. */
static void test_transaction(void) {
  enum { M = 8192, N = 8192, K = 4096 };
  struct arena *a = arena_open();
  const struct teir *t = product(a, M, N, K, DTYPE_BF16, DTYPE_F32);
  size_t whole = 0;
  for (size_t limit = 0; limit < 3; limit++) {
    struct npu_result r;
    struct diag d = {0};
    const struct npu_means by = {.most_transaction_bytes =
                                     whole / (limit ? 2 * limit : 1)};
    CHECK(npu_compile_by(&by, a, "8700g", t, &r, &d));
    if (!limit)
      whole = r.txn.length;
    else
      CHECK(r.txn.length <= by.most_transaction_bytes);
    int64_t bytes = 0;
    for (int i = 0; i < TENSORS; i++)
      bytes += r.program->transfer[i].bytes;
    int64_t all = (int64_t)M * (K * 2 + N * 4) + (int64_t)K * N * 2;
    CHECK(limit ? bytes < all : bytes >= all);
    npu_result_free(&r);
  }
  struct npu_result r;
  struct diag d = {0};
  const struct npu_means by = {.most_transaction_bytes = 16};
  CHECK(!npu_compile_by(&by, a, "8700g", t, &r, &d));
  CHECK(d.kind == DIAG_DECLINED);
  arena_close(a);
}

/* Whether the result is on all cores, and what its launch takes, beside what
 * the array holds; then the best one's price says that it is no dearer. */
static bool beside(const struct npu_held *held, const struct teir *t,
                   struct arena *a, struct npu_result *r) {
  struct npu_result best;
  struct diag d = {0};
  const struct npu_means alone = {0}, by = {.held = held};
  const struct preset *at = preset_find("8700g");
  CHECK(npu_compile_by(&alone, a, "8700g", t, &best, &d));
  CHECK(npu_compile_by(&by, a, "8700g", t, r, &d));
  struct command_list *l = command_list(a);
  struct change_data data;
  change_write(&held->configuration, 1, best.configuration, l, &data);
  double hertz = at->clock_ghz * 1e9,
         first = best.blocking.predicted_cycles / hertz +
                 change_seconds(l, &data, at),
         now = r->blocking.predicted_cycles / hertz + r->change_seconds;
  bool same = equal(&best.cdo, &r->cdo);
  CHECK(same ? r->lost_seconds <= 0 && now <= 1.0001 * first
             : now < first && r->saved_seconds > r->lost_seconds);
  npu_result_free(&best);
  return !same;
}

/* A configuration that the array holds is taken where that costs less, with the
 * change to another one, than the best. */
static void test_held(void) {
  struct arena *a = arena_open();
  struct npu_result big, r;
  struct diag d = {0};
  const struct npu_means by = {0};
  CHECK(npu_compile_by(&by, a, "8700g",
                       product(a, 512, 512, 512, DTYPE_BF16, DTYPE_F32), &big,
                       &d));
  const struct npu_held held = {.blocking = &big.blocking,
                                .same_types = true,
                                .configuration = big.configuration};
  /* itself */
  CHECK(
      !beside(&held, product(a, 512, 512, 512, DTYPE_BF16, DTYPE_F32), a, &r));
  CHECK(equal(&big.cdo, &r.cdo) && r.change_seconds <= 0);
  npu_result_free(&r);
  /* alone it would have four cores */
  CHECK(beside(&held, product(a, 64, 256, 80, DTYPE_BF16, DTYPE_F32), a, &r));
  CHECK(r.program->grid.columns == 4 && r.lost_seconds > 0);
  npu_result_free(&r);
  /* much work is worth the change */
  CHECK(!beside(&held, product(a, 1024, 1024, 2048, DTYPE_BF16, DTYPE_F32), a,
                &r));
  npu_result_free(&r);
  npu_result_free(&big);
  arena_close(a);
}

/* Beside the best one: no more is lost than it says, and not much. */
static void check_known(const struct teir *t, struct arena *a,
                        const struct npu_result *r) {
  struct npu_result best;
  struct diag d = {0};
  const struct npu_means alone = {0};
  double ghz = preset_find("8700g")->clock_ghz;
  CHECK(npu_compile_by(&alone, a, "8700g", t, &best, &d));
  CHECK(r->blocking.predicted_cycles <= 1.8 * best.blocking.predicted_cycles);
  CHECK(r->lost_seconds * ghz * 1e9 >=
        r->blocking.predicted_cycles - best.blocking.predicted_cycles - 1);
  for (int i = 0; i < TENSORS; i++)
    CHECK(!r->packed[i] == !best.packed[i]);
  npu_result_free(&best);
}

/* Sizes do with blockings of earlier ones, of the same types, where these are
 * near to what is possible and the array can be changed to them. */
static void test_known(void) {
  static const int64_t sizes[][3] = {
      {768, 768, 640}, {768, 640, 640}, {640, 768, 768}, {768, 768, 512}};
  struct npu_known *known = npu_known_open();
  struct arena *a = arena_open();
  struct npu_result first, r;
  struct diag d = {0};
  struct npu_means by = {.known = known};
  int taken = 0;
  CHECK(known != NULL);
  const struct teir *t = product(a, 768, 896, 640, DTYPE_BF16, DTYPE_F32);
  CHECK(npu_compile_by(&by, a, "8700g", t, &first, &d));
  const struct npu_held held = {.blocking = &first.blocking,
                                .same_types = true,
                                .configuration = first.configuration};
  by.held = &held;
  for (int i = 0; i < 4; i++) {
    t = product(a, sizes[i][0], sizes[i][1], sizes[i][2], DTYPE_BF16,
                DTYPE_F32);
    CHECK(npu_compile_by(&by, a, "8700g", t, &r, &d));
    bool like = r.blocking.block_m == first.blocking.block_m &&
                r.blocking.block_n == first.blocking.block_n;
    taken += like;
    if (like)
      check_known(t, a, &r);
    npu_result_free(&r);
  }
  CHECK(taken >= 2);
  /* its blocks would leave cores without work, or be of another type */
  t = product(a, 64, 64, 1024, DTYPE_BF16, DTYPE_F32);
  CHECK(npu_compile_by(&by, a, "8700g", t, &r, &d));
  CHECK(r.blocking.block_m < first.blocking.block_m);
  npu_result_free(&r);
  struct map_blocking *like;
  struct teir_problem p;
  t = product(a, 768, 768, 640, DTYPE_BF16, DTYPE_BF16);
  CHECK(teir_problem_read(t, &p, &d));
  CHECK(npu_known_like(known, a, &p, &like) == 0);
  /* what the array holds does not matter: the best */
  by.held = NULL;
  t = product(a, 768, 768, 640, DTYPE_BF16, DTYPE_F32);
  CHECK(npu_compile_by(&by, a, "8700g", t, &r, &d));
  CHECK(r.lost_seconds <= 0);
  npu_result_free(&r);
  npu_result_free(&first);
  arena_close(a);
  npu_known_close(known);
}

/* Blocks that were found for a tensor which had to be packed do for one that
 * stays as well. */
static void test_known_lies(void) {
  struct npu_known *known = npu_known_open();
  struct arena *a = arena_open();
  struct npu_result first, r;
  struct diag d = {0};
  struct npu_means by = {.known = known};
  const struct teir *t = product(a, 516, 1620, 1125, DTYPE_BF16, DTYPE_F32);
  CHECK(known && npu_compile_by(&by, a, "8700g", t, &first, &d));
  CHECK(first.packed[IN0] && !first.packed[IN1]);
  const struct npu_held held = {.blocking = &first.blocking,
                                .same_types = true,
                                .configuration = first.configuration};
  by.held = &held;
  t = product(a, 258, 1450, 842, DTYPE_BF16, DTYPE_F32);
  CHECK(npu_compile_by(&by, a, "8700g", t, &r, &d));
  CHECK(r.blocking.block_m == first.blocking.block_m &&
        r.blocking.block_n == first.blocking.block_n);
  check_known(t, a, &r);
  npu_result_free(&r);
  npu_result_free(&first);
  arena_close(a);
  npu_known_close(known);
}

int main(void) {
  test_held();
  test_known();
  test_known_lies();
  test_cores();
  test_transaction();
  return check_result();
}
