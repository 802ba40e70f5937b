/* teir_print.c -- writes the text form that teir_text.c reads. */
#include "calc.h"
#include "teir_build.h"

#include <assert.h>
#include <ctype.h>

static const char *const role_name[TEIR_ROLES] = {"M", "N", "K"};
static const char *const policy_name[] = {"sequential", "parallel"};
static const char *const place_name[] = {"anywhere", "rows", "columns", "time"};

bool teir_is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

bool teir_is_value(char c) { return teir_is_word(c) || c == '-' || c == '+'; }

static void print_word(const char *s, bool plain(char), struct text *to) {
  assert(s);
  const char *end = s;
  while (plain(*end))
    end++;
  if (end != s && *end == 0)
    text_puts(to, s);
  else
    text_quote(to, s);
}

void teir_print_id(const char *id, struct text *to) {
  print_word(id, teir_is_word, to);
}

/* A symbol that starts as a number does is quoted, too. */
static void print_symbol(const char *id, struct text *to) {
  if (scan_is_name(id))
    text_puts(to, id);
  else
    text_quote(to, id);
}

/* `before`, then the identifier. */
static void put(const char *before, const char *id, struct text *to) {
  text_puts(to, before);
  teir_print_id(id, to);
}

void teir_print_size(const struct teir *t, struct value s, struct text *to) {
  assert(s.symbol < t->symbol_count);
  if (s.symbol >= 0)
    print_symbol(t->symbol[s.symbol], to);
  else
    text_printf(to, "%lld", (long long)s.constant);
}

static void print_sizes(const struct teir *t, const char *word,
                        const struct value *size, struct text *to) {
  for (int i = 0; i < t->tensor_count; i++) {
    if (size[i].symbol < 0 && size[i].constant == 0)
      continue;
    if (word)
      text_puts(to, word);
    word = NULL;
    put(" ", t->tensor[i].id, to);
    text_puts(to, "=");
    teir_print_size(t, size[i], to);
  }
}

static void print_axis(const struct teir *t, const struct teir_axis *x,
                       struct text *to) {
  put("axis ", x->id, to);
  text_puts(to, " extent ");
  teir_print_size(t, x->extent, to);
  print_sizes(t, " stride", x->stride_bytes, to);
  print_sizes(t, " offset", x->offset_bytes, to);
  text_puts(to, "\n");
}

void teir_print_expression(const struct teir *t, const struct teir_primitive *p,
                           struct text *to) {
  const char *name[CALC_INPUTS];
  assert(p->op == TEIR_MAP && p->operand.count <= CALC_INPUTS + 1);
  for (int i = 0; i < p->operand.count - 1; i++)
    name[i] = t->tensor[p->operand.item[i]].id;
  calc_print(p->expr, name, to);
}

static void print_primitive(const struct teir *t,
                            const struct teir_primitive *p, struct text *to) {
  put("primitive ", p->id, to);
  text_printf(to, " %s", teir_op_name(p->op));
  for (int r = 0; r < (p->op == TEIR_CONTRACTION ? TEIR_ROLES : TEIR_K); r++) {
    text_printf(to, " %s=[", role_name[r]);
    for (int i = 0; i < p->role[r].count; i++)
      put(i ? ", " : "", t->axis[p->role[r].item[i]].id, to);
    text_puts(to, "]");
  }
  for (int i = 0; i < p->operand.count; i++)
    put(i == p->operand.count - 1 ? " to "
        : i                       ? ", "
                                  : " from ",
        t->tensor[p->operand.item[i]].id, to);
  if (p->op == TEIR_MAP) {
    text_puts(to, " expr ");
    teir_print_expression(t, p, to);
  }
  for (int i = 0; i < p->property_count; i++) {
    put(i ? " " : " with ", p->property[i].key, to);
    text_puts(to, "=");
    print_word(p->property[i].value, teir_is_value, to);
  }
  text_puts(to, "\n");
}

static void print_nodes(const struct teir *t, struct teir_list list,
                        struct text *to) {
  for (int i = 0; i < list.count; i++)
    put(i ? ", " : " ", t->node[list.item[i]].id, to);
  text_puts(to, "\n");
}

static void print_node(const struct teir *t, const struct teir_node *n,
                       struct text *to) {
  if (n->kind == TEIR_INVOCATION) {
    put("invoke ", n->id, to);
    put(" calls ", t->primitive[n->primitive].id, to);
  } else {
    put("iterate ", n->id, to);
    put(" over ", t->axis[n->axis].id, to);
    text_printf(to, " %s", policy_name[n->policy]);
    if (n->place != TEIR_ANYWHERE)
      text_printf(to, " on %s", place_name[n->place]);
  }
  for (int i = 0; i < n->guard_count; i++) {
    text_puts(to, i ? " and " : " when ");
    put(n->guard[i].last ? "last(" : "first(", t->axis[n->guard[i].axis].id,
        to);
    text_puts(to, ")");
  }
  if (n->kind == TEIR_ITERATION) {
    text_puts(to, " do");
    print_nodes(t, n->children, to);
  } else {
    text_puts(to, "\n");
  }
}

static void print_limit(const struct teir *t, const struct affine_guard *l,
                        struct text *to) {
  text_printf(to, "limit %s ", l->below ? "negative" : "nonnegative");
  teir_print_size(t, l->start, to);
  bool first = true;
  for (int i = 0; i < t->axis_count; i++) {
    if (l->step[i].symbol < 0 && l->step[i].constant == 0)
      continue;
    put(first ? " along " : " ", t->axis[i].id, to);
    text_puts(to, "=");
    teir_print_size(t, l->step[i], to);
    first = false;
  }
  text_puts(to, "\n");
}

void teir_print(const struct teir *t, struct text *to) {
  text_puts(to, "teir 1\n");
  for (int i = 0; i < t->symbol_count; i++) {
    text_puts(to, "symbol ");
    print_symbol(t->symbol[i], to);
    text_puts(to, "\n");
  }
  for (int i = 0; i < t->tensor_count; i++) {
    put("tensor ", t->tensor[i].id, to);
    text_printf(to, " %s\n", dtype_name(t->tensor[i].type));
  }
  for (int i = 0; i < t->axis_count; i++)
    print_axis(t, &t->axis[i], to);
  for (int i = 0; i < t->primitive_count; i++)
    print_primitive(t, &t->primitive[i], to);
  text_puts(to, "roots");
  print_nodes(t, t->roots, to);
  for (int i = 0; i < t->node_count; i++)
    print_node(t, &t->node[i], to);
  for (int i = 0; i < t->limit_count; i++)
    print_limit(t, &t->limit[i], to);
}
