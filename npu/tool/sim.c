/* `nputeir sim`: runs any xclbin and transaction on the simulated array, with
 * files as argument buffers. */
#include "sim.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 32 };

struct output {
  int argument;
  size_t bytes;
  const char *path;
};

struct job {
  struct arena *arena;
  const char *xclbin, *txn;
  const struct preset *preset;
  struct sim_buffer argument[MOST_ARGUMENTS];
  int argument_count, given; /* given: by --arg */
  struct output output[MOST_ARGUMENTS];
  int output_count;
  int64_t repeat, budget;
  bool trace, strict;
};

/* N:BYTES=FILE */
static bool parse_output(struct job *j, char *word) {
  char *colon = strchr(word, ':');
  char *equals = colon ? strchr(colon, '=') : NULL;
  int64_t argument, bytes;
  if (!equals || !equals[1]) {
    tool_usage("sim", "--out wants N:BYTES=FILE, not '%s'", word);
    return false;
  }
  *colon = *equals = '\0';
  if (!tool_number("sim", "--out", word, 0, MOST_ARGUMENTS - 1, &argument) ||
      !tool_number("sim", "--out", colon + 1, 1, INT64_C(1) << 32, &bytes))
    return false;
  if (j->output_count == MOST_ARGUMENTS) {
    tool_usage("sim", "more than %d --out", MOST_ARGUMENTS);
    return false;
  }
  j->output[j->output_count++] = (struct output){
      .argument = (int)argument, .bytes = (size_t)bytes, .path = equals + 1};
  return true;
}

static bool parse_preset(struct job *j, const char *name) {
  j->preset = preset_find(name);
  if (j->preset)
    return true;
  struct text known = {0};
  for (int i = 0; preset_at(i); i++)
    text_printf(&known, "%s%s", i ? ", " : "", preset_at(i)->name);
  tool_usage("sim", "no preset '%s'; there are %s", name, text_string(&known));
  text_free(&known);
  return false;
}

static bool add_argument(struct job *j, const char *path, struct diag *d) {
  size_t bytes;
  if (j->given == MOST_ARGUMENTS)
    return diag_error(d, loc_none(), "more than %d --arg", MOST_ARGUMENTS);
  char *data = file_read(j->arena, path, &bytes, d);
  if (!data)
    return false;
  j->argument[j->given++] = (struct sim_buffer){data, bytes};
  return true;
}

/* Options that take a word; *status is TOOL_DONE unless it was wrong. */
static bool take_option(struct job *j, const char *option, char *word,
                        int *status) {
  struct diag d = {0};
  bool good = true;
  if (strcmp(option, "--arg") == 0) {
    if (!add_argument(j, word, &d))
      *status = tool_fail(&d);
    return true;
  }
  if (strcmp(option, "--out") == 0)
    good = parse_output(j, word);
  else if (strcmp(option, "--preset") == 0)
    good = parse_preset(j, word);
  else if (strcmp(option, "--repeat") == 0)
    good = tool_number("sim", option, word, 1, 1000000, &j->repeat);
  else if (strcmp(option, "--budget") == 0)
    good = tool_number("sim", option, word, 0, INT64_MAX, &j->budget);
  else
    return false;
  if (!good)
    *status = TOOL_USAGE;
  return true;
}

static int parse(struct job *j, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    int status = TOOL_DONE;
    if (strcmp(argv[i], "--trace") == 0)
      j->trace = true;
    else if (strcmp(argv[i], "--strict") == 0)
      j->strict = true;
    else if (argv[i][0] == '-' && argv[i][1] == '-') {
      if (i + 1 == argc || !take_option(j, argv[i], argv[i + 1], &status))
        return tool_usage("sim", "no option '%s', or it lacks its value",
                          argv[i]);
      i++;
    } else if (!j->xclbin)
      j->xclbin = argv[i];
    else if (!j->txn)
      j->txn = argv[i];
    else
      return tool_usage("sim", "one word too many: '%s'", argv[i]);
    if (status != TOOL_DONE)
      return status;
  }
  if (!j->txn)
    return tool_usage("sim", "an xclbin and a transaction are needed");
  return TOOL_DONE;
}

/* Gives every --out a buffer of at least its size. */
static void make_buffers(struct job *j) {
  j->argument_count = j->given;
  for (int i = 0; i < j->output_count; i++) {
    const struct output *o = &j->output[i];
    struct sim_buffer *b = &j->argument[o->argument];
    if (o->argument >= j->argument_count)
      j->argument_count = o->argument + 1;
    if (b->bytes >= o->bytes)
      continue;
    b->data = arena_copy(j->arena, b->data, b->bytes, o->bytes, 1);
    b->bytes = o->bytes;
  }
}

static void print_report(const struct job *j, const struct sim_report *r) {
  double seconds = (double)r->cycles / (j->preset->clock_ghz * 1e9);
  printf("preset=%s clock_ghz=%.2f\n", j->preset->name, j->preset->clock_ghz);
  printf("cycles=%llu\n", (unsigned long long)r->cycles);
  printf("microseconds=%.3f\n", seconds * 1e6);
  printf("busy_cycles=%llu\n", (unsigned long long)r->busy_cycles);
  printf("cores=%d\n", r->cores);
  printf("core_cycles=%llu\n", (unsigned long long)r->core_cycles);
  printf("mac_cycles=%llu\n", (unsigned long long)r->mac_cycles);
  printf("core_util=%.4f\n",
         r->core_cycles ? (double)r->mac_cycles / (double)r->core_cycles : 0);
  printf("stall_lock=%llu\n", (unsigned long long)r->stall_lock);
  printf("stall_memory=%llu\n", (unsigned long long)r->stall_memory);
  printf("stall_memory_own=%llu\n", (unsigned long long)r->stall_memory_own);
  printf("stall_memory_dma=%llu\n", (unsigned long long)r->stall_memory_dma);
  printf("stall_memory_neighbour=%llu\n",
         (unsigned long long)r->stall_memory_neighbour);
  printf("stall_memory_bus=%llu\n", (unsigned long long)r->stall_memory_bus);
  printf("bank_conflicts=%llu\n", (unsigned long long)r->bank_conflicts);
  printf("stall_stream=%llu\n", (unsigned long long)r->stall_stream);
  printf("bytes_read=%llu\n", (unsigned long long)r->bytes_read);
  printf("bytes_written=%llu\n", (unsigned long long)r->bytes_written);
  double bytes = (double)(r->bytes_read + r->bytes_written);
  printf("host_gb_per_s=%.2f\n",
         r->busy_cycles ? bytes * j->preset->clock_ghz / (double)r->busy_cycles
                        : 0);
}

/* A deadlock's message has room for the first causes only. */
static void print_waits(const struct sim *s, const struct diag *d) {
  struct text t = {0};
  if (strncmp(d->text, "deadlock", 8) != 0)
    return;
  sim_print_waits(s, &t);
  fprintf(stderr, "everything that waits: %s\n", text_string(&t));
  text_free(&t);
}

static bool run(struct job *j, struct diag *d) {
  size_t length, txn_length;
  const char *xclbin = file_read(j->arena, j->xclbin, &length, d);
  const char *txn = xclbin ? file_read(j->arena, j->txn, &txn_length, d) : NULL;
  if (!txn)
    return false;
  struct sim_options options = {.preset = j->preset,
                                .cycle_budget = (uint64_t)j->budget,
                                .strict = j->strict,
                                .trace = j->trace ? stderr : NULL};
  struct sim *s = sim_open(xclbin, length, &options, d);
  bool done = s != NULL;
  for (int64_t i = 0; done && i < j->repeat; i++) {
    struct sim_report report = {0};
    done =
        sim_run(s, txn, txn_length, j->argument, j->argument_count, &report, d);
    if (done)
      print_report(j, &report);
    else
      print_waits(s, d);
  }
  sim_close(s);
  for (int i = 0; done && i < j->output_count; i++) {
    const struct output *o = &j->output[i];
    done = file_write(o->path, j->argument[o->argument].data, o->bytes, d);
  }
  return done;
}

static int run_sim(int argc, char **argv) {
  struct diag d = {0};
  struct job j = {
      .arena = arena_open(), .preset = preset_find("8700g"), .repeat = 1};
  int status = parse(&j, argc, argv);
  if (status == TOOL_DONE) {
    make_buffers(&j);
    if (!run(&j, &d))
      status = tool_fail(&d);
  }
  arena_close(j.arena);
  return status;
}

const struct tool_command tool_sim = {
    .name = "sim",
    .summary = "run an xclbin and a transaction on the simulated array",
    .help =
        "usage: nputeir sim DESIGN.xclbin RUN.txn [options]\n"
        "\n"
        "Loads the xclbin into a simulated array and runs the transaction on "
        "it:\n"
        "the same bytes that a device would get, register by register and "
        "cycle by\n"
        "cycle.  Prints what it took as key=value lines.\n"
        "\n"
        "  --arg FILE           the next argument buffer, from 0 on\n"
        "  --out N:BYTES=FILE   write BYTES of argument N to FILE after the "
        "run; an\n"
        "                       argument without --arg starts as zeros\n"
        "  --preset NAME        platform: 8700g (default), phoenix,\n"
        "                       8700g-powersaver, 8700g-turbo\n"
        "  --repeat N           run the transaction N times; the array keeps "
        "its state\n"
        "  --budget CYCLES      give up after so many cycles (default: never)\n"
        "  --strict             a core that breaks a scheduling rule fails, "
        "and so does\n"
        "                       a bank that serves two accesses in a cycle; "
        "cores never\n"
        "                       run ahead of the array\n"
        "  --trace              one line per event on standard error: cycle, "
        "place,\n"
        "                       what happened\n"
        "\n"
        "Keys: cycles (of the run, command processor included), busy_cycles "
        "(first to\n"
        "last cycle in which a core or DMA channel did something), cores "
        "(that ran),\n"
        "core_cycles (cores x busy_cycles), mac_cycles (a multiply issued), "
        "core_util\n"
        "(mac_cycles / core_cycles), stall_lock, stall_memory, stall_stream "
        "(cycles\n"
        "of busy_cycles, summed over cores), stall_memory by what had the "
        "bank: _own\n"
        "(the same bundle's other access), _dma, _neighbour (another core), "
        "_bus (the\n"
        "command processor); bank_conflicts (cycles in which a bank had two "
        "requests,\n"
        "summed over banks), bytes_read, bytes_written (host memory), "
        "host_gb_per_s\n"
        "(both, over busy_cycles).\n"
        "A deadlock ends the run with who waits for what.\n",
    .run = run_sim,
};
