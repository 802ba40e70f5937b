/* `nputeir teir`: checks, prints, runs, lowers and transforms TEIR programs.
 *
 * Every action reads one program; those that give a program print it in the
 * form that --tree, --dot or nothing asks for. */
#include "teir_job.h"

#include <string.h>

static bool finish(struct teir_job *j, const struct teir *t) {
  if (!t)
    return false;
  if (j->form == TEIR_FORM_TREE)
    teir_print_tree(t, &j->out);
  else if (j->form == TEIR_FORM_DOT)
    teir_print_dot(t, &j->out);
  else
    teir_print(t, &j->out);
  return true;
}

/* ---- words that name parts of the program ---- */
static bool take_axis(struct teir_job *j, const char *id, int *axis) {
  *axis = teir_find_axis(j->teir, id);
  return *axis >= 0 ||
         diag_error(&j->d, loc_none(), "there is no axis '%s'", id);
}

static bool take_count(struct teir_job *j, const char *word, int64_t *count) {
  struct scan s = scan_open(NULL, word);
  return (scan_int(&s, count) && scan_end(&s)) ||
         diag_error(&j->d, loc_none(), "'%s' is no number", word);
}

/* ---- actions ---- */
static bool check(struct teir_job *j) {
  const struct teir *t = j->teir; /* parsing has verified it */
  text_printf(
      &j->out, "well formed: %d tensors, %d axes, %d primitives, %d nodes\n",
      t->tensor_count, t->axis_count, t->primitive_count, t->node_count);
  return true;
}

static bool print(struct teir_job *j) { return finish(j, j->teir); }

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

static bool split(struct teir_job *j) {
  int axis;
  int64_t inner;
  return take_axis(j, j->word[0], &axis) && take_count(j, j->word[1], &inner) &&
         finish(j, teir_split(j->arena, j->teir, axis, inner, &j->d));
}

static const struct action {
  const char *name;
  int words; /* behind the file; -1: any number */
  bool (*run)(struct teir_job *);
} action[] = {
    {"check", 0, check}, {"print", 0, print}, {"run", 0, teir_job_run},
    {"lower", 0, lower}, {"split", 2, split},
};
enum { ACTIONS = sizeof action / sizeof *action };

static const struct action *find_action(const char *name) {
  for (int i = 0; i < ACTIONS; i++)
    if (strcmp(action[i].name, name) == 0)
      return &action[i];
  return NULL;
}

static bool read_program(struct teir_job *j) {
  char *text = tool_input(j->arena, j->file, NULL, &j->d);
  if (!text)
    return false;
  j->teir = teir_parse(j->arena, strcmp(j->file, "-") ? j->file : "stdin", text,
                       &j->d);
  return j->teir && (j->bind_count == 0 || teir_job_bind(j));
}

/* Everything behind the action: the file, its words, and options anywhere. */
static bool read_words(struct teir_job *j, int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    const char *w = argv[i];
    const char **value = strcmp(w, "-o") == 0 ? &j->output : NULL;
    bool many = strcmp(w, "--bind") == 0 || strcmp(w, "--in") == 0 ||
                strcmp(w, "--out") == 0;
    if ((value || many) && i + 1 == argc) {
      tool_usage("teir", "%s takes a value", w);
      return false;
    }
    if (value)
      *value = argv[++i];
    else if (many) {
      if (!teir_job_option(j, w, argv[++i]))
        return false;
    } else if (strcmp(w, "--tree") == 0)
      j->form = TEIR_FORM_TREE;
    else if (strcmp(w, "--dot") == 0)
      j->form = TEIR_FORM_DOT;
    else if (w[0] == '-' && w[1] == '-') {
      tool_usage("teir", "there is no option '%s'", w);
      return false;
    } else if (!j->file)
      j->file = w;
    else if (j->words < TEIR_JOB_WORDS)
      j->word[j->words++] = w;
    else {
      tool_usage("teir", "too many words");
      return false;
    }
  }
  return true;
}

static int act(const struct action *a, struct teir_job *j) {
  if (!read_program(j) || !a->run(j) || !tool_output(j->output, &j->out, &j->d))
    return tool_fail(&j->d);
  return TOOL_DONE;
}

static int run(int argc, char **argv) {
  if (argc < 2)
    return tool_usage("teir", "which action?");
  const struct action *a = find_action(argv[1]);
  if (!a)
    return tool_usage("teir", "there is no action '%s'", argv[1]);
  struct teir_job j = {.arena = arena_open()};
  int status = TOOL_USAGE;
  if (!read_words(&j, argc - 2, argv + 2))
    status = TOOL_USAGE;
  else if (!j.file)
    status = tool_usage("teir", "%s takes a file", a->name);
  else if (a->words >= 0 && j.words != a->words)
    status = tool_usage("teir", "%s takes %d words behind the file, not %d",
                        a->name, a->words, j.words);
  else
    status = act(a, &j);
  text_free(&j.out);
  arena_close(j.arena);
  return status;
}

const struct tool_command tool_teir = {
    .name = "teir",
    .summary = "check, print, run, lower and transform TEIR programs",
    .help =
        "usage: nputeir teir <action> FILE [words] [options]\n"
        "\n"
        "FILE holds a program in the .teir form; - is standard input.\n"
        "\n"
        "  check FILE              is the program well formed?\n"
        "  print FILE              as text, or with --tree, --dot a picture\n"
        "  run FILE                execute on host memory, print what each\n"
        "                          written tensor holds\n"
        "  lower FILE              the kernel call that each primitive "
        "becomes\n"
        "  split FILE AXIS N       AXIS into AXIS.o around AXIS.i of extent N\n"
        "\n"
        "options\n"
        "  -o FILE                 write there instead of standard output\n"
        "  --tree, --dot           print the schedule as a tree or for "
        "Graphviz\n"
        "  --bind S=N[,S=N]        values of symbols, before the action\n"
        "  --in TENSOR=FILE        run: raw bytes of a tensor; without, small\n"
        "                          whole numbers\n"
        "  --out TENSOR=FILE       run: write a tensor's raw bytes\n"
        "\n"
        "A file's bytes begin at the lowest address that the program "
        "touches.\n",
    .run = run,
};
