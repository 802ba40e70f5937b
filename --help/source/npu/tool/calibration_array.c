/* calibration_array.c -- whole products of others: CAL-14 to CAL-22.
 *
 * Taka's are row- or column-major in device memory and keep one block of out;
 * the thesis's keep two of everything.  DRAM's rates for long runs are those
 * that CAL-14 and CAL-20 showed, for short ones those of CAL-15 and of CAL-21's
 * row-major layout (preset.def): these are fitted, the others follow. */
#include "calibration.h"

/* clang-format off */
#define BF16(m, k, n)    m, k, n, 2, 2, 128
#define INT8(m, k, n)    m, k, n, 1, 1, 256
#define INT8_16(m, k, n) m, k, n, 1, 2, 256
#define INT8_32(m, k, n) m, k, n, 1, 4, 256
#define XDNA2(m, k, n, out) m, k, n, 1, out, 512
#define XDNA2_BF16(m, k, n) m, k, n, 2, 2, 512 /* by block floats */
/* Cycles of a kernel from its multiply-adds per cycle. */
#define RATE(m, k, n, r) ((double)(m) * (k) * (n) / (r))
#define ROWS  false, false, false, false
#define WAITS false, false, false, true
#define BLOCKS true, false, true, false
#define MAJOR false, true, true, false
#define STEINERT(preset, layout) \
  {preset, BF16(64, 64, 64), RATE(64, 64, 64, 0.873 * 128), 64, 2, layout, 4096, 5120, 4096}
static const struct rival designs[] = {
    /* preset    blocks                kernel's cycles             chunk out layout  size */
    {"phoenix", BF16(96, 56, 96),      RATE(96, 56, 96, 99.8),     224, 1, ROWS,  4224, 4032, 4224},
    {"phoenix", BF16(96, 56, 96),      RATE(96, 56, 96, 99.8),      56, 1, ROWS,  4224, 4032, 4224},
    {"phoenix", INT8(112, 112, 112),   RATE(112, 112, 112, 212.5), 448, 1, ROWS,  4032, 4032, 4032},
    {"phoenix", INT8_16(64, 216, 64),  RATE(64, 216, 64, 217.6),   864, 1, ROWS,  4096, 4320, 4096},
    {"phoenix", INT8_16(96, 112, 96),  RATE(96, 112, 96, 192.0),   448, 1, ROWS,  4224, 4032, 4224},
    {"phoenix", INT8_16(96, 112, 96),  RATE(96, 112, 96, 192.0),   448, 1, WAITS, 4224, 4032, 4224},
    {"phoenix", BF16(80, 40, 96),      RATE(80, 40, 96, 91.7),     240, 2, ROWS,  4160, 4080, 4224},
    {"phoenix", BF16(96, 48, 112),     RATE(96, 48, 112, 97.3),    336, 1, ROWS,  4224, 4032, 4032},
    {"phoenix", INT8_32(80, 88, 96),   RATE(80, 88, 96, 146.0),    352, 1, ROWS,  4160, 4224, 4224},
    {"phoenix-15", BF16(96, 56, 96),   RATE(96, 56, 96, 99.8),     224, 1, ROWS,  4224, 4032, 4224},
    STEINERT("8700g-powersaver", BLOCKS), STEINERT("8700g", BLOCKS), STEINERT("8700g-turbo", BLOCKS),
    STEINERT("8700g-powersaver", MAJOR),  STEINERT("8700g", MAJOR),  STEINERT("8700g-turbo", MAJOR),
    {"krackan-66", XDNA2(144, 72, 144, 1), RATE(144, 72, 144, 343.0), 432, 1, ROWS, 4032, 4320, 4608},
    {"krackan-66", XDNA2(128, 72, 112, 2), RATE(128, 72, 112, 307.2), 432, 1, ROWS, 4096, 4320, 4480},
    {"krackan-66", XDNA2(96, 64, 96, 4),   RATE(96, 64, 96, 256.0),   384, 1, ROWS, 4224, 4224, 4608},
    {"krackan-66", XDNA2_BF16(112, 48, 96), RATE(112, 48, 96, 137.2), 384, 1, ROWS, 4032, 4224, 4608},
    {"krackan",    XDNA2(144, 72, 144, 1), RATE(144, 72, 144, 343.0), 432, 1, ROWS, 4032, 4320, 4608},
};
/* clang-format on */
enum {
  TAKA,
  TAKA_SHORT,
  TAKA_INT8,
  TAKA_BEST_KERNEL,
  TAKA_INT16,
  TAKA_WAITS,
  TAKA_TWO_OUT,
  TAKA_WIDE,
  TAKA_INT32,
  TAKA_SLOW,
  BLOCKED, /* in three power modes */
  ROW_MAJOR = BLOCKED + 3,
  KRACKAN_INT8 = ROW_MAJOR + 3,
  KRACKAN_INT16,
  KRACKAN_INT32,
  KRACKAN_BF16,
  KRACKAN_SLOW,
  DESIGNS
};
_Static_assert(sizeof designs / sizeof *designs == DESIGNS, "one per name");
enum { POWERSAVER, BALANCED, TURBO };

/* Several rows are about the same design; it runs once. */
static bool tops(int design, double *value, struct diag *d) {
  static double known[DESIGNS];
  if (!known[design] && !rival_tops(&designs[design], &known[design], d))
    return false;
  *value = known[design];
  return true;
}

/* Percent less than the same design that does not wait. */
static bool loss_of_waiting(int design, double *value, struct diag *d) {
  double with, without;
  if (!tops(design, &with, d) || !tops(TAKA_INT16, &without, d))
    return false;
  *value = 100 * (with / without - 1);
  return true;
}

/* Percent of the multiplies that 16 cores could do at the preset's clock. */
static bool utilisation(int design, double *value, struct diag *d) {
  const struct rival *r = &designs[design];
  double peak = 2e-3 * 16 * r->macs * preset_find(r->preset)->clock_ghz;
  if (!tops(design, value, d))
    return false;
  *value *= 100 / peak;
  return true;
}

static bool difference(int above, int below, double *value, struct diag *d) {
  double a, b;
  if (!utilisation(above, &a, d) || !utilisation(below, &b, d))
    return false;
  *value = a - b;
  return true;
}

static bool below_blocked(int mode, double *value, struct diag *d) {
  return difference(BLOCKED + mode, ROW_MAJOR + mode, value, d);
}
static bool blocked_below_mode(int mode, double *value, struct diag *d) {
  return difference(BLOCKED + mode, BLOCKED + mode + 1, value, d);
}
static bool rows_below_mode(int mode, double *value, struct diag *d) {
  return difference(ROW_MAJOR + mode, ROW_MAJOR + mode + 1, value, d);
}

static bool configuration(int design, double *value, struct diag *d) {
  bool good = rival_configuration(&designs[design], value, d);
  *value *= 1e3;
  return good;
}

static bool launch(int unused, double *value, struct diag *d) {
  (void)unused;
  (void)d;
  *value = 1e6 * preset_find("phoenix")->launch_seconds;
  return true;
}

/* clang-format off */
static const struct calibration rows[] = {
    {"14", "Taka bf16 96x56x96, chunks of 224", tops, TAKA, 3.12, 0.03, "TOPS", true, NULL},
    {"15", "Taka bf16 96x56x96, chunks of 56", tops, TAKA_SHORT, 1.27, 0.10, "TOPS", true, NULL},
    {"16", "Taka int8 112x112x112", tops, TAKA_INT8, 6.52, 0.03, "TOPS", false, NULL},
    {"17", "Taka int8 to int16 64x216x64", tops, TAKA_BEST_KERNEL, 4.03, 0.05, "TOPS", false, NULL},
    {"17", "Taka int8 to int16 96x112x96", tops, TAKA_INT16, 5.85, 0.03, "TOPS", false, NULL},
    {"18", "Taka int8 to int16 96x112x96, descriptors rewritten when all is done", loss_of_waiting, TAKA_WAITS, -27, 0.19, "percent", false, "which descriptors they rewrite between two waits is not published; here those of one block of out, so a block waits 50,000 cycles of the 72,000 that theirs do"},
    {"19", "Taka bf16 80x40x96, two buffers of out", tops, TAKA_TWO_OUT, 2.76, 0.05, "TOPS", false, "its kernel's cycles are not published: those of their others per element of out"},
    {"N16", "Taka bf16 96x48x112", tops, TAKA_WIDE, 3.02, 0.03, "TOPS", false, NULL},
    {"N16", "Taka int8 to int32 80x88x96", tops, TAKA_INT32, 4.42, 0.03, "TOPS", false, NULL},
    {"N12", "Taka bf16 96x56x96, chunks of 224, were DRAM as in their benchmark", tops, TAKA_SLOW, 3.12, 0.03, "TOPS", false, "the preset phoenix-15; so their products say 17 GB/s, as phoenix has"},
    {"20", "Steinert bf16 64x64x64, turbo, blocked", tops, BLOCKED + TURBO, 5.79, 0.03, "TOPS", true, NULL},
    {"21", "Steinert, powersaver: row-major below blocked", below_blocked, POWERSAVER, 1.3, 2.3, "points", true, NULL},
    {"21", "Steinert, row-major: balanced below powersaver", rows_below_mode, POWERSAVER, 4, 0.75, "points", true, NULL},
    {"21", "Steinert, row-major: turbo below balanced", rows_below_mode, BALANCED, 22, 0.14, "points", true, NULL},
    {"21", "Steinert, blocked: balanced below powersaver", blocked_below_mode, POWERSAVER, 0, 3, "points", false, NULL},
    {"21", "Steinert, blocked: turbo below balanced", blocked_below_mode, BALANCED, 0, 3, "points", false, NULL},
    {"P14", "another configuration of the array", configuration, TAKA_INT16, 3.4, 0.1, "ms", false, "what the command processor writes; the driver's part of a new context is not modelled, and no run of ours has one"},
    {"N21", "Taka int8 144x72x144, XDNA2", tops, KRACKAN_INT8, 37.35, 0.05, "TOPS", false, NULL},
    {"N21", "Taka int8 to int16 128x72x112, XDNA2", tops, KRACKAN_INT16, 30.77, 0.05, "TOPS", false, NULL},
    {"N21", "Taka int8 to int32 96x64x96, XDNA2", tops, KRACKAN_INT32, 24.74, 0.05, "TOPS", true, NULL},
    {"N21", "Taka bf16 112x48x96, XDNA2", tops, KRACKAN_BF16, 14.52, 0.05, "TOPS", false, NULL},
    {"N20", "Taka int8 144x72x144, XDNA2, were DRAM as in their benchmark", tops, KRACKAN_SLOW, 37.35, 0.05, "TOPS", false, "the preset krackan; so their products say 66 GB/s, as krackan-66 has"},
    {"22", "a run of nothing, as the host sees it", launch, 0, 52.5, 0.15, "us", true, NULL},
};
/* clang-format on */
const struct calibration_table calibration_array = {rows,
                                                    sizeof rows / sizeof *rows};
