/* events.c -- a nest as trace events, which Perfetto and chrome://tracing read:
 * a process per nest, a thread per lane, a complete event ("X") per span.
 * Times are microseconds of the preset's clock.  A span of several causes has
 * the name of the largest and the cycles of each as arguments. */
#include "parts.h"

void events_name(const char *what, int number, int thread, const char *name,
                 struct text *t) {
  text_printf(t,
              "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
              "\"args\":{\"name\":",
              what, number, thread);
  json_string(t, name);
  text_puts(t, "}},\n");
}

static void put_causes(const struct record_span *s, struct text *t) {
  const char *comma = "";
  text_puts(t, ",\"args\":{");
  for (int c = 0; c < RECORD_CAUSES; c++)
    if (s->cycles[c]) {
      text_printf(t, "%s\"%s\":%u", comma, record_cause_name(c), s->cycles[c]);
      comma = ",";
    }
  text_puts(t, "}");
}

static void put_lane(const struct record_lane *l, double cycles_per_us,
                     int number, int thread, struct text *t) {
  double at = 0;
  for (int i = 0; i < l->span_count; i++) {
    const struct record_span *s = &l->span[i];
    int most = 0;
    double length = 0;
    for (int c = 0; c < RECORD_CAUSES; c++) {
      length += s->cycles[c];
      most = s->cycles[c] > s->cycles[most] ? c : most;
    }
    if (s->cycles[RECORD_IDLE] < length) {
      text_printf(t,
                  "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                  "\"ts\":%.4f,\"dur\":%.4f",
                  record_cause_name(most), number, thread, at / cycles_per_us,
                  length / cycles_per_us);
      if (s->cycles[most] < length)
        put_causes(s, t);
      text_puts(t, "},\n");
    }
    at += length;
  }
}

void events_nest(const struct record *r, const struct profile_nest *n,
                 int number, struct text *t) {
  events_name("process_name", number, 0, n->name, t);
  for (int i = 0; i < r->lane_count; i++) {
    const struct record_lane *l = &r->lane[i];
    struct text name = {0};
    char buffer[24];
    int a = lane_argument(l);
    lane_name(l, &name);
    if (lane_is_channel(l) && a >= 0)
      text_printf(&name, " %s", argument_name(n, a, buffer));
    events_name("thread_name", number, i, text_string(&name), t);
    text_free(&name);
    put_lane(l, r->preset->clock_ghz * 1e3, number, i, t);
  }
}
