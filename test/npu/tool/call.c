#include "call.h"

#include "tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64 };

/* Never returns: leaves by exit, where leaks are found. */
static void be_tool(const char *words) {
  char *argv[WORDS + 2] = {"nputeir"}, *copy = strdup(words), *rest = copy;
  int argc = 1;
  for (char *w; argc <= WORDS && (w = strsep(&rest, " "));)
    if (*w)
      argv[argc++] = w;
  int status = tool_main(argc, argv);
  free(copy);
  exit(status);
}

static void redirect(int fd, const char *path) {
  close(fd);
  if (strcmp(path, "closed") != 0 &&
      open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) != fd)
    _exit(99);
}

static void load(const char *path, char *to, size_t size) {
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(to, 1, size - 1, f) : 0;
  to[n] = 0;
  if (f)
    fclose(f);
  remove(path);
}

void call_tool(struct call *c, const char *to, const char *words) {
  char out[64], err[64];
  snprintf(out, sizeof out, "/tmp/nputeir-out-%ld", (long)getpid());
  snprintf(err, sizeof err, "/tmp/nputeir-err-%ld", (long)getpid());
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    redirect(2, err);
    redirect(1, to ? to : out);
    be_tool(words);
  }
  int status = 0;
  bool ended = child > 0 && waitpid(child, &status, 0) == child;
  c->status = ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  load(out, c->out, sizeof c->out);
  load(err, c->err, sizeof c->err);
}
