/* record_test.c -- where the simulator says that cycles went: every lane's
 * spans are the whole run, what cores and channels did is what the report
 * counts otherwise, and a record changes no cycle. */
#include "check.h"
#include "npu.h"
#include "record.h"

#include <stdlib.h>
#include <string.h>

static uint64_t sum(const uint64_t *n, int count) {
  uint64_t all = 0;
  for (int i = 0; i < count; i++)
    all += n[i];
  return all;
}

static bool is_empty(const struct record_span *s) {
  for (int c = 0; c < RECORD_CAUSES; c++)
    if (s->cycles[c])
      return false;
  return true;
}

static void check_lane(const struct record *r, const struct record_lane *l) {
  uint64_t spans[RECORD_CAUSES] = {0};
  CHECK(sum(l->total, RECORD_CAUSES) == r->report.cycles);
  CHECK(l->span_count > 0 && l->span_count <= RECORD_SPANS);
  for (int i = 0; i < l->span_count; i++)
    for (int c = 0; c < RECORD_CAUSES; c++)
      spans[c] += l->span[i].cycles[c];
  for (int i = 0; i < l->span_count; i++)
    CHECK(!is_empty(&l->span[i]));
  CHECK(memcmp(spans, l->total, sizeof spans) == 0);
  uint64_t divided =
      sum(l->lock_for, RECORD_ARGUMENTS + 1) + l->start_wait + l->end_wait;
  CHECK(l->kind == RECORD_CORE ? divided == l->total[RECORD_LOCK]
                               : divided <= l->total[RECORD_LOCK]);
  if (l->kind == RECORD_S2MM || l->kind == RECORD_MM2S)
    CHECK(l->total[RECORD_MOVE] <= l->words);
}

/* In tile (column, row), of all cores. */
static void check_record(const struct record *r, const struct tile_program *p) {
  uint64_t macs = 0, lock = 0, bank = 0, words[2] = {0}, bytes[TENSORS] = {0};
  int cores = 0;
  for (int i = 0; i < r->lane_count; i++) {
    const struct record_lane *l = &r->lane[i];
    check_lane(r, l);
    if (l->kind == RECORD_CORE) {
      cores++;
      macs += l->total[RECORD_MULTIPLY];
      lock += l->total[RECORD_LOCK];
      bank += l->total[RECORD_BANK];
      /* the cores of these designs wait for blocks of the three tensors, and
       * shortly for the launch's numbers */
      CHECK(l->lock_for[RECORD_ARGUMENTS] < 100);
    }
    if (tile_kind(l->row) == TILE_SHIM && l->kind != RECORD_CONTROL) {
      words[l->kind == RECORD_MM2S] += l->words;
      for (int a = 0; a < TENSORS; a++)
        bytes[a] += l->argument_bytes[a];
    }
    if (l->kind == RECORD_S2MM || l->kind == RECORD_MM2S) /* one tensor each */
      CHECK(l->arguments == 1 || l->arguments == 2 || l->arguments == 4);
  }
  CHECK(cores == r->report.cores && cores == p->grid.m * p->grid.n);
  CHECK(macs == r->report.mac_cycles);
  CHECK(bank == r->report.stall_memory);
  CHECK(lock >= r->report.stall_lock);
  CHECK(words[1] * 4 == r->report.bytes_read);
  CHECK(words[0] * 4 == r->report.bytes_written);
  CHECK(bytes[OUT] == r->report.bytes_written);
  CHECK(bytes[IN0] + bytes[IN1] == r->report.bytes_read);
}

static bool run_twice(const struct npu_result *r, bool record,
                      struct sim_report report[2], struct diag *d) {
  struct sim_options options = {.preset = preset_find("8700g"),
                                .record = record};
  struct sim_buffer buffer[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &r->program->transfer[i];
    buffer[x->tensor].bytes = (size_t)x->bytes;
    buffer[x->tensor].data = calloc(1, (size_t)x->bytes);
  }
  struct sim *s = sim_open(r->xclbin.data, r->xclbin.length, &options, d);
  bool good = s != NULL;
  for (int i = 0; i < 2 && good; i++) {
    good =
        sim_run(s, r->txn.data, r->txn.length, buffer, TENSORS, &report[i], d);
    CHECK(!sim_record(s) == !record);
    if (good && record)
      check_record(sim_record(s), r->program);
  }
  sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  return good;
}

struct stop {
  int calls;
  struct sim_progress last;
};

static bool stop_soon(void *context, const struct sim_progress *p) {
  struct stop *s = context;
  CHECK(p->cycles > s->last.cycles && p->operation <= p->operations &&
        p->operation >= s->last.operation);
  s->last = *p;
  return ++s->calls < 3;
}

/* A run that is stopped has a report and a record of what was done. */
static void check_stop(const struct npu_result *r) {
  struct stop stop = {0};
  struct diag d = {0};
  struct sim_options options = {.preset = preset_find("8700g"),
                                .record = true,
                                .progress = stop_soon,
                                .progress_context = &stop};
  struct sim_buffer buffer[TENSORS];
  struct sim_report report;
  for (int i = 0; i < TENSORS; i++) {
    buffer[i].bytes = 1 << 20;
    buffer[i].data = calloc(1, buffer[i].bytes);
  }
  struct sim *s = sim_open(r->xclbin.data, r->xclbin.length, &options, &d);
  CHECK(s &&
        !sim_run(s, r->txn.data, r->txn.length, buffer, TENSORS, &report, &d));
  CHECK(stop.calls == 3 && strstr(d.text, "stopped in cycle "));
  CHECK(report.cycles == stop.last.cycles && report.cycles > 2 << 13);
  const struct record *record = sim_record(s);
  for (int i = 0; i < record->lane_count; i++)
    check_lane(record, &record->lane[i]);
  sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
}

/* A run that ends anywhere has lanes as long as it was, also of cores that had
 * run ahead. */
static void check_budgets(const struct npu_result *r, uint64_t cycles) {
  struct sim_buffer buffer[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    buffer[i].bytes = 1 << 20;
    buffer[i].data = calloc(1, buffer[i].bytes);
  }
  for (uint64_t budget = 1; budget < cycles; budget += 187) {
    struct diag d = {0};
    struct sim_options options = {
        .preset = preset_find("8700g"), .record = true, .cycle_budget = budget};
    struct sim_report report;
    struct sim *s = sim_open(r->xclbin.data, r->xclbin.length, &options, &d);
    CHECK(s && !sim_run(s, r->txn.data, r->txn.length, buffer, TENSORS, &report,
                        &d));
    const struct record *record = sim_record(s);
    CHECK(record && record->report.cycles == budget);
    for (int i = 0; i < record->lane_count; i++)
      check_lane(record, &record->lane[i]);
    sim_close(s);
  }
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
}

static void check_product(int64_t m, int64_t n, int64_t k, enum dtype in,
                          enum dtype out) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct teir_problem p = {.extent = {1, m, n, k}, .type = {in, in, out}};
  struct sim_report with[2], without[2];
  p.acc = map_sum_type(device_find("npu1"), &p);
  const struct teir *t = teir_from_problem(a, &p, &d);
  bool good = t && npu_compile(a, "8700g", t, 0, &r, &d) &&
              run_twice(&r, true, with, &d) &&
              run_twice(&r, false, without, &d);
  CHECK(good);
  if (good)
    CHECK(memcmp(with, without, sizeof with) == 0);
  if (good && m == 256)
    check_stop(&r);
  if (good && m == 64)
    check_budgets(&r, with[0].cycles);
  else
    fprintf(stderr, "%s\n", d.text);
  npu_result_free(&r);
  arena_close(a);
}

int main(void) {
  check_product(64, 64, 64, DTYPE_BF16, DTYPE_F32);
  check_product(256, 256, 512, DTYPE_BF16, DTYPE_F32);
  check_product(128, 384, 256, DTYPE_I8, DTYPE_I32);
  return check_result();
}
