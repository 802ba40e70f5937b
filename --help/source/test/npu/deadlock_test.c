/* deadlock_test.c -- designs of the compiler in which one lock starts with a
 * wrong value: who waits for whom is told with the design's own names, to the
 * lock that is wrong. */
#include "check.h"
#include "names.h"
#include "npu.h"
#include "record.h"
#include "setup.h"

#include <stdlib.h>
#include <string.h>

struct mistake {
  const char *lock; /* of the design; its value becomes 0 */
  int column, row;
  const char *line[2]; /* of the chain */
};

static const struct mistake mistakes[] = {
    {"in1_empty", 2, 3,
     {"core (2,3) S2MM1 (in1_0_in) waits for lock 2 (in1_empty) of core (2,3) "
      "to be at least 1; it is 0\n",
      "in1 is the program's in1: blocks of"}},
    {"out_empty", 1, 4,
     {"(out_empty) of core (1,4) to be at least", "out is the program's out"}},
    {"in0_0_empty", 0, 1,
     {"mem (0,1) S2MM0 (in0_0_in) waits for lock", "in0 is the program's in0"}},
};

static const struct design_lock *find(const struct design *d,
                                      const struct mistake *m) {
  for (int i = 0; i < d->lock_count; i++) {
    const struct design_lock *l = &d->lock[i];
    if (l->column == m->column && l->row == m->row &&
        strcmp(l->name, m->lock) == 0)
      return l;
  }
  return NULL;
}

static void check(struct arena *a, const struct npu_result *r,
                  const struct mistake *m) {
  struct diag d = {0};
  struct sim_names names = names_of(r->design);
  struct sim_options options = {.preset = preset_find("8700g"),
                                .record = true,
                                .names = &names};
  struct sim_buffer buffer[TENSORS];
  struct sim_report report;
  struct text t = {0};
  for (int i = 0; i < TENSORS; i++) {
    buffer[i].bytes = 1 << 20;
    buffer[i].data = calloc(1, buffer[i].bytes);
  }
  struct sim *s = sim_open(r->xclbin.data, r->xclbin.length, &options, &d);
  struct command_list *wrong = command_list(a);
  const struct design_lock *l = find(r->design, m);
  CHECK(l);
  if (s && l) {
    set_lock(wrong, l->column, l->row, l->id, 0);
    CHECK(sim_apply(s, wrong, &d));
    CHECK(!sim_execute(s, r->run, buffer, TENSORS, &report, &d));
    CHECK(strstr(d.text, "deadlock at cycle "));
    sim_print_deadlock(s, &t);
    names_put_loops(r->design, text_string(&t), &t);
  }
  for (int i = 0; i < 2; i++)
    if (!strstr(text_string(&t), m->line[i])) {
      CHECK(!"the chain names the mistake");
      fprintf(stderr, "no '%s' in:\n%s", m->line[i], text_string(&t));
    }
  CHECK(s && sim_record(s)); /* what led there */
  text_free(&t);
  sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
}

int main(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct teir_problem p = {.extent = {1, 256, 256, 256},
                           .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}};
  p.acc = map_sum_type(device_find("npu1"), &p);
  const struct teir *t = teir_from_problem(a, &p, &d);
  bool good = t && npu_compile(a, "8700g", t, 0, &r, &d);
  CHECK(good);
  for (size_t i = 0; good && i < sizeof mistakes / sizeof *mistakes; i++)
    check(a, &r, &mistakes[i]);
  npu_result_free(&r);
  arena_close(a);
  return check_result();
}
