/* dump.c -- draws a schedule: as a tree of text, as the specification's
 * listings do, or as a graph for Graphviz. */
#include "teir_build.h"
#include "teir_dump.h"

#include <assert.h>
#include <string.h>

static void print_guard(const struct teir *t, const struct teir_node *n,
                        struct text *to) {
  for (int i = 0; i < n->guard_count; i++) {
    text_printf(to, "%s%s(", i ? ", " : "  [",
                n->guard[i].last ? "last" : "first");
    teir_print_id(t->axis[n->guard[i].axis].id, to);
    text_puts(to, i == n->guard_count - 1 ? ")]" : ")");
  }
}

static void print_label(const struct teir *t, const struct teir_node *n,
                        struct text *to) {
  assert(n->place <= TEIR_TIME);
  static const char *const place[] = {"", "rows", "columns", "time"};
  teir_print_id(n->id, to);
  bool parallel = n->kind == TEIR_ITERATION && n->policy == TEIR_PARALLEL;
  bool placed = n->kind == TEIR_ITERATION && n->place != TEIR_ANYWHERE;
  if (parallel || placed)
    text_printf(to, "  (%s%s%s)", parallel ? "parallel" : "",
                parallel && placed ? ", " : "", place[placed ? n->place : 0]);
  print_guard(t, n, to);
}

/* `lead` is what stands before the branches of this level. */
static void print_branches(const struct teir *t, struct teir_list list,
                           struct text *lead, struct text *to) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    bool last = i == list.count - 1;
    text_printf(to, "%s%s", text_string(lead), last ? "└── " : "├── ");
    print_label(t, n, to);
    text_puts(to, "\n");
    size_t length = lead->length;
    text_puts(lead, last ? "    " : "│   ");
    print_branches(t, n->children, lead, to);
    lead->length = length;
    lead->data[length] = 0;
  }
}

void teir_print_tree(const struct teir *t, struct text *to) {
  struct text lead = {0};
  for (int i = 0; i < t->roots.count; i++) {
    const struct teir_node *n = &t->node[t->roots.item[i]];
    print_label(t, n, to);
    text_puts(to, "\n");
    print_branches(t, n->children, &lead, to);
  }
  text_free(&lead);
}

/* One node's label, and what Graphviz's strings want before " and \. */
static void print_dot_label(const struct teir *t, const struct teir_node *n,
                            struct text *to) {
  struct text label = {0};
  print_label(t, n, &label);
  text_puts(&label, "\n");
  if (n->kind == TEIR_INVOCATION) {
    const struct teir_primitive *p = &t->primitive[n->primitive];
    text_printf(&label, "%s ", teir_op_name(p->op));
    teir_print_id(p->id, &label);
    if (p->op == TEIR_MAP) {
      text_puts(&label, "\n");
      teir_print_expression(t, p, &label);
    }
  } else {
    teir_print_id(t->axis[n->axis].id, &label);
    text_puts(&label, ": ");
    teir_print_size(t, t->axis[n->axis].extent, &label);
  }
  for (const char *c = text_string(&label); *c; c++)
    if (*c == '\n')
      text_puts(to, "\\n");
    else
      text_printf(to, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
  text_free(&label);
}

void teir_print_dot(const struct teir *t, struct text *to) {
  text_puts(to, "digraph teir {\n  node [fontname=\"sans-serif\"];\n");
  for (int i = 0; i < t->node_count; i++) {
    const struct teir_node *n = &t->node[i];
    text_printf(to, "  n%d [label=\"", i);
    print_dot_label(t, n, to);
    if (n->kind == TEIR_INVOCATION)
      text_puts(to, "\", shape=box];\n");
    else
      text_printf(to, "\", shape=ellipse%s];\n",
                  n->policy == TEIR_PARALLEL ? ", style=filled" : "");
  }
  for (int i = 0; i < t->node_count; i++)
    for (int c = 0; c < t->node[i].children.count; c++)
      text_printf(to, "  n%d -> n%d [label=\"%d\"];\n", i,
                  t->node[i].children.item[c], c + 1);
  text_puts(to, "}\n");
}
