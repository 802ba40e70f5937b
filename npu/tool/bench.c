/* bench.c -- `nputeir bench`: measured numbers, each with its preset or rival.
 *
 * `array` runs whole products on the simulated array and sets them beside the
 * published results of the same size (results.md); `compile` times
 * the compiler, and the way from a product to its binaries. */
#include "bench.h"
#include "keys.h"

#include "seconds.h"
#include "simulate.h"
#include "teir_einsum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Rows of `bench array`; published: TOPS, 0 where nobody published one. */
static const struct {
  const char *name;
  struct teir_problem problem;
  const char *preset;
  double published;
  const char *rival;
  bool long_run; /* minutes of wall clock: only with --all */
  bool columns;  /* in1 is column-major, as in the published product */
} array_case[] = {
/* clang-format off */
#define TYPES(in, acc, out) {DTYPE_##in, DTYPE_##in, DTYPE_##out}, DTYPE_##acc, false, {0}
#define BF16 TYPES(BF16, F32, BF16)
#define BFP16 {DTYPE_BFP16, DTYPE_BFP16, DTYPE_BF16}, DTYPE_F32, false, {0}
#define BF16_F32 TYPES(BF16, F32, F32)
#define INT8_INT32 TYPES(I8, I32, I32)
#define INT8_INT16 TYPES(I8, I16, I16)
#define INT8 TYPES(I8, I8, I8)
    {"bf16-64x64",  {{64, 64, 64, 64}, BF16_F32},       "8700g",       0,    "-", false, false},
    {"bf16-64",    {{1, 64, 64, 64}, BF16_F32},         "8700g",       0,    "-", false, false},
    {"bf16-flat",  {{1, 32, 1024, 1024}, BF16_F32},     "8700g",       0,    "-", false, false},
    {"bf16-tall",  {{1, 1024, 32, 1024}, BF16_F32},     "8700g",       0,    "-", false, false},
    {"bf16-deep",  {{1, 128, 128, 4096}, BF16_F32},     "8700g",       0,    "-", false, false},
    {"bf16-512",   {{1, 512, 512, 512}, BF16_F32},      "8700g",       0,    "-", false, false},
    {"bf16-1024",  {{1, 1024, 1024, 1024}, BF16_F32},   "8700g",       0,    "-", false, false},
    {"bf16-1024",  {{1, 1024, 1024, 1024}, BF16_F32},   "8700g-turbo", 0,    "-", false, false},
    {"bf16-1024",  {{1, 1024, 1024, 1024}, BF16_F32},   "phoenix",     0.6,  "iree-amd-aie#282, f32 out", false, false},
    {"bf16-1024-bf16", {{1, 1024, 1024, 1024}, BF16},   "8700g-turbo", 0,    "-", false, false},
    {"int8-1024",  {{1, 1024, 1024, 1024}, INT8_INT32}, "8700g",       0,    "-", false, false},
    {"bf16-4096",  {{1, 4096, 4096, 5120}, BF16},       "8700g-turbo", 5.79, "thesis, blocked, bf16 out", true, false},
    {"bf16-4096-f32", {{1, 4096, 4096, 5120}, BF16_F32}, "8700g-turbo", 0,   "-", true, false},
    {"bf16-4k",    {{1, 4224, 4224, 4032}, BF16},       "phoenix",     3.12, "Taka, in1 by columns", true, false},
    {"bf16-4k-nk", {{1, 4224, 4224, 4032}, BF16},       "phoenix",     3.12, "Taka, bf16 out", true, true},
    {"bf16-4k-f32", {{1, 4224, 4224, 4032}, BF16_F32},  "phoenix",     0,    "-", true, false},
    {"int8-4k-i32", {{1, 4160, 4224, 4224}, INT8_INT32}, "phoenix",    4.42, "Taka, int8 -> int32", true, false},
    {"int8-4k-i16", {{1, 4224, 4224, 4032}, INT8_INT16}, "phoenix",    5.85, "Taka, int8 -> int16", true, false},
    {"int8-4k",    {{1, 4032, 4032, 4032}, INT8},       "phoenix",     6.52, "Taka, in1 by columns", true, false},
    {"int8-4k-nk", {{1, 4032, 4032, 4032}, INT8},       "phoenix",     6.52, "Taka, int8 -> int8", true, true},
    {"xdna2-int8-2k", {{1, 2048, 2048, 2048}, INT8},    "krackan",     0,    "-", true, false},
    {"xdna2-int8-4k", {{1, 4032, 4608, 4320}, INT8},    "krackan",    0, "-", true, false},
    {"xdna2-int8-4k-nk", {{1, 4032, 4608, 4320}, INT8},    "krackan",    37.35, "Taka, int8 -> int8", true, true},
    {"xdna2-int8-4k-i16", {{1, 4096, 4480, 4320}, INT8_INT16}, "krackan", 0, "-", true, false},
    {"xdna2-int8-4k-i16-nk", {{1, 4096, 4480, 4320}, INT8_INT16}, "krackan", 30.77, "Taka, int8 -> int16", true, true},
    {"xdna2-int8-4k-i32", {{1, 4224, 4608, 4224}, INT8_INT32}, "krackan", 0, "-", true, false},
    {"xdna2-int8-4k-i32-nk", {{1, 4224, 4608, 4224}, INT8_INT32}, "krackan", 24.74, "Taka, int8 -> int32", true, true},
    {"xdna2-bf16-4k", {{1, 4032, 4608, 4224}, BFP16},    "krackan",    0, "-", true, false},
    {"xdna2-bf16-4k-nk", {{1, 4032, 4608, 4224}, BFP16}, "krackan",    14.52, "Taka, bf16 out", true, true},
    {"xdna2-int8-halo", {{1, 4096, 2560, 2560}, INT8_INT32}, "strix-halo", 0, "-", true, false},
    {"xdna2-int8-halo-nk", {{1, 4096, 2560, 2560}, INT8_INT32}, "strix-halo", 33.4, "hipscope, int8 -> int32", true, true},
#undef INT8
#undef INT8_INT16
#undef INT8_INT32
#undef BF16_F32
#undef BF16
#undef BFP16
#undef TYPES
    /* clang-format on */
};
enum { ARRAY_CASES = sizeof array_case / sizeof *array_case };

/* The product with in1 [n][k]. */
static const struct teir *make_columns(struct tool *t,
                                       const struct teir_problem *p) {
  struct teir_einsum e = {.expression = "mk,nk->mn",
                          .extent = {['m'] = p->extent[AXIS_M],
                                     ['n'] = p->extent[AXIS_N],
                                     ['k'] = p->extent[AXIS_K]},
                          .in = p->type[IN0],
                          .out = p->type[OUT]};
  assert(p->acc == p->type[OUT] || p->acc == DTYPE_F32); /* map_sum_type */
  return teir_from_einsum(t->arena, &e, &t->diag);
}

static bool compile(struct tool *t, const char *platform, bool blocked,
                    bool columns, const struct teir_problem *p,
                    struct npu_result *r) {
  memset(r, 0, sizeof *r);
  const struct teir *teir =
      columns ? make_columns(t, p) : teir_from_problem(t->arena, p, &t->diag);
  return teir && (blocked ? npu_compile_blocked : npu_compile)(
                     t->arena, platform, teir, 0, r, &t->diag);
}

/* One row, on its own preset unless one is given. */
struct array_run {
  int index;
  const struct preset *preset; /* or NULL */
  bool blocked; /* tensors in blocks, as the host can make them */
};

static bool run_case(struct tool *t, void *context) {
  const struct array_run *run = context;
  int index = run->index;
  struct diag *d = &t->diag;
  const struct preset *preset =
      run->preset ? run->preset : preset_find(array_case[index].preset);
  assert(preset);
  struct npu_result r;
  const struct teir_problem *p = &array_case[index].problem;
  bool good =
      compile(t, preset->name, run->blocked, array_case[index].columns, p, &r);
  struct sim_report report = {0};
  struct sim_options options = {.preset = preset};
  double start = seconds_now();
  good = good && simulate(&r, &options, NULL, &report, d);
  if (good) {
    double wall = seconds_now() - start;
    double operations = 2.0 * (double)p->extent[AXIS_C] *
                        (double)p->extent[AXIS_M] * (double)p->extent[AXIS_N] *
                        (double)p->extent[AXIS_K];
    double time = (double)report.cycles / (preset->clock_ghz * 1e9) +
                  preset->launch_seconds;
    double tops = operations / time * 1e-12;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    struct text keys = {0};
    text_printf(
        &keys,
        "case=%s size=%lldx%lldx%lld preset=%s cycles=%llu predicted=%.0f "
        "core_util=%.3f dram_mb=%.0f tops=%.3f",
        array_case[index].name, (long long)p->extent[AXIS_M],
        (long long)p->extent[AXIS_N], (long long)p->extent[AXIS_K],
        preset->name, (unsigned long long)report.cycles,
        r.blocking.predicted_cycles,
        (double)report.mac_cycles / (double)report.core_cycles,
        1e-6 * (double)(report.bytes_read + report.bytes_written), tops);
    if (array_case[index].published > 0 && !run->preset)
      text_printf(&keys, " published=%.2f ratio=%.2f rival=\"%s\"",
                  array_case[index].published,
                  tops / array_case[index].published, array_case[index].rival);
    if (p->extent[AXIS_C] > 1)
      text_printf(&keys, " batch=%lld", (long long)p->extent[AXIS_C]);
    text_puts(&keys, " ");
    keys_put_packed(&r, &keys);
    keys_print(t, "%s wall_s=%.1f peak_mb=%ld\n", text_string(&keys), wall,
               usage.ru_maxrss / 1024);
    text_free(&keys);
  }
  npu_result_free(&r);
  return good;
}

struct array_job {
  const char *only;
  const struct preset *preset;
  int shapes, longest; /* 0: as many and as long as are asked for */
  bool predicted;
  bool all, blocked;
};

static const char random_case[] = "random";

static void list_cases(struct text *out) {
  const char *before = "";
  for (int i = 0; i < ARRAY_CASES; i++) {
    if (strcmp(array_case[i].name, before) != 0)
      text_printf(out, "%s%s", i ? ", " : "", array_case[i].name);
    before = array_case[i].name;
  }
  text_printf(out, ", %s, tccg, or tccg-EXPRESSION of one of them",
              random_case);
}

static bool read_case(struct tool *t, void *to, const char *word) {
  *(const char **)to = word;
  if (strcmp(word, random_case) == 0 || bench_is_einsum(word))
    return true;
  for (int i = 0; i < ARRAY_CASES; i++)
    if (strcmp(word, array_case[i].name) == 0)
      return true;
  return tool_usage(t, "array has no case '%s'", word);
}

static bool bench_array(struct tool *t, void *to) {
  const struct array_job *j = to;
  for (int i = 0; i < ARRAY_CASES; i++) {
    if (j->only ? strcmp(j->only, array_case[i].name) != 0
                : array_case[i].long_run && !j->all)
      continue;
    if (!tool_nested(t, run_case,
                     &(struct array_run){i, j->preset, j->blocked}))
      return false;
  }
  if (j->only ? bench_is_einsum(j->only) : j->all)
    if (!bench_einsums(t, j->preset ? j->preset : preset_find("8700g-turbo"),
                       j->only))
      return false;
  enum { SHAPES = 200, LONGEST = 3000 };
  bool random = j->only ? strcmp(j->only, random_case) == 0 : j->all;
  const struct bench_shapes shapes = {
      .preset = j->preset ? j->preset : preset_find("8700g"),
      .count = j->shapes ? j->shapes : SHAPES,
      .longest = j->longest ? j->longest : LONGEST,
      .simulates = !j->predicted};
  return !random || bench_shapes(t, &shapes);
}

static bool compile_case(struct tool *t, void *context) {
  int i = *(const int *)context;
  struct npu_result r;
  double start = seconds_now();
  bool good = compile(t, "npu1", false, array_case[i].columns,
                      &array_case[i].problem, &r);
  double time = seconds_now() - start;
  if (good)
    keys_print(t, "case=%s compile_ms=%.1f xclbin_bytes=%zu txn_bytes=%zu\n",
               array_case[i].name, time * 1e3, r.xclbin.length, r.txn.length);
  npu_result_free(&r);
  return good;
}

static bool bench_compile(struct tool *t, void *to) {
  const struct bench_compile_job *j = to;
  if (!bench_compiler(t, j))
    return false;
  for (int i = 0; !j->file && i < ARRAY_CASES; i++)
    if (!tool_nested(t, compile_case, &i))
      return false;
  return true;
}

/* ---- words ---- */

#define AT(job, field) offsetof(struct job, field)

static const struct tool_option array_options[] = {
    {"CASE", NULL, read_case, AT(array_job, only), .help = "one of %s",
     .list = list_cases},
    {"--preset", "NAME", tool_preset, AT(array_job, preset),
     .help = "instead of each case's own: %s", .list = tool_list_presets},
    {"--all", NULL, tool_flag, AT(array_job, all),
     .help = "the 4096-sized cases, too, which take minutes, and random, which "
             "takes an hour"},
    {"--shapes", "N", tool_int, AT(array_job, shapes),
     .help = "of random: how many shapes (200)", .low = 1, .high = 100000},
    {"--longest", "N", tool_int, AT(array_job, longest),
     .help = "of random: the longest extent (3000)", .low = 128, .high = 8192},
    {"--predicted", NULL, tool_flag, AT(array_job, predicted),
     .help = "of random: cycles as the choice of blocks predicts them, without "
             "a simulation; minutes"},
    {"--blocked", NULL, tool_flag, AT(array_job, blocked),
     .help =
         "tensors in padded blocks that the host would have to make, not in "
         "rows as a program has them"},
    KEYS_JSON_OPTION,
    {0},
};

static const struct tool_option calibration_options[] = {
    {"CAL", NULL, tool_word, AT(bench_calibration_job, only),
     .help = "one of them, by its name in doc/hardware/timing.md"},
    KEYS_JSON_OPTION,
    {0},
};

static const struct tool_option core_options[] = {
    {"ROUNDS", NULL, tool_int, AT(bench_core_job, rounds),
     .help = "of the loop that is timed (1000000)", .low = 1,
     .high = 100000000},
    KEYS_JSON_OPTION,
    {0},
};

static bool read_cpu_case(struct tool *t, void *to, const char *word) {
  *(const char **)to = word;
  return bench_is_einsum(word) || bench_is_cpu_case(word) ||
         tool_usage(t,
                    "there is no case '%s'; there are those that it prints "
                    "without this word, or what these begin with as f32-16, "
                    "and tccg, or one of it as 'tccg-ac,cb->ab', and choice, "
                    "or one of it as choice-f32",
                    word);
}

static const struct tool_option cpu_options[] = {
    {"CASE", NULL, read_cpu_case, AT(bench_cpu_job, only),
     .help =
         "one of these by its name, or all whose names begin so: f32-16-tn, "
         "f32-16, polybench; or tccg: 24 contractions of tensors, in float "
         "and in double, beside transpositions and OpenBLAS, and the "
         "median of the ratios, which takes minutes; or one of them, as "
         "'tccg-ac,cb->ab'; or choice, or choice-f32: small products of "
         "random shapes, where the program chooses between loops and code, "
         "with the mean ratio of what it takes to the better of both, the "
         "share of those with 1.3 and more, the share that takes 1.3 times "
         "what plain clang does, and the worst one"},
    KEYS_JSON_OPTION,
    {0},
};

static const struct tool_option compile_options[] = {
    {"FILE", NULL, tool_word, AT(bench_compile_job, file),
     .help = "is compiled instead"},
    KEYS_JSON_OPTION,
    {"--", NULL, tool_flag, AT(bench_compile_job, words),
     .help =
         "words for the compiler, such as -- -O3 -Iinclude, in the place of "
         "-O2 -ffast-math"},
    {0},
};

static const struct tool_option sizes_options[] = {
    {"PRODUCTS", NULL, tool_int, AT(bench_sizes_job, products),
     .help = "how many (50)", .low = 1, .high = 1000},
    KEYS_JSON_OPTION,
    {0},
};

static const struct tool_option no_options[] = {KEYS_JSON_OPTION, {0}};

static const struct tool_option kernel_options[] = {
    {"--all", NULL, tool_flag, AT(bench_kernels_job, all),
     .help = "a sweep over sizes, edges, transposes and types, too"},
    {"--loaded", NULL, tool_flag, AT(bench_kernels_job, loaded),
     .help = "cycles per step with the channels of in0 and in1 at full rate in "
             "the core's banks, and out's in every 16th step; without kernels "
             "that have no places in a design; those of many steps by their "
             "schedules"},
    {"--svg", "FILE", tool_file_to_write, AT(bench_kernels_job, svg),
     .help = "draws the table"},
    KEYS_JSON_OPTION,
    {0},
};

static const struct tool_command benches[] = {
    {.name = "array",
     .summary = "whole products on the simulated array",
     .intro =
         "Cycles, those that the choice of blocks predicted, share of them in "
         "which cores multiply, bytes to and from device memory, TOPS at "
         "the preset's clock with its launch floor, the published result "
         "of that size, tensors that do not lie as row-major matrices and "
         "why, wall clock of the simulation. A sample of the results is "
         "checked exactly. random: shapes from 128 to 3000 with random leading "
         "dimensions, and of a bound and a start the share that they reach, "
         "and with "
         "shim_ of the bound that counts the shim's channels, too. "
         "tccg: 24 contractions of tensors, on 8700g-turbo, with the share of "
         "the bound and, of four, the published utilisation; one as "
         "'tccg-ac,cb->ab'.",
     .options = array_options,
     .job_bytes = sizeof(struct array_job),
     .run = bench_array},
    {.name = "calibration",
     .summary = "experiments that were made on hardware, repeated on the "
                "simulated array",
     .intro = "The value, the published one, whether it is within the "
              "tolerance (a share of it), and whether a constant of the "
              "simulator was fitted to it; in products of others, a loop of "
              "their kernel's length stands for it.",
     .options = calibration_options,
     .job_bytes = sizeof(struct bench_calibration_job),
     .run = bench_calibration},
    {.name = "calls",
     .summary = "nanoseconds that a call adds to a small loop which stays with "
                "the program",
     .intro =
         "Without an NPU; with one that would be slower, as measured; with "
         "an explicit min-macs; of a nest that never has the same sizes twice, "
         "in both ways; and those of an 8x8x8 product that the interpreter "
         "computes.",
     .options = no_options,
     .run = bench_calls},
    {.name = "compile",
     .summary = "what the plugin adds to the time of a compilation",
     .intro =
         "Processor time of clang with the plugin and without, in turns: of "
         "one product of floats, for this processor and for any, of a function "
         "with 100, which share code, or of a file of yours; with the "
         "kilobytes that it adds to the object. Then, without a file, the "
         "time from a product to all its binaries for the NPU.",
     .options = compile_options,
     .job_bytes = sizeof(struct bench_compile_job),
     .run = bench_compile},
    {.name = "core",
     .summary = "bundles per second of the core simulator on one CPU core",
     .options = core_options,
     .job_bytes = sizeof(struct bench_core_job),
     .run = bench_core},
    {.name = "cpu",
     .summary = "products of floats by loops that are compiled for this "
                "processor",
     .intro = "With the plugin's device=cpu, beside the peak of fused "
              "multiply-adds that the core shows, OpenBLAS where it is "
              "installed (openblas_kernels: those it runs; the better ones "
              "where a release does not know the processor), and plain clang. "
              "nn to tt: which inputs are transposed. Then integers and bf16 "
              "(beside oneDNN where it is installed), vectors, flat and small "
              "products, convolutions, "
              "nests of PolyBench.",
     .options = cpu_options,
     .job_bytes = sizeof(struct bench_cpu_job),
     .run = bench_cpu},
    {.name = "kernels",
     .summary = "cycles of generated kernels from call to return on the core "
                "simulator, the published ones, the ratio, the limit",
     .options = kernel_options,
     .job_bytes = sizeof(struct bench_kernels_job),
     .run = bench_kernels},
    {.name = "sizes",
     .summary = "what a new size costs a program that multiplies many",
     .intro =
         "Of products of random extents from 128 to 2000, one after the "
         "other: how many do with blocks that are known from earlier ones, "
         "milliseconds from the TEIR to the transaction for those, and for "
         "those that are searched for (medians), and of all in the mean; "
         "microseconds of a launch for the change from the configuration "
         "before, and what known blocks lose beside what is possible, which "
         "ends in a search when it is as much as one takes (means).",
     .options = sizes_options,
     .job_bytes = sizeof(struct bench_sizes_job),
     .run = bench_sizes},
    {0},
};

static bool run_all(struct tool *t, void *job) {
  (void)job;
  for (const struct tool_command *b = benches; b->name; b++) {
    printf("== %s\n", b->name);
    fflush(stdout);
    if (!tool_run_action(t, b))
      return false;
  }
  return true;
}

const struct tool_command tool_bench = {
    .name = "bench",
    .summary = "measured numbers beside published ones",
    .intro = "Without a benchmark, all of them in turn. Lines are key=value; "
             "kernels prints a table.",
    .actions = benches,
    .action = "benchmark",
    .run = run_all,
};
