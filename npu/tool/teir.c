/* `nputeir teir`: checks, prints, runs, lowers, schedules and transforms TEIR
 * programs.
 *
 * Every action reads one program; those that give a program print it in the
 * form that was asked for. */
#include "teir_job.h"
#include "teir_tec.h"
#include "teir_transform.h"
#ifdef NPUTEIR_JSON
#include "teir_json.h"
#endif

#include <string.h>

/* ---- forms ---- */
static bool show_json(struct teir_job *j, const struct teir *t) {
#ifdef NPUTEIR_JSON
  teir_json_print(t, &j->out);
  return true;
#else
  (void)t;
  return diag_error(&j->d, loc_none(),
                    "this nputeir was built without libjansson");
#endif
}

static bool show_tec(struct teir_job *j, const struct teir *t) {
  struct tec c;
  if (!teir_to_tec(t, &c, &j->d))
    return false;
  tec_print(&c, &j->out);
  return true;
}

bool teir_job_show(struct teir_job *j, const struct teir *t) {
  if (!t)
    return false;
  if (t->limit_count && j->form != TEIR_FORM_TEXT)
    return diag_error(&j->d, t->limit[0].at, "only text has limits");
  switch (j->form) {
  case TEIR_FORM_TEXT:
    teir_print(t, &j->out);
    return true;
  case TEIR_FORM_TREE:
    teir_print_tree(t, &j->out);
    return true;
  case TEIR_FORM_DOT:
    teir_print_dot(t, &j->out);
    return true;
  case TEIR_FORM_JSON:
    return show_json(j, t);
  case TEIR_FORM_TEC:
    return show_tec(j, t);
  }
  return false;
}

/* The form is told by the first word: teir, tec, or JSON's brace. */
static struct teir *parse(struct teir_job *j, const char *name,
                          const char *text) {
  struct scan s = scan_open(name, text);
  struct tec c;
  scan_end(&s);
  if (scan_word(&s, "tec"))
    return tec_parse(j->arena, name, text, &c, &j->d)
               ? teir_from_tec(j->arena, &c, &j->d)
               : NULL;
#ifdef NPUTEIR_JSON
  if (*s.at == '{')
    return teir_json_parse(j->arena, name, text, &j->d);
#endif
  return teir_parse(j->arena, name, text, &j->d);
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

static bool limits(struct teir_job *j) {
  struct tec c;
  if (!teir_to_tec(j->teir, &c, &j->d))
    return false;
  if (tec_restrictions(&c, &j->out) == 0)
    text_puts(&j->out, "none is broken\n");
  return true;
}

static const struct teir_action questions[] = {
    {"check", 0, 0, check},      {"print", 0, 0, print},
    {"run", 0, 0, teir_job_run}, {"lower", 0, 0, lower},
    {"limits", 0, 0, limits},    {"choose", 0, 16, teir_job_choose},
    {NULL, 0, 0, NULL},
};

static const struct teir_action *find_action(const char *name) {
  static const struct teir_action *const list[] = {questions, teir_changes};
  for (int l = 0; l < 2; l++)
    for (const struct teir_action *a = list[l]; a->name; a++)
      if (strcmp(a->name, name) == 0)
        return a;
  return NULL;
}

/* ---- the call ---- */
static bool read_program(struct teir_job *j) {
  const char *name = strcmp(j->file, "-") ? j->file : "stdin";
  char *text = tool_input(j->arena, j->file, NULL, &j->d);
  j->teir = text ? parse(j, name, text) : NULL;
  return j->teir && (j->bind_count == 0 || teir_job_bind(j));
}

static int form_of(const char *word) {
  static const char *const form[] = {"--text", "--tree", "--dot", "--json",
                                     "--tec"};
  for (int i = 0; i < 5; i++)
    if (strcmp(word, form[i]) == 0)
      return i;
  return -1;
}

/* An option with its value, if it has one; *i moves over both. */
static bool read_option(struct teir_job *j, int argc, char **argv, int *i) {
  const char *w = argv[*i];
  int form = form_of(w);
  bool output = strcmp(w, "-o") == 0, machine = strcmp(w, "--machine") == 0;
  bool threads = strcmp(w, "--threads") == 0;
  bool pairs = strcmp(w, "--bind") == 0 || strcmp(w, "--in") == 0 ||
               strcmp(w, "--out") == 0;
  if (form >= 0)
    j->form = (enum teir_form)form;
  else if (strcmp(w, "--explain") == 0)
    j->explain = true;
  else if (strcmp(w, "--fast") == 0)
    j->fast = true;
  else if (!output && !machine && !pairs && !threads)
    return !tool_usage("teir", "there is no option '%s'", w);
  else if (*i + 1 == argc)
    return !tool_usage("teir", "%s takes a value", w);
  else if (pairs)
    return teir_job_option(j, w, argv[++*i]);
  else if (threads)
    return tool_number("teir", w, argv[++*i], 1, 1024, &j->threads);
  else
    *(output ? &j->output : &j->machine) = argv[++*i];
  return true;
}

/* Everything behind the action: the file, its words, and options anywhere. */
static bool read_words(struct teir_job *j, int argc, char **argv) {
  for (int i = 0; i < argc; i++) {
    if (argv[i][0] == '-' && argv[i][1]) {
      if (!read_option(j, argc, argv, &i))
        return false;
    } else if (!j->file) {
      j->file = argv[i];
    } else if (j->words == TEIR_JOB_WORDS) {
      return !tool_usage("teir", "too many words");
    } else {
      j->word[j->words++] = argv[i];
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
    status =
        a->least == a->most
            ? tool_usage("teir", "%s takes %d words behind the file, not %d",
                         a->name, a->least, j.words)
            : tool_usage("teir",
                         "%s takes %d to %d words behind the file, not %d",
                         a->name, a->least, a->most, j.words);
  else
    status = act(a, &j);
  text_free(&j.out);
  arena_close(j.arena);
  return status;
}

const struct tool_command tool_teir = {
    .name = "teir",
    .summary = "check, print, run, lower, schedule and transform TEIR",
    .help =
        "usage: nputeir teir <action> FILE [words] [options]\n"
        "\n"
        "FILE holds a program in the .teir form, as JSON or as a TEC; - is\n"
        "standard input, so that actions can be piped into each other.\n"
        "\n"
        "questions\n"
        "  check FILE              is the program well formed?  Prints\n"
        "                          warnings about what the rules leave open\n"
        "  print FILE              as text or in another form\n"
        "  run FILE                execute on host memory, print what each\n"
        "                          written tensor holds\n"
        "  lower FILE              the kernel call that each primitive "
        "becomes\n"
        "  limits FILE             which restrictions of the flat form's NPU\n"
        "                          backend (thesis, section 5.2) it breaks\n"
        "\n"
        "a schedule\n"
        "  choose FILE [KEY=VALUE ..]\n"
        "                          blocks, rows, columns and time for one\n"
        "                          contraction on --machine; --explain gives\n"
        "                          the bound, traffic and time instead.  Fix\n"
        "                          parts of it by block_m, block_n, block_k,\n"
        "                          run_k, over_rows=M|N, out_buffers=1|2,\n"
        "                          axis_m, axis_n, axis_k (of the primitive),\n"
        "                          rows, columns (axes that go over cores)\n"
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
        "  --tree, --dot           print the schedule as a tree, for Graphviz\n"
        "  --text, --json, --tec   print the program in this form\n"
        "  --bind S=N[,S=N]        values of symbols, before the action\n"
        "  --machine M             choose: xdna (default), xdna2, or a file "
        "of\n"
        "                          '<field> <number>' lines that change xdna\n"
        "  --fast, --threads N     run: matrix products by OpenBLAS where it "
        "was\n"
        "                          found at build time, parallel loops on N\n"
        "                          threads; prints the time, too\n"
        "  --in TENSOR=FILE        run: raw bytes of a tensor; without, small\n"
        "                          whole numbers\n"
        "  --out TENSOR=FILE       run: write a tensor's raw bytes\n"
        "\n"
        "A file's bytes begin at the lowest address that the program touches.\n"
        "Nothing may be symbolic in a transformation: use --bind first.\n",
    .run = run,
};
