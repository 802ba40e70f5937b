/* nest.c -- `nputeir nest`: what the plugin would take of a file, and why not
 * the rest, for people, for programs and for editors. */
#include "compiler.h"
#include "recognizer.h"
#include "sarif.h"

#include <string.h>

struct job {
  struct compiler_job compiler;
  bool json, sarif, teir, rules, schema;
  bool extra; /* words for the compiler */
};

static bool check_words(struct tool *t, const struct job *j) {
  const char *file = j->compiler.file;
  if (j->rules || j->schema)
    return (!file && !j->json && !j->sarif && !j->teir && !j->extra &&
            j->rules != j->schema) ||
           tool_usage(t, "%s stands alone", j->rules ? "--rules" : "--schema");
  if (!file)
    return tool_usage(t, "which file?");
  if (j->json + j->sarif + j->teir > 1)
    return tool_usage(t, "the form of the output is given twice");
  if (j->compiler.language == COMPILER_BY_NAME && strcmp(file, "-") != 0 &&
      !compiler_takes(file))
    return tool_usage(t, "takes C, C++ or LLVM IR, not '%s'", file);
  if (t->rest_count > COMPILER_WORDS)
    return tool_usage(t, "more than %d compiler words", COMPILER_WORDS);
  return true;
}

static void describe(const struct job *j, const struct finding *f,
                     struct text *out) {
  text_printf(out, "%s:", f->file);
  if (f->line)
    text_printf(out, "%d:%d:", f->line, f->column);
  text_printf(out, " %s: ", f->function);
  if (f->taken) {
    text_printf(out, "taken: %s with %s\n", f->einsum, f->sizes);
    if (j->teir && f->teir)
      text_puts(out, f->teir);
    return;
  }
  text_printf(out, "declined [%s]: %s", f->rule, f->reason);
  if (f->reason_file)
    text_printf(out, " (%s:%d)", f->reason_file, f->reason_line);
  else if (f->reason_line)
    text_printf(out, " (line %d)", f->reason_line);
  if (f->advice)
    text_printf(out, "; %s", f->advice);
  text_puts(out, "\n");
}

static bool print(struct tool *t, const struct job *j,
                  const struct findings *all, bool compiled) {
  if (j->sarif)
    sarif_print(all, compiled, &t->out);
  for (int i = 0; i < all->count && !j->sarif; i++)
    if (j->json)
      text_printf(&t->out, "%s\n", all->item[i].text);
    else
      describe(j, &all->item[i], &t->out);
  if (!j->json && !j->sarif && (compiled || all->count > 0))
    text_printf(&t->out, "%d of %d nests taken\n", all->taken, all->count);
  return tool_print(t, NULL) && compiled;
}

static bool print_rules(struct tool *t) {
  for (int r = 0; r < RULE_COUNT; r++) {
    const char *advice = rule_advice((enum rule)r);
    text_printf(&t->out, "%s: %s%s%s\n", rule_name((enum rule)r),
                rule_meaning((enum rule)r), advice ? "; " : "",
                advice ? advice : "");
  }
  return tool_print(t, NULL);
}

static bool run_nest(struct tool *t, void *job) {
  struct job *j = job;
  struct findings all;
  if (!check_words(t, j))
    return false;
  if (j->rules)
    return print_rules(t);
  if (j->schema) {
    findings_schema(&t->out);
    return tool_print(t, NULL);
  }
  if (j->extra) {
    j->compiler.word = t->rest;
    j->compiler.word_count = t->rest_count;
  }
  bool compiled = compiler_run(t, &j->compiler, &all);
  return print(t, j, &all, compiled);
}

static bool read_language(struct tool *t, void *to, const char *word) {
  static const char *const name[] = {
      [COMPILER_C] = "c", [COMPILER_CXX] = "c++", [COMPILER_IR] = "ir"};
  for (int i = COMPILER_C; i <= COMPILER_IR; i++)
    if (strcmp(word, name[i]) == 0) {
      *(enum compiler_language *)to = (enum compiler_language)i;
      return true;
    }
  return tool_usage(t, "--language takes c, c++ or ir, not '%s'", word);
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"FILE", NULL, tool_word, AT(compiler.file),
     .help = "C, C++ or LLVM IR (.ll, .bc); - is standard input"},
    {"--language", "NAME", read_language, AT(compiler.language),
     .help = "c, c++ or ir, whatever the file's name (default: the name tells; "
             "of standard input, c)"},
    {"--json", NULL, tool_flag, AT(json),
     .help = "one JSON object per nest and line; its keys are below"},
    {"--sarif", NULL, tool_flag, AT(sarif),
     .help = "verdicts as a SARIF 2.1.0 log, for editors and code review: a "
             "declined nest is a result of level note, a taken one of kind "
             "pass"},
    {"--teir", NULL, tool_flag, AT(teir),
     .help = "print each contraction's TEIR, too"},
    {"--rules", NULL, tool_flag, AT(rules),
     .help = "list the names of all verdicts, and what would change them"},
    {"--schema", NULL, tool_flag, AT(schema),
     .help = "print the JSON Schema of a line of --json"},
    {"--", NULL, tool_flag, AT(extra),
     .help = "words for the compiler, such as -- -O3 -Iinclude; they replace "
             "-ffast-math"},
    {0},
};

const struct tool_command tool_nest = {
    .name = "nest",
    .summary = "what the compiler plugin takes of a C file, and why not more",
    .usage = "FILE.c|.cc|.ll|- [--json|--sarif|--teir] [-- COMPILER WORDS]\n"
             "--rules|--schema",
    .intro = "Shows every nest of loops that multiplies and sums: what "
             "contraction it is, or the first reason why it keeps its code and "
             "what would change that. Nothing is written. C and C++ are "
             "compiled with -O2 -ffast-math; IR goes through opt as it is.",
    .options = options,
    .notes = "Options for the plugin come from NPUTEIR_OPTIONS, such as "
             "fp=relaxed. The exit status says whether the file was compiled, "
             "not what became of its nests; of a file that was not, what was "
             "found until then is printed.\n\nKeys of --json: %s.",
    .list = findings_list_keys,
    .job_bytes = sizeof(struct job),
    .run = run_nest,
};
