/* `nputeir teir`: checks, prints, runs, lowers, schedules and transforms TEIR
 * programs.
 *
 * Every action reads one program; those that give a program print it in the
 * form that was asked for. */
#include "job.h"
#include "teir_job.h"
#include "teir_program.h"
#include "teir_tec.h"
#include "teir_warn.h"

#include <string.h>

/* A TEC may be judged as it stands in the file. */
static struct teir *parse(struct teir_job *j, const char *name,
                          const char *text) {
  if (!j->keep_tec || !teir_program_is_tec(name, text))
    return teir_program_parse(j->arena, name, text, &j->d);
  struct tec *c = arena_alloc(j->arena, sizeof *c);
  if (tec_parse(j->arena, name, text, c, &j->d))
    j->tec = c;
  return NULL;
}

/* ---- questions ---- */
static bool check(struct teir_job *j) {
  const struct teir *t = j->teir; /* parsing has verified it */
  text_printf(
      &j->out, "well formed: %d tensors, %d axes, %d primitives, %d nodes\n",
      t->tensor_count, t->axis_count, t->primitive_count, t->node_count);
  teir_warn(t, &j->out);
  return true;
}

static bool print(struct teir_job *j) { return teir_job_show(j, j->teir); }

static bool lower(struct teir_job *j) {
  for (int i = 0; i < j->teir->primitive_count; i++) {
    struct teir_call call;
    struct diag d = {0};
    if (teir_lower(j->teir, i, &call, &d))
      teir_call_print(j->teir, i, &call, &j->out);
    else if (d.kind == DIAG_DECLINED)
      text_printf(&j->out, "%s: no kernel: %s\n", j->teir->primitive[i].id,
                  d.text);
    else
      return diag_error(&j->d, d.at, "%s", d.text);
  }
  return true;
}

/* What the array cannot do of the program as it stands: a rule with the number
 * that breaks it. */
static bool array_limits(struct teir_job *j, const struct teir *t) {
  static const char *const name[] = {"in0", "in1", "out"};
  struct npu_result r;
  struct diag d = {0};
  int count = 0;
  const char *device = j->device ? j->device : job_defaults.device;
  bool good = npu_compile(j->arena, device, t, 0, &r, &d);
  const struct diag *const why[] = {&r.not_as_placed, &r.beyond, &d};
  for (int i = 0; i < 3; i++)
    if (why[i]->kind != DIAG_NONE && ++count)
      text_printf(&j->out, "array: %s\n", why[i]->text);
  for (int i = 0; good && i < TENSORS; i++)
    if (r.packed[i] && ++count)
      text_printf(&j->out, "array: %s is packed: %s%s%s\n", name[i],
                  r.packed[i], r.rule[i] ? ", " : "",
                  r.rule[i] ? r.rule[i] : "");
  if (!count)
    text_puts(&j->out, "array: none is broken\n");
  npu_result_free(&r);
  return good;
}

static bool limits(struct teir_job *j) {
  struct tec c;
  struct diag flat = {0};
  struct diag none = {0};
  const struct teir *t =
      j->tec ? teir_from_tec(j->arena, j->tec, &none) : j->teir;
  if (!j->tec && !teir_to_tec(j->teir, &c, &flat))
    text_printf(&j->out, "no flat form: %s\n", flat.text);
  else if (tec_restrictions(j->tec ? j->tec : &c, &j->out) == 0)
    text_puts(&j->out, "none is broken\n");
  if (!t)
    text_printf(&j->out, "array: %s\n", none.text);
  else if (!array_limits(j, t) && flat.kind != DIAG_NONE) {
    j->d = flat; /* neither has anything to say */
    return false;
  }
  return true;
}

/* ---- the call ---- */
static bool read_program(struct tool *t, struct teir_job *j) {
  const char *name = strcmp(j->file, "-") ? j->file : "stdin";
  char *text = tool_input(t, j->file, NULL);
  j->teir = text ? parse(j, name, text) : NULL;
  if (j->keep_tec && j->tec)
    return true;
  return j->teir && (j->bind.count == 0 || teir_job_bind(j));
}

/* Reads the program, lets `action` work on it, prints the answer. */
static bool act(struct tool *t, struct teir_job *j,
                bool (*action)(struct teir_job *)) {
  j->arena = t->arena;
  j->keep_tec = action == limits; /* judged as it stands in the file */
  bool good = read_program(t, j) && action(j);
  if (good)
    good = tool_output(t, j->output, &j->out);
  else if (t->diag.kind == DIAG_NONE)
    t->diag = j->d;
  text_free(&j->out);
  return good;
}

static bool read_word(struct tool *t, void *to, const char *word) {
  struct teir_job *j = to;
  if (j->words == TEIR_JOB_WORDS)
    return tool_usage(t, "more than %d words", TEIR_JOB_WORDS);
  j->word[j->words++] = word;
  return true;
}

/* The row's `low` is the form; the last one counts no more than the first. */
static bool read_form(struct tool *t, void *to, const char *word) {
  enum teir_form *form = to;
  (void)word;
  if (*form != TEIR_FORM_UNSAID)
    return tool_usage(t, "%s: the form is given twice", t->option);
  *form = (enum teir_form)t->low;
  return true;
}

/* ---- the tables ---- */

#define AT(field) offsetof(struct teir_job, field)
/* A word behind the file, which the action's summary explains. */
#define WORD(name)                                                             \
  { name, NULL, read_word, 0, .help = "", .flags = TOOL_NEEDED }
#define WORDS(name)                                                            \
  { name, NULL, read_word, 0, .help = "", .flags = TOOL_NEEDED | TOOL_MANY }
#define OPTIONAL(name)                                                         \
  { name, NULL, read_word, 0, .help = "" }
#define TAKES(...)                                                             \
  (const struct tool_option[]) {                                               \
    __VA_ARGS__, { 0 }                                                         \
  }

static const struct tool_option run_options[] = {
    {"--in", "TENSOR=FILE", teir_job_read_pair, AT(in),
     .help = "raw bytes of a tensor; without, small whole numbers",
     .flags = TOOL_MANY},
    {"--out", "TENSOR=FILE", teir_job_read_out, AT(out_file),
     .help = "write a tensor's raw bytes", .flags = TOOL_MANY},
    {"--fast", NULL, tool_flag, AT(fast),
     .help = "matrix products by OpenBLAS where it is installed; prints the "
             "time, too"},
    {"--threads", "N", tool_number, AT(threads),
     .help = "with --fast: parallel loops on N threads", .low = 1,
     .high = 1024},
    {0},
};

static const struct tool_option choose_options[] = {
    {"KEY=VALUE", NULL, read_word, 0,
     .help =
         "fix parts of it by block_m, block_n, block_k, run_k, over_rows=M|N, "
         "out_buffers=1|2, axis_m, axis_n, axis_k (of the primitive), rows, "
         "columns (axes that go over cores)",
     .flags = TOOL_MANY},
    {"--machine", "M", tool_word, AT(machine),
     .help = "xdna (default), xdna2, or a file of '<field> <number>' lines "
             "that change xdna; or a processor, for which the plugin's "
             "own loops are printed: sse2, avx2, avxvnni, avx512, "
             "avx512vnni, avx512bf16, avx512fp16, amx, neon, neondot, "
             "neonbf16, neoni8mm, vsx, power10"},
    {"--explain", NULL, tool_flag, AT(explain),
     .help = "the bound, traffic and time instead"},
    {0},
};

static const struct tool_option limits_options[] = {
    {"--device", "NAME", job_read_device, AT(device), .help = "the array: %s",
     .list = job_list_devices},
    {0},
};

#define ACTIONS(X)                                                             \
  X(check)                                                                     \
  X(print)                                                                     \
  X(lower)                                                                     \
  X(limits)                                                                    \
  X(teir_job_run)                                                              \
  X(teir_job_choose)                                                           \
  X(teir_job_split)                                                            \
  X(teir_job_fuse)                                                             \
  X(teir_job_interchange)                                                      \
  X(teir_job_reorder)                                                          \
  X(teir_job_policy)                                                           \
  X(teir_job_place)                                                            \
  X(teir_job_consume)                                                          \
  X(teir_job_brgemm)                                                           \
  X(teir_job_sink) X(teir_job_hoist) X(teir_job_peel) X(teir_job_pack)
#define CALL(action)                                                           \
  static bool call_##action(struct tool *t, void *job) {                       \
    return act(t, job, action);                                                \
  }
ACTIONS(CALL)

static const struct tool_command actions[] = {
    {.name = "check",
     .summary = "is the program well formed? Prints warnings about what the "
                "rules leave open",
     .run = call_check},
    {.name = "print",
     .summary = "as text or in another form",
     .run = call_print},
    {.name = "run",
     .summary = "execute on host memory, print what each written tensor holds",
     .options = run_options,
     .notes = "A file's bytes begin at the lowest address that the program "
              "touches.",
     .run = call_teir_job_run},
    {.name = "lower",
     .summary = "the kernel call that each primitive becomes",
     .run = call_lower},
    {.name = "limits",
     .summary = "which restrictions of the flat form's NPU backend (thesis, "
                "section 5.2) it breaks, and which rules of the array itself, "
                "so that it is scheduled anew or tensors are packed",
     .options = limits_options,
     .run = call_limits},
    {.name = "choose",
     .summary = "blocks, rows, columns and time for one contraction on "
                "--machine",
     .options = choose_options,
     .run = call_teir_job_choose},
    {.name = "split",
     .summary = "AXIS into AXIS.o around AXIS.i of extent N",
     .options = TAKES(WORD("AXIS"), WORD("N")),
     .run = call_teir_job_split},
    {.name = "fuse",
     .summary = "NODE and the loop in it into one",
     .options = TAKES(WORD("NODE")),
     .run = call_teir_job_fuse},
    {.name = "interchange",
     .summary = "NODE and the loop in it change places",
     .options = TAKES(WORD("NODE")),
     .run = call_teir_job_interchange},
    {.name = "reorder",
     .summary = "loops inside each other, into this order",
     .options = TAKES(WORDS("NODE")),
     .run = call_teir_job_reorder},
    {.name = "policy",
     .summary = "sequential or parallel",
     .options = TAKES(WORD("NODE"), WORD("POLICY")),
     .run = call_teir_job_policy},
    {.name = "place",
     .summary = "rows, columns, time or anywhere",
     .options = TAKES(WORD("NODE"), WORD("PLACE")),
     .run = call_teir_job_place},
    {.name = "consume",
     .summary = "the calls in NODE consume its axis, as M, N or K; without "
                "ROLE, as the strides tell",
     .options = TAKES(WORD("NODE"), OPTIONAL("ROLE")),
     .run = call_teir_job_consume},
    {.name = "absorb",
     .summary = "the former name of consume",
     .options = TAKES(WORD("NODE"), OPTIONAL("ROLE")),
     .run = call_teir_job_consume},
    {.name = "brgemm",
     .summary = "PRIMITIVE sums pairs of blocks of N along K",
     .options = TAKES(WORD("PRIMITIVE"), WORD("N")),
     .run = call_teir_job_brgemm},
    {.name = "sink",
     .summary = "NODE into the loop beside it, guarded by first() or last()",
     .options = TAKES(WORD("NODE"), WORD("LOOP")),
     .run = call_teir_job_sink},
    {.name = "hoist",
     .summary = "the other way",
     .options = TAKES(WORD("NODE")),
     .run = call_teir_job_hoist},
    {.name = "peel",
     .summary = "NODE into siblings: the first N iterations, the remainder",
     .options = TAKES(WORD("NODE"), WORD("AXIS"), WORD("N")),
     .run = call_teir_job_peel},
    {.name = "pack",
     .summary = "copy what NODE reads of TENSOR into a dense tensor first",
     .options = TAKES(WORD("NODE"), WORD("TENSOR")),
     .run = call_teir_job_pack},
    {0},
};

static const struct tool_option options[] = {
    {"FILE", NULL, tool_word, AT(file),
     .help = "a program in the .teir form, as JSON or as a TEC; - is standard "
             "input, "
             "so that actions can be piped into each other",
     .flags = TOOL_NEEDED},
    {"-o", "FILE", tool_file_to_write, AT(output),
     .help = "write there (default: standard output)"},
    {"--text", NULL, read_form, AT(form), .help = "print the program as text",
     .low = TEIR_FORM_TEXT},
    {"--tree", NULL, read_form, AT(form),
     .help = "print the schedule as a tree", .low = TEIR_FORM_TREE},
    {"--dot", NULL, read_form, AT(form),
     .help = "print the schedule for Graphviz", .low = TEIR_FORM_DOT},
    {"--json", NULL, read_form, AT(form), .help = "print the program as JSON",
     .low = TEIR_FORM_JSON},
    {"--tec", NULL, read_form, AT(form), .help = "print the program as a TEC",
     .low = TEIR_FORM_TEC},
    {"--bind", "S=N[,S=N]", teir_job_read_bind, AT(bind),
     .help = "values of symbols, before the action", .flags = TOOL_MANY},
    {0},
};

const struct tool_command tool_teir = {
    .name = "teir",
    .summary = "check, print, run, lower, schedule and transform TEIR",
    .intro = "Transformations, from split on, keep the meaning, or are "
             "declined with the reason; NODE is a loop or call, by its id. "
             "Nothing may be symbolic in a transformation: use --bind first.",
    .options = options,
    .actions = actions,
    .action = "action",
    .job_bytes = sizeof(struct teir_job),
};
