/* container_test.c -- PDI, xclbin and core ELF: what is written reads back,
 * offsets are those of formats.md, damage is reported and never followed. */
#include "check.h"
#include "commands.h"
#include "fuzz.h"

#include <stdlib.h>

static uint64_t at(const void *p, size_t offset, int bytes) {
  uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; i--)
    v = v << 8 | ((const uint8_t *)p)[offset + (size_t)i];
  return v;
}

static struct text make_pdi(struct arena *a) {
  struct text cdo = {0}, pdi = {0};
  struct diag d = {0};
  CHECK(cdo_write(passthrough_init(a), &cdo, &d));
  CHECK(pdi_write(cdo.data, cdo.length, &pdi, &d));
  text_free(&cdo);
  return pdi;
}

static const struct xclbin_info info = {.kernel = "NPUTEIR",
                                        .columns = 4,
                                        .start_column_count = 2,
                                        .start_columns = {1, 2},
                                        .buffer_arguments = 3};

static struct text make_xclbin(struct arena *a) {
  struct text pdi = make_pdi(a), xclbin = {0};
  struct diag d = {0};
  CHECK(xclbin_write(&info, pdi.data, pdi.length, &xclbin, &d));
  text_free(&pdi);
  return xclbin;
}

/* Offsets of formats.md section 2 around a CDO of 177 words. */
static void test_pdi(struct arena *a) {
  struct text pdi = make_pdi(a);
  struct diag d = {0};
  const void *cdo;
  size_t length;
  CHECK(pdi.length == 1056);
  CHECK(at(pdi.data, 0x10 + 4 * 10, 4) == 0x50504449);
  CHECK(at(pdi.data, 0xd0, 4) == 180 && at(pdi.data, 0xd4, 4) == 177);
  CHECK(pdi_read(pdi.data, pdi.length, &cdo, &length, &d));
  CHECK((const char *)cdo == pdi.data + 0x150 && length == 4 * 177);
  struct command_list *l = cdo_read(a, cdo, length, &d);
  CHECK(l && commands_equal(l, passthrough_init(a)));
  text_free(&pdi);
}

static bool holds(const char *data, size_t size, const char *text) {
  size_t n = strlen(text);
  for (size_t i = 0; i + n <= size; i++)
    if (memcmp(data + i, text, n) == 0)
      return true;
  return false;
}

static const char *section(const struct text *x, uint32_t kind, size_t *size) {
  for (uint32_t i = 0; i < at(x->data, 0x1c0, 4); i++) {
    size_t h = 0x1c8 + 40 * (size_t)i;
    if (at(x->data, h, 4) != kind)
      continue;
    *size = at(x->data, h + 0x20, 8);
    return x->data + at(x->data, h + 0x18, 8);
  }
  *size = 0;
  return NULL;
}

/* Fields of section 3.2 at their offsets. */
static void test_xclbin_layout(struct arena *a) {
  struct text x = make_xclbin(a);
  size_t size;
  CHECK(memcmp(x.data, "xclbin2", 8) == 0);
  CHECK(at(x.data, 0x08, 4) == 0xffffffff && (uint8_t)x.data[0x127] == 0xff);
  CHECK(at(x.data, 0x130, 8) == x.length && x.length % 8 == 0);
  CHECK(at(x.data, 0x1c0, 4) == 7);
  const char *s = section(&x, 6, &size);
  static const uint8_t memory[40] = {
      2, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0,   0,   0,   0,
      1, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 'H', 'O', 'S', 'T'};
  CHECK(s && size == 88 && memcmp(s, memory, sizeof memory) == 0);
  s = section(&x, 8, &size);
  CHECK(s && size == 88 && at(s, 8, 4) == 7 && at(s, 12, 4) == 0x09010001);
  CHECK(s && at(s, 16, 8) == UINT64_MAX && strcmp(s + 24, "NPUTEIR:npu") == 0);
  s = section(&x, 7, &size);
  CHECK(s && size == 4 + 4 * 12 && at(s, 4, 4) == 1 && at(s, 12, 4) == 1);
  CHECK(s && at(s, 40, 4) == 5 && at(s, 48, 4) == 0);
  s = section(&x, 32, &size);
  CHECK(s && at(s, 8, 4) == 2048 && at(s, 0x20, 2) == 4);
  CHECK(s && s[at(s, 4, 4)] == 0 && s[at(s, 0x80, 4)] == 0);
  CHECK(s && at(s, 0x28, 4) == 2 && at(s, at(s, 0x2c, 4) + 2, 2) == 2);
  size_t pdi = at(s, 0x7c, 4), group = at(s, pdi + 28, 4);
  CHECK(at(s, 0x78, 4) == 1 && at(s, pdi + 16, 4) == 1056);
  CHECK(at(s, pdi + 24, 4) == 1 && at(s, group + 4, 1) == 1);
  CHECK(at(s, group + 16, 4) == 1 && at(s, at(s, group + 20, 4), 8) == 0x901);
  s = section(&x, 2, &size);
  CHECK(s && holds(s, size,
                   "<kernel name=\"NPUTEIR\" language=\"c\" type=\"dpu\">"));
  CHECK(s && holds(s, size, "offset=\"0x24\"")); /* bo2 */
  text_free(&x);
}

static void test_xclbin_round(struct arena *a) {
  struct text pdi = make_pdi(a), x = make_xclbin(a), again = make_xclbin(a);
  struct xclbin_info back;
  const void *inside;
  size_t length;
  struct diag d = {0};
  CHECK(x.length == again.length && memcmp(x.data, again.data, x.length) == 0);
  CHECK(xclbin_read(x.data, x.length, &back, &inside, &length, &d));
  CHECK(length == pdi.length && memcmp(inside, pdi.data, length) == 0);
  CHECK(strcmp(back.kernel, "NPUTEIR") == 0 && back.columns == 4);
  CHECK(back.start_column_count == 2 && back.start_columns[1] == 2);
  CHECK(back.buffer_arguments == 3 && at(back.uuid, 0, 8) != 0);
  /* another PDI, another uuid; a given one stays */
  struct text other = {0}, fixed = {0};
  struct xclbin_info given = info, other_info;
  pdi.data[pdi.length - 1] ^= 1;
  CHECK(xclbin_write(&info, pdi.data, pdi.length, &other, &d));
  CHECK(
      xclbin_read(other.data, other.length, &other_info, &inside, &length, &d));
  CHECK(memcmp(other_info.uuid, back.uuid, 16) != 0);
  memset(given.uuid, 0x5a, 16);
  CHECK(xclbin_write(&given, pdi.data, pdi.length, &fixed, &d));
  CHECK(memcmp(fixed.data + 0x1a0, given.uuid, 16) == 0);
  text_free(&pdi);
  text_free(&x);
  text_free(&again);
  text_free(&other);
  text_free(&fixed);
}

static void test_xclbin_refused(void) {
  static const struct {
    struct xclbin_info info;
    const char *says;
  } c[] = {
      {{.kernel = "", .columns = 4, .start_column_count = 1}, "name has 0"},
      {{.kernel = "a\"b", .columns = 4, .start_column_count = 1}, "a\"b"},
      {{.kernel = "k", .columns = 9, .start_column_count = 1}, "9 columns"},
      {{.kernel = "k", .columns = 4}, "0 start columns"},
      {{.kernel = "k",
        .columns = 4,
        .start_column_count = 1,
        .buffer_arguments = 8},
       "8 buffer arguments; at most 7"},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    struct text x = {0};
    struct diag d = {0};
    CHECK(!xclbin_write(&c[i].info, "pdi", 4, &x, &d) && !x.length);
    CHECK(strstr(d.text, c[i].says));
  }
}

/* ---- core ELF ---- */

static void set(uint8_t *p, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++)
    p[i] = (uint8_t)(v >> 8 * i);
}

static void segment(uint8_t *elf, int index, uint32_t type, uint32_t address,
                    uint32_t offset, uint32_t file, uint32_t memory) {
  uint8_t *h = elf + 52 + 32 * index;
  set(h, type, 4);
  set(h + 4, offset, 4);
  set(h + 12, address, 4);
  set(h + 16, file, 4);
  set(h + 20, memory, 4);
}

/* Two segments: 6 bytes of program at 0x10, 4 + 8 bytes of data. */
static void make_elf(uint8_t elf[160]) {
  memset(elf, 0, 160);
  memcpy(elf, "\177ELF\1\1\1", 7);
  set(elf + 18, 264, 2);
  set(elf + 28, 52, 4);
  set(elf + 42, 32, 2);
  set(elf + 44, 3, 2);
  segment(elf, 0, 1, 0x10, 148, 6, 6);
  segment(elf, 1, 6, 0xffffffff, 0, 0, 4);
  segment(elf, 2, 1, 0x70400, 156, 4, 12);
  for (int i = 148; i < 160; i++)
    elf[i] = (uint8_t)i;
}

static void test_elf(struct arena *a) {
  uint8_t elf[160];
  make_elf(elf);
  struct command_list *l = command_list(a);
  struct diag d = {0};
  CHECK(elf_load(device_at(0), elf, sizeof elf, 1, 2, l, &d) && l->count == 2);
  CHECK(l->item[0].kind == COMMAND_BLOCK && l->item[0].count == 2);
  CHECK(l->item[0].address == 0x02220010);
  CHECK(l->item[0].words[0] == 0x97969594 && l->item[0].words[1] == 0x9998);
  CHECK(l->item[1].address == 0x02200400 && l->item[1].count == 3);
  CHECK(l->item[1].words[0] == 0x9f9e9d9c && l->item[1].words[2] == 0);
  set(elf + 36, 2, 4); /* e_flags: aie2 */
  CHECK(elf_load(device_find("npu1"), elf, sizeof elf, 1, 2, l, &d));
  CHECK(!elf_load(device_find("npu4"), elf, sizeof elf, 1, 2, l, &d) &&
        strstr(d.text, "npu4 has cores of aie2p"));
}

static void elf_refused(struct arena *a, const uint8_t *elf, size_t length,
                        const char *says) {
  struct diag d = {0};
  CHECK(!elf_load(device_at(0), elf, length, 0, 2, command_list(a), &d));
  CHECK(strstr(d.text, says));
}

static void test_elf_refused(struct arena *a) {
  uint8_t elf[160];
  make_elf(elf);
  elf_refused(a, elf, 51, "not a little-endian ELF32");
  elf_refused(a, elf, 150,
              "a segment at offset 148 is past the end of the file (150");
  elf_refused(a, elf, 100, "program headers");
  set(elf + 18, 62, 2);
  elf_refused(a, elf, 160, "machine 62");
  make_elf(elf);
  segment(elf, 0, 1, 0x3ffc, 148, 6, 8);
  elf_refused(a, elf, 160, "8 bytes at 0x3ffc lies neither");
  segment(elf, 0, 1, 0x50000, 148, 6, 8);
  elf_refused(a, elf, 160, "0x50000");
  segment(elf, 0, 1, 0x12, 148, 6, 8);
  elf_refused(a, elf, 160, "multiples of 4");
  segment(elf, 0, 1, 0x10, 148, 9, 8);
  elf_refused(a, elf, 160, "has 9 bytes");
  make_elf(elf);
  set(elf + 44, 0, 2);
  elf_refused(a, elf, 160, "no loadable segment");
}

/* ---- mutation: flip, overwrite and cut; fuzz.c says what must hold ---- */

static uint32_t random_state = 12345;
static uint32_t pick(uint32_t below) {
  random_state = random_state * 1664525 + 1013904223;
  return (random_state >> 8) % below;
}

static size_t mutate(uint8_t *p, size_t length) {
  static const uint32_t nasty[] = {
      0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x10000, 0xff};
  for (uint32_t n = 1 + pick(3); n; n--) {
    if (pick(2) || length < 4)
      p[pick((uint32_t)length)] ^= (uint8_t)(1 + pick(255));
    else
      set(p + pick((uint32_t)length - 3) / 4 * 4, nasty[pick(8)], 4);
  }
  return pick(4) ? length : pick((uint32_t)length) + 1;
}

static void test_garbage(struct arena *a) {
  struct text cdo = {0}, txn = {0}, pdi = make_pdi(a), x = make_xclbin(a);
  struct diag d = {0};
  uint8_t elf[160], bd[33] = {1};
  make_elf(elf);
  CHECK(cdo_write(passthrough_init(a), &cdo, &d));
  CHECK(txn_write(passthrough_run(a), device_at(0), 1, &txn, &d));
  const struct {
    const void *bytes;
    size_t length;
  } seed[FUZZ_KINDS] = {
      [FUZZ_CDO] = {cdo.data, cdo.length}, [FUZZ_PDI] = {pdi.data, pdi.length},
      [FUZZ_XCLBIN] = {x.data, x.length},  [FUZZ_TXN] = {txn.data, txn.length},
      [FUZZ_ELF] = {elf, sizeof elf},      [FUZZ_BD] = {bd, sizeof bd},
  };
  static uint8_t copy[1 << 16];
  int read[FUZZ_KINDS] = {0};
  enum { ROUNDS = 4000 };
  for (int i = 0; i < ROUNDS * FUZZ_KINDS; i++) {
    int kind = i % FUZZ_KINDS;
    bool accepted;
    copy[0] = (uint8_t)kind;
    memcpy(copy + 1, seed[kind].bytes, seed[kind].length);
    size_t length = mutate(copy + 1, seed[kind].length);
    CHECK(fuzz_one(copy, length + 1, &accepted));
    read[kind] += accepted;
  }
  for (int kind = 0; kind < FUZZ_KINDS; kind++)
    CHECK(read[kind] > 100 && read[kind] < ROUNDS - 100);
  text_free(&cdo);
  text_free(&txn);
  text_free(&pdi);
  text_free(&x);
}

int main(void) {
  struct arena *a = arena_open();
  test_pdi(a);
  test_xclbin_layout(a);
  test_xclbin_round(a);
  test_xclbin_refused();
  test_elf(a);
  test_elf_refused(a);
  test_garbage(a);
  arena_close(a);
  return check_result();
}
