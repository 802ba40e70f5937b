/* `nputeir core`: one program on one core, by itself: its result, its bundles,
 * cycles, stalls and use of the issue slots.  `nputeir bench core` times the
 * simulator of the core. */
#include "core.h"
#include "arith.h"
#include "asm.h"
#include "bench.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_WORDS = 64, PROGRAM_BYTES = 16384, WINDOW_BYTES = 65536 };

/* The memory and the locks around a core that is alone in the world. */
struct board {
  struct core *core;
  uint8_t program[PROGRAM_BYTES];
  uint8_t memory[4][WINDOW_BYTES]; /* 0x40000 .. 0x7ffff */
  int64_t lock[64];
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

static struct board *board_open(struct arena *a) {
  struct board *b = arena_alloc(a, sizeof *b);
  struct core_surroundings around = {.context = b,
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

struct job {
  struct arena *arena;
  struct diag diag;
  struct board *board;
  const char *file, *call;
  struct assignment set[MAX_WORDS], load[MAX_WORDS], dump[MAX_WORDS],
      lock[MAX_WORDS];
  int set_count, load_count, dump_count, lock_count;
  struct asm_symbol symbol[MAX_WORDS];
  int symbol_count;
  int64_t budget;
  bool trace, strict;
};

static bool take_assignment(const char *option, char *word,
                            struct assignment *list, int *count) {
  char *equals = strchr(word, '=');
  if (!equals || equals == word || !equals[1]) {
    tool_usage("core", "%s takes two parts around '=', not '%s'", option, word);
    return false;
  }
  if (*count == MAX_WORDS) {
    tool_usage("core", "more than %d times %s", MAX_WORDS, option);
    return false;
  }
  *equals = 0;
  list[(*count)++] = (struct assignment){word, equals + 1};
  return true;
}

static bool take_define(struct job *j, char *word) {
  struct assignment one;
  int none = 0;
  if (!take_assignment("--define", word, &one, &none))
    return false;
  if (j->symbol_count == MAX_WORDS) {
    tool_usage("core", "more than %d symbols", MAX_WORDS);
    return false;
  }
  struct asm_symbol *s = &j->symbol[j->symbol_count++];
  s->name = one.name;
  return tool_number("core", "--define", one.value, INT32_MIN, UINT32_MAX,
                     &s->value);
}

static bool take_value(struct job *j, const char *option, char *value) {
  if (strcmp(option, "--call") == 0) {
    j->call = value;
    return true;
  }
  if (strcmp(option, "--set") == 0)
    return take_assignment(option, value, j->set, &j->set_count);
  if (strcmp(option, "--load") == 0)
    return take_assignment(option, value, j->load, &j->load_count);
  if (strcmp(option, "--dump") == 0)
    return take_assignment(option, value, j->dump, &j->dump_count);
  if (strcmp(option, "--lock") == 0)
    return take_assignment(option, value, j->lock, &j->lock_count);
  if (strcmp(option, "--define") == 0)
    return take_define(j, value);
  return tool_number("core", option, value, 1, INT64_MAX, &j->budget);
}

static bool is_value_option(const char *word) {
  static const char *const words[] = {"--call", "--set",    "--load",  "--dump",
                                      "--lock", "--define", "--cycles"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(word, words[i]) == 0)
      return true;
  return false;
}

static bool take_words(struct job *j, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (is_value_option(argv[i])) {
      if (i + 1 == argc) {
        tool_usage("core", "%s takes a value", argv[i]);
        return false;
      }
      if (!take_value(j, argv[i], argv[i + 1]))
        return false;
      i++;
    } else if (strcmp(argv[i], "--trace") == 0) {
      j->trace = true;
    } else if (strcmp(argv[i], "--strict") == 0) {
      j->strict = true;
    } else if (argv[i][0] == '-' && argv[i][1]) {
      tool_usage("core", "unknown option '%s'", argv[i]);
      return false;
    } else if (j->file) {
      tool_usage("core", "takes one program, '%s' is a second", argv[i]);
      return false;
    } else {
      j->file = argv[i];
    }
  }
  if (!j->file)
    tool_usage("core", "takes a program: assembly text or an ELF file");
  return j->file;
}

/* ---- the program ---- */

/* What a called function returns to. */
static const char return_name[] = "nputeir.returned";
static const char return_text[] = "  .globl nputeir.returned\n"
                                  "nputeir.returned:\n  done\n";

static uint32_t get32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}
static uint32_t get16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }

/* The linked ELF is our own; its sections and symbols are in asm's form. */
struct elf {
  const uint8_t *data;
  size_t length;
};

static const uint8_t *elf_section(const struct elf *e, uint32_t index) {
  return e->data + get32(e->data + 32) + 40 * index;
}

/* Copies what has an address into the board's memories. */
static bool elf_place(struct job *j, const struct elf *e) {
  enum { ALLOC = 2, NOBITS = 8 };
  for (uint32_t i = 0; i < get16(e->data + 48); i++) {
    const uint8_t *s = elf_section(e, i);
    uint32_t address = get32(s + 12), size = get32(s + 20);
    if (!(get32(s + 8) & ALLOC) || !size || get32(s + 4) == NOBITS)
      continue;
    uint8_t *to = board_bytes(j->board, address, size);
    if (address < PROGRAM_BYTES && size <= PROGRAM_BYTES - address)
      to = j->board->program + address;
    if (!to)
      return diag_error(&j->diag, loc_none(),
                        "a section of %u bytes at 0x%x fits in no memory", size,
                        address);
    memcpy(to, e->data + get32(s + 16), size);
  }
  return true;
}

static bool elf_symbol(const struct elf *e, const char *name, int64_t *value) {
  enum { SYMTAB = 2 };
  for (uint32_t i = 0; i < get16(e->data + 48); i++) {
    const uint8_t *s = elf_section(e, i);
    if (get32(s + 4) != SYMTAB)
      continue;
    const char *names =
        (const char *)e->data + get32(elf_section(e, get32(s + 24)) + 16);
    const uint8_t *at = e->data + get32(s + 16);
    for (uint32_t k = 0; k < get32(s + 20) / 16; k++, at += 16)
      if (strcmp(names + get32(at), name) == 0) {
        *value = get32(at + 4);
        return true;
      }
  }
  return false;
}

/* Text as it is; an ELF file through its disassembly, which is text of the same
 * program. */
static struct asm_program *read_program(struct job *j) {
  size_t length;
  char *data = tool_input(j->arena, j->file, &length, &j->diag);
  if (data && length >= 4 && memcmp(data, "\177ELF", 4) == 0) {
    struct text t = {0};
    bool good =
        asm_disassemble_elf((const uint8_t *)data, length, &t, &j->diag);
    data = good ? arena_string(j->arena, text_string(&t)) : NULL;
    text_free(&t);
  }
  return data ? asm_parse(j->arena, j->file, data, &j->diag) : NULL;
}

/* Links the program with the place to return to; gives its addresses. */
static bool load_program(struct job *j, struct text *elf) {
  struct asm_program *program[2] = {
      read_program(j),
      asm_parse(j->arena, "return", return_text, &j->diag),
  };
  if (!program[0] || !program[1] ||
      !asm_link(program, 2, j->symbol, j->symbol_count, elf, &j->diag))
    return false;
  struct elf e = {(const uint8_t *)elf->data, elf->length};
  return elf_place(j, &e);
}

/* A number, or the name of a symbol of the program. */
static bool value_of(struct job *j, const struct elf *e, const char *word,
                     int64_t *value) {
  char *end;
  *value = strtoll(word, &end, 0);
  if (end != word && !*end)
    return true;
  for (int i = 0; i < j->symbol_count; i++)
    if (strcmp(j->symbol[i].name, word) == 0) {
      *value = j->symbol[i].value;
      return true;
    }
  return elf_symbol(e, word, value) ||
         diag_error(&j->diag, loc_none(),
                    "'%s' is no number and no symbol of the program", word);
}

/* ---- before and after the run ---- */

static bool set_registers(struct job *j, const struct elf *e) {
  for (int i = 0; i < j->set_count; i++) {
    int64_t value;
    if (!value_of(j, e, j->set[i].value, &value))
      return false;
    if (!core_write_register(j->board->core, j->set[i].name, (uint32_t)value))
      return diag_error(&j->diag, loc_none(), "there is no scalar register %s",
                        j->set[i].name);
  }
  for (int i = 0; i < j->lock_count; i++) {
    int64_t id, value;
    if (!value_of(j, e, j->lock[i].name, &id) ||
        !value_of(j, e, j->lock[i].value, &value))
      return false;
    if (id < 0 || id > 63)
      return diag_error(&j->diag, loc_none(),
                        "lock %lld: a core knows locks 0 to 63", (long long)id);
    j->board->lock[id] = value;
  }
  return true;
}

static bool load_memory(struct job *j, const struct elf *e) {
  for (int i = 0; i < j->load_count; i++) {
    int64_t address;
    size_t length;
    if (!value_of(j, e, j->load[i].name, &address))
      return false;
    char *data = file_read(j->arena, j->load[i].value, &length, &j->diag);
    if (!data)
      return false;
    uint8_t *to = board_bytes(j->board, address, length);
    if (!to)
      return diag_error(&j->diag, loc_none(),
                        "%s: %zu bytes at 0x%llx leave data memory, which is "
                        "0x40000 to 0x7ffff",
                        j->load[i].value, length, (long long)address);
    memcpy(to, data, length);
  }
  return true;
}

static bool dump_memory(struct job *j, const struct elf *e) {
  for (int i = 0; i < j->dump_count; i++) {
    char *colon = strchr(j->dump[i].name, ':');
    int64_t address, length;
    if (!colon)
      return diag_error(&j->diag, loc_none(),
                        "--dump takes ADDRESS:LENGTH=FILE, not '%s'",
                        j->dump[i].name);
    *colon = 0;
    if (!value_of(j, e, j->dump[i].name, &address) ||
        !value_of(j, e, colon + 1, &length))
      return false;
    const uint8_t *from =
        length < 0 ? NULL : board_bytes(j->board, address, (size_t)length);
    if (!from)
      return diag_error(&j->diag, loc_none(),
                        "%lld bytes at 0x%llx leave data memory, which is "
                        "0x40000 to 0x7ffff",
                        (long long)length, (long long)address);
    if (!file_write(j->dump[i].value, from, (size_t)length, &j->diag))
      return false;
  }
  return true;
}

/* ---- the run ---- */

static void trace_bundle(const struct board *b, uint64_t cycle, uint32_t pc) {
  struct isa_bundle bundle;
  struct text t = {0};
  int size = pc < PROGRAM_BYTES
                 ? isa_decode(b->program + pc, PROGRAM_BYTES - pc, &bundle)
                 : 0;
  asm_disassemble(b->program + (size ? pc : 0), (size_t)size, pc, &t);
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
  else
    printf("%8llu %05x  stall %s\n", (unsigned long long)n->cycles, pc,
           cause[core_stalled(j->board->core)]);
}

static bool run(struct job *j, uint32_t stop) {
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
      return diag_error(&j->diag, loc_none(),
                        "the core waits at 0x%x for lock %d, which is %lld and "
                        "which nobody else releases (--lock sets it)",
                        core_pc(core), lock, (long long)j->board->lock[lock]);
    if (n->cycles >= (uint64_t)j->budget)
      return diag_error(&j->diag, loc_none(),
                        "not at its end after %lld cycles, at 0x%x (--cycles)",
                        (long long)j->budget, core_pc(core));
  }
  if (core_state(core) == CORE_FAILED)
    j->diag = *core_diag(core);
  return core_state(core) != CORE_FAILED;
}

static void report(const struct core *core) {
  const struct core_counts *n = core_counts(core);
  double bundles = n->bundles ? (double)n->bundles : 1;
  printf("bundles=%llu\ncycles=%llu\n", (unsigned long long)n->bundles,
         (unsigned long long)n->cycles);
  printf("stall_lock=%llu\nstall_memory=%llu\nstall_stream=%llu\n",
         (unsigned long long)n->stall[STALL_LOCK],
         (unsigned long long)n->stall[STALL_MEMORY],
         (unsigned long long)n->stall[STALL_STREAM]);
  printf("multiplies=%llu\nmultiplies_per_cycle=%.4f\n",
         (unsigned long long)n->macs,
         (double)n->macs / (n->cycles ? (double)n->cycles : 1));
  for (int slot = 0; slot < SLOT_COUNT; slot++)
    printf("use_%s=%.4f\n", isa_slot_name((enum isa_slot)slot),
           (double)core_slot_bundles(core, slot) / bundles);
}

/* From the called function's entry until it is back, or from the program's
 * start until `done`. */
static bool work(struct job *j, struct text *text) {
  int64_t start = 0, stop;
  if (!load_program(j, text))
    return false;
  struct elf e = {(const uint8_t *)text->data, text->length};
  if (j->call && !value_of(j, &e, j->call, &start))
    return false;
  if (!elf_symbol(&e, return_name, &stop))
    return diag_error(&j->diag, loc_none(), "the program has no symbols");
  core_reset(j->board->core, (uint32_t)start);
  core_strict(j->board->core, j->strict);
  core_write_register(j->board->core, "lr", (uint32_t)stop);
  if (!set_registers(j, &e) || !load_memory(j, &e) || !run(j, (uint32_t)stop))
    return false;
  report(j->board->core);
  /* The `done` behind the return lets stores in flight land. */
  unsigned banks;
  while (core_state(j->board->core) == CORE_RUNNING)
    core_step(j->board->core, &banks);
  return dump_memory(j, &e);
}

static int command(int argc, char **argv) {
  struct job j = {.budget = 1000000000};
  struct text elf = {0};
  if (!take_words(&j, argc, argv))
    return TOOL_USAGE;
  j.arena = arena_open();
  j.board = board_open(j.arena);
  int status = work(&j, &elf) ? TOOL_DONE : tool_fail(&j.diag);
  core_close(j.board->core);
  text_free(&elf);
  arena_close(j.arena);
  return status;
}

const struct tool_command tool_core = {
    "core",
    "runs one program on one simulated core",
    "nputeir core FILE [options]\n"
    "\n"
    "Runs FILE, assembly text or an ELF object, on one simulated core, bit "
    "and\n"
    "cycle exact.  It ends with `done`, or when the called function is back.\n"
    "\n"
    "  --call SYMBOL             start there; `ret lr` ends the run.  Without\n"
    "                            it the run starts at the first bundle\n"
    "  --set REGISTER=VALUE      before the start; a number or a symbol\n"
    "  --define NAME=VALUE       a symbol that the program refers to\n"
    "  --lock ID=VALUE           a lock before the start: 0-15 south, 16-31\n"
    "                            west, 32-47 north, 48-63 own; others are 0\n"
    "  --load ADDRESS=FILE       file to data memory, 0x40000 to 0x7ffff\n"
    "  --dump ADDRESS:LENGTH=FILE  data memory to file, after the run\n"
    "  --cycles N                give up then (1000000000)\n"
    "  --strict                  hazards of the schedule end the run\n"
    "  --trace                   a line per cycle: cycle, address, bundle or\n"
    "                            cause of the stall\n"
    "\n"
    "Prints bundles, cycles, stall cycles by cause, multiplies, and use_SLOT,\n"
    "the part of the bundles in which a slot held an operation, as "
    "key=value.\n",
    command,
};

/* ---- the benchmark ---- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

static bool bench_loop(const char *name, const char *multiply,
                       const char *register_name, int config, int rounds,
                       struct diag *d) {
  struct arena *a = arena_open();
  struct board *b = board_open(a);
  struct text bytes = {0};
  char op[32];
  snprintf(op, sizeof op, "%s %s", multiply, register_name);
  char *text =
      arena_printf(a, bench_text, config, rounds, op, register_name, op,
                   register_name, op, register_name, op, register_name);
  struct asm_program *p = asm_parse(a, "bench", text, d);
  bool good = p && asm_bytes(p, 0, NULL, 0, &bytes, d);
  unsigned banks, seed = 1;
  if (good)
    memcpy(b->program, bytes.data, bytes.length);
  /* Numbers between -1 and 1, as far as bf16 reads them. */
  for (int i = 0; i < WINDOW_BYTES; i += 2) {
    seed = seed * 1664525 + 1013904223;
    dtype_store_float(DTYPE_BF16, b->memory[3] + i,
                      (double)(int)seed / 2147483648.0);
  }
  double start = seconds();
  while (good && core_state(b->core) == CORE_RUNNING)
    core_step(b->core, &banks);
  double time = seconds() - start;
  if (core_state(b->core) == CORE_FAILED) {
    *d = *core_diag(b->core);
    good = false;
  }
  if (good)
    printf("loop=%s bundles=%llu seconds=%.3f bundles_per_second=%.3g\n", name,
           (unsigned long long)core_counts(b->core)->bundles, time,
           (double)core_counts(b->core)->bundles / time);
  core_close(b->core);
  text_free(&bytes);
  arena_close(a);
  return good;
}

/* One multiply in the code that this processor can run, beside the plain C. */
static void bench_multiply(const struct arith *arith, double *plain) {
  enum { ROUNDS = 300000, ACCUMULATORS = 8 };
  _Alignas(64) uint32_t acc[ACCUMULATORS][16] = {{0}};
  _Alignas(64) uint16_t a[32], b[32];
  for (int i = 0; i < 32; i++) {
    dtype_store_float(DTYPE_BF16, &a[i], 1.0 / (i + 3));
    dtype_store_float(DTYPE_BF16, &b[i], (i % 2 ? -1.0 : 1.0) / (i + 1));
  }
  double start = seconds();
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t *q = acc[i % ACCUMULATORS];
    arith->mac_bf16(q, q, a, b, 0);
  }
  double ns = (seconds() - start) / ROUNDS * 1e9;
  if (*plain == 0)
    *plain = ns;
  printf("multiply=bf16_4x8x4 code=%s ns=%.1f ratio_to_plain=%.1f\n",
         arith->name, ns, *plain / ns);
}

int bench_core(int argc, char **argv) {
  int64_t rounds = 1000000;
  struct diag d = {0};
  if (argc > 2)
    return tool_usage("bench", "core takes at most a number of rounds");
  if (argc == 2 &&
      !tool_number("bench", "core", argv[1], 1, 100000000, &rounds))
    return TOOL_USAGE;
  double plain = 0;
  for (int i = 0; arith_variant(i); i++)
    bench_multiply(arith_variant(i), &plain);
  if (bench_loop("bf16_4x8x4", "vmac.f", "bml", 28, (int)rounds, &d) &&
      bench_loop("int8_4x8x8", "vmac", "cm", 776, (int)rounds, &d))
    return TOOL_DONE;
  return tool_fail(&d);
}
