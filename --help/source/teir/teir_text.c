/* teir_text.c -- reads the text form, which teir_print.c writes.
 *
 * One thing per line; '#' starts a comment; names may be used before the line
 * that defines them.  An identifier is letters, digits and _ . $, or any string
 * in quotes (a symbol without quotes starts with a letter or _, so that it is
 * no number).  A size is a whole number or a symbol.  A tensor that an axis
 * does not mention has stride 0 and offset 0 there.
 *
 *   teir 1
 *   symbol <id>
 *   tensor <id> <data type>
 *   axis <id> extent <size> [stride <tensor>=<size> ..]
 *        [offset <tensor>=<size> ..]
 *   primitive <id> <operation> M=[<axis>, ..] N=[..] [K=[..]]
 *        [from <tensor>, ..] [to <tensor>] [expr <expression>]
 *        [with <key>=<value> ..]
 *   roots <node>, ..
 *   iterate <id> over <axis> sequential|parallel [on rows|columns|time]
 *        [when first(<axis>) and last(<axis>) ..] do <node>, ..
 *   invoke <id> calls <primitive> [when ..]
 *   limit nonnegative|negative <size> [along <axis>=<size> ..]
 *
 * Each definition is one line; they are broken here to fit.
 *
 * The text is read twice: first the ids of all definitions and the types of
 * tensors, then the rest, so that every name resolves at once.
 */
#include "calc.h"
#include "teir_build.h"

#include <assert.h>
#include <string.h>

static const char *const role_name[TEIR_ROLES] = {"M", "N", "K"};
static const char *const policy_name[] = {"sequential", "parallel"};
static const char *const place_name[] = {"anywhere", "rows", "columns", "time"};
enum { POLICIES = 2, PLACES = 4 };

static const char *const kind_name[TEIR_KINDS] = {"symbol", "tensor", "axis",
                                                  "primitive", "node"};

struct reader {
  struct arena *a;
  struct scan s;
  struct teir *t;
  struct diag *d;
  int axis, primitive, node; /* second reading: the next of each */
  bool roots_seen;
  const struct teir_names *names; /* of the first reading */
};

static char *take(struct reader *r, bool wanted(char)) {
  if (scan_end_of_line(&r->s))
    return NULL;
  if (*r->s.at == '"')
    return scan_string(&r->s, r->a, r->d);
  const char *first = r->s.at;
  while (wanted(*r->s.at))
    r->s.at++;
  return r->s.at == first
             ? NULL
             : arena_substring(r->a, first, (size_t)(r->s.at - first));
}

static char *take_id(struct reader *r, const char *what) {
  char *id = take(r, teir_is_word);
  if (!id)
    scan_expected(&r->s, r->d, what);
  return id;
}

static bool expect_char(struct reader *r, char c, const char *what) {
  return scan_char(&r->s, c) || scan_expected(&r->s, r->d, what);
}

static bool expect_word(struct reader *r, const char *word) {
  return scan_word(&r->s, word) || scan_expected(&r->s, r->d, word);
}

/* Takes an id and looks it up. */
static bool take_known(struct reader *r, enum teir_kind kind, int *index) {
  assert(r->names); /* of the first reading */
  struct loc at = scan_loc(&r->s);
  char *id = take_id(r, kind_name[kind]);
  if (!id)
    return false;
  *index = teir_names_find(r->names, kind, id);
  return *index >= 0 ||
         diag_error(r->d, at, "there is no %s '%s'", kind_name[kind], id);
}

static char *take_symbol(struct reader *r, const char *what) {
  char *id = scan_string(&r->s, r->a, r->d);
  if (!id)
    id = scan_name(&r->s, r->a);
  if (!id)
    scan_expected(&r->s, r->d, what);
  return id;
}

static bool take_size(struct reader *r, struct value *size) {
  int64_t value;
  if (scan_int(&r->s, &value)) {
    *size = teir_constant(value);
    return true;
  }
  struct loc at = scan_loc(&r->s);
  char *id = take_symbol(r, "a number or a symbol");
  if (!id)
    return false;
  *size = (struct value){0, teir_names_find(r->names, TEIR_KIND_SYMBOL, id)};
  return size->symbol >= 0 ||
         diag_error(r->d, at, "there is no symbol '%s'", id);
}

/* Does <id>= come next?  "offset" may be a tensor, and what ends a list. */
static bool sizes_go_on(struct reader *r) {
  struct reader ahead = *r;
  struct diag unused = {0};
  ahead.d = &unused;
  return take(&ahead, teir_is_word) && scan_char(&ahead.s, '=');
}

/* <tensor>=<size> .. up to a word that no '=' follows. */
static bool take_sizes(struct reader *r, struct value *size) {
  bool *given =
      arena_array(r->a, (size_t)r->t->tensor_count + 1, sizeof *given);
  do {
    struct loc at = scan_loc(&r->s);
    int tensor;
    if (!take_known(r, TEIR_KIND_TENSOR, &tensor) ||
        !expect_char(r, '=', "'='") || !take_size(r, &size[tensor]))
      return false;
    if (given[tensor])
      return diag_error(r->d, at, "tensor %s is given twice",
                        r->t->tensor[tensor].id);
    given[tensor] = true;
    scan_char(&r->s, ',');
  } while (sizes_go_on(r));
  return true;
}

static bool read_axis(struct reader *r) {
  struct teir_axis *x = &r->t->axis[r->axis++];
  assert(r->axis <= r->t->axis_count);
  take_id(r, "axis");
  if (!expect_word(r, "extent") || !take_size(r, &x->extent))
    return false;
  if (scan_word(&r->s, "stride") && !take_sizes(r, x->stride_bytes))
    return false;
  if (scan_word(&r->s, "offset") && !take_sizes(r, x->offset_bytes))
    return false;
  return true;
}

/* Names with optional commas between them, up to `end` or the line's end. */
static bool take_list(struct reader *r, struct teir_list *list,
                      enum teir_kind kind, char end) {
  while (end ? !scan_char(&r->s, end) : !scan_end_of_line(&r->s)) {
    int index;
    if (!take_known(r, kind, &index))
      return false;
    teir_list_add(r->a, list, index);
    scan_char(&r->s, ',');
  }
  return true;
}

static bool take_operation(struct reader *r, enum teir_op *op) {
  struct loc at = scan_loc(&r->s);
  char *name = take_id(r, "an operation");
  if (!name)
    return false;
  for (int i = 0; i < TEIR_OPS; i++)
    if (strcmp(name, teir_op_name((enum teir_op)i)) == 0) {
      *op = (enum teir_op)i;
      return true;
    }
  return diag_error(r->d, at, "'%s' is no operation", name);
}

static bool take_roles(struct reader *r, struct teir_primitive *p) {
  bool given[TEIR_ROLES] = {false};
  for (int i = 0; i < TEIR_ROLES;) {
    struct loc at = scan_loc(&r->s);
    if (!scan_word(&r->s, role_name[i])) {
      i++;
      continue;
    }
    if (given[i])
      return diag_error(r->d, at, "primitive %s has two lists %s", p->id,
                        role_name[i]);
    if (!expect_char(r, '=', "'='") || !expect_char(r, '[', "'['") ||
        !take_list(r, &p->role[i], TEIR_KIND_AXIS, ']'))
      return false;
    given[i] = true;
    i = 0;
  }
  if (given[TEIR_K] && p->op != TEIR_CONTRACTION)
    return diag_error(r->d, p->at, "primitive %s has a list K; %s has none",
                      p->id, teir_op_name(p->op));
  for (int i = 0; i < TEIR_ROLES; i++)
    if (!given[i] && (i != TEIR_K || p->op == TEIR_CONTRACTION))
      p->role[i].count = -1; /* for the verifier */
  return true;
}

static bool take_operands(struct reader *r, struct teir_primitive *p) {
  int tensor;
  if (scan_word(&r->s, "from")) {
    do {
      if (!take_known(r, TEIR_KIND_TENSOR, &tensor))
        return false;
      teir_list_add(r->a, &p->operand, tensor);
    } while (scan_char(&r->s, ','));
  }
  if (scan_word(&r->s, "to")) {
    if (!take_known(r, TEIR_KIND_TENSOR, &tensor))
      return false;
    teir_list_add(r->a, &p->operand, tensor);
  } else if (p->operand.count > 0) {
    return scan_expected(&r->s, r->d, "'to <tensor>' behind 'from'");
  }
  return true;
}

/* A Map's expression, over the names of its inputs. */
static bool take_expression(struct reader *r, struct teir_primitive *p) {
  if (p->op != TEIR_MAP)
    return true;
  const char *name[CALC_INPUTS];
  enum dtype type[CALC_INPUTS];
  int inputs = p->operand.count - 1;
  if (inputs > CALC_INPUTS)
    return diag_error(r->d, p->at, "primitive %s has %d inputs; a Map has %d",
                      p->id, inputs, CALC_INPUTS);
  for (int i = 0; i < inputs; i++) {
    name[i] = r->t->tensor[p->operand.item[i]].id;
    type[i] = r->t->tensor[p->operand.item[i]].type;
  }
  if (!expect_word(r, "expr"))
    return false;
  p->expr = calc_parse(r->a, &r->s, name, type, inputs, r->d);
  return p->expr;
}

static bool take_metadata(struct reader *r, int primitive) {
  if (!scan_word(&r->s, "with"))
    return true;
  do {
    char *key = take_id(r, "a key");
    if (!key || !expect_char(r, '=', "'='"))
      return false;
    if (teir_property(r->t, primitive, key))
      return diag_error(r->d, scan_loc(&r->s), "primitive %s has two values %s",
                        r->t->primitive[primitive].id, key);
    char *value = take(r, teir_is_value);
    if (!value)
      return scan_expected(&r->s, r->d, "a value");
    teir_add_property(r->a, r->t, primitive, key, value);
    scan_char(&r->s, ',');
  } while (!scan_end_of_line(&r->s));
  return true;
}

static bool read_primitive(struct reader *r) {
  int index = r->primitive++;
  assert(index < r->t->primitive_count);
  struct teir_primitive *p = &r->t->primitive[index];
  take_id(r, "primitive");
  return take_operation(r, &p->op) && take_roles(r, p) && take_operands(r, p) &&
         take_expression(r, p) && take_metadata(r, index);
}

static bool take_guard_term(struct reader *r, struct teir_guard_term *term) {
  term->last = scan_word(&r->s, "last");
  if (!term->last && !scan_word(&r->s, "first"))
    return scan_expected(&r->s, r->d, "first(<axis>) or last(<axis>)");
  return expect_char(r, '(', "'('") &&
         take_known(r, TEIR_KIND_AXIS, &term->axis) &&
         expect_char(r, ')', "')'");
}

static bool take_guard(struct reader *r, struct teir_node *n) {
  if (!scan_word(&r->s, "when"))
    return true;
  struct teir_guard_term term;
  do {
    if (!take_guard_term(r, &term))
      return false;
    teir_add_guard(r->a, n, term);
  } while (scan_word(&r->s, "and"));
  return true;
}

/* One of the words, or false without a message. */
static bool take_choice(struct reader *r, const char *const *word, int count,
                        int *choice) {
  for (int i = 0; i < count; i++)
    if (scan_word(&r->s, word[i])) {
      *choice = i;
      return true;
    }
  return false;
}

static bool read_iteration(struct reader *r) {
  assert(r->node < r->t->node_count);
  struct teir_node *n = &r->t->node[r->node++];
  int policy, place = TEIR_ANYWHERE;
  take_id(r, "node");
  if (!expect_word(r, "over") || !take_known(r, TEIR_KIND_AXIS, &n->axis))
    return false;
  if (!take_choice(r, policy_name, POLICIES, &policy))
    return scan_expected(&r->s, r->d, "sequential or parallel");
  if (scan_word(&r->s, "on") && !take_choice(r, place_name, PLACES, &place))
    return scan_expected(&r->s, r->d, "rows, columns or time");
  n->policy = (enum teir_policy)policy;
  n->place = (enum teir_place)place;
  return take_guard(r, n) && expect_word(r, "do") &&
         take_list(r, &n->children, TEIR_KIND_NODE, 0);
}

static bool read_invocation(struct reader *r) {
  assert(r->node < r->t->node_count);
  struct teir_node *n = &r->t->node[r->node++];
  take_id(r, "node");
  return expect_word(r, "calls") &&
         take_known(r, TEIR_KIND_PRIMITIVE, &n->primitive) && take_guard(r, n);
}

static bool read_limit(struct reader *r) {
  bool below = scan_word(&r->s, "negative");
  if (!below && !expect_word(r, "nonnegative"))
    return false;
  struct affine_guard *l = teir_add_limit(r->a, r->t, below);
  l->at = scan_loc(&r->s);
  if (!take_size(r, &l->start))
    return false;
  for (bool more = scan_word(&r->s, "along"); more;
       more = !scan_end_of_line(&r->s)) {
    int axis;
    if (!take_known(r, TEIR_KIND_AXIS, &axis) || !expect_char(r, '=', "'='") ||
        !take_size(r, &l->step[axis]))
      return false;
    scan_char(&r->s, ',');
  }
  return true;
}

static bool read_roots(struct reader *r) {
  if (r->roots_seen)
    return diag_error(r->d, scan_loc(&r->s), "there are two lists of roots");
  r->roots_seen = true;
  return take_list(r, &r->t->roots, TEIR_KIND_NODE, 0);
}

/* The first reading did all of these. */
static bool read_symbol(struct reader *r) {
  take_id(r, "symbol");
  return true;
}

static bool read_tensor(struct reader *r) {
  take_id(r, "tensor");
  take_id(r, "a data type");
  return true;
}

/* ---- the first reading: what is defined ---- */
static bool define_symbol(struct reader *r) {
  char *id = take_symbol(r, "the symbol's name");
  if (!id)
    return false;
  teir_add_symbol(r->a, r->t, id);
  return true;
}

static bool define_tensor(struct reader *r) {
  struct loc at = scan_loc(&r->s);
  if (r->t->tensor_count == TEIR_TENSORS)
    return diag_error(r->d, at, "more than %d tensors", TEIR_TENSORS);
  char *id = take_id(r, "the tensor's name");
  if (!id)
    return false;
  struct loc type_at = scan_loc(&r->s);
  char *word = take_id(r, "a data type");
  if (!word)
    return false;
  enum dtype type;
  if (!dtype_parse(word, &type))
    return diag_error(r->d, type_at, "'%s' is no data type", word);
  int i = teir_add_tensor(r->a, r->t, id, type);
  r->t->tensor[i].at = at;
  return true;
}

static bool define_axis(struct reader *r) {
  struct loc at = scan_loc(&r->s);
  char *id = take_id(r, "the axis's name");
  if (!id)
    return false;
  int i = teir_add_axis(r->a, r->t, id, teir_constant(0));
  r->t->axis[i].at = at;
  return true;
}

static bool define_primitive(struct reader *r) {
  struct loc at = scan_loc(&r->s);
  char *id = take_id(r, "the primitive's name");
  if (!id)
    return false;
  int i = teir_add_primitive(r->a, r->t, id, TEIR_ZERO);
  r->t->primitive[i].at = at;
  return true;
}

static bool define_node(struct reader *r, bool iteration) {
  struct loc at = scan_loc(&r->s);
  char *id = take_id(r, "the node's name");
  if (!id)
    return false;
  int n = iteration ? teir_add_iteration(r->a, r->t, id, -1)
                    : teir_add_invocation(r->a, r->t, id, -1);
  r->t->node[n].at = at;
  return true;
}

static bool define_iteration(struct reader *r) { return define_node(r, true); }
static bool define_invocation(struct reader *r) {
  return define_node(r, false);
}
static bool define_nothing(struct reader *r) {
  (void)r;
  return true;
}

/* ---- both readings ---- */
static const struct line {
  const char *word;
  bool (*define)(struct reader *);
  bool (*read)(struct reader *);
} line[] = {
    {"symbol", define_symbol, read_symbol},
    {"tensor", define_tensor, read_tensor},
    {"axis", define_axis, read_axis},
    {"primitive", define_primitive, read_primitive},
    {"iterate", define_iteration, read_iteration},
    {"invoke", define_invocation, read_invocation},
    {"roots", define_nothing, read_roots},
    {"limit", define_nothing, read_limit},
};
enum { LINES = sizeof line / sizeof *line };

static const struct line *take_line(struct reader *r) {
  for (int i = 0; i < LINES; i++)
    if (scan_word(&r->s, line[i].word))
      return &line[i];
  scan_expected(&r->s, r->d,
                "symbol, tensor, axis, primitive, roots, iterate, invoke or "
                "limit");
  return NULL;
}

static bool take_header(struct reader *r) {
  int64_t version;
  struct loc at = scan_loc(&r->s);
  if (scan_end(&r->s) || !scan_word(&r->s, "teir") ||
      !scan_int(&r->s, &version))
    return diag_error(r->d, at, "the first line is not 'teir 1'");
  if (version != 1)
    return diag_error(r->d, at, "version %lld of the text form; this is 1",
                      (long long)version);
  return true;
}

static bool read_all(struct reader *r, bool defining) {
  if (!take_header(r))
    return false;
  scan_next_line(&r->s);
  while (!scan_end(&r->s)) {
    const struct line *l = take_line(r);
    if (!l || !(defining ? l->define(r) : l->read(r)))
      return false;
    if (!defining && !scan_end_of_line(&r->s))
      return scan_expected(&r->s, r->d, "the end of the line");
    scan_next_line(&r->s);
  }
  return true;
}

struct teir *teir_parse(struct arena *a, const char *file, const char *text,
                        struct diag *d) {
  const char *name = file ? arena_string(a, file) : NULL;
  struct reader r = {.a = a, .d = d, .t = teir_empty(a, name)};
  r.s = scan_open(name, text);
  if (!read_all(&r, true))
    return NULL;
  r.names = teir_names(a, r.t);
  r.s = scan_open(name, text);
  if (!read_all(&r, false) || !teir_verify(r.t, d))
    return NULL;
  return r.t;
}
