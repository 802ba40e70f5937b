/* uneven_test.c -- products on the simulated array whose last step of k has
 * less than the others, scheduled by hand: inputs that are contiguous along k
 * or not, panels in chunks and rings, in few steps and many, filled up or not,
 * with zeros behind the last k from the mem tile or the cores;
 * out is right to the bit, and nothing behind the inputs is read. */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_fast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, CORES = 4 };

/* Where K ends inside a small matrix of 8: who adds zeros behind it. */
enum zeros { NOT_NEEDED, MEM_TILE, CORE };
struct product {
  bool bytes;                  /* i8 to i32, not bf16 to f32 */
  bool in0_turned, in1_turned; /* [k][m], [n][k] */
  int block_m, block_n, group, rounds_m, rounds_n;
  int units, steps; /* of k, of which so many are a step of the array */
  int chunks;       /* in which the panel of in0 is kept */
  int unit;         /* elements of k */
  enum zeros zeros;
  bool fills; /* what in1's last step lacks */
};
static const struct product cases[] = {
    /* rows of in0 in two chunks, the last of which has a task of its own */
    {0, 0, 0, 16, 16, 2, 1, 3, 47, 6, 2, 8, NOT_NEEDED, false},
    {0, 0, 1, 16, 16, 2, 2, 2, 11, 4, 2, 8, NOT_NEEDED, false},
    {0, 0, 0, 16, 16, 1, 5, 2, 5, 2, 2, 8, NOT_NEEDED, false},
    /* chunks that follow each other, one of them of a short step alone */
    {0, 1, 0, 16, 16, 2, 1, 2, 13, 4, 4, 8, NOT_NEEDED, false},
    {0, 1, 1, 16, 16, 1, 2, 2, 7, 4, 2, 8, NOT_NEEDED, false},
    /* rings: rows whole, or a buffer that is short every so many */
    {0, 0, 0, 16, 16, 2, 1, 1, 13, 4, 0, 8, NOT_NEEDED, false},
    {0, 1, 0, 16, 16, 2, 2, 1, 29, 4, 0, 8, NOT_NEEDED, false},
    {0, 1, 0, 16, 16, 1, 3, 1, 9, 2, 0, 8, NOT_NEEDED, false},
    {0, 1, 1, 32, 32, 1, 1, 1, 61, 2, 0, 8, NOT_NEEDED, false},
    /* two buffers of whole rows are too much, also where nothing is kept */
    {0, 0, 0, 64, 16, 1, 2, 1, 2002, 32, 7, 1, MEM_TILE, false},
    /* more n rounds than a lock counts, and phases than are outstanding */
    {0, 0, 0, 16, 16, 2, 1, 140, 5, 2, 2, 8, NOT_NEEDED, false},
    /* in1 filled up: an n round, several, and more than an iteration counts */
    {0, 0, 0, 16, 16, 1, 1, 1, 95, 64, 0, 1, CORE, true},
    {0, 0, 0, 16, 16, 1, 3, 5, 95, 64, 2, 1, CORE, true},
    {0, 0, 0, 16, 16, 1, 2, 140, 95, 64, 2, 1, CORE, true},
    {0, 1, 0, 16, 16, 1, 2, 3, 212, 64, 4, 1, CORE, true},
    {0, 1, 0, 16, 16, 1, 2, 1, 212, 64, 0, 1, CORE, true},
    /* cores clear the rest of a word alone, behind it are the mem tile's */
    {0, 0, 0, 16, 16, 1, 1, 1, 95, 24, 0, 1, CORE, false},
    {0, 0, 0, 16, 16, 1, 3, 5, 95, 24, 2, 1, CORE, false},
    {0, 0, 0, 16, 16, 1, 2, 140, 23, 8, 2, 1, CORE, false},
    {0, 0, 0, 16, 16, 1, 2, 2, 47, 24, 2, 1, CORE, false},
    {0, 0, 1, 16, 16, 1, 2, 2, 95, 24, 2, 1, CORE, false},
    {1, 0, 1, 16, 16, 1, 2, 2, 95, 24, 2, 1, CORE, false},
    /* zeros behind both: rows, rows of small matrices, a single step */
    {0, 0, 0, 16, 16, 1, 3, 5, 47, 12, 2, 2, MEM_TILE, false},
    {0, 0, 1, 16, 16, 1, 2, 2, 47, 12, 2, 2, MEM_TILE, false},
    {0, 1, 0, 16, 16, 1, 2, 3, 95, 24, 4, 1, MEM_TILE, false},
    {0, 1, 0, 16, 16, 1, 2, 1, 95, 24, 0, 1, MEM_TILE, false},
    {0, 1, 1, 16, 16, 1, 2, 2, 47, 12, 4, 2, MEM_TILE, false},
    {0, 0, 0, 16, 16, 1, 2, 2, 14, 24, 1, 1, MEM_TILE, false},
    /* of integers behind in0, or behind in1 if rows do not end with words */
    {1, 0, 0, 16, 16, 1, 3, 5, 23, 6, 2, 4, MEM_TILE, true},
    {1, 0, 0, 16, 16, 1, 3, 5, 93, 24, 2, 1, MEM_TILE, false},
    {1, 1, 0, 16, 16, 1, 2, 3, 93, 24, 4, 1, MEM_TILE, true},
    {1, 0, 1, 16, 16, 1, 2, 2, 23, 6, 2, 4, MEM_TILE, false},
    {1, 0, 1, 16, 16, 1, 2, 2, 93, 24, 2, 1, CORE, false},
    /* rows of in1 in runs, the last of which has a descriptor of its own */
    {0, 0, 1, 16, 64, 1, 2, 3, 67, 4, 2, 8, NOT_NEEDED, false},
    {0, 1, 1, 16, 64, 2, 1, 2, 67, 4, 6, 8, NOT_NEEDED, false},
    {0, 0, 1, 16, 64, 1, 1, 1, 67, 4, 0, 8, NOT_NEEDED, false},
    {0, 0, 1, 16, 64, 1, 2, 3, 538, 32, 2, 1, MEM_TILE, false},
    {0, 1, 1, 16, 64, 1, 2, 3, 537, 32, 6, 1, CORE, false},
    {1, 0, 1, 16, 64, 1, 2, 2, 1101, 64, 2, 1, CORE, false},
};
/* On aie2p, where a small matrix has a word of k, which mem tiles cut. */
static const struct product words[] = {
    {0, 0, 0, 16, 64, 1, 2, 2, 95, 48, 2, 1, CORE, false},
    {0, 0, 0, 16, 64, 1, 1, 1, 95, 48, 0, 1, CORE, false},
    {0, 0, 0, 16, 64, 1, 2, 2, 85, 48, 2, 1, CORE, true},
    {0, 0, 1, 36, 64, 1, 1, 2, 95, 48, 2, 1, CORE, false},
    {0, 1, 0, 16, 64, 1, 2, 2, 85, 48, 2, 1, CORE, true},
};

static void put_group(struct text *t, const struct product *x, const char *loop,
                      const char *call) {
  if (x->group > 1)
    text_printf(t, "iterate %s over group sequential on time do %s\n", loop,
                call);
  text_printf(t, "invoke %s calls %s\n", call, call);
}

static int k_of(const struct product *x) { return x->unit * x->units; }

/* Bytes of a row along k, which begins with a word. */
static int pitch_of(const struct product *x) {
  enum { WORD = 4 };
  int bytes = k_of(x) * (x->bytes ? 1 : 2);
  return (bytes + WORD - 1) / WORD * WORD;
}

static void put_schedule(const struct product *x, struct text *t) {
  int group = x->group * x->block_m, core_m = x->rounds_m * group,
      core_n = x->rounds_n * x->block_n, m = CORES * core_m, n = CORES * core_n,
      e = x->bytes ? 1 : 2, pitch = pitch_of(x),
      in0_m = x->in0_turned ? e : pitch, in0_k = x->in0_turned ? e * m : e,
      in1_n = x->in1_turned ? pitch : e, in1_k = x->in1_turned ? e : e * n;
  text_printf(t, "teir 1\ntensor in0 %s\ntensor in1 %s\ntensor out %s\n",
              x->bytes ? "i8" : "bf16", x->bytes ? "i8" : "bf16",
              x->bytes ? "i32" : "f32");
  const struct {
    const char *name;
    int extent, step;
  } of_m[] = {{"row", CORES, core_m},
              {"m", x->rounds_m, group},
              {"group", x->group, x->block_m},
              {"block_m", x->block_m, 1}},
    of_n[] = {{"column", CORES, core_n},
              {"n", x->rounds_n, x->block_n},
              {"block_n", x->block_n, 1}},
    of_k[] = {{"k", x->units, x->unit}, {"block_k", x->unit, 1}};
  for (int i = 0; i < 4; i++)
    text_printf(t, "axis %s extent %d stride in0=%d out=%d\n", of_m[i].name,
                of_m[i].extent, of_m[i].step * in0_m, of_m[i].step * 4 * n);
  for (int i = 0; i < 3; i++)
    text_printf(t, "axis %s extent %d stride in1=%d out=%d\n", of_n[i].name,
                of_n[i].extent, of_n[i].step * in1_n, of_n[i].step * 4);
  for (int i = 0; i < 2; i++)
    text_printf(t, "axis %s extent %d stride in0=%d in1=%d\n", of_k[i].name,
                of_k[i].extent, of_k[i].step * in0_k, of_k[i].step * in1_k);
  bool pair = x->group > 1;
  text_printf(t,
              "primitive zero Zero M=[block_m] N=[block_n]\n"
              "primitive product Contraction M=[block_m] N=[block_n] "
              "K=[block_k] with steps=%d\n"
              "roots row\n"
              "iterate row over row parallel on rows do column\n"
              "iterate column over column parallel on columns do m\n"
              "iterate m over m sequential on time do n\n"
              "iterate n over n sequential on time do %s, k\n"
              "iterate k over k sequential on time do %s\n",
              x->steps, pair ? "zeros" : "zero", pair ? "products" : "product");
  put_group(t, x, "zeros", "zero");
  put_group(t, x, "products", "product");
}

/* Small numbers, and between the rows along k what may not be used. */
static void fill(const struct product *x, int tensor, char *data,
                 int64_t bytes) {
  int pitch = pitch_of(x), own = k_of(x) * (x->bytes ? 1 : 2);
  bool along_k = tensor == IN0 ? !x->in0_turned : x->in1_turned;
  uint32_t seed = (uint32_t)tensor;
  for (int64_t at = 0; at < bytes; at += x->bytes ? 1 : 2) {
    bool gap = along_k && at % pitch >= own;
    seed = seed * 1664525 + 1013904223;
    if (x->bytes)
      data[at] = (char)((int)(seed >> 29) - 4);
    else if (gap)
      dtype_store_float(DTYPE_BF16, data + at, NAN);
    else
      dtype_store_int(DTYPE_BF16, data + at, (int)(seed >> 29) - 4);
  }
}

/* Cores start behind a task of every channel that brings blocks, and before the
 * second ones. */
static bool starts_early(const struct npu_result *r) {
  int pushed = 0;
  for (int i = 0; i < r->run->count; i++) {
    const struct command *c = &r->run->item[i];
    enum tile_kind kind = tile_kind((int)(c->address >> 20 & 31));
    if (kind == TILE_CORE)
      return pushed == map_grid_inputs(&r->program->grid);
    pushed += kind == TILE_SHIM && c->kind == COMMAND_WRITE;
  }
  return false;
}

static void test(const struct product *x, const char *preset) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text text = {0};
  struct npu_result r = {0};
  struct sim_report report = {0};
  struct sim_options options = {.preset = preset_find(preset)};
  struct sim_buffer buffer[TENSORS] = {{0}};
  void *right[TENSORS] = {NULL};
  put_schedule(x, &text);
  struct teir *t = teir_parse(a, "schedule", text_string(&text), &d);
  bool good = t && npu_compile(a, preset, t, 0, &r, &d) &&
              r.not_as_placed.kind == DIAG_NONE && map_is_uneven(r.program) &&
              r.program->panel.chunks == x->chunks &&
              map_fills(r.program) == x->fills &&
              map_end(r.program).inside == (x->zeros != NOT_NEEDED) &&
              map_is_cleared(r.program) == (x->zeros == CORE) &&
              starts_early(&r);
  for (int i = 0; good && i < TENSORS; i++) {
    int64_t low, high;
    good = teir_footprint(t, i, &low, &high, &d);
    right[i] = malloc((size_t)high + GUARD);
    memset(right[i], 0x5a, (size_t)high + GUARD);
    if (i < OUT)
      fill(x, i, right[i], high);
    size_t words = ((size_t)high + 3) / 4 * 4; /* as devices have them */
    buffer[i] = (struct sim_buffer){malloc((size_t)high + GUARD), words};
    memcpy(buffer[i].data, right[i], (size_t)high + GUARD);
  }
  struct sim *s =
      good ? sim_open(r.xclbin.data, r.xclbin.length, &options, &d) : NULL;
  good = s &&
         sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d) &&
         teir_run_fast(t, right, 1, NULL, &d) &&
         memcmp(buffer[OUT].data, right[OUT], buffer[OUT].bytes + GUARD) == 0;
  CHECK(good);
  if (!good)
    fprintf(stderr, "%s, %d units of %d, blocks of %d x %d: %d chunks: %s\n",
            preset, x->units, x->unit, x->block_m, x->block_n,
            r.program ? r.program->panel.chunks : -1,
            d.kind ? d.text : r.not_as_placed.text);
  if (s)
    sim_close(s);
  for (int i = 0; i < TENSORS; i++) {
    free(right[i]);
    free(buffer[i].data);
  }
  text_free(&text);
  npu_result_free(&r);
  arena_close(a);
}

/* Tensors lie in place where no block of a fitting size divides K. */
static void test_choice(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  const struct teir_problem p = {{1, 512, 512, 8 * 127}, /* 127 is prime */
                                 {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                                 DTYPE_F32,
                                 false,
                                 {0}};
  const struct teir *t = teir_from_problem(a, &p, &d);
  CHECK(t && npu_compile(a, "8700g", t, 0, &r, &d));
  CHECK(!r.packed[IN0] && !r.packed[IN1] && !r.packed[OUT]);
  CHECK(r.program && map_is_uneven(r.program));
  npu_result_free(&r);
  arena_close(a);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    test(&cases[i], "8700g");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    test(&words[i], "krackan");
  test_choice();
  return check_result();
}
