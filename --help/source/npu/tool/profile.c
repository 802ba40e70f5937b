/* profile.c -- `nputeir profile`: a run on the simulated array, recorded, as a
 * page to look at, a trace, and a summary that says what limits it. */
#include "profile.h"
#include "child.h"
#include "keys.h"
#include "seconds.h"
#include "sim_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct profile_job {
  struct sim_job sim; /* first: its options' fields are offsets in it */
  const char *folder;
  bool command; /* what stands behind "--" is a program to run */
};

/* ---- a program or an xclbin, on the array at once ---- */

struct watcher {
  struct profile *profile;
  struct profile_nest nest;
  struct text what;
  struct arena *arena;
  bool recorded;
};

static void see_program(void *context, const struct npu_result *r) {
  struct watcher *w = context;
  struct teir_roles roles;
  struct diag d = {0};
  profile_name_tensors(&w->nest);
  for (int i = 0; i < TENSORS; i++)
    w->nest.least_bytes[r->program->transfer[i].tensor] =
        (uint64_t)r->program->transfer[i].bytes;
  if (!teir_roles_read(w->arena, r->teir, &roles, &d))
    return;
  const struct teir_problem *p = &roles.problem;
  w->nest.macs = 1;
  for (int i = 0; i < AXIS_ROLES; i++)
    w->nest.macs *= (double)p->extent[i];
  text_printf(&w->what, "m:%lld,n:%lld,k:%lld %s,%s,%s, blocks m:%d,n:%d,k:%d",
              (long long)p->extent[AXIS_M], (long long)p->extent[AXIS_N],
              (long long)p->extent[AXIS_K], dtype_name(p->type[IN0]),
              dtype_name(p->type[IN1]), dtype_name(p->type[OUT]),
              r->program->block_m, r->program->block_n, r->program->block_k);
}

static void see_run(void *context, const struct sim *s) {
  struct watcher *w = context;
  const struct record *r = sim_record(s);
  if (!r || w->recorded)
    return;
  w->recorded = true;
  w->nest.what = text_string(&w->what);
  w->nest.failure = sim_failure(s);
  struct text chain = {0};
  sim_print_deadlock(s, &chain);
  w->nest.deadlock = chain.length ? text_string(&chain) : NULL;
  profile_add(w->profile, r, &w->nest);
  w->nest.deadlock = NULL;
  text_free(&chain);
}

static bool run_here(struct tool *t, struct profile_job *j) {
  struct watcher w = {.profile = profile_open(), .arena = t->arena};
  if (!w.profile)
    return diag_error(&t->diag, loc_none(), "out of memory");
  w.nest.name = j->sim.name;
  j->sim.watch = (struct simulate_watch){see_run, &w};
  j->sim.compiled = see_program;
  bool good = sim_job_run(t, &j->sim);
  if (w.recorded) {
    struct diag d = {0};
    profile_print(w.profile, &t->out);
    bool written = profile_write(w.profile, j->folder, &d);
    if (written)
      keys_print_lines(t, &t->out);
    if (good && !written)
      good = diag_error(&t->diag, d.at, "%s", d.text);
  }
  text_free(&w.what);
  profile_close(w.profile);
  return good;
}

/* ---- the user's program ---- */

struct run {
  const char *folder;
  double start;
  bool terminal;
};

static void set_environment(const void *with) {
  const struct run *r = with;
  const char *said = getenv("NPUTEIR_DEVICE");
  if (!said || !*said)
    setenv("NPUTEIR_DEVICE", "sim", 1);
  setenv("NPUTEIR_PROFILE", r->folder, 1);
}

static int count_nests(const char *folder) {
  struct text path = {0};
  char line[64];
  int count = 0;
  bool begins = true; /* a line */
  text_printf(&path, "%s/summary.txt", folder);
  FILE *f = fopen(text_string(&path), "r");
  for (; f && fgets(line, sizeof line, f); begins = strchr(line, '\n') != NULL)
    count += begins && strncmp(line, "nest=", 5) == 0;
  if (f)
    fclose(f);
  text_free(&path);
  return count;
}

/* What the runtime says of a launch that lasts: "12 file.c:9 name", seconds
 * left and the nest. */
static void show_launch(const char *folder) {
  struct text path = {0};
  char nest[41];
  double left;
  text_printf(&path, "%s/progress.txt", folder);
  FILE *f = fopen(text_string(&path), "r");
  if (f && fscanf(f, "%lf %40[^\n]", &left, nest) == 2)
    fprintf(stderr, "; %.0f s left of a launch of %s", left, nest);
  if (f)
    fclose(f);
  text_free(&path);
}

/* How far it is, on a terminal; how many launches will follow only the program
 * knows. */
static void show_progress(const void *with) {
  enum { SILENT_SECONDS = 2 };
  const struct run *r = with;
  double elapsed = seconds_now() - r->start;
  if (!r->terminal || elapsed <= SILENT_SECONDS)
    return;
  fprintf(stderr, "\r\033[K%.0f s, %d nests recorded", elapsed,
          count_nests(r->folder));
  show_launch(r->folder);
}

static bool print_summary(struct tool *t, const struct profile_job *j) {
  char *path = arena_printf(t->arena, "%s/summary.txt", j->folder);
  struct diag d = {0};
  char *summary = file_read(t->arena, path, NULL, &d);
  if (!summary)
    return diag_error(&t->diag, loc_none(),
                      "%s wrote no profile: it was not compiled and linked "
                      "with nputeir, or it ended by a signal or _exit",
                      t->rest[0]);
  if (!*summary)
    return diag_error(&t->diag, loc_none(),
                      "no nest ran on the simulator or a device; "
                      "NPUTEIR_TRACE=1 says why");
  text_puts(&t->out, summary);
  keys_print_lines(t, &t->out);
  return true;
}

static bool run_command(struct tool *t, const struct profile_job *j) {
  int status = 0;
  if (j->sim.name)
    return tool_usage(t, "'%s' before -- and a program behind it", j->sim.name);
  if (!t->rest_count)
    return tool_usage(t, "a program is missing behind --");
  if (!folder_make(j->folder, &t->diag))
    return false;
  remove(arena_printf(t->arena, "%s/summary.txt", j->folder));
  remove(arena_printf(t->arena, "%s/progress.txt", j->folder));
  struct run r = {j->folder, seconds_now(), isatty(STDERR_FILENO)};
  bool ran = child_run(t, t->rest[0], t->rest_count - 1, t->rest + 1,
                       set_environment, show_progress, &r, &status);
  if (r.terminal)
    fputs("\r\033[K", stderr);
  if (!ran)
    return false;
  if (status == CHILD_CANNOT_RUN << 8)
    return diag_error(&t->diag, loc_none(), "cannot run %s", t->rest[0]);
  return print_summary(t, j) && child_succeeded(t, t->rest[0], status);
}

static bool run(struct tool *t, void *job) {
  struct profile_job *j = job;
  if (j->command)
    return run_command(t, j);
  return j->sim.name ? run_here(t, j)
                     : tool_usage(t, "nothing to profile: PROGRAM, "
                                     "DESIGN.xclbin RUN.txn or -- COMMAND");
}

static const struct tool_option options[] = {
    {"DESIGN.xclbin|PROGRAM", NULL, sim_job_read_input, 0,
     .help = "what runs, as for: nputeir help sim"},
    {"RUN.txn", NULL, tool_word, offsetof(struct sim_job, txn),
     .help = "the transaction that runs the xclbin"},
    {"-o", "FOLDER", tool_folder_to_write, offsetof(struct profile_job, folder),
     .help = "where profile.html, trace.json and summary.txt go",
     .flags = TOOL_NEEDED},
    {"--", "COMMAND ARGS..", tool_flag, offsetof(struct profile_job, command),
     .help = "a program that was compiled with the plugin, and its words: its "
             "nests are profiled"},
    {0},
};

static const struct profile_job defaults = {
    .sim = {
        .repeat = 1,
        .program = {.problem = {.extent = {1},
                                .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}}}};

const struct tool_command tool_profile = {
    .name = "profile",
    .summary = "where the cycles of a run went, as a page and a trace",
    .usage = "-o FOLDER PROGRAM [--sizes a=8,b=32] [--types A,B,C]\n"
             "-o FOLDER DESIGN.xclbin RUN.txn [--arg FILE].. [--out ..]\n"
             "-o FOLDER -- COMMAND [ARGS..]",
    .intro = "Runs on the simulated array and records what every core, DMA "
             "channel and the command processor did in every cycle. "
             "profile.html shows it in any browser: a time line, where cores' "
             "cycles went, a map of the array, a roofline, DRAM traffic beside "
             "the tensors' sizes, and a sentence that says what limits the run "
             "and what would help. trace.json is for Perfetto or "
             "chrome://tracing. The summary, also printed, has the sentence in "
             "its line `limit:`.",
    .shared = sim_job_options,
    .options = options,
    .notes = "Keys of the summary: core_cycles (shares of the cores' cycles: "
             "multiply; start and end, waits before the first and behind the "
             "last multiply; waits for a tensor's blocks; stream; bank; no "
             "multiply, other bundles; idle), least_cycles (what the run would "
             "need if one resource were all there is: multiply and kernel, of "
             "the busiest core; stream, of the fullest mem tile or core "
             "channel; shim, of the fullest shim channel; dram; commands), "
             "dram_bytes (moved, by tensor, and the tensor's own size), limit; "
             "of a COMMAND also host: its calls, "
             "and seconds in the runtime outside of the simulation, in all, "
             "making launches, and copying. "
             "Of a COMMAND, the first launch of each shape of a nest is "
             "recorded; NPUTEIR_PROFILE=FOLDER does that in any run of the "
             "program. With --repeat, the first run is. Ctrl-C "
             "ends a run of the array, also of a COMMAND, and what was "
             "recorded until then is shown. A COMMAND that runs on a device "
             "(NPUTEIR_DEVICE) shows how long each call waited for it, was "
             "made and copied, in keys device, least_microseconds, "
             "median_microseconds, most_microseconds and limit, instead.",
    .job_bytes = sizeof(struct profile_job),
    .job = &defaults,
    .run = run,
};
