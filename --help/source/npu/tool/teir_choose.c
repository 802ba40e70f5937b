/* teir_choose.c -- `nputeir teir choose`: a schedule for a contraction on a
 * machine, or the reasons for it. */
#include "teir_choose.h"
#include "teir_cpu_schedule.h"
#include "teir_job.h"

#include <string.h>

/* A preset's name, or a file that changes the preset xdna. */
static bool read_machine(struct teir_job *j, enum dtype in,
                         struct teir_machine *m) {
  const char *name = j->machine ? j->machine : "xdna";
  if (teir_machine_preset(name, in, m))
    return true;
  struct diag unread = {0};
  char *text = file_read(j->arena, name, NULL, &unread);
  if (!text)
    return diag_error(&j->d, unread.at,
                      "%s; machines of the model are xdna, xdna2 and "
                      "processors; the array is scheduled by nputeir map",
                      unread.text);
  return teir_machine_preset("xdna", in, m) &&
         teir_machine_parse(name, text, m, &j->d);
}

static bool take_number(struct teir_job *j, const char *key, const char *value,
                        int64_t *to) {
  struct scan s = scan_open(NULL, value);
  return (scan_int(&s, to) && scan_end(&s) && *to > 0) ||
         diag_error(&j->d, loc_none(), "%s=%s: a whole number from 1 up", key,
                    value);
}

/* One word KEY=VALUE that fixes a part of the choice. */
static bool take_wish(struct teir_job *j, const char *word,
                      struct teir_wish *w) {
  const char *equals = strchr(word, '=');
  if (!equals || !equals[1])
    return diag_error(&j->d, loc_none(), "'%s' is not KEY=VALUE", word);
  const char *key = arena_substring(j->arena, word, (size_t)(equals - word));
  const char *value = equals + 1;
  struct {
    const char *key;
    int64_t *number;
    const char **name;
  } known[] = {{"block_m", &w->block_m, NULL}, {"block_n", &w->block_n, NULL},
               {"block_k", &w->block_k, NULL}, {"run_k", &w->run_k, NULL},
               {"axis_m", NULL, &w->axis_m},   {"axis_n", NULL, &w->axis_n},
               {"axis_k", NULL, &w->axis_k},   {"rows", NULL, &w->rows},
               {"columns", NULL, &w->columns}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(key, known[i].key) != 0)
      continue;
    if (known[i].number)
      return take_number(j, key, value, known[i].number);
    *known[i].name = value;
    return true;
  }
  if (strcmp(key, "over_rows") == 0 && strchr("MN", value[0]) && !value[1]) {
    w->over_rows = value[0] == 'M' ? TEIR_M : TEIR_N;
    return true;
  }
  if (strcmp(key, "out_buffers") == 0 && strchr("12", value[0]) && !value[1]) {
    w->out_buffers = value[0] - '0';
    return true;
  }
  return diag_error(&j->d, loc_none(), "'%s' cannot be fixed", word);
}

/* What the plugin emits is not a choice of this call's. */
static bool choose_processor(struct teir_job *j, const struct teir_cpu *cpu) {
  if (j->words || j->explain)
    return diag_error(&j->d, loc_none(),
                      "a processor's schedule is what the plugin emits: "
                      "nothing can be fixed or explained");
  return teir_job_show(j, teir_cpu_schedule(j->arena, j->teir, cpu, &j->d));
}

bool teir_job_choose(struct teir_job *j) {
  const struct teir_cpu *cpu = j->machine ? teir_cpu_find(j->machine) : NULL;
  if (cpu)
    return choose_processor(j, cpu);
  struct teir_wish w = {.over_rows = TEIR_ROLES};
  struct teir_machine m;
  struct teir_choice c;
  int in0 = teir_find_tensor(j->teir, "in0");
  enum dtype in = in0 < 0 ? DTYPE_F32 : j->teir->tensor[in0].type;
  for (int i = 0; i < j->words; i++)
    if (!take_wish(j, j->word[i], &w))
      return false;
  if (!read_machine(j, in, &m) ||
      !teir_choose(j->arena, j->teir, &m, &w, &c, &j->d))
    return false;
  if (j->explain) {
    teir_choice_explain(&c, &m, &j->out);
    return true;
  }
  return teir_job_show(j, teir_choice_apply(j->arena, &c, &j->d));
}
