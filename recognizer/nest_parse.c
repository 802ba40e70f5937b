/* nest_parse.c -- nests from text; nest_print.c writes it.
 *
 *     tensor A i8              a tensor and its type; without a line: the sum's
 *     tensor B i8 pitch n      one whose rows lie a run-time value apart
 *     multiple m 4 n           the run-time value m is four times n
 *     tensor r f32 local       one that only the nest has
 *     number alpha f32         a number that is known before the nest
 *     loop i 64                a loop; loops and statements below stand in it
 *     loop k n                 a name that is no loop is a run-time value
 *     loop l n cut by p        an iteration of loop p runs a tile of it
 *     loop l n step 4          iterations are numbered 0, 4, 8, .. below n
 *     loop l n after k         they begin at the extent of loop k, which has
 *                              ended in the loop around both
 *     loop l n down            it runs from iteration n - 1 to 0
 *     out[i*32 + j] += A[i*16 + k + 3] * B[k*32 + j] : i32
 *     s = 0 : f32 ordered      a scalar; ordered: no other order of the sum
 *     out[i*32 + j] = max(alpha * s, (C[i] : bf16)) : f32
 *     s += [i + k - 1 >= 0] * ..   1 where it holds, else 0; or < 0
 *     [k + m >= 0 last]        it is zero in iteration extent - 1 of k
 *     A[i + k - 1]?            an element that is not read where it has no use
 *     C[i]? = select([k < 0], s, C[i]) : i32   nothing is written where the
 *                              old content is chosen
 *     infinite                 floats may be infinite or NaN
 *     end                      closes the innermost loop
 *
 * A constant in an index counts elements; a run-time value, and bytes(5), count
 * bytes; rows(2) is twice the tensor's pitch.  The type behind the colon is the
 * one in which a statement, or the part of it in parentheses, computes:
 * operands of other types are converted to it, and its result to what stands
 * around.  Operations other than + - * are functions with the names of
 * calc.def.  A comparison computes in the type of the arithmetic around it
 * unless it says another, lt(a, b : i32); what it gives is u8, as is the first
 * operand of select.  Any other function stands for an operation that no
 * contraction has. */
#include "nest_parser.h"

#include <string.h>

enum { STATEMENTS_MAX = 64 };

/* Finds ": type [ordered]" at the end of the line before the line is read. */
static bool parse_type(struct parser *p) {
  struct scan ahead = p->scan;
  for (const char *c = p->scan.at; *c && *c != '\n' && *c != '#'; c++)
    if (*c == ':')
      ahead.at = c;
  p->type = DTYPE_F32;
  p->reassoc = true;
  if (!scan_char(&ahead, ':'))
    return parser_fail(p, "a statement that ends in ': type'");
  char *name = scan_name(&ahead, p->arena);
  if (!name || !dtype_parse(name, &p->type))
    return scan_expected(&ahead, p->diag, "a data type");
  p->compare = p->type;
  p->reassoc = !scan_word(&ahead, "ordered");
  return scan_end_of_line(&ahead) ||
         scan_expected(&ahead, p->diag, "the end of the line");
}

static bool parse_statement(struct parser *p, char *name) {
  struct nest *n = p->nest;
  if (n->statement_count == STATEMENTS_MAX)
    return parser_fail(p, "fewer statements");
  struct nest_statement *s = &n->statement[n->statement_count];
  s->at = scan_loc(&p->scan);
  s->loop = p->loop;
  p->order = 2 * n->statement_count + 1; /* loads come before their store */
  s->order = p->order + 1;
  if (!parse_type(p))
    return false;
  if (scan_char(&p->scan, '[')) {
    s->is_store = true;
    if (!parser_access(p, name, &s->to))
      return false;
    s->conditional = scan_char(&p->scan, '?');
  } else if (parser_find(&p->outside, name) >= 0)
    return parser_fail(p, "a name that is no number from outside");
  else if ((s->scalar = parser_scalar(p, name)) < 0)
    return false;
  if (!parser_assigned(p, s))
    return false;
  n->statement_count++;
  if (!scan_char(&p->scan, ':'))
    return parser_fail(p, "':'");
  scan_name(&p->scan, p->arena); /* the type, which parse_type has read */
  scan_word(&p->scan, "ordered");
  return scan_end_of_line(&p->scan) || parser_fail(p, "the end of the line");
}

static bool parse_cutter(struct parser *p, int *cutter) {
  *cutter = -1;
  if (!scan_word(&p->scan, "cut"))
    return true;
  char *name = scan_word(&p->scan, "by") ? scan_name(&p->scan, p->arena) : NULL;
  return (name && (*cutter = parser_loop(p, name)) >= 0) ||
         parser_fail(p, "'by' and a loop around this one");
}

static bool parse_step(struct parser *p, int64_t *step) {
  *step = 1;
  return !scan_word(&p->scan, "step") ||
         (scan_int(&p->scan, step) && *step > 0) ||
         parser_fail(p, "a step above zero");
}

/* The last one of that name beside the loop. */
static bool parse_after(struct parser *p, int *after) {
  *after = -1;
  if (!scan_word(&p->scan, "after"))
    return true;
  char *name = scan_name(&p->scan, p->arena);
  for (int l = 0; name && l < p->nest->loop_count; l++)
    if (p->nest->loop[l].parent == p->loop &&
        strcmp(p->nest->loop[l].name, name) == 0)
      *after = l;
  return *after >= 0 || parser_fail(p, "a loop that has ended here");
}

static bool parse_loop(struct parser *p) {
  struct nest *n = p->nest;
  if (n->loop_count == NAMES_MAX)
    return parser_fail(p, "fewer loops");
  struct nest_loop *l = &n->loop[n->loop_count];
  l->at = scan_loc(&p->scan);
  l->parent = p->loop;
  if (n->loop_count > 0 && p->loop < 0)
    return parser_fail(p, "one outermost loop");
  if (!(l->name = scan_name(&p->scan, p->arena)))
    return parser_fail(p, "the loop's name");
  if (parser_loop(p, l->name) >= 0)
    return parser_fail(p, "another name than that of a loop around it");
  if (!parser_value(p, &l->extent) || !parse_cutter(p, &l->cut_by) ||
      !parse_step(p, &l->step) || !parse_after(p, &l->after))
    return false;
  l->down = scan_word(&p->scan, "down");
  p->loop = n->loop_count++;
  return true;
}

static bool parse_tensor(struct parser *p) {
  char *name = scan_name(&p->scan, p->arena);
  int tensor = name ? parser_intern(p, &p->tensor, name) : -1;
  char *type = tensor < 0 ? NULL : scan_name(&p->scan, p->arena);
  if (!type || !dtype_parse(type, &p->tensor_type[tensor]))
    return parser_fail(p, "a tensor's name and its data type");
  p->tensor_typed[tensor] = true;
  if (scan_word(&p->scan, "pitch")) {
    char *pitch = scan_name(&p->scan, p->arena);
    if (!pitch)
      return parser_fail(p, "the name of a run-time value");
    if ((p->tensor_pitch[tensor] = parser_intern(p, &p->symbol, pitch)) < 0)
      return false;
  }
  p->tensor_local[tensor] = scan_word(&p->scan, "local");
  return true;
}

static bool parse_outside(struct parser *p) {
  char *name = scan_name(&p->scan, p->arena);
  if (!name || parser_find(&p->scalar, name) >= 0)
    return parser_fail(p, "a name that is no scalar's");
  int i = parser_intern(p, &p->outside, name);
  char *type = i < 0 ? NULL : scan_name(&p->scan, p->arena);
  return (type && dtype_parse(type, &p->outside_type[i])) ||
         parser_fail(p, "a number's name and its data type");
}

static bool parse_end(struct parser *p) {
  if (p->loop < 0)
    return parser_fail(p, "a loop to end");
  p->loop = p->nest->loop[p->loop].parent;
  return true;
}

static bool parse_symbol(struct parser *p, int *symbol) {
  char *name = scan_name(&p->scan, p->arena);
  return (name && (*symbol = parser_intern(p, &p->symbol, name)) >= 0) ||
         parser_fail(p, "the name of a run-time value");
}

static bool parse_multiple(struct parser *p) {
  struct nest *n = p->nest;
  if (n->multiple_count == NAMES_MAX)
    return parser_fail(p, "fewer multiples");
  struct nest_multiple *m = &n->multiple[n->multiple_count++];
  return parse_symbol(p, &m->symbol) &&
         ((scan_int(&p->scan, &m->times) && m->times > 1) ||
          parser_fail(p, "a number above one")) &&
         parse_symbol(p, &m->of);
}

static bool parse_infinite(struct parser *p) {
  return p->nest->infinite = true;
}

static bool parse_line(struct parser *p) {
  static const struct {
    const char *word;
    bool (*parse)(struct parser *);
  } line[] = {{"tensor", parse_tensor},  {"multiple", parse_multiple},
              {"number", parse_outside}, {"infinite", parse_infinite},
              {"loop", parse_loop},      {"end", parse_end}};
  char *word = scan_name(&p->scan, p->arena);
  if (!word)
    return parser_fail(p, "tensor, multiple, number, infinite, loop, end or a "
                          "statement");
  for (size_t i = 0; i < sizeof line / sizeof *line; i++)
    if (strcmp(word, line[i].word) == 0)
      return line[i].parse(p) && (scan_end_of_line(&p->scan) ||
                                  parser_fail(p, "the end of the line"));
  return parse_statement(p, word);
}

static const char **names(struct parser *p, const struct names *n) {
  return arena_copy(p->arena, n->item, NAMES_MAX, NAMES_MAX, sizeof(char *));
}

struct nest *nest_parse(struct arena *a, const char *file, const char *text,
                        struct diag *d) {
  struct nest *n = arena_alloc(a, sizeof *n);
  struct parser *p = arena_alloc(a, sizeof *p);
  *p = (struct parser){.scan = scan_open(file, text),
                       .arena = a,
                       .diag = d,
                       .nest = n,
                       .loop = -1};
  for (int i = 0; i < NAMES_MAX; i++)
    p->tensor_pitch[i] = -1;
  n->at = scan_loc(&p->scan);
  n->loop = arena_array(a, NAMES_MAX, sizeof *n->loop);
  n->statement = arena_array(a, STATEMENTS_MAX, sizeof *n->statement);
  n->multiple = arena_array(a, NAMES_MAX, sizeof *n->multiple);
  while (!scan_end(&p->scan))
    if (!parse_line(p))
      return NULL;
  n->tensor_count = p->tensor.count;
  n->tensor = names(p, &p->tensor);
  n->symbol_count = p->symbol.count;
  n->symbol = names(p, &p->symbol);
  n->pitch =
      arena_copy(a, p->tensor_pitch, NAMES_MAX, NAMES_MAX, sizeof *n->pitch);
  n->local =
      arena_copy(a, p->tensor_local, NAMES_MAX, NAMES_MAX, sizeof *n->local);
  n->scalar_count = p->scalar.count;
  n->scalar = names(p, &p->scalar);
  n->outside_count = p->outside.count;
  n->outside = names(p, &p->outside);
  return nest_check(n, d) ? n : NULL;
}
