#include "call.h"

#include "tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64 };

static int be_tool(const char *words) {
  char *argv[WORDS + 2] = {"nputeir"}, *copy = strdup(words), *next = copy;
  int argc = 1;
  for (char *w; argc <= WORDS && (w = strsep(&next, " "));)
    if (*w)
      argv[argc++] = w;
  int status = tool_main(argc, argv);
  free(copy);
  return status;
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

/* In a process of its own, which leaves by exit as the tool does. */
static int in_child(const char *err, const char *out, const char *words) {
  pid_t child = fork();
  if (child == 0) {
    redirect(2, err);
    redirect(1, out);
    exit(be_tool(words));
  }
  int status = 0;
  bool ended = child > 0 && waitpid(child, &status, 0) == child;
  return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int in_place(const char *err, const char *out, const char *words) {
  int stream[3] = {-1, dup(1), dup(2)};
  redirect(2, err);
  redirect(1, out);
  int status = be_tool(words);
  fflush(NULL);
  for (int fd = 1; fd < 3; fd++) {
    dup2(stream[fd], fd);
    close(stream[fd]);
  }
  return status;
}

void call_tool(struct call *c, const char *to, const char *words) {
  char out[64], err[64];
  snprintf(out, sizeof out, "/tmp/nputeir-out-%ld", (long)getpid());
  snprintf(err, sizeof err, "/tmp/nputeir-err-%ld", (long)getpid());
  fflush(NULL);
  c->status = to ? in_child(err, to, words) : in_place(err, out, words);
  load(out, c->out, sizeof c->out);
  load(err, c->err, sizeof c->err);
}
