/* profile.c -- collects nests, each in the three forms that come out. */
#include "parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Memory of malloc: a profile lives on when an attempt that adds to it ends for
 * want of memory (memory_try). */
struct nest {
  char *page, *events, *summary; /* of a record */
  struct device_nest *device;    /* or else calls */
  struct profile_host host;
};

struct profile {
  struct nest *nest;
  int count;
  double start; /* of a device's first call; 0: there was none */
};

struct profile *profile_open(void) {
  return calloc(1, sizeof(struct profile));
}

static void free_nest(struct nest *n) {
  free(n->page);
  free(n->events);
  free(n->summary);
  device_nest_close(n->device);
}

void profile_close(struct profile *p) {
  for (int i = 0; p && i < p->count; i++)
    free_nest(&p->nest[i]);
  if (p)
    free(p->nest);
  free(p);
}

void profile_name_tensors(struct profile_nest *n) {
  static const char *const name[] = {"in0", "in1", "out"};
  static const char *const along[] = {"n", "m"}; /* out moves once */
  for (int i = 0; i < 3; i++)
    n->argument[i] = name[i];
  for (int i = 0; i < 2; i++)
    n->reuse_axis[i] = along[i];
}

/* ---- the summary: key=value lines ---- */

static void put_traffic(const struct profile_nest *n, const struct limits *x,
                        struct text *t) {
  char buffer[24];
  for (int a = 0; a < RECORD_ARGUMENTS; a++) {
    if (!x->bytes[a])
      continue;
    text_printf(t, "dram_bytes=%llu tensor=\"%s\"",
                (unsigned long long)x->bytes[a], argument_name(n, a, buffer));
    if (n->least_bytes[a])
      text_printf(t, " least=%llu", (unsigned long long)n->least_bytes[a]);
    text_puts(t, "\n");
  }
}

static void summarise(const struct record *r, const struct profile_nest *n,
                      const struct limits *x, const char *sentence,
                      struct text *t) {
  text_printf(t, "nest=\"%s\"%s%s\n", n->name, *n->what ? " " : "", n->what);
  text_printf(t, "preset=%s cycles=%llu microseconds=%.3f cores=%d\n",
              r->preset->name, (unsigned long long)r->report.cycles,
              x->cycles / (r->preset->clock_ghz * 1e3), x->cores);
  text_puts(t, "core_cycles:");
  for (int i = 0; i < LOSSES; i++) {
    if (x->share[i] < 0.0005)
      continue;
    text_printf(t, " %.1f %% ", 100 * x->share[i]);
    loss_name(n, i, t);
    text_puts(t, ";");
  }
  text_puts(t, "\nleast_cycles:");
  for (int i = 0; i < RESOURCES; i++)
    text_printf(t, " %s=%.0f", resource_name(i), x->least[i]);
  text_puts(t, "\n");
  put_traffic(n, x, t);
  text_printf(t, "limit: %s\n", sentence);
  if (n->deadlock)
    text_printf(t, "deadlock:\n%s", n->deadlock);
}

/* ---- nests ---- */

/* Takes the strings; -1: no memory. */
static int append(struct profile *p, struct nest *n) {
  struct nest *all = realloc(p->nest, ((size_t)p->count + 1) * sizeof *p->nest);
  if (all)
    p->nest = all;
  if (!all || !(n->device || (n->page && n->events && n->summary))) {
    free_nest(n);
    return -1;
  }
  p->nest[p->count] = *n;
  return p->count++;
}

int profile_add(struct profile *p, const struct record *r,
                const struct profile_nest *n) {
  struct limits x;
  struct text sentence = {0}, page = {0}, events = {0}, summary = {0};
  limits_find(r, &x);
  if (n->failure)
    text_printf(&sentence, "Not finished: %s. Until then: ", n->failure);
  limits_say(r, n, &x, &sentence);
  page_nest(r, n, &x, text_string(&sentence), &page);
  events_nest(r, n, p->count + 1, &events);
  summarise(r, n, &x, text_string(&sentence), &summary);
  struct nest nest = {.page = strdup(text_string(&page)),
                      .events = strdup(text_string(&events)),
                      .summary = strdup(text_string(&summary))};
  text_free(&sentence);
  text_free(&page);
  text_free(&events);
  text_free(&summary);
  return append(p, &nest);
}

int profile_add_device(struct profile *p, const char *device,
                       const struct profile_nest *n) {
  struct nest nest = {.device = device_nest_open(device, n)};
  return append(p, &nest);
}

void profile_add_call(struct profile *p, int nest,
                      const struct profile_call *c) {
  assert(p->nest[nest].device);
  struct profile_call call = *c;
  p->start = p->start > 0 ? p->start : c->at;
  call.at -= p->start;
  device_nest_add(p->nest[nest].device, &call);
}

void profile_set_host(struct profile *p, int nest,
                      const struct profile_host *host) {
  p->nest[nest].host = *host;
}

/* ---- what comes out ---- */

void profile_print(const struct profile *p, struct text *t) {
  for (int i = 0; i < p->count; i++) {
    const struct nest *n = &p->nest[i];
    const struct profile_host *h = &n->host;
    text_puts(t, i ? "\n" : "");
    if (n->device)
      device_summary(n->device, h, t);
    else
      text_puts(t, n->summary);
    if (h->calls)
      text_printf(t,
                  "host: calls=%lld launches=%lld cycles=%llu "
                  "copied_bytes=%lld seconds=%.6f build_seconds=%.6f "
                  "copy_seconds=%.6f",
                  (long long)h->calls, (long long)h->launches,
                  (unsigned long long)h->cycles, (long long)h->copied_bytes,
                  h->seconds, h->build, h->copy);
    if (n->device)
      text_printf(t, " device_seconds=%.6f", h->wait);
    text_puts(t, h->calls ? "\n" : "");
  }
}

static const char marker[] = "/*DATA*/";

void profile_page(const struct profile *p, struct text *t) {
  const char *at = strstr(page_html, marker);
  text_append(t, page_html, (size_t)(at - page_html));
  text_puts(t, "const NESTS = [");
  for (int i = 0; i < p->count; i++) {
    const struct nest *n = &p->nest[i];
    text_puts(t, i ? ",\n" : "\n");
    if (n->device)
      device_page(n->device, &n->host, t);
    else
      text_puts(t, n->page);
  }
  text_puts(t, "];\nconst HOST = [");
  for (int i = 0; i < p->count; i++) {
    const struct profile_host *h = &p->nest[i].host;
    text_printf(t,
                "%s{\"calls\":%lld,\"launches\":%lld,\"cycles\":%llu,"
                "\"copied\":%lld,\"seconds\":%.6f,\"build\":%.6f,"
                "\"copy\":%.6f,\"wait\":%.6f}",
                i ? "," : "", (long long)h->calls, (long long)h->launches,
                (unsigned long long)h->cycles, (long long)h->copied_bytes,
                h->seconds, h->build, h->copy, h->wait);
  }
  text_puts(t, "];");
  text_puts(t, at + strlen(marker));
}

void profile_trace(const struct profile *p, struct text *t) {
  text_puts(t, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (int i = 0; i < p->count; i++)
    if (p->nest[i].device)
      device_events(p->nest[i].device, i + 1, t);
    else
      text_puts(t, p->nest[i].events);
  text_printf(t,
              "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"args\":{"
              "\"labels\":\"nputeir %s\"}}]}\n",
              p->count && p->nest[0].device ? "device" : "simulator");
}

static bool write_form(const struct profile *p, const char *folder,
                       const char *name,
                       void (*form)(const struct profile *, struct text *),
                       struct diag *d) {
  struct text t = {0}, path = {0};
  form(p, &t);
  text_printf(&path, "%s/%s", folder, name);
  bool good = file_write(text_string(&path), text_string(&t), t.length, d);
  text_free(&t);
  text_free(&path);
  return good;
}

bool profile_write(const struct profile *p, const char *folder,
                   struct diag *d) {
  return folder_make(folder, d) &&
         write_form(p, folder, "profile.html", profile_page, d) &&
         write_form(p, folder, "trace.json", profile_trace, d) &&
         write_form(p, folder, "summary.txt", profile_print, d);
}
