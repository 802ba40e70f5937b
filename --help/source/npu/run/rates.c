/* rates.c -- what a device's launches cost, from process to process: one line
 * in $XDG_CACHE_HOME/nputeir/DEVICE.rates, or in ~/.cache/nputeir.
 *
 *   launch=5.2e-05 build=0.04 copy=1.1e-10 mac=6.0e-13
 *
 * A file is written beside its place and then renamed, so that readers never
 * see a part of it.
 */
#define _GNU_SOURCE /* secure_getenv */
#include "parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

/* `folder`/`more`; false: too long. */
static bool join(char path[PATH_BYTES], const char *folder, const char *more) {
  int n = snprintf(path, PATH_BYTES, "%s/%s", folder, more);
  return n > 0 && n < PATH_BYTES;
}

/* The cache folder of this user; a relative one counts as none, as the
 * standard for these variables has it. */
static bool find_folder(char path[PATH_BYTES]) {
  const char *cache = secure_getenv("XDG_CACHE_HOME");
  const char *home = secure_getenv("HOME");
  if (cache && *cache == '/')
    return join(path, cache, "nputeir");
  return home && *home == '/' && join(path, home, ".cache/nputeir");
}

static bool find_file(const char *device, char path[PATH_BYTES]) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
  char folder[PATH_BYTES], name[PATH_BYTES];
  int n = snprintf(name, sizeof name, "%s.rates", device);
  if (n < 0 || n >= (int)sizeof name || !find_folder(folder))
    return false;
  for (char *c = name; *c; c++)
    if (!strchr(plain, *c))
      *c = '_';
  return join(path, folder, name);
}

/* From a nanosecond's part to seconds; no clock gives other answers. */
static bool sane(const struct rates *r) {
  const double low = 1e-18, high = 1000;
  const double x[] = {r->launch, r->build, r->copy, r->mac};
  for (size_t i = 0; i < sizeof x / sizeof *x; i++)
    if (!(x[i] >= low && x[i] <= high))
      return false;
  return true;
}

bool rates_read(const char *device, struct rates *r) {
  char path[PATH_BYTES];
  FILE *f = find_file(device, path) ? fopen(path, "re") : NULL;
  if (!f)
    return false;
  struct rates x = {0};
  int count = fscanf(f, "launch=%lf build=%lf copy=%lf mac=%lf", &x.launch,
                     &x.build, &x.copy, &x.mac);
  fclose(f);
  if (count != 4 || !sane(&x))
    return false;
  *r = x;
  return true;
}

/* The folder of a file, and that folder's own. */
static void make_folders(const char *file) {
  char path[PATH_BYTES];
  strcpy(path, file);
  char *last = strrchr(path, '/');
  *last = 0;
  char *before = strrchr(path, '/');
  *before = 0;
  mkdir(path, 0700);
  *before = '/';
  mkdir(path, 0700);
}

void rates_write(const char *device, const struct rates *r) {
  char path[PATH_BYTES], beside[PATH_BYTES];
  if (!sane(r) || !find_file(device, path))
    return;
  int n = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
  if (n < 0 || n >= (int)sizeof beside)
    return;
  make_folders(path);
  int fd = mkstemp(beside);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f) {
    if (fd >= 0) {
      close(fd);
      unlink(beside);
    }
    return;
  }
  bool good = fprintf(f, "launch=%.3g build=%.3g copy=%.3g mac=%.3g\n",
                      r->launch, r->build, r->copy, r->mac) > 0;
  good = fclose(f) == 0 && good;
  if (!good || rename(beside, path) != 0)
    unlink(beside);
}
