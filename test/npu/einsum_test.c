/* einsum_test.c -- random contractions of any axes in any memory order, packed
 * and with gaps, compiled, run on the simulated array, and compared with the
 * interpreter on the same memory: the elements of out are right to the bit, and
 * nothing else of it is written. */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_einsum.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, LETTERS = 8 };

static uint32_t state;
static int pick(int count) {
  state = state * 1664525 + 1013904223;
  return (int)((state >> 8) % (uint32_t)count);
}

/* A contraction: letters by role, each tensor's in any order. */
struct sample {
  char expression[64];
  struct teir_einsum einsum;
};

static void shuffle(char *s) {
  for (int i = (int)strlen(s) - 1; i > 0; i--) {
    int j = pick(i + 1);
    char c = s[i];
    s[i] = s[j];
    s[j] = c;
  }
}

static void add_role(struct sample *x, char *const to[2], int count, char *next,
                     bool k) {
  static const int64_t outer[] = {2, 3, 4, 5, 8},
                       inner[] = {12, 16, 20, 28, 32},
                       products[] = {8, 16, 24, 32, 12, 20, 28, 44, 14, 7};
  for (int i = 0; i < count; i++) {
    char letter[2] = {(*next)++, 0};
    x->einsum.extent[(int)letter[0]] = i   ? outer[pick(5)]
                                       : k ? products[pick(10)]
                                           : inner[pick(5)];
    for (int j = 0; j < 2; j++)
      strcat(to[j], letter);
  }
}

static void make_sample(struct sample *x, bool bytes) {
  char in0[LETTERS + 1] = "", in1[LETTERS + 1] = "", out[LETTERS + 1] = "",
                     next = 'a';
  memset(x, 0, sizeof *x);
  add_role(x, (char *const[]){in0, out}, 1 + pick(2), &next, false);
  add_role(x, (char *const[]){in1, out}, 1 + pick(2), &next, false);
  add_role(x, (char *const[]){in0, in1}, 1 + pick(2), &next, true);
  if (pick(4) == 0) {
    char batch[2] = {next, 0};
    x->einsum.extent[(int)next] = 2 + pick(3);
    strcat(in0, batch), strcat(in1, batch), strcat(out, batch);
  }
  shuffle(in0), shuffle(in1), shuffle(out);
  snprintf(x->expression, sizeof x->expression, "%s,%s->%s", in0, in1, out);
  x->einsum.expression = x->expression;
  x->einsum.in = bytes ? DTYPE_I8 : DTYPE_BF16;
  x->einsum.out = bytes ? DTYPE_I32 : DTYPE_F32;
}

/* Gaps of words behind some axis of every tensor. */
static void add_gaps(struct teir *t) {
  for (int i = 0; i < TENSORS; i++) {
    int64_t limit = (int64_t)dtype_bytes(t->tensor[i].type) * (1 << pick(12));
    for (int j = 0; j < t->axis_count; j++)
      if (t->axis[j].stride_bytes[i].constant > limit)
        t->axis[j].stride_bytes[i].constant *= 2;
  }
}

static int taken[TENSORS + 1]; /* contractions by tensors in place */
static int beyond;             /* those whose first blocks had no design */

static void fill(char *memory, int64_t bytes, enum dtype type) {
  for (int64_t i = 0; i < bytes; i += dtype_bytes(type))
    dtype_store_int(type, memory + i, pick(8) - 4);
}

/* The schedule as it is printed, read back: it stays as it is placed, and the
 * device gets the same bytes. */
static bool comes_back(struct arena *a, const struct npu_result *r,
                       const char *platform, struct diag *d) {
  struct text text = {0};
  struct npu_result again = {0};
  teir_print(r->teir, &text);
  struct teir *t = teir_parse(a, "printed", text_string(&text), d);
  bool good = t && npu_compile(a, platform, t, 0, &again, d) &&
              again.not_as_placed.kind == DIAG_NONE &&
              again.txn.length == r->txn.length &&
              memcmp(again.txn.data, r->txn.data, r->txn.length) == 0;
  npu_result_free(&again);
  text_free(&text);
  return good;
}

/* Of tensors in place, the program itself says what is right; else the
 * schedule, on memory laid as it asks. */
static bool is_right(struct arena *a, const struct teir *t,
                     const char *platform, int *stay, struct diag *d) {
  struct npu_result r = {0};
  bool good = t && npu_compile(a, platform, t, 0, &r, d);
  *stay = 0;
  for (int i = 0; good && i < TENSORS; i++)
    *stay += !r.packed[i];
  beyond += good && r.beyond.kind != DIAG_NONE;
  const struct teir *meaning = good && *stay == TENSORS ? t : r.teir;
  struct sim_buffer buffer[TENSORS];
  void *right[TENSORS + 1] = {NULL};
  for (int i = 0; good && i < meaning->tensor_count; i++) {
    int64_t low, high;
    good = teir_footprint(meaning, i, &low, &high, d);
    right[i] = malloc((size_t)high + GUARD);
    memset(right[i], 0x5a, (size_t)high + GUARD);
    if (i < OUT)
      fill(right[i], high / 4 * 4, meaning->tensor[i].type);
    if (i < TENSORS) {
      buffer[i].bytes = (size_t)high;
      buffer[i].data = malloc((size_t)high + GUARD);
      memcpy(buffer[i].data, right[i], (size_t)high + GUARD);
    }
  }
  /* packed inputs with elements twice are the runtime's to fill */
  bool runs = good && (*stay == TENSORS ||
                       (r.packed[OUT] && r.packed[IN0] && r.packed[IN1]));
  struct sim_options options = {.preset = preset_find(platform)};
  struct sim_report report = {0};
  struct sim *s =
      runs ? sim_open(r.xclbin.data, r.xclbin.length, &options, d) : NULL;
  if (runs)
    good = s &&
           sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, d) &&
           teir_run(meaning, right, d) &&
           memcmp(buffer[OUT].data, right[OUT], buffer[OUT].bytes + GUARD) == 0;
  good = good && comes_back(a, &r, platform, d);
  if (s)
    sim_close(s);
  for (int i = 0; i <= TENSORS; i++)
    free(right[i]);
  for (int i = 0; right[IN0] && i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  return good;
}

static void test(uint32_t seed) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct sample x;
  int stay;
  state = seed;
  make_sample(&x, pick(3) == 0);
  struct teir *t = teir_from_einsum(a, &x.einsum, &d);
  if (t && pick(2))
    add_gaps(t);
  bool good = is_right(a, t, "8700g", &stay, &d);
  CHECK(good);
  if (!good)
    fprintf(stderr, "seed %u: %s (%d in place): %s\n", seed, x.expression, stay,
            d.text);
  taken[stay] += good;
  arena_close(a);
}

/* K ends within a block, and lies between two axes of M or N: what is behind
 * its end does not follow a block's other rows. */
static void test_between(void) {
  static const struct {
    const char *expression, *sizes, *platform;
    enum dtype in, out;
  } all[] = {
      {"ka,bkc->acb", "k=17,a=8,b=8,c=8", "krackan", DTYPE_BF16, DTYPE_F32},
      {"bka,kc->bca", "k=33,a=8,b=8,c=8", "krackan", DTYPE_BF16, DTYPE_BF16},
      {"ka,bkc->abc", "k=31,a=12,b=32,c=16", "strix-halo", DTYPE_BF16,
       DTYPE_F32},
      {"ka,bkc->acb", "k=17,a=8,b=8,c=8", "phoenix", DTYPE_I8, DTYPE_I32},
      {"bka,kc->bca", "k=50,a=8,b=8,c=8", "8700g", DTYPE_I8, DTYPE_I32},
      {"ka,bkc->abc", "k=19,a=8,b=8,c=8", "phoenix", DTYPE_I16, DTYPE_I32},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_einsum e = {
        .expression = all[i].expression, .in = all[i].in, .out = all[i].out};
    int stay, before = beyond;
    CHECK(teir_einsum_sizes(&e, all[i].sizes, &d));
    CHECK(is_right(a, teir_from_einsum(a, &e, &d), all[i].platform, &stay, &d));
    CHECK(stay == TENSORS && beyond == before);
    if (d.kind)
      diag_print(&d, stderr);
    arena_close(a);
  }
}

/* The chooser knows what descriptors can walk over: its first blocks have a
 * design, be they of several axes of k or of steps apart along it, and where
 * tasks for every round were needed it prefers blocks that do without. */
static void test_first_blocks(void) {
  static const int64_t extent[][5] = {{96, 84, 12, 12, 16},
                                      {32, 40, 8, 84, 16}};
  static const int phases[] = {3, 1};
  for (int i = 0; i < 2; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct npu_result r = {0};
    struct teir_einsum e = {
        .expression = "adec,ebd->abc", .in = DTYPE_BF16, .out = DTYPE_F32};
    for (int j = 0; j < 5; j++)
      e.extent['a' + j] = extent[i][j];
    struct teir *t = teir_from_einsum(a, &e, &d);
    CHECK(t && npu_compile(a, "8700g", t, 0, &r, &d) &&
          r.beyond.kind == DIAG_NONE && r.design->phases <= phases[i]);
    npu_result_free(&r);
    arena_close(a);
  }
}

/* Some blocks read or write device memory in longer runs, but each needs tasks
 * of its own, and a launch takes the time to push these. */
static void test_tasks(const char *expression, const char *sizes, enum dtype in,
                       enum dtype out, const char *platform, double ghz,
                       bool in_place) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct teir_einsum e = {.expression = expression, .in = in, .out = out};
  CHECK(teir_einsum_sizes(&e, sizes, &d));
  const struct teir *t = teir_from_einsum(a, &e, &d);
  CHECK(t && npu_compile(a, platform, t, 0, &r, &d));
  if (r.design)
    CHECK((r.design->phases - 1) * 16000 * ghz < r.blocking.predicted_cycles);
  CHECK(!in_place || (!r.packed[IN0] && !r.packed[IN1] && !r.packed[OUT]));
  if (d.kind)
    diag_print(&d, stderr);
  npu_result_free(&r);
  arena_close(a);
}

/* A schedule, and edits of which the array could not do what they say. */
static const char scheduled[] =
    "teir 1\n"
    "tensor in0 bf16\n"
    "tensor in1 bf16\n"
    "tensor out f32\n"
    "axis row extent 4 stride in0=8192 out=65536\n"
    "axis m extent 2 stride in0=4096 out=32768\n"
    "axis group extent 2 stride in0=2048 out=16384\n"
    "axis block_m extent 16 stride in0=128 out=1024\n"
    "axis column extent 4 stride in1=128 out=256\n"
    "axis n extent 4 stride in1=32 out=64\n"
    "axis block_n extent 16 stride in1=2 out=4\n"
    "axis k extent 8 stride in0=16 in1=4096\n"
    "axis block_k extent 8 stride in0=2 in1=512\n"
    "primitive zero Zero M=[block_m] N=[block_n]\n"
    "primitive contraction Contraction M=[block_m] N=[block_n] K=[block_k]\n"
    "roots row\n"
    "iterate row over row parallel on rows do column\n"
    "iterate column over column parallel on columns do m\n"
    "iterate m over m sequential on time do n\n"
    "iterate n over n sequential on time do group_zero, k\n"
    "iterate group_zero over group sequential on time do zero\n"
    "invoke zero calls zero\n"
    "iterate k over k sequential on time do group_product\n"
    "iterate group_product over group sequential on time do contraction\n"
    "invoke contraction calls contraction\n";

static void test_declined(void) {
  static const struct {
    const char *from, *to, *why; /* no why: it is taken */
  } edit[] = {{"teir 1", "teir 1", NULL},
              {"axis group extent 2 stride in0=2048 out=16384",
               "axis group extent 2 stride in0=2048 out=8192", "several sums"},
              {"do n\niterate n over n sequential on time do group_zero, k",
               "do group_zero, n\niterate n over n sequential on time do k",
               "where the sum begins"}};
  for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct npu_result r = {0};
    struct text edited = {0};
    const char *at = strstr(scheduled, edit[i].from);
    CHECK(at != NULL);
    if (at)
      text_printf(&edited, "%.*s%s%s", (int)(at - scheduled), scheduled,
                  edit[i].to, at + strlen(edit[i].from));
    struct teir *t = teir_parse(a, "edited", text_string(&edited), &d);
    bool good = t && npu_compile(a, "8700g", t, 0, &r, &d);
    CHECK(t && good == !edit[i].why);
    CHECK(!edit[i].why ||
          (d.kind == DIAG_DECLINED && strstr(d.text, edit[i].why)));
    npu_result_free(&r);
    text_free(&edited);
    arena_close(a);
  }
}

/* A schedule whose last step of in1 is filled up with rows of k, of which not
 * all are behind the others. */
static void test_rows_apart(void) {
  static const char text[] =
      "teir 1\n"
      "tensor in0 bf16\n"
      "tensor in1 bf16\n"
      "tensor out f32\n"
      "axis row extent 1 stride in0=4 out=512\n"
      "axis block_m extent 2 stride in0=2 out=256\n"
      "axis column extent 2 stride in1=1088 out=16\n"
      "axis block_n_b extent 4 stride in1=272 out=4\n"
      "axis block_n_c extent 8 stride in1=2 out=32\n"
      "axis k extent 17 stride in0=4 in1=16\n"
      "axis block_k extent 1 stride in0=4 in1=16\n"
      "primitive zero Zero M=[block_m] N=[block_n_b, block_n_c]\n"
      "primitive contraction Contraction M=[block_m] N=[block_n_b, block_n_c] "
      "K=[block_k] with steps=16\n"
      "roots row\n"
      "iterate row over row parallel on rows do column\n"
      "iterate column over column parallel on columns do zero, k\n"
      "invoke zero calls zero\n"
      "iterate k over k sequential on time do contraction\n"
      "invoke contraction calls contraction\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  int stay;
  const struct teir *t = teir_parse(a, "apart", text, &d);
  CHECK(t && npu_compile(a, "krackan", t, 0, &r, &d) &&
        strstr(r.not_as_placed.text, "one behind the other"));
  npu_result_free(&r);
  CHECK(is_right(a, t, "krackan", &stay, &d));
  arena_close(a);
}

int main(int argc, char **argv) {
  uint32_t first = 1, count = 60;
  if (argc == 3) {
    first = (uint32_t)atoi(argv[1]);
    count = (uint32_t)atoi(argv[2]);
  }
  for (uint32_t seed = first; seed < first + count; seed++)
    test(seed);
  test_between();
  test_rows_apart();
  test_declined();
  test_first_blocks();
  test_tasks("ebad,ce->abcd", "a=96,b=84,c=24,d=84,e=96", DTYPE_BF16, DTYPE_F32,
             "8700g-turbo", 1.79, true);
  /* in every product of a batch */
  test_tasks("ceda,ecbd->edab", "a=31,b=32,c=4,d=3,e=13", DTYPE_I8, DTYPE_I32,
             "phoenix", 1, false);
  test_tasks("da,bcd->dcab", "a=13,b=8,c=16,d=7", DTYPE_BF16, DTYPE_F32,
             "8700g", 1.02, false);
  /* a loop over out longer than a dimension counts, which takes two */
  test_tasks("abe,dec->dbca", "a=16,b=20,c=46,d=192,e=10", DTYPE_BF16,
             DTYPE_F32, "strix-halo", 1.8, false);
  /* rows of small matrices, or all k of one, that a descriptor counts */
  test_tasks("mk,nk->mn", "m=407,k=2060,n=467", DTYPE_I16, DTYPE_I32, "krackan",
             1.8, true);
  test_tasks("km,kn->mn", "m=1296,k=1955,n=134", DTYPE_BF16, DTYPE_BF16,
             "strix-halo", 1.8, true);
  CHECK(argc == 3 || taken[TENSORS] > (int)count / 4);
  if (argc == 3)
    printf("in place: none %d, one %d, two %d, all %d; no design %d\n",
           taken[0], taken[1], taken[2], taken[3], beyond);
  return check_result();
}
