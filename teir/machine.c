/* machine.c -- reads, prints and presets the plain description of a machine
 * that the chooser takes. */
#include "teir_choose.h"

#include <string.h>

#include <stdlib.h>

enum kind { INT, LONG, DOUBLE };
static const struct {
  const char *name;
  enum kind kind;
  size_t offset;
} field[] = {
#define FIELD(name, kind) {#name, kind, offsetof(struct teir_machine, name)}
    FIELD(rows, INT),          FIELD(columns, INT),
    FIELD(clock_hz, DOUBLE),   FIELD(peak_macs, DOUBLE),
    FIELD(unit_m, INT),        FIELD(unit_n, INT),
    FIELD(unit_k, INT),        FIELD(l1_bytes, LONG),
    FIELD(l2_bytes, LONG),     FIELD(l1_bytes_per_cycle, DOUBLE),
    FIELD(out_cycles, DOUBLE), FIELD(out_cycles_per_byte, DOUBLE),
#undef FIELD
};
enum { FIELDS = sizeof field / sizeof *field };

/* A number with an optional fraction and exponent. */
static bool read_number(struct scan *s, double *value) {
  char *end;
  if (scan_end_of_line(s))
    return false;
  *value = strtod(s->at, &end);
  if (end == s->at || !(*value >= 0 && *value <= 1e18))
    return false;
  s->at = end;
  return true;
}

static bool read_run(struct scan *s, struct teir_machine *m, struct diag *d) {
  double bytes, rate;
  struct loc at = scan_loc(s);
  if (!read_number(s, &bytes) || !read_number(s, &rate))
    return scan_expected(s, d, "the run's bytes, and bytes per second");
  if (m->run_count == TEIR_MACHINE_RUNS)
    return diag_error(d, at, "more than %d runs", TEIR_MACHINE_RUNS);
  if (rate <= 0 ||
      (m->run_count && bytes <= (double)m->run[m->run_count - 1].run_bytes))
    return diag_error(d, at,
                      "runs are listed with the shortest first and "
                      "have a bandwidth above 0");
  m->run[m->run_count].run_bytes = (int64_t)bytes;
  m->run[m->run_count++].bytes_per_second = rate;
  return true;
}

static bool read_field(struct scan *s, struct teir_machine *m, int f,
                       struct diag *d) {
  double value;
  char *to = (char *)m + field[f].offset;
  struct loc at = scan_loc(s);
  if (!read_number(s, &value))
    return scan_expected(s, d, "a number that is not negative");
  if (field[f].kind == DOUBLE) {
    *(double *)to = value;
    return true;
  }
  double most = field[f].kind == INT ? 65536 : 1e15;
  if (value < 1 || value > most || value != (double)(int64_t)value)
    return diag_error(d, at, "%s is a whole number from 1 to %.0f",
                      field[f].name, most);
  if (field[f].kind == INT)
    *(int *)to = (int)value;
  else
    *(int64_t *)to = (int64_t)value;
  return true;
}

bool teir_machine_parse(const char *file, const char *text,
                        struct teir_machine *m, struct diag *d) {
  bool runs = false;
  for (struct scan s = scan_open(file, text); !scan_end(&s);
       scan_next_line(&s)) {
    bool run = scan_word(&s, "run");
    if (run && !runs)
      m->run_count = 0; /* given runs replace the preset's */
    runs = runs || run;
    int f = 0;
    while (!run && f < FIELDS && !scan_word(&s, field[f].name))
      f++;
    if (!run && f == FIELDS)
      return scan_expected(&s, d, "a field of a machine");
    if (!(run ? read_run(&s, m, d) : read_field(&s, m, f, d)))
      return false;
    if (!scan_end_of_line(&s))
      return scan_expected(&s, d, "the end of the line");
  }
  return true;
}

void teir_machine_print(const struct teir_machine *m, struct text *to) {
  for (int f = 0; f < FIELDS; f++) {
    const char *at = (const char *)m + field[f].offset;
    double value = field[f].kind == DOUBLE ? *(const double *)at
                   : field[f].kind == INT  ? *(const int *)at
                                           : (double)*(const int64_t *)at;
    text_printf(to, "%s %.15g\n", field[f].name, value);
  }
  for (int i = 0; i < m->run_count; i++)
    text_printf(to, "run %lld %.15g\n", (long long)m->run[i].run_bytes,
                m->run[i].bytes_per_second);
}

/* Taka et al., sections 3.1, 4.5 and 5.2: memories, clock, peak; DRAM as they
 * measured it for short and for long runs, and between them in between.  The
 * cycles per element of out are fitted to their Tables 1 to 3; XDNA2 runs bf16
 * on its block floating-point units, whose rate is fitted, too. */
bool teir_machine_preset(const char *name, enum dtype in,
                         struct teir_machine *m) {
  bool second = strcmp(name, "xdna2") == 0, bf16 = in == DTYPE_BF16;
  if (!second && strcmp(name, "xdna") != 0)
    return false;
  *m = (struct teir_machine){
      .rows = 4,
      .columns = second ? 8 : 4,
      .clock_hz = second ? 1.8e9 : 1e9,
      .peak_macs = second ? (bf16 ? 170 : 512) : (bf16 ? 128 : 256),
      .unit_m = second ? 8 : 4,
      .unit_n = second ? 8
                : bf16 ? 4
                       : 8,
      .unit_k = 8,
      .l1_bytes = 63 << 10,
      .l2_bytes = (second ? 8 : 4) * (INT64_C(512) << 10),
      .l1_bytes_per_cycle = second ? 8 : 4,
      .out_cycles = second ? 0.03 : 0.01,
      .out_cycles_per_byte = second ? 0.035 : 0.065,
      .run_count = 3,
      .run = {{0, second ? 15e9 : 6.9e9},
              {192, second ? 35e9 : 12e9},
              {320, second ? 50e9 : 15e9}},
  };
  return true;
}
