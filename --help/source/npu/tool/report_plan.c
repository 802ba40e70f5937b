/* report_plan.c -- what becomes of a nest that was taken: the plugin's line
 * says its einsum, sizes and types; the compiler of the array says the rest. */
#include "job.h"
#include "recognizer.h"
#include "report.h"
#include "run.h"
#include "teir_dump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

static int64_t bound(const struct report_sizes *s, const char *name) {
  for (int i = 0; i < s->count; i++)
    if (strcmp(s->name[i], name) == 0)
      return s->value[i];
  return s->size;
}

/* "m=64 n=n_j": false where there are too many. */
static bool read_sizes(struct arena *a, const char *sizes,
                       const struct report_sizes *s, struct report_plan *p) {
  p->macs = 1;
  while (*sizes) {
    size_t length = strcspn(sizes, " ");
    char *word = arena_substring(a, sizes, length);
    if (p->axis_count == REPORT_AXES || length < 3 || word[1] != '=')
      return false;
    char *end;
    long long extent = strtoll(word + 2, &end, 10);
    bool number = *end == 0;
    int i = p->axis_count++;
    p->axis[i].letter = word[0];
    p->axis[i].size = number ? NULL : word + 2;
    p->axis[i].extent = number ? extent : bound(s, word + 2);
    p->macs *= (double)p->axis[i].extent;
    sizes += length;
    sizes += *sizes == ' ';
  }
  return p->axis_count > 0;
}

/* ---- types ---- */

/* "tensor in0 i8" in the lines of the contraction. */
static bool find_type(const char *lines, const char *before, enum dtype *type) {
  char word[16];
  const char *at = strstr(lines, before);
  if (!at)
    return false;
  at += strlen(before);
  size_t length = strcspn(at, " \n");
  if (length >= sizeof word)
    return false;
  memcpy(word, at, length);
  word[length] = 0;
  return dtype_parse(word, type);
}

/* Those that the array multiplies: floats become bf16, as the options say. */
static bool read_types(struct arena *a, const struct finding *f,
                       enum dtype type[TENSORS], bool *passes) {
  struct options o = options_default();
  struct diag ignored = {0};
  if (f->options)
    options_parse(&o, a, "report", f->options, &ignored);
  if (!find_type(f->contraction, "tensor in0 ", &type[IN0]) ||
      !find_type(f->contraction, "tensor in1 ", &type[IN1]) ||
      !find_type(f->contraction, "sum ", &type[OUT]))
    return false;
  bool wide = dtype_kind(type[IN0]) == DTYPE_FLOAT && !dtype_is_half(type[IN0]);
  *passes = wide && o.f32 == F32_BF16X3;
  if (dtype_kind(type[IN0]) == DTYPE_FLOAT) {
    type[IN0] = type[IN1] =
        o.bf16 == BF16_BFP16 && !*passes ? DTYPE_BFP16 : DTYPE_BF16;
    type[OUT] = DTYPE_F32;
  }
  return true;
}

/* ---- the plan ---- */

static const char *sizes_of(struct arena *a, const struct report_plan *p) {
  struct text t = {0};
  for (int i = 0; i < p->axis_count; i++)
    text_printf(&t, "%s%c=%lld", i ? "," : "", p->axis[i].letter,
                (long long)p->axis[i].extent);
  char *words = arena_string(a, text_string(&t));
  text_free(&t);
  return words;
}

static double seconds_of(const struct report_plan *p, const struct preset *at,
                         double cycles) {
  return (p->passes ? 3 : 1) *
         (at->launch_seconds + cycles / (at->clock_ghz * 1e9));
}

static void add_platforms(struct tool *t, const struct teir *teir,
                          struct report_plan *p) {
  for (int i = 0; preset_at(i) && i < REPORT_PLATFORMS; i++) {
    struct platform at;
    struct map_blocking b;
    const char *why[TENSORS];
    unsigned tried = 0;
    struct diag d = {0};
    if (!platform_find(preset_at(i)->name, &at, &d) ||
        !map_choose_in_place(t->arena, &at, teir, &tried, &b, why, &d))
      continue;
    p->platform[p->platform_count].preset = preset_at(i);
    p->platform[p->platform_count++].seconds =
        seconds_of(p, preset_at(i), b.predicted_cycles);
  }
}

static const char *kept(struct arena *a, struct text *t) {
  const char *s = arena_string(a, text_string(t));
  text_free(t);
  return s;
}

static void show(struct tool *t, const struct npu_result *r,
                 struct report_plan *p) {
  struct text tree = {0}, cores = {0};
  teir_print_tree(r->teir, &tree);
  report_draw_cores(r, &cores);
  p->tree = kept(t->arena, &tree);
  p->cores = kept(t->arena, &cores);
}

struct report_plan *report_plan_of(struct tool *t, const struct finding *f,
                                   const struct report_sizes *sizes,
                                   const struct preset *at) {
  struct arena *a = t->arena;
  struct report_plan *p = arena_array(a, 1, sizeof *p);
  struct tool part = {.arena = a,
                      .name = t->name}; /* with its own diagnostic */
  struct npu_result r = {0};
  struct job j = job_defaults;
  if (!read_sizes(a, f->sizes, sizes, p) ||
      !read_types(a, f, j.problem.type, &p->passes)) {
    p->why = "its sizes or types are not those of a contraction of two";
    return p;
  }
  p->loop_seconds = run_loop_guess(p->macs);
  j.device = at->name;
  j.einsum.expression = f->einsum;
  j.sizes = sizes_of(a, p);
  p->command = arena_printf(a, "'%s' --sizes %s --types %s,%s,%s", f->einsum,
                            j.sizes, dtype_name(j.problem.type[IN0]),
                            dtype_name(j.problem.type[IN1]),
                            dtype_name(j.problem.type[OUT]));
  const struct teir *teir = job_teir(&part, &j);
  if (teir && npu_compile(a, at->name, teir, 0, &r, &part.diag)) {
    p->seconds = seconds_of(p, at, r.blocking.predicted_cycles);
    show(t, &r, p);
    add_platforms(t, teir, p);
  } else {
    p->why = arena_string(a, part.diag.text);
  }
  npu_result_free(&r);
  text_free(&part.out);
  return p;
}
