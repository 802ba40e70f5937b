/* page.c -- a nest as the page reads it: one JSON object. */
#include "parts.h"

#include <assert.h>

void json_string(struct text *t, const char *s) {
  text_puts(t, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      text_printf(t, "\\%c", c);
    else if (c < ' ' || c == '<') /* no "</script>" inside the page */
      text_printf(t, "\\u%04x", c);
    else
      text_append(t, s, 1);
  }
  text_puts(t, "\"");
}

void json_key(struct text *t, const char *key, const char *value) {
  text_printf(t, "\"%s\":", key);
  json_string(t, value);
  text_puts(t, ",");
}

/* A set of causes as bits, then the cycles of each of them, span by span. */
static void put_spans(const struct record_lane *l, struct text *t) {
  const char *comma = "";
  for (int i = 0; i < l->span_count; i++) {
    const uint32_t *n = l->span[i].cycles;
    unsigned set = 0;
    for (int c = 0; c < RECORD_CAUSES; c++)
      set |= (unsigned)(n[c] > 0) << c;
    assert(set);
    text_printf(t, "%s%u", comma, set);
    for (int c = 0; c < RECORD_CAUSES; c++)
      if (n[c])
        text_printf(t, ",%u", n[c]);
    comma = ",";
  }
}

static void put_lane(const struct record_lane *l, const struct profile_nest *n,
                     struct text *t) {
  struct text name = {0};
  char buffer[24];
  int a = lane_argument(l);
  lane_name(l, &name);
  text_puts(t, "{");
  json_key(t, "n", text_string(&name));
  text_free(&name);
  json_key(t, "a",
           a >= 0 && lane_is_channel(l) ? argument_name(n, a, buffer) : "");
  text_printf(t, "\"k\":%d,\"c\":%d,\"r\":%d,\"g\":%llu,\"w\":%llu,\"t\":[",
              l->kind, l->column, l->row, (unsigned long long)l->grain,
              (unsigned long long)l->words);
  for (int c = 0; c < RECORD_CAUSES; c++)
    text_printf(t, "%s%llu", c ? "," : "", (unsigned long long)l->total[c]);
  text_puts(t, "],\"s\":[");
  put_spans(l, t);
  text_puts(t, "]}");
}

static void put_arguments(const struct profile_nest *n, const struct limits *x,
                          struct text *t) {
  char buffer[24];
  const char *comma = "";
  text_puts(t, "\"arg\":[");
  for (int a = 0; a < RECORD_ARGUMENTS; a++) {
    if (!x->bytes[a])
      continue;
    text_printf(t, "%s{", comma);
    json_key(t, "n", argument_name(n, a, buffer));
    text_printf(t, "\"b\":%llu,\"l\":%llu}", (unsigned long long)x->bytes[a],
                (unsigned long long)n->least_bytes[a]);
    comma = ",";
  }
  text_puts(t, "],");
}

static void put_shares(const struct profile_nest *n, const struct limits *x,
                       struct text *t) {
  text_puts(t, "\"core\":[");
  for (int i = 0; i < LOSSES; i++) {
    struct text name = {0};
    loss_name(n, i, &name);
    text_printf(t, "%s[", i ? "," : "");
    json_string(t, text_string(&name));
    text_printf(t, ",%.6f]", x->share[i]);
    text_free(&name);
  }
  text_puts(t, "],\"least\":{");
  for (int i = 0; i < RESOURCES; i++)
    text_printf(t, "%s\"%s\":%.0f", i ? "," : "", resource_name(i),
                x->least[i]);
  text_puts(t, "},");
}

void page_nest(const struct record *r, const struct profile_nest *n,
               const struct limits *x, const char *sentence, struct text *t) {
  const struct preset *p = r->preset;
  text_puts(t, "{");
  json_key(t, "name", n->name);
  json_key(t, "what", n->what);
  json_key(t, "say", sentence);
  json_key(t, "deadlock", n->deadlock ? n->deadlock : "");
  json_key(t, "preset", p->name);
  text_printf(t,
              "\"clock\":%.3f,\"cycles\":%llu,\"busy\":%llu,\"columns\":%d,"
              "\"rows\":%d,\"macs\":%.0f,\"multiplies\":%llu,\"cores\":%d,"
              "\"shim\":%d,\"dram\":%.4f,",
              p->clock_ghz, (unsigned long long)r->report.cycles,
              (unsigned long long)r->report.busy_cycles, r->columns, r->rows,
              n->macs, (unsigned long long)r->report.mac_cycles, x->cores,
              x->shim_channels,
              preset_dram(p, UINT64_MAX) / (p->clock_ghz * 1e9));
  put_arguments(n, x, t);
  put_shares(n, x, t);
  text_puts(t, "\"cause\":[");
  for (int c = 0; c < RECORD_CAUSES; c++)
    text_printf(t, "%s\"%s\"", c ? "," : "", record_cause_name(c));
  text_puts(t, "],\"lanes\":[");
  for (int i = 0; i < r->lane_count; i++) {
    text_puts(t, i ? ",\n" : "\n");
    put_lane(&r->lane[i], n, t);
  }
  text_puts(t, "]}");
}
