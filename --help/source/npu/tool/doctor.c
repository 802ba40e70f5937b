/* doctor.c -- `nputeir doctor`: what of the road is there, what is missing, and
 * what to do about it.  One line per thing; what compiling and simulating need
 * decides the exit status, an NPU is a bonus. */
#include "doctor.h"
#include "amdxdna.h"
#include "array.h"
#include "keys.h"
#include "recognizer.h"
#include "run.h"
#include "tool.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum finding { FOUND, ABSENT, MISSING, WRONG }; /* ABSENT: not needed */

struct doctor {
  struct tool *tool;
  struct arena *arena;
  struct text *report;   /* everything that was said */
  char prefix[PATH_MAX]; /* the folder above our bin/ */
  char plugin[PATH_MAX]; /* "" while not found */
  char runtime[PATH_MAX];
  int llvm; /* major of the plugin */
  int missing, wrong;
  struct doctor_runs runs;
};

static void say(struct doctor *w, enum finding f, const char *what,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void say(struct doctor *w, enum finding f, const char *what,
                const char *format, ...) {
  static const char *const word[] = {"ok", "absent", "MISSING", "WRONG"};
  char words[PATH_MAX + 500];
  va_list args;
  w->missing += f == MISSING;
  w->wrong += f == WRONG;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  if (w->tool->json)
    keys_print(w->tool, "finding=%s part=%s\nwords: %s\n", word[f], what,
               words);
  else
    printf("%-8s %-10s %s\n", word[f], what, words);
  text_printf(w->report, "%-8s %-10s %s\n", word[f], what, words);
}

/* ---- helpers ---- */

/* A program of that name on the PATH. */
static bool on_path(const char *name, char found[PATH_MAX]) {
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t n = strcspn(path, ":");
    int length = snprintf(found, PATH_MAX, "%.*s/%s", (int)n, path, name);
    if (length < PATH_MAX && access(found, X_OK) == 0)
      return true;
    path += n + (path[n] != 0);
  }
  return false;
}

/* The first line that a command prints, without its end. */
static void first_line(const char *command, char line[200]) {
  FILE *f = popen(command, "r");
  line[0] = 0;
  if (!f)
    return;
  if (!fgets(line, 200, f))
    line[0] = 0;
  line[strcspn(line, "\n")] = 0;
  char rest[256]; /* let it finish */
  while (fgets(rest, sizeof rest, f))
    ;
  pclose(f);
}

/* The number behind "major=" in nputeir-cc, which knows what LLVM the plugin
 * was built for. */
static int plugin_major(const struct doctor *w) {
  char path[PATH_MAX + 20], line[200];
  int major = 19;
  snprintf(path, sizeof path, "%s/bin/nputeir-cc", w->prefix);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "major=%d", &major) == 1)
      break;
  if (f)
    fclose(f);
  return major;
}

/* The first of our libraries with this name under the prefix. */
static bool find_library(const struct doctor *w, const char *name,
                         char found[PATH_MAX]) {
  char pattern[PATH_MAX + 100];
  glob_t g;
  snprintf(pattern, sizeof pattern, "%s/{lib,lib64,lib/*-linux-gnu*}/%s",
           w->prefix, name);
  found[0] = 0;
  if (glob(pattern, GLOB_BRACE, NULL, &g) == 0)
    snprintf(found, PATH_MAX, "%s", g.gl_pathv[0]);
  globfree(&g);
  return found[0] != 0;
}

/* ---- what compiling needs ---- */

static void check_clang(struct doctor *w) {
  char name[32], path[PATH_MAX], command[PATH_MAX + 20], line[200];
  snprintf(name, sizeof name, "clang-%d", w->llvm);
  bool found = on_path(name, path);
  if (!found) {
    snprintf(path, sizeof path, "/usr/lib/llvm-%d/bin/clang", w->llvm);
    found = access(path, X_OK) == 0;
  }
  if (!found) {
    say(w, MISSING, "clang",
        "no %s; the plugin is for LLVM %d (Debian: apt-get install %s)", name,
        w->llvm, name);
    return;
  }
  snprintf(command, sizeof command, "'%s' --version", path);
  first_line(command, line);
  say(w, FOUND, "clang", "%s (%s)", path, line);
}

static void check_plugin(struct doctor *w) {
  if (find_library(w, "libnputeir.so", w->plugin))
    say(w, FOUND, "plugin", "%s, for LLVM %d", w->plugin, w->llvm);
  else
    say(w, MISSING, "plugin",
        "no libnputeir.so beside this program; configure with "
        "-DLLVM_DIR=/usr/lib/llvm-19/lib/cmake/llvm and build");
}

/* ---- what running needs: the runtime multiplies two small matrices ---- */

static void check_simulator(struct doctor *w, void *library) {
  doctor_call *call;
  *(void **)&call = dlsym(library, "nputeir_call_1");
  if (call && doctor_floats_right(call, NULL))
    say(w, FOUND, "simulator",
        "a 16 x 16 x 16 product through the whole road "
        "is right");
  else
    say(w, MISSING, "simulator",
        "a small product fails; NPUTEIR_TRACE=1 "
        "nputeir doctor says why");
}

static void check_runtime(struct doctor *w) {
  if (!find_library(w, "libnputeir-rt.so", w->runtime)) {
    say(w, MISSING, "runtime", "no libnputeir-rt.so beside this program");
    return;
  }
  setenv("NPUTEIR_DEVICE", "sim", 1);
  unsetenv("NPUTEIR_OPTIONS");
  unsetenv("NPUTEIR_VERIFY"); /* which it reads when it is loaded */
  void *library = dlopen(w->runtime, RTLD_NOW | RTLD_LOCAL);
  const char *(*version)(void) = NULL;
  if (library)
    *(void **)&version = dlsym(library, "nputeir_version");
  if (!version) {
    say(w, MISSING, "runtime", "%s does not load: %s", w->runtime, dlerror());
    return;
  }
  say(w, FOUND, "runtime", "%s, version %s", w->runtime, version());
  check_simulator(w, library);
  /* stays open: the process ends soon */
}

/* ---- words in the environment that the runtime will read ---- */

static char *environment(struct doctor *w, const char *name) {
  const char *text = getenv(name);
  return text && *text ? arena_string(w->arena, text) : NULL;
}

static void check_device(struct doctor *w, const char *device) {
  struct diag d = {0};
  bool platform =
      device && strncmp(device, "sim:", 4) == 0 && preset_find(device + 4);
  if (!device)
    say(w, FOUND, "device",
        "NPUTEIR_DEVICE is not set: auto, the NPU if there "
        "is one, else the loop as written");
  else if (platform || run_device_find(device, &d))
    say(w, FOUND, "device", "NPUTEIR_DEVICE=%s", device);
  else
    say(w, d.kind == DIAG_ERROR ? WRONG : ABSENT, "device",
        "NPUTEIR_DEVICE=%s: %s", device, d.text);
}

static void check_options(struct doctor *w, const char *text) {
  struct options options = options_default();
  struct diag d = {0};
  if (!text)
    say(w, FOUND, "options", "NPUTEIR_OPTIONS is not set");
  else if (!options_parse(&options, w->arena, "NPUTEIR_OPTIONS", text, &d))
    say(w, WRONG, "options", "%s", d.text);
  else if (options.preset && !preset_find(options.preset))
    say(w, WRONG, "options", "NPUTEIR_OPTIONS: there is no preset '%s'",
        options.preset);
  else
    say(w, FOUND, "options", "NPUTEIR_OPTIONS=%s", text);
}

static void check_verify(struct doctor *w, const char *text) {
  if (!text)
    return;
  bool right = strcmp(text, "0") == 0 || strcmp(text, "1") == 0 ||
               strcmp(text, "first") == 0;
  say(w, right ? FOUND : WRONG, "verify", "NPUTEIR_VERIFY=%s%s", text,
      right ? "" : "; it is 0, 1 or first");
}

/* ---- what a real NPU needs ---- */

static bool read_hex(const char *folder, const char *name, unsigned *value) {
  char path[PATH_MAX + 300];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", folder, name);
  FILE *f = fopen(path, "r");
  bool good = f && fscanf(f, "%x", value) == 1;
  if (f)
    fclose(f);
  return good;
}

/* The first NPU of AMD's on the PCI bus; NULL: none. */
static const char *find_npu(void) {
  static const struct {
    unsigned device, revision;
    const char *words;
  } part[] = {
#define PCI_PART(device, revision, model, words) {device, revision, words},
#include "part.def"
  };
  const char *found = NULL;
  DIR *d = opendir("/sys/bus/pci/devices");
  for (struct dirent *e; d && !found && (e = readdir(d));) {
    unsigned vendor, device, revision;
    if (!read_hex(e->d_name, "vendor", &vendor) || vendor != 0x1022 ||
        !read_hex(e->d_name, "device", &device) ||
        !read_hex(e->d_name, "revision", &revision))
      continue;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
      if (part[i].device == device && part[i].revision == revision)
        found = part[i].words;
  }
  if (d)
    closedir(d);
  return found;
}

static void check_xrt(struct doctor *w) {
  static const char *const name[] = {
      "libxrt_coreutil.so.2", "/opt/xilinx/xrt/lib/libxrt_coreutil.so.2"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof name / sizeof *name && !found; i++) {
    void *library = dlopen(name[i], RTLD_LAZY | RTLD_LOCAL);
    if (library) {
      found = name[i];
      dlclose(library);
    }
  }
#ifdef NPUTEIR_XRT
  bool built = true;
#else
  bool built = false;
#endif
  if (found && built)
    say(w, FOUND, "xrt", "%s, and the runtime uses it", found);
  else if (found)
    say(w, ABSENT, "xrt",
        "%s is there, but this runtime was built without it: XRT's headers "
        "with xrt_hw_context.h (2.14 or later; not in Debian) must be there "
        "when nputeir is configured",
        found);
  else
    say(w, ABSENT, "xrt",
        "not needed: the runtime uses the kernel's driver itself");
}

static void check_launches(struct doctor *w) {
  const struct doctor_runs *x = &w->runs;
  if (x->right == 4)
    say(w, FOUND, "launches",
        "two configurations in turn, twice each: all right, %.0f us a call",
        1e6 * x->again);
  else
    say(w, WRONG, "launches",
        "of bf16, int8, bf16, int8 the product number %d %s%s", x->right + 1,
        *x->reason ? "is declined: " : "has wrong results; please report it",
        x->reason);
  if (x->chain)
    say(w, FOUND, "chains", "five launches as command chains: right");
  else if (x->right == 4)
    say(w, WRONG, "chains",
        "five launches as command chains are declined or wrong%s%s; set "
        "NPUTEIR_CHAINS=off",
        *x->reason ? ": " : "", x->reason);
}

static void check_resident(struct doctor *w) {
  const struct doctor_runs *x = &w->runs;
  if (x->stays && x->resident)
    say(w, FOUND, "resident",
        "three launches of a transaction that stays (resident=on): right");
  else if (x->stays)
    say(w, FOUND, "resident",
        "with resident=on launches are commands of their own: other processes "
        "have contexts on the NPU");
  else if (x->chain)
    say(w, WRONG, "resident",
        "launches of a transaction that stays are declined or wrong%s%s; do "
        "not use resident=on, and please report it",
        *x->reason ? ": " : "", x->reason);
}

static void check_array(struct doctor *w, struct amdxdna *x) {
  struct amdxdna_status s;
  amdxdna_ask(x, &s);
  if (s.columns > 0)
    say(w, FOUND, "array", "%d columns of %d tiles", s.columns, s.rows);
  if (s.mhz[1] > 0)
    say(w, FOUND, "clocks", "now %d MHz, its controller %d MHz", s.mhz[1],
        s.mhz[0]);
  if (s.contexts_max > 0 && s.contexts >= s.contexts_max)
    say(w, WRONG, "contexts",
        "all %d places on the NPU are taken: end another program that uses it",
        s.contexts_max);
  else if (s.contexts_max > 0)
    say(w, FOUND, "contexts", "%d of %d places on the NPU are taken",
        s.contexts, s.contexts_max);
}

static void check_locked(struct doctor *w) {
  struct rlimit most;
  if (getrlimit(RLIMIT_MEMLOCK, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
    say(w, FOUND, "memory",
        "inputs of up to %llu KiB need no copy; `ulimit -l` may raise that",
        (unsigned long long)most.rlim_cur >> 10);
}

/* What the runtime itself finds when it looks for the kernel's driver. */
static void check_driver(struct doctor *w) {
  struct diag d = {0};
  struct amdxdna *x = amdxdna_find(&d);
  if (!x)
    say(w, ABSENT, "driver", "%s", d.text);
  else if (!run_device_find("npu", &d))
    say(w, ABSENT, "driver", "%s", d.text);
  else {
    say(w, FOUND, "driver", "%s: %s", amdxdna_name(x), amdxdna_version(x));
    check_array(w, x);
    check_launches(w);
    check_resident(w);
    check_locked(w);
  }
}

static void check_npu(struct doctor *w) {
  const char *npu = find_npu();
  if (npu)
    say(w, FOUND, "npu", "%s", npu);
  else
    say(w, ABSENT, "npu", "no AMD NPU on the PCI bus: use NPUTEIR_DEVICE=sim");
  if (!npu && !getenv("NPUTEIR_ACCEL"))
    return;
  struct stat s;
  if (npu && stat("/sys/module/amdxdna", &s) != 0)
    say(w, ABSENT, "driver",
        "amdxdna is not loaded (Linux 6.14 or later, or "
        "github.com/amd/xdna-driver)");
  else
    check_driver(w);
}

/* Not needed: our own writers make the same bytes, a test compares. */
static void check_bootgen(struct doctor *w) {
  char path[PATH_MAX];
  if (on_path("bootgen", path))
    say(w, FOUND, "bootgen", "%s (only tests use it)", path);
  else
    say(w, ABSENT, "bootgen",
        "not needed; one test compares with it (Debian: "
        "apt-get install xilinx-bootgen)");
}

/* ---- for a bug report: the machine, as far as it matters to us ---- */

/* The lines of a file that begin with `start`, behind its name. */
static void add_lines(struct text *to, const char *path, const char *start) {
  char line[1000];
  FILE *f = fopen(path, "r");
  if (!f) {
    text_printf(to, "%s: %s\n", path, strerror(errno));
    return;
  }
  bool any = false;
  while (fgets(line, sizeof line, f)) {
    if (strncmp(line, start, strlen(start)) != 0)
      continue;
    line[strcspn(line, "\n")] = 0;
    text_printf(to, "%s: %s\n", path, line);
    any = true;
    if (*start)
      break; /* of every processor the same */
  }
  if (!any)
    text_printf(to, "%s: no line '%s'\n", path, start);
  fclose(f);
}

static void add_files(struct text *to, const char *pattern) {
  glob_t g;
  if (glob(pattern, 0, NULL, &g) != 0)
    text_printf(to, "%s: none\n", pattern);
  else
    for (size_t i = 0; i < g.gl_pathc; i++) {
      struct stat s;
      if (stat(g.gl_pathv[i], &s) == 0 && S_ISREG(s.st_mode))
        add_lines(to, g.gl_pathv[i], "");
      else
        text_printf(to, "%s: mode %o%s\n", g.gl_pathv[i], s.st_mode & 07777,
                    access(g.gl_pathv[i], R_OK | W_OK) ? ", not ours to use"
                                                       : "");
    }
  globfree(&g);
}

static void add_iommu(struct text *to) {
  char line[4096];
  FILE *f = fopen("/proc/cmdline", "r");
  char *word = f && fgets(line, sizeof line, f) ? strtok(line, " \n") : NULL;
  text_puts(to, "kernel's words on the IOMMU:");
  for (; word; word = strtok(NULL, " \n"))
    if (strstr(word, "iommu"))
      text_printf(to, " %s", word);
  text_puts(to, "\n");
  if (f)
    fclose(f);
}

static void add_limit(struct text *to) {
  struct rlimit most;
  if (getrlimit(RLIMIT_MEMLOCK, &most) != 0)
    return;
  if (most.rlim_cur == RLIM_INFINITY)
    text_puts(to, "locked memory: unlimited\n");
  else
    text_printf(to, "locked memory: %llu bytes\n",
                (unsigned long long)most.rlim_cur);
}

extern char **environ;

/* The machine has a name, which is nobody's business. */
static void add_machine(struct text *to) {
  struct utsname u;
  text_puts(to, "\nnputeir " NPUTEIR_VERSION "\n");
  if (uname(&u) == 0)
    text_printf(to, "%s %s %s %s\n", u.sysname, u.release, u.version,
                u.machine);
  add_lines(to, "/etc/os-release", "PRETTY_NAME");
  add_lines(to, "/proc/cpuinfo", "model name");
  add_lines(to, "/proc/meminfo", "MemTotal");
  add_iommu(to);
  add_limit(to);
  add_files(to, "/dev/accel/*");
  add_files(to, "/sys/module/amdxdna/version");
  add_files(to, "/sys/module/amdxdna/parameters/*");
  add_files(to, "/sys/bus/pci/drivers/amdxdna/*/fw_version");
  add_files(to, "/sys/bus/pci/drivers/amdxdna/*/vbnv");
  for (char **e = environ; *e; e++)
    if (strncmp(*e, "NPUTEIR_", 8) == 0)
      text_printf(to, "%s\n", *e);
}

static bool find_prefix(struct doctor *w) {
  ssize_t n = readlink("/proc/self/exe", w->prefix, sizeof w->prefix - 1);
  if (n < 0)
    return false;
  w->prefix[n] = 0;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(w->prefix, '/');
    if (!slash)
      return false;
    *slash = 0;
  }
  return true;
}

struct job {
  const char *report;
};

static bool examine(struct tool *t, const struct job *j, struct doctor *w) {
  /* copies: the check of the simulator sets its own */
  char *device = environment(w, "NPUTEIR_DEVICE");
  char *options = environment(w, "NPUTEIR_OPTIONS");
  char *verify = environment(w, "NPUTEIR_VERIFY");
  if (!find_prefix(w))
    return diag_error(&t->diag, loc_none(),
                      "cannot find the program's own folder");
  struct text machine = {0};
  add_machine(&machine); /* with the environment as it came */
  w->llvm = plugin_major(w);
  check_clang(w);
  check_plugin(w);
  if ((getenv("NPUTEIR_ACCEL") || access("/dev/accel", F_OK) == 0) &&
      find_library(w, "libnputeir-rt.so", w->runtime))
    w->runs = doctor_try_npu(w->runtime);
  check_runtime(w);
  check_device(w, device);
  check_options(w, options);
  check_verify(w, verify);
  check_npu(w);
  check_xrt(w);
  check_bootgen(w);
  text_puts(w->report, text_string(&machine));
  text_free(&machine);
  bool written = !j->report || tool_output(t, j->report, w->report);
  if (written && (w->missing || w->wrong))
    return diag_error(&t->diag, loc_none(),
                      "%d missing, %d wrong: see above what to do", w->missing,
                      w->wrong);
  return written;
}

static bool run(struct tool *t, void *job) {
  struct text report = {0};
  struct doctor w = {.tool = t, .arena = t->arena, .report = &report};
  bool good = examine(t, job, &w);
  text_free(&report);
  if (good && !t->json)
    puts("\nprograms can be compiled and run on the simulated NPU");
  return good;
}

static const struct tool_option options[] = {
    {"--report", "FILE", tool_file_to_write, offsetof(struct job, report),
     .help = "write all that a bug report needs: these lines, kernel, driver "
             "and firmware, device nodes, limits, and NPUTEIR_ variables"},
    {"--json", NULL, keys_read_json, 0,
     .help = "a JSON object for each line: finding, part and words"},
    {0},
};

const struct tool_command tool_doctor = {
    .name = "doctor",
    .summary = "what is installed, what is missing, what to do",
    .intro =
        "Looks for what compiling and running need and prints a line for "
        "each:\n"
        "  ok       it is there, and where\n"
        "  absent   it is not there; programs run without it, only not on an "
        "NPU\n"
        "  MISSING  without it programs cannot be compiled or simulated, and "
        "what\n"
        "           to do\n"
        "  WRONG    a variable of the environment that the runtime will "
        "refuse,\n"
        "           or an NPU that does not do its work, and why\n\n"
        "Checked are the clang that the plugin is for, the plugin, the runtime "
        "(it multiplies two small matrices on the simulator), NPUTEIR_DEVICE "
        "and NPUTEIR_OPTIONS, the NPU with its driver, device node, columns, "
        "clocks, places for configurations and memory limit, four small "
        "products on it, XRT, and bootgen.",
    .options = options,
    .job_bytes = sizeof(struct job),
    .notes = "Exit status 0: programs can be compiled and simulated; 1: "
             "something is MISSING or WRONG.",
    .run = run,
};
