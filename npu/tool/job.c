/* job.c -- reads the words that map, design, build and sim share. */
#include "job.h"

#include "teir_program.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct job job_defaults = {
    .device = "npu1",
    .problem = {.extent = {1}, .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}};

/* MxNxK in decimal digits, for 0x4x4 has a zero; whether the word is meant as
 * one. */
static bool read_sizes(const char *at, int64_t size[3]) {
  for (int i = 0; i < 3; i++, at++) {
    char *end;
    size[i] = strtoll(at, &end, 10); /* the nearest to what is too large */
    if (!isdigit((unsigned char)at[*at == '-']) || *end != (i < 2 ? 'x' : 0))
      return false;
    at = end;
  }
  return true;
}

static bool ends_with(const char *word, const char *end) {
  size_t n = strlen(word), m = strlen(end);
  return n > m && strcmp(word + n - m, end) == 0;
}

static bool is_file(const char *word) {
  static const char *const end[] = {".teir", ".tec", ".json"};
  for (int i = 0; i < 3; i++)
    if (ends_with(word, end[i]))
      return true;
  return strcmp(word, "-") == 0;
}

bool job_is_program(const char *word) {
  int64_t size[3];
  return strstr(word, "->") || is_file(word) || read_sizes(word, size);
}

static bool take_sizes(struct tool *t, struct job *job, const char *word) {
  int64_t *size = &job->problem.extent[AXIS_M];
  if (!read_sizes(word, size))
    return tool_usage(t,
                      "'%s' is neither MxNxK, an einsum expression nor a "
                      "FILE.teir, .tec or .json",
                      word);
  for (int i = 0; i < 3; i++)
    if (size[i] < 1 || size[i] > INT32_MAX)
      return tool_usage(t, "'%s': sizes go from 1 to %d", word, INT32_MAX);
  return true;
}

bool job_read_input(struct tool *t, void *to, const char *word) {
  struct job *job = to;
  if (strstr(word, "->"))
    job->einsum.expression = word;
  else if (is_file(word))
    job->file = word;
  else
    return take_sizes(t, job, word);
  return true;
}

static bool parse_types(const char *words, struct teir_problem *p) {
  for (int i = 0; i < 3; i++) {
    size_t length = strcspn(words, ",");
    char name[8];
    if (length >= sizeof name || (words[length] == ',') != (i < 2))
      return false;
    memcpy(name, words, length);
    name[length] = 0;
    if (!dtype_parse(name, &p->type[i]))
      return false;
    words += length + 1;
  }
  return true;
}

bool job_read_types(struct tool *t, void *to, const char *word) {
  struct job *job = to;
  job->typed = true;
  return parse_types(word, &job->problem) ||
         tool_usage(t, "--types takes three types A,B,C, not '%s'", word);
}

bool job_read_shift(struct tool *t, void *to, const char *word) {
  struct teir_finish *finish = &((struct job *)to)->problem.finish;
  finish->saturate = true;
  return tool_int(t, &finish->shift, word);
}

void job_list_devices(struct text *out) {
  for (int i = 0; device_at(i); i++)
    text_printf(out, "%s%s%s", i ? ", " : "", device_at(i)->name,
                strcmp(device_at(i)->name, job_defaults.device) ? ""
                                                                : " (default)");
  text_puts(out, ", or a preset, whose DRAM then counts: ");
  tool_list_presets(out);
}

bool job_read_device(struct tool *t, void *to, const char *word) {
  struct text known = {0};
  *(const char **)to = word;
  if (device_find(word) || preset_find(word))
    return true;
  job_list_devices(&known);
  tool_usage(t, "there is no device '%s'; there are %s", word,
             text_string(&known));
  text_free(&known);
  return false;
}

#define AT(field) offsetof(struct job, field)

const struct tool_option job_options[] = {
    {"PROGRAM", NULL, job_read_input, 0,
     .help = "MxNxK, sizes of out[m,n] = sum of in0[m,k] * in1[k,n]; an einsum "
             "expression as 'aebf,dfce->abcd', see: nputeir help einsum; or a "
             "contraction in a file, .teir, .tec or .json, which may be "
             "scheduled on rows, columns and time",
     .flags = TOOL_NEEDED},
    {"--sizes", "a=8,b=32", tool_word, AT(sizes),
     .help = "extent of every letter of an einsum"},
    {"--layout", "ORDER", tool_word, AT(einsum.layout),
     .help = "memory order of an einsum's tensors, in the expression's form"},
    {"--types", "A,B,C", job_read_types, 0,
     .help = "of in0, in1 and out: bf16,bf16,f32 (default), or bf16,bf16,bf16 "
             "(sums in f32, rounded once), or integers that have a kernel, "
             "such as i8,i8,i32; bfp16 is bf16 that may become block floats, "
             "on XDNA2"},
    {"--relu", NULL, tool_flag, AT(problem.finish.relu),
     .help = "results below zero become zero"},
    {"--shift", "N", job_read_shift, 0,
     .help = "integer results narrower than their sums: sum / 2^N, halves up, "
             "saturated",
     .high = 31},
    {"--device", "NAME", job_read_device, AT(device), .help = "%s",
     .list = job_list_devices},
    {0},
};

static const struct teir *read_file(struct tool *t, const char *file) {
  const char *name = strcmp(file, "-") ? file : "stdin";
  char *text = tool_input(t, file, NULL);
  return text ? teir_program_parse(t->arena, name, text, &t->diag) : NULL;
}

static int input_count(const char *expression) {
  int count = 1;
  for (const char *at = expression; *at && *at != '-'; at++)
    count += *at == ',';
  return count;
}

/* Sums have a type of their own where results are of another one. */
static const struct teir *read_einsum(struct tool *t, struct job *job) {
  const enum dtype *type = job->problem.type;
  job->einsum.in = type[IN0];
  job->einsum.out = type[OUT];
  if (job->sizes && !teir_einsum_sizes(&job->einsum, job->sizes, &t->diag))
    return NULL;
  struct teir *x = teir_from_einsum(t->arena, &job->einsum, &t->diag);
  if (!x)
    return NULL;
  if (x->tensor_count != TENSORS) {
    int inputs = input_count(job->einsum.expression);
    diag_declined(&t->diag, loc_none(),
                  "the expression has %d input%s; the array takes a "
                  "contraction of two",
                  inputs, inputs > 1 ? "s" : "");
    return NULL;
  }
  for (int i = 0; i < x->axis_count; i++) {
    struct value *stride = &x->axis[i].stride_bytes[IN1];
    stride->constant =
        stride->constant / dtype_bytes(type[IN0]) * dtype_bytes(type[IN1]);
  }
  x->tensor[IN1].type = type[IN1];
  x->tensor[OUT].type = job->problem.acc;
  return teir_finish_sums(t->arena, x, &job->problem.finish, type[OUT],
                          &t->diag);
}

/* Whether what was given beside a program is something it does not say. */
static bool check_words(struct tool *t, const struct job *job) {
  const struct teir_finish *finish = &job->problem.finish;
  if (job->sizes && !job->einsum.expression)
    return tool_usage(t, "--sizes are those of an einsum expression's letters");
  if (job->einsum.layout && !job->einsum.expression)
    return tool_usage(t, "--layout is that of an einsum expression's tensors");
  if (job->file && (job->typed || finish->relu || finish->saturate))
    return tool_usage(t, "%s is not for a program in a file, which says it",
                      job->typed     ? "--types"
                      : finish->relu ? "--relu"
                                     : "--shift");
  enum dtype out = job->problem.type[OUT];
  if (finish->saturate &&
      (dtype_kind(out) == DTYPE_FLOAT || out == job->problem.acc))
    return tool_usage(t,
                      "--shift is for integer results that are narrower than "
                      "their sums, not for %s of %s",
                      dtype_name(out), dtype_name(job->problem.acc));
  return true;
}

const struct teir *job_teir(struct tool *t, struct job *job) {
  struct platform at;
  if (!platform_find(job->device, &at, &t->diag))
    return NULL;
  job->problem.acc = map_sum_type(at.device, &job->problem);
  if (!check_words(t, job))
    return NULL;
  return job->file ? read_file(t, job->file)
         : job->einsum.expression
             ? read_einsum(t, job)
             : teir_from_problem(t->arena, &job->problem, &t->diag);
}

bool job_compile(struct tool *t, struct job *job, struct npu_result *r) {
  memset(r, 0, sizeof *r);
  const struct teir *teir = job_teir(t, job);
  return teir && npu_compile(t->arena, job->device, teir, 0, r, &t->diag);
}
