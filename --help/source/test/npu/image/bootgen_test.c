/* bootgen_test.c -- our PDI against the one that AMD's bootgen makes from the
 * same CDO, byte for byte.  Skipped where there is no bootgen. */
#include "check.h"
#include "commands.h"

#include <stdlib.h>
#include <unistd.h>

static const char bif[] = "all:\n{\n"
                          "  id_code = 0x14ca8093\n"
                          "  extended_id_code = 0x01\n"
                          "  image\n  {\n"
                          "    name=aie_image, id=0x1c000000\n"
                          "    { type=cdo file=./design.cdo }\n"
                          "  }\n}\n";

static void run_bootgen(const struct text *cdo, struct arena *a, char **pdi,
                        size_t *length) {
  struct diag d = {0};
  *pdi = NULL;
  remove("design.pdi");
  CHECK(file_write("design.bif", bif, sizeof bif - 1, &d));
  CHECK(file_write("design.cdo", cdo->data, cdo->length, &d));
  CHECK(system("bootgen -arch versal -image design.bif -o design.pdi -w "
               ">bootgen.log 2>&1") == 0);
  *pdi = file_read(a, "design.pdi", length, &d);
}

static void compare(struct arena *a, const struct command_list *l) {
  struct text cdo = {0}, pdi = {0};
  struct diag d = {0};
  char *theirs;
  size_t length = 0;
  CHECK(cdo_write(l, &cdo, &d) && pdi_write(cdo.data, cdo.length, &pdi, &d));
  run_bootgen(&cdo, a, &theirs, &length);
  CHECK(theirs && length == pdi.length);
  CHECK(theirs && length == pdi.length &&
        memcmp(theirs, pdi.data, length) == 0);
  const void *inside;
  size_t inside_length;
  CHECK(theirs && pdi_read(theirs, length, &inside, &inside_length, &d) &&
        inside_length == cdo.length &&
        memcmp(inside, cdo.data, cdo.length) == 0);
  text_free(&cdo);
  text_free(&pdi);
}

/* Every command kind; blocks behind 0..4 writes, so that each number of
 * padding words occurs, in the short and the long form. */
static struct command_list *mixture(struct arena *a, uint32_t count) {
  struct command_list *l = command_list(a);
  uint32_t *data = arena_array(a, count, 4);
  for (uint32_t i = 0; i < count; i++)
    data[i] = 0x01010101 * (i + 1);
  for (int writes = 0; writes < 5; writes++) {
    for (int i = 0; i < writes; i++)
      command_write(l, 0x0021f000 + 0x10 * (uint32_t)i, 1);
    command_block(l, 0x00220000, data, count);
    command_mask_write(l, 0x00232000, 2, 2);
  }
  command_mask_poll(l, 0x00232004, 3, 1, 77);
  command_delay(l, 500);
  return l;
}

/* The same writes in the 64-bit forms that AMD's tools emit, unaligned:
 * bootgen shortens and aligns them to what cdo_write writes by itself. */
static void compare_long_forms(struct arena *a) {
  static const uint32_t words[] = {
      4, 0x004f4443, 0x200, 21,         0, 0x00040107, 0, 0x00232000, 1,
      0, 0x00030108, 0,     0x0021f000, 1, 0x00060105, 0, 0x00220000, 1,
      2, 3,          4,     0x00040107, 0, 0x00232000, 1, 1};
  struct command_list *l = command_list(a);
  command_mask_write(l, 0x00232000, 1, 0);
  command_write(l, 0x0021f000, 1);
  command_block(l, 0x00220000, (uint32_t[]){1, 2, 3, 4}, 4);
  command_mask_write(l, 0x00232000, 1, 1);
  uint32_t *file = arena_copy(a, words, sizeof words / 4, 0, 4);
  file[4] = ~(file[0] + file[1] + file[2] + file[3]);
  struct text raw = {0}, cdo = {0}, pdi = {0};
  struct diag d = {0};
  text_append(&raw, (char *)file, sizeof words);
  char *theirs;
  size_t length = 0;
  run_bootgen(&raw, a, &theirs, &length);
  CHECK(cdo_write(l, &cdo, &d) && pdi_write(cdo.data, cdo.length, &pdi, &d));
  CHECK(theirs && length == pdi.length &&
        memcmp(theirs, pdi.data, length) == 0);
  text_free(&raw);
  text_free(&cdo);
  text_free(&pdi);
}

int main(void) {
  char folder[] = "/tmp/nputeir-bootgen-XXXXXX";
  if (system("command -v bootgen >/dev/null 2>&1") != 0) {
    puts("skipped: no bootgen here (Debian: apt-get install xilinx-bootgen)");
    return 77;
  }
  if (!mkdtemp(folder) || chdir(folder) != 0) {
    puts("skipped: no temporary folder");
    return 77;
  }
  struct arena *a = arena_open();
  compare(a, passthrough_init(a));
  static const uint32_t count[] = {1, 6, 8, 251, 252, 253, 254, 300, 4096};
  for (size_t i = 0; i < sizeof count / sizeof *count; i++)
    compare(a, mixture(a, count[i]));
  compare_long_forms(a);
  arena_close(a);
  static const char *const file[] = {"design.bif", "design.cdo", "design.pdi",
                                     "bootgen.log"};
  for (size_t i = 0; i < sizeof file / sizeof *file; i++)
    remove(file[i]);
  if (chdir("/") == 0)
    rmdir(folder);
  return check_result();
}
