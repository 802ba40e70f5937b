/* job.c -- reads the words that map, design and build share. */
#include "job.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

static bool read_sizes(const char *word, struct teir_problem *p) {
  int64_t *const size = &p->extent[AXIS_M];
  for (int i = 0; i < 3; i++) {
    char *end;
    long long v = strtoll(word, &end, 10);
    if (end == word || v < 1 || v > INT32_MAX || *end != (i < 2 ? 'x' : 0))
      return false;
    size[i] = v;
    word = end + 1;
  }
  return true;
}

static bool read_types(const char *words, struct teir_problem *p) {
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

static bool read_shift(const char *word, struct teir_finish *f) {
  char *end;
  long v = strtol(word, &end, 10);
  f->saturate = true;
  f->shift = (int)v;
  return end != word && !*end && v >= 0 && v <= 31;
}

static bool ends_with(const char *word, const char *tail) {
  size_t n = strlen(word), t = strlen(tail);
  return n > t && strcmp(word + n - t, tail) == 0;
}

bool job_read(struct job *job, const char *command, int argc, char **argv) {
  *job = (struct job){
      .command = command,
      .device = "npu1",
      .problem = {.extent = {1}, .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}};
  struct teir_finish *finish = &job->problem.finish;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    bool value = strcmp(word, "--types") == 0 ||
                 strcmp(word, "--device") == 0 ||
                 strcmp(word, "--shift") == 0 || strcmp(word, "-o") == 0;
    if (value && i + 1 == argc) {
      tool_usage(command, "%s takes a value", word);
      return false;
    }
    if (strcmp(word, "--types") == 0) {
      if (!read_types(argv[++i], &job->problem)) {
        tool_usage(command, "--types takes three types A,B,C, not '%s'",
                   argv[i]);
        return false;
      }
    } else if (strcmp(word, "--relu") == 0) {
      finish->relu = true;
    } else if (strcmp(word, "--shift") == 0) {
      if (!read_shift(argv[++i], finish)) {
        tool_usage(command, "--shift takes 0 to 31, not '%s'", argv[i]);
        return false;
      }
    } else if (strcmp(word, "--device") == 0) {
      job->device = argv[++i];
    } else if (strcmp(word, "-o") == 0) {
      job->output = argv[++i];
    } else if (word[0] != '-' && ends_with(word, ".teir") && !job->teir_file &&
               !job->problem.extent[AXIS_M]) {
      job->teir_file = word;
    } else if (word[0] == '-' || job->problem.extent[AXIS_M] ||
               job->teir_file || !read_sizes(word, &job->problem)) {
      tool_usage(command, "'%s' is neither MxNxK nor FILE.teir nor an option",
                 word);
      return false;
    }
  }
  job->problem.acc = map_sum_type(&job->problem);
  if (!job->teir_file && !job->problem.extent[AXIS_M]) {
    tool_usage(command, "takes MxNxK or FILE.teir");
    return false;
  }
  return true;
}

static struct teir *read_teir(struct arena *a, const char *file,
                              struct diag *d) {
  char *text = file_read(a, file, NULL, d);
  return text ? teir_parse(a, file, text, d) : NULL;
}

bool job_compile(struct arena *a, const struct job *job, struct npu_result *r,
                 struct diag *d) {
  memset(r, 0, sizeof *r);
  struct teir *t = job->teir_file ? read_teir(a, job->teir_file, d)
                                  : teir_from_problem(a, &job->problem, d);
  return t && npu_compile(a, job->device, t, 0, r, d);
}
