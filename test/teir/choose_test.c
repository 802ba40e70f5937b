/* choose_test.c -- the chooser: its schedules compute what the plain program
 * computes; given Taka et al.'s machines it accepts their kernels, predicts
 * what they measured, and finds none that is slower; wishes are kept. */
#include "check.h"
#include "teir_choose.h"
#include "teir_einsum.h"
#include "teir_lower.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct teir *einsum(struct arena *a, const char *expression,
                           const char *sizes, enum dtype in, enum dtype out) {
  struct diag d = {0};
  struct teir_einsum e = {.expression = expression, .in = in, .out = out};
  bool good = teir_einsum_sizes(&e, sizes, &d);
  struct teir *t = good ? teir_from_einsum(a, &e, &d) : NULL;
  CHECK(t);
  if (!t)
    diag_print(&d, stderr);
  return t;
}

/* ---- schedules keep meaning ---- */
static char *run(struct arena *a, const struct teir *t, const struct teir *like,
                 size_t *bytes) {
  void *tensor[3];
  struct diag d = {0};
  for (int i = 0; i < 3; i++) {
    int64_t low, high, own_low, own_high;
    CHECK(teir_footprint(like, i, &low, &high, &d) && low == 0);
    CHECK(teir_footprint(t, i, &own_low, &own_high, &d));
    CHECK(own_low == 0 && own_high == high);
    *bytes = (size_t)high;
    tensor[i] = arena_alloc(a, *bytes);
    for (size_t j = 0; j < *bytes; j++)
      ((char *)tensor[i])[j] = (char)(j * 29 + 7 * (size_t)i);
  }
  bool good = teir_run(t, tensor, &d);
  CHECK(good);
  return tensor[2];
}

static void check_meaning(const char *expression, const char *sizes,
                          const struct teir_machine *m,
                          const struct teir_wish *w) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = einsum(a, expression, sizes, DTYPE_I8, DTYPE_I32);
  struct teir_choice c;
  bool chosen = t && teir_choose(a, t, m, w, &c, &d);
  CHECK(chosen);
  struct teir *s = chosen ? teir_choice_apply(a, &c, &d) : NULL;
  CHECK(s);
  if (s) {
    size_t x, y;
    char *want = run(a, t, t, &x), *got = run(a, s, t, &y);
    bool same = x == y && memcmp(want, got, x) == 0;
    CHECK(same);
    if (!same)
      fprintf(stderr, "%s with %s differs\n", expression, sizes);
  } else {
    fprintf(stderr, "%s: ", expression);
    diag_print(&d, stderr);
  }
  arena_close(a);
}

static const char *const tccg[] = {
    "efbad,cf->abcde",   "efcad,bf->abcde",   "dbea,ec->abcd",
    "ecbfa,fd->abcde",   "deca,be->abcd",     "bda,dc->abc",
    "ebad,ce->abcd",     "dega,gfbc->abcdef", "dfgb,geac->abcdef",
    "degb,gfac->abcdef", "degc,gfab->abcdef", "dca,bd->abc",
    "ea,ebcd->abcd",     "eb,aecd->abcd",     "ec,abed->abcd",
    "adec,ebd->abc",     "cad,dcb->ab",       "acd,dbc->ab",
    "acd,db->abc",       "adc,bd->abc",       "ac,cb->ab",
    "aebf,fdec->abcd",   "eafd,fbec->abcd",   "aebf,dfce->abcd",
    "dba,dac->dbc",      "ab,b->a",           "a,b->ab",
    "ab,ab->",
};

static void check_meanings(void) {
  struct teir_machine m;
  CHECK(teir_machine_preset("xdna", DTYPE_I8, &m));
  struct teir_wish small = {
      .over_rows = TEIR_ROLES, .block_m = 4, .block_n = 8, .block_k = 8};
  for (size_t i = 0; i < sizeof tccg / sizeof *tccg; i++) {
    char sizes[64] = "";
    for (char c = 'a'; c <= 'g'; c++)
      if (strchr(tccg[i], c))
        sprintf(sizes + strlen(sizes), "%c=%d,", c, 3 + (c * 5 + (int)i) % 8);
    check_meaning(tccg[i], sizes, &m, NULL);
    check_meaning(tccg[i], sizes, &m, &small);
  }
  /* several rounds, remaining lanes and remaining blocks on every axis */
  check_meaning("mk,kn->mn", "m=77,k=43,n=101", &m, &small);
  small.over_rows = TEIR_N;
  m.rows = 2;
  m.columns = 3;
  check_meaning("mk,kn->mn", "m=77,k=43,n=101", &m, &small);
}

/* ---- Taka et al., Tables 2 and 3: kernel, sizes, measured TOPS ---- */
static const struct {
  const char *machine;
  enum dtype in, out;
  int m, k, n, M, K, N, run_k;
  double tops;
} row[] = {
    {"xdna", DTYPE_I8, DTYPE_I8, 112, 112, 112, 4032, 4032, 4032, 448, 6.52},
    {"xdna", DTYPE_I8, DTYPE_I8, 112, 104, 128, 4032, 4160, 4096, 416, 6.48},
    {"xdna", DTYPE_I8, DTYPE_I16, 96, 112, 96, 4224, 4032, 4224, 448, 5.85},
    {"xdna", DTYPE_I8, DTYPE_I16, 80, 104, 128, 4160, 4160, 4096, 416, 5.75},
    {"xdna", DTYPE_I8, DTYPE_I32, 80, 88, 96, 4160, 4224, 4224, 352, 4.42},
    {"xdna", DTYPE_I8, DTYPE_I32, 64, 80, 128, 4096, 4160, 4096, 320, 4.09},
    {"xdna", DTYPE_BF16, DTYPE_BF16, 96, 56, 96, 4224, 4032, 4224, 224, 3.12},
    {"xdna", DTYPE_BF16, DTYPE_BF16, 96, 48, 112, 4224, 4032, 4032, 192, 3.02},
    {"xdna2", DTYPE_I8, DTYPE_I8, 144, 72, 144, 4032, 4320, 4608, 432, 37.35},
    {"xdna2", DTYPE_I8, DTYPE_I8, 160, 64, 144, 4480, 4224, 4608, 384, 36.13},
    {"xdna2", DTYPE_I8, DTYPE_I16, 128, 72, 112, 4096, 4320, 4480, 432, 30.77},
    {"xdna2", DTYPE_I8, DTYPE_I16, 160, 64, 96, 4480, 4224, 4608, 384, 29.59},
    {"xdna2", DTYPE_I8, DTYPE_I32, 96, 64, 96, 4224, 4224, 4608, 384, 24.74},
    {"xdna2", DTYPE_I8, DTYPE_I32, 128, 56, 80, 4096, 4032, 4480, 336, 21.67},
    {"xdna2", DTYPE_BF16, DTYPE_BF16, 112, 48, 96, 4032, 4224, 4608, 384,
     14.52},
    {"xdna2", DTYPE_BF16, DTYPE_BF16, 160, 40, 80, 4480, 4160, 4480, 320,
     13.67},
};

static void check_taka(void) {
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_machine m;
    CHECK(teir_machine_preset(row[i].machine, row[i].in, &m));
    char sizes[64];
    sprintf(sizes, "m=%d,k=%d,n=%d", row[i].M, row[i].K, row[i].N);
    struct teir *t = einsum(a, "mk,nk->mn", sizes, row[i].in, row[i].out);
    struct teir_wish w = {.over_rows = TEIR_M,
                          .block_m = row[i].m,
                          .block_n = row[i].n,
                          .block_k = row[i].k,
                          .run_k = row[i].run_k,
                          .out_buffers = 1};
    struct teir_choice theirs, ours;
    clock_t begin = clock();
    bool good = t && teir_choose(a, t, &m, &w, &theirs, &d);
    CHECK(good);
    double before = (double)(clock() - begin) / CLOCKS_PER_SEC;
    good = good && teir_choose(a, t, &m, NULL, &ours, &d);
    CHECK(good);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC - before;
    if (good) {
      double tops = 2.0 * row[i].M * row[i].K * row[i].N / 1e12;
      double predicted = tops / theirs.seconds;
      CHECK(predicted / row[i].tops > 0.8 && predicted / row[i].tops < 1.2);
      CHECK(ours.seconds <= theirs.seconds);
      CHECK(seconds < 1);
      printf("%s %s-%s: theirs %dx%dx%d %.2f TOPS, predicted %.2f; ours "
             "%dx%dx%d run %d, %d buffers, %.2f; %.1f ms, %ld candidates\n",
             row[i].machine, dtype_name(row[i].in), dtype_name(row[i].out),
             row[i].m, row[i].k, row[i].n, row[i].tops, predicted,
             (int)ours.block[TEIR_M], (int)ours.block[TEIR_K],
             (int)ours.block[TEIR_N], (int)ours.run_k, ours.out_buffers,
             tops / ours.seconds, seconds * 1e3, ours.candidates);
    } else {
      diag_print(&d, stderr);
    }
    arena_close(a);
  }
}

/* ---- Taka et al., Table 1: the fastest kernels of one core ---- */
static const struct {
  const char *machine;
  enum dtype in, out;
  int m, k, n;
  double macs; /* per cycle, measured */
} core[] = {
    {"xdna", DTYPE_I8, DTYPE_I8, 64, 232, 64, 233.0},
    {"xdna", DTYPE_I8, DTYPE_I16, 64, 216, 64, 217.6},
    {"xdna", DTYPE_I8, DTYPE_I32, 48, 280, 48, 192.0},
    {"xdna", DTYPE_BF16, DTYPE_BF16, 64, 104, 64, 112.6},
    {"xdna2", DTYPE_I8, DTYPE_I8, 64, 232, 64, 450.6},
    {"xdna2", DTYPE_I8, DTYPE_I16, 64, 216, 64, 419.8},
    {"xdna2", DTYPE_I8, DTYPE_I32, 48, 280, 48, 384.0},
    {"xdna2", DTYPE_BF16, DTYPE_BF16, 48, 152, 48, 158.1},
};

/* With memory that is never the bound, the chooser looks for the kernel. */
static void check_core(void) {
  for (size_t i = 0; i < sizeof core / sizeof *core; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_machine m;
    CHECK(teir_machine_preset(core[i].machine, core[i].in, &m));
    m.run_count = 1;
    m.run[0].run_bytes = 0;
    m.run[0].bytes_per_second = 1e15;
    char sizes[80];
    sprintf(sizes, "m=%d,k=%d,n=%d", core[i].m * m.rows * 16, core[i].k * 200,
            core[i].n * m.columns * 16);
    struct teir *t = einsum(a, "mk,nk->mn", sizes, core[i].in, core[i].out);
    struct teir_wish w = {.over_rows = TEIR_M,
                          .block_m = core[i].m,
                          .block_n = core[i].n,
                          .block_k = core[i].k,
                          .out_buffers = 1};
    struct teir_choice theirs, ours;
    bool good = t && teir_choose(a, t, &m, &w, &theirs, &d) &&
                teir_choose(a, t, &m, NULL, &ours, &d);
    CHECK(good);
    if (good) {
      double macs = theirs.efficiency * m.peak_macs;
      CHECK(macs / core[i].macs > 0.9 && macs / core[i].macs < 1.1);
      CHECK(ours.seconds <= theirs.seconds);
      printf("%s core %s-%s: %.1f MAC/cycle, predicted %.1f; ours %dx%dx%d "
             "%.1f\n",
             core[i].machine, dtype_name(core[i].in), dtype_name(core[i].out),
             core[i].macs, macs, (int)ours.block[TEIR_M],
             (int)ours.block[TEIR_K], (int)ours.block[TEIR_N],
             ours.efficiency * m.peak_macs);
    } else {
      diag_print(&d, stderr);
    }
    arena_close(a);
  }
}

/* L1 and L2 as the tables print them (KB), for the first and seventh row. */
static void check_memory(void) {
  static const struct {
    int row;
    double l1, l2;
  } want[] = {
      {0, 61.3, 980}, {6, 60.0, 960}, {8, 60.8, 2106}, {10, 61.8, 2084}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_machine m;
    int r = want[i].row;
    teir_machine_preset(row[r].machine, row[r].in, &m);
    char sizes[64];
    sprintf(sizes, "m=%d,k=%d,n=%d", row[r].M, row[r].K, row[r].N);
    struct teir *t = einsum(a, "mk,nk->mn", sizes, row[r].in, row[r].out);
    struct teir_wish w = {.over_rows = TEIR_M,
                          .block_m = row[r].m,
                          .block_n = row[r].n,
                          .block_k = row[r].k,
                          .run_k = row[r].run_k,
                          .out_buffers = 1};
    struct teir_choice c;
    CHECK(t && teir_choose(a, t, &m, &w, &c, &d));
    CHECK(c.l1_bytes / 1024 - want[i].l1 < 0.06 &&
          want[i].l1 - c.l1_bytes / 1024 < 0.06);
    CHECK(c.l2_bytes / 1024 - want[i].l2 < 1 &&
          want[i].l2 - c.l2_bytes / 1024 < 1);
    arena_close(a);
  }
}

static void check_wishes(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_machine m;
  teir_machine_preset("xdna2", DTYPE_BF16, &m);
  struct teir *t =
      einsum(a, "mk,kn->mn", "m=500,k=300,n=700", DTYPE_BF16, DTYPE_F32);
  struct teir_wish w = {.over_rows = TEIR_N,
                        .block_m = 16,
                        .block_n = 32,
                        .block_k = 24,
                        .out_buffers = 2,
                        .axis_k = "k"};
  struct teir_choice c;
  CHECK(t && teir_choose(a, t, &m, &w, &c, &d));
  CHECK(c.over_rows == TEIR_N && c.lanes[TEIR_N] == 4 && c.lanes[TEIR_M] == 8);
  CHECK(c.block[TEIR_M] == 16 && c.block[TEIR_N] == 32 &&
        c.block[TEIR_K] == 24);
  CHECK(c.out_buffers == 2);
  struct teir *s = teir_choice_apply(a, &c, &d);
  CHECK(s);
  for (int i = 0; s && i < s->primitive_count; i++) {
    struct teir_call call;
    if (s->primitive[i].op == TEIR_CONTRACTION) {
      CHECK(teir_lower(s, i, &call, &d));
      CHECK(call.kernel == TEIR_KERNEL_GEMM && call.m <= 16 && call.n <= 32);
    }
  }
  w.axis_k = "x";
  CHECK(t && !teir_choose(a, t, &m, &w, &c, &d));
  CHECK(strstr(d.text, "there is no axis 'x'"));
  arena_close(a);
}

static void check_machine_text(void) {
  static const char *const wrong[][2] = {
      {"rows 0\n", "rows is a whole number from 1 to 65536"},
      {"speed 3\n", "expected a field of a machine"},
      {"rows\n", "expected a number"},
      {"run 64 1e9\nrun 64 2e9\n", "the shortest first"},
      {"rows 4 4\n", "expected the end of the line"}};
  struct teir_machine m, n;
  struct diag d = {0};
  struct text one = {0}, two = {0};
  CHECK(teir_machine_preset("xdna", DTYPE_I8, &m));
  teir_machine_print(&m, &one);
  memset(&n, 0, sizeof n);
  CHECK(teir_machine_parse("m", text_string(&one), &n, &d));
  teir_machine_print(&n, &two);
  CHECK(strcmp(text_string(&one), text_string(&two)) == 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct diag e = {0};
    CHECK(!teir_machine_parse("m", wrong[i][0], &m, &e));
    CHECK(strstr(e.text, wrong[i][1]));
  }
  CHECK(!teir_machine_preset("cray", DTYPE_I8, &m));
  text_free(&one);
  text_free(&two);
}

int main(void) {
  check_meanings();
  check_taka();
  check_core();
  check_memory();
  check_wishes();
  check_machine_text();
  return check_result();
}
