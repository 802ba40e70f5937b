/* kernel.c -- `nputeir kernel`: generates one core's kernel, prints it, runs it
 * on the simulated core and compares its result with the exact reference. */
#include "kernel_check.h"
#include "kernel_load.h"
#include "tool.h"

#include <string.h>

enum primitive { GEMM, ZERO, COPY, ADD };

struct job {
  enum primitive primitive;
  const char *name; /* of the function; NULL: the primitive's */
  struct kernel_gemm gemm;
  struct kernel_steps steps; /* count 0: none */
  struct kernel_copy copy;
  enum dtype type; /* of add */
  int bytes;       /* of zero and add */
  bool report, check;
  const char *output, *object;
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

/* A,B,C */
static bool read_types(struct tool *t, void *to, const char *word) {
  struct kernel_gemm *g = to;
  enum dtype *type[] = {&g->in0, &g->in1, &g->out};
  const char *at = word;
  int blocks = 0;
  bool good = true;
  for (int i = 0; good && i < 3; i++) {
    size_t length = strcspn(at, ",");
    const char *name = arena_substring(t->arena, at, length);
    bool block = i < 2 && strcmp(name, "bfp16") == 0;
    if (block)
      *type[i] = DTYPE_BF16, blocks++;
    good = (block || dtype_parse(name, type[i])) &&
           at[length] == (i < 2 ? ',' : 0);
    at += length + 1;
  }
  g->bfp16 = blocks > 0;
  return (good && blocks != 1) ||
         tool_usage(t,
                    "--types takes three types such as bf16,bf16,f32, not '%s'",
                    word);
}

/* A mode by its name, or by its place in the list of names; -1: neither. */
static int find_mode(const char *const *name, int count, const char *word,
                     size_t length) {
  if (length == 1 && *word >= '0' && *word < '0' + count)
    return *word - '0';
  return find_name(name, count, word, length);
}

/* SHIFT,ROUNDING,SATURATION; what is left out keeps its default. */
static bool read_srs(struct tool *t, struct kernel_gemm *g, const char *word) {
  const char *at = word;
  int64_t shift;
  if (!tool_scan_number(&at, &shift) || shift < 0 || shift > 31 ||
      (*at && *at != ','))
    return tool_usage(t, "--out srs takes a shift from 0 to 31, not '%s'",
                      word);
  g->shift = (int)shift;
  if (*at) {
    size_t length = strcspn(++at, ",");
    int i = find_mode(rounding_name, KERNEL_ROUNDINGS, at, length);
    if (i < 0)
      return tool_usage(t, "--out: there is no rounding '%.*s'", (int)length,
                        at);
    g->rounding = i;
    at += length;
  }
  if (*at) {
    at++;
    int i = find_mode(saturation_name, KERNEL_SATURATIONS, at, strlen(at));
    if (i < 0)
      return tool_usage(t, "--out: there is no saturation '%s'", at);
    g->saturation = i;
  }
  return true;
}

static bool read_out(struct tool *t, void *to, const char *word) {
  struct kernel_gemm *g = to;
  if (strncmp(word, "srs=", 4) == 0) {
    if (!read_srs(t, g, word + 4))
      return false;
    return dtype_kind(g->out) != DTYPE_FLOAT ||
           tool_usage(t, "--out srs is for integer results; give --types "
                         "first");
  }
  if (strcmp(word, "conv") == 0)
    g->out = DTYPE_BF16;
  else if (strcmp(word, "store") != 0)
    return tool_usage(t,
                      "--out takes store, conv or "
                      "srs=SHIFT[,ROUNDING[,SATURATION]], not '%s'",
                      word);
  return true;
}

static bool read_loops(struct tool *t, void *to, const char *word) {
  bool hardware = strcmp(word, "hardware") == 0;
  *(enum kernel_loops *)to =
      hardware ? KERNEL_LOOPS_HARDWARE : KERNEL_LOOPS_BRANCH;
  return hardware || strcmp(word, "branch") == 0 ||
         tool_usage(t, "--loops takes hardware or branch, not '%s'", word);
}

static bool read_isa(struct tool *t, void *to, const char *word) {
  const struct isa **isa = to;
  *isa = isa_find(word);
  return *isa || tool_usage(t, "--isa: there is no instruction set '%s'", word);
}

static bool read_init(struct tool *t, void *to, const char *word) {
  bool *zero = to;
  *zero = strcmp(word, "zero") == 0;
  return *zero || strcmp(word, "load") == 0 ||
         tool_usage(t, "--init takes load or zero, not '%s'", word);
}

static bool read_name(struct tool *t, void *to, const char *word) {
  struct scan s = scan_open("--name", word);
  const char *name = scan_name(&s, t->arena);
  *(const char **)to = word;
  return (name && strlen(name) == strlen(word)) ||
         tool_usage(t, "--name: '%s' is no name", word);
}

/* RxC */
static bool read_block(struct tool *t, void *to, const char *word) {
  struct kernel_copy *copy = to;
  const char *at = word;
  int64_t rows, columns;
  if (!tool_scan_number(&at, &rows) || *at++ != 'x' ||
      !tool_scan_number(&at, &columns) || *at || rows < 1 || rows > 64 ||
      columns < 1 || columns > 64)
    return tool_usage(t, "--block takes ROWSxCOLUMNS, not '%s'", word);
  copy->block_rows = (int)rows;
  copy->block_columns = (int)columns;
  return true;
}

/* COUNT[,GROUP] */
static bool read_steps(struct tool *t, void *to, const char *word) {
  struct kernel_steps *steps = to;
  const char *at = word;
  int64_t count, group = 1;
  bool good = tool_scan_number(&at, &count);
  if (good && *at == ',') {
    at++;
    good = tool_scan_number(&at, &group);
  }
  if (!good || *at || count < 1 || count > 65536 || group < 1 || group > 2)
    return tool_usage(t, "--steps takes COUNT[,1|,2], not '%s'", word);
  *steps = check_steps((int)count, (int)group);
  return true;
}

/* ---- the report ---- */

/* How many registers of a file the program names. */
static int count_registers(const struct asm_program *p, const char *prefix) {
  int count = 0;
  size_t length = strlen(prefix);
  for (int reg = 0; reg < isa_reg_count(p->isa); reg++) {
    const char *name = isa_reg(p->isa, reg)->name;
    bool used = false;
    if (strncmp(name, prefix, length) != 0 || name[length] < '0' ||
        name[length] > '9')
      continue;
    for (int i = 0; i < p->count && !used; i++)
      for (int slot = 0; slot < SLOT_COUNT && !used; slot++) {
        const struct isa_op *op = &p->line[i].bundle.slot[slot];
        if (p->line[i].kind != ASM_BUNDLE || !op->id)
          continue;
        const struct insn *insn = isa_insn(p->isa, op->id);
        for (int j = 0; j < insn->operand_count; j++) {
          int c = insn->operand[j].operand_class;
          used |= c >= 0 && isa_class(p->isa, c)->is_register &&
                  op->operand[j] == reg;
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
                         const struct check_outcome *o,
                         const struct load_outcome *loaded,
                         const uint32_t at[3]) {
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
  if (loaded)
    text_printf(t, "cycles_loaded=%.0f\nmac_share_loaded=%.4f\n",
                loaded->cycles, loaded->mac_share);
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
static bool run_eltwise(struct tool *t, const struct job *j,
                        const struct asm_program *p, struct check_outcome *o) {
  struct arena *a = t->arena;
  struct diag *d = &t->diag;
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
  return ok;
}

static const struct kernel_steps *steps_of(const struct job *j) {
  return j->steps.count ? &j->steps : NULL;
}

/* The exact reference on three kinds of data. */
static bool run_gemm(struct tool *t, const struct job *j,
                     const struct asm_program *p, struct check_outcome *o) {
  int kinds = !j->check ? 1 : j->gemm.relu ? CHECK_SPECIAL : CHECK_SPECIAL + 1;
  double error = 0; /* of random data; later ones have none */
  for (int data = 0; data < kinds && !o->wrong; data++) {
    if (!check_gemm(&j->gemm, steps_of(j), p, (enum check_data)data, 1 + data,
                    o, &t->diag))
      return false;
    error = o->error > error ? o->error : error;
  }
  o->error = error;
  return true;
}

static struct asm_program *generate(struct tool *t, const struct job *j) {
  switch (j->primitive) {
  case GEMM:
    return kernel_gemm_steps(t->arena, &j->gemm, steps_of(j), &t->diag);
  case ZERO:
    return kernel_zero(t->arena, NULL, j->name, j->bytes, &t->diag);
  case COPY:
    return kernel_copy(t->arena, &j->copy, &t->diag);
  case ADD:
    return kernel_add(t->arena, j->name, j->type, j->bytes, &t->diag);
  }
  return NULL;
}

static bool run_and_report(struct tool *t, const struct job *j,
                           const struct asm_program *p) {
  struct check_outcome o = {0};
  uint32_t at[3] = {0};
  if (!(j->primitive == GEMM ? run_gemm : run_eltwise)(t, j, p, &o))
    return false;
  if (j->primitive == GEMM)
    check_place(&j->gemm, at);
  struct load_outcome loaded = {0};
  bool has_loaded = j->report && j->primitive == GEMM && !j->steps.count &&
                    load_gemm(&j->gemm, p, &loaded, &t->diag);
  if (t->diag.kind != DIAG_NONE)
    return false;
  if (j->report)
    print_report(&t->out, j, p, &o, has_loaded ? &loaded : NULL, at);
  if (j->check)
    text_printf(&t->out, "check=%s\n", o.wrong ? "wrong" : "exact");
  if (!tool_print(t, NULL))
    return false;
  return !j->check || !o.wrong ||
         diag_error(&t->diag, loc_none(), "kernel %s: %s", j->name, o.first);
}

static bool print_assembly(struct tool *t, const struct job *j,
                           const struct asm_program *p) {
  struct text text = {0};
  asm_print(p, &text);
  bool ok = tool_output(t, j->output, &text);
  text_free(&text);
  return ok;
}

/* The prototype of the function, for a C or C++ file of Peano's. */
static void put_prototype(const struct job *j, struct text *t) {
  static const char *const form[] = {
      [GEMM] = "const void *a, const void *b, void *c",
      [ZERO] = "void *out",
      [COPY] = "const void *in, void *out",
      [ADD] = "const void *a, const void *b, void *out"};
  text_printf(t, "void %s(%s);\n", j->name, form[j->primitive]);
}

/* Kernels take pointers in p0, p1 and p2, return by lr, and keep what Peano's
 * callers expect to keep; those of several steps of K take locks as well, which
 * no C function has. */
static bool write_object(struct tool *t, const struct job *j,
                         const struct asm_program *p) {
  struct text elf = {0};
  if (j->steps.count)
    return tool_usage(t, "--object is for a kernel without --steps");
  bool good = asm_object(p, &elf, &t->diag) && tool_output(t, j->object, &elf);
  text_free(&elf);
  if (good)
    put_prototype(j, &t->out);
  return good && tool_print(t, NULL);
}

static bool run_primitive(struct tool *t, struct job *j, enum primitive which,
                          const char *name) {
  bool runs = j->report || j->check || j->object;
  j->primitive = which;
  j->name = j->name ? j->name : name;
  j->gemm.name = j->copy.name = j->name;
  struct asm_program *p = generate(t, j);
  return p && ((runs && !j->output) || print_assembly(t, j, p)) &&
         (!j->object || write_object(t, j, p)) &&
         (!(j->report || j->check) || run_and_report(t, j, p));
}

static bool run_gemm_job(struct tool *t, void *job) {
  return run_primitive(t, job, GEMM, "gemm");
}
static bool run_zero_job(struct tool *t, void *job) {
  return run_primitive(t, job, ZERO, "zero");
}
static bool run_copy_job(struct tool *t, void *job) {
  return run_primitive(t, job, COPY, "copy");
}
static bool run_add_job(struct tool *t, void *job) {
  return run_primitive(t, job, ADD, "add");
}

/* ---- the tables ---- */

enum { EXTENT_MAX = 65536 };

#define AT(field) offsetof(struct job, field)
#define EXTENT .low = 1, .high = EXTENT_MAX, .flags = TOOL_NEEDED

static void list_names(const char *const *name, int count, struct text *out) {
  for (int i = 0; i < count; i++)
    text_printf(out, "%s%s%s", i ? ", " : "", name[i], i ? "" : " (default)");
}

static void list_modes(struct text *out) {
  text_puts(out, "ROUNDING: ");
  list_names(rounding_name, KERNEL_ROUNDINGS, out);
  text_puts(out, "; SATURATION: ");
  list_names(saturation_name, KERNEL_SATURATIONS, out);
}

static const struct tool_option gemm_options[] = {
    {"--m", "M", tool_int, AT(gemm.m), .help = "rows of A and C", EXTENT},
    {"--k", "K", tool_int, AT(gemm.k), .help = "columns of A, rows of B",
     EXTENT},
    {"--n", "N", tool_int, AT(gemm.n), .help = "columns of B and C", EXTENT},
    {"--types", "A,B,C", read_types, AT(gemm),
     .help =
         "bf16,bf16,f32 (default); bf16,bf16,bf16; i8 or u8 inputs with i32, "
         "i16, "
         "i8 or u8 results; i16,i8 with i32 or i16 (aie2); i16,i16 with i64 "
         "(aie2), i32 or i16; bfp16,bfp16,f32 (aie2p); "
         "f32,f32,f32: A and B are their bf16 high halves with the low halves "
         "behind, and C += Ah Bh + Ah Bl + Al Bh"},
    {"--isa", "NAME", read_isa, AT(gemm.isa),
     .help = "aie2 (default) or aie2p"},
    {"--loops", "hardware|branch", read_loops, AT(gemm.loops),
     .help = "hardware loops (default on aie2) or branches that count (on "
             "aie2p)"},
    {"--ta", NULL, tool_flag, AT(gemm.ta),
     .help = "inside A's small blocks the elements are transposed: [S][R]"},
    {"--tb", NULL, tool_flag, AT(gemm.tb), .help = "inside B's: [T][S]"},
    {"--tc", NULL, tool_flag, AT(gemm.tc), .help = "inside C's: [T][R]"},
    {"--tall", NULL, tool_flag, AT(gemm.tall),
     .help = "A's bank is read in every cycle, B's in every second; else the "
             "reverse"},
    {"--yield", NULL, tool_flag, AT(gemm.yields),
     .help = "the banks of C and of the input that is read less are left to a "
             "DMA in every fourth cycle"},
    {"--init", "load|zero", read_init, AT(gemm.zero),
     .help = "C += A * B (default) or C = A * B"},
    {"--out", "HOW", read_out, AT(gemm),
     .help = "store: C has the accumulators' type; conv: C is bf16; "
             "srs=SHIFT[,ROUNDING[,SATURATION]]: C, an integer narrower than "
             "the sum, "
             "is sum >> SHIFT; %s; or their numbers in these lists, from 0",
     .list = list_modes},
    {"--relu", NULL, tool_flag, AT(gemm.relu),
     .help = "results below zero are stored as zero"},
    {"--steps", "COUNT[,GROUP]", read_steps, AT(steps),
     .help =
         "COUNT blocks of K in one function, from rings of two buffers that it "
         "acquires and releases; GROUP blocks of A (1 or 2) per block of B"},
    {0},
};

static const struct tool_option zero_options[] = {
    {"--bytes", "N", tool_int, AT(bytes), .help = "to clear", .low = 1,
     .high = CHECK_MEMORY_BYTES, .flags = TOOL_NEEDED},
    {0},
};

static const struct tool_option copy_options[] = {
    {"--rows", "N", tool_int, AT(copy.rows), .help = "of the matrix", EXTENT},
    {"--columns", "N", tool_int, AT(copy.columns), .help = "of the matrix",
     EXTENT},
    {"--block", "RxC", read_block, AT(copy),
     .help = "elements in a small block; 32 or 64 bytes", .flags = TOOL_NEEDED},
    {"--type", "T", tool_type, AT(copy.type),
     .help = "of elements, bf16 (default)"},
    {"--transpose", NULL, tool_flag, AT(copy.transpose),
     .help = "to [columns/C][rows/R][C][R], else to the same"},
    {"--relu", NULL, tool_flag, AT(copy.relu),
     .help = "elements below zero become zero"},
    {0},
};

static const struct tool_option add_options[] = {
    {"--bytes", "N", tool_int, AT(bytes), .help = "of each operand", .low = 1,
     .high = CHECK_MEMORY_BYTES, .flags = TOOL_NEEDED},
    {"--type", "T", tool_type, AT(type),
     .help = "bf16 (default), f32, or an integer of up to 32 bits"},
    {0},
};

static const struct tool_option common_options[] = {
    {"--name", "NAME", read_name, AT(name), .help = "of the function"},
    {"--report", NULL, tool_flag, AT(report),
     .help = "figures as key=value lines, measured on the simulated core with "
             "A, B and "
             "C in banks of their own where they fit"},
    {"--check", NULL, tool_flag, AT(check),
     .help = "compares with the exact reference: random data, extremes, "
             "infinities; "
             "exit status 1 if anything differs"},
    {"-o", "FILE", tool_file_to_write, AT(output),
     .help = "assembly to FILE (with --report, --check and --object it is left "
             "out otherwise)"},
    {"--object", "FILE", tool_file_to_write, AT(object),
     .help = "a relocatable object with the calling convention of Peano's C, "
             "to link into a core's program of IRON or mlir-aie (link_with), "
             "and its prototype to standard output"},
    {0},
};

static const struct tool_command primitives[] = {
    {.name = "gemm",
     .summary = "C += A * B for one block in tile memory (p0 = A, p1 = B, "
                "p2 = C)",
     .intro = "Blocks lie in small blocks of the multiplier's shape R x S x T "
              "(bf16 4x8x4, int8 4x8x8, int16 x int8 4x4x8, int16 4x4x4), row "
              "by row:\n"
              "  A [m/R][k/S][R][S]   B [k/S][n/T][S][T]   C [m/R][n/T][R][T]",
     .options = gemm_options,
     .run = run_gemm_job},
    {.name = "zero",
     .summary = "clears memory from p0 on",
     .options = zero_options,
     .run = run_zero_job},
    {.name = "copy",
     .summary = "moves a matrix in small blocks, [rows/R][columns/C][R][C], "
                "from p0 to p1",
     .options = copy_options,
     .run = run_copy_job},
    {.name = "add",
     .summary = "stores p0[i] + p1[i] to p2",
     .options = add_options,
     .run = run_add_job},
    {0},
};

static const struct job defaults = {
    .gemm = {.in0 = DTYPE_BF16, .in1 = DTYPE_BF16, .out = DTYPE_F32}};

const struct tool_command tool_kernel = {
    .name = "kernel",
    .summary = "the code of one core for one primitive, and its figures",
    .intro = "Prints AIE-ML assembly: a function that returns through lr.",
    .options = common_options,
    .actions = primitives,
    .action = "primitive",
    .job_bytes = sizeof(struct job),
    .job = &defaults,
};
