/* summary.c -- what NPUTEIR_TRACE=summary prints when the process exits, one
 * line on stderr:
 *
 *   nputeir: summary calls=12 done=10 declined=2 launches=20 configured=1
 *   changed=2 cycles=196768 seconds=1.204 reasons="1 x no NPU | 1 x N
 * multiply-adds; fewer than min-macs=N"
 *
 * (in one line).  configured: calls that had a configuration of the array
 * loaded, of which shapes with the same blocks share one; changed: calls whose
 * transactions changed the one that was there.  cycles are the
 * simulator's, 0 where none were counted; seconds are those that callers waited
 * in calls that were done.  Reasons are counted together that differ in numbers
 * only, so that their list is short.
 */
#include "parts.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASONS = 8, REASON_BYTES = 160 };

struct summary {
  pthread_mutex_t lock;
  pid_t process; /* whose calls these are; a forked child begins anew */
  int64_t calls, done, launches;
  int64_t configured; /* calls that had a configuration loaded */
  int64_t changed;    /* and that changed it */
  uint64_t cycles;
  double seconds;
  int reason_count;
  int64_t others; /* declined for more reasons than we list */
  struct {
    int64_t count;
    char text[REASON_BYTES];
  } reason[REASONS];
};

struct summary *summary_open(void) {
  struct summary *s = calloc(1, sizeof *s);
  if (!s)
    return NULL;
  pthread_mutex_init(&s->lock, NULL);
  s->process = getpid();
  return s;
}

void summary_close(struct summary *s) {
  if (s)
    pthread_mutex_destroy(&s->lock);
  free(s);
}

/* A copy with N for every number. */
static void generalise(const char *text, char to[REASON_BYTES]) {
  size_t n = 0;
  for (; *text && n + 1 < REASON_BYTES; text++) {
    bool digit = isdigit((unsigned char)*text);
    if (digit && n > 0 && to[n - 1] == 'N')
      continue;
    to[n++] = digit ? 'N' : *text == '"' ? '\'' : *text;
  }
  to[n] = 0;
}

static void count_reason(struct summary *s, const char *text) {
  char general[REASON_BYTES];
  int i = 0;
  generalise(text, general);
  while (i < s->reason_count && strcmp(s->reason[i].text, general) != 0)
    i++;
  if (i == REASONS) {
    s->others++;
    return;
  }
  if (i == s->reason_count)
    strcpy(s->reason[s->reason_count++].text, general);
  s->reason[i].count++;
}

/* What the parent did is not ours to tell. */
static void forget_parent(struct summary *s) {
  if (s->process == getpid())
    return;
  s->process = getpid();
  s->calls = s->done = s->launches = s->configured = s->others = 0;
  s->changed = 0;
  s->cycles = 0;
  s->seconds = 0;
  memset(s->reason, 0, sizeof s->reason);
  s->reason_count = 0;
}

void summary_add(struct summary *s, const struct run_report *r,
                 double seconds) {
  pthread_mutex_lock(&s->lock);
  forget_parent(s);
  s->calls++;
  s->launches += r->launches;
  s->configured += r->counts.configured;
  s->changed += r->counts.changed_bytes > 0;
  s->cycles += r->counts.cycles;
  if (r->done) {
    s->done++;
    s->seconds += seconds;
  } else
    count_reason(s, r->reason.text);
  assert(s->done <= s->calls && s->reason_count <= REASONS);
  pthread_mutex_unlock(&s->lock);
}

/* At most as much of a line as there is room for. */
struct line {
  char text[REASONS * (REASON_BYTES + 24) + 300];
  size_t length;
};

static void put(struct line *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct line *l, const char *format, ...) {
  size_t room = sizeof l->text - l->length;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(l->text + l->length, room, format, args);
  va_end(args);
  assert(n >= 0 && (size_t)n < room);
  l->length += (size_t)n;
}

static void put_all(struct line *l, const struct summary *s) {
  put(l,
      "nputeir: summary calls=%lld done=%lld declined=%lld launches=%lld "
      "configured=%lld changed=%lld cycles=%llu seconds=%.3f reasons=\"",
      (long long)s->calls, (long long)s->done, (long long)(s->calls - s->done),
      (long long)s->launches, (long long)s->configured, (long long)s->changed,
      (unsigned long long)s->cycles, s->seconds);
  for (int i = 0; i < s->reason_count; i++)
    put(l, "%s%lld x %s", i ? " | " : "", (long long)s->reason[i].count,
        s->reason[i].text);
  if (s->others)
    put(l, " | %lld x others", (long long)s->others);
  put(l, "\"\n");
}

void summary_print(struct summary *s) {
  struct line l = {.length = 0}; /* no memory is needed to say good-bye */
  pthread_mutex_lock(&s->lock);
  forget_parent(s);
  put_all(&l, s);
  pthread_mutex_unlock(&s->lock);
  fputs(l.text, stderr);
}
