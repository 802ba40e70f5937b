/* job.c -- reads the words that map, design and build share. */
#include "job.h"

#include <string.h>

const struct job job_defaults = {
    .device = "npu1",
    .problem = {.extent = {1}, .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}};

/* MxNxK */
static bool read_sizes(const char *at, struct teir_problem *p) {
  int64_t *const size = &p->extent[AXIS_M];
  for (int i = 0; i < 3; i++) {
    if (!tool_scan_number(&at, &size[i]) || size[i] < 1 ||
        size[i] > INT32_MAX || *at != (i < 2 ? 'x' : 0))
      return false;
    at++;
  }
  return true;
}

static bool ends_with(const char *word, const char *end) {
  size_t n = strlen(word), m = strlen(end);
  return n > m && strcmp(word + n - m, end) == 0;
}

static bool read_input(struct tool *t, void *to, const char *word) {
  struct job *job = to;
  if (ends_with(word, ".teir"))
    job->teir_file = word;
  else if (!read_sizes(word, &job->problem))
    return tool_usage(t, "'%s' is neither MxNxK nor FILE.teir", word);
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

static bool read_types(struct tool *t, void *to, const char *word) {
  struct job *job = to;
  return parse_types(word, &job->problem) ||
         tool_usage(t, "--types takes three types A,B,C, not '%s'", word);
}

static bool read_shift(struct tool *t, void *to, const char *word) {
  struct teir_finish *finish = &((struct job *)to)->problem.finish;
  finish->saturate = true;
  return tool_int(t, &finish->shift, word);
}

static void list_devices(struct text *out) {
  for (int i = 0; device_at(i); i++)
    text_printf(out, "%s%s%s", i ? ", " : "", device_at(i)->name,
                strcmp(device_at(i)->name, job_defaults.device) ? ""
                                                                : " (default)");
  text_puts(out, ", or a preset, whose DRAM then counts: ");
  tool_list_presets(out);
}

static bool read_device(struct tool *t, void *to, const char *word) {
  struct text known = {0};
  *(const char **)to = word;
  if (device_find(word) || preset_find(word))
    return true;
  list_devices(&known);
  tool_usage(t, "there is no device '%s'; there are %s", word,
             text_string(&known));
  text_free(&known);
  return false;
}

#define AT(field) offsetof(struct job, field)

const struct tool_option job_options[] = {
    {"MxNxK|FILE.teir", NULL, read_input, 0,
     .help = "sizes of out[m,n] = sum of in0[m,k] * in1[k,n], or a schedule "
             "placed on rows, columns and time",
     .flags = TOOL_NEEDED},
    {"--types", "A,B,C", read_types, 0,
     .help = "of in0, in1 and out: bf16,bf16,f32 (default), or bf16,bf16,bf16 "
             "(sums in f32, rounded once), or integers that have a kernel, "
             "such as i8,i8,i32"},
    {"--relu", NULL, tool_flag, AT(problem.finish.relu),
     .help = "results below zero become zero"},
    {"--shift", "N", read_shift, 0,
     .help = "integer results: sum / 2^N, halves up, saturated", .high = 31},
    {"--device", "NAME", read_device, AT(device), .help = "%s",
     .list = list_devices},
    {0},
};

static struct teir *read_teir(struct tool *t, const char *file) {
  char *text = tool_input(t, file, NULL);
  return text ? teir_parse(t->arena, file, text, &t->diag) : NULL;
}

bool job_compile(struct tool *t, struct job *job, struct npu_result *r) {
  memset(r, 0, sizeof *r);
  job->problem.acc = map_sum_type(&job->problem);
  struct teir *teir =
      job->teir_file ? read_teir(t, job->teir_file)
                     : teir_from_problem(t->arena, &job->problem, &t->diag);
  return teir && npu_compile(t->arena, job->device, teir, 0, r, &t->diag);
}
