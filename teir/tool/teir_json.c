/* teir_json.c -- TEIR to JSON and back, by libjansson.  Reading goes through
 * the text form, so that there is one parser for what a program means. */
#include "teir_json.h"
#include "teir_build.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

static const char *const role_name[] = {"M", "N", "K"};
static const char *const place_name[] = {"anywhere", "rows", "columns", "time"};

/* ---- writing ---- */
static json_t *size_of(const struct teir *t, struct value s) {
  return s.symbol < 0 ? json_integer(s.constant)
                      : json_string(t->symbol[s.symbol]);
}

static json_t *sizes_of(const struct teir *t, const struct value *size) {
  json_t *o = json_object();
  for (int i = 0; i < t->tensor_count; i++)
    if (size[i].symbol >= 0 || size[i].constant != 0)
      json_object_set_new(o, t->tensor[i].id, size_of(t, size[i]));
  return o;
}

static json_t *axis_of(const struct teir *t, const struct teir_axis *x) {
  return json_pack("{s:s, s:o, s:o, s:o}", "id", x->id, "extent",
                   size_of(t, x->extent), "strides",
                   sizes_of(t, x->stride_bytes), "offsets",
                   sizes_of(t, x->offset_bytes));
}

static json_t *primitive_of(const struct teir *t,
                            const struct teir_primitive *p) {
  json_t *o =
      json_pack("{s:s, s:s}", "id", p->id, "operation", teir_op_name(p->op));
  json_t *axes = json_object(), *metadata = json_object();
  for (int r = 0; r < (p->op == TEIR_CONTRACTION ? TEIR_ROLES : TEIR_K); r++) {
    json_t *list = json_array();
    for (int i = 0; i < p->role[r].count; i++)
      json_array_append_new(list, json_string(t->axis[p->role[r].item[i]].id));
    json_object_set_new(axes, role_name[r], list);
  }
  json_object_set_new(o, "axes", axes);
  if (p->operand.count > 0) {
    int inputs = p->operand.count - 1;
    json_t *list = json_array();
    for (int i = 0; i < inputs; i++)
      json_array_append_new(list,
                            json_string(t->tensor[p->operand.item[i]].id));
    json_object_set_new(o, "inputs", list);
    json_object_set_new(o, "output",
                        json_string(t->tensor[p->operand.item[inputs]].id));
  }
  if (p->op == TEIR_MAP) {
    struct text expression = {0};
    teir_print_expression(t, p, &expression);
    json_object_set_new(o, "expression", json_string(text_string(&expression)));
    text_free(&expression);
  }
  for (int i = 0; i < p->property_count; i++)
    json_object_set_new(metadata, p->property[i].key,
                        json_string(p->property[i].value));
  json_object_set_new(o, "metadata", metadata);
  return o;
}

static json_t *nodes_of(const struct teir *t, struct teir_list l) {
  json_t *list = json_array();
  for (int i = 0; i < l.count; i++)
    json_array_append_new(list, json_string(t->node[l.item[i]].id));
  return list;
}

static json_t *node_of(const struct teir *t, const struct teir_node *n) {
  json_t *o = json_object(), *guard = json_array();
  json_object_set_new(o, "id", json_string(n->id));
  if (n->kind == TEIR_INVOCATION) {
    json_object_set_new(o, "primitive",
                        json_string(t->primitive[n->primitive].id));
  } else {
    json_object_set_new(o, "axis", json_string(t->axis[n->axis].id));
    json_object_set_new(
        o, "policy",
        json_string(n->policy == TEIR_PARALLEL ? "parallel" : "sequential"));
    json_object_set_new(o, "place", json_string(place_name[n->place]));
    json_object_set_new(o, "children", nodes_of(t, n->children));
  }
  for (int i = 0; i < n->guard_count; i++)
    json_array_append_new(guard, json_pack("{s:s}",
                                           n->guard[i].last ? "last" : "first",
                                           t->axis[n->guard[i].axis].id));
  json_object_set_new(o, "guard", guard);
  return o;
}

void teir_json_print(const struct teir *t, struct text *to) {
  json_t *symbols = json_array(), *tensors = json_array(), *axes = json_array();
  json_t *primitives = json_array(), *nodes = json_array();
  for (int i = 0; i < t->symbol_count; i++)
    json_array_append_new(symbols, json_string(t->symbol[i]));
  for (int i = 0; i < t->tensor_count; i++)
    json_array_append_new(tensors,
                          json_pack("{s:s, s:s}", "id", t->tensor[i].id, "type",
                                    dtype_name(t->tensor[i].type)));
  for (int i = 0; i < t->axis_count; i++)
    json_array_append_new(axes, axis_of(t, &t->axis[i]));
  for (int i = 0; i < t->primitive_count; i++)
    json_array_append_new(primitives, primitive_of(t, &t->primitive[i]));
  for (int i = 0; i < t->node_count; i++)
    json_array_append_new(nodes, node_of(t, &t->node[i]));
  json_t *root =
      json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "teir", 1, "symbols",
                symbols, "tensors", tensors, "axes", axes, "primitives",
                primitives, "roots", nodes_of(t, t->roots), "nodes", nodes);
  char *s = json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
  text_puts(to, s ? s : "");
  text_puts(to, "\n");
  free(s);
  json_decref(root);
}

/* ---- reading: JSON to the text form ---- */
struct json_reader {
  struct text text;
  struct loc at;
  struct diag *d;
};

static bool fail(struct json_reader *r, const char *what, const char *key) {
  return diag_error(r->d, r->at, "%s '%s' is missing or of a wrong kind", what,
                    key);
}

/* A string of letters, digits and the characters `others`. */
static bool add_text(struct json_reader *r, const json_t *v, const char *others,
                     const char *what) {
  const char *s = json_string_value(v);
  if (!s || !*s || strlen(s) != json_string_length(v))
    return fail(r, "the name", what);
  for (const char *c = s; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr(others, *c))
      return diag_error(r->d, r->at, "'%s' is no identifier or value", s);
  text_puts(&r->text, s);
  return true;
}

/* A string that the text form can hold as one word. */
static bool add_word(struct json_reader *r, const json_t *v, const char *what) {
  return add_text(r, v, "_.$+-", what);
}

static bool add_string(struct json_reader *r, const json_t *o,
                       const char *key) {
  return add_word(r, json_object_get(o, key), key);
}

static bool add_size(struct json_reader *r, const json_t *v, const char *key) {
  if (json_is_string(v))
    return add_word(r, v, key);
  if (!json_is_integer(v))
    return fail(r, "the size", key);
  text_printf(&r->text, "%lld", (long long)json_integer_value(v));
  return true;
}

static bool add_names(struct json_reader *r, const json_t *list,
                      const char *key) {
  if (!json_is_array(list))
    return fail(r, "the list", key);
  for (size_t i = 0; i < json_array_size(list); i++) {
    text_puts(&r->text, i ? ", " : " ");
    if (!add_word(r, json_array_get(list, i), key))
      return false;
  }
  return true;
}

/* {"a": 1, "b": "n"} as " word a=1 b=n"; nothing for none. */
static bool add_pairs(struct json_reader *r, json_t *o, const char *word,
                      bool size) {
  const char *key;
  json_t *v;
  if (!o)
    return true;
  if (!json_is_object(o))
    return fail(r, "the object", word);
  if (json_object_size(o) > 0)
    text_printf(&r->text, " %s", word);
  json_object_foreach(o, key, v) {
    json_t *name = json_string(key);
    text_puts(&r->text, " ");
    bool good = add_word(r, name, word);
    json_decref(name);
    if (!good)
      return false;
    text_puts(&r->text, "=");
    if (!(size ? add_size(r, v, key) : add_word(r, v, key)))
      return false;
  }
  return true;
}

static bool read_symbol(struct json_reader *r, json_t *o) {
  text_puts(&r->text, "symbol ");
  return add_word(r, o, "symbols");
}

static bool read_tensor(struct json_reader *r, json_t *o) {
  text_puts(&r->text, "tensor ");
  if (!add_string(r, o, "id"))
    return false;
  text_puts(&r->text, " ");
  return add_string(r, o, "type");
}

static bool read_axis(struct json_reader *r, json_t *o) {
  text_puts(&r->text, "axis ");
  if (!add_string(r, o, "id"))
    return false;
  text_puts(&r->text, " extent ");
  return add_size(r, json_object_get(o, "extent"), "extent") &&
         add_pairs(r, json_object_get(o, "strides"), "stride", true) &&
         add_pairs(r, json_object_get(o, "offsets"), "offset", true);
}

static bool read_primitive(struct json_reader *r, json_t *o) {
  json_t *axes = json_object_get(o, "axes");
  text_puts(&r->text, "primitive ");
  if (!add_string(r, o, "id"))
    return false;
  text_puts(&r->text, " ");
  if (!add_string(r, o, "operation"))
    return false;
  for (int i = 0; i < TEIR_ROLES; i++) {
    const json_t *list = json_object_get(axes, role_name[i]);
    if (!list)
      continue; /* the verifier says which are needed */
    text_printf(&r->text, " %s=[", role_name[i]);
    if (!add_names(r, list, role_name[i]))
      return false;
    text_puts(&r->text, "]");
  }
  const json_t *inputs = json_object_get(o, "inputs");
  if (json_array_size(inputs) > 0) {
    text_puts(&r->text, " from");
    if (!add_names(r, inputs, "inputs"))
      return false;
  }
  if (json_object_get(o, "output")) {
    text_puts(&r->text, " to ");
    if (!add_string(r, o, "output"))
      return false;
  }
  const json_t *expression = json_object_get(o, "expression");
  if (expression) {
    text_puts(&r->text, " expr ");
    if (!add_text(r, expression, "_.$+-:,() ", "expression"))
      return false;
  }
  return add_pairs(r, json_object_get(o, "metadata"), "with", false);
}

static bool add_guard(struct json_reader *r, const json_t *guard) {
  if (guard && !json_is_array(guard))
    return fail(r, "the list", "guard");
  for (size_t i = 0; i < json_array_size(guard); i++) {
    const json_t *term = json_array_get(guard, i);
    const char *word = json_object_get(term, "last") ? "last" : "first";
    text_printf(&r->text, " %s %s(", i ? "and" : "when", word);
    if (!add_string(r, term, word))
      return false;
    text_puts(&r->text, ")");
  }
  return true;
}

static bool read_node(struct json_reader *r, json_t *o) {
  bool call = json_object_get(o, "primitive");
  text_puts(&r->text, call ? "invoke " : "iterate ");
  if (!add_string(r, o, "id"))
    return false;
  text_puts(&r->text, call ? " calls " : " over ");
  if (!add_string(r, o, call ? "primitive" : "axis"))
    return false;
  if (call)
    return add_guard(r, json_object_get(o, "guard"));
  text_puts(&r->text, " ");
  if (!add_string(r, o, "policy"))
    return false;
  if (json_object_get(o, "place")) {
    text_puts(&r->text, " on ");
    if (!add_string(r, o, "place"))
      return false;
  }
  if (!add_guard(r, json_object_get(o, "guard")))
    return false;
  text_puts(&r->text, " do");
  return add_names(r, json_object_get(o, "children"), "children");
}

static bool read_all(struct json_reader *r, json_t *root) {
  static const struct {
    const char *key;
    bool (*read)(struct json_reader *, json_t *);
  } part[] = {{"symbols", read_symbol},
              {"tensors", read_tensor},
              {"axes", read_axis},
              {"primitives", read_primitive},
              {"nodes", read_node}};
  json_t *version = json_object_get(root, "teir");
  if (!json_is_integer(version) || json_integer_value(version) != 1)
    return fail(r, "the number", "teir");
  text_puts(&r->text, "teir 1\n");
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    const json_t *list = json_object_get(root, part[i].key);
    if (!json_is_array(list) && (list || i > 0))
      return fail(r, "the list", part[i].key);
    for (size_t j = 0; j < json_array_size(list); j++) {
      if (!part[i].read(r, json_array_get(list, j)))
        return false;
      text_puts(&r->text, "\n");
    }
  }
  text_puts(&r->text, "roots");
  return add_names(r, json_object_get(root, "roots"), "roots");
}

struct teir *teir_json_parse(struct arena *a, const char *file,
                             const char *text, struct diag *d) {
  json_error_t error;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!root) {
    diag_error(d, (struct loc){file, error.line, error.column}, "%s",
               error.text);
    return NULL;
  }
  struct json_reader r = {.at = {file, 0, 0}, .d = d};
  struct teir *t = NULL;
  struct diag inner = {0};
  if (read_all(&r, root)) {
    t = teir_parse(a, NULL, text_string(&r.text), &inner);
    if (!t)
      diag_error(d, r.at, "%s", inner.text);
  }
  for (int i = 0; t && i < t->axis_count; i++)
    t->axis[i].at = r.at;
  for (int i = 0; t && i < t->primitive_count; i++)
    t->primitive[i].at = r.at;
  for (int i = 0; t && i < t->node_count; i++)
    t->node[i].at = r.at;
  text_free(&r.text);
  json_decref(root);
  return t;
}
