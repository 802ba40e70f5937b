/* `nputeir core`: one program on one core, by itself: its result, its bundles,
 * cycles, stalls and use of the issue slots.  `nputeir bench core` times the
 * simulator of the core. */
#include "core.h"
#include "arith.h"
#include "asm.h"
#include "bench.h"
#include "device_most.h"
#include "elf_file.h"
#include "keys.h"
#include "seconds.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

enum {
  MAX_WORDS = 64,
  PROGRAM_BYTES = DEVICE_MOST_PROGRAM_BYTES,
  WINDOW_BYTES = DEVICE_MOST_CORE_BYTES,
  /* its own, with those of three neighbours before them */
  LOCKS = DEVICE_CORE_LOCK + DEVICE_MOST_CORE_LOCKS,
  LOCK_MAX = DEVICE_MOST_LOCK
};

/* The memory and the locks around a core that is alone in the world. */
struct board {
  const struct isa *isa;
  struct core *core;
  uint8_t program[PROGRAM_BYTES];
  uint8_t memory[4][WINDOW_BYTES]; /* 0x40000 .. 0x7ffff */
  int64_t lock[LOCKS];
};

static bool acquire(void *context, int lock, int value) {
  struct board *b = context;
  if (value >= 0)
    return b->lock[lock] == value;
  if (b->lock[lock] < -value)
    return false;
  b->lock[lock] += value;
  return true;
}

static void release(void *context, int lock, int value) {
  struct board *b = context;
  b->lock[lock] += value;
}

static struct board *board_open(struct arena *a, const struct isa *isa) {
  struct board *b = arena_alloc(a, sizeof *b);
  b->isa = isa;
  struct core_surroundings around = {.isa = isa,
                                     .context = b,
                                     .program = b->program,
                                     .acquire = acquire,
                                     .release = release};
  for (int i = 0; i < 4; i++)
    around.memory[i] = b->memory[i];
  b->core = core_open(&around);
  core_enable(b->core, true);
  return b;
}

/* The bytes at a core data address, NULL if `length` of them leave memory. */
static uint8_t *board_bytes(struct board *b, int64_t address, size_t length) {
  int64_t offset = address - 0x40000;
  if (offset < 0 || offset > 4 * WINDOW_BYTES ||
      length > (size_t)(4 * WINDOW_BYTES - offset))
    return NULL;
  return b->memory[0] + offset;
}

/* ---- words of the call ---- */

struct assignment {
  const char *name;  /* left of '=' */
  const char *value; /* right of '=' */
};
struct assignments {
  struct assignment one[MAX_WORDS];
  int count;
};

struct job {
  const struct isa *isa;
  struct board *board;
  const char *file, *call;
  struct assignments set, load, dump, lock;
  struct asm_symbol symbol[MAX_WORDS];
  int symbol_count;
  int64_t budget;
  bool trace, strict;
};

static bool read_assignment(struct tool *t, void *to, const char *word) {
  struct assignments *list = to;
  if (list->count == MAX_WORDS)
    return tool_usage(t, "more than %d times %s", MAX_WORDS, t->option);
  struct assignment *one = &list->one[list->count++];
  return tool_assignment(t, word, &one->name, &one->value);
}

static bool read_symbol(struct tool *t, void *to, const char *word) {
  struct job *j = to;
  const char *value;
  if (j->symbol_count == MAX_WORDS)
    return tool_usage(t, "more than %d symbols", MAX_WORDS);
  struct asm_symbol *s = &j->symbol[j->symbol_count++];
  return tool_assignment(t, word, &s->name, &value) &&
         tool_number(t, &s->value, value);
}

/* ADDRESS:LENGTH=FILE */
static bool read_dump(struct tool *t, void *to, const char *word) {
  struct job *j = to;
  const char *path;
  if (!read_assignment(t, &j->dump, word))
    return false;
  const struct assignment *one = &j->dump.one[j->dump.count - 1];
  if (!strchr(one->name, ':'))
    return tool_usage(t, "--dump takes ADDRESS:LENGTH=FILE, not '%s'", word);
  return tool_file_to_write(t, &path, one->value);
}

/* ---- the program ---- */

/* What a called function returns to. */
static const char return_name[] = "nputeir.returned";
static const char return_text[] = "  .globl nputeir.returned\n"
                                  "nputeir.returned:\n  done\n";

/* Copies what has an address into the board's memories. */
static bool elf_place(struct tool *t, struct job *j, const struct elf_file *e) {
  for (int i = 0; i < e->section_count; i++) {
    const struct elf_file_section *s = &e->section[i];
    if (!(s->flags & SHF_ALLOC) || !s->size || !s->bytes)
      continue;
    uint8_t *to = board_bytes(j->board, s->address, s->size);
    if (s->address < PROGRAM_BYTES && s->size <= PROGRAM_BYTES - s->address)
      to = j->board->program + s->address;
    if (!to)
      return diag_error(&t->diag, loc_none(),
                        "a section of %u bytes at 0x%x fits in no memory",
                        s->size, s->address);
    memcpy(to, s->bytes, s->size);
  }
  return true;
}

static bool elf_symbol(const struct elf_file *e, const char *name,
                       int64_t *value) {
  for (int i = 0; i < e->symbol_count; i++)
    if (strcmp(e->symbol[i].name, name) == 0) {
      *value = e->symbol[i].value;
      return true;
    }
  return false;
}

/* Text as it is; an ELF file through its disassembly, which is text of the same
 * program. */
static struct asm_program *read_program(struct tool *t, struct job *j) {
  size_t length;
  char *data = tool_input(t, j->file, &length);
  if (data && length >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0) {
    struct text text = {0};
    const struct isa *isa = asm_disassemble_elf(j->isa, (const uint8_t *)data,
                                                length, &text, &t->diag);
    if (isa)
      j->isa = isa;
    data = isa ? arena_string(t->arena, text_string(&text)) : NULL;
    text_free(&text);
  }
  return data ? asm_parse(t->arena, j->isa, j->file, data, &t->diag) : NULL;
}

/* Links the program with the place to return to; gives its addresses. */
static bool load_program(struct tool *t, struct job *j, struct text *bytes,
                         struct elf_file *elf) {
  struct asm_program *program[2] = {read_program(t, j), NULL};
  program[1] = asm_parse(t->arena, j->isa, "return", return_text, &t->diag);
  if (!program[0] || !program[1] ||
      !asm_link(program, 2, j->symbol, j->symbol_count, bytes, &t->diag))
    return false;
  j->board = board_open(t->arena, j->isa);
  return elf_read(t->arena, (const uint8_t *)bytes->data, bytes->length, elf,
                  &t->diag) &&
         elf_place(t, j, elf);
}

/* ---- before and after the run ---- */

/* What the words of the call mean in this program. */
struct run {
  struct tool *tool;
  struct job *job;
  const struct elf_file *elf;
};

/* A number, or the name of a symbol of the program; `what` it is for, and the
 * numbers that it may be. */
static bool value_of(const struct run *r, const char *what, const char *word,
                     int64_t low, int64_t high, int64_t *value) {
  const struct job *j = r->job;
  const char *at = word;
  bool known = tool_scan_number(&at, value) && !*at;
  for (int i = 0; i < j->symbol_count && !known; i++)
    if (strcmp(j->symbol[i].name, word) == 0) {
      *value = j->symbol[i].value;
      known = true;
    }
  if (!known && !elf_symbol(r->elf, word, value))
    return diag_error(&r->tool->diag, loc_none(),
                      "%s: '%s' is neither a number of at most 64 bits nor a "
                      "symbol of the program",
                      what, word);
  if (*value < low || *value > high)
    return diag_error(&r->tool->diag, loc_none(),
                      "%s: %lld is not in %lld to %lld", what,
                      (long long)*value, (long long)low, (long long)high);
  return true;
}

static bool set_registers(const struct run *r) {
  const struct job *j = r->job;
  for (int i = 0; i < j->set.count; i++) {
    const struct assignment *one = &j->set.one[i];
    int64_t value;
    if (!value_of(r, one->name, one->value, INT32_MIN, UINT32_MAX, &value))
      return false;
    if (!core_write_register(j->board->core, one->name, (uint32_t)value))
      return diag_error(&r->tool->diag, loc_none(),
                        "there is no scalar register %s", one->name);
  }
  return true;
}

/* Locks count to 63 in 6 bits, and a core reaches 64 of them. */
static bool set_locks(const struct run *r) {
  const struct job *j = r->job;
  for (int i = 0; i < j->lock.count; i++) {
    const struct assignment *one = &j->lock.one[i];
    int64_t id, value;
    if (!value_of(r, "number of a lock", one->name, 0, LOCKS - 1, &id) ||
        !value_of(r, "value of a lock", one->value, 0, LOCK_MAX, &value))
      return false;
    j->board->lock[id] = value;
  }
  return true;
}

static uint8_t *memory_of(const struct run *r, int64_t address,
                          int64_t length) {
  uint8_t *at = board_bytes(r->job->board, address, (size_t)length);
  if (!at)
    diag_error(&r->tool->diag, loc_none(),
               "%lld bytes at 0x%llx leave data memory, which is 0x40000 to "
               "0x7ffff",
               (long long)length, (long long)address);
  return at;
}

static bool load_memory(const struct run *r) {
  const struct job *j = r->job;
  for (int i = 0; i < j->load.count; i++) {
    const struct assignment *one = &j->load.one[i];
    int64_t address;
    size_t length;
    if (!value_of(r, "--load", one->name, 0, UINT32_MAX, &address))
      return false;
    char *data = tool_input(r->tool, one->value, &length);
    uint8_t *to = data ? memory_of(r, address, (int64_t)length) : NULL;
    if (!to)
      return false;
    memcpy(to, data, length);
  }
  return true;
}

static bool dump_memory(const struct run *r) {
  const struct job *j = r->job;
  for (int i = 0; i < j->dump.count; i++) {
    const struct assignment *one = &j->dump.one[i];
    const char *colon = strchr(one->name, ':');
    int64_t address, length;
    assert(colon);
    const char *at =
        arena_substring(r->tool->arena, one->name, (size_t)(colon - one->name));
    if (!value_of(r, "--dump", at, 0, UINT32_MAX, &address) ||
        !value_of(r, "--dump", colon + 1, 0, UINT32_MAX, &length))
      return false;
    const uint8_t *from = memory_of(r, address, length);
    if (!from || !file_write(one->value, from, (size_t)length, &r->tool->diag))
      return false;
  }
  return true;
}

/* ---- the run ---- */

static void trace_bundle(const struct board *b, uint64_t cycle, uint32_t pc) {
  struct isa_bundle bundle;
  struct text t = {0};
  int size = pc < PROGRAM_BYTES ? isa_decode(b->isa, b->program + pc,
                                             PROGRAM_BYTES - pc, &bundle)
                                : 0;
  asm_disassemble(b->isa, b->program + (size ? pc : 0), (size_t)size, pc, &t);
  /* The bundle is the last line that is not empty. */
  char *text = t.data ? t.data : "";
  char *line = text;
  for (char *s = text; *s; s++)
    if (s[0] == '\n' && s[1] && s[1] != '\n')
      line = s + 1;
  line[strcspn(line, "\n")] = 0;
  printf("%8llu %05x%s\n", (unsigned long long)cycle, pc,
         size ? line : "  no bundle");
  text_free(&t);
}

static void trace_step(struct job *j, uint32_t pc, uint64_t bundles) {
  static const char *const cause[] = {"", "lock", "memory", "stream"};
  const struct core_counts *n = core_counts(j->board->core);
  if (n->bundles != bundles)
    trace_bundle(j->board, n->cycles, pc);
  else if (core_stalled(j->board->core) != STALL_NONE)
    printf("%8llu %05x  stall %s\n", (unsigned long long)n->cycles, pc,
           cause[core_stalled(j->board->core)]);
}

static bool run(struct tool *t, struct job *j, uint32_t stop) {
  struct core *core = j->board->core;
  const struct core_counts *n = core_counts(core);
  unsigned banks;
  while (core_state(core) == CORE_RUNNING && core_pc(core) != stop) {
    uint32_t pc = core_pc(core);
    uint64_t bundles = n->bundles;
    core_step(core, &banks);
    if (j->trace)
      trace_step(j, pc, bundles);
    int lock = core_waiting_lock(core);
    if (lock >= 0)
      return diag_error(&t->diag, loc_none(),
                        "the core waits at 0x%x for lock %d, which is %lld and "
                        "which nobody else releases (--lock sets it)",
                        core_pc(core), lock, (long long)j->board->lock[lock]);
    if (n->cycles >= (uint64_t)j->budget)
      return diag_error(&t->diag, loc_none(),
                        "not at its end after %lld cycles, at 0x%x (--cycles)",
                        (long long)j->budget, core_pc(core));
  }
  if (core_state(core) == CORE_FAILED)
    t->diag = *core_diag(core);
  return core_state(core) != CORE_FAILED;
}

static void report(struct tool *t, const struct core *core) {
  struct text keys = {0};
  const struct core_counts *n = core_counts(core);
  double bundles = n->bundles ? (double)n->bundles : 1;
  text_printf(&keys, "bundles=%llu\ncycles=%llu\n",
              (unsigned long long)n->bundles, (unsigned long long)n->cycles);
  text_printf(&keys, "stall_lock=%llu\nstall_memory=%llu\nstall_stream=%llu\n",
              (unsigned long long)n->stall[STALL_LOCK],
              (unsigned long long)n->stall[STALL_MEMORY],
              (unsigned long long)n->stall[STALL_STREAM]);
  text_printf(&keys, "multiplies=%llu\nmultiplies_per_cycle=%.4f\n",
              (unsigned long long)n->macs,
              (double)n->macs / (n->cycles ? (double)n->cycles : 1));
  for (int slot = 0; slot < SLOT_COUNT; slot++)
    text_printf(&keys, "use_%s=%.4f\n", isa_slot_name((enum isa_slot)slot),
                (double)core_slot_bundles(core, slot) / bundles);
  keys_print(t, "%s", text_string(&keys));
  text_free(&keys);
}

/* From the called function's entry until it is back, or from the program's
 * start until `done`. */
static bool work(struct tool *t, struct job *j, struct text *text) {
  int64_t start = 0, stop;
  struct elf_file e;
  if (!load_program(t, j, text, &e))
    return false;
  const struct run r = {.tool = t, .job = j, .elf = &e};
  if (j->call && !value_of(&r, "--call", j->call, 0, PROGRAM_BYTES - 1, &start))
    return false;
  if (!elf_symbol(&e, return_name, &stop))
    return diag_error(&t->diag, loc_none(), "the program has no symbols");
  core_reset(j->board->core, (uint32_t)start);
  core_strict(j->board->core, j->strict);
  core_write_register(j->board->core, "lr", (uint32_t)stop);
  if (!set_registers(&r) || !set_locks(&r) || !load_memory(&r) ||
      !run(t, j, (uint32_t)stop))
    return false;
  report(t, j->board->core);
  /* The `done` behind the return lets stores in flight land. */
  unsigned banks;
  while (core_state(j->board->core) == CORE_RUNNING)
    core_step(j->board->core, &banks);
  return dump_memory(&r);
}

static bool run_core(struct tool *t, void *job) {
  struct job *j = job;
  if (t->json && j->trace)
    return tool_usage(t, "--trace prints text, not --json's objects");
  if (!j->isa)
    j->isa = isa_at(0);
  struct text elf = {0};
  bool good = work(t, j, &elf);
  if (j->board)
    core_close(j->board->core);
  text_free(&elf);
  return good;
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"FILE", NULL, tool_word, AT(file),
     .help = "assembly text or an ELF object; - is standard input",
     .flags = TOOL_NEEDED},
    {"--isa", "NAME", tool_isa, AT(isa),
     .help = "instruction set of text: %s (default: the first; an ELF file "
             "says its own)",
     .list = tool_list_isas},
    {"--call", "SYMBOL", tool_word, AT(call),
     .help =
         "start there; `ret lr` ends the run. Without it the run starts at the "
         "first bundle"},
    {"--set", "REGISTER=VALUE", read_assignment, AT(set),
     .help = "before the start; a number or a symbol", .flags = TOOL_MANY},
    {"--define", "NAME=VALUE", read_symbol, 0,
     .help = "a symbol that the program refers to", .low = INT32_MIN,
     .high = UINT32_MAX, .flags = TOOL_MANY},
    {"--lock", "ID=VALUE", read_assignment, AT(lock),
     .help =
         "a lock before the start, to 0-63: ID 0-15 south, 16-31 west, 32-47 "
         "north, 48-63 own; others are 0",
     .flags = TOOL_MANY},
    {"--load", "ADDRESS=FILE", read_assignment, AT(load),
     .help = "file to data memory, 0x40000 to 0x7ffff", .flags = TOOL_MANY},
    {"--dump", "ADDRESS:LENGTH=FILE", read_dump, 0,
     .help = "data memory to file, after the run", .flags = TOOL_MANY},
    {"--cycles", "N", tool_number, AT(budget),
     .help = "give up then (1000000000)", .low = 1, .high = INT64_MAX},
    {"--strict", NULL, tool_flag, AT(strict),
     .help = "hazards of the schedule end the run"},
    {"--trace", NULL, tool_flag, AT(trace),
     .help = "a line per cycle: cycle, address, bundle or cause of the stall"},
    KEYS_JSON_OPTION,
    {0},
};

static const struct job defaults = {.budget = 1000000000};

const struct tool_command tool_core = {
    .name = "core",
    .summary = "run one program on one simulated core",
    .intro = "Runs FILE on one simulated core, bit and cycle exact. It ends "
             "with `done`, or when the called function is back.",
    .options = options,
    .notes = "Prints bundles, cycles, stall cycles by cause, multiplies, and "
             "use_SLOT, the part of the bundles in which a slot held an "
             "operation, as key=value.",
    .job_bytes = sizeof(struct job),
    .job = &defaults,
    .run = run_core,
};

/* ---- the benchmark ---- */

/* Four bundles of a loop that does what the inner loop of a kernel does: a
 * multiply, two loads and a store in each bundle. */
static const char bench_text[] =
    "mova r0, #%d; movxm ls, #first\nmovxm le, #last\nmovxm lc, #%d\n"
    "movxm p0, #0x70000\nmovxm p1, #0x74000\nmovxm p2, #0x78000\nmova m0, #0\n"
    "nopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\n"
    "nopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\n.p2align 4\n"
    "first:\n"
    "%s0, %s0, x0, x4, r0; vlda wl0, [p0], m0; vldb wl4, [p1], m0; "
    "vst amll8, [p2], m0\n"
    "%s1, %s1, x1, x4, r0; vlda wh0, [p0], m0; vldb wh4, [p1], m0; "
    "vst amll8, [p2], m0\n"
    "%s2, %s2, x0, x5, r0; vlda wl1, [p0], m0; vldb wl5, [p1], m0; "
    "vst amll8, [p2], m0\n.p2align 4\n"
    "last:\n"
    "%s3, %s3, x1, x5, r0; vlda wh1, [p0], m0; vldb wh5, [p1], m0; "
    "vst amll8, [p2], m0; nopx; nopm\nnop\nnop\ndone\n";

struct loop {
  const char *name, *multiply, *registers;
  int config, rounds;
};

static bool bench_loop(struct tool *t, void *context) {
  const struct loop *l = context;
  const struct isa *isa = isa_find(device_find("npu1")->isa);
  struct board *b = board_open(t->arena, isa);
  struct text bytes = {0};
  char op[32];
  snprintf(op, sizeof op, "%s %s", l->multiply, l->registers);
  char *text =
      arena_printf(t->arena, bench_text, l->config, l->rounds, op, l->registers,
                   op, l->registers, op, l->registers, op, l->registers);
  struct asm_program *p = asm_parse(t->arena, isa, "bench", text, &t->diag);
  bool good = p && asm_bytes(p, 0, NULL, 0, &bytes, &t->diag);
  unsigned banks, seed = 1;
  if (good)
    memcpy(b->program, bytes.data, bytes.length);
  /* Numbers between -1 and 1, as far as bf16 reads them. */
  for (int i = 0; i < WINDOW_BYTES; i += 2) {
    seed = seed * 1664525 + 1013904223;
    dtype_store_float(DTYPE_BF16, b->memory[3] + i,
                      (double)(int)seed / 2147483648.0);
  }
  double start = seconds_now();
  while (good && core_state(b->core) == CORE_RUNNING)
    core_step(b->core, &banks);
  double time = seconds_now() - start;
  if (core_state(b->core) == CORE_FAILED) {
    t->diag = *core_diag(b->core);
    good = false;
  }
  if (good)
    keys_print(t, "loop=%s bundles=%llu seconds=%.3f bundles_per_second=%.3g\n",
               l->name, (unsigned long long)core_counts(b->core)->bundles, time,
               (double)core_counts(b->core)->bundles / time);
  core_close(b->core);
  text_free(&bytes);
  return good;
}

/* One multiply in the code that this processor can run, beside the plain C. */
static void bench_multiply(struct tool *t, const struct arith *arith,
                           double *plain) {
  enum { ROUNDS = 300000, ACCUMULATORS = 8 };
  _Alignas(64) uint32_t acc[ACCUMULATORS][16] = {{0}};
  _Alignas(64) uint16_t a[32], b[32];
  for (int i = 0; i < 32; i++) {
    dtype_store_float(DTYPE_BF16, &a[i], 1.0 / (i + 3));
    dtype_store_float(DTYPE_BF16, &b[i], (i % 2 ? -1.0 : 1.0) / (i + 1));
  }
  double start = seconds_now();
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t *q = acc[i % ACCUMULATORS];
    arith->mac_bf16(q, q, a, b, 0);
  }
  double ns = (seconds_now() - start) / ROUNDS * 1e9;
  if (*plain == 0)
    *plain = ns;
  keys_print(t, "multiply=bf16_4x8x4 code=%s ns=%.1f ratio_to_plain=%.1f\n",
             arith->name, ns, *plain / ns);
}

bool bench_core(struct tool *t, void *to) {
  const struct bench_core_job *job = to;
  int rounds = job->rounds ? job->rounds : 1000000;
  struct loop loop[] = {{"bf16_4x8x4", "vmac.f", "bml", 28, rounds},
                        {"int8_4x8x8", "vmac", "cm", 776, rounds}};
  double plain = 0;
  for (int i = 0; arith_variant(i); i++)
    bench_multiply(t, arith_variant(i), &plain);
  return tool_nested(t, bench_loop, &loop[0]) &&
         tool_nested(t, bench_loop, &loop[1]);
}
