/* `nputeir teir`: checks, prints, runs, lowers and transforms TEIR programs.
 *
 * Every action reads one program; those that give a program print it in the
 * form that --tree, --dot or nothing asks for. */
#include "teir_job.h"
#include "teir_transform.h"

#include <string.h>

bool teir_job_show(struct teir_job *j, const struct teir *t) {
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

/* ---- actions ---- */
static bool check(struct teir_job *j) {
  const struct teir *t = j->teir; /* parsing has verified it */
  text_printf(
      &j->out, "well formed: %d tensors, %d axes, %d primitives, %d nodes\n",
      t->tensor_count, t->axis_count, t->primitive_count, t->node_count);
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

static const struct teir_action questions[] = {
    {"check", 0, 0, check}, {"print", 0, 0, print}, {"run", 0, 0, teir_job_run},
    {"lower", 0, 0, lower}, {NULL, 0, 0, NULL},
};

static const struct teir_action *find_action(const char *name) {
  static const struct teir_action *const list[] = {questions, teir_changes};
  for (int l = 0; l < 2; l++)
    for (const struct teir_action *a = list[l]; a->name; a++)
      if (strcmp(a->name, name) == 0)
        return a;
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

static int act(const struct teir_action *a, struct teir_job *j) {
  if (!read_program(j) || !a->run(j) || !tool_output(j->output, &j->out, &j->d))
    return tool_fail(&j->d);
  return TOOL_DONE;
}

static int run(int argc, char **argv) {
  if (argc < 2)
    return tool_usage("teir", "which action?");
  const struct teir_action *a = find_action(argv[1]);
  if (!a)
    return tool_usage("teir", "there is no action '%s'", argv[1]);
  struct teir_job j = {.arena = arena_open()};
  int status = TOOL_USAGE;
  if (!read_words(&j, argc - 2, argv + 2))
    status = TOOL_USAGE;
  else if (!j.file)
    status = tool_usage("teir", "%s takes a file", a->name);
  else if (j.words < a->least || j.words > a->most)
    status = tool_usage("teir",
                        "%s takes %d to %d words behind the file, not "
                        "%d",
                        a->name, a->least, a->most, j.words);
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
        "FILE holds a program in the .teir form; - is standard input, so that\n"
        "actions can be piped into each other.\n"
        "\n"
        "questions\n"
        "  check FILE              is the program well formed?  Prints\n"
        "                          warnings about what the rules leave open\n"
        "  print FILE              as text, or with --tree, --dot a picture\n"
        "  run FILE                execute on host memory, print what each\n"
        "                          written tensor holds\n"
        "  lower FILE              the kernel call that each primitive "
        "becomes\n"
        "\n"
        "transformations keep the meaning, or are declined with the reason;\n"
        "NODE is a loop or call, by its id\n"
        "  split FILE AXIS N       AXIS into AXIS.o around AXIS.i of extent N\n"
        "  fuse FILE NODE          NODE and the loop in it into one\n"
        "  interchange FILE NODE   NODE and the loop in it change places\n"
        "  reorder FILE NODE ..    loops inside each other, into this order\n"
        "  policy FILE NODE P      sequential or parallel\n"
        "  place FILE NODE P       rows, columns, time or anywhere\n"
        "  absorb FILE NODE [ROLE] the calls in NODE consume its axis, as M, "
        "N\n"
        "                          or K; without ROLE, as the strides tell\n"
        "  brgemm FILE PRIM N      PRIM sums pairs of blocks of N along K\n"
        "  sink FILE NODE LOOP     NODE into the loop beside it, guarded by\n"
        "                          first() or last()\n"
        "  hoist FILE NODE         the other way\n"
        "  peel FILE NODE AXIS N   NODE into siblings: the first N, the rest\n"
        "  pack FILE NODE TENSOR   copy what NODE reads of TENSOR into a "
        "dense\n"
        "                          tensor first\n"
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
        "A file's bytes begin at the lowest address that the program touches.\n"
        "Nothing may be symbolic in a transformation: use --bind first.\n",
    .run = run,
};
