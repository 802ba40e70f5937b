/* xclbinutil_test.c -- our xclbin through AMD's xclbinutil.  Skipped where
 * there is none that runs: Debian's package holds only a wrapper script. */
#include "check.h"
#include "commands.h"

#include <stdlib.h>
#include <unistd.h>

static bool write_xclbin(const struct xclbin_info *info, struct text *pdi) {
  struct arena *a = arena_open();
  struct text cdo = {0}, xclbin = {0};
  struct diag d = {0};
  bool good = cdo_write(passthrough_init(a), &cdo, &d) &&
              pdi_write(cdo.data, cdo.length, pdi, &d) &&
              xclbin_write(info, pdi->data, pdi->length, &xclbin, &d) &&
              file_write("design.xclbin", xclbin.data, xclbin.length, &d);
  text_free(&cdo);
  text_free(&xclbin);
  arena_close(a);
  return good;
}

/* `--dump-section <what>` into the file "dump". */
static char *dump(struct arena *a, const char *what, size_t *length) {
  struct diag d = {0};
  char *command = arena_printf(a,
                               "xclbinutil --quiet --force --input "
                               "design.xclbin --dump-section %s:dump "
                               ">xclbinutil.log 2>&1",
                               what);
  remove("dump");
  CHECK(system(command) == 0);
  char *text = file_read(a, "dump", length, &d);
  return text ? text : "";
}

static void test_sections(struct arena *a) {
  struct xclbin_info info = {.kernel = "NPUTEIR",
                             .columns = 3,
                             .start_column_count = 2,
                             .start_columns = {1, 2},
                             .buffer_arguments = 3};
  memset(info.uuid, 0x11, 16);
  struct text pdi = {0};
  size_t n;
  CHECK(write_xclbin(&info, &pdi));
  const char *text = dump(a, "AIE_PARTITION:JSON", &n);
  CHECK(strstr(text, "\"column_width\": \"3\""));
  CHECK(strstr(text, "\"0x901\"") && strstr(text, "\"0xc1\""));
  CHECK(strstr(text, "\"name\": \"DPU\"") && strstr(text, "PRIMARY"));
  const char *file = strstr(text, "\"file_name\": \"");
  CHECK(file);
  if (file) {
    struct diag d = {0};
    file += 14;
    char *path = arena_substring(a, file, strcspn(file, "\""));
    char *inside = file_read(a, path, &n, &d);
    CHECK(inside && n == pdi.length && memcmp(inside, pdi.data, n) == 0);
    remove(path);
  }
  text = dump(a, "IP_LAYOUT:JSON", &n);
  CHECK(strstr(text, "NPUTEIR:npu") && strstr(text, "0x901"));
  text = dump(a, "CONNECTIVITY:JSON", &n);
  CHECK(strstr(text, "\"m_count\": \"4\""));
  text = dump(a, "MEM_TOPOLOGY:JSON", &n);
  CHECK(strstr(text, "HOST") && strstr(text, "SRAM"));
  text_free(&pdi);
}

int main(void) {
  char folder[] = "/tmp/nputeir-xclbinutil-XXXXXX";
  if (system("xclbinutil --version >/dev/null 2>&1") != 0) {
    puts("skipped: no xclbinutil that runs (it comes with XRT from AMD)");
    return 77;
  }
  if (!mkdtemp(folder) || chdir(folder) != 0) {
    puts("skipped: no temporary folder");
    return 77;
  }
  struct arena *a = arena_open();
  test_sections(a);
  arena_close(a);
  remove("design.xclbin");
  remove("dump");
  remove("xclbinutil.log");
  if (chdir("/") == 0)
    rmdir(folder);
  return check_result();
}
