/* `nputeir einsum`: the untiled TEIR of an einsum expression. */
#include "teir_dump.h"
#include "teir_einsum.h"
#include "tool.h"

#include <string.h>

struct job {
  struct teir_einsum einsum;
  const char *sizes, *output;
  bool tree;
};

/* "bf16", of all tensors; or "bf16,f32", of the inputs and of out. */
static bool read_types(struct tool *t, void *job, const char *word) {
  struct job *j = job;
  const char *comma = strchr(word, ',');
  size_t length = comma ? (size_t)(comma - word) : strlen(word);
  const char *in = arena_substring(t->arena, word, length);
  return (dtype_parse(in, &j->einsum.in) &&
          dtype_parse(comma ? comma + 1 : in, &j->einsum.out)) ||
         tool_usage(t, "--type takes a data type, or two: IN,OUT");
}

static bool run(struct tool *t, void *job) {
  struct job *j = job;
  if (j->sizes && !teir_einsum_sizes(&j->einsum, j->sizes, &t->diag))
    return false;
  struct teir *program = teir_from_einsum(t->arena, &j->einsum, &t->diag);
  if (!program)
    return false;
  (j->tree ? teir_print_tree : teir_print)(program, &t->out);
  return tool_print(t, j->output);
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"EXPRESSION", NULL, tool_word, AT(einsum.expression),
     .help = "as 'trus,pqtu->pqrs': a letter per dimension, the slowest moving "
             "first; "
             "letters that the output lacks are summed over. More than two "
             "operands "
             "become contractions of two in a good order.",
     .flags = TOOL_NEEDED},
    {"--sizes", "t=8,r=32", tool_word, AT(sizes),
     .help = "extent of every letter"},
    {"--type", "T[,OUT]", read_types, 0,
     .help = "data type of the inputs and of the output (f32)"},
    {"--layout", "ORDER", tool_word, AT(einsum.layout),
     .help =
         "memory order of every tensor's dimensions, in the expression's form; "
         "default: as the expression"},
    {"--tree", NULL, tool_flag, AT(tree),
     .help = "print the schedule tree only"},
    {"-o", "FILE", tool_file_to_write, AT(output),
     .help = "write there (default: standard output)"},
    {0},
};

static const struct job defaults = {.einsum.in = DTYPE_F32,
                                    .einsum.out = DTYPE_F32};

const struct tool_command tool_einsum = {
    .name = "einsum",
    .summary = "the untiled TEIR of an einsum expression",
    .usage = "EXPRESSION --sizes L=N[,L=N ..] [options]",
    .options = options,
    .notes = "The program is printed in the .teir form; see: nputeir help teir",
    .job_bytes = sizeof(struct job),
    .job = &defaults,
    .run = run,
};
