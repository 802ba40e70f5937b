/* build.c -- `nputeir map`, `design` and `build`: the middle of the road. */
#include "job.h"
#include "tool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Compiles, hands the result to `show`, prints what it gives. */
static int run_printer(const char *command, int argc, char **argv,
                       void (*show)(const struct npu_result *, struct text *)) {
  struct job job;
  if (!job_read(&job, command, argc, argv))
    return TOOL_USAGE;
  struct arena *a = arena_open();
  struct npu_result r;
  struct diag d = {0};
  struct text out = {0};
  bool good = job_compile(a, &job, &r, &d);
  if (good) {
    show(&r, &out);
    good = tool_output(job.output, &out, &d);
  }
  text_free(&out);
  npu_result_free(&r);
  arena_close(a);
  return good ? TOOL_DONE : tool_fail(&d);
}

static void show_map(const struct npu_result *r, struct text *t) {
  text_puts(t, "# the schedule\n");
  teir_print(r->teir, t);
  text_puts(t, "\n# what the array does\n");
  struct text program = {0};
  map_print(r->program, &program);
  for (const char *line = text_string(&program); *line;) {
    size_t n = strcspn(line, "\n");
    text_printf(t, "# %.*s\n", (int)n, line);
    line += n + (line[n] == '\n');
  }
  text_free(&program);
}

static void show_design(const struct npu_result *r, struct text *t) {
  design_print(r->design, t);
}

static int run_map(int argc, char **argv) {
  return run_printer("map", argc, argv, show_map);
}
static int run_design(int argc, char **argv) {
  return run_printer("design", argc, argv, show_design);
}

/* ---- build: everything into a folder ---- */

static void put_programs(const struct npu_result *r, struct text *t) {
  const struct design_core *c = &r->design->core[0];
  text_puts(t, "// the outer loop of every core\n");
  asm_print(c->program, t);
  text_puts(t, "\n// kernels\n");
  for (int i = 0; i < DESIGN_KERNELS; i++)
    if (c->text[i])
      asm_print(c->text[i], t);
}

static const char bif[] = "all:\n{\n  id_code = 0x14ca8093\n"
                          "  extended_id_code = 0x01\n  image\n  {\n"
                          "    name=aie_image, id=0x1c000000\n"
                          "    { type=cdo file=design.cdo }\n  }\n}\n";

static bool write_part(const char *folder, const char *name, const void *bytes,
                       size_t length, struct diag *d) {
  struct text path = {0};
  text_printf(&path, "%s/%s", folder, name);
  bool good = file_write(path.data, bytes, length, d);
  if (good)
    printf("%s %zu bytes\n", path.data, length);
  text_free(&path);
  return good;
}

static bool write_text(const char *folder, const char *name,
                       void (*show)(const struct npu_result *, struct text *),
                       const struct npu_result *r, struct diag *d) {
  struct text t = {0};
  show(r, &t);
  bool good = write_part(folder, name, t.data, t.length, d);
  text_free(&t);
  return good;
}

static bool write_all(const char *folder, const struct npu_result *r,
                      struct diag *d) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return diag_error(d, (struct loc){folder, 0, 0}, "cannot make a folder: %s",
                      strerror(errno));
  const struct design_core *c = &r->design->core[0];
  return write_text(folder, "schedule.teir", show_map, r, d) &&
         write_text(folder, "design.txt", show_design, r, d) &&
         write_text(folder, "core.s", put_programs, r, d) &&
         write_part(folder, "core.elf", c->elf, c->elf_bytes, d) &&
         write_part(folder, "design.cdo", r->cdo.data, r->cdo.length, d) &&
         write_part(folder, "design.bif", bif, sizeof bif - 1, d) &&
         write_part(folder, "design.pdi", r->pdi.data, r->pdi.length, d) &&
         write_part(folder, "design.xclbin", r->xclbin.data, r->xclbin.length,
                    d) &&
         write_part(folder, "design.txn", r->txn.data, r->txn.length, d);
}

static int run_build(int argc, char **argv) {
  struct job job;
  if (!job_read(&job, "build", argc, argv))
    return TOOL_USAGE;
  if (!job.output)
    return tool_usage("build", "takes a folder: -o FOLDER");
  struct arena *a = arena_open();
  struct npu_result r;
  struct diag d = {0};
  bool good = job_compile(a, &job, &r, &d) && write_all(job.output, &r, &d);
  npu_result_free(&r);
  arena_close(a);
  return good ? TOOL_DONE : tool_fail(&d);
}

const struct tool_command tool_map = {
    "map", "blocks, rounds and cores of a product, as scheduled TEIR",
    "usage: nputeir map MxNxK|FILE.teir [options]\n\n"
    "Prints the blocked and placed schedule, which map, design and build read\n"
    "back, and below it what each core and column does.\n\n" JOB_TEXT
    "  -o FILE           write there (default: standard output)\n",
    run_map};

const struct tool_command tool_design = {
    "design", "buffers, locks, descriptors, routes and tasks of a product",
    "usage: nputeir design MxNxK|FILE.teir [options]\n\n"
    "Prints what every tile is told: buffers, locks, buffer descriptors with\n"
    "their dimensions, stream routes, and the tasks of the shim "
    "channels.\n\n" JOB_TEXT
    "  -o FILE           write there (default: standard output)\n",
    run_design};

const struct tool_command tool_build = {
    "build", "all binaries of a product into a folder",
    "usage: nputeir build MxNxK|FILE.teir -o FOLDER [options]\n\n"
    "Writes schedule.teir, design.txt, core.s, core.elf, design.cdo,\n"
    "design.bif (for AMD's bootgen), design.pdi, design.xclbin, design.txn.\n"
    "Run them with: nputeir sim FOLDER/design.xclbin FOLDER/design.txn "
    "...\n\n" JOB_TEXT,
    run_build};
