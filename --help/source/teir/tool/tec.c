/* tec.c -- reads and writes the flat form, and says what the thesis's backend
 * would not take. */
#include "teir_tec.h"

#include <assert.h>
#include <string.h>

static const char *const dim_name[] = {"C", "M", "N", "K", NULL};
static const char *const exec_name[] = {"seq", "shared", "npu", "prim", NULL};
static const char *const prim_name[] = {"None", "Zero",   "ReLU", "Copy",
                                        "GEMM", "BRGEMM", NULL};
static const struct {
  const char *name;
  enum dtype type;
} data_type[] = {{"FP32", DTYPE_F32},
                 {"FP64", DTYPE_F64},
                 {"bfloat_16", DTYPE_BF16},
                 {NULL, DTYPE_COUNT}};

/* ---- reading ---- */
struct tec_reader {
  struct arena *a;
  struct scan s;
  struct tec *t;
  struct diag *d;
};

static bool take_word(struct tec_reader *r, const char *const *list,
                      int *choice) {
  struct loc at = scan_loc(&r->s);
  char *word = scan_name(&r->s, r->a);
  for (int i = 0; word && list[i]; i++)
    if (strcmp(word, list[i]) == 0) {
      *choice = i;
      return true;
    }
  return word ? diag_error(r->d, at, "'%s' is not known here", word)
              : scan_expected(&r->s, r->d, "a word");
}

/* "(a, b, c)": words of `list` or, without, whole numbers. */
static bool take_tuple(struct tec_reader *r, const char *const *list,
                       int64_t *item) {
  assert(r->t->dims >= 0 && r->t->dims <= TEC_DIMS);
  struct loc at = scan_loc(&r->s);
  int count = 0;
  if (!scan_char(&r->s, '('))
    return scan_expected(&r->s, r->d, "'('");
  while (!scan_char(&r->s, ')')) {
    int choice = 0;
    if (count == TEC_DIMS)
      return diag_error(r->d, at, "more than %d dimensions", TEC_DIMS);
    if (list) {
      if (!take_word(r, list, &choice))
        return false;
      item[count] = choice;
    } else if (!scan_int(&r->s, &item[count])) {
      return scan_expected(&r->s, r->d, "a number");
    }
    count++;
    scan_char(&r->s, ',');
  }
  if (r->t->dims && count != r->t->dims)
    return diag_error(r->d, at, "%d entries; the lines before have %d", count,
                      r->t->dims);
  r->t->dims = count;
  return true;
}

static bool take_data_type(struct tec_reader *r) {
  const char *names[8] = {NULL};
  int choice;
  for (int i = 0; data_type[i].name; i++)
    names[i] = data_type[i].name;
  if (!take_word(r, names, &choice))
    return false;
  r->t->data_type = data_type[choice].type;
  return true;
}

enum field {
  TYPES,
  EXEC,
  SIZES,
  STRIDES_IN0,
  STRIDES_IN1,
  STRIDES_OUT,
  DATA,
  FIRST,
  MAIN,
  LAST,
  FIELDS
};
static const char *const field_name[] = {
    "dim_types",   "exec_types",  "dim_sizes", "strides_in0",
    "strides_in1", "strides_out", "data_type", "prim_first",
    "prim_main",   "prim_last",   NULL};

/* The primitives that a field may name, in the order of enum tec_prim. */
static bool take_primitive(struct tec_reader *r, enum field f,
                           enum tec_prim *prim) {
  static const bool allowed[][TEC_BRGEMM + 1] = {
      {[TEC_NONE] = true, [TEC_ZERO] = true, [TEC_RELU] = true},
      {[TEC_COPY] = true, [TEC_GEMM] = true, [TEC_BRGEMM] = true},
      {[TEC_NONE] = true, [TEC_RELU] = true}};
  static const char *const what[] = {"None, Zero or ReLU",
                                     "Copy, GEMM or BRGEMM", "None or ReLU"};
  struct loc at = scan_loc(&r->s);
  int choice;
  if (!take_word(r, prim_name, &choice))
    return false;
  *prim = (enum tec_prim)choice;
  return allowed[f - FIRST][choice] ||
         diag_error(r->d, at, "%s is %s, not %s", field_name[f],
                    what[f - FIRST], prim_name[choice]);
}

static bool take_field(struct tec_reader *r, enum field f) {
  int64_t item[TEC_DIMS];
  struct tec *t = r->t;
  switch (f) {
  case TYPES:
  case EXEC:
    if (!take_tuple(r, f == TYPES ? dim_name : exec_name, item))
      return false;
    for (int i = 0; i < t->dims; i++)
      if (f == TYPES)
        t->type[i] = (enum tec_dim)item[i];
      else
        t->exec[i] = (enum tec_exec)item[i];
    return true;
  case SIZES:
    return take_tuple(r, NULL, t->size);
  case STRIDES_IN0:
  case STRIDES_IN1:
  case STRIDES_OUT:
    return take_tuple(r, NULL, t->stride[f - STRIDES_IN0]);
  case DATA:
    return take_data_type(r);
  case FIRST:
  case MAIN:
  case LAST:
    return take_primitive(r, f,
                          f == FIRST  ? &t->first
                          : f == MAIN ? &t->main
                                      : &t->last);
  case FIELDS:
    break;
  }
  return false;
}

bool tec_infer(const struct tec *t, int dim, enum tec_dim *type) {
  assert(dim >= 0 && dim < t->dims);
  bool x = t->stride[0][dim] != 0, y = t->stride[1][dim] != 0;
  bool z = t->stride[2][dim] != 0;
  if (x + y + z < 2)
    return false;
  *type = x && y && z ? TEC_C
          : x && z    ? TEC_M
          : y         ? (z ? TEC_N : TEC_K)
                      : TEC_M;
  return true;
}

/* Sizes are positive, strides not negative, types as the strides tell.  A TEC
 * that only copies has no in1, and Table 2 does not speak about it. */
static bool check_dims(const struct tec_reader *r, bool typed) {
  struct tec *t = r->t;
  struct loc at = scan_loc(&r->s);
  for (int i = 0; i < t->dims; i++) {
    enum tec_dim type;
    if (t->size[i] < 1)
      return diag_error(r->d, at, "dimension %d has size %lld", i,
                        (long long)t->size[i]);
    for (int j = 0; j < 3; j++)
      if (t->stride[j][i] < 0)
        return diag_error(r->d, at, "dimension %d has a negative stride", i);
    if (!tec_infer(t, i, &type)) {
      if (!typed)
        return diag_error(r->d, at,
                          "dimension %d moves less than two tensors; its type "
                          "must be given",
                          i);
    } else if (typed && t->main != TEC_COPY && t->size[i] > 1 &&
               t->type[i] != type) {
      return diag_error(r->d, at, "dimension %d is %s, but its strides say %s",
                        i, dim_name[t->type[i]], dim_name[type]);
    } else if (!typed) {
      t->type[i] = type;
    }
  }
  return true;
}

bool tec_parse(struct arena *a, const char *file, const char *text,
               struct tec *t, struct diag *d) {
  *t = (struct tec){.at = {file, 0, 0}, .data_type = DTYPE_F32};
  struct tec_reader r = {a, scan_open(file, text), t, d};
  int64_t version;
  bool seen[FIELDS] = {false};
  if (scan_end(&r.s) || !scan_word(&r.s, "tec") || !scan_int(&r.s, &version) ||
      version != 1)
    return diag_error(d, scan_loc(&r.s), "the first line is not 'tec 1'");
  scan_next_line(&r.s);
  for (; !scan_end(&r.s); scan_next_line(&r.s)) {
    struct loc at = scan_loc(&r.s);
    int f;
    if (!take_word(&r, field_name, &f))
      return false;
    if (seen[f])
      return diag_error(d, at, "%s is given twice", field_name[f]);
    seen[f] = true;
    if (!scan_char(&r.s, '='))
      return scan_expected(&r.s, d, "'='");
    if (!take_field(&r, (enum field)f))
      return false;
    if (!scan_end_of_line(&r.s))
      return scan_expected(&r.s, d, "the end of the line");
  }
  for (int f = EXEC; f < FIELDS; f++)
    if (!seen[f])
      return diag_error(d, scan_loc(&r.s), "there is no line %s",
                        field_name[f]);
  return check_dims(&r, seen[TYPES]);
}

/* ---- writing ---- */
static void print_numbers(const char *name, const int64_t *item, int count,
                          struct text *to) {
  text_printf(to, "%-11s = (", name);
  for (int i = 0; i < count; i++)
    text_printf(to, "%s%lld", i ? ", " : "", (long long)item[i]);
  text_puts(to, ")\n");
}

void tec_print(const struct tec *t, struct text *to) {
  text_puts(to, "tec 1\ndim_types   = (");
  for (int i = 0; i < t->dims; i++)
    text_printf(to, "%s%s", i ? ", " : "", dim_name[t->type[i]]);
  text_puts(to, ")\nexec_types  = (");
  for (int i = 0; i < t->dims; i++)
    text_printf(to, "%s%s", i ? ", " : "", exec_name[t->exec[i]]);
  text_puts(to, ")\n");
  print_numbers("dim_sizes", t->size, t->dims, to);
  for (int j = 0; j < 3; j++)
    print_numbers(field_name[STRIDES_IN0 + j], t->stride[j], t->dims, to);
  const char *type = dtype_name(t->data_type);
  for (int i = 0; data_type[i].name; i++)
    if (data_type[i].type == t->data_type)
      type = data_type[i].name;
  text_printf(to,
              "data_type   = %s\nprim_first  = %s\nprim_main   = %s\n"
              "prim_last   = %s\n",
              type, prim_name[t->first], prim_name[t->main],
              prim_name[t->last]);
}

/* ---- the thesis's restrictions ---- */
struct report {
  const struct tec *t;
  struct text *to;
  int count;
};

static void say(struct report *r, const char *line) {
  r->count++;
  text_printf(r->to, "%s\n", line);
}

static void check_domain(struct report *r) {
  const struct tec *t = r->t;
  if (t->data_type != DTYPE_BF16)
    say(r, "data_type: only bfloat_16 (figure 6)");
  if (t->first != TEC_ZERO)
    say(r, "prim_first: only Zero (figure 6)");
  if (t->main != TEC_GEMM)
    say(r, "prim_main: only GEMM (figure 6)");
  if (t->last != TEC_NONE)
    say(r, "prim_last: only None (figure 6)");
  for (int i = 0; i < t->dims; i++)
    if (t->exec[i] == TEC_SHARED) {
      say(r, "exec_types: seq, npu and prim only (figure 6)");
      break;
    }
}

static bool check_kernel(struct report *r) {
  static const enum tec_dim wanted[] = {TEC_M, TEC_N, TEC_K};
  const struct tec *t = r->t;
  for (int i = 0; i < t->dims; i++) {
    int role = i - (t->dims - 3);
    bool prim = t->exec[i] == TEC_PRIM;
    if (prim != (role >= 0) || (role >= 0 && t->type[i] != wanted[role]) ||
        t->dims < 3) {
      say(r, "the last three dimensions, and no others, are prim: M, N, K");
      return false;
    }
  }
  if (t->dims < 3) {
    say(r, "the last three dimensions, and no others, are prim: M, N, K");
    return false;
  }
  const int64_t *size = t->size + t->dims - 3;
  if (size[0] % 4 || size[1] % 4)
    say(r, "kernel sizes in M and N are multiples of 4");
  if (size[2] % 8)
    say(r, "the kernel size in K is a multiple of 8");
  double bytes =
      dtype_bytes(t->data_type) *
      ((double)size[0] * (double)size[2] + (double)size[2] * (double)size[1] +
       (double)size[0] * (double)size[1]);
  if (bytes >= 31.5 * 1024)
    say(r, "the three blocks of a kernel take less than 31.5 KB");
  return true;
}

static void check_reduction(struct report *r) {
  const struct tec *t = r->t;
  int npu = 0;
  for (int i = 0; i < t->dims - 3; i++) {
    if (t->type[i] != TEC_K)
      continue;
    npu++;
    bool directly = true;
    for (int j = i + 1; j < t->dims - 3; j++)
      directly = directly && t->type[j] == TEC_K;
    if (t->exec[i] != TEC_NPU || !directly) {
      say(r, "K dimensions stand directly before the prim ones and are npu");
      break;
    }
  }
  if (npu > 1)
    say(r, "there is one npu dimension of type K at most");
}

static void check_strides(struct report *r) {
  static const char *const name[] = {"in0", "in1", "out"};
  const struct tec *t = r->t;
  for (int j = 0; j < 3; j++) {
    bool unit = false, odd = false;
    for (int i = 0; i < t->dims; i++) {
      int64_t s = t->stride[j][i];
      unit = unit || (t->exec[i] == TEC_PRIM && s == 1);
      odd = odd || (s % 2 && !(t->exec[i] == TEC_PRIM && s == 1));
    }
    char line[80];
    snprintf(line, sizeof line, "%s has a prim dimension of unit stride",
             name[j]);
    if (!unit)
      say(r, line);
    snprintf(line, sizeof line, "strides of %s other than 1 are even", name[j]);
    if (odd)
      say(r, line);
  }
}

static int last_npu(const struct tec *t, bool wanted(enum tec_dim)) {
  for (int i = t->dims - 1; i >= 0; i--)
    if (t->exec[i] == TEC_NPU && wanted(t->type[i]))
      return i;
  return -1;
}

static bool is_k(enum tec_dim d) { return d == TEC_K; }
static bool is_not_k(enum tec_dim d) { return d != TEC_K; }
static bool is_m(enum tec_dim d) { return d == TEC_M; }

static bool exceeds(const struct tec *t, int dim, int64_t limit) {
  assert(dim < t->dims && limit > 0);
  return dim >= 0 && (t->stride[0][dim] > limit || t->stride[1][dim] > limit ||
                      t->stride[2][dim] > limit);
}

static void check_reach(struct report *r) {
  const struct tec *t = r->t;
  enum { FAR = 1 << 21, SPREAD = 1 << 19 };
  bool far = false;
  for (int i = 0; i < t->dims; i++)
    far = far || (t->exec[i] == TEC_PRIM && exceeds(t, i, FAR));
  if (far || exceeds(t, last_npu(t, is_k), FAR))
    say(r, "strides of prim dimensions and of the npu K are at most 2^21");
  int other = last_npu(t, is_not_k), m = last_npu(t, is_m);
  if (exceeds(t, other, other >= 0 && t->type[other] == TEC_C ? FAR : SPREAD))
    say(r, "strides of the last npu dimension that is not K are at most 2^19, "
           "2^21 for C");
  if (m >= 0 && t->stride[2][m] > FAR)
    say(r, "the stride of the last npu M on out is at most 2^21");
}

int tec_restrictions(const struct tec *t, struct text *to) {
  struct report r = {t, to, 0};
  check_domain(&r);
  if (check_kernel(&r))
    check_reduction(&r);
  check_strides(&r);
  check_reach(&r);
  return r.count;
}
