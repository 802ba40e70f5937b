/* recordings.c -- launches that the simulator recorded, what calls of the same
 * nests took beside them, and calls that a real device did; NPUTEIR_PROFILE's
 * files when the process exits.
 *
 * The files are written when a launch was recorded, too, so that they are there
 * whatever ends the process.  Ctrl-C ends a launch that is being recorded, adds
 * what it was until then, and then the process; a program that has a handler of
 * its own keeps it.
 *
 * While a launch lasts that takes long to simulate, the folder's progress.txt
 * says how far it is: seconds that it will still take, and the nest.
 *
 * A nest is known by its place and its shape.  Another nest of the same shape
 * has the same plan, and so no launch of its own: its calls count for the one
 * that was recorded.
 */
#include "parts.h"
#include "profile.h"
#include "seconds.h"
#include "signals.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NESTS = 64 };

/* ---- Ctrl-C: signals belong to the process, and so does this ---- */

static atomic_int recording; /* launches */
static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
  interrupted = 1;
  signal(number, SIG_DFL); /* the second one ends the process */
  if (!recording)
    raise(number);
}

struct recordings {
  pthread_mutex_t lock;
  pid_t process; /* a forked child writes nothing */
  char *folder;
  bool unwritten; /* was said */
  struct profile *profile;
  struct {
    char nest[160];
    double cycles;      /* that the launch will take, by its prediction */
    double start, next; /* seconds: when it began; when to write again */
    bool written;
  } now;     /* of threads that launch at once, the one that began last */
  int count; /* nests of the profile */
  struct recorded {
    char nest[160], what[320];
    struct profile_host host;
  } nest[NESTS];
};

static void write_progress(struct recordings *r, double left) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/progress.txt", r->folder);
  FILE *f = length < (int)sizeof path ? fopen(path, "w") : NULL;
  if (!f)
    return; /* the profile itself will say why */
  fprintf(f, "%.0f %s\n", left, r->now.nest);
  fclose(f);
  r->now.written = true;
}

static void remove_progress(struct recordings *r) {
  char path[4096];
  if (r->now.written && snprintf(path, sizeof path, "%s/progress.txt",
                                 r->folder) < (int)sizeof path)
    unlink(path);
  r->now.written = false;
}

static bool go_on(void *context, const struct sim_progress *at) {
  const double silent = 0.25, period = 0.25;
  struct recordings *r = context;
  double now = seconds_now();
  pthread_mutex_lock(&r->lock);
  double elapsed = now - r->now.start;
  if (r->now.cycles > 0 && elapsed > silent && now >= r->now.next &&
      r->process == getpid()) {
    double part = (double)at->cycles / r->now.cycles;
    part = part > 0.99 ? 0.99 : part; /* a prediction may be too small */
    if (part > 0.01)
      write_progress(r, elapsed * (1 - part) / part);
    r->now.next = now + period;
  }
  pthread_mutex_unlock(&r->lock);
  return !interrupted;
}

void recording_begin(struct recordings *r, struct sim_options *o) {
  o->progress = go_on;
  o->progress_context = r;
}

void recording_start(const struct run_recording *x,
                     const struct run_plan *plan) {
  struct recordings *r = x->to;
  pthread_mutex_lock(&r->lock);
  memcpy(r->now.nest, x->nest, sizeof r->now.nest);
  r->now.cycles = plan->predicted_cycles;
  r->now.start = seconds_now();
  pthread_mutex_unlock(&r->lock);
  recording++;
}

void recording_end(const struct run_recording *x) {
  pthread_mutex_lock(&x->to->lock);
  remove_progress(x->to);
  pthread_mutex_unlock(&x->to->lock);
  if (--recording == 0 && interrupted) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
}

void recordings_close(struct recordings *r) {
  if (!r)
    return;
  pthread_mutex_destroy(&r->lock);
  profile_close(r->profile);
  free(r->folder);
  free(r);
}

struct recordings *recordings_open(const char *folder) {
  struct recordings *r = calloc(1, sizeof *r);
  if (!r)
    return NULL;
  pthread_mutex_init(&r->lock, NULL);
  r->process = getpid();
  r->folder = strdup(folder);
  r->profile = profile_open();
  if (r->folder && r->profile) {
    signals_interrupt(interrupt);
    return r;
  }
  recordings_close(r);
  return NULL;
}

void recording_name(struct run_recording *x, const char *where,
                    const struct run_report *report) {
  snprintf(x->nest, sizeof x->nest, "%s", where ? where : "a nest");
  snprintf(x->what, sizeof x->what, "%s %s %s", report->einsum, report->sizes,
           report->types);
}

struct addition {
  const struct run_recording *x;
  const struct run_plan *plan;
  const struct record *record;
  int number;
};

static void add(void *with) {
  struct addition *a = with;
  const struct run_plan *p = a->plan;
  struct profile_nest n = {.name = a->x->nest, .what = a->x->what};
  if (interrupted)
    n.failure = "interrupted";
  profile_name_tensors(&n);
  for (int i = 0; i < TENSORS; i++)
    n.least_bytes[i] = p->tensor[i].bytes;
  n.macs = (double)p->m * (double)p->n * (double)p->k *
           (double)(p->batch > 1 ? p->batch : 1);
  a->number = profile_add(a->x->to->profile, a->record, &n);
}

static struct recorded *keep(struct recordings *r,
                             const struct run_recording *x) {
  struct recorded *n = &r->nest[r->count++];
  memcpy(n->nest, x->nest, sizeof n->nest);
  memcpy(n->what, x->what, sizeof n->what);
  return n;
}

void recordings_add(const struct run_recording *x, const struct run_plan *plan,
                    const struct record *record) {
  struct recordings *r = x->to;
  struct addition a = {x, plan, record, -1};
  pthread_mutex_lock(&r->lock);
  if (r->count < NESTS && memory_try(add, NULL, &a) && a.number >= 0)
    keep(r, x);
  pthread_mutex_unlock(&r->lock);
  recordings_write(r);
}

/* The nest, or else one of the same shape; NULL: none was recorded. */
static struct recorded *find(struct recordings *r,
                             const struct run_recording *x) {
  struct recorded *same = NULL;
  for (int i = 0; i < r->count; i++) {
    struct recorded *n = &r->nest[i];
    if (strcmp(n->what, x->what) != 0)
      continue;
    if (strcmp(n->nest, x->nest) == 0)
      return n;
    same = same ? same : n;
  }
  return same;
}

/* The nest of a real device's calls; the first one makes it.  NULL: there are
 * too many, or no memory. */
static struct recorded *find_real(struct recordings *r,
                                  const struct run_recording *x,
                                  const struct run_report *report) {
  for (int i = 0; i < r->count; i++)
    if (strcmp(r->nest[i].nest, x->nest) == 0 &&
        strcmp(r->nest[i].what, x->what) == 0)
      return &r->nest[i];
  const struct profile_nest n = {
      .name = x->nest, .what = x->what, .macs = x->macs};
  bool good = r->count < NESTS &&
              profile_add_device(r->profile, report->device, &n) >= 0;
  return good ? keep(r, x) : NULL;
}

void recordings_count(const struct run_recording *x,
                      const struct run_report *report, double start,
                      double seconds) {
  struct recordings *r = x->to;
  const struct run_seconds *s = &report->seconds;
  pthread_mutex_lock(&r->lock);
  struct recorded *n = report->real ? find_real(r, x, report) : find(r, x);
  if (n && report->real) {
    const struct profile_call call = {start, seconds, s->build, s->copy,
                                      s->launch};
    profile_add_call(r->profile, (int)(n - r->nest), &call);
    n->host.wait += s->launch;
  }
  if (n) {
    n->host.calls++;
    n->host.launches += report->launches;
    n->host.copied_bytes += report->host_bytes;
    n->host.cycles += report->counts.cycles;
    n->host.seconds += seconds - report->counts.simulated_seconds;
    n->host.build += s->build;
    n->host.copy += s->copy;
  }
  pthread_mutex_unlock(&r->lock);
}

static void write_files(void *with) {
  struct recordings *r = with;
  struct diag d = {0};
  for (int i = 0; i < r->count; i++)
    profile_set_host(r->profile, i, &r->nest[i].host);
  if (profile_write(r->profile, r->folder, &d) || r->unwritten)
    return;
  r->unwritten = true;
  fprintf(stderr, "nputeir: NPUTEIR_PROFILE: %s: %s\n",
          d.at.file ? d.at.file : r->folder, d.text);
}

void recordings_write(struct recordings *r) {
  if (r->process != getpid())
    return;
  pthread_mutex_lock(&r->lock);
  if (!memory_try(write_files, NULL, r))
    fputs("nputeir: no memory to write the profile in\n", stderr);
  pthread_mutex_unlock(&r->lock);
}
