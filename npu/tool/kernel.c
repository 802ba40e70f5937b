/* kernel.c -- `nputeir kernel`: generates one core's kernel, prints it, runs it
 * on the simulated core and compares its result with the exact reference. */
#include "kernel_check.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum primitive { GEMM, ZERO, COPY, ADD, PRIMITIVES };
static const char *const primitive_name[PRIMITIVES] = {"gemm", "zero", "copy",
                                                       "add"};

struct job {
  enum primitive primitive;
  const char *name;
  struct kernel_gemm gemm;
  struct kernel_steps steps; /* count 0: none */
  struct kernel_copy copy;
  enum dtype type; /* of add */
  int64_t bytes;   /* of zero and add */
  bool report, check;
  const char *output;
};

/* ---- the words of the call ---- */

static const char *const rounding_name[KERNEL_ROUNDINGS] = {
    [KERNEL_ROUND_EVEN] = "even",
    [KERNEL_ROUND_ODD] = "odd",
    [KERNEL_ROUND_HALF_DOWN] = "half-down",
    [KERNEL_ROUND_HALF_UP] = "half-up",
    [KERNEL_ROUND_HALF_TO_ZERO] = "half-to-zero",
    [KERNEL_ROUND_HALF_AWAY] = "half-away",
    [KERNEL_ROUND_FLOOR] = "floor",
    [KERNEL_ROUND_CEILING] = "ceiling",
    [KERNEL_ROUND_TO_ZERO] = "to-zero",
    [KERNEL_ROUND_AWAY] = "away",
};
static const char *const saturation_name[KERNEL_SATURATIONS] = {
    [KERNEL_SATURATE] = "saturate",
    [KERNEL_SATURATE_SYMMETRIC] = "symmetric",
    [KERNEL_WRAP] = "wrap",
};

/* The number of the name that `word` is, up to `length`; -1: none. */
static int find_name(const char *const *name, int count, const char *word,
                     size_t length) {
  for (int i = 0; i < count; i++)
    if (strlen(name[i]) == length && strncmp(name[i], word, length) == 0)
      return i;
  return -1;
}

static bool take_types(struct job *j, const char *word) {
  enum dtype *type[] = {&j->gemm.in0, &j->gemm.in1, &j->gemm.out};
  const char *at = word;
  for (int i = 0; i < 3; i++) {
    char name[16];
    size_t length = strcspn(at, ",");
    if (length < sizeof name) {
      memcpy(name, at, length);
      name[length] = 0;
    }
    if (length >= sizeof name || !dtype_parse(name, type[i]) ||
        at[length] != (i < 2 ? ',' : 0)) {
      tool_usage("kernel",
                 "--types takes three types such as bf16,bf16,f32, not '%s'",
                 word);
      return false;
    }
    at += length + 1;
  }
  return true;
}

/* A mode by its name, or by its place in the list of names; -1: neither. */
static int find_mode(const char *const *name, int count, const char *word,
                     size_t length) {
  if (length == 1 && *word >= '0' && *word < '0' + count)
    return *word - '0';
  return find_name(name, count, word, length);
}

/* srs=SHIFT,ROUNDING,SATURATION; what is left out keeps its default. */
static bool take_srs(struct job *j, const char *word) {
  char number[16];
  int64_t shift;
  size_t length = strcspn(word, ",");
  if (length >= sizeof number) {
    tool_usage("kernel", "--out srs: '%s' is no shift", word);
    return false;
  }
  memcpy(number, word, length);
  number[length] = 0;
  if (!tool_number("kernel", "--out srs=", number, 0, 31, &shift))
    return false;
  j->gemm.shift = (int)shift;
  const char *at = word + length;
  if (*at) {
    length = strcspn(++at, ",");
    int i = find_mode(rounding_name, KERNEL_ROUNDINGS, at, length);
    if (i < 0) {
      tool_usage("kernel", "--out: there is no rounding '%.*s'", (int)length,
                 at);
      return false;
    }
    j->gemm.rounding = i;
    at += length;
  }
  if (*at) {
    int i =
        find_mode(saturation_name, KERNEL_SATURATIONS, at + 1, strlen(at + 1));
    if (i < 0) {
      tool_usage("kernel", "--out: there is no saturation '%s'", at + 1);
      return false;
    }
    j->gemm.saturation = i;
  }
  return true;
}

static bool take_out(struct job *j, const char *word) {
  bool narrow_int = false;
  if (strncmp(word, "srs=", 4) == 0) {
    narrow_int = true;
    if (!take_srs(j, word + 4))
      return false;
  } else if (strcmp(word, "conv") == 0) {
    j->gemm.out = DTYPE_BF16;
  } else if (strcmp(word, "store") != 0) {
    tool_usage("kernel",
               "--out takes store, conv or srs=SHIFT[,ROUNDING[,SATURATION]], "
               "not '%s'",
               word);
    return false;
  }
  if (narrow_int && dtype_kind(j->gemm.out) == DTYPE_FLOAT) {
    tool_usage("kernel", "--out srs is for integer results; give --types "
                         "first");
    return false;
  }
  return true;
}

static bool take_init(struct job *j, const char *word) {
  j->gemm.zero = strcmp(word, "zero") == 0;
  if (j->gemm.zero || strcmp(word, "load") == 0)
    return true;
  tool_usage("kernel", "--init takes load or zero, not '%s'", word);
  return false;
}

static bool take_name(struct job *j, const char *word) {
  struct arena *a = arena_open();
  struct scan s = scan_open("--name", word);
  const char *name = scan_name(&s, a);
  bool ok = name && strlen(name) == strlen(word);
  arena_close(a);
  if (ok)
    j->name = word;
  else
    tool_usage("kernel", "--name: '%s' is no name", word);
  return ok;
}

static bool take_extent(const char *option, const char *word, int *value) {
  int64_t v;
  if (!tool_number("kernel", option, word, 1, 65536, &v))
    return false;
  *value = (int)v;
  return true;
}

static bool take_type(const char *word, enum dtype *type) {
  return dtype_parse(word, type) ||
         (tool_usage("kernel", "--type: there is no type '%s'", word), false);
}

/* RxC */
static bool take_block(struct job *j, const char *word) {
  char *end;
  long rows = strtol(word, &end, 10), columns = 0;
  if (*end == 'x')
    columns = strtol(end + 1, &end, 10);
  if (!*end && rows > 0 && rows <= 64 && columns > 0 && columns <= 64) {
    j->copy.block_rows = (int)rows;
    j->copy.block_columns = (int)columns;
    return true;
  }
  tool_usage("kernel", "--block takes ROWSxCOLUMNS, not '%s'", word);
  return false;
}

/* COUNT[,GROUP] */
static bool take_steps(struct job *j, const char *word) {
  char *end;
  long count = strtol(word, &end, 10), group = 1;
  if (*end == ',')
    group = strtol(end + 1, &end, 10);
  if (!*end && count > 0 && count <= 65536 && (group == 1 || group == 2)) {
    j->steps = check_steps((int)count, (int)group);
    return true;
  }
  tool_usage("kernel", "--steps takes COUNT[,1|,2], not '%s'", word);
  return false;
}

static bool gemm_value(struct job *j, const char *option, const char *word,
                       bool *known) {
  struct kernel_gemm *g = &j->gemm;
  if (strcmp(option, "--m") == 0)
    return take_extent(option, word, &g->m);
  if (strcmp(option, "--k") == 0)
    return take_extent(option, word, &g->k);
  if (strcmp(option, "--n") == 0)
    return take_extent(option, word, &g->n);
  if (strcmp(option, "--types") == 0)
    return take_types(j, word);
  if (strcmp(option, "--init") == 0)
    return take_init(j, word);
  if (strcmp(option, "--out") == 0)
    return take_out(j, word);
  if (strcmp(option, "--steps") == 0)
    return take_steps(j, word);
  return *known = false;
}

static bool copy_value(struct job *j, const char *option, const char *word,
                       bool *known) {
  if (strcmp(option, "--rows") == 0)
    return take_extent(option, word, &j->copy.rows);
  if (strcmp(option, "--columns") == 0)
    return take_extent(option, word, &j->copy.columns);
  if (strcmp(option, "--block") == 0)
    return take_block(j, word);
  if (strcmp(option, "--type") == 0)
    return take_type(word, &j->copy.type);
  return *known = false;
}

/* Options with a value; false with *known false if it is none of them. */
static bool take_value(struct job *j, const char *option, const char *word,
                       bool *known) {
  *known = true;
  if (strcmp(option, "-o") == 0) {
    j->output = word;
    return true;
  }
  if (strcmp(option, "--name") == 0)
    return take_name(j, word);
  if (j->primitive == GEMM)
    return gemm_value(j, option, word, known);
  if (j->primitive == COPY)
    return copy_value(j, option, word, known);
  if (strcmp(option, "--bytes") == 0)
    return tool_number("kernel", option, word, 1, CHECK_MEMORY_BYTES,
                       &j->bytes);
  if (j->primitive == ADD && strcmp(option, "--type") == 0)
    return take_type(word, &j->type);
  return *known = false;
}

static bool take_flag(struct job *j, const char *option) {
  const struct {
    const char *option;
    bool *flag;
    enum primitive of; /* PRIMITIVES: of all */
  } flag[] = {{"--ta", &j->gemm.ta, GEMM},
              {"--tb", &j->gemm.tb, GEMM},
              {"--tc", &j->gemm.tc, GEMM},
              {"--tall", &j->gemm.tall, GEMM},
              {"--yield", &j->gemm.yields, GEMM},
              {"--relu", &j->gemm.relu, GEMM},
              {"--transpose", &j->copy.transpose, COPY},
              {"--relu", &j->copy.relu, COPY},
              {"--report", &j->report, PRIMITIVES},
              {"--check", &j->check, PRIMITIVES}};
  for (size_t i = 0; i < sizeof flag / sizeof *flag; i++)
    if (strcmp(option, flag[i].option) == 0 &&
        (flag[i].of == j->primitive || flag[i].of == PRIMITIVES)) {
      *flag[i].flag = true;
      return true;
    }
  return false;
}

/* What the primitive cannot do without. */
static bool is_complete(const struct job *j) {
  const char *missing = NULL;
  switch (j->primitive) {
  case GEMM:
    if (!j->gemm.m || !j->gemm.k || !j->gemm.n)
      missing = "--m, --k and --n";
    break;
  case COPY:
    if (!j->copy.rows || !j->copy.columns || !j->copy.block_rows)
      missing = "--rows, --columns and --block";
    break;
  case ZERO:
  case ADD:
    if (!j->bytes)
      missing = "--bytes";
    break;
  case PRIMITIVES:
    break;
  }
  if (missing)
    tool_usage("kernel", "%s needs %s", primitive_name[j->primitive], missing);
  return !missing;
}

static bool read_words(struct job *j, int argc, char **argv) {
  int primitive = argc < 2 ? -1
                           : find_name(primitive_name, PRIMITIVES, argv[1],
                                       strlen(argv[1]));
  if (primitive < 0) {
    tool_usage("kernel",
               argc < 2 ? "which primitive: gemm, zero, copy or add%s"
                        : "there is no primitive '%s'",
               argc < 2 ? "" : argv[1]);
    return false;
  }
  j->primitive = (enum primitive)primitive;
  j->name = argv[1];
  for (int i = 2; i < argc; i++) {
    bool known = true;
    if (take_flag(j, argv[i]))
      continue;
    if (i + 1 < argc && take_value(j, argv[i], argv[i + 1], &known)) {
      i++;
      continue;
    }
    if (i + 1 == argc || !known)
      tool_usage("kernel", "'%s' is no option of %s, or lacks its value",
                 argv[i], argv[1]);
    return false;
  }
  j->gemm.name = j->copy.name = j->name;
  return is_complete(j);
}

/* ---- the report ---- */

/* How many registers of a file the program names. */
static int count_registers(const struct asm_program *p, const char *prefix) {
  int count = 0;
  size_t length = strlen(prefix);
  for (int reg = 0; reg < isa_reg_count(); reg++) {
    const char *name = isa_reg(reg)->name;
    bool used = false;
    if (strncmp(name, prefix, length) != 0 || name[length] < '0' ||
        name[length] > '9')
      continue;
    for (int i = 0; i < p->count && !used; i++)
      for (int slot = 0; slot < SLOT_COUNT && !used; slot++) {
        const struct isa_op *op = &p->line[i].bundle.slot[slot];
        if (p->line[i].kind != ASM_BUNDLE || !op->id)
          continue;
        const struct insn *insn = isa_insn(op->id);
        for (int j = 0; j < insn->operand_count; j++) {
          int c = insn->operand[j].operand_class;
          used |= c >= 0 && isa_class(c)->is_register && op->operand[j] == reg;
        }
      }
    count += used;
  }
  return count;
}

static int count_loops(const struct asm_program *p) {
  int loops = 0;
  for (int i = 0; i < p->count; i++)
    loops +=
        p->line[i].kind == ASM_LABEL && (strstr(p->line[i].text, "_loop") ||
                                         strstr(p->line[i].text, "_blocks"));
  return loops;
}

static void print_gemm(struct text *t, const struct kernel_gemm *g) {
  text_printf(t, "types=%s,%s,%s\n", dtype_name(g->in0), dtype_name(g->in1),
              dtype_name(g->out));
  text_printf(t, "shape=%dx%dx%d\n", g->m, g->k, g->n);
  text_printf(t, "layout=%s,%s,%s\n", g->ta ? "ta" : "a", g->tb ? "tb" : "b",
              g->tc ? "tc" : "c");
  text_printf(t, "init=%s\nrelu=%s\n", g->zero ? "zero" : "load",
              g->relu ? "yes" : "no");
}

static void print_report(struct text *t, const struct job *j,
                         const struct asm_program *p,
                         const struct check_outcome *o, const uint32_t at[3]) {
  if (j->primitive == GEMM) {
    print_gemm(t, &j->gemm);
    text_printf(t, "placement=0x%x,0x%x,0x%x\n", at[0], at[1], at[2]);
  }
  text_printf(t, "cycles=%llu\nbundles=%llu\n", (unsigned long long)o->cycles,
              (unsigned long long)o->bundles);
  text_printf(t, "stall_memory=%llu\n", (unsigned long long)o->stalls);
  if (j->primitive == GEMM) {
    const struct kernel_gemm *g = &j->gemm;
    double macs = (double)g->m * g->k * g->n;
    if (g->in0 == DTYPE_F32)
      text_printf(t, "error=%.2g\n", o->error);
    text_printf(t, "mac_cycles=%llu\nmac_share=%.4f\nmac_per_cycle=%.1f\n",
                (unsigned long long)o->macs,
                (double)o->macs / (double)o->cycles, macs / (double)o->cycles);
    text_printf(t, "phases=ramp:%llu,main:%llu,drain:%llu\n",
                (unsigned long long)o->first_mac,
                (unsigned long long)(o->last_mac + 1 - o->first_mac),
                (unsigned long long)(o->cycles - o->last_mac - 1));
  }
  text_printf(t, "program_bytes=%d\nloops=%d\n", o->program_bytes,
              count_loops(p));
  static const char *const file[] = {"x",  "bml", "bmh", "cm", "p",
                                     "dc", "m",   "r",   "s"};
  text_puts(t, "registers=");
  bool first = true;
  for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
    int n = count_registers(p, file[i]);
    if (n)
      text_printf(t, "%s%s:%d", first ? "" : ",", file[i], n);
    first &= !n;
  }
  text_puts(t, "\n");
}

/* ---- running ---- */

/* Bytes that zero, copy and add move to, and from where they come. */
enum { FROM_A = 0, FROM_B = 0x4000, TO = 0x8000 };

static void expect_copy(const struct kernel_copy *k, const uint8_t *from,
                        uint8_t *to) {
  int size = dtype_bytes(k->type), r = k->block_rows, c = k->block_columns;
  bool is_float = dtype_kind(k->type) == DTYPE_FLOAT;
  for (int i = 0; i < k->rows; i++)
    for (int j = 0; j < k->columns; j++) {
      int source = ((i / r) * (k->columns / c) + j / c) * r * c;
      int target =
          !k->transpose ? source : ((j / c) * (k->rows / r) + i / r) * r * c;
      source += i % r * c + j % c;
      target += k->transpose ? j % c * r + i % r : i % r * c + j % c;
      uint8_t *at = to + target * size;
      memcpy(at, from + source * size, size);
      if (k->relu &&
          (is_float ? at[size - 1] >> 7 : dtype_load_int(k->type, at) < 0))
        memset(at, 0, size);
    }
}

static void expect_add(enum dtype type, int64_t bytes, const uint8_t *a,
                       const uint8_t *b, uint8_t *to) {
  int size = dtype_bytes(type);
  for (int64_t i = 0; i < bytes; i += size)
    if (dtype_kind(type) == DTYPE_FLOAT)
      dtype_store_float(type, to + i,
                        dtype_load_float(type, a + i) +
                            dtype_load_float(type, b + i));
    else
      dtype_store_int(type, to + i,
                      dtype_load_int(type, a + i) +
                          dtype_load_int(type, b + i));
}

/* Small numbers, whose sums are exact in every type. */
static void fill_small(uint8_t *memory, enum dtype type) {
  uint32_t r = 1;
  for (int i = 0; i < CHECK_MEMORY_BYTES; i += dtype_bytes(type)) {
    r = r * 1664525 + 1013904223;
    if (dtype_kind(type) == DTYPE_FLOAT)
      dtype_store_float(type, memory + i, (int)(r >> 24) - 128);
    else
      dtype_store_int(type, memory + i, (int)(r >> 24) - 128);
  }
}

/* Primitives that go through memory once, from one place to another. */
static bool run_eltwise(const struct job *j, const struct asm_program *p,
                        struct check_outcome *o, struct diag *d) {
  struct arena *a = arena_open();
  uint8_t *memory = arena_array(a, CHECK_MEMORY_BYTES, 1);
  bool copy = j->primitive == COPY, zero = j->primitive == ZERO;
  fill_small(memory, copy ? j->copy.type : zero ? DTYPE_I8 : j->type);
  uint8_t *want =
      arena_copy(a, memory, CHECK_MEMORY_BYTES, CHECK_MEMORY_BYTES, 1);
  int64_t bytes =
      copy ? (int64_t)j->copy.rows * j->copy.columns * dtype_bytes(j->copy.type)
           : j->bytes;
  bool fits = zero || bytes <= FROM_B || (copy && bytes <= TO);
  const uint32_t at[3] = {FROM_A, copy ? TO : FROM_B, TO};
  if (copy && fits)
    expect_copy(&j->copy, want, want + TO);
  else if (zero)
    memset(want, 0, (size_t)bytes);
  else if (fits)
    expect_add(j->type, bytes, want, want + FROM_B, want + TO);
  bool ok = fits ? check_run(p, memory, at, o, d)
                 : diag_error(d, loc_none(),
                              "%lld bytes per operand do not fit into a tile",
                              (long long)bytes);
  for (int i = 0; ok && i < CHECK_MEMORY_BYTES; i++)
    o->wrong += memory[i] != want[i];
  if (o->wrong)
    snprintf(o->first, sizeof o->first, "%lld bytes are wrong",
             (long long)o->wrong);
  arena_close(a);
  return ok;
}

static const struct kernel_steps *steps_of(const struct job *j) {
  return j->steps.count ? &j->steps : NULL;
}

/* The exact reference on three kinds of data. */
static bool run_gemm(const struct job *j, const struct asm_program *p,
                     struct check_outcome *o, struct diag *d) {
  int kinds = !j->check ? 1 : j->gemm.relu ? CHECK_SPECIAL : CHECK_SPECIAL + 1;
  double error = 0; /* of random data; later ones have none */
  for (int data = 0; data < kinds && !o->wrong; data++) {
    if (!check_gemm(&j->gemm, steps_of(j), p, (enum check_data)data, 1 + data,
                    o, d))
      return false;
    error = o->error > error ? o->error : error;
  }
  o->error = error;
  return true;
}

static struct asm_program *generate(struct arena *a, const struct job *j,
                                    struct diag *d) {
  switch (j->primitive) {
  case GEMM:
    return kernel_gemm_steps(a, &j->gemm, steps_of(j), d);
  case ZERO:
    return kernel_zero(a, j->name, (int)j->bytes, d);
  case COPY:
    return kernel_copy(a, &j->copy, d);
  case ADD:
    return kernel_add(a, j->name, j->type, (int)j->bytes, d);
  case PRIMITIVES:
    break;
  }
  return NULL;
}

static bool print_assembly(const struct job *j, const struct asm_program *p,
                           struct diag *d) {
  struct text text = {0};
  asm_print(p, &text);
  bool ok = tool_output(j->output, &text, d);
  text_free(&text);
  return ok;
}

static bool run_and_report(const struct job *j, const struct asm_program *p,
                           struct diag *d) {
  struct check_outcome o = {0};
  struct text text = {0};
  uint32_t at[3] = {0};
  if (!(j->primitive == GEMM ? run_gemm : run_eltwise)(j, p, &o, d))
    return false;
  if (j->primitive == GEMM)
    check_place(&j->gemm, at);
  if (j->report)
    print_report(&text, j, p, &o, at);
  if (j->check)
    text_printf(&text, "check=%s\n", o.wrong ? "wrong" : "exact");
  bool ok = tool_output(NULL, &text, d);
  text_free(&text);
  return ok && (!j->check || !o.wrong ||
                diag_error(d, loc_none(), "kernel %s: %s", j->name, o.first));
}

static int run_job(struct arena *a, const struct job *j, struct diag *d) {
  struct asm_program *p = generate(a, j, d);
  bool runs = j->report || j->check;
  bool ok = p && (!(j->output || !runs) || print_assembly(j, p, d)) &&
            (!runs || run_and_report(j, p, d));
  return ok ? TOOL_DONE : tool_fail(d);
}

static int kernel(int argc, char **argv) {
  struct job j = {
      .gemm = {.in0 = DTYPE_BF16, .in1 = DTYPE_BF16, .out = DTYPE_F32}};
  struct diag d = {0};
  if (!read_words(&j, argc, argv))
    return TOOL_USAGE;
  struct arena *a = arena_open();
  int status = run_job(a, &j, &d);
  arena_close(a);
  return status;
}

const struct tool_command tool_kernel = {
    .name = "kernel",
    .summary = "the code of one core for one primitive, and its figures",
    .help =
        "usage: nputeir kernel gemm --m M --k K --n N [options]\n"
        "       nputeir kernel zero --bytes N [options]\n"
        "       nputeir kernel copy --rows N --columns N --block RxC "
        "[options]\n"
        "       nputeir kernel add --bytes N [options]\n\n"
        "Prints AIE-ML assembly: a function that returns through lr.  gemm "
        "computes\nC += A * B for one block in tile memory (p0 = A, p1 = B, p2 "
        "= C); zero clears\nmemory from p0 on; copy moves a matrix in small "
        "blocks from p0 to p1; add stores\np0[i] + p1[i] to p2.\n\n"
        "gemm:\n"
        "Blocks lie in small blocks of the multiplier's shape R x S x T "
        "(bf16 4x8x4, int8\n4x8x8, int16 x int8 4x4x8, int16 4x4x4), row by "
        "row:\n"
        "  A [m/R][k/S][R][S]   B [k/S][n/T][S][T]   C [m/R][n/T][R][T]\n\n"
        "  --types A,B,C      bf16,bf16,f32 (default); bf16,bf16,bf16; i8 or "
        "u8 inputs with\n                     i32, i16, i8 or u8 results; "
        "i16,i8 with i32 or i16; i16,i16\n                     with i64, i32 "
        "or "
        "i16; f32,f32,f32: A and B are their bf16 high halves\n"
        "                     with the low halves behind, and C += Ah Bh + Ah "
        "Bl + Al Bh\n"
        "  --ta --tb --tc     inside A's, B's or C's small blocks the elements "
        "are transposed:\n                     [S][R], [T][S], [T][R]\n"
        "  --tall             A's bank is read in every cycle, B's in every "
        "second; else the reverse\n"
        "  --yield            the banks of C and of the input that is read "
        "less are left to a\n"
        "                     DMA in every fourth cycle\n"
        "  --init load|zero   C += A * B (default) or C = A * B\n"
        "  --out store        C has the accumulators' type\n"
        "  --out conv         C is bf16\n"
        "  --out srs=SHIFT[,ROUNDING[,SATURATION]]\n"
        "                     C, an integer narrower than the sum, is sum >> "
        "SHIFT;\n                     ROUNDING: even (default), odd, "
        "half-down, "
        "half-up,\n                     half-to-zero, half-away, floor, "
        "ceiling, to-zero, away;\n                     SATURATION: saturate "
        "(default), symmetric, wrap;\n                     or their numbers in "
        "these lists, from 0\n"
        "  --relu             results below zero are stored as zero\n"
        "  --steps COUNT[,GROUP]\n"
        "                     COUNT blocks of K in one function, from rings of "
        "two buffers that\n                     it takes and gives back; GROUP "
        "blocks of A (1 or 2) per block of B\n\n"
        "copy, from [rows/R][columns/C][R][C]:\n"
        "  --block RxC        elements in a small block; 32 or 64 bytes\n"
        "  --type T           of elements, bf16 (default)\n"
        "  --transpose        to [columns/C][rows/R][C][R], else to the same\n"
        "  --relu             elements below zero become zero\n\n"
        "add:\n"
        "  --type T           bf16 (default), f32, or an integer of up to 32 "
        "bits\n\n"
        "all:\n"
        "  --name NAME        of the function\n"
        "  --report           figures as key=value lines, measured on the "
        "simulated core with\n                     A, B and C in banks of "
        "their "
        "own where they fit\n"
        "  --check            compares with the exact reference: random data, "
        "extremes,\n                     infinities; exit status 1 if anything "
        "differs\n"
        "  -o FILE            assembly to FILE (with --report and --check it "
        "is left out\n                     otherwise)\n",
    .run = kernel,
};
