/* device.c -- calls that a real device did: how long each waited for it, and
 * what the host did beside.  What happens on the array in that time only the
 * simulator shows. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 4096 }; /* that are kept one by one */

static const double us = 1e6, percent = 100;

struct device_nest *device_nest_open(const char *device,
                                     const struct profile_nest *n) {
  struct device_nest *x = calloc(1, sizeof *x);
  if (!x)
    return NULL;
  x->device = strdup(device);
  x->name = strdup(n->name);
  x->what = strdup(n->what);
  x->macs = n->macs;
  if (x->device && x->name && x->what)
    return x;
  device_nest_close(x);
  return NULL;
}

void device_nest_close(struct device_nest *x) {
  if (!x)
    return;
  free(x->device);
  free(x->name);
  free(x->what);
  free(x->call);
  free(x);
}

void device_nest_add(struct device_nest *x, const struct profile_call *c) {
  bool full = x->count == CALLS;
  if (!full && (x->count & (x->count - 1)) == 0) { /* a power of two, or 0 */
    size_t room = x->count ? 2 * (size_t)x->count : 1;
    struct profile_call *all = realloc(x->call, room * sizeof *all);
    full = !all;
    x->call = all ? all : x->call;
  }
  if (!full)
    x->call[x->count++] = *c;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct waits { /* seconds that calls waited for the device */
  double least, median, most;
};

static struct waits find_waits(const struct device_nest *x) {
  struct waits w = {0};
  double *all = malloc(((size_t)x->count + 1) * sizeof *all);
  if (!all || !x->count) {
    free(all);
    return w;
  }
  for (int i = 0; i < x->count; i++)
    all[i] = x->call[i].wait;
  qsort(all, (size_t)x->count, sizeof *all, compare);
  w = (struct waits){all[0], all[x->count / 2], all[x->count - 1]};
  free(all);
  return w;
}

/* The largest part of the calls' time, and what would lessen it. */
static void say(const struct device_nest *x, const struct profile_host *h,
                const struct waits *w, struct text *t) {
  double rest = h->seconds - h->build - h->copy - h->wait;
  double all = h->seconds > 0 ? h->seconds : 1;
  if (h->wait >= h->build && h->wait >= h->copy && h->wait >= rest) {
    text_printf(t,
                "calls wait for the device in %.0f %% of their time, %.1f us "
                "each in the median",
                percent * h->wait / all, us * w->median);
    if (x->macs > 0 && w->median > 0)
      text_printf(t, ", %.2f TOPS", 2e-12 * x->macs / w->median);
    text_puts(t, "; where its cycles go NPUTEIR_DEVICE=sim shows");
  } else if (h->build >= h->copy && h->build >= rest) {
    text_printf(t,
                "making launches takes %.0f %% of the calls' time, which is "
                "done once for each shape: more calls would spread it",
                percent * h->build / all);
  } else if (h->copy >= rest) {
    text_printf(t,
                "copies and conversions take %.0f %% of the calls' time, %.1f "
                "MB a call: NPUTEIR_TRACE=1 says which tensors are not read "
                "where they are, and why",
                percent * h->copy / all,
                1e-6 * (double)h->copied_bytes / (double)h->calls);
  } else {
    text_printf(t,
                "the runtime itself takes %.0f %% of the calls' time, %.1f us "
                "a call: larger products would spread it",
                percent * rest / all, us * rest / (double)h->calls);
  }
  text_puts(t, ".");
}

void device_summary(const struct device_nest *x, const struct profile_host *h,
                    struct text *t) {
  struct waits w = find_waits(x);
  text_printf(t, "nest=\"%s\"%s%s\n", x->name, *x->what ? " " : "", x->what);
  text_printf(t,
              "device=%s least_microseconds=%.3f median_microseconds=%.3f "
              "most_microseconds=%.3f\nlimit: ",
              x->device, us * w.least, us * w.median, us * w.most);
  say(x, h, &w, t);
  text_puts(t, "\n");
}

void device_page(const struct device_nest *x, const struct profile_host *h,
                 struct text *t) {
  struct waits w = find_waits(x);
  struct text sentence = {0};
  say(x, h, &w, &sentence);
  text_puts(t, "{");
  json_key(t, "name", x->name);
  json_key(t, "what", x->what);
  json_key(t, "say", text_string(&sentence));
  json_key(t, "device", x->device);
  text_free(&sentence);
  text_printf(t, "\"median\":%.9f,\"calls\":[", w.median);
  for (int i = 0; i < x->count; i++) {
    const struct profile_call *c = &x->call[i];
    text_printf(t, "%s[%.9f,%.9f,%.9f,%.9f,%.9f]", i ? "," : "", c->at,
                c->seconds, c->build, c->copy, c->wait);
  }
  text_puts(t, "]}");
}

void device_events(const struct device_nest *x, int number, struct text *t) {
  events_name("process_name", number, 0, x->name, t);
  events_name("thread_name", number, 0, x->device, t);
  for (int i = 0; i < x->count; i++) {
    const struct profile_call *c = &x->call[i];
    text_printf(t,
                "{\"ph\":\"X\",\"name\":\"call\",\"pid\":%d,\"tid\":0,"
                "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"build\":%.3f,"
                "\"copy\":%.3f,\"device\":%.3f}},\n",
                number, us * c->at, us * c->seconds, us * c->build,
                us * c->copy, us * c->wait);
  }
}
