/* report_page.c -- the page of `nputeir report`: a table of all nests, the most
 * gain first, then every source with its nests coloured and what is known of
 * each beside it.  HTML without scripts and without anything from elsewhere.
 *
 * Lines that several nests share (of templates, of loops around each other)
 * are shown once, with all of them beside. */
#include "report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct page {
  struct arena *arena;
  const struct findings *all;
  struct report_plan *const *plan;
  const struct preset *at;
  int *order; /* nests, by file and line */
  struct text *out;
};

/* ---- words ---- */

static void put_escaped(struct text *t, const char *s, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '<' || c == '>' || c == '&' || c == '"')
      text_printf(t, "&#%d;", c);
    else if (c >= ' ' || c == '\t' || c == '\n')
      text_append(t, &s[i], 1);
  }
}

static void put(struct text *t, const char *s) { put_escaped(t, s, strlen(s)); }

static void put_seconds(struct text *t, double s) {
  if (s < 1e-3)
    text_printf(t, "%.0f µs", s * 1e6);
  else if (s < 1)
    text_printf(t, "%.3g ms", s * 1e3);
  else
    text_printf(t, "%.3g s", s);
}

enum state { TAKEN, PROCESSOR, DECLINED };
static enum state state_of(const struct finding *f) {
  return !f->taken                                               ? DECLINED
         : f->by && strcmp(f->by, "code for the processor") == 0 ? PROCESSOR
                                                                 : TAKEN;
}
static const char *const state_class[] = {"taken", "processor", "declined"};
static const char *const state_word[] = {"taken", "processor code", "declined"};

static double gain_of(const struct page *p, int nest) {
  const struct report_plan *plan = p->plan[nest];
  return plan && !plan->why ? plan->loop_seconds - plan->seconds : 0;
}

/* ---- the table ---- */

/* qsort has no context. */
struct rank {
  int nest, declined, depth;
  double gain;
};

static int compare_ranks(const void *a, const void *b) {
  const struct rank *x = a, *y = b;
  if (x->declined != y->declined)
    return x->declined - y->declined;
  if (x->gain != y->gain)
    return x->gain < y->gain ? 1 : -1;
  if (x->depth != y->depth)
    return y->depth - x->depth;
  return x->nest - y->nest;
}

static void put_row(struct page *p, int nest) {
  const struct finding *f = &p->all->item[nest];
  const struct report_plan *plan = p->plan[nest];
  enum state s = state_of(f);
  struct text *t = p->out;
  text_printf(t, "<tr class=\"%s\"><td>%s</td><td><a href=\"#nest%d\">",
              state_class[s], state_word[s], nest + 1);
  put(t, f->file);
  text_printf(t, ":%d</a></td><td>", f->line);
  put(t, f->function);
  text_puts(t, "</td><td>");
  put(t, f->taken ? f->einsum : f->rule);
  text_puts(t, "</td><td>");
  put(t, f->taken ? f->sizes : f->reason);
  text_puts(t, "</td>");
  if (plan && !plan->why) {
    text_puts(t, "<td class=\"n\">");
    put_seconds(t, plan->loop_seconds);
    text_puts(t, "</td><td class=\"n\">");
    put_seconds(t, plan->seconds);
    double gain = plan->loop_seconds / plan->seconds;
    text_printf(t, "</td><td class=\"n\">%.*f ×</td></tr>\n", gain < 10 ? 2 : 0,
                gain);
  } else {
    text_puts(t, "<td></td><td></td><td></td></tr>\n");
  }
}

static void put_table(struct page *p) {
  int n = p->all->count;
  struct text *t = p->out;
  struct rank *rank = arena_array(p->arena, (size_t)n + 1, sizeof *rank);
  for (int i = 0; i < n; i++)
    rank[i] = (struct rank){i, !p->all->item[i].taken, p->all->item[i].depth,
                            gain_of(p, i)};
  qsort(rank, (size_t)n, sizeof *rank, compare_ranks);
  text_printf(t,
              "<table id=\"nests\">\n<tr><th>verdict</th><th>place</th>"
              "<th>function</th><th>einsum or rule</th><th>sizes or "
              "reason</th><th>loop</th><th>%s</th><th>gain</th></tr>\n",
              p->at->name);
  for (int i = 0; i < n; i++)
    put_row(p, rank[i].nest);
  text_puts(t, "</table>\n");
}

/* ---- beside the source ---- */

static void put_axes(const struct report_plan *plan, struct text *t) {
  text_puts(t, "<table class=\"axes\"><tr><th>axis</th><th>extent</th></tr>\n");
  for (int i = 0; i < plan->axis_count; i++) {
    text_printf(t, "<tr><td>%c</td><td>", plan->axis[i].letter);
    if (plan->axis[i].size) {
      put(t, plan->axis[i].size);
      text_puts(t, ", here ");
    }
    text_printf(t, "%lld</td></tr>\n", (long long)plan->axis[i].extent);
  }
  text_puts(t, "</table>\n");
}

static void put_times(const struct report_plan *plan, struct text *t) {
  text_puts(t, "<table class=\"times\"><tr><th>predicted</th><th>time</th>"
               "</tr>\n<tr><td>loop as written</td><td class=\"n\">");
  put_seconds(t, plan->loop_seconds);
  text_puts(t, "</td></tr>\n");
  for (int i = 0; i < plan->platform_count; i++) {
    text_printf(t, "<tr><td>%s, %s</td><td class=\"n\">",
                plan->platform[i].preset->device,
                plan->platform[i].preset->name);
    put_seconds(t, plan->platform[i].seconds);
    text_puts(t, "</td></tr>\n");
  }
  text_puts(t, "</table>\n");
}

static void put_folded(const char *title, const char *body, struct text *t) {
  text_printf(t, "<details><summary>%s</summary><pre>", title);
  put(t, body);
  text_puts(t, "</pre></details>\n");
}

static void put_taken(const struct finding *f, const struct report_plan *plan,
                      struct text *t) {
  text_puts(t, "<p class=\"einsum\">");
  put(t, f->einsum);
  text_puts(t, "</p>\n");
  put_axes(plan, t);
  if (plan->why) {
    text_puts(t, "<p>No schedule for the array: ");
    put(t, plan->why);
    text_puts(t, "</p>\n");
  } else {
    put_times(plan, t);
    text_puts(t, plan->cores);
    text_puts(t, "<p><code>nputeir sim ");
    put(t, plan->command);
    text_puts(t, "</code></p>\n");
    put_folded("schedule", plan->tree, t);
  }
  put_folded("contraction", f->contraction, t);
  if (f->teir)
    put_folded("TEIR in the object", f->teir, t);
}

static void put_declined(const struct finding *f, struct text *t) {
  text_printf(t, "<p class=\"rule\">%s</p>\n<p>", f->rule);
  put(t, f->reason);
  if (f->reason_file) {
    text_puts(t, " (");
    put(t, f->reason_file);
    text_printf(t, ":%d)", f->reason_line);
  } else if (f->reason_line) {
    text_printf(t, " (line %d)", f->reason_line);
  }
  text_puts(t, "</p>\n<p class=\"advice\">");
  if (f->advice) {
    text_puts(t, "To have it taken: ");
    put(t, f->advice);
  } else {
    text_puts(t, "No change is known that would have it taken.");
  }
  text_puts(t, "</p>\n");
}

static void put_card(struct page *p, int nest) {
  const struct finding *f = &p->all->item[nest];
  enum state s = state_of(f);
  struct text *t = p->out;
  text_printf(t,
              "<div class=\"card %s\" id=\"nest%d\">\n<h3>%s: ", state_class[s],
              nest + 1, state_word[s]);
  put(t, f->what ? f->what : "nest");
  text_puts(t, " in ");
  put(t, f->function);
  if (f->line)
    text_printf(t, ", line %d", f->line);
  text_puts(t, "</h3>\n");
  if (f->taken)
    put_taken(f, p->plan[nest], t);
  else
    put_declined(f, t);
  text_puts(t, "</div>\n");
}

/* ---- sources ---- */

static const char *path_of(struct arena *a, const struct finding *f) {
  return f->folder && *f->file != '/'
             ? arena_printf(a, "%s/%s", f->folder, f->file)
             : f->file;
}

static int last_line(const struct finding *f) {
  return f->end_line > f->line ? f->end_line : f->line;
}

/* Lines first..last, numbered; `at` moves behind them. */
static void put_lines(struct text *t, const char **at, int first, int last,
                      const char *class) {
  text_printf(t, "<pre class=\"code %s\">", class);
  for (int line = first; line <= last && **at; line++) {
    size_t length = strcspn(*at, "\n");
    text_printf(t, "<b>%d</b> ", line);
    put_escaped(t, *at, length);
    text_puts(t, "\n");
    *at += length;
    *at += **at == '\n';
  }
  text_puts(t, "</pre>");
}

static int count_lines(const char *s) {
  int n = 0;
  for (; *s; n++) {
    s += strcspn(s, "\n");
    s += *s == '\n';
  }
  return n;
}

/* What a row of nests is coloured as: what most of it would be, were it all
 * taken; one that was declined shows. */
static enum state worst(const struct page *p, int from, int to) {
  enum state s = TAKEN;
  for (int i = from; i < to; i++) {
    enum state one = state_of(&p->all->item[p->order[i]]);
    s = one > s ? one : s;
  }
  return s;
}

static void put_source(struct page *p, int from, int to) {
  const struct finding *f = &p->all->item[p->order[from]];
  struct diag unread = {0};
  const char *text = file_read(p->arena, path_of(p->arena, f), NULL, &unread);
  struct text *t = p->out;
  int line = 1, lines = text ? count_lines(text) : 0, i = from;
  text_puts(t, "<h2>");
  put(t, f->file);
  text_puts(t, "</h2>\n<div class=\"source\">\n");
  if (!text) {
    text_puts(t, "<p class=\"note\">The source is not there any more: ");
    put(t, unread.text);
    text_puts(t, "</p>\n");
  }
  for (; i < to && !p->all->item[p->order[i]].line; i++)
    put_card(p, p->order[i]);
  while (i < to) {
    f = &p->all->item[p->order[i]];
    int last = last_line(f), end = i + 1;
    for (; end < to && p->all->item[p->order[end]].line <= last; end++)
      if (last_line(&p->all->item[p->order[end]]) > last)
        last = last_line(&p->all->item[p->order[end]]);
    if (f->line > line && text) {
      put_lines(t, &text, line, f->line - 1, "");
      text_puts(t, "<div></div>\n");
    }
    line = f->line;
    if (text)
      put_lines(t, &text, line, last, state_class[worst(p, i, end)]);
    else
      text_puts(t, "<div></div>");
    text_puts(t, "<div class=\"cards\">\n");
    for (; i < end; i++)
      put_card(p, p->order[i]);
    text_puts(t, "</div>\n");
    line = last + 1;
  }
  if (text && line <= lines) {
    put_lines(t, &text, line, lines, "");
    text_puts(t, "<div></div>\n");
  }
  text_puts(t, "</div>\n");
}

/* qsort has no context. */
struct place {
  const char *path;
  int line, nest;
};

static int compare_places(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  int path = strcmp(x->path, y->path);
  return path                 ? path
         : x->line != y->line ? x->line - y->line
                              : x->nest - y->nest;
}

static void put_sources(struct page *p) {
  int n = p->all->count;
  struct place *place = arena_array(p->arena, (size_t)n + 1, sizeof *place);
  p->order = arena_array(p->arena, (size_t)n + 1, sizeof *p->order);
  for (int i = 0; i < n; i++)
    place[i] = (struct place){path_of(p->arena, &p->all->item[i]),
                              p->all->item[i].line, i};
  qsort(place, (size_t)n, sizeof *place, compare_places);
  for (int i = 0; i < n; i++)
    p->order[i] = place[i].nest;
  for (int i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && strcmp(place[end].path, place[i].path) == 0;)
      end++;
    put_source(p, i, end);
  }
}

/* ---- all of it ---- */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<title>nputeir report</title>\n<style>\n"
    ":root { color-scheme: light dark; --line: #8886; --taken: #2e9d57;\n"
    "  --processor: #3b7dd8; --declined: #d9822b; }\n"
    "body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto;\n"
    "  padding: 1em 1.5em; max-width: 1500px; }\n"
    "h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin: 1.8em 0 .4em; }\n"
    "h3 { font-size: 1em; margin: 0 0 .3em; }\n"
    "table { border-collapse: collapse; margin: .3em 0; }\n"
    "td, th { text-align: left; padding: .1em .8em .1em 0;\n"
    "  vertical-align: top; }\n"
    "td.n { text-align: right; font-variant-numeric: tabular-nums; }\n"
    ".note { color: #888; }\n"
    "#nests tr td:first-child { border-left: 4px solid; padding-left: .5em; }\n"
    "#nests tr.taken td:first-child { border-color: var(--taken); }\n"
    "#nests tr.processor td:first-child { border-color: var(--processor); }\n"
    "#nests tr.declined td:first-child { border-color: var(--declined); }\n"
    ".source { display: grid; border: 1px solid var(--line);\n"
    "  grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }\n"
    "pre { margin: 0; overflow-x: auto; font: 12px/1.5 ui-monospace,\n"
    "  monospace; }\n"
    ".code { padding: 0 .6em; }\n"
    ".code b { color: #888; font-weight: normal; display: inline-block;\n"
    "  width: 3.2em; text-align: right; user-select: none; }\n"
    ".code.taken { background: #2e9d5722; }\n"
    ".code.processor { background: #3b7dd822; }\n"
    ".code.declined { background: #d9822b22; }\n"
    ".card { border-left: 4px solid; padding: .4em .8em; margin-bottom: "
    ".6em; }\n"
    ".card.taken { border-color: var(--taken); }\n"
    ".card.processor { border-color: var(--processor); }\n"
    ".card.declined { border-color: var(--declined); }\n"
    ".card p { margin: .2em 0; }\n"
    ".einsum, .rule { font: 600 1.1em ui-monospace, monospace; }\n"
    "svg { max-width: 100%; margin-top: .4em; }\n"
    "svg rect { stroke: #0004; stroke-width: .5; }\n"
    "svg text { font-size: 12px; text-anchor: middle; fill: #fff; }\n"
    "@media (max-width: 900px) { .source { grid-template-columns: 100%; } }\n"
    "</style>\n</head>\n<body>\n<h1>nputeir report</h1>\n";

static void put_summary(const struct page *p) {
  int count[3] = {0};
  bool passes = false, assumed = false;
  for (int i = 0; i < p->all->count; i++) {
    const struct report_plan *plan = p->plan[i];
    count[state_of(&p->all->item[i])]++;
    passes |= plan && plan->passes;
    for (int k = 0; plan && k < plan->axis_count; k++)
      assumed |= plan->axis[k].size != NULL;
  }
  text_printf(p->out,
              "<p id=\"counts\">%d nests: %d taken for the NPU, %d as code for "
              "the processor, %d declined.</p>\n"
              "<p class=\"note\">Predicted times are those of one launch that "
              "is built already, on tensors that lie densely; the loop's is "
              "what the runtime assumes until it has timed it.%s%s</p>\n",
              p->all->count, count[TAKEN], count[PROCESSOR], count[DECLINED],
              passes ? " Floats are three products of bf16." : "",
              assumed ? " Sizes that are known at run time only are assumed; "
                        "--size and --bind say otherwise."
                      : "");
}

void report_page(struct arena *a, const struct findings *all,
                 struct report_plan *const *plan, const struct preset *at,
                 struct text *out) {
  struct page p = {.arena = a, .all = all, .plan = plan, .at = at, .out = out};
  text_puts(out, head);
  put_summary(&p);
  if (all->count)
    put_table(&p);
  put_sources(&p);
  text_puts(out, "</body>\n</html>\n");
}
