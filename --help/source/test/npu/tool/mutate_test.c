/* mutate_test.c -- schedules with random damage go through map, design and
 * build: each is compiled, or refused with one readable line that names its
 * place, and nothing is read after it is freed (the sanitized build looks). */
#define NPUTEIR_TOOL_DRIVER /* arenas of our own */
#include "call.h"
#include "check.h"
#include "tool.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MUTANTS = 600 };

static uint32_t state = 1;

static unsigned below(unsigned n) {
  state = state * 1664525 + 1013904223;
  return (unsigned)((uint64_t)state * n >> 32);
}

/* A few bytes changed, dropped, doubled, or a line that goes elsewhere. */
static void mutate(const char *from, struct text *to) {
  static const char letter[] = "0123456789 =-+,.abkmnorstx\n#[]()\"\x80";
  size_t length = strlen(from), at = below((unsigned)length);
  size_t line = at, end;
  while (line > 0 && from[line - 1] != '\n')
    line--;
  end = line + strcspn(from + line, "\n");
  end += from[end] == '\n';
  switch (below(5)) {
  case 0: /* another letter */
    text_append(to, from, at);
    text_append(to, &letter[below(sizeof letter - 1)], 1);
    text_puts(to, from + at + 1);
    break;
  case 1: /* no letter */
    text_append(to, from, at);
    text_puts(to, from + at + 1);
    break;
  case 2: /* one more */
    text_append(to, from, at);
    text_append(to, &letter[below(sizeof letter - 1)], 1);
    text_puts(to, from + at);
    break;
  case 3: /* no line */
    text_append(to, from, line);
    text_puts(to, from + end);
    break;
  case 4: /* the line twice */
    text_append(to, from, end);
    text_puts(to, from + line);
    break;
  }
}

static char *get(struct arena *a, const char *path) {
  struct diag d = {0};
  char *text = file_read(a, path, NULL, &d);
  CHECK(text != NULL);
  return text ? text : "";
}

/* One line that a person can read, about this file or the sizes in it. */
static bool is_message(const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i + 1 < length; i++)
    if (!isprint((unsigned char)text[i]) && (unsigned char)text[i] < 0x80)
      return false;
  return length > 8 && text[length - 1] == '\n' &&
         (strstr(text, "error: ") || strstr(text, "declined: "));
}

int main(void) {
  static struct call c;
  char folder[] = "/tmp/nputeir-mutate-XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) != 0)
    return 1;
  call_tool(&c, NULL, "map 64x128x64 -o base.teir");
  CHECK(c.status == 0);
  struct arena *a = arena_open();
  const char *base = get(a, "base.teir");
  int error = dup(2), output = dup(1);
  int counts[3] = {0};
  for (int i = 0; i < MUTANTS; i++) {
    char *words[][6] = {{"nputeir", "map", "m.teir", NULL},
                        {"nputeir", "design", "m.teir", NULL},
                        {"nputeir", "build", "m.teir", "-o", "out", NULL}};
    char **word = words[i % 3];
    int argc = 0;
    struct text mutant = {0};
    struct diag d = {0};
    mutate(base, &mutant);
    for (unsigned more = below(3); more > 0; more--) {
      struct text next = {0};
      mutate(text_string(&mutant), &next);
      text_free(&mutant);
      mutant = next;
    }
    CHECK(file_write("m.teir", text_string(&mutant), mutant.length, &d));
    while (word[argc])
      argc++;
    int to = open("err", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int none = open("/dev/null", O_WRONLY);
    dup2(to, 2);
    dup2(none, 1);
    int status = tool_main(argc, word);
    fflush(NULL);
    dup2(error, 2);
    dup2(output, 1);
    close(to);
    close(none);
    struct arena *b = arena_open();
    const char *said = get(b, "err");
    bool good = status == 0 ? !*said : status == 1 && is_message(said);
    counts[status < 0 || status > 2 ? 2 : status]++;
    CHECK(good);
    if (!good)
      fprintf(stderr, "%s of\n%s\nstatus %d: %s\n", word[1],
              text_string(&mutant), status, said);
    arena_close(b);
    text_free(&mutant);
  }
  printf("%d compiled, %d refused\n", counts[0], counts[1]);
  CHECK(counts[0] > 20 && counts[1] > 100);
  arena_close(a);
  char remove[100];
  snprintf(remove, sizeof remove, "rm -r %s", folder);
  CHECK(system(remove) == 0);
  return check_result();
}
