/* teir_run.c -- `nputeir teir run`: gives every tensor memory and contents,
 * executes the program, reports what it wrote. */
#include "teir_blas.h"
#include "teir_einsum.h"
#include "teir_job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool read_one(struct tool *t, struct teir_job_pairs *p,
                     const char *word) {
  struct teir_job_pair one;
  if (!tool_assignment(t, word, &one.name, &one.value))
    return false;
  for (int i = 0; i < p->count; i++)
    if (strcmp(p->one[i].name, one.name) == 0)
      return tool_usage(t, "%s: %s is given twice", t->option, one.name);
  if (p->count == TEIR_JOB_PAIRS)
    return tool_usage(t, "more than %d times %s", TEIR_JOB_PAIRS, t->option);
  p->one[p->count++] = one;
  return true;
}

bool teir_job_read_pair(struct tool *t, void *to, const char *word) {
  return read_one(t, to, word);
}

bool teir_job_read_out(struct tool *t, void *to, const char *word) {
  struct teir_job_pairs *p = to;
  return read_one(t, p, word) &&
         tool_file_to_write(t, &p->one[p->count - 1].value,
                            p->one[p->count - 1].value);
}

bool teir_job_read_bind(struct tool *t, void *to, const char *word) {
  do {
    size_t length = strcspn(word, ",");
    if (!read_one(t, to, arena_substring(t->arena, word, length)))
      return false;
    word += length + (word[length] == ',');
  } while (*word);
  return true;
}

bool teir_job_bind(struct teir_job *j) {
  int count = j->teir->symbol_count;
  int64_t *value = arena_array(j->arena, (size_t)count + 1, sizeof *value);
  bool *given = arena_array(j->arena, (size_t)count + 1, sizeof *given);
  for (int i = 0; i < j->bind.count; i++) {
    int symbol = teir_find_symbol(j->teir, j->bind.one[i].name);
    struct scan s = scan_open(NULL, j->bind.one[i].value);
    if (symbol < 0)
      return diag_error(&j->d, loc_none(), "there is no symbol '%s'",
                        j->bind.one[i].name);
    if (!scan_int(&s, &value[symbol]) || !scan_end(&s))
      return diag_error(&j->d, loc_none(), "symbol %s: '%s' is no number",
                        j->bind.one[i].name, j->bind.one[i].value);
    given[symbol] = true;
  }
  for (int i = 0; i < count; i++)
    if (!given[i])
      return diag_error(&j->d, loc_none(), "symbol %s has no value",
                        j->teir->symbol[i]);
  j->teir = teir_bind(j->arena, j->teir, value, count, &j->d);
  return j->teir;
}

struct memory {
  int64_t low, bytes;
  char *data; /* of the byte at `low` */
};

/* Whole numbers from -4 to 4, a different row for every tensor. */
static void fill(const struct teir *t, int tensor, struct memory *m) {
  enum dtype type = t->tensor[tensor].type;
  int width = dtype_bytes(type);
  for (int64_t i = 0; i + width <= m->bytes; i += width)
    dtype_store_int(type, m->data + i,
                    (i / width * 7 + 3 * tensor) % 9 -
                        (dtype_kind(type) == DTYPE_UNSIGNED ? 0 : 4));
}

static bool load(struct teir_job *j, const struct teir_job_pair *p,
                 struct memory *m) {
  size_t length;
  char *bytes = file_read(j->arena, p->value, &length, &j->d);
  if (!bytes)
    return false;
  if ((int64_t)length != m->bytes)
    return diag_error(&j->d, (struct loc){p->value, 0, 0},
                      "%zu bytes; tensor %s has %lld", length, p->name,
                      (long long)m->bytes);
  if (length)
    memcpy(m->data, bytes, length);
  return true;
}

static const struct teir_job_pair *find_pair(const struct teir_job_pairs *p,
                                             const char *name) {
  for (int i = 0; i < p->count; i++)
    if (strcmp(p->one[i].name, name) == 0)
      return &p->one[i];
  return NULL;
}

static bool check_pairs(struct teir_job *j, const struct teir_job_pairs *p) {
  for (int i = 0; i < p->count; i++)
    if (teir_find_tensor(j->teir, p->one[i].name) < 0)
      return diag_error(&j->d, loc_none(), "there is no tensor '%s'",
                        p->one[i].name);
  return true;
}

/* Asking for more than the machine has would end the process later, or fill the
 * swap, instead of giving an answer now. */
static bool check_memory(struct teir_job *j) {
  double bytes = 0;
  double machine =
      (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < j->teir->tensor_count; i++) {
    int64_t low, high;
    if (!teir_footprint(j->teir, i, &low, &high, &j->d))
      return false;
    bytes += (double)high - (double)low;
    if (bytes > machine)
      return diag_error(&j->d, j->teir->tensor[i].at,
                        "tensors up to %s take %.0f bytes; this machine has "
                        "%.0f",
                        j->teir->tensor[i].id, bytes, machine);
  }
  return true;
}

/* malloc, not the arena: these may be large, and too large is an error. */
static bool give_memory(struct teir_job *j, int tensor, struct memory *m) {
  const struct teir_tensor *x = &j->teir->tensor[tensor];
  int64_t high;
  if (!teir_footprint(j->teir, tensor, &m->low, &high, &j->d))
    return false;
  m->bytes = high - m->low;
  m->data = calloc(m->bytes ? (size_t)m->bytes : 1, 1);
  if (!m->data)
    return diag_error(&j->d, x->at, "no memory for the %lld bytes of %s",
                      (long long)m->bytes, x->id);
  const struct teir_job_pair *p = find_pair(&j->in, x->id);
  if (p)
    return load(j, p, m);
  fill(j->teir, tensor, m);
  return true;
}

static bool written(const struct teir *t, int tensor) {
  for (int i = 0; i < t->primitive_count; i++)
    if (teir_output(t, i) == tensor)
      return true;
  return false;
}

/* "out f32 30 elements: 12 -3 4.5 .. sum 17" */
static void report(const struct teir *t, int tensor, const struct memory *m,
                   struct text *to) {
  enum { SHOWN = 8 };
  enum dtype type = t->tensor[tensor].type;
  int width = dtype_bytes(type);
  double sum = 0;
  text_printf(to, "%s %s %lld elements:", t->tensor[tensor].id,
              dtype_name(type), (long long)(m->bytes / width));
  for (int64_t i = 0; i < m->bytes / width; i++) {
    double v = dtype_load_float(type, m->data + i * width);
    sum += v;
    if (i < SHOWN)
      text_printf(to, " %g", v);
  }
  text_printf(to, "%s sum %.17g\n", m->bytes / width > SHOWN ? " .." : ",",
              sum);
}

static bool execute(struct teir_job *j, void *const base[]) {
  struct timespec from, to;
  if (!j->fast)
    return teir_run(j->teir, base, &j->d);
  const struct teir_blas *blas = teir_openblas();
  int threads = j->threads ? (int)j->threads : 1;
  clock_gettime(CLOCK_MONOTONIC, &from);
  if (!teir_run_fast(j->teir, base, threads, blas, &j->d))
    return false;
  clock_gettime(CLOCK_MONOTONIC, &to);
  double seconds = (double)(to.tv_sec - from.tv_sec) +
                   (double)(to.tv_nsec - from.tv_nsec) / 1e9;
  text_printf(&j->out, "%.6f s, %.3f GMAC/s, %d thread%s, %s\n", seconds,
              teir_macs(j->teir) / seconds / 1e9, threads,
              threads == 1 ? "" : "s", blas ? "OpenBLAS" : "no BLAS");
  return true;
}

static bool run_in(struct teir_job *j, struct memory *memory) {
  const struct teir *t = j->teir;
  void **base =
      arena_array(j->arena, (size_t)t->tensor_count + 1, sizeof *base);
  for (int i = 0; i < t->tensor_count; i++) {
    if (!give_memory(j, i, &memory[i]))
      return false;
    base[i] = memory[i].data - memory[i].low;
  }
  if (!execute(j, base))
    return false;
  for (int i = 0; i < t->tensor_count; i++) {
    if (written(t, i))
      report(t, i, &memory[i], &j->out);
    const struct teir_job_pair *p = find_pair(&j->out_file, t->tensor[i].id);
    if (p &&
        !file_write(p->value, memory[i].data, (size_t)memory[i].bytes, &j->d))
      return false;
  }
  return true;
}

bool teir_job_run(struct teir_job *j) {
  if (!check_pairs(j, &j->in) || !check_pairs(j, &j->out_file) ||
      !check_memory(j))
    return false;
  struct memory *memory =
      arena_array(j->arena, (size_t)j->teir->tensor_count + 1, sizeof *memory);
  bool good = run_in(j, memory);
  for (int i = 0; i < j->teir->tensor_count; i++)
    free(memory[i].data);
  return good;
}
