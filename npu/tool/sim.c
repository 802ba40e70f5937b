/* `nputeir sim`: runs any xclbin and transaction on the simulated array, with
 * files as argument buffers; or compiles a program, runs it on numbers of its
 * own, and compares the results. */
#include "keys.h"
#include "names.h"
#include "progress.h"
#include "sim_job.h"

#include <assert.h>
#include <string.h>

enum { MOST_ARGUMENTS = SIM_JOB_ARGUMENTS };

static bool read_argument(struct tool *t, void *to, const char *word) {
  struct sim_job *j = to;
  size_t bytes;
  if (j->given == MOST_ARGUMENTS)
    return tool_usage(t, "more than %d --arg", MOST_ARGUMENTS);
  char *data = tool_input(t, word, &bytes);
  if (!data)
    return false;
  j->argument[j->given++] = (struct sim_buffer){data, bytes};
  return true;
}

/* N:BYTES=FILE */
static bool read_output(struct tool *t, void *to, const char *word) {
  struct sim_job *j = to;
  struct sim_job_output o;
  const char *at = word;
  int64_t argument, bytes;
  if (!tool_scan_number(&at, &argument) || *at++ != ':' ||
      !tool_scan_number(&at, &bytes) || *at++ != '=' || !*at)
    return tool_usage(t, "--out takes N:BYTES=FILE, not '%s'", word);
  if (argument < 0 || argument >= MOST_ARGUMENTS)
    return tool_usage(t, "--out: argument %lld; the numbers are 0 to %d",
                      (long long)argument, MOST_ARGUMENTS - 1);
  if (bytes < 1 || bytes > INT64_C(1) << 32)
    return tool_usage(t, "--out: %lld bytes; 1 to 2^32 can be written",
                      (long long)bytes);
  if (j->output_count == MOST_ARGUMENTS)
    return tool_usage(t, "more than %d --out", MOST_ARGUMENTS);
  o = (struct sim_job_output){.argument = (int)argument,
                              .bytes = (size_t)bytes};
  if (!tool_file_to_write(t, &o.path, at))
    return false;
  j->output[j->output_count++] = o;
  return true;
}

/* Gives every --out a buffer of at least its size. */
static void make_buffers(struct tool *t, struct sim_job *j) {
  j->argument_count = j->given;
  for (int i = 0; i < j->output_count; i++) {
    const struct sim_job_output *o = &j->output[i];
    struct sim_buffer *b = &j->argument[o->argument];
    if (o->argument >= j->argument_count)
      j->argument_count = o->argument + 1;
    if (b->bytes >= o->bytes)
      continue;
    b->data = arena_copy(t->arena, b->data, b->bytes, o->bytes, 1);
    b->bytes = o->bytes;
  }
}

static void put_report(const struct sim_job *j, const struct sim_report *r,
                       struct text *t) {
  double seconds = (double)r->cycles / (j->preset->clock_ghz * 1e9);
  text_printf(t, "preset=%s clock_ghz=%.2f\n", j->preset->name,
              j->preset->clock_ghz);
  text_printf(t, "cycles=%llu\n", (unsigned long long)r->cycles);
  text_printf(t, "microseconds=%.3f\n", seconds * 1e6);
  text_printf(t, "busy_cycles=%llu\n", (unsigned long long)r->busy_cycles);
  text_printf(t, "cores=%d\n", r->cores);
  text_printf(t, "core_cycles=%llu\n", (unsigned long long)r->core_cycles);
  text_printf(t, "mac_cycles=%llu\n", (unsigned long long)r->mac_cycles);
  text_printf(t, "core_util=%.4f\n",
              r->core_cycles ? (double)r->mac_cycles / (double)r->core_cycles
                             : 0);
  text_printf(t, "stall_lock=%llu\n", (unsigned long long)r->stall_lock);
  text_printf(t, "stall_memory=%llu\n", (unsigned long long)r->stall_memory);
  text_printf(t, "stall_memory_own=%llu\n",
              (unsigned long long)r->stall_memory_own);
  text_printf(t, "stall_memory_dma=%llu\n",
              (unsigned long long)r->stall_memory_dma);
  text_printf(t, "stall_memory_neighbour=%llu\n",
              (unsigned long long)r->stall_memory_neighbour);
  text_printf(t, "stall_memory_bus=%llu\n",
              (unsigned long long)r->stall_memory_bus);
  text_printf(t, "bank_conflicts=%llu\n",
              (unsigned long long)r->bank_conflicts);
  text_printf(t, "stall_stream=%llu\n", (unsigned long long)r->stall_stream);
  text_printf(t, "bytes_read=%llu\n", (unsigned long long)r->bytes_read);
  text_printf(t, "bytes_written=%llu\n", (unsigned long long)r->bytes_written);
  double bytes = (double)(r->bytes_read + r->bytes_written);
  text_printf(t, "host_gb_per_s=%.2f\n",
              r->busy_cycles
                  ? bytes * j->preset->clock_ghz / (double)r->busy_cycles
                  : 0);
}

/* A deadlock's message has room for the first causes only. */
static void print_waits(const struct sim *s, const struct design *d) {
  struct text t = {0};
  sim_print_waits(s, &t);
  if (t.length)
    fprintf(stderr, "everything that waits: %s\n", text_string(&t));
  text_free(&t);
  sim_print_deadlock(s, &t);
  if (d)
    names_put_loops(d, text_string(&t), &t);
  fputs(text_string(&t), stderr);
  text_free(&t);
}

struct run {
  struct sim_job *job;
  struct progress progress;
  const struct design *design; /* NULL: not known */
};

/* After every run. */
static void see_run(void *context, const struct sim *s) {
  struct run *r = context;
  const struct sim_job *j = r->job;
  if (sim_failure(s))
    progress_end(&r->progress);
  if (j->watch.ran)
    j->watch.ran(j->watch.context, s);
  else if (sim_failure(s))
    print_waits(s, r->design);
}

static bool run(struct tool *t, struct sim_job *j) {
  size_t length, txn_length;
  make_buffers(t, j);
  const char *xclbin = tool_input(t, j->xclbin, &length);
  const char *txn = xclbin ? tool_input(t, j->txn, &txn_length) : NULL;
  if (!txn)
    return false;
  struct sim_options options = {.preset = j->preset,
                                .cycle_budget = (uint64_t)j->budget,
                                .strict = j->strict,
                                .trace = j->trace ? stderr : NULL,
                                .record = j->watch.ran != NULL};
  struct run r = {.job = j, .progress = {.runs = j->repeat, .quiet = j->trace}};
  progress_begin(&r.progress, &options);
  struct sim *s = sim_open(xclbin, length, &options, &t->diag);
  bool done = s != NULL;
  for (int64_t i = 0; done && i < j->repeat; i++) {
    struct sim_report report = {0};
    r.progress.run = i;
    done = sim_run(s, txn, txn_length, j->argument, j->argument_count, &report,
                   &t->diag);
    see_run(&r, s);
    if ((done || r.progress.stopped) && !j->watch.ran) {
      struct text keys = {0};
      put_report(j, &report, &keys);
      keys_print(t, "%s", text_string(&keys));
      text_free(&keys);
    }
  }
  progress_end(&r.progress);
  sim_close(s);
  for (int i = 0; done && i < j->output_count; i++) {
    const struct sim_job_output *o = &j->output[i];
    done =
        file_write(o->path, j->argument[o->argument].data, o->bytes, &t->diag);
  }
  return done;
}

static bool compiled(struct sim_job *j, const struct npu_result *r) {
  if (j->compiled)
    j->compiled(j->watch.context, r);
  return true;
}

static void put_result(const struct npu_result *r, struct text *t) {
  if (r->blocking.predicted_cycles > 0)
    text_printf(t, "predicted=%.0f\n", r->blocking.predicted_cycles);
  else /* its blocks were not chosen */
    text_puts(t, "predicted=-\n");
  keys_put_packed(r, t);
  text_puts(t, "\n");
  if (r->beyond.kind != DIAG_NONE)
    text_printf(t, "beyond=\"%s\"\n", r->beyond.text);
  text_puts(t, "right=1\n");
}

static bool run_program(struct tool *t, struct sim_job *j) {
  struct npu_result r;
  struct sim_report report = {0};
  struct sim_options options = {.preset = j->preset,
                                .cycle_budget = (uint64_t)j->budget,
                                .strict = j->strict,
                                .trace = j->trace ? stderr : NULL,
                                .record = j->watch.ran != NULL};
  if (j->given || j->output_count || j->repeat > 1)
    return tool_usage(t, "--arg, --out and --repeat are for an xclbin");
  j->program.device = j->preset->name;
  struct run run = {.job = j, .progress = {.runs = 1, .quiet = j->trace}};
  struct sim_names names;
  bool good = job_compile(t, &j->program, &r) && compiled(j, &r);
  if (good) {
    names = names_of(r.design);
    options.names = &names;
    run.design = r.design;
    run.progress.expected_cycles = r.blocking.predicted_cycles;
    progress_begin(&run.progress, &options);
    struct simulate_watch watch = {see_run, &run};
    good = simulate(&r, &options, &watch, &report, &t->diag);
    progress_end(&run.progress);
  }
  if ((good || run.progress.stopped) && !j->watch.ran) {
    struct text keys = {0};
    put_report(j, &report, &keys);
    if (good)
      put_result(&r, &keys);
    keys_print(t, "%s", text_string(&keys));
    text_free(&keys);
  }
  npu_result_free(&r);
  return good;
}

static const char default_preset[] = "8700g";

static void list_presets(struct text *out) {
  for (int i = 0; preset_at(i); i++)
    text_printf(out, "%s%s%s", i ? ", " : "", preset_at(i)->name,
                strcmp(preset_at(i)->name, default_preset) ? "" : " (default)");
}

bool sim_job_read_input(struct tool *t, void *to, const char *word) {
  struct sim_job *j = to;
  j->name = word;
  if (job_is_program(word))
    return job_read_input(t, &j->program, word);
  j->xclbin = word;
  return true;
}

#define AT(field) offsetof(struct sim_job, field)

static const struct tool_option operands[] = {
    {"DESIGN.xclbin|PROGRAM", NULL, sim_job_read_input, 0,
     .help = "configures the array; or what to compile and run, as for: "
             "nputeir help build",
     .flags = TOOL_NEEDED},
    {"RUN.txn", NULL, tool_word, AT(txn),
     .help = "the transaction that runs the xclbin"},
    {0},
};

const struct tool_option sim_job_options[] = {
    {"--sizes", "a=8,b=32", tool_word, AT(program.sizes),
     .help = "extent of every letter of an einsum"},
    {"--layout", "ORDER", tool_word, AT(program.einsum.layout),
     .help = "memory order of an einsum's tensors, in the expression's form"},
    {"--types", "A,B,C", job_read_types, AT(program),
     .help = "of a program's in0, in1 and out (bf16,bf16,f32)"},
    {"--relu", NULL, tool_flag, AT(program.problem.finish.relu),
     .help = "of a program: results below zero become zero"},
    {"--shift", "N", job_read_shift, AT(program), .high = 31,
     .help = "of a program with integer results: sum / 2^N, halves up, "
             "saturated"},
    {"--arg", "FILE", read_argument, 0,
     .help = "the next argument buffer, from 0 on", .flags = TOOL_MANY},
    {"--out", "N:BYTES=FILE", read_output, 0,
     .help =
         "write BYTES of argument N to FILE after the run; an argument without "
         "--arg starts as zeros",
     .flags = TOOL_MANY},
    {"--preset", "NAME", tool_preset, AT(preset), .help = "platform: %s",
     .list = list_presets},
    {"--repeat", "N", tool_number, AT(repeat),
     .help = "run the transaction N times; the array keeps its state", .low = 1,
     .high = 1000000},
    {"--budget", "CYCLES", tool_number, AT(budget),
     .help = "give up after so many cycles (default: never)",
     .high = INT64_MAX},
    {"--strict", NULL, tool_flag, AT(strict),
     .help =
         "a core that breaks a scheduling rule fails, and so does a bank that "
         "serves two accesses in a cycle; cores never run ahead of the array"},
    {"--trace", NULL, tool_flag, AT(trace),
     .help =
         "one line per event on standard error: cycle, place, what happened"},
    KEYS_JSON_OPTION,
    {0},
};

bool sim_job_run(struct tool *t, void *job) {
  struct sim_job *j = job;
  if (!j->preset)
    j->preset = preset_find(default_preset);
  assert(j->preset);
  if (!j->xclbin)
    return j->txn ? tool_usage(t, "'%s' is one word too many", j->txn)
                  : run_program(t, j);
  const struct job *p = &j->program;
  if (p->sizes || p->einsum.layout || p->typed || p->problem.finish.relu ||
      p->problem.finish.saturate)
    return tool_usage(t, "--sizes, --layout, --types, --relu and --shift are "
                         "for a program, not for an xclbin");
  return j->txn ? run(t, j)
                : tool_usage(t,
                             "RUN.txn is missing, if '%s' is an xclbin; it is "
                             "neither MxNxK nor another program",
                             j->name);
}

const struct sim_job sim_job_defaults = {
    .repeat = 1,
    .program = {.problem = {.extent = {1},
                            .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}}};

const struct tool_command tool_sim = {
    .name = "sim",
    .summary = "run an xclbin and a transaction on the simulated array",
    .intro = "Loads the xclbin into a simulated array and runs the transaction "
             "on it: the same bytes that a device would get, register by "
             "register and cycle by cycle. Prints what it took as key=value "
             "lines. A program is compiled first, runs on small whole numbers, "
             "and its results are compared with what it means.",
    .shared = operands,
    .options = sim_job_options,
    .notes = "Keys: cycles (of the run, command processor included), "
             "busy_cycles (first to last cycle in which a core or DMA channel "
             "did something), cores (that ran), core_cycles (cores x "
             "busy_cycles), mac_cycles (a multiply issued), core_util "
             "(mac_cycles / core_cycles), stall_lock, stall_memory, "
             "stall_stream (cycles of busy_cycles, summed over cores), "
             "stall_memory by what had the bank: _own (the same bundle's other "
             "access), _dma, _neighbour (another core), _bus (the command "
             "processor); bank_conflicts (cycles in which a bank had two "
             "requests, summed over banks), bytes_read, bytes_written (host "
             "memory), host_gb_per_s (both, "
             "over busy_cycles); of a program also predicted (cycles, by the "
             "choice of blocks; - where a file has placed them), packed "
             "(tensors that a host would have to lay "
             "otherwise, and why), right=1 (the results are). A deadlock ends "
             "the run with who waits for "
             "what, and as a chain in which each waits for the next. After two "
             "seconds a terminal shows how far the run has "
             "come; Ctrl-C ends it, with the keys as they are by then and "
             "status 1.",
    .job_bytes = sizeof(struct sim_job),
    .job = &sim_job_defaults,
    .run = sim_job_run,
};
