/* profile_test.c -- what a profile says of runs whose limit is known because
 * they are made here, lane by lane. */
#include "check.h"
#include "profile.h"

#include <string.h>

enum { CYCLES = 1000, MOST = 8 };

struct made {
  struct record record;
  struct record_lane lane[MOST];
  struct record_span span[MOST];
};

/* A lane of one span. */
static struct record_lane *add(struct made *m, enum record_kind kind,
                               int column, int row,
                               const uint32_t n[RECORD_CAUSES]) {
  int i = m->record.lane_count++;
  struct record_lane *l = &m->lane[i];
  uint64_t sum = 0;
  *l = (struct record_lane){.kind = kind, .column = column, .row = row};
  l->span = &m->span[i];
  l->span_count = 1;
  for (int c = 0; c < RECORD_CAUSES; c++) {
    l->span->cycles[c] = n[c];
    l->total[c] = n[c];
    sum += n[c];
  }
  CHECK(sum == CYCLES);
  if (kind == RECORD_S2MM || kind == RECORD_MM2S)
    l->words = n[RECORD_MOVE];
  return l;
}

static void begin(struct made *m) {
  *m = (struct made){.record = {.columns = 4, .rows = 6}};
  m->record.lane = m->lane;
  m->record.preset = preset_find("8700g");
  m->record.report.cycles = CYCLES;
  m->record.report.mac_cycles = 100;
  add(m, RECORD_CONTROL, 0, 0,
      (uint32_t[RECORD_CAUSES]){[RECORD_WORK] = 50, [RECORD_TOKEN] = 950});
}

/* A core that waits for in1 in 60 % of the cycles. */
static void add_waiting_core(struct made *m) {
  struct record_lane *l = add(
      m, RECORD_CORE, 2, 3,
      (uint32_t[RECORD_CAUSES]){
          [RECORD_MULTIPLY] = 300, [RECORD_WORK] = 50, [RECORD_LOCK] = 650});
  l->lock_for[1] = 600;
  l->start_wait = 50;
}

static void add_channel(struct made *m, enum record_kind kind, int column,
                        int row, unsigned argument,
                        const uint32_t n[RECORD_CAUSES]) {
  struct record_lane *l = add(m, kind, column, row, n);
  l->arguments = 1u << argument;
  if (row)
    return;
  l->argument_bytes[argument] = 4 * l->words;
  l->dram_cycles = 0.1 * (double)l->words;
}

static void check_says(struct made *m, const char *first, const char *second) {
  struct text t = {0};
  struct profile *p = profile_open();
  struct profile_nest n = {.name = "a.c:1 \"f\" </script>",
                           .what = "",
                           .least_bytes = {400, 400, 400}};
  profile_name_tensors(&n);
  CHECK(profile_add(p, &m->record, &n) == 0);
  profile_print(p, &t);
  bool good = strstr(text_string(&t), first) && strstr(text_string(&t), second);
  CHECK(good);
  if (!good)
    fprintf(stderr, "no '%s' and '%s' in: %s\n", first, second,
            text_string(&t));
  text_free(&t);
  profile_page(p, &t);
  CHECK(strstr(text_string(&t), "a.c:1 \\\"f\\\" \\u003c/script>"));
  text_free(&t);
  profile_trace(p, &t);
  CHECK(strstr(text_string(&t), "\"traceEvents\""));
  text_free(&t);
  profile_close(p);
}

static void check_dram(void) {
  struct made m;
  begin(&m);
  add_waiting_core(&m);
  add_channel(
      &m, RECORD_MM2S, 1, 0, 0,
      (uint32_t[RECORD_CAUSES]){[RECORD_MOVE] = 990, [RECORD_STREAM] = 10});
  add_channel(
      &m, RECORD_MM2S, 2, 0, 1,
      (uint32_t[RECORD_CAUSES]){
          [RECORD_MOVE] = 400, [RECORD_DRAM] = 450, [RECORD_STREAM] = 150});
  add_channel(
      &m, RECORD_MM2S, 2, 1, 1,
      (uint32_t[RECORD_CAUSES]){[RECORD_MOVE] = 400, [RECORD_LOCK] = 600});
  check_says(&m,
             "they wait for in1 in 60 %: in1's stream into column 2 waits "
             "for DRAM in 45 % of the cycles",
             "in0 moves 9.9 times, and with blocks twice as long along n DRAM "
             "would move 36 % less");
}

static void check_stream(void) {
  struct made m;
  begin(&m);
  add_waiting_core(&m);
  add_channel(
      &m, RECORD_MM2S, 2, 0, 1,
      (uint32_t[RECORD_CAUSES]){[RECORD_MOVE] = 500, [RECORD_STREAM] = 500});
  add_channel(
      &m, RECORD_MM2S, 2, 1, 1,
      (uint32_t[RECORD_CAUSES]){[RECORD_MOVE] = 970, [RECORD_LOCK] = 30});
  check_says(&m,
             "in1's stream out of the mem tile of column 2 moves words in "
             "97 % of the cycles",
             "longer blocks along m would send it less often");
}

static void check_latency(void) {
  struct made m;
  begin(&m);
  add_waiting_core(&m);
  add_channel(
      &m, RECORD_MM2S, 2, 1, 1,
      (uint32_t[RECORD_CAUSES]){[RECORD_MOVE] = 400, [RECORD_LOCK] = 600});
  check_says(&m, "is so in 40 % of the cycles only", "more buffers");
}

static void check_tasks(void) {
  struct made m;
  begin(&m);
  add_waiting_core(&m);
  add_channel(
      &m, RECORD_MM2S, 2, 0, 1,
      (uint32_t[RECORD_CAUSES]){[RECORD_MOVE] = 400, [RECORD_IDLE] = 600});
  check_says(&m, "has no task in 60 % of the cycles", "command processor");
}

static void check_cores(void) {
  struct made m;
  begin(&m);
  add(&m, RECORD_CORE, 0, 2,
      (uint32_t[RECORD_CAUSES]){[RECORD_MULTIPLY] = 900, [RECORD_BANK] = 100});
  m.record.report.stall_memory = m.record.report.stall_memory_dma = 100;
  check_says(&m,
             "1 core multiplies in 90.0 % of 1000 cycles; the multipliers "
             "are the limit",
             "10 %, of that 100 % for DMA channels");
  begin(&m);
  add(&m, RECORD_CORE, 0, 2,
      (uint32_t[RECORD_CAUSES]){[RECORD_MULTIPLY] = 400, [RECORD_WORK] = 600});
  check_says(&m, "in 60 % they run bundles without a multiply", "along k");
}

static void check_ends(void) {
  struct made m;
  begin(&m);
  struct record_lane *l = add(
      &m, RECORD_CORE, 0, 2,
      (uint32_t[RECORD_CAUSES]){[RECORD_MULTIPLY] = 200, [RECORD_LOCK] = 800});
  l->start_wait = 700;
  l->end_wait = 100;
  check_says(&m,
             "70 % of them pass before the cores' first multiply, in cycle "
             "700",
             "more work in one launch");
}

/* Calls of a device, one second each, whose largest part is known. */
static void check_device_part(struct profile_call part, const char *says) {
  enum { MANY = 5000 };
  struct profile *p = profile_open();
  const struct profile_nest n = {.name = "a", .what = "b", .macs = 1e9};
  struct profile_host h = {0};
  struct text t = {0}, page = {0}, trace = {0};
  CHECK(profile_add_device(p, "npu", &n) == 0);
  for (int i = 0; i < MANY; i++) {
    struct profile_call c = part;
    c.at = 100 + i;
    c.seconds = 1;
    profile_add_call(p, 0, &c);
    h.calls++;
    h.launches++;
    h.copied_bytes += 1000000;
    h.seconds += c.seconds;
    h.build += c.build;
    h.copy += c.copy;
    h.wait += c.wait;
  }
  profile_set_host(p, 0, &h);
  profile_print(p, &t);
  profile_page(p, &page);
  profile_trace(p, &trace);
  CHECK(strstr(text_string(&t), "\ndevice=npu "));
  if (!strstr(text_string(&t), says))
    printf("%s\n", text_string(&t));
  CHECK(strstr(text_string(&t), says));
  CHECK(strstr(text_string(&t), "host: calls=5000 launches=5000 "));
  CHECK(strstr(text_string(&page), "[4095.000000000,1.0"));
  CHECK(!strstr(text_string(&page), "[4096.000000000,1.0"));
  CHECK(strstr(text_string(&trace), "\"ts\":0.000,\"dur\":1000000.000"));
  text_free(&t);
  text_free(&page);
  text_free(&trace);
  profile_close(p);
}

static void check_device(void) {
  check_device_part((struct profile_call){.wait = 0.5, .copy = 0.25},
                    "limit: calls wait for the device in 50 % of their time, "
                    "500000.0 us each in the median, 0.00 TOPS");
  check_device_part((struct profile_call){.build = 0.75, .copy = 0.125},
                    "limit: making launches takes 75 % ");
  check_device_part((struct profile_call){.copy = 0.625, .wait = 0.25},
                    "limit: copies and conversions take 62 % of the calls' "
                    "time, 1.0 MB a call");
  check_device_part((struct profile_call){.wait = 0.25},
                    "limit: the runtime itself takes 75 % of the calls' time, "
                    "750000.0 us a call");
}

int main(void) {
  check_device();
  check_dram();
  check_stream();
  check_latency();
  check_tasks();
  check_cores();
  check_ends();
  return check_result();
}
