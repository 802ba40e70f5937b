/* `nputeir einsum`: the untiled TEIR of an einsum expression. */
#include "teir_einsum.h"
#include "tool.h"

#include <string.h>

struct words {
  struct teir_einsum einsum;
  const char *sizes, *type, *output;
  bool tree;
};

static bool read_words(struct words *w, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    const char **value = strcmp(word, "--sizes") == 0    ? &w->sizes
                         : strcmp(word, "--type") == 0   ? &w->type
                         : strcmp(word, "--layout") == 0 ? &w->einsum.layout
                         : strcmp(word, "-o") == 0       ? &w->output
                                                         : NULL;
    if (value && i + 1 == argc)
      return !tool_usage("einsum", "%s takes a value", word);
    if (value)
      *value = argv[++i];
    else if (strcmp(word, "--tree") == 0)
      w->tree = true;
    else if (word[0] == '-' && word[1] != '>')
      return !tool_usage("einsum", "there is no option '%s'", word);
    else if (w->einsum.expression)
      return !tool_usage("einsum", "takes one expression");
    else
      w->einsum.expression = word;
  }
  return w->einsum.expression ||
         !tool_usage("einsum", "takes an expression such as ab,bc->ac");
}

/* "bf16", of all tensors; or "bf16,f32", of the inputs and of out. */
static bool read_types(struct words *w, struct arena *a) {
  w->einsum.in = w->einsum.out = DTYPE_F32;
  if (!w->type)
    return true;
  const char *comma = strchr(w->type, ',');
  size_t length = comma ? (size_t)(comma - w->type) : strlen(w->type);
  const char *in = arena_substring(a, w->type, length);
  if (dtype_parse(in, &w->einsum.in) &&
      dtype_parse(comma ? comma + 1 : in, &w->einsum.out))
    return true;
  return !tool_usage("einsum", "--type takes a data type, or two: IN,OUT");
}

static bool give(struct words *w, struct arena *a, struct diag *d) {
  struct text text = {0};
  bool good = !w->sizes || teir_einsum_sizes(&w->einsum, w->sizes, d);
  struct teir *t = good ? teir_from_einsum(a, &w->einsum, d) : NULL;
  if (t && w->tree)
    teir_print_tree(t, &text);
  else if (t)
    teir_print(t, &text);
  good = t && tool_output(w->output, &text, d);
  text_free(&text);
  return good;
}

static int run(int argc, char **argv) {
  struct words w = {0};
  struct arena *a = arena_open();
  struct diag d = {0};
  int status = TOOL_USAGE;
  if (read_words(&w, argc, argv) && read_types(&w, a))
    status = give(&w, a, &d) ? TOOL_DONE : tool_fail(&d);
  arena_close(a);
  return status;
}

const struct tool_command tool_einsum = {
    .name = "einsum",
    .summary = "the untiled TEIR of an einsum expression",
    .help =
        "usage: nputeir einsum EXPRESSION --sizes L=N[,L=N ..] [options]\n"
        "\n"
        "  EXPRESSION        as 'trus,pqtu->pqrs': a letter per dimension, "
        "the\n"
        "                    slowest moving first; letters that the output\n"
        "                    lacks are summed over.  More than two operands\n"
        "                    become contractions of two in a good order.\n"
        "  --sizes t=8,r=32  extent of every letter\n"
        "  --type T[,OUT]    data type of the inputs and of the output (f32)\n"
        "  --layout ORDER    memory order of every tensor's dimensions, in "
        "the\n"
        "                    expression's form; default: as the expression\n"
        "  --tree            print the schedule tree only\n"
        "  -o FILE           write there instead of standard output\n"
        "\n"
        "The program is printed in the .teir form; see: nputeir help teir\n",
    .run = run,
};
