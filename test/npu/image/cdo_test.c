/* cdo_test.c -- the short command forms we write, both forms that we read,
 * alignment of block data, and what is refused. */
#include "check.h"
#include "commands.h"

static uint32_t word(const struct text *t, size_t i) {
  uint32_t w;
  memcpy(&w, t->data + 4 * i, 4);
  return w;
}

/* 5 words of header, 31 writes of 3, 2 masked writes of 4, blocks of 6 and 8
 * words behind 3, and 9 words of padding. */
static void test_passthrough(struct arena *a) {
  struct text t = {0};
  struct diag d = {0};
  CHECK(cdo_write(passthrough_init(a), &t, &d));
  CHECK(t.length == 4 * 177);
  CHECK(word(&t, 0) == 4 && word(&t, 1) == 0x004f4443);
  CHECK(word(&t, 2) == 0x200 && word(&t, 3) == 172);
  CHECK(word(&t, 4) == ~(4 + 0x004f4443u + 0x200 + 172));
  CHECK(word(&t, 5) == 0x00020103 && word(&t, 6) == 0x001c0000);
  struct command_list *l = cdo_read(a, t.data, t.length, &d);
  CHECK(l && commands_equal(l, passthrough_init(a)));
  text_free(&t);
}

/* The data of every block starts at a multiple of 16 bytes, also where the
 * length is the first that takes a word of its own, 255. */
static void test_alignment(struct arena *a) {
  static const uint32_t data[300] = {0xd0, 0xd1};
  for (int before = 0; before < 5; before++)
    for (uint32_t count = 2; count < 300; count += count < 250 ? 83 : 1) {
      struct command_list *l = command_list(a);
      struct text t = {0};
      struct diag d = {0};
      for (int i = 0; i < before; i++)
        command_write(l, 0x1f000, 1);
      command_block(l, 0x220000, data, count);
      CHECK(cdo_write(l, &t, &d));
      size_t first = t.length - 4 * count;
      CHECK(first % 16 == 0 && word(&t, first / 4) == 0xd0);
      struct command_list *back = cdo_read(a, t.data, t.length, &d);
      CHECK(back && commands_equal(l, back));
      text_free(&t);
    }
}

/* As bootgen does: one word is a plain write, none is nothing. */
static void test_small_blocks(struct arena *a) {
  struct command_list *l = command_list(a), *back;
  struct text t = {0};
  struct diag d = {0};
  command_block(l, 0x220000, (uint32_t[]){7}, 1);
  command_block(l, 0x220000, (uint32_t[]){7}, 0);
  CHECK(cdo_write(l, &t, &d) && t.length == 4 * 8);
  back = cdo_read(a, t.data, t.length, &d);
  CHECK(back && back->count == 1 && back->item[0].kind == COMMAND_WRITE);
  CHECK(back && back->item[0].value == 7);
  text_free(&t);
}

static struct command_list *read(struct arena *a, const uint32_t *command,
                                 uint32_t count, struct diag *d) {
  uint32_t *file = arena_array(a, count + 5, 4);
  const uint32_t header[4] = {4, 0x584c4e58, 0x200, count};
  memcpy(file, header, sizeof header);
  file[4] = ~(header[0] + header[1] + header[2] + header[3]);
  memcpy(file + 5, command, 4 * (size_t)count);
  return cdo_read(a, file, 4 * ((size_t)count + 5), d);
}

static void test_long_forms(struct arena *a) {
  static const uint32_t words[] = {
      0x00030108, 0,         0x1d000, 7,           /* WRITE64 */
      0x00040107, 0,         0x32000, 1,        0, /* MASK_WRITE64 */
      0x00050106, 0,         0x32004, 3,        1,
      250,                               /* MASK_POLL64 */
      0x00030101, 0x32004,   3,       1, /* MASK_POLL without time */
      0x00020111, 8,         9,          /* NOP with words */
      0x00ff0105, 4,         0,       0x220000, 5,
      6,                       /* DMA_WRITE, long length */
      0x00010104, 99,          /* DELAY */
      0x00000100, 0xdeadbeef}; /* END_MARK hides the rest */
  struct diag d = {0};
  struct command_list *l = read(a, words, sizeof words / 4, &d);
  struct command_list *want = command_list(a);
  command_write(want, 0x1d000, 7);
  command_mask_write(want, 0x32000, 1, 0);
  command_mask_poll(want, 0x32004, 3, 1, 250);
  command_mask_poll(want, 0x32004, 3, 1, 0);
  command_block(want, 0x220000, (uint32_t[]){5, 6}, 2);
  command_delay(want, 99);
  CHECK(l && commands_equal(l, want));
}

static void refused(struct arena *a, const uint32_t *words, uint32_t count,
                    const char *says) {
  struct diag d = {0};
  CHECK(!read(a, words, count, &d));
  CHECK(strstr(d.text, says));
}

static void test_refused(struct arena *a) {
  refused(a, (uint32_t[]){0x00030108, 1, 2, 3}, 4, "above 32 bits (0x1)");
  refused(a, (uint32_t[]){0x00020103, 1}, 2, "runs past the end");
  refused(a, (uint32_t[]){0x00010103, 1}, 2, "number of payload words");
  refused(a, (uint32_t[]){0x00ff0105}, 1, "no length");
  refused(a, (uint32_t[]){0x00ff0105, 0xffffffff}, 2, "past the end");
  refused(a, (uint32_t[]){0x00000177}, 1, "do not know (0x177)");
  uint32_t header[5] = {4, 0x004f4443, 0x200, 1};
  struct diag d = {0}, e = {0}, f = {0};
  CHECK(!cdo_read(a, header, 20, &d) && strstr(d.text, "checksum"));
  header[4] = ~(header[0] + header[1] + header[2] + header[3]);
  CHECK(!cdo_read(a, header, 20, &e) && strstr(e.text, "only 0 are there"));
  struct text t = {0};
  CHECK(!cdo_write(passthrough_run(a), &t, &f) && t.length == 0);
  CHECK(strstr(f.text, "belongs into a transaction"));
}

int main(void) {
  struct arena *a = arena_open();
  test_passthrough(a);
  test_alignment(a);
  test_small_blocks(a);
  test_long_forms(a);
  test_refused(a);
  arena_close(a);
  return check_result();
}
