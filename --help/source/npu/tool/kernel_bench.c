/* kernel_bench.c -- `nputeir bench kernels`: cycles of single kernels on the
 * simulated core, bank stalls included, beside published ones and the limit. */
#include "bench.h"
#include "kernel_check.h"
#include "kernel_load.h"
#include "keys.h"

#include <assert.h>
#include <string.h>

/* One row.  `published` is in cycles from call to return, 0 where nobody
 * published one; MAC per cycle and shares of the peak are converted. */
struct row {
  const char *group, *source;
  enum dtype in, out;
  int m, k, n;
  bool ta, tb, tc;
  double published;
  enum dtype in1;    /* where it is another one */
  bool mixed;        /* it is */
  int steps, blocks; /* of K in a row, and of C: kernel_gemm_steps */
  bool aie2p, bfp16, zero;
};

/* clang-format off */
#define BF16_F32  DTYPE_BF16, DTYPE_F32
#define BF16_BF16 DTYPE_BF16, DTYPE_BF16
#define I8_I32    DTYPE_I8, DTYPE_I32
#define I8_I16    DTYPE_I8, DTYPE_I16
#define I8_I8     DTYPE_I8, DTYPE_I8
/* results.md sections 1.1, 1.2, 5 and tables 1 and 2 of section 2 */
#define PUBLISHED(source, types, m, k, n, cycles)                              \
  {"published", source, types, m, k, n, .published = cycles}
static const struct row published[] = {
  PUBLISHED("thesis, assembly", BF16_BF16, 64, 80, 64, 2757),
  PUBLISHED("thesis, assembly", BF16_BF16, 64, 64, 64, 2263),
  PUBLISHED("thesis, AIE API", BF16_BF16, 64, 80, 64, 2560 / .905),
  PUBLISHED("thesis, AIE API", BF16_BF16, 64, 64, 64, 2048 / .873),
  PUBLISHED("Hello XDNA", BF16_F32, 32, 32, 32, 296),
  PUBLISHED("Taka, table 1", BF16_BF16, 64, 104, 64, 64 * 104 * 64 / 112.6),
  PUBLISHED("Taka, table 2", BF16_BF16, 96, 56, 96, 96 * 56 * 96 / 99.8),
  PUBLISHED("Taka, table 1", I8_I8, 64, 232, 64, 64 * 232 * 64 / 233.0),
  PUBLISHED("Taka, table 2", I8_I8, 112, 112, 112, 112 * 112 * 112 / 212.5),
  PUBLISHED("Taka, table 1", I8_I16, 64, 216, 64, 64 * 216 * 64 / 217.6),
  PUBLISHED("Taka, table 2", I8_I16, 96, 112, 96, 96 * 112 * 96 / 192.0),
  PUBLISHED("Taka, table 1", I8_I32, 48, 280, 48, 48 * 280 * 48 / 192.0),
  PUBLISHED("Taka, table 2", I8_I32, 80, 88, 96, 80 * 88 * 96 / 146.0),
};
/* clang-format on */

static const struct row other_types[] = {
    {"types", "", DTYPE_I16, DTYPE_I32, 64, 64, 64, .steps = 0},
    {"types", "", DTYPE_I16, DTYPE_I16, 64, 64, 64, .steps = 0},
    {"types", "", DTYPE_I8, DTYPE_I32, 64, 64, 64, .steps = 0},
    {"types", "", DTYPE_I8, DTYPE_I8, 64, 64, 64, .steps = 0},
    {"types", "", DTYPE_I16, DTYPE_I64, 64, 64, 64, .steps = 0},
    {"types", "", DTYPE_I16, DTYPE_I32, 64, 64, 64, .in1 = DTYPE_I8,
     .mixed = true},
    {"types", "", DTYPE_I16, DTYPE_I16, 64, 64, 64, .in1 = DTYPE_I8,
     .mixed = true},
    {"types", "", DTYPE_F32, DTYPE_F32, 32, 32, 32, .steps = 0},
    {"types", "", DTYPE_F32, DTYPE_F32, 64, 32, 64, .steps = 0},
    {"types", "", DTYPE_F32, DTYPE_F32, 64, 64, 64, .steps = 0},
};

/* Rings of two buffers of A and B share a bank each; loaded, they lie as in a
 * design, and one step among others counts 16 times. */
static const struct row in_steps[] = {
    {"steps", "", BF16_F32, 64, 64, 64, .steps = 16, .blocks = 1},
    {"steps", "", BF16_F32, 64, 64, 64, .steps = 16, .blocks = 2},
    {"steps", "", BF16_F32, 64, 32, 64, .steps = 16, .blocks = 1},
    {"steps", "", BF16_F32, 48, 32, 96, .steps = 16, .blocks = 2},
    {"steps", "", I8_I32, 64, 128, 64, .steps = 16, .blocks = 1},
    {"steps", "", I8_I32, 64, 128, 64, .steps = 16, .blocks = 2},
};

static const struct row on_aie2p[] = {
    {"aie2p", "Taka, table 1", I8_I8, 64, 232, 64,
     .published = 64 * 232 * 64 / 450.6, .aie2p = true},
    {"aie2p", "Taka, table 1", I8_I32, 48, 280, 48,
     .published = 48 * 280 * 48 / 384.0, .aie2p = true},
    {"aie2p", "", I8_I16, 64, 216, 64, .aie2p = true},
    {"aie2p", "Jena", BF16_F32, 64, 96, 64, .published = 800, .aie2p = true,
     .bfp16 = true},
    {"aie2p", "", BF16_F32, 64, 96, 64, .aie2p = true, .bfp16 = true,
     .zero = true},
    {"aie2p", "", BF16_F32, 64, 64, 64, .aie2p = true},
    {"aie2p", "", BF16_F32, 64, 64, 64, .aie2p = true, .tb = true},
    {"aie2p", "", DTYPE_I16, DTYPE_I32, 64, 64, 64, .aie2p = true},
    {"aie2p", "", DTYPE_I16, DTYPE_I16, 64, 64, 64, .aie2p = true},
    {"aie2p", "", I8_I32, 64, 128, 64, .steps = 16, .blocks = 1, .aie2p = true},
};

enum { LABEL = 64 };
struct bench {
  struct text table, bars;
  int rows;
  struct tool *tool;
  bool loaded;
};

static enum dtype in1_of(const struct row *r) {
  return r->mixed ? r->in1 : r->in;
}

struct measurement {
  const struct row *row;
  struct check_outcome outcome;
  bool beside; /* DMA channels */
  double cycles;
};

static bool measure(struct tool *t, void *context) {
  struct measurement *m = context;
  const struct row *r = m->row;
  struct check_outcome *o = &m->outcome;
  struct kernel_gemm k = {.name = "gemm",
                          .in0 = r->in,
                          .in1 = in1_of(r),
                          .out = r->out,
                          .m = r->m,
                          .k = r->k,
                          .n = r->n,
                          .isa = r->aie2p ? isa_find("aie2p") : NULL,
                          .bfp16 = r->bfp16,
                          .zero = r->steps > 0 || r->zero,
                          .ta = r->ta,
                          .tb = r->tb,
                          .tc = r->tc};
  if (m->beside && r->steps) {
    bool known = load_steps(&k, r->blocks, &m->cycles, &t->diag);
    m->cycles *= r->steps * r->blocks;
    return known;
  }
  if (m->beside && !load_adapt(&k))
    return true;
  struct kernel_steps steps = check_steps(r->steps, r->blocks);
  const struct kernel_steps *s = r->steps ? &steps : NULL;
  if (!check_fits(&k, s))
    return true;
  struct asm_program *p = kernel_gemm_steps(t->arena, &k, s, &t->diag);
  bool ok = p && check_gemm(&k, s, p, CHECK_RANDOM, 1, o, &t->diag);
  if (ok && o->wrong)
    return diag_error(&t->diag, loc_none(), "%d x %d x %d: %s", r->m, r->k,
                      r->n, o->first);
  m->cycles = (double)o->cycles;
  struct load_outcome loaded;
  if (!ok || !m->beside)
    return ok;
  ok = load_gemm(&k, p, &loaded, &t->diag);
  m->cycles = loaded.cycles;
  return ok;
}

static void add_bar(struct bench *b, const char *label, double ours,
                    double theirs) {
  enum { LEFT = 330, WIDE = 400, HIGH = 16 };
  int y = 30 + b->rows * HIGH;
  text_printf(&b->bars,
              "<text x='%d' y='%d' text-anchor='end'>%s</text>\n"
              "<rect x='%d' y='%d' width='%.1f' height='10' fill='#2b6cb0'/>\n"
              "<text x='%.1f' y='%d'>%.1f %%</text>\n",
              LEFT - 6, y + 9, label, LEFT, y, ours * WIDE,
              LEFT + ours * WIDE + 4, y + 9, 100 * ours);
  if (theirs > 0)
    text_printf(&b->bars,
                "<rect x='%.1f' y='%d' width='3' height='14' "
                "fill='#c05621'/>\n",
                LEFT + theirs * WIDE, y - 2);
  b->rows++;
}

/* Cycles in which the multiplier would do nothing else. */
static double limit_of(const struct row *r) {
  const struct kernel_gemm k = {.in0 = r->in,
                                .in1 = in1_of(r),
                                .out = r->out,
                                .isa = r->aie2p ? isa_find("aie2p") : NULL,
                                .bfp16 = r->bfp16};
  struct kernel_shape s = {1, 1, 1};
  bool known = kernel_gemm_shape(&k, &s);
  assert(known);
  return !known ? 0
                : (double)r->m * r->k * r->n / (s.m * s.k * s.n) *
                      kernel_gemm_multiplies(&k) *
                      (r->steps ? r->steps * r->blocks : 1);
}

static bool add_row(struct bench *b, const struct row *r) {
  struct measurement m = {.row = r, .beside = b->loaded};
  char label[LABEL];
  if (!tool_nested(b->tool, measure, &m))
    return false;
  double limit = limit_of(r);
  double cycles = m.cycles;
  if (cycles <= 0) /* no places */
    return true;
  int length = snprintf(
      label, sizeof label, "%s%s%s-%s %dx%dx%d%s%s%s",
      r->bfp16 ? "bfp16" : dtype_name(r->in), r->mixed ? "*" : "",
      r->mixed ? dtype_name(r->in1) : "", dtype_name(r->out), r->m, r->k, r->n,
      r->ta ? " ta" : "", r->tb ? " tb" : "", r->tc ? " tc" : "");
  if (r->zero)
    length += snprintf(label + length, sizeof label - (size_t)length, " =");
  if (r->steps)
    snprintf(label + length, sizeof label - (size_t)length, " x%d,%d", r->steps,
             r->blocks);
  struct text keys = {0};
  text_printf(&keys,
              "group=\"%s\" kernel=\"%s\" cycles=%.0f limit=%.0f "
              "stalls=%llu",
              r->group, label, cycles, limit,
              (unsigned long long)m.outcome.stalls);
  if (r->published > 0)
    text_printf(&keys, " published=%.0f ratio=%.3f source=\"%s\"", r->published,
                r->published / cycles, r->source);
  if (b->tool->json)
    keys_print(b->tool, "%s\n", text_string(&keys));
  text_free(&keys);
  text_printf(&b->table, "%-10s %-26s %7.0f %7.0f %7.1f %6llu", r->group, label,
              cycles, limit, 100 * limit / cycles,
              (unsigned long long)m.outcome.stalls);
  if (r->published > 0)
    text_printf(&b->table, " %9.0f %7.3f  %s", r->published,
                r->published / cycles, r->source);
  text_puts(&b->table, "\n");
  add_bar(b, label, limit / cycles,
          r->published > 0 ? limit / r->published : 0);
  return true;
}

static bool add_rows(struct bench *b, const struct row *row, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!add_row(b, &row[i]))
      return false;
  return true;
}

static bool add_transposes(struct bench *b, enum dtype in, enum dtype out,
                           int k) {
  for (int i = 0; i < 8; i++)
    if (!add_row(b, &(struct row){"transpose", "", in, out, 64, k, 64,
                                  .ta = i & 4, .tb = i & 2, .tc = i & 1}))
      return false;
  return true;
}

static bool add_edges(struct bench *b) {
  for (int m = 64; m <= 76; m += 4)
    for (int n = 64; n <= 76; n += 4)
      if (!add_row(b, &(struct row){"edge", "", DTYPE_BF16, DTYPE_F32, m, 64, n,
                                    .steps = 0}))
        return false;
  return true;
}

/* M = N in 16..96, K in 8..256, as far as a tile's memory goes. */
static bool add_sweep(struct bench *b) {
  for (int size = 16; size <= 96; size += 16)
    for (int k = 8; k <= 256; k *= 2) {
      struct kernel_gemm g = {.in0 = DTYPE_BF16,
                              .in1 = DTYPE_BF16,
                              .out = DTYPE_F32,
                              .m = size,
                              .k = k,
                              .n = size};
      uint32_t at[3];
      if (check_place(&g, at) &&
          !add_row(b, &(struct row){"sweep", "", DTYPE_BF16, DTYPE_F32, size, k,
                                    size, .steps = 0}))
        return false;
    }
  return true;
}

static bool write_svg(const struct bench *b, const char *path) {
  struct text svg = {0};
  text_printf(&svg,
              "<svg xmlns='http://www.w3.org/2000/svg' width='800' "
              "height='%d' font-family='sans-serif' font-size='10'>\n"
              "<text x='330' y='16'>share of the multiplier's limit; mark: "
              "published</text>\n",
              50 + 16 * b->rows);
  text_puts(&svg, text_string(&b->bars));
  text_puts(&svg, "</svg>\n");
  bool ok = tool_output(b->tool, path, &svg);
  text_free(&svg);
  return ok;
}

static bool run(struct bench *b, bool all, const char *svg) {
  text_printf(&b->table, "%-10s %-26s %7s %7s %7s %6s %9s %7s\n", "group",
              "kernel (M x K x N)", "cycles", "limit", "%", "stalls",
              "published", "ratio");
  bool ok =
      add_rows(b, published, sizeof published / sizeof *published) &&
      add_rows(b, other_types, sizeof other_types / sizeof *other_types) &&
      add_rows(b, on_aie2p, sizeof on_aie2p / sizeof *on_aie2p);
  ok = ok && add_rows(b, in_steps, sizeof in_steps / sizeof *in_steps) &&
       add_transposes(b, BF16_F32, 64) && add_edges(b);
  if (all)
    ok = ok && add_transposes(b, I8_I8, 128) &&
         add_transposes(b, I8_I32, 128) &&
         add_transposes(b, DTYPE_I16, DTYPE_I32, 64) && add_sweep(b);
  return ok && (b->tool->json || tool_output(b->tool, NULL, &b->table)) &&
         (!svg || write_svg(b, svg));
}

/* Every kernel's result is compared, too. */
bool bench_kernels(struct tool *t, void *to) {
  const struct bench_kernels_job *job = to;
  struct bench b = {.tool = t, .loaded = job->loaded};
  bool ok = run(&b, job->all, job->svg);
  text_free(&b.table);
  text_free(&b.bars);
  return ok;
}
