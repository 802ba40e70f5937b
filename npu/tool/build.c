/* build.c -- `nputeir map`, `design` and `build`: the middle of the road. */
#include "job.h"
#include "keys.h"
#include "mlir.h"

#include <assert.h>
#include <string.h>

static void show_map(const struct npu_result *r, struct text *t) {
  if (r->not_as_placed.kind != DIAG_NONE)
    text_printf(t, "# scheduled anew, because as placed: %s\n",
                r->not_as_placed.text);
  static const char *const name[] = {"in0", "in1", "out"};
  for (int i = 0; i < TENSORS; i++)
    if (r->packed[i])
      text_printf(t, "# packed %s: %s%s%s\n", name[i], r->packed[i],
                  r->rule[i] ? ", " : "", r->rule[i] ? r->rule[i] : "");
  if (r->beyond.kind != DIAG_NONE)
    text_printf(t, "# beyond descriptors: %s\n", r->beyond.text);
  if (r->blocking.predicted_cycles > 0)
    text_printf(t, "# predicted %.0f cycles\n", r->blocking.predicted_cycles);
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

/* Compiles, hands the result to `show`, prints what it gives. */
static bool run_printer(struct tool *t, struct job *job,
                        void (*show)(const struct npu_result *,
                                     struct text *)) {
  struct npu_result r;
  bool good = job_compile(t, job, &r);
  if (good)
    show(&r, &t->out);
  npu_result_free(&r);
  return good && tool_print(t, job->output);
}

static bool run_map(struct tool *t, void *job) {
  return run_printer(t, job, show_map);
}

/* ---- what a design takes of each tile, beside what there is ---- */

/* Under --json every line is an object. */
static bool print_records(struct tool *t, const char *output) {
  if (t->json) {
    struct text json = {0};
    for (const char *p = text_string(&t->out); *p;) {
      size_t n = strcspn(p, "\n");
      keys_json(arena_printf(t->arena, "%.*s", (int)n, p), &json);
      p += n + (p[n] == '\n');
    }
    text_free(&t->out);
    t->out = json;
  }
  return tool_print(t, output);
}

struct use {
  int64_t memory, locks, bds, channels;
};

static struct use use_of(const struct design *x, int column, int row) {
  struct use u = {0};
  uint32_t seen = 0; /* channels: a bit each, S2MM behind MM2S */
  for (int i = 0; i < x->buffer_count; i++)
    if (x->buffer[i].column == column && x->buffer[i].row == row)
      u.memory += x->buffer[i].bytes;
  for (int i = 0; i < x->lock_count; i++)
    u.locks += x->lock[i].column == column && x->lock[i].row == row;
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i];
    if (b->column != column || b->row != row)
      continue;
    assert(b->channel >= 0 && b->channel < 16);
    u.bds++;
    seen |= 1u << (b->channel + (b->mm2s ? 0 : 16));
  }
  for (; seen; seen &= seen - 1)
    u.channels++;
  return u;
}

struct fullest {
  double part;
  char what[64];
};

static void put_use(struct text *t, struct fullest *f, const char *tile,
                    const char *what, int64_t used, int64_t there) {
  if (!there)
    return;
  text_printf(t, " %s=%lld/%lld", what, (long long)used, (long long)there);
  double part = (double)used / (double)there;
  if (part > f->part) {
    f->part = part;
    snprintf(f->what, sizeof f->what, "%s of %s", what, tile);
  }
}

static void show_use(const struct npu_result *r, struct text *t) {
  static const char *const kind[] = {"shim", "mem", "core"};
  const struct design *x = r->design;
  struct fullest f = {0};
  for (int c = 0; c < x->program->grid.columns; c++)
    for (int row = 0; row < CORE_ROW + design_rows(x->program); row++) {
      enum tile_kind k = tile_kind(row);
      const struct tile_resources *there = &x->program->device->tile[k];
      struct use u = use_of(x, c, row);
      char tile[32];
      snprintf(tile, sizeof tile, "%s (%d,%d)", kind[k], c, row);
      text_printf(t, "tile=\"%s\"", tile);
      put_use(t, &f, tile, "memory", u.memory, there->memory_bytes);
      put_use(t, &f, tile, "locks", u.locks, there->locks);
      put_use(t, &f, tile, "descriptors", u.bds, there->bds);
      put_use(t, &f, tile, "channels", u.channels, 2 * there->channels);
      text_puts(t, "\n");
    }
  text_printf(t, "kept: all limits; the fullest is %s, %.0f %%\n", f.what,
              100 * f.part);
}

/* A schedule that was given is to be judged, not another one. */
static bool run_check(struct tool *t, struct job *job) {
  struct npu_result r;
  bool good = job_compile(t, job, &r);
  if (good && r.not_as_placed.kind != DIAG_NONE)
    good = diag_error(&t->diag, r.not_as_placed.at, "%s", r.not_as_placed.text);
  if (good)
    show_use(&r, &t->out);
  npu_result_free(&r);
  return good && print_records(t, job->output);
}

struct design_job {
  struct job job; /* first: its options' fields are offsets in it */
  bool check;
};

static bool run_design(struct tool *t, void *job) {
  struct design_job *j = job;
  if (j->check)
    return run_check(t, &j->job);
  if (!t->json)
    return run_printer(t, &j->job, show_design);
  struct npu_result r;
  bool good = job_compile(t, &j->job, &r);
  if (good)
    design_records(r.design, &t->out);
  npu_result_free(&r);
  return good && print_records(t, j->job.output);
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

static bool write_pdi(const char *folder, const struct npu_result *r,
                      struct diag *d) {
  struct text pdi = {0};
  bool good = pdi_write(r->cdo.data, r->cdo.length, &pdi, d) &&
              write_part(folder, "design.pdi", pdi.data, pdi.length, d);
  text_free(&pdi);
  return good;
}

static bool write_all(const char *folder, const struct npu_result *r,
                      struct diag *d) {
  if (!folder_make(folder, d))
    return false;
  const struct design_core *c = &r->design->core[0];
  return write_text(folder, "schedule.teir", show_map, r, d) &&
         write_text(folder, "design.txt", show_design, r, d) &&
         write_text(folder, "core.s", put_programs, r, d) &&
         write_part(folder, "core.elf", c->elf, c->elf_bytes, d) &&
         write_part(folder, "design.cdo", r->cdo.data, r->cdo.length, d) &&
         write_part(folder, "design.bif", bif, sizeof bif - 1, d) &&
         write_pdi(folder, r, d) &&
         write_part(folder, "design.xclbin", r->xclbin.data, r->xclbin.length,
                    d) &&
         write_part(folder, "design.txn", r->txn.data, r->txn.length, d);
}

struct build_job {
  struct job job;   /* first: its options' fields are offsets in it */
  const char *mlir; /* the form, or NULL */
};

static bool write_mlir(const struct build_job *j, const struct npu_result *r,
                       struct diag *d) {
  struct text t = {0};
  enum mlir_form form = strcmp(j->mlir, "2025") ? MLIR_2026 : MLIR_2025;
  bool good = mlir_print(r, form, "core.elf", &t, d) &&
              write_part(j->job.output, "design.mlir", t.data, t.length, d);
  text_free(&t);
  return good;
}

static bool read_form(struct tool *t, void *to, const char *word) {
  *(const char **)to = word;
  return strcmp(word, "2026") == 0 || strcmp(word, "2025") == 0 ||
         tool_usage(t, "--mlir takes 2025 or 2026, not '%s'", word);
}

static bool run_build(struct tool *t, void *to) {
  struct build_job *j = to;
  struct job *job = &j->job;
  struct npu_result r;
  assert(job->output);
  bool good = job_compile(t, job, &r) && write_all(job->output, &r, &t->diag) &&
              (!j->mlir || write_mlir(j, &r, &t->diag));
  npu_result_free(&r);
  return good;
}

/* ---- words ---- */

#define AT(field) offsetof(struct job, field)

static const struct tool_option print_options[] = {
    {"-o", "FILE", tool_file_to_write, AT(output),
     .help = "write there (default: standard output)"},
    {0},
};

static const struct tool_option design_options[] = {
    {"-o", "FILE", tool_file_to_write, AT(output),
     .help = "write there (default: standard output)"},
    {"--check", NULL, tool_flag, offsetof(struct design_job, check),
     .help = "print what the design takes of every tile's memory, locks, "
             "descriptors and channels, beside what there is; where a limit "
             "is exceeded, which one and by what number, with status 1"},
    KEYS_JSON_OPTION,
    {0},
};

static const struct tool_option build_options[] = {
    {"-o", "FOLDER", tool_folder_to_write, AT(output),
     .help = "where the files go", .flags = TOOL_NEEDED},
    {"--mlir", "YEAR", read_form, offsetof(struct build_job, mlir),
     .help = "design.mlir, too: the same design as text in the aie dialect, as "
             "mlir-aie reads it since 2026, or read it in 2025; the cores are "
             "core.elf"},
    {0},
};

const struct tool_command tool_map = {
    .name = "map",
    .summary = "blocks, rounds and cores of a product, as scheduled TEIR",
    .intro = "Prints the blocked and placed schedule, which map, design and "
             "build read back, and below it what each core and column does.",
    .shared = job_options,
    .options = print_options,
    .job_bytes = sizeof(struct job),
    .job = &job_defaults,
    .run = run_map,
};

static const struct design_job design_defaults = {
    .job = {.device = "npu1",
            .problem = {.extent = {1},
                        .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}}};

const struct tool_command tool_design = {
    .name = "design",
    .summary = "buffers, locks, descriptors, routes and tasks of a product",
    .intro = "Prints what every tile is told: buffers, locks, buffer "
             "descriptors with their dimensions (d1 16x+32: 16 steps of 32 "
             "words), stream routes, and the tasks of the shim channels.",
    .notes = "With --json the design is an object per part: key \"part\" is "
             "design, buffer, lock, bd, start, route or task, and column and "
             "row say where it is. Sizes and offsets of buffers and tensors "
             "are bytes, all others 4-byte words.",
    .shared = job_options,
    .options = design_options,
    .job_bytes = sizeof(struct design_job),
    .job = &design_defaults,
    .run = run_design,
};

static const struct build_job build_defaults = {
    .job = {.device = "npu1",
            .problem = {.extent = {1},
                        .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}}}};

const struct tool_command tool_build = {
    .name = "build",
    .summary = "all binaries of a product into a folder",
    .intro = "Writes schedule.teir, design.txt, core.s, core.elf, design.cdo, "
             "design.bif (for AMD's bootgen), design.pdi, design.xclbin, "
             "design.txn. Run them with:\n"
             "  nputeir sim FOLDER/design.xclbin FOLDER/design.txn ..",
    .shared = job_options,
    .options = build_options,
    .job_bytes = sizeof(struct build_job),
    .job = &build_defaults,
    .run = run_build,
};
