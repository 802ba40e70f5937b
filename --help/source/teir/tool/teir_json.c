/* teir_json.c -- TEIR to JSON and back.
 *
 * Reading goes in two steps, as with text: first the identifiers of all parts,
 * then what they say about each other.  Every message names the line of the
 * value that it is about. */
#include "teir_json.h"
#include "calc.h"
#include "json.h"
#include "teir_build.h"

#include <assert.h>
#include <string.h>

static const char *const role_name[] = {"M", "N", "K"};
static const char *const policy_name[] = {"sequential", "parallel"};
static const char *const place_name[] = {"anywhere", "rows", "columns", "time"};
static const char *const sign_name[] = {"nonnegative", "negative"};
enum { POLICIES = 2, PLACES = 4, SIGNS = 2 };

/* ---- writing ---- */
struct writer {
  const struct teir *t;
  struct text *to;
};

static void put(struct writer *w, const char *s) { text_puts(w->to, s); }
static void put_string(struct writer *w, const char *s) {
  json_print_string(s, w->to);
}

/* ', "key": "value"', and the same without the value */
static void put_key(struct writer *w, const char *key) {
  text_printf(w->to, ", \"%s\": ", key);
}
static void put_pair(struct writer *w, const char *key, const char *value) {
  put_key(w, key);
  put_string(w, value);
}

static void put_size(struct writer *w, struct value s) {
  assert(s.symbol < w->t->symbol_count);
  if (s.symbol >= 0)
    put_string(w, w->t->symbol[s.symbol]);
  else
    text_printf(w->to, "%lld", (long long)s.constant);
}

/* An object of those that are not zero. */
static void put_sizes(struct writer *w, const struct value *size, int count,
                      const char *id(const struct teir *, int)) {
  const char *before = "{";
  for (int i = 0; i < count; i++) {
    if (size[i].symbol < 0 && size[i].constant == 0)
      continue;
    put(w, before);
    put_string(w, id(w->t, i));
    put(w, ": ");
    put_size(w, size[i]);
    before = ", ";
  }
  put(w, *before == '{' ? "{}" : "}");
}

static const char *tensor_id(const struct teir *t, int i) {
  return t->tensor[i].id;
}
static const char *axis_id(const struct teir *t, int i) {
  return t->axis[i].id;
}
static const char *node_id(const struct teir *t, int i) {
  return t->node[i].id;
}

static void put_names(struct writer *w, const int *item, int count,
                      const char *id(const struct teir *, int)) {
  put(w, "[");
  for (int i = 0; i < count; i++) {
    put(w, i ? ", " : "");
    put_string(w, id(w->t, item[i]));
  }
  put(w, "]");
}

static void put_tensor(struct writer *w, int i) {
  put_string(w, w->t->tensor[i].id);
  put_pair(w, "type", dtype_name(w->t->tensor[i].type));
}

static void put_axis(struct writer *w, int i) {
  const struct teir_axis *x = &w->t->axis[i];
  put_string(w, x->id);
  put_key(w, "extent");
  put_size(w, x->extent);
  put_key(w, "strides");
  put_sizes(w, x->stride_bytes, w->t->tensor_count, tensor_id);
  put_key(w, "offsets");
  put_sizes(w, x->offset_bytes, w->t->tensor_count, tensor_id);
}

static void put_operands(struct writer *w, const struct teir_primitive *p) {
  int inputs = p->operand.count - 1;
  if (inputs < 0)
    return;
  put_key(w, "inputs");
  put_names(w, p->operand.item, inputs, tensor_id);
  put_pair(w, "output", w->t->tensor[p->operand.item[inputs]].id);
}

static void put_primitive(struct writer *w, int i) {
  const struct teir_primitive *p = &w->t->primitive[i];
  put_string(w, p->id);
  put_pair(w, "operation", teir_op_name(p->op));
  put_key(w, "axes");
  for (int r = 0; r < (p->op == TEIR_CONTRACTION ? TEIR_ROLES : TEIR_K); r++) {
    text_printf(w->to, "%s\"%s\": ", r ? ", " : "{", role_name[r]);
    put_names(w, p->role[r].item, p->role[r].count, axis_id);
  }
  put(w, "}");
  put_operands(w, p);
  if (p->op == TEIR_MAP) {
    struct text expression = {0};
    teir_print_expression(w->t, p, &expression);
    put_pair(w, "expression", text_string(&expression));
    text_free(&expression);
  }
  put_key(w, "metadata");
  put(w, "{");
  for (int m = 0; m < p->property_count; m++) {
    put(w, m ? ", " : "");
    put_string(w, p->property[m].key);
    put(w, ": ");
    put_string(w, p->property[m].value);
  }
  put(w, "}");
}

static void put_node(struct writer *w, int i) {
  const struct teir_node *n = &w->t->node[i];
  put_string(w, n->id);
  if (n->kind == TEIR_INVOCATION) {
    put_pair(w, "primitive", w->t->primitive[n->primitive].id);
  } else {
    put_pair(w, "axis", w->t->axis[n->axis].id);
    put_pair(w, "policy", policy_name[n->policy]);
    put_pair(w, "place", place_name[n->place]);
    put_key(w, "children");
    put_names(w, n->children.item, n->children.count, node_id);
  }
  put_key(w, "guard");
  put(w, "[");
  for (int g = 0; g < n->guard_count; g++) {
    text_printf(w->to, "%s{\"%s\": ", g ? ", " : "",
                n->guard[g].last ? "last" : "first");
    put_string(w, w->t->axis[n->guard[g].axis].id);
    put(w, "}");
  }
  put(w, "]");
}

static void put_limit(struct writer *w, int i) {
  const struct affine_guard *l = &w->t->limit[i];
  put_string(w, sign_name[l->below]);
  put_key(w, "start");
  put_size(w, l->start);
  put_key(w, "along");
  put_sizes(w, l->step, w->t->axis_count, axis_id);
}

/* A list of objects, a line each, whose first key is `first`. */
static void put_list(struct writer *w, const char *key, const char *first,
                     int count, void one(struct writer *, int)) {
  text_printf(w->to, ",\n \"%s\": [", key);
  for (int i = 0; i < count; i++) {
    text_printf(w->to, "%s\n  {\"%s\": ", i ? "," : "", first);
    one(w, i);
    put(w, "}");
  }
  put(w, "]");
}

void teir_json_print(const struct teir *t, struct text *to) {
  struct writer w = {t, to};
  put(&w, "{\"teir\": 1,\n \"symbols\": [");
  for (int i = 0; i < t->symbol_count; i++) {
    put(&w, i ? ", " : "");
    put_string(&w, t->symbol[i]);
  }
  put(&w, "]");
  put_list(&w, "tensors", "id", t->tensor_count, put_tensor);
  put_list(&w, "axes", "id", t->axis_count, put_axis);
  put_list(&w, "primitives", "id", t->primitive_count, put_primitive);
  put(&w, ",\n \"roots\": ");
  put_names(&w, t->roots.item, t->roots.count, node_id);
  put_list(&w, "nodes", "id", t->node_count, put_node);
  if (t->limit_count)
    put_list(&w, "limits", "sign", t->limit_count, put_limit);
  put(&w, "}\n");
}

/* ---- reading ---- */
struct reader {
  struct arena *a;
  struct teir *t;
  const struct teir_names *names; /* of the first step */
  struct diag *d;
};

static const char *const kind_name[TEIR_KINDS] = {"symbol", "tensor", "axis",
                                                  "primitive", "node"};

static bool wrong(struct reader *r, const struct json *v, const char *what) {
  static const char *const kind[] = {
      "null", "false", "true", "a number", "a string", "a list", "an object"};
  return diag_error(r->d, v->at, "%s%s%s is %s, not %s", v->key ? "'" : "",
                    v->key ? v->key : "this value", v->key ? "'" : "",
                    kind[v->kind], what);
}

/* Every key of `o` is one of `known`, which NULL ends. */
static bool known_keys(struct reader *r, const struct json *o, const char *what,
                       const char *const *known) {
  if (o->kind != JSON_OBJECT)
    return wrong(r, o, "an object");
  for (const struct json *v = o->item; v; v = v->next) {
    int i = 0;
    while (known[i] && strcmp(known[i], v->key) != 0)
      i++;
    if (!known[i])
      return diag_error(r->d, v->at, "%s has no key '%s'", what, v->key);
  }
  return true;
}
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A member that must be there. */
static const struct json *needed(struct reader *r, const struct json *o,
                                 const char *key) {
  const struct json *v = json_member(o, key);
  if (!v)
    diag_error(r->d, o->at, "the key '%s' is missing", key);
  return v;
}

static bool whole_number(const struct json *v) {
  return v->kind == JSON_NUMBER && !strpbrk(v->text, ".eE");
}

/* NULL after a message. */
static const char *identifier(struct reader *r, const struct json *v) {
  if (v->kind == JSON_STRING || whole_number(v))
    return v->text;
  wrong(r, v, "a string or a whole number");
  return NULL;
}

static const char *needed_identifier(struct reader *r, const struct json *o,
                                     const char *key) {
  const struct json *v = needed(r, o, key);
  return v ? identifier(r, v) : NULL;
}

static bool find(struct reader *r, const struct json *v, enum teir_kind kind,
                 const char *id, int *index) {
  assert(r->names && id); /* of the first step */
  *index = teir_names_find(r->names, kind, id);
  return *index >= 0 ||
         diag_error(r->d, v->at, "there is no %s '%s'", kind_name[kind], id);
}

static bool read_known(struct reader *r, const struct json *v,
                       enum teir_kind kind, int *index) {
  const char *id = identifier(r, v);
  return id && find(r, v, kind, id, index);
}

static bool read_number(struct reader *r, const struct json *v,
                        int64_t *number) {
  assert(v->kind == JSON_NUMBER);
  struct scan s = scan_open(NULL, v->text);
  return (whole_number(v) && scan_int(&s, number)) ||
         diag_error(r->d, v->at, "%s is no whole number of 64 bits", v->text);
}

static bool read_size(struct reader *r, const struct json *v,
                      struct value *size) {
  *size = teir_constant(0);
  if (v->kind == JSON_NUMBER)
    return read_number(r, v, &size->constant);
  if (v->kind != JSON_STRING)
    return wrong(r, v, "a whole number or a symbol");
  return find(r, v, TEIR_KIND_SYMBOL, v->text, &size->symbol);
}

/* A number per tensor, in their order, or an object by tensors' or axes' ids.
 */
static bool read_sizes(struct reader *r, const struct json *v,
                       enum teir_kind kind, struct value *size) {
  if (!v)
    return true;
  if (v->kind != JSON_OBJECT &&
      (v->kind != JSON_LIST || kind == TEIR_KIND_AXIS))
    return wrong(r, v,
                 kind == TEIR_KIND_AXIS ? "an object" : "an object or a list");
  if (v->kind == JSON_LIST && v->count != r->t->tensor_count)
    return diag_error(r->d, v->at, "'%s' has %d numbers for %d tensors", v->key,
                      v->count, r->t->tensor_count);
  int i = 0;
  for (const struct json *x = v->item; x; x = x->next, i++) {
    int index = i;
    if (v->kind == JSON_OBJECT && !find(r, x, kind, x->key, &index))
      return false;
    if (!read_size(r, x, &size[index]))
      return false;
  }
  return true;
}

static bool read_list(struct reader *r, const struct json *v,
                      enum teir_kind kind, struct teir_list *list) {
  if (v->kind != JSON_LIST)
    return wrong(r, v, "a list");
  for (const struct json *x = v->item; x; x = x->next) {
    int index;
    if (!read_known(r, x, kind, &index))
      return false;
    teir_list_add(r->a, list, index);
  }
  return true;
}

/* The place of the string in `word`. */
static bool read_choice(struct reader *r, const struct json *v,
                        const char *const *word, int count, int *choice) {
  if (v->kind != JSON_STRING)
    return wrong(r, v, "a string");
  for (int i = 0; i < count; i++)
    if (strcmp(v->text, word[i]) == 0) {
      *choice = i;
      return true;
    }
  struct text known = {0};
  for (int i = 0; i < count; i++)
    text_printf(&known, "%s%s", i ? ", " : "", word[i]);
  diag_error(r->d, v->at, "'%s' is none of %s", v->text, text_string(&known));
  text_free(&known);
  return false;
}

/* ---- the first step: what is defined ---- */
static bool define_symbol(struct reader *r, const struct json *v) {
  if (v->kind != JSON_STRING)
    return wrong(r, v, "a string");
  teir_add_symbol(r->a, r->t, v->text);
  return true;
}

static bool define_tensor(struct reader *r, const struct json *o) {
  enum dtype type;
  if (!known_keys(r, o, "a tensor", KEYS("id", "type")))
    return false;
  const char *id = needed_identifier(r, o, "id");
  const struct json *name = id ? needed(r, o, "type") : NULL;
  if (!name)
    return false;
  if (r->t->tensor_count == TEIR_TENSORS)
    return diag_error(r->d, o->at, "more than %d tensors", TEIR_TENSORS);
  if (name->kind != JSON_STRING || !dtype_parse(name->text, &type))
    return diag_error(r->d, name->at, "'%s' is no data type",
                      name->text ? name->text : "type");
  int i = teir_add_tensor(r->a, r->t, id, type);
  r->t->tensor[i].at = o->at;
  return true;
}

static bool define_axis(struct reader *r, const struct json *o) {
  if (!known_keys(r, o, "an axis", KEYS("id", "extent", "strides", "offsets")))
    return false;
  const char *id = needed_identifier(r, o, "id");
  if (!id)
    return false;
  int i = teir_add_axis(r->a, r->t, id, teir_constant(0));
  r->t->axis[i].at = o->at;
  return true;
}

static bool define_primitive(struct reader *r, const struct json *o) {
  if (!known_keys(r, o, "a primitive",
                  KEYS("id", "operation", "axes", "inputs", "output",
                       "expression", "metadata")))
    return false;
  const char *id = needed_identifier(r, o, "id");
  if (!id)
    return false;
  int p = teir_add_primitive(r->a, r->t, id, TEIR_ZERO);
  r->t->primitive[p].at = o->at;
  return true;
}

static bool define_node(struct reader *r, const struct json *o) {
  if (o->kind != JSON_OBJECT)
    return wrong(r, o, "an object");
  bool call = json_member(o, "primitive");
  if (!known_keys(
          r, o, call ? "an invocation node" : "an iteration node",
          call ? KEYS("id", "primitive", "guard")
               : KEYS("id", "axis", "policy", "place", "children", "guard")))
    return false;
  const char *id = needed_identifier(r, o, "id");
  if (!id)
    return false;
  int n = call ? teir_add_invocation(r->a, r->t, id, -1)
               : teir_add_iteration(r->a, r->t, id, -1);
  r->t->node[n].at = o->at;
  return true;
}

static bool define_nothing(struct reader *r, const struct json *o) {
  return known_keys(r, o, "a limit", KEYS("sign", "start", "along"));
}

/* ---- the second step: number `i` of its kind ---- */
static bool read_nothing(struct reader *r, const struct json *o, int i) {
  (void)r, (void)o, (void)i;
  return true;
}

static bool read_axis(struct reader *r, const struct json *o, int i) {
  assert(i < r->t->axis_count);
  struct teir_axis *x = &r->t->axis[i];
  const struct json *extent = needed(r, o, "extent");
  return extent && read_size(r, extent, &x->extent) &&
         read_sizes(r, json_member(o, "strides"), TEIR_KIND_TENSOR,
                    x->stride_bytes) &&
         read_sizes(r, json_member(o, "offsets"), TEIR_KIND_TENSOR,
                    x->offset_bytes);
}

static bool read_operation(struct reader *r, const struct json *o,
                           enum teir_op *op) {
  const struct json *v = needed(r, o, "operation");
  if (!v)
    return false;
  for (int i = 0; v->kind == JSON_STRING && i < TEIR_OPS; i++)
    if (strcmp(v->text, teir_op_name((enum teir_op)i)) == 0) {
      *op = (enum teir_op)i;
      return true;
    }
  return v->text ? diag_error(r->d, v->at, "'%s' is no operation", v->text)
                 : wrong(r, v, "a string");
}

static bool read_roles(struct reader *r, const struct json *o,
                       struct teir_primitive *p) {
  const struct json *axes = needed(r, o, "axes");
  if (!axes || !known_keys(r, axes, "the object of axes", KEYS("M", "N", "K")))
    return false;
  for (int i = 0; i < TEIR_ROLES; i++) {
    const struct json *list = json_member(axes, role_name[i]);
    if (list && i == TEIR_K && p->op != TEIR_CONTRACTION)
      return diag_error(r->d, list->at, "%s has no list K",
                        teir_op_name(p->op));
    if (list && !read_list(r, list, TEIR_KIND_AXIS, &p->role[i]))
      return false;
    if (!list && (i != TEIR_K || p->op == TEIR_CONTRACTION))
      p->role[i].count = -1; /* for the verifier */
  }
  return true;
}

static bool read_operands(struct reader *r, const struct json *o,
                          struct teir_primitive *p) {
  const struct json *inputs = json_member(o, "inputs");
  const struct json *output = json_member(o, "output");
  int tensor;
  if (!inputs && !output)
    return true;
  if (inputs && !output)
    return needed(r, o, "output");
  if (inputs && !read_list(r, inputs, TEIR_KIND_TENSOR, &p->operand))
    return false;
  if (!read_known(r, output, TEIR_KIND_TENSOR, &tensor))
    return false;
  teir_list_add(r->a, &p->operand, tensor);
  return true;
}

static bool read_expression(struct reader *r, const struct json *o,
                            struct teir_primitive *p) {
  const struct json *v = json_member(o, "expression");
  if (!v)
    return true; /* the verifier says who needs one */
  if (v->kind != JSON_STRING)
    return wrong(r, v, "a string");
  const char *name[CALC_INPUTS];
  enum dtype type[CALC_INPUTS];
  int inputs = p->operand.count ? p->operand.count - 1 : 0;
  if (inputs > CALC_INPUTS)
    return diag_error(r->d, p->at, "primitive %s has %d inputs; a Map has %d",
                      p->id, inputs, CALC_INPUTS);
  for (int i = 0; i < inputs; i++) {
    name[i] = r->t->tensor[p->operand.item[i]].id;
    type[i] = r->t->tensor[p->operand.item[i]].type;
  }
  struct diag why = {0};
  struct scan s = scan_open(NULL, v->text);
  p->expr = calc_parse(r->a, &s, name, type, inputs, &why);
  if (p->expr && !scan_end(&s))
    scan_expected(&s, &why, "the end of the expression");
  return why.kind == DIAG_NONE || diag_error(r->d, v->at, "%s", why.text);
}

static bool read_metadata(struct reader *r, const struct json *o,
                          int primitive) {
  const struct json *metadata = json_member(o, "metadata");
  if (!metadata)
    return true;
  if (metadata->kind != JSON_OBJECT)
    return wrong(r, metadata, "an object");
  for (const struct json *v = metadata->item; v; v = v->next) {
    const char *value = v->kind == JSON_TRUE    ? "true"
                        : v->kind == JSON_FALSE ? "false"
                                                : v->text;
    if (!value)
      return wrong(r, v, "a string, a number, true or false");
    teir_add_property(r->a, r->t, primitive, v->key, value);
  }
  return true;
}

static bool read_primitive(struct reader *r, const struct json *o, int i) {
  struct teir_primitive *p = &r->t->primitive[i];
  return read_operation(r, o, &p->op) && read_roles(r, o, p) &&
         read_operands(r, o, p) && read_expression(r, o, p) &&
         read_metadata(r, o, i);
}

static bool read_guard(struct reader *r, const struct json *guard,
                       struct teir_node *n) {
  if (!guard || guard->kind == JSON_NULL)
    return true;
  if (guard->kind != JSON_LIST)
    return wrong(r, guard, "a list or null");
  for (const struct json *v = guard->item; v; v = v->next) {
    if (!known_keys(r, v, "a term of a guard", KEYS("first", "last")))
      return false;
    if (v->count != 1)
      return diag_error(r->d, v->at,
                        "a term of a guard is {\"first\": ..} or {\"last\": "
                        "..}; this one has %d keys",
                        v->count);
    struct teir_guard_term term = {.last = strcmp(v->item->key, "last") == 0};
    if (!read_known(r, v->item, TEIR_KIND_AXIS, &term.axis))
      return false;
    teir_add_guard(r->a, n, term);
  }
  return true;
}

static bool read_iteration(struct reader *r, const struct json *o,
                           struct teir_node *n) {
  const struct json *axis = needed(r, o, "axis");
  const struct json *policy = axis ? needed(r, o, "policy") : NULL;
  const struct json *children = policy ? needed(r, o, "children") : NULL;
  const struct json *place = json_member(o, "place");
  int choice = 0, where = TEIR_ANYWHERE;
  if (!children || !read_known(r, axis, TEIR_KIND_AXIS, &n->axis) ||
      !read_choice(r, policy, policy_name, POLICIES, &choice) ||
      (place && !read_choice(r, place, place_name, PLACES, &where)) ||
      !read_list(r, children, TEIR_KIND_NODE, &n->children))
    return false;
  n->policy = (enum teir_policy)choice;
  n->place = (enum teir_place)where;
  return true;
}

static bool read_node(struct reader *r, const struct json *o, int i) {
  assert(i < r->t->node_count);
  struct teir_node *n = &r->t->node[i];
  if (!read_guard(r, json_member(o, "guard"), n))
    return false;
  if (n->kind == TEIR_ITERATION)
    return read_iteration(r, o, n);
  return read_known(r, json_member(o, "primitive"), TEIR_KIND_PRIMITIVE,
                    &n->primitive);
}

static bool read_limit(struct reader *r, const struct json *o, int i) {
  const struct json *sign = needed(r, o, "sign");
  const struct json *start = sign ? needed(r, o, "start") : NULL;
  int below;
  (void)i;
  if (!start || !read_choice(r, sign, sign_name, SIGNS, &below))
    return false;
  struct affine_guard *l = teir_add_limit(r->a, r->t, below);
  l->at = o->at;
  return read_size(r, start, &l->start) &&
         read_sizes(r, json_member(o, "along"), TEIR_KIND_AXIS, l->step);
}

static bool read_roots(struct reader *r, const struct json *root) {
  const struct json *roots = needed(r, root, "roots");
  return roots && read_list(r, roots, TEIR_KIND_NODE, &r->t->roots);
}

static bool read_all(struct reader *r, const struct json *root) {
  static const struct {
    const char *key;
    bool needed;
    bool (*define)(struct reader *, const struct json *);
    bool (*read)(struct reader *, const struct json *, int);
  } part[] = {{"symbols", false, define_symbol, read_nothing},
              {"tensors", true, define_tensor, read_nothing},
              {"axes", true, define_axis, read_axis},
              {"primitives", true, define_primitive, read_primitive},
              {"nodes", true, define_node, read_node},
              {"limits", false, define_nothing, read_limit}};
  enum { PARTS = sizeof part / sizeof *part };
  const struct json *list[PARTS];
  for (int i = 0; i < PARTS; i++) {
    list[i] = part[i].needed ? needed(r, root, part[i].key)
                             : json_member(root, part[i].key);
    if (!list[i] && part[i].needed)
      return false;
    if (list[i] && list[i]->kind != JSON_LIST)
      return wrong(r, list[i], "a list");
    for (const struct json *v = list[i] ? list[i]->item : NULL; v; v = v->next)
      if (!part[i].define(r, v))
        return false;
  }
  r->names = teir_names(r->a, r->t);
  for (int i = 0; i < PARTS; i++) {
    int number = 0;
    for (const struct json *v = list[i] ? list[i]->item : NULL; v; v = v->next)
      if (!part[i].read(r, v, number++))
        return false;
  }
  return read_roots(r, root);
}

static bool check_version(struct reader *r, const struct json *root) {
  int64_t version;
  if (!known_keys(r, root, "a program",
                  KEYS("teir", "symbols", "tensors", "axes", "primitives",
                       "roots", "nodes", "limits")))
    return false;
  const struct json *v = needed(r, root, "teir");
  if (!v || (v->kind != JSON_NUMBER && !wrong(r, v, "a number")) ||
      !read_number(r, v, &version))
    return false;
  return version == 1 ||
         diag_error(r->d, v->at, "version %s; this is 1", v->text);
}

struct teir *teir_json_parse(struct arena *a, const char *file,
                             const char *text, struct diag *d) {
  const char *name = file ? arena_string(a, file) : NULL;
  struct reader r = {.a = a, .d = d, .t = teir_empty(a, name)};
  const struct json *root = json_parse(a, name, text, d);
  if (!root || !check_version(&r, root) || !read_all(&r, root) ||
      !teir_verify(r.t, d))
    return NULL;
  return r.t;
}
